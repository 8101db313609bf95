"""A verification as lines of text for a person."""

from __future__ import annotations

from collections.abc import Iterator

from safetyrepro.attest.signature import fingerprint
from safetyrepro.claims.levels import LEVEL_MEANINGS
from safetyrepro.data.report_record import ClaimVerdict
from safetyrepro.report.verdicts import Verification

_MARKS = {"passed": "yes", "failed": "NO", "not checked": "--"}
_FIRED = "trigger "


def verification_lines(verification: Verification, *, every_check: bool) -> Iterator[str]:
    """What follows the verdict: other states, failed checks (or all), signers, what the report says."""
    others = [state.value for state in verification.states[1:]]
    if others:
        yield f"also: {', '.join(others)}"
    for check in verification.checks:
        if every_check or check.failed:
            yield f"  {_MARKS[check.outcome]:>3}  {check.name}: {check.detail}"
    yield from _signers(verification)
    yield from _report(verification)
    for one in verification.reproductions:
        trusted = "" if one.trusted else " (not trusted)"
        outcome = "not counted" if one.outcome is None else one.outcome
        yield f"run again   {outcome}{trusted}, {one.file}: {one.detail}"


def _signers(verification: Verification) -> Iterator[str]:
    for standing in verification.signers:
        trusted = "trusted" if standing.trusted else "not trusted"
        role = standing.role or "no role"
        yield f"signed by   {standing.principal} as {role}, {fingerprint(standing.keyid)} ({trusted})"
    if verification.seal is not None:
        yield f"sealed by   {verification.seal.principal}, {fingerprint(verification.seal.keyid)}"


def _report(verification: Verification) -> Iterator[str]:
    report = verification.report
    if report is None:
        return
    yield f"report      {report.title} ({report.id})"
    yield f"level       {report.level}: {LEVEL_MEANINGS[report.level]}"
    yield f"tier        {report.tier}"
    yield f"scope       {report.scope.population}"
    yield f"            not tested: {'; '.join(report.scope.excluded)}"
    yield f"in force    {report.window.issued_at} to {report.window.expires_at}"
    yield f"ends early  {', '.join(_triggers(verification))}"
    for claim in report.claims:
        yield f"claim       {claim.statement}"
        yield f"            {claim.verdict}; over {claim.quantifier}: {claim.assertion}{_distance(claim)}"


def _triggers(verification: Verification) -> Iterator[str]:
    """Each declared trigger, with what is known of it."""
    known = {
        check.name.removeprefix(_FIRED): {
            "passed": "unchanged",
            "failed": "CHANGED",
            "not checked": "not checked",
        }[check.outcome]
        for check in verification.checks
        if check.name.startswith(_FIRED)
    }
    assert verification.report is not None
    for trigger in verification.report.window.triggers:
        yield f"{trigger} ({known.get(trigger, 'not checked')})"


def _distance(claim: ClaimVerdict) -> str:
    if not claim.distance:
        return ""
    return f"; {claim.printed_type} at {claim.level} level, {claim.distance:+d} from the evidence"
