"""Published notices: a report taken back, a report replaced, items that leaked into training.

A file of notices is a list of signed statements, one envelope a line, made to be appended to and published
beside the reports it speaks about. A reader gives it to `verify`. A notice about a report counts only when
a signer of that report signed it (the same person in the reader's trust file, with whichever key), so that
nobody can take back what another has published. A notice about items counts when anybody signed it whom the
reader trusts to say so.

Notices count whatever day is asked about: the reader asks with what is known today.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

from safetyrepro.attest.check import Check, failed, not_checked, passed
from safetyrepro.attest.document import format_instant
from safetyrepro.attest.statement import PredicateType
from safetyrepro.attest.trust import TrustStore
from safetyrepro.canonical import digest_bytes
from safetyrepro.data.bundle import parse_document, write_atomically
from safetyrepro.data.manifest import Manifest
from safetyrepro.data.report_record import Report
from safetyrepro.data.results import Results
from safetyrepro.errors import InputError, must_be
from safetyrepro.report.currency import TriggerState
from safetyrepro.report.documents import files_inside
from safetyrepro.report.handed import read_bounded, read_handed
from safetyrepro.report.predicate import MANIFEST_FILE, REPORT_FILE, RESULTS_FILE, STATEMENT_FILE
from safetyrepro.report.signed import Backing, SignedStatement, Signing, backing, read_word, sign_word
from safetyrepro.report.statements import (
    ITEMS_SUBJECT,
    ContaminationPredicate,
    RevocationPredicate,
    SupersessionPredicate,
)
from safetyrepro.report.verdicts import Verdict
from safetyrepro.report.verify_content import find_agreements, read_content

Notice: TypeAlias = SignedStatement[RevocationPredicate | SupersessionPredicate | ContaminationPredicate]
_KINDS: Mapping[
    PredicateType, type[RevocationPredicate] | type[SupersessionPredicate] | type[ContaminationPredicate]
] = {
    PredicateType.REVOCATION: RevocationPredicate,
    PredicateType.SUPERSESSION: SupersessionPredicate,
    PredicateType.CONTAMINATION: ContaminationPredicate,
}
MOST_NOTICES = 10_000


@dataclass(frozen=True, slots=True)
class ReportDocuments:
    """The documents of a report that a notice speaks about."""

    files: Mapping[str, bytes]
    report: Report
    where: str

    def items_digest(self) -> str:
        """The digest of the report's items.

        Raises:
            InputError: the manifest is not there.
        """
        if MANIFEST_FILE not in self.files:
            raise InputError(f"{self.where}: must hold {MANIFEST_FILE}; it does not")
        return parse_document(self.files[MANIFEST_FILE], Manifest, where=MANIFEST_FILE).items_digest

    def items_name(self) -> str:
        """What the report's items are called.

        Raises:
            InputError: the results are not there.
        """
        if RESULTS_FILE not in self.files:
            raise InputError(f"{self.where}: must hold {RESULTS_FILE}; it does not")
        return parse_document(self.files[RESULTS_FILE], Results, where=RESULTS_FILE).items.name


def report_documents(path: Path) -> ReportDocuments:
    """The documents of the report at `path`, whose files have the digests that its statement names.

    Raises:
        InputError: no report, or one that was changed: nobody should sign a word about it.
    """
    handed = read_handed(path)
    loose = handed.form == "files"
    files = handed.files if loose else files_inside(handed.data, where=str(path))
    content = read_content(files, complete=not loose)
    for check in find_agreements(content, files=files):
        if check.failed:
            raise InputError(f"{path}: must be as it was made; {check.name}: {check.detail}")
    return ReportDocuments(files=files, report=content.report, where=str(path))


def append_notice(path: Path, notice: bytes) -> None:
    """Append a notice to a file of notices, making it where there is none; whole or not at all.

    Raises:
        InputError: what is there is no file of notices.
        StorageError: the file cannot be written.
    """
    before = read_bounded(path) if path.exists() else b""
    parse_notices(before, name=str(path))
    ended = before if not before or before.endswith(b"\n") else before + b"\n"
    write_atomically(path, ended + notice + b"\n")


def report_subjects(files: Mapping[str, bytes]) -> dict[str, str]:
    """The digests by which a statement names a report: of its record, and of its own statement."""
    return {name: digest_bytes(files[name]) for name in (REPORT_FILE, STATEMENT_FILE)}


def revocation(
    files: Mapping[str, bytes], *, report: str, reason: str, issued_at: datetime, signing: Signing
) -> bytes:
    """A signed revocation of the report whose documents are `files`, as one line without its end."""
    word = RevocationPredicate(
        schema_="safetyrepro/revocation-predicate/v1",
        report=report,
        reason=reason,
        issued_at=issued_at,
        signers=(signing.declared,),
    )
    return sign_word(word, subjects=report_subjects(files), kind=PredicateType.REVOCATION, signing=signing)


def supersession(
    old: Mapping[str, bytes],
    new: Mapping[str, bytes],
    *,
    reports: tuple[str, str],
    reason: str,
    issued_at: datetime,
    signing: Signing,
) -> bytes:
    """A signed statement that the report of `new` replaces that of `old`; `reports` are their ids.

    Raises:
        InputError: both are the same report.
    """
    digest = digest_bytes(new[STATEMENT_FILE])
    if digest == digest_bytes(old[STATEMENT_FILE]):
        raise InputError(f"{reports[0]}: must be replaced by another report; got itself")
    word = SupersessionPredicate(
        schema_="safetyrepro/supersession-predicate/v1",
        report=reports[0],
        replaced_by=reports[1],
        replaced_by_statement=digest,
        reason=reason,
        issued_at=issued_at,
        signers=(signing.declared,),
    )
    return sign_word(word, subjects=report_subjects(old), kind=PredicateType.SUPERSESSION, signing=signing)


def contamination(
    items_digest: str, *, name: str, reason: str, issued_at: datetime, signing: Signing
) -> bytes:
    """A signed notice that items with this digest are known to have been seen in training."""
    word = ContaminationPredicate(
        schema_="safetyrepro/contamination-predicate/v1",
        name=name,
        reason=reason,
        issued_at=issued_at,
        signers=(signing.declared,),
    )
    subjects = {ITEMS_SUBJECT: items_digest}
    return sign_word(word, subjects=subjects, kind=PredicateType.CONTAMINATION, signing=signing)


def parse_notices(data: bytes, *, name: str) -> tuple[Notice, ...]:
    """The notices in a published file.

    Raises:
        InputError: a line that is no notice, with its number; more than 10,000 lines. A file with a bad
            line is refused whole: leaving the line out could leave out a revocation.
    """
    lines = [line for line in data.split(b"\n") if line.strip()]
    if len(lines) > MOST_NOTICES:
        raise InputError(must_be(name, f"must hold at most {MOST_NOTICES} notices", len(lines)))
    return tuple(
        read_word(line, kinds=_KINDS, where=f"{name}:{number}")
        for number, line in enumerate(lines, start=1)
    )


def judge_notices(
    notices: Sequence[Notice],
    *,
    subjects: Mapping[str, str],
    signers: frozenset[str],
    trust: TrustStore | None,
) -> Iterator[tuple[Check, Verdict]]:
    """What the notices say about one report, each with the state that it means.

    Args:
        notices: all that the reader has.
        subjects: how a statement names the report, as `report_subjects` gives it.
        signers: the reader's names for the trusted signers of the report.
        trust: whom the reader trusts.
    """
    found = 0
    for notice in notices:
        word = notice.word
        if isinstance(word, ContaminationPredicate) or not _same(notice.subjects, subjects):
            continue
        found += 1
        state = Verdict.REVOKED if isinstance(word, RevocationPredicate) else Verdict.SUPERSEDED
        name = f"not {state.value.lower()}"
        behind = backing(notice, trust=trust)
        if not behind.trusted or not signers.intersection(behind.principals):
            yield not_checked(name, f"{notice.where} says so, without weight: {_weight(behind)}"), state
            continue
        said = f"at {format_instant(word.issued_at)} (asserted) by {', '.join(behind.principals)}"
        if isinstance(word, SupersessionPredicate):
            replaced = f"replaced by {word.replaced_by} (statement {word.replaced_by_statement})"
            yield failed(name, f"{replaced}, {said}: {word.reason}"), state
        else:
            yield failed(name, f"taken back {said}: {word.reason}"), state
    if notices and not found:
        count = f"{len(notices)} notice{'s' if len(notices) > 1 else ''}"
        yield passed("not revoked", f"{count} at hand, none about this report"), Verdict.REVOKED
    elif not notices:
        yield not_checked("not revoked", "not asked: give --notices"), Verdict.REVOKED


def contamination_states(
    notices: Sequence[Notice], *, items_digest: str, trust: TrustStore | None
) -> Iterator[TriggerState]:
    """What the notices say about the report's items."""
    if not notices:
        return
    about = [
        one
        for one in notices
        if isinstance(one.word, ContaminationPredicate) and one.subjects.get(ITEMS_SUBJECT) == items_digest
    ]
    for notice in about:
        assert isinstance(notice.word, ContaminationPredicate)
        behind = backing(notice, trust=trust)
        if behind.trusted:
            detail = f"{notice.word.name}: {notice.word.reason} ({behind.detail})"
            yield TriggerState("contamination_notice", "changed", detail)
        else:
            detail = f"{notice.where} says so, without weight: {behind.detail}"
            yield TriggerState("contamination_notice", "not known", detail)
    if not about:
        yield TriggerState("contamination_notice", "unchanged", "no notice at hand names these items")


def _same(named: Mapping[str, str], subjects: Mapping[str, str]) -> bool:
    """Whether a statement names this report: by its record, or by its statement."""
    return any(named.get(name) == digest for name, digest in subjects.items())


def _weight(behind: Backing) -> str:
    if behind.trusted:
        return f"{behind.detail}, who did not sign this report"
    return behind.detail
