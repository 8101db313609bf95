"""DSSE envelopes: the protocol's vector, securesystemslib in both directions, and what is refused."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st
from securesystemslib.dsse import Envelope as OtherEnvelope
from securesystemslib.signer import CryptoSigner, SSlibKey

from safetyrepro.attest.envelope import (
    IN_TOTO_PAYLOAD,
    Envelope,
    EnvelopeSignature,
    add_signature,
    envelope_bytes,
    parse_envelope,
    pre_authentication_encoding,
    sign_payload,
    verify_envelope,
)
from safetyrepro.attest.hostile import MAX_JSON_BYTES, MAX_JSON_VALUES
from safetyrepro.attest.keys import SigningIdentity
from safetyrepro.attest.signature import PrivateKey, raw_ecdsa
from safetyrepro.errors import InputError

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "signatures.json").read_text())["dsse"]
PAYLOAD = b'{"a":1}'


def _json(envelope: Envelope) -> dict[str, object]:
    found = json.loads(envelope_bytes(envelope))
    assert isinstance(found, dict)
    return found


def _parse(fields: dict[str, object]) -> Envelope:
    return parse_envelope(json.dumps(fields).encode(), where="envelope")


def test_the_vector_of_the_protocol_verifies_and_is_made_again() -> None:
    private_key = ec.derive_private_key(int(GOLDEN["d"]), ec.SECP256R1())
    numbers = private_key.public_key().public_numbers()
    assert (numbers.x, numbers.y) == (int(GOLDEN["x"]), int(GOLDEN["y"]))
    envelope = parse_envelope(
        GOLDEN["envelope"].encode(), where="vector", payload_type=GOLDEN["payload_type"]
    )
    assert envelope.payload == GOLDEN["payload"].encode()
    verdict = verify_envelope(envelope, public_keys=[private_key.public_key()])
    assert len(verdict.signers) == 1
    again = sign_payload(envelope.payload, private_key, payload_type=GOLDEN["payload_type"])
    assert raw_ecdsa(again.signatures[0].sig) == envelope.signatures[0].sig


def test_what_is_signed_is_the_type_and_the_payload_with_their_lengths_in_bytes() -> None:
    encoded = pre_authentication_encoding(GOLDEN["payload"].encode(), payload_type=GOLDEN["payload_type"])
    assert encoded == GOLDEN["pae"].encode()
    assert pre_authentication_encoding("ë".encode(), payload_type="të") == "DSSEv1 3 të 2 ë".encode()
    assert pre_authentication_encoding(b"", payload_type="") == b"DSSEv1 0  0 "


@pytest.mark.parametrize(
    "private_key",
    [ec.generate_private_key(ec.SECP256R1()), Ed25519PrivateKey.generate()],
    ids=["p256", "ed25519"],
)
def test_our_envelopes_verify_with_securesystemslib(private_key: PrivateKey) -> None:
    envelope = sign_payload(PAYLOAD, private_key)
    key = SSlibKey.from_crypto(private_key.public_key(), keyid=envelope.signatures[0].keyid)
    other = OtherEnvelope.from_dict(_json(envelope))
    assert other.verify([key], 1) == {key.keyid: key}


@pytest.mark.parametrize(
    "private_key",
    [ec.generate_private_key(ec.SECP256R1()), Ed25519PrivateKey.generate()],
    ids=["p256", "ed25519"],
)
def test_envelopes_of_securesystemslib_verify_with_us(private_key: PrivateKey) -> None:
    signer = CryptoSigner(private_key)
    other = OtherEnvelope(PAYLOAD, IN_TOTO_PAYLOAD, {})
    other.sign(signer)
    envelope = parse_envelope(json.dumps(other.to_dict()).encode(), where="theirs")
    verdict = verify_envelope(envelope, public_keys=[private_key.public_key()])
    assert envelope.payload == PAYLOAD
    assert len(verdict.signers) == 1
    assert verdict.unverified == ()


def test_the_same_key_and_payload_give_the_same_bytes(alice: SigningIdentity) -> None:
    first, second = (envelope_bytes(sign_payload(PAYLOAD, alice.private_key)) for _ in range(2))
    assert first == second
    assert envelope_bytes(parse_envelope(first, where="envelope")) == first


@given(payload=st.binary(max_size=200))
def test_every_payload_comes_back_as_it_was(payload: bytes) -> None:
    envelope = Envelope(payload, IN_TOTO_PAYLOAD, (EnvelopeSignature(b"\x01\x02", None),))
    assert parse_envelope(envelope_bytes(envelope), where="envelope") == envelope


def test_every_changed_byte_of_our_envelope_is_found(alice: SigningIdentity) -> None:
    genuine = envelope_bytes(sign_payload(PAYLOAD, alice.private_key))
    for position in range(len(genuine)):
        for bit in (1, 32):
            changed = bytearray(genuine)
            changed[position] ^= bit
            assert not _is_untouched(bytes(changed), alice), f"byte {position}, bit {bit}"
    assert _is_untouched(genuine, alice)


def _is_untouched(data: bytes, identity: SigningIdentity) -> bool:
    """As a report's verification asks: spelled in the one way, and signed by the key it names."""
    try:
        envelope = parse_envelope(data, where="envelope")
    except InputError:
        return False
    verdict = verify_envelope(envelope, public_keys=[identity.private_key.public_key()])
    return envelope_bytes(envelope) == data and all(one.hint_fits for one in verdict.signatures)


