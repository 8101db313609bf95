"""Whether the printed form says what the documents inside say: it is printed again and compared.

A genuine seal covers the pages and the documents together, but not that they agree: whoever holds the key
could print one thing and attach another. Printing again is work, so it is done only for a report whose
signatures the reader trusts, and it can be compared only where the same printer is at hand.
"""

from __future__ import annotations

from collections.abc import Mapping

from safetyrepro.attest.check import Check, decide, failed, not_checked
from safetyrepro.attest.pdf_verdict import PdfSigner
from safetyrepro.data.bundle import parse_document
from safetyrepro.data.report_record import Report
from safetyrepro.errors import InputError
from safetyrepro.report.predicate import REPORT_FILE
from safetyrepro.report.printed import printed_html, printed_pdf
from safetyrepro.report.printer import pdf_printer, program

PAGES = "pages as printed"
_DIFFER = "the pages do not say what the documents inside say: printed again, they come out otherwise"


def check_pdf_pages(pdf: bytes, *, files: Mapping[str, bytes], seal: PdfSigner) -> Check:
    """A sealed PDF against what the documents inside it print to."""
    from safetyrepro.attest.pdf_reader import read_creator
    from safetyrepro.attest.pdf_signature import sealed_digest, sealed_over

    try:
        found, here = read_creator(pdf, where="PDF"), pdf_printer()
        if found != here:
            return not_checked(PAGES, f"printed by {found or 'an unnamed printer'}; here is {here}")
        again = sealed_digest(printed_pdf(files), certificate=seal.certificate, signed_at=seal.signed_at)
    except InputError as error:
        return failed(PAGES, f"the documents inside cannot be printed; {error}")
    return decide(PAGES, again == sealed_over(pdf), good=_good(len(pdf)), bad=_DIFFER)


def check_html_page(page: bytes, *, files: Mapping[str, bytes]) -> Check:
    """A page against what the documents inside it print to."""
    try:
        printed_by = parse_document(files[REPORT_FILE], Report, where=REPORT_FILE).generator
        if printed_by != program():
            return not_checked(PAGES, f"printed by {printed_by}; here is {program()}")
        again = printed_html(files)
    except InputError as error:
        return failed(PAGES, f"the documents inside cannot be printed; {error}")
    return decide(PAGES, again == page, good=_good(len(page)), bad=_DIFFER)


def _good(size: int) -> str:
    return f"printed again from the documents inside, all {size} bytes are the same"
