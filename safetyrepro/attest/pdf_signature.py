"""PAdES signatures of PDFs: sealing a report, and finding out whether a sealed one was touched.

A sealed PDF has one invisible signature over the whole file, certified so that no change at all is
allowed after it. Verification goes from bytes to meaning: first that every byte is either signed
or spelled in the one possible way (`pdf_slot`, `pdf_container`), then the signature itself, and
only then is the file parsed, by pyHanko, which must come to the same conclusion on its own.

What a genuine seal says: the owner of this key sealed exactly these bytes. What it does not say:
whose key it is or whether to trust it (`trust`), that it was sealed at the time it states, or that
what it says is right.

Source: ISO 32000-2 section 12.8, ETSI EN 319 142-1 (PAdES B-B). Checked against pyHanko's own
validation and poppler's `pdfsig`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from typing import Any

from asn1crypto import x509 as asn1_x509
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from pyhanko.pdf_utils import generic
from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
from pyhanko.pdf_utils.misc import PdfError
from pyhanko.pdf_utils.reader import PdfFileReader
from pyhanko.sign.fields import MDPPerm, SigFieldSpec, SigSeedSubFilter
from pyhanko.sign.general import SigningError
from pyhanko.sign.signers.cms_embedder import PdfCMSEmbedder, SigIOSetup, SigMDPSetup, SigObjSetup
from pyhanko.sign.signers.constants import ESIC_EXTENSION_1
from pyhanko.sign.signers.pdf_byterange import SignatureObject
from pyhanko.sign.validation import validate_pdf_signature
from pyhanko.sign.validation.pdf_embedded import EmbeddedPdfSignature
from pyhanko.sign.validation.status import SignatureCoverageLevel
from pyhanko_certvalidator import ValidationContext

from safetyrepro.attest.certificate import certificate_keyid, check_certificate
from safetyrepro.attest.check import Check, decide, failed, not_checked, passed
from safetyrepro.attest.document import format_instant, utc_instant
from safetyrepro.attest.hostile import hostile_input
from safetyrepro.attest.keys import SigningIdentity
from safetyrepro.attest.pdf_container import (
    Container,
    is_container_genuine,
    longest_container_bytes,
    read_container,
    sign_digest,
)
from safetyrepro.attest.pdf_reader import READABLE, open_pdf
from safetyrepro.attest.pdf_slot import MAX_PDF_BYTES, SignatureSlot, digest_signed_ranges, find_slot
from safetyrepro.attest.pdf_verdict import PdfSigner, PdfState, PdfVerdict
from safetyrepro.errors import InputError, must_be

FIELD_NAME = "safetyrepro"

_CERTIFIED = "certified without changes"
_AGREED = "second reader agrees"
_CHECK_NAMES = (
    "file",
    "signature present",
    "whole file covered",
    "signature slot",
    "signature container",
    "content unchanged",
    "signature genuine",
    _CERTIFIED,
    _AGREED,
)


class _ReproducibleWriter(IncrementalPdfFileWriter):
    """pyHanko's writer without its two sources of chance: a random file id and the clock."""

    @classmethod
    def _handle_id(cls, prev: PdfFileReader) -> generic.ArrayObject:
        prev.stream.seek(0)
        second = hashlib.sha256(prev.stream.read()).digest()[:16]
        try:
            first = generic.ByteStringObject(prev.trailer["/ID"][0].original_bytes)
        except KeyError:
            first = generic.ByteStringObject(second)
        return generic.ArrayObject([first, generic.ByteStringObject(second)])

    def _update_meta(self) -> None:
        """The report's dates stay as they were printed; when it was sealed stands in the seal."""


def sign_pdf(pdf: bytes, *, identity: SigningIdentity, signed_at: datetime) -> bytes:
    """The PDF with a seal over all of it; the same inputs give the same bytes.

    Args:
        pdf: an unsigned PDF.
        signed_at: the time the seal states; whole seconds, any zone.

    Raises:
        InputError: not a PDF, signed already, or a time outside the certificate's years.
    """
    where = "PDF to sign"
    if find_slot(pdf).traces:
        raise InputError(f"{where}: must not be signed already")
    open_pdf(pdf, where=where)
    _check_time(signed_at, certificate=identity.certificate, where=where)
    try:
        return _seal(pdf, identity=identity, signed_at=utc_instant(signed_at))
    except (PdfError, SigningError) as error:
        raise InputError(f"{where}: must be a PDF that can be signed; {error}") from error


