"""A report held against its signatures, a trust file and a day: one verdict, and every check.

Works on bytes alone: no network, no clock (the day is passed in), nothing is written. It goes from
bytes to meaning, and each step believes only what the steps before it established:

1. the seal of the PDF: is every byte as it was sealed, and by which key;
2. the envelope: which keys signed the statement;
3. the statement: do the files have the digests it names, does the report record agree with it;
4. trust: may those keys sign such a report in these roles, and are they enough;
5. force: is the day within the window.

A file that fails the first step is not opened any further.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from safetyrepro.attest.check import Check, decide, failed, not_checked, passed
from safetyrepro.attest.document import format_instant, utc_instant, validate_document
from safetyrepro.attest.envelope import (
    Envelope,
    EnvelopeVerdict,
    envelope_bytes,
    parse_envelope,
    verify_envelope,
)
from safetyrepro.attest.pdf_verdict import PdfVerdict
from safetyrepro.attest.signature import PublicKey, fingerprint, supported_public_key
from safetyrepro.attest.statement import (
    PredicateType,
    Role,
    Statement,
    SubjectMatch,
    match_subjects,
    parse_statement,
)
from safetyrepro.attest.trust import SignerStanding, TrustStore, assess_signer, judge_quorum
from safetyrepro.canonical import canonical_bytes, parse_json
from safetyrepro.claims.validity import expiry, format_time, parse_time
from safetyrepro.data.bundle import ROWS_DIR, parse_document
from safetyrepro.data.manifest import Manifest
from safetyrepro.data.report_record import Report
from safetyrepro.errors import InputError
from safetyrepro.report.predicate import (
    ITEMS_FILE,
    MANIFEST_FILE,
    REPORT_FILE,
    RESULTS_FILE,
    SPEC_FILE,
    ReportPredicate,
)
from safetyrepro.report.publish import ENVELOPE_FILE, STATEMENT_FILE
from safetyrepro.report.verdicts import Verdict, Verification, conclude

MAX_DOCUMENT_BYTES = 8 * 2**20
_SEAL_STATES: Mapping[str, Verdict] = {
    "unsigned": Verdict.UNSIGNED,
    "tampered": Verdict.TAMPERED,
    "malformed": Verdict.MALFORMED,
}
_NEVER_CHECKED = (
    not_checked("triggers", "whether model, data, scaffold, scorer or rubric changed since: not asked"),
    not_checked("time of signing", "asserted by the signer; no third party confirms it"),
    not_checked("content", "a signature says who signed what; it does not say that it is right"),
)


@dataclass(frozen=True, slots=True)
class _Content:
    """The documents of a report, read."""

    report: Report
    statement: Statement
    predicate: ReportPredicate
    envelope: Envelope | None


def verify_report_pdf(pdf: bytes, *, trust: TrustStore | None, at: datetime) -> Verification:
    """The verdict on a report as a PDF.

    Args:
        pdf: the file's bytes, whatever they are.
        trust: whom the reader trusts; None trusts nobody, and the verdict cannot be CURRENT.
        at: the day asked about.
    """
    from safetyrepro.attest.pdf_attachments import read_attachments
    from safetyrepro.attest.pdf_signature import verify_pdf

    moment = utc_instant(at)
    seal = verify_pdf(pdf)
    if seal.state in ("tampered", "malformed"):
        return conclude([_SEAL_STATES[seal.state]], checks=[*seal.checks, *_NEVER_CHECKED], at=moment)
    try:
        files = {one.name: one.data for one in read_attachments(pdf, where="PDF")}
    except InputError as error:
        checks = [*seal.checks, failed("attachments", str(error)), *_NEVER_CHECKED]
        return conclude([Verdict.MALFORMED], checks=checks, at=moment, seal=seal.signer)
    return verify_report_files(files, seal=seal, trust=trust, at=moment)


def verify_report_files(
    files: Mapping[str, bytes], *, seal: PdfVerdict | None, trust: TrustStore | None, at: datetime
) -> Verification:
    """The verdict on a report as its files, by name; `seal` is that of the PDF they came from, if any."""
    moment = utc_instant(at)
    signer = None if seal is None else seal.signer
    checks: list[Check] = [] if seal is None else list(seal.checks)
    try:
        content = _read_content(files)
    except InputError as error:
        checks += [failed("report readable", str(error)), *_NEVER_CHECKED]
        return conclude([Verdict.MALFORMED], checks=checks, at=moment, seal=signer)
    checks.append(passed("report readable", f"the report {content.report.id}"))
    states: set[Verdict] = set()
    for check in _agreements(content, files=files):
        checks.append(check)
        if check.failed:
            states.add(Verdict.TAMPERED)
    signatures, standings = _signatures(content, seal=seal, trust=trust)
    for check, state in signatures:
        checks.append(check)
        if check.failed:
            states.add(state)
    force = _in_force(content.report, at=moment)
    checks += [check for check, _ in force]
    states |= {state for check, state in force if check.failed}
    return conclude(
        states,
        checks=[*checks, *_NEVER_CHECKED],
        at=moment,
        report=content.report,
        signers=standings,
        seal=signer,
    )


def _read_content(files: Mapping[str, bytes]) -> _Content:
    """The report's documents.

    Raises:
        InputError: one is missing, too large, or not what it must be.
    """
    for name in (REPORT_FILE, STATEMENT_FILE, RESULTS_FILE, MANIFEST_FILE, ITEMS_FILE, SPEC_FILE):
        if name not in files:
            raise InputError(f"report: must hold {name}; it does not")
    for name in (REPORT_FILE, STATEMENT_FILE, MANIFEST_FILE, ENVELOPE_FILE):
        if len(files.get(name, b"")) > MAX_DOCUMENT_BYTES:
            raise InputError(f"{name}: must be at most {MAX_DOCUMENT_BYTES} bytes; got {len(files[name])}")
    statement = parse_statement(files[STATEMENT_FILE], where=STATEMENT_FILE)
    if statement.predicate_type is not PredicateType.REPORT:
        kind = statement.predicate_type.short_name
        raise InputError(f"{STATEMENT_FILE}: predicateType must be that of a report; got {kind}")
    predicate = validate_document(statement.predicate, ReportPredicate, where=f"{STATEMENT_FILE}: predicate")
    report = parse_document(files[REPORT_FILE], Report, where=REPORT_FILE)
    if canonical_bytes(parse_json(files[REPORT_FILE], REPORT_FILE)) != files[REPORT_FILE]:
        raise InputError(f"{REPORT_FILE}: must be canonical JSON")
    envelope = None
    if ENVELOPE_FILE in files:
        envelope = parse_envelope(files[ENVELOPE_FILE], where=ENVELOPE_FILE)
    return _Content(report=report, statement=statement, predicate=predicate, envelope=envelope)


def _agreements(content: _Content, *, files: Mapping[str, bytes]) -> Iterator[Check]:
    """Whether the files, the statement, its predicate and the report record say the same."""
    yield _files_as_stated(match_subjects(content.statement, files=files))
    yield _record_as_stated(content)
    yield _expiry_counted(content.report, manifest=files[MANIFEST_FILE])


def _files_as_stated(match: SubjectMatch) -> Check:
    name = "files as stated"
    unnamed = [one for one in match.unnamed if one not in (STATEMENT_FILE, ENVELOPE_FILE)]
    if match.differing:
        return failed(name, f"other bytes than the statement names: {', '.join(match.differing[:5])}")
    if unnamed:
        return failed(name, f"the statement does not name: {', '.join(unnamed[:5])}")
    absent = f"; not here, so not checked: {len(match.absent)} files of rows" if match.absent else ""
    if any(not one.startswith(f"{ROWS_DIR}/") for one in match.absent):
        return failed(name, f"the statement names files that are not here: {', '.join(match.absent[:5])}")
    return passed(name, f"{len(match.matched)} files have the digests the statement names{absent}")


def _record_as_stated(content: _Content) -> Check:
    report, predicate = content.report, content.predicate
    named = {subject.name: f"sha256:{subject.digest.sha256}" for subject in content.statement.subject}
    materials = report.materials
    pairs = {
        "id": (report.id, predicate.report),
        "level": (report.level, predicate.level),
        "tier": (report.tier, predicate.tier),
        "collected_at": (report.window.collected_at, format_instant(predicate.collected_at)),
        "issued_at": (report.window.issued_at, format_instant(predicate.issued_at)),
        "expires_at": (report.window.expires_at, format_instant(predicate.expires_at)),
        "non_claims": (report.non_claims, predicate.non_claims),
        RESULTS_FILE: (materials.results, named.get(RESULTS_FILE)),
        MANIFEST_FILE: (materials.manifest, named.get(MANIFEST_FILE)),
        ITEMS_FILE: (materials.items, named.get(ITEMS_FILE)),
        SPEC_FILE: (materials.spec, named.get(SPEC_FILE)),
        "rows": (
            dict(materials.rows),
            {name: digest for name, digest in named.items() if name.startswith(f"{ROWS_DIR}/")},
        ),
    }
    differing = [name for name, (recorded, stated) in pairs.items() if recorded != stated]
    return decide(
        "record as stated",
        not differing,
        good="the report record and the signed statement agree",
        bad=f"the report record and the signed statement differ in: {', '.join(differing)}",
    )


def _expiry_counted(report: Report, *, manifest: bytes) -> Check:
    """Whether the window is counted from the oldest evidence, as the manifest dates it."""
    name = "expiry counted from the evidence"
    window = report.window
    try:
        collected_at = parse_document(manifest, Manifest, where=MANIFEST_FILE).collected_at
        expected = format_time(expiry(parse_time(collected_at, MANIFEST_FILE), window.period))
    except InputError as error:
        return failed(name, str(error))
    return decide(
        name,
        (window.collected_at, window.expires_at) == (collected_at, expected),
        good=f"oldest evidence of {collected_at} plus {window.period} is {expected}",
        bad=f"oldest evidence of {collected_at} plus {window.period} is {expected}, not {window.expires_at}",
    )


def _signatures(
    content: _Content, *, seal: PdfVerdict | None, trust: TrustStore | None
) -> tuple[list[tuple[Check, Verdict]], tuple[SignerStanding, ...]]:
    """The checks of envelope, seal and trust, each with the state it means if it fails."""
    sealed = seal is not None and seal.signer is not None
    if content.envelope is None:
        check = failed("statement signed", "there is no envelope with signatures over the statement")
        return [(check, Verdict.TAMPERED if sealed else Verdict.UNSIGNED)], ()
    if seal is not None and not sealed:
        gone = "the statement inside is signed, but the PDF has no seal: it was printed or written again"
        return [(failed("sealed by a signer", gone), Verdict.TAMPERED)], ()
    keys: list[PublicKey] = [] if trust is None else list(trust.public_keys)
    if seal is not None and seal.signer is not None:
        keys.append(supported_public_key(seal.signer.certificate.public_key(), where="seal"))
    verdict = verify_envelope(content.envelope, public_keys=keys)
    found = [(check, Verdict.TAMPERED) for check in _envelope_checks(content, verdict=verdict, seal=seal)]
    roles: dict[str, Role] = {one.keyid: one.role for one in content.predicate.signers}
    if trust is None:
        check = failed("trusted", "no trust file was given: nobody is trusted")
        return [*found, (check, Verdict.UNTRUSTED_SIGNER)], ()
    standings = tuple(
        assess_signer(
            trust,
            keyid,
            role=roles.get(keyid),
            predicate_type=PredicateType.REPORT,
            signed_at=content.predicate.issued_at,
        )
        for keyid in verdict.signers
    )
    quorum = judge_quorum(trust, standings, predicate_type=PredicateType.REPORT)
    found += [(check, Verdict.UNTRUSTED_SIGNER) for check in quorum.requirements]
    if seal is not None and seal.signer is not None:
        sealer = seal.signer.keyid
        trusted = any(standing.keyid == sealer and standing.trusted for standing in standings)
        check = decide(
            "sealed by a trusted signer",
            trusted,
            good=f"the seal is by {fingerprint(sealer)}, who is trusted",
            bad=f"the seal is by {fingerprint(sealer)}, who is not trusted to sign it",
        )
        found.append((check, Verdict.UNTRUSTED_SIGNER))
    described = [
        (Check(f"{fingerprint(standing.keyid)}: {check.name}", check.outcome, check.detail), state)
        for standing in standings
        for check in standing.checks
        for state in (Verdict.UNTRUSTED_SIGNER,)
    ]
    return [*found, *described], standings


def _envelope_checks(
    content: _Content, *, verdict: EnvelopeVerdict, seal: PdfVerdict | None
) -> Iterator[Check]:
    """Whether the envelope signs this statement, by those the statement declares."""
    raise NotImplementedError
