"""Fixtures of the attestation tests: two identities, and one tiny PDF/A-3a with two attachments."""

from __future__ import annotations

import pytest
from attest_examples import ATTACHED, SIGNED_AT
from weasyprint import HTML, Attachment

from safetyrepro.attest.keys import SigningIdentity, new_identity
from safetyrepro.attest.pdf_signature import sign_pdf

_PAGE = "<html lang=en><head><title>A tiny report</title></head><body><h1>A</h1><p>b</p></body></html>"


@pytest.fixture(scope="session")
def alice() -> SigningIdentity:
    return new_identity("Alice Example <alice@example.org>", created_at=SIGNED_AT)


@pytest.fixture(scope="session")
def mallory() -> SigningIdentity:
    return new_identity("Mallory", created_at=SIGNED_AT)


@pytest.fixture(scope="session")
def unsigned_pdf() -> bytes:
    """A PDF as the report's renderer makes it: PDF/A-3a, object streams, two attachments."""
    document = HTML(string=_PAGE).render(pdf_variant="pdf/a-3a")
    document.metadata.attachments = [
        Attachment(string=data, name=name, description=name, created=SIGNED_AT, modified=SIGNED_AT)
        for name, data in ATTACHED.items()
    ]
    data: bytes = document.write_pdf(pdf_variant="pdf/a-3a", pdf_identifier=b"a fixed identity")
    return data


@pytest.fixture(scope="session")
def sealed_pdf(unsigned_pdf: bytes, alice: SigningIdentity) -> bytes:
    return sign_pdf(unsigned_pdf, identity=alice, signed_at=SIGNED_AT)
