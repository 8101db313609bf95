"""`safetyrepro report`: a bundle to its signed report."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Annotated

import typer

from safetyrepro.claims.validity import parse_time
from safetyrepro.cli.console import say, say_error
from safetyrepro.cli.signing import (
    IssuedAtOption,
    KeyOption,
    PassphraseFdOption,
    PassphraseFileOption,
    read_signing,
)
from safetyrepro.data.bundle import open_bundle
from safetyrepro.errors import InputError
from safetyrepro.report.handed import read_bounded
from safetyrepro.report.printed import PDF_FILE
from safetyrepro.report.publish import Publication, publish
from safetyrepro.report.signed import Signing


def command(
    bundle: Annotated[Path, typer.Argument(help="A finished bundle: the folder that `run` ended with.")],
    key: KeyOption = None,
    passphrase_file: PassphraseFileOption = None,
    passphrase_fd: PassphraseFdOption = None,
    role: Annotated[
        str, typer.Option("--role", help="As what you sign: author, second_coder or reviewer.")
    ] = "author",
    unsigned: Annotated[
        bool, typer.Option("--unsigned", help="Sign nothing; the report says UNSIGNED on its first page.")
    ] = False,
    preregistration: Annotated[
        Path | None,
        typer.Option("--preregistration", help="The signed plan, as `preregister` wrote it."),
    ] = None,
    issued_at: IssuedAtOption = None,
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
        signing = read_signing(key, role=role, file=passphrase_file, descriptor=passphrase_fd)
    plan = None if preregistration is None else read_bounded(preregistration)
    published = publish(found, issued_at=moment, signing=signing, preregistration=plan)
    _print_summary(published, signing)
    say(str(found.report / PDF_FILE))


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
