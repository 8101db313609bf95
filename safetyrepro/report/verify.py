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
from datetime import datetime

from safetyrepro.attest.check import Check, decide, failed, not_checked, passed
from safetyrepro.attest.document import format_instant, utc_instant
from safetyrepro.attest.pdf_verdict import PdfVerdict
from safetyrepro.attest.trust import TrustStore
from safetyrepro.errors import InputError
from safetyrepro.report.predicate import ReportPredicate
from safetyrepro.report.verdicts import Verdict, Verification, conclude
from safetyrepro.report.verify_content import find_agreements, read_content
from safetyrepro.report.verify_signers import Judged, judge_signatures

_SEAL_STATES: Mapping[str, Verdict] = {"tampered": Verdict.TAMPERED, "malformed": Verdict.MALFORMED}
_NEVER_CHECKED = (
    not_checked("triggers", "whether model, data, scaffold, scorer or rubric changed since: not asked"),
    not_checked("time of signing", "asserted by the signer; no third party confirms it"),
    not_checked("content", "a signature says who signed what; it does not say that it is right"),
)


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
        content = read_content(files)
    except InputError as error:
        checks += [failed("report readable", str(error)), *_NEVER_CHECKED]
        return conclude([Verdict.MALFORMED], checks=checks, at=moment, seal=signer)
    checks.append(passed("report readable", f"the report {content.report.id}"))
    signatures = judge_signatures(content, files=files, seal=seal, trust=trust)
    judged: list[Judged] = [
        *((check, Verdict.TAMPERED) for check in find_agreements(content, files=files)),
        *signatures.judged,
        *_in_force(content.predicate, at=moment),
    ]
    return conclude(
        {state for check, state in judged if check.failed},
        checks=[*checks, *(check for check, _ in judged), *signatures.described, *_NEVER_CHECKED],
        at=moment,
        report=content.report,
        signers=signatures.standings,
        seal=signer,
    )


def _in_force(predicate: ReportPredicate, *, at: datetime) -> Iterator[Judged]:
    """Whether the day lies in the window: from the moment of issue, up to that of expiry."""
    day = format_instant(at)
    issued, expires = format_instant(predicate.issued_at), format_instant(predicate.expires_at)
    yield (
        decide(
            "begun",
            at >= predicate.issued_at,
            good=f"issued at {issued}",
            bad=f"{day} is before {issued}, when it was issued",
        ),
        Verdict.NOT_YET_VALID,
    )
    yield (
        decide(
            "not over",
            at < predicate.expires_at,
            good=f"expires at {expires}",
            bad=f"{day} is not before {expires}, when it expires",
        ),
        Verdict.EXPIRED,
    )
