"""A finished bundle to what is handed out: report.json, statement, envelope, HTML and sealed PDF.

The order is one of dependence: the record is dated first, the statement names every file by digest,
the envelope signs the statement, the PDF carries all of them, and its seal is put on last. Everything
is made in memory and then written file by file, each whole or not at all, the PDF last: a folder that
holds a new PDF holds everything the PDF speaks about.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from safetyrepro.attest.envelope import envelope_bytes, sign_payload
from safetyrepro.attest.statement import statement_bytes
from safetyrepro.canonical import canonical_bytes, digest_bytes
from safetyrepro.data.bundle import Bundle, storage_error, write_atomically
from safetyrepro.data.report_record import Report
from safetyrepro.errors import IntegrityError
from safetyrepro.report.assemble import assemble
from safetyrepro.report.predicate import (
    ENVELOPE_FILE,
    ITEMS_FILE,
    MANIFEST_FILE,
    PREREGISTRATION_FILE,
    REPORT_FILE,
    RESULTS_FILE,
    SPEC_FILE,
    STATEMENT_FILE,
    report_statement,
)
from safetyrepro.report.preregistration import preregistration_findings
from safetyrepro.report.printed import HTML_FILE, PDF_FILE, printed_html, printed_pdf
from safetyrepro.report.signed import Signing

MOST_ROW_BYTES = 20_000_000
MOST_ROW_FILES = 900


@dataclass(frozen=True, slots=True)
class Publication:
    """A report as bytes, ready to be written."""

    report: Report
    files: Mapping[str, bytes]
    """report.json, statement.json, envelope.dsse.json (where signed), report.html, report.pdf."""
    rows_attached: bool
    """Whether the rows are inside the PDF; if not, the statement still names them by digest."""

    @property
    def is_signed(self) -> bool:
        return ENVELOPE_FILE in self.files


def publish(
    bundle: Bundle, *, issued_at: dt.datetime, signing: Signing | None, preregistration: bytes | None = None
) -> Publication:
    """Make the report of a finished bundle and write it to `<bundle>/report/`.

    Args:
        bundle: a finished bundle, as `open_bundle` gives it.
        issued_at: when the report is issued; it dates the documents and is the time the seal states.
        signing: who signs; None makes a document that says UNSIGNED.
        preregistration: the signed plan that the run is held against, where there is one.

    Raises:
        IntegrityError: the parts of the bundle do not belong together.
        StorageError: the folder cannot be written.
    """
    publication = make_publication(
        bundle, issued_at=issued_at, signing=signing, preregistration=preregistration
    )
    for name in (ENVELOPE_FILE, PREREGISTRATION_FILE):
        if name not in publication.files:
            _remove(bundle.report / name)
    for name, data in publication.files.items():
        write_atomically(bundle.report / name, data)
    return publication


def make_publication(
    bundle: Bundle, *, issued_at: dt.datetime, signing: Signing | None, preregistration: bytes | None = None
) -> Publication:
    """The report of a finished bundle as bytes; the same bundle, time and identity give the same bytes."""
    assembled = assemble(bundle, issued_at=issued_at)
    report = assembled.report
    plan: dict[str, bytes] = {}
    if preregistration is not None:
        plan[PREREGISTRATION_FILE] = preregistration
        found = preregistration_findings(
            preregistration, experiment=assembled.experiment, manifest=assembled.manifest
        )
        report = report.model_copy(update={"findings": (*report.findings, *found)})
    documents = _documents(bundle, report)
    statement = statement_bytes(
        report_statement(
            report,
            report_digest=digest_bytes(documents[REPORT_FILE]),
            plans={name: digest_bytes(data) for name, data in plan.items()},
            signers=() if signing is None else (signing.declared,),
        )
    )
    own: dict[str, bytes] = {**plan, STATEMENT_FILE: statement}
    if signing is not None:
        own[ENVELOPE_FILE] = envelope_bytes(sign_payload(statement, signing.identity.private_key))
    rows = _rows(bundle, report)
    attached = {**documents, **own, **rows}
    pdf = printed_pdf(attached)
    if signing is not None:
        from safetyrepro.attest.pdf_signature import sign_pdf

        pdf = sign_pdf(pdf, identity=signing.identity, signed_at=issued_at)
    return Publication(
        report=report,
        files={
            REPORT_FILE: documents[REPORT_FILE],
            **own,
            HTML_FILE: printed_html(attached),
            PDF_FILE: pdf,
        },
        rows_attached=bool(rows),
    )


def _documents(bundle: Bundle, report: Report) -> dict[str, bytes]:
    """The documents that the report is made from, as they are stored, and its own record."""
    documents = {
        REPORT_FILE: canonical_bytes(report.model_dump(mode="json", by_alias=True)),
        RESULTS_FILE: bundle.results.read_bytes(),
        MANIFEST_FILE: bundle.manifest.read_bytes(),
        ITEMS_FILE: bundle.items.read_bytes(),
        SPEC_FILE: bundle.spec.read_bytes(),
    }
    materials = report.materials
    expected = {
        RESULTS_FILE: materials.results,
        MANIFEST_FILE: materials.manifest,
        ITEMS_FILE: materials.items,
        SPEC_FILE: materials.spec,
    }
    for name, digest in expected.items():
        _check_digest(bundle, name, data=documents[name], digest=digest)
    return documents


def _rows(bundle: Bundle, report: Report) -> dict[str, bytes]:
    """The files of rows, or none of them where they are too large or too many to be attached."""
    digests = report.materials.rows
    paths = {name: bundle.root / name for name in digests}
    total = sum(path.stat().st_size for path in paths.values())
    if total > MOST_ROW_BYTES or len(paths) > MOST_ROW_FILES:
        return {}
    rows = {name: path.read_bytes() for name, path in paths.items()}
    for name, data in rows.items():
        _check_digest(bundle, name, data=data, digest=digests[name])
    return rows


def _check_digest(bundle: Bundle, name: str, *, data: bytes, digest: str) -> None:
    found = digest_bytes(data)
    if found != digest:
        raise IntegrityError(f"{bundle.root / name}: must have digest {digest}; got {found}")


def _remove(path: Path) -> None:
    """What an earlier report left would seem to belong to this one."""
    try:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
    except OSError as error:
        raise storage_error(path, error) from error
