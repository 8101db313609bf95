"""The printed form as a function of the report's documents: a page can be printed again and compared.

The HTML holds its documents inside. Whoever has the page takes them out, verifies them as files, prints
them again and compares: a page whose text was changed is then told from a genuine one, although nobody
signed the page itself.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from html.parser import HTMLParser

from safetyrepro.attest.document import validate_document
from safetyrepro.attest.statement import parse_statement
from safetyrepro.canonical import digest_bytes
from safetyrepro.claims.validity import parse_time
from safetyrepro.data.bundle import parse_document
from safetyrepro.data.manifest import Manifest
from safetyrepro.data.report_record import Report
from safetyrepro.data.results import Results
from safetyrepro.errors import InputError
from safetyrepro.report.pages import DOWNLOAD_TYPE, render_html
from safetyrepro.report.pdf import Attachment, render_pdf
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
from safetyrepro.report.tree import ReportView
from safetyrepro.report.view import attached_view, report_view, signer_view
from safetyrepro.spec.load import parse_experiment

HTML_FILE = "report.html"
PDF_FILE = "report.pdf"

DESCRIPTIONS: Mapping[str, str] = {
    REPORT_FILE: "what may be claimed, dated",
    RESULTS_FILE: "every number",
    MANIFEST_FILE: "what produced them: versions, digests, seeds, timings",
    ITEMS_FILE: "the items by id and digest",
    SPEC_FILE: "the spec as given",
    STATEMENT_FILE: "the in-toto statement over all of these",
    ENVELOPE_FILE: "the signed statement (DSSE)",
    PREREGISTRATION_FILE: "the plan that was signed before the run (DSSE)",
}
_PREFIX = f"data:{DOWNLOAD_TYPE};base64,"


def printed_view(documents: Mapping[str, bytes]) -> ReportView:
    """The printed tree of a report, from its documents by name; rows may be among them or not.

    Raises:
        InputError: a document is missing or not what it must be.
    """
    for name in DESCRIPTIONS:
        if name not in (ENVELOPE_FILE, PREREGISTRATION_FILE) and name not in documents:
            raise InputError(f"report: must hold {name}; it does not")
    statement = parse_statement(documents[STATEMENT_FILE], where=STATEMENT_FILE)
    predicate = validate_document(
        statement.predicate, ReportPredicate, where=f"{STATEMENT_FILE}: predicate"
    )
    return report_view(
        parse_document(documents[REPORT_FILE], Report, where=REPORT_FILE),
        results=parse_document(documents[RESULTS_FILE], Results, where=RESULTS_FILE),
        manifest=parse_document(documents[MANIFEST_FILE], Manifest, where=MANIFEST_FILE),
        experiment=parse_experiment(documents[SPEC_FILE], SPEC_FILE),
        signers=[signer_view(one.principal, role=one.role, keyid=one.keyid) for one in predicate.signers],
        attachments=[
            attached_view(name, data=documents[name], digest=digest_bytes(documents[name]), what=what)
            for name, what in DESCRIPTIONS.items()
            if name in documents
        ],
    )


def printed_html(documents: Mapping[str, bytes]) -> bytes:
    """The page for a browser with the documents inside, without the rows; a pure function of them."""
    inside = {name: documents[name] for name in DESCRIPTIONS if name in documents}
    return render_html(printed_view(documents), medium="html", files=inside).encode()


def printed_pdf(documents: Mapping[str, bytes]) -> bytes:
    """The PDF before it is sealed, with all the documents inside, rows too; a pure function of them."""
    report = parse_document(documents[REPORT_FILE], Report, where=REPORT_FILE)
    return render_pdf(
        render_html(printed_view(documents), medium="pdf"),
        attachments=[
            Attachment(
                name=name,
                data=data,
                description=DESCRIPTIONS.get(name, "stored rows"),
                relationship="Source" if name == SPEC_FILE else "Data",
            )
            for name, data in documents.items()
        ],
        issued_at=parse_time(report.window.issued_at, f"{REPORT_FILE}: issued_at"),
        identifier=documents[REPORT_FILE],
    )


def documents_in_page(page: bytes, *, where: str) -> dict[str, bytes]:
    """The documents that a page holds, byte for byte; nothing about them is verified.

    Raises:
        InputError: not UTF-8, a document twice, or one that is not in base64.
    """
    try:
        text = page.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: must be UTF-8; {error.reason} at byte {error.start}") from error
    reader = _DownloadReader()
    reader.feed(text)
    found: dict[str, bytes] = {}
    for name, address in reader.found:
        if name in found:
            raise InputError(f"{where}: must hold each document once; got {name} twice")
        if not address.startswith(_PREFIX):
            raise InputError(f"{where}: {name} must be inside the page; got {address[:40]!r}")
        try:
            found[name] = base64.b64decode(address.removeprefix(_PREFIX), validate=True)
        except binascii.Error as error:
            raise InputError(f"{where}: {name} must be base64; {error}") from error
    return found


class _DownloadReader(HTMLParser):
    """Collects (name, address) of the links that a reader can save."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "a" and given.get("download"):
            self.found.append((str(given["download"]), given.get("href") or ""))
