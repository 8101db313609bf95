"""Where a person's signing identity and trust file are, and how a passphrase reaches the program."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from safetyrepro.cli.console import is_interactive
from safetyrepro.errors import InputError

_MAX_PASSPHRASE_BYTES = 4096


def config_dir() -> Path:
    """The folder of keys and trust: `SAFETYREPRO_CONFIG`, else the user's configuration folder."""
    if own := os.environ.get("SAFETYREPRO_CONFIG"):
        return Path(own)
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "safetyrepro"


def default_identity() -> Path:
    """The private half of the signing identity."""
    return config_dir() / "identity.p12"


def default_trust() -> Path:
    """The trust file."""
    return config_dir() / "trust.yaml"


def read_passphrase(*, file: Path | None, descriptor: int | None, confirm: bool) -> bytes:
    """The passphrase from a file, a file descriptor or a prompt, never from the command line.

    One line feed at the end is not part of it.

    Raises:
        InputError: none of the three is there, or the two given ones contradict.
    """
    if file is not None and descriptor is not None:
        raise InputError("passphrase: must come from --passphrase-file or --passphrase-fd, not from both")
    if file is not None:
        return _without_line_end(_read_file(file))
    if descriptor is not None:
        return _without_line_end(_read_descriptor(descriptor))
    if not is_interactive():
        raise InputError(
            "passphrase: must come from a terminal, --passphrase-file FILE or --passphrase-fd N; got none"
        )
    text: str = typer.prompt("Passphrase", hide_input=True, confirmation_prompt=confirm, err=True)
    return text.encode()


def _read_file(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(_MAX_PASSPHRASE_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path}: passphrase file must be readable; {error.strerror or error}") from error


def _read_descriptor(descriptor: int) -> bytes:
    try:
        with os.fdopen(os.dup(descriptor), "rb") as stream:
            return stream.read(_MAX_PASSPHRASE_BYTES + 1)
    except OSError as error:
        raise InputError(
            f"--passphrase-fd: must be an open file descriptor; got {descriptor} ({error.strerror})"
        ) from error


def _without_line_end(data: bytes) -> bytes:
    if len(data) > _MAX_PASSPHRASE_BYTES:
        raise InputError(f"passphrase: must be at most {_MAX_PASSPHRASE_BYTES} bytes; got more")
    return data.removesuffix(b"\n").removesuffix(b"\r")
