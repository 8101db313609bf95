"""Raw signatures against published vectors, and what must not pass for one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from safetyrepro.attest.certificate import public_identity
from safetyrepro.attest.keys import SigningIdentity
from safetyrepro.attest.signature import (
    fingerprint,
    is_genuine,
    key_id,
    parse_public_key,
    public_key_pem,
    raw_ecdsa,
    sign_bytes,
)
from safetyrepro.errors import InputError

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "signatures.json").read_text())
SHARED = Path(__file__).parents[3] / "shared" / "data"
WYCHEPROOF = SHARED / "wycheproof_ed25519.json"


@pytest.mark.parametrize("vector", GOLDEN["ed25519"]["vectors"], ids=lambda vector: vector["secret"][:8])
def test_ed25519_signs_as_rfc_8032_says(vector: dict[str, str]) -> None:
    private_key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(vector["secret"]))
    message, signature = bytes.fromhex(vector["message"]), bytes.fromhex(vector["signature"])
    public = private_key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    assert public.hex() == vector["public"]
    assert sign_bytes(message, private_key) == signature
    assert is_genuine(signature, data=message, public_key=private_key.public_key())
    assert not is_genuine(signature, data=message + b"!", public_key=private_key.public_key())


@pytest.mark.parametrize("vector", GOLDEN["ecdsa_p256_sha256"]["vectors"], ids=lambda one: one["message"])
def test_ecdsa_signs_deterministically_as_rfc_6979_says(vector: dict[str, str]) -> None:
    private_key = ec.derive_private_key(int(GOLDEN["ecdsa_p256_sha256"]["d"], 16), ec.SECP256R1())
    signature = sign_bytes(vector["message"].encode(), private_key)
    assert raw_ecdsa(signature).hex().upper() == vector["r"] + vector["s"]


@pytest.mark.shared
@pytest.mark.skipif(not WYCHEPROOF.exists(), reason="needs ../shared/data/wycheproof_ed25519.json")
def test_every_wycheproof_case_of_ed25519_is_judged_rightly() -> None:
    cases = json.loads(WYCHEPROOF.read_text())
    judged = 0
    for group in cases["testGroups"]:
        public_key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(group["publicKey"]["pk"]))
        for case in group["tests"]:
            found = is_genuine(
                bytes.fromhex(case["sig"]), data=bytes.fromhex(case["msg"]), public_key=public_key
            )
            assert found == (case["result"] == "valid"), f"case {case['tcId']}: {case['comment']}"
            judged += 1
    assert judged == cases["numberOfTests"] == 151


def test_ecdsa_is_read_as_strict_der_and_as_raw_numbers(alice: SigningIdentity) -> None:
    public_key = alice.private_key.public_key()
    signature = sign_bytes(b"data", alice.private_key)
    assert is_genuine(signature, data=b"data", public_key=public_key)
    assert is_genuine(raw_ecdsa(signature), data=b"data", public_key=public_key)


def test_a_lax_spelling_of_a_genuine_ecdsa_signature_is_refused(alice: SigningIdentity) -> None:
    signature = sign_bytes(b"data", alice.private_key)
    raw = raw_ecdsa(signature)
    long_length = b"\x30\x81" + signature[1:]
    lax = {
        "trailing byte": signature + b"\x00",
        "length in its long form": long_length,
        "raw with one byte more": raw + b"\x00",
        "raw with one byte less": raw[:-1],
        "nothing": b"",
    }
    for how, spelled in lax.items():
        assert not is_genuine(spelled, data=b"data", public_key=alice.private_key.public_key()), how


@pytest.mark.parametrize("size", [0, 1, 63, 65])
def test_an_ed25519_signature_of_another_length_is_refused(size: int) -> None:
    private_key = Ed25519PrivateKey.generate()
    signature = (sign_bytes(b"data", private_key) * 2)[:size]
    assert not is_genuine(signature, data=b"data", public_key=private_key.public_key())


def test_a_key_has_one_id_whether_it_comes_as_key_or_as_certificate(alice: SigningIdentity) -> None:
    public_key = alice.private_key.public_key()
    as_key = parse_public_key(public_key_pem(public_key), where="key")
    as_certificate = parse_public_key(public_identity(alice.certificate).certificate, where="certificate")
    assert key_id(as_key) == key_id(as_certificate) == alice.keyid
    assert alice.keyid.startswith("sha256:")
    assert len(alice.keyid) == len("sha256:") + 64


def test_a_fingerprint_is_the_first_half_of_the_key_id_in_groups_of_four() -> None:
    digits = "0123456789abcdef" * 4
    assert fingerprint(f"sha256:{digits}") == "0123 4567 89AB CDEF 0123 4567 89AB CDEF"


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (rsa.generate_private_key(65537, 2048).public_key(), "must be Ed25519 or ECDSA P-256; got 'RSA"),
        (ec.generate_private_key(ec.SECP384R1()).public_key(), "ECDSA P-256; got 'secp384r1'"),
    ],
    ids=["rsa", "p384"],
)
def test_other_keys_are_refused(key: rsa.RSAPublicKey | ec.EllipticCurvePublicKey, message: str) -> None:
    pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    with pytest.raises(InputError, match=message):
        parse_public_key(pem, where="trust.yaml")


def test_what_is_no_pem_is_refused() -> None:
    with pytest.raises(InputError, match=r"^key: must be a PEM public key or certificate; got 'hello'$"):
        parse_public_key("hello", where="key")
