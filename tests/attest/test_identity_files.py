"""Key files: encrypted, private, never overwritten; and the public half that is handed out."""

from __future__ import annotations

import json
import stat
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from asn1crypto.pkcs12 import Pfx
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12
from cryptography.x509.oid import NameOID

from safetyrepro.attest.certificate import parse_public_identity, public_identity
from safetyrepro.attest.document import document_bytes
from safetyrepro.attest.keys import (
    SigningIdentity,
    identity_bytes,
    load_identity,
    new_identity,
    parse_identity,
    write_identity,
)
from safetyrepro.errors import InputError, StorageError

PASSPHRASE = "a correct hörse".encode()
CREATED_AT = datetime(2026, 11, 30, tzinfo=UTC)


@pytest.fixture(scope="module")
def key_file(alice: SigningIdentity) -> bytes:
    return identity_bytes(alice, passphrase=PASSPHRASE)


def test_an_identity_comes_back_from_its_file(tmp_path: Path, alice: SigningIdentity) -> None:
    path = tmp_path / "alice.p12"
    write_identity(alice, path, passphrase=PASSPHRASE)
    found = load_identity(path, passphrase=PASSPHRASE)
    assert (found.principal, found.keyid) == (alice.principal, alice.keyid)
    assert found.certificate == alice.certificate
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["alice.p12"]


def test_an_existing_key_file_is_never_overwritten(tmp_path: Path, alice: SigningIdentity) -> None:
    path = tmp_path / "alice.p12"
    path.write_bytes(b"an older key")
    with pytest.raises(InputError, match=r"alice\.p12: a key file must not be overwritten"):
        write_identity(alice, path, passphrase=PASSPHRASE)
    assert path.read_bytes() == b"an older key"
    assert [one.name for one in tmp_path.iterdir()] == ["alice.p12"]


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, alice: SigningIdentity) -> None:
    (tmp_path / "plain").write_text("a file where a folder must be")
    with pytest.raises(StorageError, match=r"alice\.p12: the key file cannot be written; Not a directory$"):
        write_identity(alice, tmp_path / "plain" / "alice.p12", passphrase=PASSPHRASE)


def test_a_missing_key_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"none\.p12: the key file cannot be read; No such file"):
        load_identity(tmp_path / "none.p12", passphrase=PASSPHRASE)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_key_file_that_others_may_read_is_refused(tmp_path: Path, key_file: bytes, mode: int) -> None:
    path = tmp_path / "alice.p12"
    path.write_bytes(key_file)
    path.chmod(mode)
    with pytest.raises(InputError, match=rf"by its owner alone; got mode 0{mode:o}; run: chmod 600 "):
        load_identity(path, passphrase=PASSPHRASE)


@pytest.mark.parametrize("wrong", [b"a correct horse", b"A correct h\xc3\xb6rse"])
def test_a_wrong_passphrase_is_told(key_file: bytes, wrong: bytes) -> None:
    with pytest.raises(
        InputError, match=r"^alice\.p12: the passphrase must open the key file; it is another"
    ):
        parse_identity(key_file, passphrase=wrong, where="alice.p12")


def test_an_empty_passphrase_is_refused(alice: SigningIdentity) -> None:
    with pytest.raises(InputError, match=r"^passphrase: must not be empty$"):
        identity_bytes(alice, passphrase=b"")


