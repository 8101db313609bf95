"""The one door to pyHanko's PDF reader, with limits for files that mean harm.

pyHanko is imported in `pdf_reader`, `pdf_signature` and `pdf_attachments` and nowhere else.
"""

from __future__ import annotations

import logging
from io import BytesIO

from pyhanko.pdf_utils.decode_limits import (
    DEFAULT_PURPOSE_LIMITS,
    DecodeLimits,
    DecodePurpose,
    DocumentDecodeBudget,
    StreamDecodeLimits,
)
from pyhanko.pdf_utils.reader import PdfFileReader

from safetyrepro.attest.hostile import hostile_input
from safetyrepro.attest.pdf_slot import MAX_PDF_BYTES
from safetyrepro.errors import InputError, must_be

READABLE = "must be a PDF that can be read"
MAX_INFLATED_BYTES = 96 * 2**20
_MAX_STREAM_BYTES = 64 * 2**20
_MAX_XREF_STREAM_BYTES = 2**20
_MAX_OBJECT_STREAM_BYTES = 16 * 2**20
_MAX_CROSS_REFERENCES = 100_000

_LIMITS = DecodeLimits(
    per_stream=StreamDecodeLimits(max_output_size=_MAX_STREAM_BYTES),
    per_purpose={
        **DEFAULT_PURPOSE_LIMITS,
        DecodePurpose.OBJECT_STREAM: StreamDecodeLimits(max_output_size=_MAX_OBJECT_STREAM_BYTES),
        DecodePurpose.XREF_STREAM: StreamDecodeLimits(max_output_size=_MAX_XREF_STREAM_BYTES),
    },
    document_budget=DocumentDecodeBudget(base_allowance=MAX_INFLATED_BYTES, max_ratio=1),
)

for _name in ("pyhanko", "pyhanko_certvalidator"):
    logging.getLogger(_name).addHandler(logging.NullHandler())
    logging.getLogger(_name).propagate = False


def open_pdf(pdf: bytes, *, where: str) -> PdfFileReader:
    """A reader over the bytes that inflates at most 96 MiB in all.

    Raises:
        InputError: not a PDF, too large, encrypted, or beyond a limit.
    """
    if len(pdf) > MAX_PDF_BYTES:
        raise InputError(must_be(where, f"must be at most {MAX_PDF_BYTES} bytes", len(pdf)))
    if not pdf.startswith(b"%PDF-"):
        raise InputError(must_be(where, "must begin with %PDF-", pdf[:8]))
    entries = pdf.count(b" n\r\n") + pdf.count(b" n \n") + pdf.count(b" n \r")
    if entries > _MAX_CROSS_REFERENCES:
        raise InputError(must_be(where, f"must have at most {_MAX_CROSS_REFERENCES} objects", entries))
    with hostile_input(where, READABLE):
        reader = PdfFileReader(BytesIO(pdf), strict=True, decode_limits=_LIMITS)
        encrypted = reader.encrypted
    if encrypted:
        raise InputError(f"{where}: must not be encrypted")
    return reader


def read_creator(pdf: bytes, *, where: str) -> str | None:
    """What the PDF says made it; None where it says nothing. As genuine as the PDF.

    Raises:
        InputError: not a PDF that can be read.
    """
    reader = open_pdf(pdf, where=where)
    with hostile_input(where, READABLE):
        trailer = reader.trailer
        information = trailer["/Info"] if "/Info" in trailer else {}  # noqa: SIM401
        return str(information["/Creator"]) if "/Creator" in information else None
