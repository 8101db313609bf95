"""Self-signed certificates, and the public half of an identity that is handed out.

The certificate says how its owner wants to be called. It is signed by its own key, so it proves
that the owner holds the key and nothing about who that is.

Source: RFC 5280; RFC 9336 (document signing as a key purpose).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier
from pydantic import Field, TypeAdapter, ValidationError

from safetyrepro.attest.document import AttestedDocument, KeyId, Principal, utc_instant, validate_document
from safetyrepro.attest.signature import fingerprint, key_id
from safetyrepro.canonical import parse_json
from safetyrepro.errors import InputError, must_be

_LIFE = timedelta(days=365 * 40)
# Document signing is what we mean; viewers built on NSS know only e-mail protection for it.
_PURPOSES = (ObjectIdentifier("1.3.6.1.5.5.7.3.36"), ExtendedKeyUsageOID.EMAIL_PROTECTION)
_NAME: TypeAdapter[str] = TypeAdapter(Principal)


class PublicIdentity(AttestedDocument):
    """The half of an identity that is handed out."""

    schema_: Literal["safetyrepro/public-key/v1"] = Field(alias="schema")
    """The version of this document."""
    principal: Principal
    """How the owner wants to be called."""
    keyid: KeyId
    """SHA-256 of the key's SubjectPublicKeyInfo."""
    fingerprint: str
    """The first half of the key id in groups of four, to compare by eye or by voice."""
    certificate: str
    """The self-signed certificate, in PEM."""


def self_signed_certificate(
    principal: str, *, private_key: ec.EllipticCurvePrivateKey, created_at: datetime
) -> x509.Certificate:
    """A certificate in which a P-256 key names its owner, valid for forty years from `created_at`."""
    start = utc_instant(created_at)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, principal)])
    public_key = private_key.public_key()
    usage = x509.KeyUsage(
        digital_signature=True,
        content_commitment=True,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + _LIFE)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage(_PURPOSES), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
        .sign(private_key, SHA256())
    )


def parse_certificate(pem: str, *, where: str) -> x509.Certificate:
    """The certificate in the PEM text.

    Raises:
        InputError: it is none.
    """
    try:
        return x509.load_pem_x509_certificate(pem.encode())
    except ValueError as error:
        raise InputError(must_be(where, "must be a PEM certificate", pem[:40])) from error


def certificate_keyid(certificate: x509.Certificate) -> str:
    """The id of the certificate's P-256 key."""
    return key_id(_p256(certificate, where="certificate"))


def check_certificate(certificate: x509.Certificate, *, where: str) -> str:
    """The name in a certificate that a P-256 key made for itself.

    Raises:
        InputError: another kind of key, another issuer, a signature that is not the key's own, no
            single common name, or a name that does not print well.
    """
    public_key = _p256(certificate, where=where)
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    if certificate.issuer != certificate.subject or len(names) != 1 or len(list(certificate.subject)) != 1:
        raise InputError(f"{where}: a certificate must name its own key's owner and nobody else")
    try:
        public_key.verify(certificate.signature, certificate.tbs_certificate_bytes, ec.ECDSA(SHA256()))
    except InvalidSignature as error:
        raise InputError(f"{where}: the certificate must be signed by its own key; it is not") from error
    return check_principal(names[0].value, where=where)


def check_principal(name: object, *, where: str) -> str:
    """The name, if it is one that prints well and looks like no other.

    Raises:
        InputError: not text, longer than 64 characters, spaces at its ends, control characters.
    """
    try:
        return _NAME.validate_python(name)
    except ValidationError as error:
        rule = "a name must be 1 to 64 printable characters without spaces at its ends"
        raise InputError(must_be(where, rule, name)) from error


def _p256(certificate: x509.Certificate, *, where: str) -> ec.EllipticCurvePublicKey:
    public_key = certificate.public_key()
    if not isinstance(public_key, ec.EllipticCurvePublicKey) or not isinstance(
        public_key.curve, ec.SECP256R1
    ):
        raise InputError(must_be(where, "key must be ECDSA P-256", type(public_key).__name__))
    return public_key


def public_identity(certificate: x509.Certificate) -> PublicIdentity:
    """The half to hand out."""
    keyid = certificate_keyid(certificate)
    return PublicIdentity(
        schema_="safetyrepro/public-key/v1",
        principal=check_certificate(certificate, where="certificate"),
        keyid=keyid,
        fingerprint=fingerprint(keyid),
        certificate=certificate.public_bytes(Encoding.PEM).decode(),
    )


def parse_public_identity(data: bytes, *, where: str) -> PublicIdentity:
    """The public half, if its name, key id and fingerprint are those of its certificate.

    Raises:
        InputError: not JSON, or the parts contradict each other.
        InputErrors: not the document.
    """
    public = validate_document(parse_json(data, where), PublicIdentity, where=where)
    certificate = parse_certificate(public.certificate, where=f"{where}: certificate")
    principal = check_certificate(certificate, where=f"{where}: certificate")
    keyid = certificate_keyid(certificate)
    if public.keyid != keyid:
        raise InputError(must_be(where, f"keyid must be {keyid}, the certificate's", public.keyid))
    if public.fingerprint != fingerprint(keyid):
        raise InputError(must_be(where, f"fingerprint must be {fingerprint(keyid)!r}", public.fingerprint))
    if public.principal != principal:
        raise InputError(
            must_be(where, f"principal must be {principal!r}, the certificate's", public.principal)
        )
    return public