def test_a_damaged_key_file_is_refused(key_file: bytes) -> None:
    damaged = bytearray(key_file)
    damaged[len(damaged) // 2] ^= 1
    with pytest.raises(InputError, match=r"^alice\.p12: the passphrase must open the key file"):
        parse_identity(bytes(damaged), passphrase=PASSPHRASE, where="alice.p12")


def test_encryption_and_integrity_code_cost_a_guesser_the_same(key_file: bytes) -> None:
    """The library leaves the integrity code at 2,048 rounds, where a guess is 300 times cheaper."""
    store = Pfx.load(key_file)
    assert store["mac_data"]["iterations"].native == 600_000
    assert store["mac_data"]["mac"]["digest_algorithm"]["algorithm"].native == "sha256"
    listed = subprocess.run(
        ["openssl", "pkcs12", "-info", "-noout", "-passin", f"pass:{PASSPHRASE.decode()}"],
        input=key_file,
        capture_output=True,
        check=True,
    ).stderr.decode()
    assert "MAC: sha256, Iteration 600000" in listed
    assert listed.count("AES-256-CBC, Iteration 600000, PRF hmacWithSHA256") == 2


def test_an_identity_does_not_print_its_key(alice: SigningIdentity) -> None:
    assert "Key" not in repr(alice)
    assert "Certificate" not in repr(alice)


def test_a_certificate_names_its_owner_and_may_sign_documents(alice: SigningIdentity) -> None:
    certificate = alice.certificate
    assert certificate.not_valid_before_utc == datetime(2026, 11, 30, 12, tzinfo=UTC)
    assert (certificate.not_valid_after_utc - certificate.not_valid_before_utc).days == 40 * 365
    assert certificate.subject == certificate.issuer
    assert alice.fingerprint.replace(" ", "").lower() == alice.keyid[7:39]


@pytest.mark.parametrize(
    "principal", ["", " a", "a ", "a\nb", "x" * 65, "tab\there", "esc\x1b[31m", "csi\x9b1m", "\u202egnp"]
)
def test_a_name_that_does_not_print_well_is_refused(principal: str) -> None:
    with pytest.raises(InputError, match=r"^principal: a name must be 1 to 64 printable characters"):
        new_identity(principal, created_at=CREATED_AT)


def test_another_kind_of_key_is_refused() -> None:
    key = rsa.generate_private_key(65537, 2048)
    encryption = BestAvailableEncryption(PASSPHRASE)
    data = pkcs12.serialize_key_and_certificates(b"rsa", key, None, None, encryption)
    with pytest.raises(InputError, match=r"must hold a P-256 key and its certificate"):
        parse_identity(data, passphrase=PASSPHRASE, where="rsa.p12")


def test_the_certificate_must_be_that_of_the_key(alice: SigningIdentity, mallory: SigningIdentity) -> None:
    data = pkcs12.serialize_key_and_certificates(
        b"mixed", mallory.private_key, None, [alice.certificate], BestAvailableEncryption(PASSPHRASE)
    )
    with pytest.raises(InputError, match=r"^mixed: must hold a P-256 key and its certificate$"):
        parse_identity(data, passphrase=PASSPHRASE, where="mixed")


def test_the_public_half_comes_back_from_its_bytes(alice: SigningIdentity) -> None:
    public = public_identity(alice.certificate)
    assert parse_public_identity(document_bytes(public), where="alice.pub.json") == public
    assert (public.principal, public.keyid) == (alice.principal, alice.keyid)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (
            "principal",
            "Bob",
            r"principal must be 'Alice Example <alice@example\.org>', the certificate's; got 'B",
        ),
        (
            "keyid",
            "sha256:" + "0" * 64,
            r"keyid must be sha256:[0-9a-f]{64}, the certificate's; got 'sha256:0",
        ),
        ("fingerprint", "0000", r"fingerprint must be '[0-9A-F ]{39}'; got '0000'"),
        ("certificate", "hello", r"certificate: must be a PEM certificate; got 'hello'"),
        ("schema", "other/v1", r"schema: input should be 'safetyrepro/public-key/v1'; got 'other/v1'"),
    ],
)
def test_a_public_half_that_contradicts_its_certificate_is_refused(
    alice: SigningIdentity, field: str, value: str, message: str
) -> None:
    fields = {**json.loads(document_bytes(public_identity(alice.certificate))), field: value}
    with pytest.raises(InputError, match=message):
        parse_public_identity(json.dumps(fields).encode(), where="alice.pub.json")


def test_a_certificate_that_another_key_signed_is_refused(
    alice: SigningIdentity, mallory: SigningIdentity
) -> None:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Alice")])
    forged = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(alice.private_key.public_key())
        .serial_number(1)
        .not_valid_before(CREATED_AT)
        .not_valid_after(CREATED_AT + timedelta(days=1))
        .sign(mallory.private_key, SHA256())
    )
    with pytest.raises(InputError, match=r"^certificate: the certificate must be signed by its own key"):
        public_identity(forged)
