"""HTML to PDF/A-3a bytes: the only file that knows WeasyPrint.

The PDF is tagged, has its fonts and the report's files inside, and is a pure function of its inputs:
no clock, no random identifier, no file and no network is read while it is made. A template that asks
for anything but the report's own fonts ends the rendering.

Source: ISO 19005-3 (PDF/A-3, conformance A); ISO 32000-1, 7.11 (embedded files).
"""

from __future__ import annotations

import datetime as dt
import hashlib
import mimetypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from safetyrepro.errors import InputError
from safetyrepro.report.pages import FONTS, SCHEME, font_file
from safetyrepro.report.printer import pdf_printer

if TYPE_CHECKING:
    import pydyf  # type: ignore[import-untyped]
    from weasyprint import Attachment as Embedded
    from weasyprint import Document
    from weasyprint.urls import URLFetcher

Relationship = Literal["Source", "Data", "Supplement", "Unspecified"]

_MEDIA_TYPES: Final[Mapping[str, str]] = {
    ".json": "application/json",
    ".yaml": "application/yaml",
    ".csv": "text/csv",
    ".gz": "application/gzip",
}
_VARIANT: Final = "pdf/a-3a"


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file inside the PDF."""

    name: str
    data: bytes
    description: str
    relationship: Relationship = "Data"


def render_pdf(
    html: str, *, attachments: Sequence[Attachment], issued_at: dt.datetime, identifier: bytes
) -> bytes:
    """The document as PDF/A-3a; the same arguments give the same bytes.

    Args:
        html: the document, its fonts named by our own scheme.
        attachments: the files to put inside, with distinct names.
        issued_at: the date that the document and its files carry.
        identifier: what the file's identifier is made of, such as the report's digest.

    Raises:
        InputError: the document asks for something that is not the report's own.
    """
    from weasyprint import HTML
    from weasyprint.urls import FatalURLFetchingError

    ordered = sorted(attachments, key=lambda one: one.name.encode())
    if len({one.name for one in ordered}) != len(ordered):
        raise ValueError("attachments must have distinct names")
    fetcher = _fetcher(ordered)
    try:
        document = HTML(string=html, base_url=f"{SCHEME}:", url_fetcher=fetcher).render(
            pdf_variant=_VARIANT, pdf_tags=True
        )
        if document.metadata.attachments:
            raise InputError("report template: must use the report's own files alone; got a link to attach")
        document.metadata.generator = pdf_printer()
        document.metadata.attachments = [
            _embedded(index, one, fetcher=fetcher, issued_at=issued_at) for index, one in enumerate(ordered)
        ]
        data: bytes = document.write_pdf(
            finisher=_list_attachments_once,
            pdf_variant=_VARIANT,
            pdf_identifier=hashlib.sha256(identifier).digest()[:16],
        )
    except FatalURLFetchingError as error:
        raise InputError(f"report template: {error}") from error
    return data


def media_type(name: str) -> str:
    """The media type of a file by its name, the same on every machine."""
    for suffix, kind in _MEDIA_TYPES.items():
        if name.endswith(suffix):
            return kind
    return mimetypes.MimeTypes().guess_type(name)[0] or "application/octet-stream"


def _fetcher(attachments: Sequence[Attachment]) -> URLFetcher:
    """Serves the report's fonts and attachments by our own scheme, and refuses everything else."""
    from weasyprint.urls import FatalURLFetchingError, URLFetcher, URLFetcherResponse

    fonts = {f"{SCHEME}:fonts/{file}": file for *_, file in FONTS}
    files = {f"{SCHEME}:attached/{index}": one for index, one in enumerate(attachments)}

    class OwnFilesFetcher(URLFetcher):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(allowed_protocols=(SCHEME,), allow_redirects=False, fail_on_errors=True)

        def fetch(self, url: str, headers: Mapping[str, str] | None = None) -> URLFetcherResponse:
            if url in fonts:
                return URLFetcherResponse(url, font_file(fonts[url]), {"Content-Type": "font/woff2"})
            if url in files:
                one = files[url]
                return URLFetcherResponse(url, one.data, {"Content-Type": media_type(one.name)})
            raise FatalURLFetchingError(f"must use the report's own files alone; got {url[:200]!r}")

    return OwnFilesFetcher()


def _embedded(index: int, one: Attachment, *, fetcher: URLFetcher, issued_at: dt.datetime) -> Embedded:
    from weasyprint import Attachment as Embedded

    return Embedded(
        url=f"{SCHEME}:attached/{index}",
        url_fetcher=fetcher,
        name=one.name,
        description=one.description,
        created=issued_at,
        modified=issued_at,
        relationship=one.relationship,
    )


def _list_attachments_once(document: Document, pdf: pydyf.PDF) -> None:
    """WeasyPrint names every attachment twice in the catalogue's /AF; each belongs there once."""
    import pydyf

    listed = pdf.catalog.get("AF")
    if listed:
        pdf.catalog["AF"] = pydyf.Array(dict.fromkeys(listed))
