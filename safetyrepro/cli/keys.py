"""`safetyrepro keys`: signing identities, and whom to trust."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Annotated

import typer

from safetyrepro.attest.certificate import PublicIdentity, parse_public_identity, public_identity
from safetyrepro.attest.document import document_bytes, format_instant
from safetyrepro.attest.keys import new_identity, write_identity
from safetyrepro.attest.statement import PredicateType
from safetyrepro.attest.trust import parse_trust
from safetyrepro.cli.console import say
from safetyrepro.cli.identity import default_identity, default_trust, read_passphrase
from safetyrepro.data.bundle import storage_error, write_atomically
from safetyrepro.errors import InputError

app = typer.Typer(help="Signing identities, and whom to trust.", no_args_is_help=True)

PassphraseFile = Annotated[
    Path | None, typer.Option("--passphrase-file", help="A file that holds the passphrase.")
]
PassphraseFd = Annotated[
    int | None, typer.Option("--passphrase-fd", help="A file descriptor that gives the passphrase.")
]


@app.command("new")
def new(
    name: Annotated[str, typer.Option("--name", help="How you want to be called in reports.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The private half; absent: identity.p12 in your configuration folder."),
    ] = None,
    passphrase_file: PassphraseFile = None,
    passphrase_fd: PassphraseFd = None,
) -> None:
    """Make a signing identity: an encrypted private half (0600), and the public half to hand out.

    An existing file is never overwritten. Give the public half to your readers, and the fingerprint by
    another way, so that they can compare it.

    Example: safetyrepro keys new --name "Ada Example"
    """
    path = out or default_identity()
    public = path.with_suffix(".pub.json")
    for taken in (path, public):
        if taken.exists():
            raise InputError(f"{taken}: must not exist yet, keys are never overwritten")
    passphrase = read_passphrase(file=passphrase_file, descriptor=passphrase_fd, confirm=True)
    identity = new_identity(name, created_at=dt.datetime.now(dt.UTC))
    _make_folder(path.parent)
    write_identity(identity, path, passphrase=passphrase)
    shown = public_identity(identity.certificate)
    write_atomically(public, document_bytes(shown))
    say(f"private half: {path} (encrypted, 0600)")
    say(f"public half:  {public}")
    say(f"fingerprint:  {shown.fingerprint}")


@app.command("show")
def show(
    public: Annotated[Path, typer.Argument(help="A public half, as `keys new` wrote it.")],
) -> None:
    """Print whose key a public half is, and its fingerprint.

    Example: safetyrepro keys show ada.pub.json
    """
    identity = _read_public(public)
    say(f"principal:   {identity.principal}")
    say(f"fingerprint: {identity.fingerprint}")
    say(f"key id:      {identity.keyid}")


@app.command("trust")
def trust(
    public: Annotated[Path, typer.Argument(help="The public half of somebody you trust.")],
    file: Annotated[
        Path | None,
        typer.Option("--trust", help="The trust file; absent: trust.yaml in your configuration folder."),
    ] = None,
    role: Annotated[
        str, typer.Option("--role", help="The role they may sign in: author, second_coder or reviewer.")
    ] = "author",
    years: Annotated[
        int, typer.Option("--years", min=1, max=40, help="How long from now they may sign.")
    ] = 2,
) -> None:
    """Add a signer to your trust file. Compare the fingerprint with them first.

    The file is YAML (JSON is YAML) and yours to edit: windows, roles, revocations.

    Example: safetyrepro keys trust ada.pub.json
    """
    path = file or default_trust()
    identity = _read_public(public)
    now = dt.datetime.now(dt.UTC)
    entry: dict[str, object] = {
        "principal": identity.principal,
        "roles": [role],
        "predicate_types": [kind.short_name for kind in PredicateType],
        "valid_from": format_instant(now - dt.timedelta(days=1)),
        "valid_until": format_instant(now + dt.timedelta(days=365 * years)),
        "key": identity.certificate,
    }
    signers: list[dict[str, object]] = []
    rest: dict[str, object] = {"schema": "safetyrepro/trust/v1"}
    if path.exists():
        stored = parse_trust(path.read_bytes(), name=str(path))
        if stored.find(identity.keyid) is not None:
            raise InputError(f"{path}: already holds the key {identity.fingerprint}")
        rest = stored.model_dump(mode="json", by_alias=True, exclude_unset=True)
        signers = rest.pop("signers")  # type: ignore[assignment]
    text = json.dumps({**rest, "signers": [*signers, entry]}, indent=2, ensure_ascii=False) + "\n"
    parse_trust(text, name=str(path))
    write_atomically(path, text.encode())
    say(f"{path}: trusts {identity.principal} ({identity.fingerprint}) as {role} for {years} years")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise storage_error(folder, error) from error


def _read_public(path: Path) -> PublicIdentity:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: must be readable; {error.strerror or error}") from error
    return parse_public_identity(data, where=str(path))
