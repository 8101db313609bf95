"""What the attestation tests share: a time, two files, and a tiny PDF/A-3a that carries them."""

from __future__ import annotations

from datetime import UTC, datetime

SIGNED_AT = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
ATTACHED = {"report.json": b'{"level":"model"}' * 40, "rows/pass-00000.csv": b"item,sum_nats\n1,-2.5\n"}
_PAGE = "<html lang=en><head><title>A tiny report</title></head><body><h1>A</h1><p>b</p></body></html>"


def tiny_pdf() -> bytes:
    """A PDF as the report's renderer makes it: PDF/A-3a, object streams, two attachments."""
    from weasyprint import HTML, Attachment

    document = HTML(string=_PAGE).render(pdf_variant="pdf/a-3a")
    document.metadata.attachments = [
        Attachment(string=data, name=name, description=name, created=SIGNED_AT, modified=SIGNED_AT)
        for name, data in ATTACHED.items()
    ]
    data: bytes = document.write_pdf(pdf_variant="pdf/a-3a", pdf_identifier=b"a fixed identity")
    return data
