"""What a verification says: one verdict, every state that was found, and every check in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from safetyrepro.attest.check import Check
from safetyrepro.attest.document import format_instant
from safetyrepro.attest.pdf_verdict import PdfSigner
from safetyrepro.attest.signature import fingerprint
from safetyrepro.attest.trust import SignerStanding
from safetyrepro.canonical import JsonValue
from safetyrepro.data.report_record import Report


class Verdict(StrEnum):
    """The state of a report, in the order of precedence: the first that applies is the verdict.

    The order asks what a reader needs to know first: is it readable, is it what was made, did
    anybody sign it, somebody I trust, and only then, is it in force. A date in a report that nobody
    vouches for means nothing, so UNSIGNED goes before EXPIRED.
    """

    MALFORMED = "MALFORMED"
    """It cannot be read as a report of this program."""
    TAMPERED = "TAMPERED"
    """It is not what was signed."""
    UNSIGNED = "UNSIGNED"
    """Nobody signed it."""
    UNTRUSTED_SIGNER = "UNTRUSTED SIGNER"
    """Whoever signed it is not among those the reader trusts to, or too few of them did."""
    EXPIRED = "EXPIRED"
    """Genuine; its window is over."""
    NOT_YET_VALID = "NOT YET VALID"
    """Genuine; its window has not begun."""
    CURRENT = "CURRENT"
    """Genuine and in force. It does not say that the content is right."""


MEANINGS: Mapping[Verdict, str] = {
    Verdict.MALFORMED: "it cannot be read as a report of this program",
    Verdict.TAMPERED: "it is not what was signed",
    Verdict.UNSIGNED: "nobody signed it",
    Verdict.UNTRUSTED_SIGNER: "it is not signed as your trust file demands",
    Verdict.EXPIRED: "it is genuine, and its window is over",
    Verdict.NOT_YET_VALID: "it is genuine, and its window has not begun",
    Verdict.CURRENT: "it is genuine and in force",
}


@dataclass(frozen=True, slots=True)
class Verification:
    """The outcome of verifying one report for one day."""

    verdict: Verdict
    """The first state in the order of precedence."""
    states: tuple[Verdict, ...]
    """Every state that was found, in the order of precedence."""
    checks: tuple[Check, ...]
    """Every check in the order it was made, with those that were not made, and why."""
    at: datetime
    """The day that was asked about."""
    report: Report | None
    """What the file says; believe it no further than the verdict goes. None where it was not read."""
    signers: tuple[SignerStanding, ...]
    """Everybody whose signature over the statement is genuine, and how they stand with the reader."""
    seal: PdfSigner | None
    """Who sealed the PDF, where its seal is genuine."""

    @property
    def meaning(self) -> str:
        """The verdict in words."""
        return MEANINGS[self.verdict]


def conclude(
    states: Iterable[Verdict],
    *,
    checks: Iterable[Check],
    at: datetime,
    report: Report | None = None,
    signers: Iterable[SignerStanding] = (),
    seal: PdfSigner | None = None,
) -> Verification:
    """The verification that these states and checks amount to; without a state it is CURRENT."""
    found = set(states) or {Verdict.CURRENT}
    ordered = tuple(verdict for verdict in Verdict if verdict in found)
    return Verification(
        verdict=ordered[0],
        states=ordered,
        checks=tuple(checks),
        at=at,
        report=report,
        signers=tuple(signers),
        seal=seal,
    )


def verification_document(verification: Verification) -> dict[str, JsonValue]:
    """The verification as plain JSON, for programs."""
    report = verification.report
    seal = verification.seal
    return {
        "schema": "safetyrepro/verification/v1",
        "verdict": verification.verdict.value,
        "meaning": verification.meaning,
        "states": [state.value for state in verification.states],
        "at": format_instant(verification.at),
        "checks": [
            {"name": check.name, "outcome": check.outcome, "detail": check.detail}
            for check in verification.checks
        ],
        "signers": [
            {
                "principal": standing.principal,
                "keyid": standing.keyid,
                "fingerprint": fingerprint(standing.keyid),
                "role": standing.role,
                "trusted": standing.trusted,
            }
            for standing in verification.signers
        ],
        "seal": None
        if seal is None
        else {
            "principal": seal.principal,
            "keyid": seal.keyid,
            "fingerprint": fingerprint(seal.keyid),
            "signed_at": format_instant(seal.signed_at),
        },
        "report": None
        if report is None
        else {
            "id": report.id,
            "title": report.title,
            "level": report.level,
            "tier": report.tier,
            "issued_at": report.window.issued_at,
            "expires_at": report.window.expires_at,
            "claims": [
                {
                    "claim": claim.claim,
                    "statement": claim.statement,
                    "verdict": claim.verdict,
                    "assertion": claim.assertion,
                }
                for claim in report.claims
            ],
        },
    }
