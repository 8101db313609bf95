"""What verifying a PDF's seal says; apart from the code that does it, which needs pyHanko."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from cryptography import x509

from safetyrepro.attest.check import Check

PdfState = Literal["genuine", "unsigned", "tampered", "malformed"]


@dataclass(frozen=True, slots=True)
class PdfSigner:
    """Who sealed a PDF, in the words of the seal."""

    keyid: str
    principal: str
    """The name in the certificate: what the signer wants to be called."""
    certificate: x509.Certificate
    signed_at: datetime
    """The time the seal states, in UTC: asserted by the signer."""


@dataclass(frozen=True, slots=True)
class PdfVerdict:
    """Whether a PDF is exactly what its signer sealed, and every check that led there.

    Checked: every byte, the signature, the certification. Not checked: whose key it is, the time,
    whether the content is right.
    """

    state: PdfState
    checks: tuple[Check, ...]
    """In the order they were made; those after a failed one are `not checked`."""
    signer: PdfSigner | None
    """Who sealed it; None unless the state is `genuine`."""