def test_one_key_under_two_ids_is_one_signer(alice: SigningIdentity) -> None:
    once = sign_payload(PAYLOAD, alice.private_key)
    twice = Envelope(
        once.payload,
        once.payload_type,
        (once.signatures[0], EnvelopeSignature(once.signatures[0].sig, "sha256:" + "0" * 64)),
    )
    public_key = alice.private_key.public_key()
    assert verify_envelope(twice, public_keys=[public_key, public_key]).signers == (alice.keyid,)


def test_two_keys_are_two_signers_in_the_order_of_the_envelope(
    alice: SigningIdentity, mallory: SigningIdentity
) -> None:
    envelope = add_signature(sign_payload(PAYLOAD, alice.private_key), mallory.private_key)
    keys = [mallory.private_key.public_key(), alice.private_key.public_key()]
    assert verify_envelope(envelope, public_keys=keys).signers == (alice.keyid, mallory.keyid)


def test_a_key_signs_an_envelope_once(alice: SigningIdentity) -> None:
    envelope = sign_payload(PAYLOAD, alice.private_key)
    with pytest.raises(InputError, match=r"^envelope: a key must sign once; sha256:[0-9a-f]{64} has"):
        add_signature(envelope, alice.private_key)


def test_a_second_signature_by_an_unknown_key_counts_for_nothing(
    alice: SigningIdentity, mallory: SigningIdentity
) -> None:
    envelope = add_signature(sign_payload(PAYLOAD, alice.private_key), mallory.private_key)
    verdict = verify_envelope(envelope, public_keys=[alice.private_key.public_key()])
    assert verdict.signers == (alice.keyid,)
    assert [one.hint for one in verdict.unverified] == [mallory.keyid]


def test_a_key_id_decides_nothing(alice: SigningIdentity, mallory: SigningIdentity) -> None:
    forged = sign_payload(PAYLOAD, mallory.private_key)
    forged = Envelope(
        forged.payload, forged.payload_type, (EnvelopeSignature(forged.signatures[0].sig, alice.keyid),)
    )
    verdict = verify_envelope(forged, public_keys=[alice.private_key.public_key()])
    assert verdict.signers == ()


def test_a_signature_over_one_type_is_none_over_another(alice: SigningIdentity) -> None:
    envelope = sign_payload(PAYLOAD, alice.private_key, payload_type="application/vnd.other+json")
    with pytest.raises(
        InputError, match=r"payloadType must be 'application/vnd\.in-toto\+json'; got 'appl"
    ):
        parse_envelope(envelope_bytes(envelope), where="envelope")
    confused = Envelope(envelope.payload, IN_TOTO_PAYLOAD, envelope.signatures)
    assert verify_envelope(confused, public_keys=[alice.private_key.public_key()]).signers == ()


