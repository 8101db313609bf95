"""`safetyrepro verify`: is this report genuine, whose is it, and is it in force?"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from safetyrepro.attest.signature import fingerprint
from safetyrepro.attest.trust import TrustStore, parse_trust
from safetyrepro.claims.levels import LEVEL_MEANINGS
from safetyrepro.claims.validity import parse_time
from safetyrepro.cli.console import say, say_error
from safetyrepro.cli.exits import Exit
from safetyrepro.cli.identity import default_trust
from safetyrepro.data.report_record import ClaimVerdict, Report
from safetyrepro.errors import InputError, must_be
from safetyrepro.report.verdicts import Verdict, Verification, verification_document
from safetyrepro.report.verify import verify_report_pdf

_EXITS: dict[Verdict, Exit] = {
    Verdict.CURRENT: Exit.CLEAN,
    Verdict.EXPIRED: Exit.EXPIRED,
    Verdict.NOT_YET_VALID: Exit.NOT_YET_VALID,
    Verdict.UNSIGNED: Exit.UNSIGNED,
    Verdict.UNTRUSTED_SIGNER: Exit.UNKNOWN_SIGNER,
    Verdict.TAMPERED: Exit.TAMPERED,
    Verdict.MALFORMED: Exit.MALFORMED,
}
_MARKS = {"passed": "yes", "failed": "NO", "not checked": "--"}
_MAX_BYTES = 256 << 20


def command(
    report: Annotated[Path, typer.Argument(help="The report, a PDF.")],
    trust: Annotated[
        Path | None,
        typer.Option("--trust", help="Your trust file; absent: trust.yaml in your configuration folder."),
    ] = None,
    at: Annotated[
        str | None, typer.Option("--at", help="Another day: 2027-06-01, or a time 2027-06-01T00:00:00Z.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print every check as one JSON object.")] = False,
    checks: Annotated[bool, typer.Option("--checks", help="List every check, in order.")] = False,
) -> None:
    """Say whether a report is genuine and in force, from the file and your trust file alone, offline.

    It prints one verdict (CURRENT, EXPIRED, NOT YET VALID, UNSIGNED, UNTRUSTED SIGNER, TAMPERED or
    MALFORMED), who signed, level, tier, scope and expiry. Each verdict has its own exit code. A
    signature says who signed what; it does not say that the content is right.

    Example: safetyrepro verify report.pdf --at 2027-06-01
    """
    moment = dt.datetime.now(dt.UTC) if at is None else _moment(at)
    verification = verify_report_pdf(_read(report), trust=_trust(trust), at=moment)
    if as_json:
        say(json.dumps(verification_document(verification), indent=2, ensure_ascii=False))
    else:
        _print(report, verification, every_check=checks)
    raise typer.Exit(_EXITS[verification.verdict])


def _print(path: Path, verification: Verification, *, every_check: bool) -> None:
    good = verification.verdict is Verdict.CURRENT
    say(
        f"{verification.verdict.value}: {path.name}: {verification.meaning}",
        style="green" if good else "red",
    )
    others = [state.value for state in verification.states[1:]]
    if others:
        say(f"also: {', '.join(others)}")
    for check in verification.checks:
        if every_check or check.failed:
            say(f"  {_MARKS[check.outcome]:>3}  {check.name}: {check.detail}")
    for line in _signer_lines(verification):
        say(line)
    if verification.report is not None:
        for line in _report_lines(verification.report):
            say(line)
    if verification.verdict is Verdict.UNTRUSTED_SIGNER:
        say_error(
            "Trust a signer with `safetyrepro keys trust THEIR.pub.json`, after comparing the fingerprint."
        )


def _signer_lines(verification: Verification) -> Iterator[str]:
    for standing in verification.signers:
        trusted = "trusted" if standing.trusted else "not trusted"
        role = standing.role or "no role"
        yield f"signed by   {standing.principal} as {role}, {fingerprint(standing.keyid)} ({trusted})"
    if verification.seal is not None:
        yield f"sealed by   {verification.seal.principal}, {fingerprint(verification.seal.keyid)}"


def _report_lines(report: Report) -> Iterator[str]:
    yield f"report      {report.title} ({report.id})"
    yield f"level       {report.level}: {LEVEL_MEANINGS[report.level]}"
    yield f"tier        {report.tier}"
    yield f"scope       {report.scope.population}"
    yield f"            not tested: {'; '.join(report.scope.excluded)}"
    yield f"in force    {report.window.issued_at} to {report.window.expires_at}"
    yield f"ends early  {', '.join(report.window.triggers)} (not checked)"
    for claim in report.claims:
        yield f"claim       {claim.statement}"
        yield f"            {claim.verdict}; over {claim.quantifier}: {claim.assertion}{_distance(claim)}"


def _distance(claim: ClaimVerdict) -> str:
    if not claim.distance:
        return ""
    return f"; {claim.printed_type} at {claim.level} level, {claim.distance:+d} from the evidence"


def _moment(text: str) -> dt.datetime:
    try:
        day = dt.date.fromisoformat(text)
    except ValueError:
        return parse_time(text, "--at")
    return dt.datetime.combine(day, dt.time(), tzinfo=dt.UTC)


def _trust(path: Path | None) -> TrustStore | None:
    chosen = path or default_trust()
    if path is None and not chosen.is_file():
        return None
    try:
        data = chosen.read_bytes()
    except OSError as error:
        raise InputError(f"{chosen}: trust file must be readable; {error.strerror or error}") from error
    return parse_trust(data, name=str(chosen))


def _read(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > _MAX_BYTES:
            raise InputError(must_be(str(path), f"a report must be at most {_MAX_BYTES} bytes", size))
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: must be a readable file; {error.strerror or error}") from error
