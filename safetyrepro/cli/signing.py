"""The options by which every command that signs is given an identity, and the notices it appends to."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Annotated, TypeAlias, get_args

import typer

from safetyrepro.attest.keys import load_identity
from safetyrepro.attest.statement import Role
from safetyrepro.claims.validity import parse_time
from safetyrepro.cli.identity import default_identity, read_passphrase
from safetyrepro.errors import InputError, did_you_mean, must_be
from safetyrepro.report.signed import Signing

KeyOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--key", help="Your signing identity; absent: identity.p12 in your configuration folder."),
]
PassphraseFileOption: TypeAlias = Annotated[
    Path | None, typer.Option("--passphrase-file", help="A file that holds the passphrase.")
]
PassphraseFdOption: TypeAlias = Annotated[
    int | None, typer.Option("--passphrase-fd", help="A file descriptor that gives the passphrase.")
]
IssuedAtOption: TypeAlias = Annotated[
    str | None, typer.Option("--issued-at", help="UTC time such as 2026-11-30T22:53:00Z; absent: now.")
]


def read_signing(key: Path | None, *, role: str, file: Path | None, descriptor: int | None) -> Signing:
    """The identity and role to sign with.

    Raises:
        InputError: no such role, no identity, or a passphrase that does not open it.
    """
    chosen = read_role(role, where="--role")
    path = key or default_identity()
    if not path.is_file():
        raise InputError(
            f"{path}: must be a signing identity; there is none "
            "(make one with `safetyrepro keys new`; only `report` can do without, with --unsigned)"
        )
    passphrase = read_passphrase(file=file, descriptor=descriptor, confirm=False)
    return Signing(identity=load_identity(path, passphrase=passphrase), role=chosen)


def read_role(text: str, *, where: str) -> Role:
    """The role of that name.

    Raises:
        InputError: there is none.
    """
    roles: dict[str, Role] = {name: name for name in get_args(Role)}
    if text not in roles:
        rule = f"must be one of {', '.join(roles)}{did_you_mean(text, roles)}"
        raise InputError(must_be(where, rule, text))
    return roles[text]


def read_issued_at(text: str | None) -> dt.datetime:
    """The time given, or now, to the second."""
    moment = dt.datetime.now(dt.UTC) if text is None else parse_time(text, "--issued-at")
    return moment.replace(microsecond=0)
