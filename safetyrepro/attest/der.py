"""Just enough DER to write one container and to take it apart again.

Source: ITU-T X.690 sections 8 and 10 (definite lengths, the shortest form). Checked against
asn1crypto.
"""

from __future__ import annotations

from safetyrepro.errors import InputError

INTEGER = 0x02
OCTET_STRING = 0x04
OBJECT_IDENTIFIER = 0x06
SEQUENCE = 0x30
SET = 0x31
CONTEXT_0 = 0xA0
CONTEXT_4 = 0xA4


def encode(tag: int, *parts: bytes) -> bytes:
    """One element: its tag, its length and the parts as its content."""
    content = b"".join(parts)
    size = len(content)
    if size < 0x80:
        return bytes((tag, size)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(length))) + length + content


def encode_integer(value: int) -> bytes:
    """A non-negative INTEGER."""
    return encode(INTEGER, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def encode_object_identifier(dotted: str) -> bytes:
    """An OBJECT IDENTIFIER such as `1.2.840.113549.1.7.1`."""
    first, second, *rest = (int(arc) for arc in dotted.split("."))
    return encode(OBJECT_IDENTIFIER, *(_base_128(arc) for arc in (40 * first + second, *rest)))


def _base_128(arc: int) -> bytes:
    digits = [arc & 0x7F]
    while arc := arc >> 7:
        digits.append(0x80 | (arc & 0x7F))
    return bytes(reversed(digits))


def split_elements(data: bytes, *, where: str) -> list[tuple[int, bytes, bytes]]:
    """The elements that `data` is a sequence of: tag, content, and the whole element.

    Raises:
        InputError: an element runs past the end, or its length is not in the shortest form.
    """
    elements = []
    at = 0
    while at < len(data):
        start, stop = _content_bounds(data, at, where=where)
        elements.append((data[at], data[start:stop], data[at:stop]))
        at = stop
    return elements


def _content_bounds(data: bytes, at: int, *, where: str) -> tuple[int, int]:
    """Where the content of the element at `at` starts and stops."""
    header = data[at : at + 2]
    if len(header) < 2:
        raise InputError(f"{where}: must be whole DER; the element at byte {at} is cut short")
    size_bytes = header[1] & 0x7F if header[1] & 0x80 else 0
    start = at + 2 + size_bytes
    size = int.from_bytes(data[at + 2 : start], "big") if header[1] & 0x80 else header[1]
    if header[1] & 0x80 and size < max(0x80, 1 << 8 * max(size_bytes - 1, 0)):
        raise InputError(f"{where}: must be DER; the length at byte {at} is not in its shortest form")
    if start + size > len(data):
        raise InputError(f"{where}: must be whole DER; the element at byte {at} is cut short")
    return start, start + size
