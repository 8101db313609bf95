"""A report held against its signatures, a trust file and a day: one verdict, and every check.

The steps, each with its own checks:

1. the PDF's seal: is the file what its signer sealed;
2. the envelope: which keys signed the statement;
3. the statement: do the files have the digests it names, does the report record agree with it;
4. trust: may those keys sign such a report in these roles, and are they enough;
5. the pages: printed again from the documents inside, are they the same;
6. force: is the day within the window, did its signers take it back, has something changed since.

A file that fails the first step is not opened any further, and nothing is printed again or compared for a
report whose signatures the reader does not trust.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from safetyrepro.attest.check import Check, decide, failed, not_checked, passed
from safetyrepro.attest.document import format_instant, utc_instant
from safetyrepro.attest.pdf_verdict import PdfVerdict
from safetyrepro.attest.trust import TrustStore
from safetyrepro.errors import InputError
from safetyrepro.report.currency import Against
from safetyrepro.report.handed import Handed
from safetyrepro.report.predicate import ReportPredicate
from safetyrepro.report.printed import PDF_FILE, documents_in_page
from safetyrepro.report.verdicts import Verdict, Verification, conclude
from safetyrepro.report.verify_content import find_agreements, read_content, read_record
from safetyrepro.report.verify_later import Later, judge_later
from safetyrepro.report.verify_printed import PAGES, check_html_page, check_pdf_pages
from safetyrepro.report.verify_signers import Judged, judge_signatures

_SEAL_STATES: Mapping[str, Verdict] = {"tampered": Verdict.TAMPERED, "malformed": Verdict.MALFORMED}
_NEVER_CHECKED = (
    not_checked("time of signing", "asserted by the signer; no third party confirms it"),
    not_checked("content", "a signature says who signed what; it does not say that it is right"),
)
_NOT_GENUINE = frozenset((Verdict.MALFORMED, Verdict.TAMPERED, Verdict.UNSIGNED, Verdict.UNTRUSTED_SIGNER))


@dataclass(frozen=True, slots=True)
class Beyond:
    """What a reader brings along besides the report, and whether its pages are printed again."""

    print_again: bool = True
    against: tuple[Against, ...] = ()
    notices: tuple[tuple[str, bytes], ...] = ()
    """Files of published notices, by name: revocations, supersessions, contaminated data."""
    reproductions: tuple[tuple[str, bytes], ...] = ()
    """Files of reproduction statements, by name."""


NOTHING_BEYOND = Beyond()


@dataclass(frozen=True, slots=True)
class _Asked:
    """One verification: what is asked, whom the reader trusts, and how the pages would be checked."""

    trust: TrustStore | None
    at: datetime
    beyond: Beyond
    complete: bool = True
    pages: Callable[[Mapping[str, bytes]], Check] | None = None


def verify_report(
    handed: Handed, *, trust: TrustStore | None, at: datetime, beyond: Beyond = NOTHING_BEYOND
) -> Verification:
    """The verdict on a report in whatever form it was handed over.

    Args:
        handed: a PDF, a page, or loose files.
        trust: whom the reader trusts; None trusts nobody, and the verdict cannot be CURRENT.
        at: the day asked about.
        beyond: what else the reader brings.
    """
    if handed.form == "PDF":
        return verify_report_pdf(handed.data, trust=trust, at=at, beyond=beyond)
    if handed.form == "page":
        return verify_report_page(handed.data, trust=trust, at=at, beyond=beyond)
    asked = _Asked(trust, utc_instant(at), beyond, complete=False)
    found = _verify_files(handed.files, seal=None, asked=asked)
    return _with_beside(found, handed=handed, asked=asked)


def verify_report_pdf(
    pdf: bytes, *, trust: TrustStore | None, at: datetime, beyond: Beyond = NOTHING_BEYOND
) -> Verification:
    """The verdict on a report as a PDF; the arguments are those of `verify_report`."""
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
    sealer = seal.signer
    pages = None if sealer is None else lambda inside: check_pdf_pages(pdf, files=inside, seal=sealer)
    return _verify_files(files, seal=seal, asked=_Asked(trust, moment, beyond, pages=pages))


def verify_report_page(
    page: bytes, *, trust: TrustStore | None, at: datetime, beyond: Beyond = NOTHING_BEYOND
) -> Verification:
    """The verdict on a report as an HTML page; the arguments are those of `verify_report`."""
    moment = utc_instant(at)
    try:
        files = documents_in_page(page, where="page")
    except InputError as error:
        checks = [failed("documents inside", str(error)), *_NEVER_CHECKED]
        return conclude([Verdict.MALFORMED], checks=checks, at=moment)
    asked = _Asked(trust, moment, beyond, pages=lambda inside: check_html_page(page, files=inside))
    return _verify_files(files, seal=None, asked=asked)


def verify_report_files(
    files: Mapping[str, bytes],
    *,
    seal: PdfVerdict | None,
    trust: TrustStore | None,
    at: datetime,
    beyond: Beyond = NOTHING_BEYOND,
) -> Verification:
    """The verdict on a report as its files, by name; `seal` is that of the PDF they came from, if any."""
    return _verify_files(files, seal=seal, asked=_Asked(trust, utc_instant(at), beyond))


def _verify_files(files: Mapping[str, bytes], *, seal: PdfVerdict | None, asked: _Asked) -> Verification:
    signer = None if seal is None else seal.signer
    checks: list[Check] = [] if seal is None else list(seal.checks)
    try:
        if not asked.complete and read_record(files) is not None:
            return _lone_record(files, asked=asked)
        content = read_content(files, complete=asked.complete)
    except InputError as error:
        checks += [failed("report readable", str(error)), *_NEVER_CHECKED]
        return conclude([Verdict.MALFORMED], checks=checks, at=asked.at, seal=signer)
    checks.append(passed("report readable", f"the report {content.report.id}"))
    signatures = judge_signatures(content, files=files, seal=seal, trust=asked.trust)
    judged: list[Judged] = [
        *((check, Verdict.TAMPERED) for check in find_agreements(content, files=files)),
        *signatures.judged,
    ]
    genuine = not any(check.failed and state in _NOT_GENUINE for check, state in judged)
    if asked.pages is not None:
        judged.append((_pages(files, asked=asked, genuine=genuine), Verdict.TAMPERED))
    judged += _in_force(content.predicate, at=asked.at)
    later = Later((), ())
    if genuine:
        later = judge_later(
            content,
            files=files,
            trust=asked.trust,
            signers=signatures.standings,
            against=asked.beyond.against,
            notices=asked.beyond.notices,
            reproductions=asked.beyond.reproductions,
        )
    judged += later.judged
    return conclude(
        {state for check, state in judged if check.failed},
        checks=[*checks, *(check for check, _ in judged), *signatures.described, *_NEVER_CHECKED],
        at=asked.at,
        report=content.report,
        signers=signatures.standings,
        seal=signer,
        reproductions=later.reproductions,
    )


def _lone_record(files: Mapping[str, bytes], *, asked: _Asked) -> Verification:
    """A report.json without a statement beside it: readable, and nobody vouches for it."""
    report = read_record(files)
    checks = [
        passed("report readable", "a report record"),
        failed(
            "statement signed", "a record alone bears no signature: ask for the PDF, the page or the bundle"
        ),
        *_NEVER_CHECKED,
    ]
    return conclude([Verdict.UNSIGNED], checks=checks, at=asked.at, report=report)


def _pages(files: Mapping[str, bytes], *, asked: _Asked, genuine: bool) -> Check:
    if not asked.beyond.print_again:
        return not_checked(PAGES, "not asked")
    if not genuine:
        return not_checked(PAGES, "nothing is printed again for signatures that are not trusted")
    assert asked.pages is not None
    return asked.pages(files)


def _with_beside(found: Verification, *, handed: Handed, asked: _Asked) -> Verification:
    """The verification of a bundle's files, with its printed forms held against them."""
    checks: list[Check] = []
    for name, data in handed.beside.items():
        verify = verify_report_pdf if name == PDF_FILE else verify_report_page
        one = verify(data, trust=asked.trust, at=asked.at, beyond=Beyond(asked.beyond.print_again))
        same = one.report == found.report
        alike = one.verdict not in _NOT_GENUINE or one.verdict == found.verdict
        checks.append(
            decide(
                f"{name} beside it",
                same and alike,
                good=f"of this report; on its own: {one.verdict.value}",
                bad=f"{one.verdict.value}; verify it alone for the reason" if same else "of another report",
            )
        )
    if not checks:
        return found
    states = set(found.states)
    if any(check.failed for check in checks):
        states = (states - {Verdict.CURRENT}) | {Verdict.TAMPERED}
    ordered = tuple(verdict for verdict in Verdict if verdict in states)
    return replace(found, verdict=ordered[0], states=ordered, checks=(*checks, *found.checks))


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
