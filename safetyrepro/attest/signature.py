"""Raw signatures, Ed25519 and ECDSA P-256 with SHA-256, and the names of their keys.

Signing is deterministic for both (RFC 8032; RFC 6979 for ECDSA), so the same key over the same
bytes gives the same signature, and signed files can be compared byte by byte.

An ECDSA signature has two spellings in the field: DER, which securesystemslib, OpenSSL and CMS
use, and the raw `r || s` of 64 bytes, which the DSSE protocol's test vector uses. We write DER and
read both; DER must be the one strict encoding of its two numbers. Ed25519 has one spelling.

Source: RFC 8032 (Ed25519), RFC 6979 section 3.2 (deterministic ECDSA), RFC 3279 section 2.2.3
(DER of an ECDSA signature), DSSE protocol v1.0.0 (test vector).
"""

from __future__ import annotations

import hashlib
from typing import TypeAlias

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDSA,
    SECP256R1,
    EllipticCurvePrivateKey,
    EllipticCurvePublicKey,
)
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key
from cryptography.x509 import load_pem_x509_certificate

from safetyrepro.canonical import DIGEST_PREFIX
from safetyrepro.errors import InputError, must_be

PublicKey: TypeAlias = Ed25519PublicKey | EllipticCurvePublicKey
PrivateKey: TypeAlias = Ed25519PrivateKey | EllipticCurvePrivateKey

_COORDINATE_BYTES = 32
_FINGERPRINT_GROUPS = 8
_CERTIFICATE_LABEL = "-----BEGIN CERTIFICATE-----"


def supported_public_key(key: object, *, where: str) -> PublicKey:
    """The key, if it is Ed25519 or P-256.

    Raises:
        InputError: RSA, another curve, anything else.
    """
    if isinstance(key, Ed25519PublicKey):
        return key
    if isinstance(key, EllipticCurvePublicKey) and isinstance(key.curve, SECP256R1):
        return key
    got = key.curve.name if isinstance(key, EllipticCurvePublicKey) else type(key).__name__
    raise InputError(must_be(where, "key must be Ed25519 or ECDSA P-256", got))


def key_id(public_key: PublicKey) -> str:
    """`sha256:<hex>` of the key's SubjectPublicKeyInfo in DER: the same for PEM and certificate."""
    spki = public_key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return DIGEST_PREFIX + hashlib.sha256(spki).hexdigest()


def fingerprint(keyid: str) -> str:
    """The first 128 bits of a key id, as a person reads them out: eight groups of four hex digits.

    128 bits are what it takes to find another key with the same fingerprint; verification always
    compares the whole id.
    """
    digits = keyid.removeprefix(DIGEST_PREFIX).upper()
    return " ".join(digits[4 * group : 4 * group + 4] for group in range(_FINGERPRINT_GROUPS))


def parse_public_key(pem: str, *, where: str) -> PublicKey:
    """The key in a PEM public key or in a PEM certificate.

    Raises:
        InputError: not PEM, or a key that is neither Ed25519 nor P-256.
    """
    data = pem.encode()
    try:
        key: object = (
            load_pem_x509_certificate(data).public_key()
            if _CERTIFICATE_LABEL in pem
            else load_pem_public_key(data)
        )
    except (ValueError, UnsupportedAlgorithm) as error:
        raise InputError(must_be(where, "must be a PEM public key or certificate", pem[:40])) from error
    return supported_public_key(key, where=where)


def public_key_pem(public_key: PublicKey) -> str:
    """The SubjectPublicKeyInfo as PEM."""
    return public_key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def sign_bytes(data: bytes, private_key: PrivateKey) -> bytes:
    """The deterministic signature of `data`: 64 bytes for Ed25519, DER for ECDSA."""
    supported_public_key(private_key.public_key(), where="signing key")
    if isinstance(private_key, Ed25519PrivateKey):
        return private_key.sign(data)
    return private_key.sign(data, ECDSA(SHA256(), deterministic_signing=True))


def is_genuine(signature: bytes, *, data: bytes, public_key: PublicKey) -> bool:
    """Whether `signature` is this key's signature of `data`."""
    try:
        if isinstance(public_key, Ed25519PublicKey):
            public_key.verify(signature, data)
        elif isinstance(public_key.curve, SECP256R1):
            public_key.verify(_strict_der(signature), data, ECDSA(SHA256()))
        else:
            return False
    except (InvalidSignature, ValueError):
        return False
    return True


def raw_ecdsa(signature: bytes) -> bytes:
    """The DER signature as `r || s`, 64 bytes."""
    r, s = decode_dss_signature(signature)
    return r.to_bytes(_COORDINATE_BYTES, "big") + s.to_bytes(_COORDINATE_BYTES, "big")


def _strict_der(signature: bytes) -> bytes:
    """The signature in its one DER encoding; `r || s` is converted, a lax DER is a ValueError."""
    if len(signature) == 2 * _COORDINATE_BYTES and not _is_strict_der(signature):
        halves = signature[:_COORDINATE_BYTES], signature[_COORDINATE_BYTES:]
        return encode_dss_signature(*(int.from_bytes(half, "big") for half in halves))
    if not _is_strict_der(signature):
        raise ValueError("signature is neither strict DER nor 64 raw bytes")
    return signature


def _is_strict_der(signature: bytes) -> bool:
    try:
        return encode_dss_signature(*decode_dss_signature(signature)) == signature
    except ValueError:
        return False
