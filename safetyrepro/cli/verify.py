"""`safetyrepro verify`: is this report genuine, whose is it, and is it in force?"""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Annotated

import typer

from safetyrepro.attest.trust import TrustStore, parse_trust
from safetyrepro.claims.validity import parse_time
from safetyrepro.cli.console import one_line, say, say_error
from safetyrepro.cli.exits import Exit
from safetyrepro.cli.identity import default_trust
from safetyrepro.cli.verify_text import verification_lines
from safetyrepro.errors import InputError, must_be
from safetyrepro.report.currency import Against
from safetyrepro.report.handed import read_bounded, read_handed
from safetyrepro.report.verdicts import Verdict, Verification, verification_document
from safetyrepro.report.verify import Beyond, verify_report

EXITS: dict[Verdict, Exit] = {
    Verdict.CURRENT: Exit.CLEAN,
    Verdict.EXPIRED: Exit.EXPIRED,
    Verdict.NOT_YET_VALID: Exit.NOT_YET_VALID,
    Verdict.UNSIGNED: Exit.UNSIGNED,
    Verdict.UNTRUSTED_SIGNER: Exit.UNKNOWN_SIGNER,
    Verdict.TAMPERED: Exit.TAMPERED,
    Verdict.MALFORMED: Exit.MALFORMED,
    Verdict.STALE: Exit.STALE,
    Verdict.SUPERSEDED: Exit.SUPERSEDED,
    Verdict.REVOKED: Exit.REVOKED,
}


def command(
    report: Annotated[
        Path,
        typer.Argument(help="The report: a PDF, an HTML page, a report.json, or a bundle's folder."),
    ],
    trust: Annotated[
        Path | None,
        typer.Option("--trust", help="Your trust file; absent: trust.yaml in your configuration folder."),
    ] = None,
    at: Annotated[
        str | None, typer.Option("--at", help="Another day: 2027-06-01, or a time 2027-06-01T00:00:00Z.")
    ] = None,
    against: Annotated[
        list[Path] | None,
        typer.Option(
            "--against",
            help="What there is now: the spec, a model (folder or GGUF file) or the item file; repeatable.",
        ),
    ] = None,
    data_dir: Annotated[
        Path | None,
        typer.Option(
            "--data-dir", help="Where the item files of an --against spec are; absent: beside it."
        ),
    ] = None,
    notices: Annotated[
        list[Path] | None,
        typer.Option("--notices", help="Published notices (`revoke`, `supersede`); repeatable."),
    ] = None,
    reproductions: Annotated[
        list[Path] | None,
        typer.Option("--with", help="A reproduction statement that accompanies the report; repeatable."),
    ] = None,
    pages: Annotated[
        bool,
        typer.Option("--pages/--no-pages", help="Print the pages again from the documents and compare."),
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print every check as one JSON object.")] = False,
    checks: Annotated[bool, typer.Option("--checks", help="List every check, in order.")] = False,
) -> None:
    """Say whether a report is genuine and in force, from the file and your trust file alone, offline.

    It prints one verdict: the first that applies of MALFORMED, TAMPERED, UNSIGNED, UNTRUSTED SIGNER,
    REVOKED, SUPERSEDED, EXPIRED, STALE, NOT YET VALID and CURRENT; then who signed, level, tier, scope
    and expiry. Each verdict has its own exit code. A signature says who signed what; it does not say
    that the content is right.

    Example: safetyrepro verify report.pdf --at 2027-06-01
    """
    moment = dt.datetime.now(dt.UTC) if at is None else _moment(at)
    beyond = Beyond(
        print_again=pages,
        against=tuple(Against(path, data_dir) for path in against or ()),
        notices=_named(notices),
        reproductions=_named(reproductions),
    )
    verification = verify_report(read_handed(report), trust=read_trust(trust), at=moment, beyond=beyond)
    if as_json:
        say(json.dumps(verification_document(verification), indent=2, ensure_ascii=False))
    else:
        _print(report, verification, every_check=checks)
    raise typer.Exit(EXITS[verification.verdict])


def read_trust(path: Path | None) -> TrustStore | None:
    """The trust file given, or the default one where it exists; None trusts nobody."""
    chosen = path or default_trust()
    if path is None and not chosen.is_file():
        return None
    try:
        data = chosen.read_bytes()
    except OSError as error:
        raise InputError(f"{chosen}: trust file must be readable; {error.strerror or error}") from error
    return parse_trust(data, name=str(chosen))


def _print(path: Path, verification: Verification, *, every_check: bool) -> None:
    good = verification.verdict is Verdict.CURRENT
    say(
        f"{verification.verdict.value}: {path.name}: {verification.meaning}",
        style="green" if good else "red",
    )
    for line in verification_lines(verification, every_check=every_check):
        say(one_line(line))
    if verification.verdict is Verdict.UNTRUSTED_SIGNER:
        say_error(
            "Trust a signer with `safetyrepro keys trust THEIR.pub.json`, after comparing the fingerprint."
        )


def _named(paths: list[Path] | None) -> tuple[tuple[str, bytes], ...]:
    return tuple((path.name, read_bounded(path)) for path in paths or ())


def _moment(text: str) -> dt.datetime:
    try:
        day = dt.date.fromisoformat(text)
    except ValueError:
        pass
    else:
        return dt.datetime.combine(day, dt.time(), tzinfo=dt.UTC)
    try:
        return parse_time(text, "--at")
    except InputError as error:
        what = "must be a day such as 2027-06-01, or a time such as 2027-06-01T00:00:00Z"
        raise InputError(must_be("--at", what, text)) from error
