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
    anybody sign it, somebody I trust; then, what its signers said about it since; and only then, is it
    in force. A date in a report that nobody vouches for means nothing, so UNSIGNED goes before EXPIRED.
    EXPIRED goes before STALE, so that the verdict on an old report is the same whatever it is held
    against.
    """

    MALFORMED = "MALFORMED"
    """It cannot be read as a report of this program."""
    TAMPERED = "TAMPERED"
    """It is not what was signed."""
    UNSIGNED = "UNSIGNED"
    """Nobody signed it."""
    UNTRUSTED_SIGNER = "UNTRUSTED SIGNER"
    """Whoever signed it is not among those the reader trusts to, or too few of them did."""
    REVOKED = "REVOKED"
    """Genuine; whoever signed it took it back."""
    SUPERSEDED = "SUPERSEDED"
    """Genuine; whoever signed it named another report that replaces it."""
    EXPIRED = "EXPIRED"
    """Genuine; its window is over."""
    STALE = "STALE"
    """Genuine; a change that ends its window early, as it declares, has happened."""
    NOT_YET_VALID = "NOT YET VALID"
    """Genuine; its window has not begun."""
    CURRENT = "CURRENT"
    """Genuine and in force. It does not say that the content is right."""


MEANINGS: Mapping[Verdict, str] = {
    Verdict.MALFORMED: "it cannot be read as a report of this program",
    Verdict.TAMPERED: "it is not what was signed",
    Verdict.UNSIGNED: "nobody signed it",
    Verdict.UNTRUSTED_SIGNER: "it is not signed as your trust file demands",
    Verdict.REVOKED: "it is genuine, and its signer took it back",
    Verdict.SUPERSEDED: "it is genuine, and its signer replaced it by another",
    Verdict.EXPIRED: "it is genuine, and its window is over",
    Verdict.STALE: "it is genuine, and something it depends on has changed since",
    Verdict.NOT_YET_VALID: "it is genuine, and its window has not begun",
    Verdict.CURRENT: "it is genuine and in force",
}


@dataclass(frozen=True, slots=True)
class ShownReproduction:
    """A statement by somebody who ran the report again, as far as it can be believed."""

    file: str
    """The file it stands in."""
    by: str | None
    """The reader's name for whoever signed it; None where nobody the reader trusts did."""
    trusted: bool
    """Whether the reader trusts them to say so."""
    outcome: str | None
    """identical, within tolerance, or different; None where it is no reproduction of this report."""
    detail: str
    """Particulars, in one sentence."""


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
    reproductions: tuple[ShownReproduction, ...] = ()
    """The reproductions that accompany the report; they decide nothing."""

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
    reproductions: Iterable[ShownReproduction] = (),
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
        reproductions=tuple(reproductions),
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
        "reproductions": [
            {
                "file": one.file,
                "by": one.by,
                "trusted": one.trusted,
                "outcome": one.outcome,
                "detail": one.detail,
            }
            for one in verification.reproductions
        ],
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
