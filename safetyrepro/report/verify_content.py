"""The documents inside a report: read strictly, and held against each other.

A signed statement names every file by digest and repeats what matters most. Here the files, the
statement and the report record must say the same; who signed the statement is asked elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from safetyrepro.attest.check import Check, decide, failed, not_checked, passed
from safetyrepro.attest.document import format_instant, validate_document
from safetyrepro.attest.envelope import Envelope, parse_envelope
from safetyrepro.attest.hostile import check_json_bounds
from safetyrepro.attest.statement import (
    PredicateType,
    Statement,
    SubjectMatch,
    match_subjects,
    parse_statement,
)
from safetyrepro.canonical import canonical_bytes, parse_json
from safetyrepro.claims.validity import expiry, format_time, parse_time
from safetyrepro.data.bundle import ROWS_DIR, parse_document
from safetyrepro.data.manifest import Manifest
from safetyrepro.data.report_record import Report
from safetyrepro.errors import InputError
from safetyrepro.report.predicate import (
    ENVELOPE_FILE,
    ITEMS_FILE,
    MANIFEST_FILE,
    PREREGISTRATION_FILE,
    REPORT_FILE,
    RESULTS_FILE,
    SPEC_FILE,
    STATEMENT_FILE,
    ReportPredicate,
)


@dataclass(frozen=True, slots=True)
class Content:
    """The documents of a report, read."""

    report: Report
    statement: Statement
    predicate: ReportPredicate
    envelope: Envelope | None
    complete: bool


def read_record(files: Mapping[str, bytes]) -> Report | None:
    """The report record where it stands alone, without a statement; None where there is one.

    Raises:
        InputError: it is not what it must be.
    """
    if STATEMENT_FILE in files:
        return None
    check_json_bounds(files[REPORT_FILE], where=REPORT_FILE)
    return parse_document(files[REPORT_FILE], Report, where=REPORT_FILE)


def read_content(files: Mapping[str, bytes], *, complete: bool = True) -> Content:
    """The report's documents.

    Args:
        files: the documents by name.
        complete: whether all must be here, as in a PDF or a page; loose files may be the record and its
            statement alone.

    Raises:
        InputError: one is missing, too large, or not what it must be.
    """
    needed = (REPORT_FILE, STATEMENT_FILE, RESULTS_FILE, MANIFEST_FILE, ITEMS_FILE, SPEC_FILE)
    for name in needed if complete else needed[:2]:
        if name not in files:
            raise InputError(f"report: must hold {name}; it does not")
    for name in (REPORT_FILE, STATEMENT_FILE, MANIFEST_FILE, ENVELOPE_FILE, PREREGISTRATION_FILE):
        check_json_bounds(files.get(name, b""), where=name)
    statement = parse_statement(files[STATEMENT_FILE], where=STATEMENT_FILE)
    if statement.predicate_type is not PredicateType.REPORT:
        kind = statement.predicate_type.short_name
        raise InputError(f"{STATEMENT_FILE}: predicateType must be that of a report; got {kind}")
    predicate = validate_document(
        statement.predicate, ReportPredicate, where=f"{STATEMENT_FILE}: predicate"
    )
    report = parse_document(files[REPORT_FILE], Report, where=REPORT_FILE)
    if canonical_bytes(parse_json(files[REPORT_FILE], REPORT_FILE)) != files[REPORT_FILE]:
        raise InputError(f"{REPORT_FILE}: must be canonical JSON")
    envelope = None
    if ENVELOPE_FILE in files:
        envelope = parse_envelope(files[ENVELOPE_FILE], where=ENVELOPE_FILE)
    return Content(
        report=report, statement=statement, predicate=predicate, envelope=envelope, complete=complete
    )


def find_agreements(content: Content, *, files: Mapping[str, bytes]) -> Iterator[Check]:
    """Whether the files, the statement, its predicate and the report record say the same."""
    yield _files_as_stated(match_subjects(content.statement, files=files), complete=content.complete)
    yield _record_as_stated(content)
    if MANIFEST_FILE in files:
        yield _expiry_counted(content.report, manifest=files[MANIFEST_FILE])
    else:
        yield not_checked("expiry counted from the evidence", f"{MANIFEST_FILE} is not here")


def _files_as_stated(match: SubjectMatch, *, complete: bool) -> Check:
    name = "files as stated"
    unnamed = [one for one in match.unnamed if one not in (STATEMENT_FILE, ENVELOPE_FILE)]
    if match.differing:
        return failed(name, f"other bytes than the statement names: {', '.join(match.differing[:5])}")
    if unnamed:
        return failed(name, f"the statement does not name: {', '.join(unnamed[:5])}")
    others = [one for one in match.absent if not one.startswith(f"{ROWS_DIR}/")]
    rows = len(match.absent) - len(others)
    missing = [*others, *([f"{rows} files of rows"] if rows else [])]
    absent = f"; not here, so not checked: {', '.join(missing)}" if missing else ""
    if complete and others:
        return failed(name, f"the statement names files that are not here: {', '.join(others[:5])}")
    return passed(name, f"{len(match.matched)} files have the digests the statement names{absent}")


def _record_as_stated(content: Content) -> Check:
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
        good=f"evidence of {collected_at} plus {window.period} is {expected}",
        bad=f"evidence of {collected_at} plus {window.period} is {expected}; got {window.expires_at}",
    )
