"""Who signed a report's statement, whether those are the signers it declares, and whom to trust.

Each check comes with the state that its failure means: a signature that does not fit is TAMPERED, a
genuine one by somebody the reader does not trust is UNTRUSTED SIGNER.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from safetyrepro.attest.check import Check, decide, failed, not_checked, passed
from safetyrepro.attest.document import format_instant
from safetyrepro.attest.envelope import Envelope, EnvelopeVerdict, envelope_bytes, verify_envelope
from safetyrepro.attest.pdf_verdict import PdfSigner, PdfVerdict
from safetyrepro.attest.signature import PublicKey, fingerprint, key_id, supported_public_key
from safetyrepro.attest.statement import PredicateType
from safetyrepro.attest.trust import SignerStanding, TrustStore, assess_signer, judge_quorum
from safetyrepro.report.predicate import ENVELOPE_FILE, STATEMENT_FILE, ReportPredicate
from safetyrepro.report.verdicts import Verdict
from safetyrepro.report.verify_content import Content

Judged = tuple[Check, Verdict]


@dataclass(frozen=True, slots=True)
class Signatures:
    """The checks of the signatures, and how everybody who signed stands with the reader."""

    judged: tuple[Judged, ...]
    """Checks with the state that a failure means."""
    described: tuple[Check, ...]
    """What the trust file says of each signer; a signer who is not needed decides nothing."""
    standings: tuple[SignerStanding, ...]


def judge_signatures(
    content: Content, *, files: Mapping[str, bytes], seal: PdfVerdict | None, trust: TrustStore | None
) -> Signatures:
    """The signatures over the statement, with the PDF's seal (if it is a PDF) and the reader's trust."""
    sealer = None if seal is None else seal.signer
    if content.envelope is None:
        check = failed("statement signed", "no envelope with signatures over the statement")
        return Signatures(((check, Verdict.UNSIGNED if sealer is None else Verdict.TAMPERED),), (), ())
    if seal is not None and sealer is None:
        gone = "the statement inside is signed, but the PDF has no seal: it was printed or written again"
        return Signatures(((failed("sealed by a signer", gone), Verdict.TAMPERED),), (), ())
    keys = [] if trust is None else list(trust.public_keys)
    if sealer is not None:
        keys.append(supported_public_key(sealer.certificate.public_key(), where="seal"))
    verdict = verify_envelope(content.envelope, public_keys=keys)
    judged = list(_envelope_checks(content.envelope, verdict=verdict, files=files, keys=keys))
    judged += _declared_checks(content.predicate, verdict=verdict)
    if sealer is not None:
        judged.append((_sealed_by_signer(sealer.keyid, verdict=verdict), Verdict.TAMPERED))
    if trust is None:
        nobody = failed("trusted", "no trust file was given: nobody is trusted")
        return Signatures((*judged, (nobody, Verdict.UNTRUSTED_SIGNER)), (), ())
    standings = _standings(content.predicate, verdict=verdict, trust=trust)
    quorum = judge_quorum(trust, standings, predicate_type=PredicateType.REPORT)
    trusted = [*quorum.requirements]
    if sealer is not None:
        trusted.append(_sealer_trusted(sealer, predicate=content.predicate, trust=trust))
    return Signatures(
        judged=(*judged, *((check, Verdict.UNTRUSTED_SIGNER) for check in trusted)),
        described=tuple(_describe(standings)),
        standings=standings,
    )


def _envelope_checks(
    envelope: Envelope, *, verdict: EnvelopeVerdict, files: Mapping[str, bytes], keys: list[PublicKey]
) -> Iterator[Judged]:
    whole = envelope_bytes(envelope) == files[ENVELOPE_FILE]
    same = envelope.payload == files[STATEMENT_FILE]
    yield (
        decide(
            "statement signed",
            whole and same,
            good="the envelope holds this statement, and is spelled in the one way",
            bad="the envelope holds another statement" if whole else "the envelope was edited",
        ),
        Verdict.TAMPERED,
    )
    known = {key_id(key) for key in keys}
    for one in verdict.signatures:
        name = f"signature {one.index + 1}"
        if one.hint_fits:
            yield passed(name, f"by the key {fingerprint(one.keyid or '')}"), Verdict.TAMPERED
        elif one.keyid is not None or one.hint in known:
            yield failed(name, f"does not fit the key it names, {one.hint}"), Verdict.TAMPERED
        else:
            yield not_checked(name, f"by a key that is not at hand, {one.hint}"), Verdict.TAMPERED


def _declared_checks(predicate: ReportPredicate, *, verdict: EnvelopeVerdict) -> Iterator[Judged]:
    """Each signer that the statement declares must have signed it."""
    if not predicate.signers:
        yield failed("declared signers", "the statement declares nobody as its signer"), Verdict.TAMPERED
    for one in predicate.signers:
        check = decide(
            f"signed by {one.principal}",
            one.keyid in verdict.signers,
            good=f"declared as {one.role}, and signed with {fingerprint(one.keyid)}",
            bad=f"declared as {one.role}; no signature with {fingerprint(one.keyid)} could be verified",
        )
        yield check, Verdict.UNTRUSTED_SIGNER


def _sealed_by_signer(sealer: str, *, verdict: EnvelopeVerdict) -> Check:
    return decide(
        "sealed by a signer",
        sealer in verdict.signers,
        good="whoever sealed the PDF signed the statement too",
        bad=f"the PDF was sealed with {fingerprint(sealer)}, which did not sign the statement inside",
    )


def _standings(
    predicate: ReportPredicate, *, verdict: EnvelopeVerdict, trust: TrustStore
) -> tuple[SignerStanding, ...]:
    return tuple(
        _standing(keyid, predicate=predicate, trust=trust, signed_at=predicate.issued_at)
        for keyid in verdict.signers
    )


def _standing(
    keyid: str, *, predicate: ReportPredicate, trust: TrustStore, signed_at: datetime
) -> SignerStanding:
    role = next((one.role for one in predicate.signers if one.keyid == keyid), None)
    return assess_signer(trust, keyid, role=role, predicate_type=PredicateType.REPORT, signed_at=signed_at)


def _sealer_trusted(sealer: PdfSigner, *, predicate: ReportPredicate, trust: TrustStore) -> Check:
    """Whether the reader trusts the key of the seal at the time that the seal states."""
    standing = _standing(sealer.keyid, predicate=predicate, trust=trust, signed_at=sealer.signed_at)
    reasons = "; ".join(check.detail for check in standing.checks if not check.passed)
    return decide(
        "sealed by a trusted signer",
        standing.trusted,
        good=f"{fingerprint(sealer.keyid)} is trusted, and sealed it at {format_instant(sealer.signed_at)}",
        bad=f"{fingerprint(sealer.keyid)} is not trusted: {reasons}",
    )


def _describe(standings: tuple[SignerStanding, ...]) -> Iterator[Check]:
    for standing in standings:
        who = standing.principal or fingerprint(standing.keyid)
        for check in standing.checks:
            yield Check(f"{who}: {check.name}", check.outcome, check.detail)
