"""A signing identity: one P-256 key for envelopes and PDFs, and a certificate that names its owner.

Who may sign what, and when, stands in the trust file of the person who verifies (`trust`).

The private half is kept as PKCS#12, encrypted with AES-256 under a key derived from the passphrase
by 600,000 rounds of PBKDF2. The library leaves the file's integrity code at 2,048 rounds, and an
attacker would guess passphrases against that one: it is made again here, with as many rounds.

Source: RFC 7292 appendix B.2 (the MAC's key); the number of rounds is OWASP's for
PBKDF2-HMAC-SHA256. Checked: the library and OpenSSL 3.0 read the file.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import PrivateFormat, pkcs12

from safetyrepro.attest.certificate import (
    certificate_keyid,
    check_certificate,
    check_principal,
    self_signed_certificate,
)
from safetyrepro.attest.signature import fingerprint, key_id
from safetyrepro.errors import InputError, StorageError

_KDF_ROUNDS = 600_000
_MAC_BLOCK_BYTES = 64
_MAC_SALT_BYTES = 16
_MAC_PURPOSE = 3
_MAX_KEY_FILE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class SigningIdentity:
    """A private key and the certificate that names its owner. It never prints the key."""

    principal: str
    private_key: ec.EllipticCurvePrivateKey = field(repr=False)
    certificate: x509.Certificate = field(repr=False)

    @property
    def keyid(self) -> str:
        """`sha256:<hex>` of the SubjectPublicKeyInfo."""
        return key_id(self.private_key.public_key())

    @property
    def fingerprint(self) -> str:
        """The key id as a person reads it out."""
        return fingerprint(self.keyid)


def new_identity(principal: str, *, created_at: datetime) -> SigningIdentity:
    """A fresh key and its certificate, valid for forty years from `created_at`.

    Args:
        principal: a name or an address; at most 64 characters, no line breaks or tabs.

    Raises:
        InputError: the principal has another form.
    """
    check_principal(principal, where="principal")
    private_key = ec.generate_private_key(ec.SECP256R1())
    certificate = self_signed_certificate(principal, private_key=private_key, created_at=created_at)
    return SigningIdentity(principal=principal, private_key=private_key, certificate=certificate)


def identity_bytes(identity: SigningIdentity, *, passphrase: bytes) -> bytes:
    """The identity as encrypted PKCS#12.

    Raises:
        InputError: the passphrase is empty or not UTF-8.
    """
    encryption = (
        PrivateFormat.PKCS12.encryption_builder()
        .kdf_rounds(_KDF_ROUNDS)
        .key_cert_algorithm(pkcs12.PBES.PBESv2SHA256AndAES256CBC)
        .hmac_hash(SHA256())
        .build(_checked_passphrase(passphrase))
    )
    data = pkcs12.serialize_key_and_certificates(
        identity.principal.encode(), identity.private_key, identity.certificate, None, encryption
    )
    return _with_strong_mac(data, passphrase=passphrase)


def parse_identity(data: bytes, *, passphrase: bytes, where: str) -> SigningIdentity:
    """The identity in an encrypted PKCS#12.

    Raises:
        InputError: the passphrase is wrong, the data are damaged, the key is not P-256, or the
            certificate is not this key's own.
    """
    try:
        store = pkcs12.load_pkcs12(data, _checked_passphrase(passphrase))
    except ValueError as error:
        raise InputError(
            f"{where}: the passphrase must open the key file; it is another one, or the file is damaged"
        ) from error
    private_key, entry = store.key, store.cert
    if not isinstance(private_key, ec.EllipticCurvePrivateKey) or entry is None:
        raise InputError(f"{where}: must hold a P-256 key and its certificate")
    principal = check_certificate(entry.certificate, where=where)
    if key_id(private_key.public_key()) != certificate_keyid(entry.certificate):
        raise InputError(f"{where}: certificate must be that of the private key beside it")
    return SigningIdentity(principal=principal, private_key=private_key, certificate=entry.certificate)


def write_identity(identity: SigningIdentity, path: Path, *, passphrase: bytes) -> None:
    """Writes the key file with mode 0600, whole or not at all, and never over an existing file.

    Raises:
        InputError: something is at `path` already.
        StorageError: the folder cannot be written.
    """
    data = identity_bytes(identity, passphrase=passphrase)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.S_IRUSR | stat.S_IWUSR)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            os.link(beside, path)
        finally:
            beside.unlink()
    except FileExistsError as error:
        raise InputError(f"{path}: a key file must not be overwritten; move it away first") from error
    except OSError as error:
        raise StorageError(f"{path}: the key file cannot be written; {error.strerror}") from error


def load_identity(path: Path, *, passphrase: bytes) -> SigningIdentity:
    """The identity in the key file.

    Raises:
        InputError: other people may read the file, it is no key file, or the passphrase is wrong.
        StorageError: the file cannot be read.
    """
    try:
        with path.open("rb") as stream:
            mode = stat.S_IMODE(os.fstat(stream.fileno()).st_mode)
            data = stream.read(_MAX_KEY_FILE_BYTES + 1)
    except OSError as error:
        raise StorageError(f"{path}: the key file cannot be read; {error.strerror}") from error
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InputError(
            f"{path}: a key file must be readable by its owner alone; got mode {mode:04o}; "
            f"run: chmod 600 {path}"
        )
    if len(data) > _MAX_KEY_FILE_BYTES:
        raise InputError(f"{path}: a key file must be at most {_MAX_KEY_FILE_BYTES} bytes")
    return parse_identity(data, passphrase=passphrase, where=str(path))


def _checked_passphrase(passphrase: bytes) -> bytes:
    try:
        text = passphrase.decode()
    except UnicodeDecodeError as error:
        raise InputError("passphrase: must be UTF-8") from error
    if not text:
        raise InputError("passphrase: must not be empty")
    return passphrase


def _with_strong_mac(data: bytes, *, passphrase: bytes) -> bytes:
    """The PKCS#12 with its integrity code made again by as many rounds as its encryption."""
    from asn1crypto.pkcs12 import MacData, Pfx

    store = Pfx.load(data)
    salt = secrets.token_bytes(_MAC_SALT_BYTES)
    mac_key = _mac_key(passphrase, salt=salt)
    digest = hmac.digest(mac_key, store["auth_safe"]["content"].native, "sha256")
    store["mac_data"] = MacData(
        {
            "mac": {"digest_algorithm": {"algorithm": "sha256"}, "digest": digest},
            "mac_salt": salt,
            "iterations": _KDF_ROUNDS,
        }
    )
    return bytes(store.dump())


def _mac_key(passphrase: bytes, *, salt: bytes) -> bytes:
    """32 bytes by the PKCS#12 key derivation with SHA-256; one block of output needs no chaining."""
    secret = passphrase.decode().encode("utf-16-be") + b"\0\0"
    block = bytes([_MAC_PURPOSE]) * _MAC_BLOCK_BYTES + _fill_blocks(salt) + _fill_blocks(secret)
    for _ in range(_KDF_ROUNDS):
        block = hashlib.sha256(block).digest()
    return block


def _fill_blocks(part: bytes) -> bytes:
    """`part` repeated to fill whole blocks."""
    length = -(-len(part) // _MAC_BLOCK_BYTES) * _MAC_BLOCK_BYTES
    return (part * -(-length // len(part)))[:length]