def test_swapped_payloads_of_two_genuine_envelopes_are_found(alice: SigningIdentity) -> None:
    first, second = (sign_payload(payload, alice.private_key) for payload in (b"one", b"two"))
    swapped = Envelope(second.payload, first.payload_type, first.signatures)
    assert verify_envelope(swapped, public_keys=[alice.private_key.public_key()]).signers == ()


def test_fields_that_dsse_does_not_define_are_ignored_and_named(alice: SigningIdentity) -> None:
    fields = _json(sign_payload(PAYLOAD, alice.private_key))
    signatures = fields["signatures"]
    assert isinstance(signatures, list)
    signatures[0]["role"] = "author"
    envelope = _parse({**fields, "extra": 1})
    assert envelope.unrecognised == ("extra", "signatures.0.role")
    assert verify_envelope(envelope, public_keys=[alice.private_key.public_key()]).signers == (alice.keyid,)


def test_url_safe_base64_is_read_as_dsse_demands(alice: SigningIdentity) -> None:
    payload = b"\xfb\xff\xfe" * 5
    fields = _json(sign_payload(payload, alice.private_key))
    assert "+" in str(fields["payload"]) or "/" in str(fields["payload"])
    fields["payload"] = base64.urlsafe_b64encode(payload).decode()
    assert _parse(fields).payload == payload


_SIG = {"sig": "AAAA"}
_GOOD: dict[str, object] = {"payload": "AAAA", "payloadType": IN_TOTO_PAYLOAD, "signatures": [_SIG]}
_BAD: dict[str, tuple[dict[str, object], str]] = {
    "unpadded": ({**_GOOD, "payload": "YQ"}, "envelope: payload: must be padded base64; got 'YQ'"),
    "line break": ({**_GOOD, "payload": "AAAA\n"}, "envelope: payload: must be padded base64"),
    "mixed alphabets": ({**_GOOD, "payload": "+A-A"}, "envelope: payload: must be padded base64"),
    "loose last bits": ({**_GOOD, "payload": "YR=="}, "payload: must be the one base64 encoding of its"),
    "not text": ({**_GOOD, "payload": 1}, "envelope: payload: must be text; got 1"),
    "no type": ({"payload": "AAAA", "signatures": [_SIG]}, "envelope: payloadType must be given"),
    "no signature": ({**_GOOD, "signatures": []}, "signatures must be a list of 1 to 64"),
    "many signatures": ({**_GOOD, "signatures": [_SIG] * 65}, "signatures must be a list of 1 to 64"),
    "signature without sig": ({**_GOOD, "signatures": [{}]}, "envelope: signatures.0: sig must be given"),
    "signature no object": ({**_GOOD, "signatures": [1]}, "signatures.0: must be a JSON object; got 1"),
    "keyid no text": ({**_GOOD, "signatures": [{**_SIG, "keyid": 1}]}, "signatures.0.keyid: must be text"),
}


@pytest.mark.parametrize("how", _BAD)
def test_a_malformed_envelope_is_refused_with_its_place(how: str) -> None:
    fields, message = _BAD[how]
    with pytest.raises(InputError) as found:
        _parse(fields)
    assert message in str(found.value)


def test_a_doubled_key_is_refused() -> None:
    data = b'{"payload":"AAAA","payload":"BBBB","payloadType":"t","signatures":[]}'
    with pytest.raises(InputError, match=r"^envelope: object keys must be unique; got 'payload' twice$"):
        parse_envelope(data, where="envelope")


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{", b"\xff", b"[" * 100_000], ids=["empty", "list", "cut", "bytes", "deep"]
)
def test_what_is_no_json_object_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match=r"^envelope: must (be (a )?JSON|not be nested)"):
        parse_envelope(data, where="envelope")


def test_an_envelope_that_is_too_large_is_not_even_read() -> None:
    with pytest.raises(InputError, match=f"must be at most {MAX_JSON_BYTES} bytes"):
        parse_envelope(b" " * (MAX_JSON_BYTES + 1), where="envelope")


def test_an_envelope_that_would_take_far_more_memory_than_its_bytes_is_not_even_read() -> None:
    with pytest.raises(InputError, match=f"must hold at most {MAX_JSON_VALUES} values; got 15"):
        parse_envelope(b"[" + b"[]," * 500_000 + b"[]]", where="envelope")