def _seal(pdf: bytes, *, identity: SigningIdentity, signed_at: datetime) -> bytes:
    prepared = _prepare(pdf, certificate=identity.certificate, signed_at=signed_at)
    prepared.steps.send(
        sign_digest(prepared.digest, identity.private_key, certificate=identity.certificate)
    )
    return bytes(prepared.output.getvalue())


def sealed_digest(pdf: bytes, *, certificate: x509.Certificate, signed_at: datetime) -> bytes:
    """The digest that a seal over this PDF covers; two PDFs whose seals share it are the same file.

    Args:
        pdf: an unsigned PDF.
        certificate: whose seal.
        signed_at: the time the seal states.

    Raises:
        InputError: a PDF that cannot be signed.
    """
    try:
        return _prepare(pdf, certificate=certificate, signed_at=utc_instant(signed_at)).digest
    except (PdfError, SigningError) as error:
        raise InputError(f"PDF to seal: must be a PDF that can be signed; {error}") from error


def sealed_over(pdf: bytes) -> bytes | None:
    """The digest of the bytes that the PDF's seal covers; None where there is no seal to be found."""
    slot = find_slot(pdf).slot
    return None if slot is None else digest_signed_ranges(pdf, slot)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A PDF with room for its seal, and the digest that the seal is to cover."""

    steps: Generator[Any, Any, None]
    digest: bytes
    output: BytesIO


def _prepare(pdf: bytes, *, certificate: x509.Certificate, signed_at: datetime) -> _Prepared:
    writer = _ReproducibleWriter(BytesIO(pdf))
    writer.register_extension(ESIC_EXTENSION_1)
    steps = PdfCMSEmbedder(SigFieldSpec(FIELD_NAME, on_page=0)).write_cms(FIELD_NAME, writer=writer)
    next(steps)
    seal = SignatureObject(
        timestamp=signed_at,
        subfilter=SigSeedSubFilter.PADES,
        bytes_reserved=2 * longest_container_bytes(certificate),
    )
    changes = SigMDPSetup(md_algorithm="sha256", certify=True, docmdp_perms=MDPPerm.NO_CHANGES)
    steps.send(SigObjSetup(sig_placeholder=seal, mdp_setup=changes))
    prepared, output = steps.send(SigIOSetup(md_algorithm="sha256"))
    return _Prepared(steps=steps, digest=bytes(prepared.document_digest), output=output)


def verify_pdf(pdf: bytes) -> PdfVerdict:
    """Whether the PDF is exactly what its signer sealed.

    Never raises for what the file holds: that is what the verdict says.
    """
    if len(pdf) > MAX_PDF_BYTES or not pdf.startswith(b"%PDF-"):
        detail = f"must begin with %PDF- and have at most {MAX_PDF_BYTES} bytes; has {len(pdf)}"
        return _verdict("malformed", [failed("file", detail)])
    checks = [passed("file", f"a PDF of {len(pdf)} bytes")]
    found = find_slot(pdf)
    checks += found.checks
    if not found.traces:
        return _verdict("unsigned", checks)
    if found.slot is None:
        return _verdict("tampered", checks)
    try:
        container = read_container(found.slot.container)
    except InputError as error:
        return _verdict("tampered", [*checks, failed("signature container", str(error))])
    checks += [
        passed("signature container", "the certificate, the digest and the signature, and nothing else"),
        _content_unchanged(pdf, slot=found.slot, container=container),
        _signature_genuine(container),
    ]
    if any(check.failed for check in checks):
        return _verdict("tampered", checks)
    return _read_sealed(pdf, slot=found.slot, container=container, checks=checks)


def _read_sealed(
    pdf: bytes, *, slot: SignatureSlot, container: Container, checks: list[Check]
) -> PdfVerdict:
    """The verdict on a file whose bytes are as they were signed; only now it is parsed."""
    try:
        with hostile_input("PDF", READABLE):
            seal = _only_seal(open_pdf(pdf, where="PDF"), slot=slot)
            signed_at = _stated_time(seal, certificate=container.certificate)
    except InputError as error:
        return _verdict("malformed", [*checks, failed(_CERTIFIED, str(error))])
    checks = [*checks, passed(_CERTIFIED, "one signature, which allows no change")]
    try:
        with hostile_input("PDF", READABLE):
            agreed = _second_opinion(seal, certificate=container.certificate, moment=signed_at)
    except InputError as error:
        agreed = failed(_AGREED, str(error))
    if agreed.failed:
        return _verdict("malformed", [*checks, agreed])
    signer = PdfSigner(
        keyid=certificate_keyid(container.certificate),
        principal=check_certificate(container.certificate, where="certificate"),
        certificate=container.certificate,
        signed_at=signed_at,
    )
    return PdfVerdict(state="genuine", checks=(*checks, agreed), signer=signer)


def _verdict(state: PdfState, checks: list[Check]) -> PdfVerdict:
    """A verdict other than genuine: the checks that were made, and the rest as not made."""
    reason = "an earlier check failed"
    rest = [not_checked(name, reason) for name in _CHECK_NAMES[len(checks) :]]
    return PdfVerdict(state=state, checks=(*checks, *rest), signer=None)


def _content_unchanged(pdf: bytes, *, slot: SignatureSlot, container: Container) -> Check:
    return decide(
        "content unchanged",
        digest_signed_ranges(pdf, slot) == container.document_digest,
        good="the signed bytes have the digest in the signature",
        bad="the file is not the one that was signed: its digest differs",
    )


def _signature_genuine(container: Container) -> Check:
    return decide(
        "signature genuine",
        is_container_genuine(container),
        good=f"made with the key {certificate_keyid(container.certificate)}",
        bad="the signature was not made with the key of the certificate beside it",
    )


def _only_seal(reader: PdfFileReader, *, slot: SignatureSlot) -> EmbeddedPdfSignature:
    """The file's one signature, if it is the one at `slot`, our field's, and allows no change.

    Raises:
        InputError: anything else.
    """
    fields = reader.root["/AcroForm"]["/Fields"]
    if len(fields) != 1:
        raise InputError(must_be("PDF", "must have one form field, its seal", len(fields)))
    entry = fields[0]
    if entry.get("/T") != FIELD_NAME or entry.get("/FT") != "/Sig" or "/Kids" in entry:
        raise InputError(must_be("PDF", f"form field must be the seal {FIELD_NAME!r}", entry.get("/T")))
    seal = EmbeddedPdfSignature(reader, entry, FIELD_NAME)
    ranges = [int(number) for number in seal.byte_range]
    if ranges[1:3] != [slot.start, slot.end]:
        raise InputError(must_be("PDF", f"the seal must be the signature at {slot.start}", ranges))
    certification = reader.root["/Perms"].raw_get("/DocMDP")
    if certification.reference != entry.raw_get("/V").reference:
        raise InputError("PDF: the seal must be the document's certification")
    if seal.docmdp_level != MDPPerm.NO_CHANGES:
        raise InputError(must_be("PDF", "the seal must allow no changes", seal.docmdp_level))
    return seal


def _stated_time(seal: EmbeddedPdfSignature, *, certificate: x509.Certificate) -> datetime:
    stated = seal.self_reported_timestamp
    if stated is None or stated.tzinfo is None:
        raise InputError(must_be("PDF", "the seal must state its time and zone", stated))
    _check_time(stated, certificate=certificate, where="PDF")
    return utc_instant(stated)


def _check_time(moment: datetime, *, certificate: x509.Certificate, where: str) -> None:
    first, last = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if not first <= utc_instant(moment) <= last:
        years = f"{format_instant(first)} to {format_instant(last)}"
        raise InputError(
            must_be(where, f"the time of the seal must be within {years}", format_instant(moment))
        )


def _second_opinion(
    seal: EmbeddedPdfSignature, *, certificate: x509.Certificate, moment: datetime
) -> Check:
    """pyHanko's own validation, with the signer's certificate as the only root and no network."""
    root = asn1_x509.Certificate.load(certificate.public_bytes(Encoding.DER))
    context = ValidationContext(trust_roots=[root], allow_fetching=False, moment=moment)
    status = validate_pdf_signature(seal, signer_validation_context=context, skip_diff=True)
    agrees = status.bottom_line and status.coverage == SignatureCoverageLevel.ENTIRE_FILE
    return decide(
        _AGREED,
        bool(agrees),
        good="pyHanko: intact, valid, covers the entire file",
        bad=f"pyHanko: {status.summary()}, {status.coverage}",
    )
