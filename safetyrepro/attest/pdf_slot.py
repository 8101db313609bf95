"""Where in a PDF its signature stands, read from the raw bytes before anything is parsed.

A PDF signature covers the file but for one gap, the hexadecimal string that holds the signature
itself. Readers are lax about that gap: lower-case digits, spaces, or other bytes after the
signature change nothing for them. Here the gap must be spelled in the one way the signer spells it,
so that together with the signed ranges every byte of the file is accounted for.

Source: ISO 32000-2 section 12.8.1 (ByteRange, Contents).
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from safetyrepro.attest.check import Check, failed, passed

MAX_PDF_BYTES = 64 * 2**20
_MAX_SLOT_BYTES = 64 * 2**10
_BYTE_RANGE = re.compile(rb"/ByteRange \[(\d{1,10}) (\d{1,10}) (\d{1,10}) (\d{1,10})\]")
_TRACES = (b"/ByteRange", b"/ETSI.CAdES.detached", b"/Adobe.PPKLite", b"/DocMDP", b"/SigFlags")
_UPPER_HEX = re.compile(rb"(?:[0-9A-F]{2})+")
_DER_SEQUENCE = 0x30


@dataclass(frozen=True, slots=True)
class SignatureSlot:
    """The gap of a signed PDF: from `start`, its `<`, to `end`, just past its `>`."""

    start: int
    end: int
    container: bytes
    """The signature container in the gap, without its padding."""


@dataclass(frozen=True, slots=True)
class SlotVerdict:
    """What was found where a signature belongs.

    Checked: that every byte of the file is either signed or part of a gap spelled in the one way.
    Not checked: the signature.
    """

    checks: tuple[Check, ...]
    slot: SignatureSlot | None
    """The gap; None where a check failed."""
    traces: bool
    """Whether the file shows traces of a signature at all."""


def find_slot(pdf: bytes) -> SlotVerdict:
    """The gap of the last signature in `pdf`."""
    traces = any(trace in pdf for trace in _TRACES)
    at = pdf.rfind(b"/ByteRange")
    if not traces:
        return SlotVerdict((failed("signature present", "the file holds no signature"),), None, False)
    found = _BYTE_RANGE.match(pdf, at) if at >= 0 else None
    if found is None:
        detail = "the file shows traces of a signature, but none that can be read"
        return SlotVerdict((failed("signature present", detail),), None, True)
    present = passed("signature present", f"a signature at byte {at}")
    covered = _covers_file([int(number) for number in found.groups()], size=len(pdf))
    if covered.failed:
        return SlotVerdict((present, covered), None, True)
    start, end = int(found[2]), int(found[3])
    spelled, container = _read_gap(pdf[start:end])
    slot = SignatureSlot(start=start, end=end, container=container) if container is not None else None
    return SlotVerdict((present, covered, spelled), slot, True)


def digest_signed_ranges(pdf: bytes, slot: SignatureSlot) -> bytes:
    """SHA-256 of the file without the gap."""
    view = memoryview(pdf)
    state = hashlib.sha256(view[: slot.start])
    state.update(view[slot.end :])
    return state.digest()


def _covers_file(numbers: list[int], *, size: int) -> Check:
    name = "whole file covered"
    first, first_length, second, second_length = numbers
    if first != 0 or not 0 < first_length < second <= size or second - first_length > _MAX_SLOT_BYTES:
        return failed(name, f"the signed ranges must be the file but for one gap; got {numbers}")
    beyond = size - (second + second_length)
    if beyond > 0:
        return failed(name, f"{beyond} bytes follow what was signed: an incremental update, or added data")
    if beyond < 0:
        return failed(name, f"the last {-beyond} bytes of what was signed are missing")
    return passed(name, f"{first_length + second_length} of {size} bytes are signed, the rest is the gap")


def _read_gap(gap: bytes) -> tuple[Check, bytes | None]:
    name = "signature slot"
    digits = gap[1:-1]
    if gap[:1] != b"<" or gap[-1:] != b">" or not _UPPER_HEX.fullmatch(digits):
        return failed(name, "the gap must be one string of upper-case hexadecimal digits"), None
    data = bytes.fromhex(digits.decode("ascii"))
    length = _der_length(data)
    if length is None:
        return failed(name, "the gap must hold one DER sequence"), None
    if any(data[length:]):
        return failed(name, "the gap must hold nothing but zeros after the signature"), None
    return passed(name, f"{length} bytes of signature, {len(data) - length} of padding"), data[:length]


def _der_length(data: bytes) -> int | None:
    """The length of the DER sequence at the front of `data` with a two-byte length, header included."""
    if len(data) < 4 or data[0] != _DER_SEQUENCE or data[1] != 0x82:
        return None
    length = 4 + int.from_bytes(data[2:4], "big")
    return length if length <= len(data) else None
