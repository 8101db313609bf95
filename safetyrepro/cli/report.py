"""`safetyrepro report`: a bundle to its signed report."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Annotated, get_args

import typer

from safetyrepro.attest.keys import load_identity
from safetyrepro.attest.statement import Role
from safetyrepro.claims.validity import parse_time
from safetyrepro.cli.console import say, say_error
from safetyrepro.cli.identity import default_identity, read_passphrase
from safetyrepro.data.bundle import open_bundle
from safetyrepro.errors import InputError, did_you_mean, must_be
from safetyrepro.report.publish import PDF_FILE, Publication, Signing, publish


def command(
    bundle: Annotated[Path, typer.Argument(help="A finished bundle: the folder that `run` ended with.")],
    key: Annotated[
        Path | None,
        typer.Option(
            "--key", help="Your signing identity; absent: identity.p12 in your configuration folder."
        ),
    ] = None,
    passphrase_file: Annotated[
        Path | None, typer.Option("--passphrase-file", help="A file that holds the passphrase.")
    ] = None,
    passphrase_fd: Annotated[
        int | None, typer.Option("--passphrase-fd", help="A file descriptor that gives the passphrase.")
    ] = None,
    role: Annotated[
        str, typer.Option("--role", help="As what you sign: author, second_coder or reviewer.")
    ] = "author",
    unsigned: Annotated[
        bool, typer.Option("--unsigned", help="Sign nothing; the report says UNSIGNED on its first page.")
    ] = False,
    issued_at: Annotated[
        str | None,
        typer.Option("--issued-at", help="UTC time such as 2026-11-30T22:53:00Z; absent: now."),
    ] = None,
) -> None:
    """Write the report of a bundle: report.pdf, report.html, report.json, and their signatures.

    What is in force, and until when, is counted from the oldest evidence: printing again renews nothing.
    Everything is written to the bundle's folder `report`. The last line is the path of the PDF.

    Example: safetyrepro report runs/quickstart-3f2a90c1d4e5
    """
    found = open_bundle(bundle)
    moment = dt.datetime.now(dt.UTC) if issued_at is None else parse_time(issued_at, "--issued-at")
    if unsigned and (key, passphrase_file, passphrase_fd) != (None, None, None):
        raise InputError("--unsigned must stand alone; got a key or a passphrase beside it")
    signing = None
    if not unsigned:
        signing = _signing(key, role=role, file=passphrase_file, descriptor=passphrase_fd)
    published = publish(found, issued_at=moment, signing=signing)
    _print_summary(published, signing)
    say(str(found.report / PDF_FILE))


def _signing(key: Path | None, *, role: str, file: Path | None, descriptor: int | None) -> Signing:
    roles: dict[str, Role] = {name: name for name in get_args(Role)}
    if role not in roles:
        rule = f"must be one of {', '.join(roles)}{did_you_mean(role, roles)}"
        raise InputError(must_be("--role", rule, role))
    path = key or default_identity()
    if not path.is_file():
        raise InputError(
            f"{path}: must be a signing identity; there is none "
            "(make one with `safetyrepro keys new`, or publish with --unsigned)"
        )
    passphrase = read_passphrase(file=file, descriptor=descriptor, confirm=False)
    return Signing(identity=load_identity(path, passphrase=passphrase), role=roles[role])


def _print_summary(published: Publication, signing: Signing | None) -> None:
    report = published.report
    say(report.answer)
    say_error(
        f"{report.level} level, {report.tier}; in force from {report.window.issued_at} "
        f"to {report.window.expires_at}"
    )
    if signing is None:
        say_error("UNSIGNED: nobody vouches for this report")
    else:
        say_error(
            f"signed by {signing.identity.principal} as {signing.role}, {signing.identity.fingerprint}"
        )
    if not published.rows_attached:
        say_error("the rows are too large to be attached: the statement names them by digest")
