"""The signature container inside a PDF: a CMS SignedData in exactly one form.

CMS leaves much of a container unsigned: versions, algorithm parameters, the order and number of
certificates, unsigned attributes. A reader that only verifies the signature does not notice when
those bytes change. Here a container has one form, made from three parts: the certificate, the
digest of the document, and the signature value. To verify one, the parts are taken out, the
container is built again from them, and the two must be equal byte for byte.

The form is PAdES baseline B-B: content type, message digest and signing certificate as signed
attributes, no signing time (it stands in the signed PDF), one certificate, no unsigned attributes.

Source: RFC 5652 (CMS), RFC 5754 (algorithms without parameters), RFC 5035 (signing certificate
v2), ETSI EN 319 142-1 (PAdES baseline). Checked against asn1crypto, pyHanko and poppler.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import Encoding

from safetyrepro.attest.certificate import check_certificate
from safetyrepro.attest.der import (
    CONTEXT_0,
    CONTEXT_4,
    OCTET_STRING,
    SEQUENCE,
    SET,
    encode,
    encode_integer,
    encode_object_identifier,
    split_elements,
)
from safetyrepro.attest.hostile import hostile_input
from safetyrepro.attest.signature import is_genuine, sign_bytes, supported_public_key
from safetyrepro.errors import InputError

_SIGNED_DATA = encode_object_identifier("1.2.840.113549.1.7.2")
_DATA = encode_object_identifier("1.2.840.113549.1.7.1")
_CONTENT_TYPE = encode_object_identifier("1.2.840.113549.1.9.3")
_MESSAGE_DIGEST = encode_object_identifier("1.2.840.113549.1.9.4")
_SIGNING_CERTIFICATE = encode_object_identifier("1.2.840.113549.1.9.16.2.47")
_SHA256 = encode(SEQUENCE, encode_object_identifier("2.16.840.1.101.3.4.2.1"))
_ECDSA_SHA256 = encode(SEQUENCE, encode_object_identifier("1.2.840.10045.4.3.2"))
_VERSION_1 = encode_integer(1)
_LONGEST_SIGNATURE_BYTES = 72
_WHERE = "signature container"


@dataclass(frozen=True, slots=True)
class Container:
    """The three parts of a container."""

    certificate: x509.Certificate
    document_digest: bytes
    signature: bytes


def sign_digest(
    document_digest: bytes, private_key: EllipticCurvePrivateKey, *, certificate: x509.Certificate
) -> bytes:
    """The container for a document with this SHA-256; the same inputs give the same bytes."""
    signed = encode(SET, *_signed_attributes(certificate, document_digest))
    return container_bytes(Container(certificate, document_digest, sign_bytes(signed, private_key)))


def longest_container_bytes(certificate: x509.Certificate) -> int:
    """How long a container by the owner of `certificate` can be; the signature's length varies."""
    longest = Container(certificate, bytes(32), bytes(_LONGEST_SIGNATURE_BYTES))
    return len(container_bytes(longest))


def container_bytes(container: Container) -> bytes:
    """The one form of a container."""
    certificate = container.certificate
    signer = encode(
        SEQUENCE,
        _VERSION_1,
        encode(SEQUENCE, certificate.issuer.public_bytes(), encode_integer(certificate.serial_number)),
        _SHA256,
        encode(CONTEXT_0, *_signed_attributes(certificate, container.document_digest)),
        _ECDSA_SHA256,
        encode(OCTET_STRING, container.signature),
    )
    signed_data = encode(
        SEQUENCE,
        _VERSION_1,
        encode(SET, _SHA256),
        encode(SEQUENCE, _DATA),
        encode(CONTEXT_0, certificate.public_bytes(Encoding.DER)),
        encode(SET, signer),
    )
    return encode(SEQUENCE, _SIGNED_DATA, encode(CONTEXT_0, signed_data))


def read_container(data: bytes) -> Container:
    """The parts of a container in the one form.

    The certificate is checked to be its key's own; the signature is not checked.

    Raises:
        InputError: any other form, or no CMS at all.
    """
    with hostile_input(_WHERE, "must be a CMS signature in the form of this program"):
        [(_, content_info, _)] = split_elements(data, where=_WHERE)
        _, (_, explicit, _) = split_elements(content_info, where=_WHERE)
        [(_, signed_data, _)] = split_elements(explicit, where=_WHERE)
        _, _, _, (_, certificate, _), (_, signers, _) = split_elements(signed_data, where=_WHERE)
        [(_, signer, _)] = split_elements(signers, where=_WHERE)
        _, _, _, (_, attributes, _), _, (_, signature, _) = split_elements(signer, where=_WHERE)
        _, (_, digest_attribute, _), _ = split_elements(attributes, where=_WHERE)
        _, (_, digest_values, _) = split_elements(digest_attribute, where=_WHERE)
        [(_, document_digest, _)] = split_elements(digest_values, where=_WHERE)
        parts = Container(x509.load_der_x509_certificate(certificate), document_digest, signature)
        check_certificate(parts.certificate, where=_WHERE)
        rebuilt = container_bytes(parts)
    if rebuilt != data:
        raise InputError(f"{_WHERE}: must be in the one form that its parts have; bytes of it were changed")
    return parts


def is_container_genuine(container: Container) -> bool:
    """Whether the certificate's key signed the container's document digest."""
    signed = encode(SET, *_signed_attributes(container.certificate, container.document_digest))
    public_key = supported_public_key(container.certificate.public_key(), where=_WHERE)
    return is_genuine(container.signature, data=signed, public_key=public_key)


def _signed_attributes(certificate: x509.Certificate, document_digest: bytes) -> tuple[bytes, ...]:
    """The three signed attributes, in the order that DER gives a set: by their bytes."""
    general_names = encode(SEQUENCE, encode(CONTEXT_4, certificate.issuer.public_bytes()))
    certificate_id = encode(
        SEQUENCE,
        encode(OCTET_STRING, hashlib.sha256(certificate.public_bytes(Encoding.DER)).digest()),
        encode(SEQUENCE, general_names, encode_integer(certificate.serial_number)),
    )
    signing_certificate = encode(SEQUENCE, encode(SEQUENCE, certificate_id))
    return (
        encode(SEQUENCE, _CONTENT_TYPE, encode(SET, _DATA)),
        encode(SEQUENCE, _MESSAGE_DIGEST, encode(SET, encode(OCTET_STRING, document_digest))),
        encode(SEQUENCE, _SIGNING_CERTIFICATE, encode(SET, signing_certificate)),
    )
