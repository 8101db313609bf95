"""A DSSE v1 envelope: signed bytes, their type, and signatures by one or more keys.

The envelope keeps the bytes that were signed. They are verified as they are, and only then read;
nothing is parsed, re-encoded and hoped to be equal.

What a verified envelope says: these bytes, under this type, were signed by these keys. What it
does not say: whose keys they are, whether they were to be trusted (see `trust`), when they signed,
or that what the bytes say is right. A `keyid` is an unsigned hint and decides nothing.

Source: DSSE protocol v1.0.0 and envelope v1.0.0; checked against the protocol's test vector and,
in both directions, securesystemslib 1.6.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable
from dataclasses import dataclass

from safetyrepro.attest.hostile import check_json_bounds
from safetyrepro.attest.signature import PrivateKey, PublicKey, is_genuine, key_id, sign_bytes
from safetyrepro.canonical import JsonValue, canonical_bytes, parse_json
from safetyrepro.errors import InputError, must_be

IN_TOTO_PAYLOAD = "application/vnd.in-toto+json"
_MAX_SIGNATURES = 64
_FIELDS = frozenset({"payload", "payloadType", "signatures"})
_SIGNATURE_FIELDS = frozenset({"keyid", "sig"})
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}|[A-Za-z0-9_-]*={0,2}", re.ASCII)
_TO_STANDARD = str.maketrans("-_", "+/")


@dataclass(frozen=True, slots=True)
class EnvelopeSignature:
    """One signature, with the hint its signer left."""

    sig: bytes
    keyid: str | None


@dataclass(frozen=True, slots=True)
class Envelope:
    """What was signed and the signatures; nothing here is verified yet."""

    payload: bytes
    payload_type: str
    signatures: tuple[EnvelopeSignature, ...]
    unrecognised: tuple[str, ...] = ()
    """Fields that DSSE does not define: unsigned, ignored as it demands, and named here."""


@dataclass(frozen=True, slots=True)
class SignatureVerdict:
    """What became of one signature of an envelope."""

    index: int
    """Its place in the envelope, from 0."""
    hint: str | None
    """The key id that stands beside it; unsigned."""
    keyid: str | None
    """The id of the key it verifies under; None where no known key fits."""

    @property
    def hint_fits(self) -> bool:
        """Whether the hint is the id of the key it verifies under, as in envelopes we wrote."""
        return self.keyid is not None and self.hint == self.keyid


@dataclass(frozen=True, slots=True)
class EnvelopeVerdict:
    """Which of the known keys signed the payload.

    Checked: each signature against every known key, over the payload and its type.
    Not checked: whose keys they are and what they may sign; when; whether the payload is right.
    """

    signatures: tuple[SignatureVerdict, ...]
    signers: tuple[str, ...]
    """Ids of the distinct keys that signed, in the order of the envelope; the k of a k-of-n."""

    @property
    def unverified(self) -> tuple[SignatureVerdict, ...]:
        """Signatures by keys that are not known, and broken ones: the two cannot be told apart."""
        return tuple(verdict for verdict in self.signatures if verdict.keyid is None)


def pre_authentication_encoding(payload: bytes, *, payload_type: str) -> bytes:
    """The bytes that a DSSE signature covers: the type and the payload, each with its byte length."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def sign_payload(
    payload: bytes, private_key: PrivateKey, *, payload_type: str = IN_TOTO_PAYLOAD
) -> Envelope:
    """An envelope with one signature; the same key and payload give the same bytes again."""
    unsigned = Envelope(payload=payload, payload_type=payload_type, signatures=())
    return add_signature(unsigned, private_key)


def add_signature(envelope: Envelope, private_key: PrivateKey) -> Envelope:
    """The envelope with one more signature.

    Raises:
        InputError: this key has signed it already; a second signature would add nothing.
    """
    public_key = private_key.public_key()
    data = pre_authentication_encoding(envelope.payload, payload_type=envelope.payload_type)
    if any(is_genuine(one.sig, data=data, public_key=public_key) for one in envelope.signatures):
        raise InputError(f"envelope: a key must sign once; {key_id(public_key)} has signed already")
    signature = EnvelopeSignature(sig=sign_bytes(data, private_key), keyid=key_id(public_key))
    return Envelope(
        payload=envelope.payload,
        payload_type=envelope.payload_type,
        signatures=(*envelope.signatures, signature),
        unrecognised=envelope.unrecognised,
    )


def envelope_bytes(envelope: Envelope) -> bytes:
    """The JSON envelope, in canonical JSON with padded standard base64.

    Fields that DSSE does not define are not written again. An envelope of ours that was not touched
    since is equal to `envelope_bytes` of what `parse_envelope` makes of it.
    """
    signatures: list[JsonValue] = []
    for one in envelope.signatures:
        fields: dict[str, JsonValue] = {"sig": base64.b64encode(one.sig).decode()}
        if one.keyid is not None:
            fields["keyid"] = one.keyid
        signatures.append(fields)
    return canonical_bytes(
        {
            "payload": base64.b64encode(envelope.payload).decode(),
            "payloadType": envelope.payload_type,
            "signatures": signatures,
        }
    )


def parse_envelope(data: bytes, *, where: str, payload_type: str = IN_TOTO_PAYLOAD) -> Envelope:
    """The envelope in `data`, if its payload is of the expected type.

    The payload of another type is refused before anybody looks at it: a signature over one kind of
    document must never pass for a signature over another. Base64 may be standard or URL-safe, as
    DSSE demands, but must be padded and be the one encoding of its bytes.

    Raises:
        InputError: too large, not JSON, a duplicate key, a missing field, no signature or more than
            64, bad base64, another payload type.
    """
    check_json_bounds(data, where=where)
    fields = _object(parse_json(data, where), where=where, required=_FIELDS)
    found_type = _text(fields["payloadType"], f"{where}: payloadType")
    if found_type != payload_type:
        raise InputError(must_be(where, f"payloadType must be {payload_type!r}", found_type))
    entries = fields["signatures"]
    if not isinstance(entries, list) or not 1 <= len(entries) <= _MAX_SIGNATURES:
        raise InputError(must_be(where, f"signatures must be a list of 1 to {_MAX_SIGNATURES}", entries))
    signatures = []
    unrecognised = sorted(set(fields) - _FIELDS)
    for index, entry in enumerate(entries):
        place = f"signatures.{index}"
        parts = _object(entry, where=f"{where}: {place}", required=frozenset({"sig"}))
        unrecognised += [f"{place}.{name}" for name in sorted(set(parts) - _SIGNATURE_FIELDS)]
        hint = parts.get("keyid")
        signatures.append(
            EnvelopeSignature(
                sig=_decode(parts["sig"], f"{where}: {place}.sig"),
                keyid=None if hint is None else _text(hint, f"{where}: {place}.keyid"),
            )
        )
    return Envelope(
        payload=_decode(fields["payload"], f"{where}: payload"),
        payload_type=found_type,
        signatures=tuple(signatures),
        unrecognised=tuple(unrecognised),
    )


def verify_envelope(envelope: Envelope, *, public_keys: Iterable[PublicKey]) -> EnvelopeVerdict:
    """Which of the keys signed this envelope.

    Every signature is tried against every key. The same key under two ids, twice in `public_keys`,
    or twice in the envelope is one signer.
    """
    known = {key_id(key): key for key in public_keys}
    data = pre_authentication_encoding(envelope.payload, payload_type=envelope.payload_type)
    verdicts = tuple(
        SignatureVerdict(index=index, hint=one.keyid, keyid=_signer(one.sig, data=data, known=known))
        for index, one in enumerate(envelope.signatures)
    )
    signers = dict.fromkeys(verdict.keyid for verdict in verdicts if verdict.keyid is not None)
    return EnvelopeVerdict(signatures=verdicts, signers=tuple(signers))


def _signer(signature: bytes, *, data: bytes, known: dict[str, PublicKey]) -> str | None:
    for keyid, key in known.items():
        if is_genuine(signature, data=data, public_key=key):
            return keyid
    return None


def _object(value: JsonValue, *, where: str, required: frozenset[str]) -> dict[str, JsonValue]:
    if not isinstance(value, dict):
        raise InputError(must_be(where, "must be a JSON object", value))
    for name in sorted(required - set(value)):
        raise InputError(f"{where}: {name} must be given")
    return value


def _text(value: JsonValue, where: str) -> str:
    if not isinstance(value, str):
        raise InputError(must_be(where, "must be text", value))
    return value


def _decode(value: JsonValue, where: str) -> bytes:
    text = _text(value, where)
    if not _BASE64.fullmatch(text):
        raise InputError(must_be(where, "must be padded base64", text))
    standard = text.translate(_TO_STANDARD)
    try:
        decoded = base64.b64decode(standard, validate=True)
    except binascii.Error as error:
        raise InputError(must_be(where, "must be padded base64", text)) from error
    if base64.b64encode(decoded).decode() != standard:
        raise InputError(must_be(where, "must be the one base64 encoding of its bytes", text))
    return decoded
