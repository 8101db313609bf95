"""The few DER elements a container is made of, against asn1crypto."""

from __future__ import annotations

import pytest
from asn1crypto import core
from hypothesis import given
from hypothesis import strategies as st

from safetyrepro.attest.der import (
    OCTET_STRING,
    SEQUENCE,
    encode,
    encode_integer,
    encode_object_identifier,
    split_elements,
)
from safetyrepro.errors import InputError


@given(value=st.integers(min_value=0, max_value=2**160))
def test_integers_are_spelled_as_asn1crypto_spells_them(value: int) -> None:
    assert encode_integer(value) == core.Integer(value).dump()


@given(rest=st.lists(st.integers(min_value=0, max_value=2**40), min_size=1, max_size=8))
def test_object_identifiers_are_spelled_as_asn1crypto_spells_them(rest: list[int]) -> None:
    dotted = ".".join(map(str, (1, 2, *rest)))
    assert encode_object_identifier(dotted) == core.ObjectIdentifier(dotted).dump()


@pytest.mark.parametrize("size", [0, 1, 127, 128, 255, 256, 65_535, 65_536])
def test_lengths_are_in_their_shortest_form(size: int) -> None:
    assert encode(OCTET_STRING, bytes(size)) == core.OctetString(bytes(size)).dump()


@given(contents=st.lists(st.binary(max_size=300), max_size=5))
def test_what_was_put_together_comes_apart_again(contents: list[bytes]) -> None:
    elements = [encode(OCTET_STRING, content) for content in contents]
    found = split_elements(b"".join(elements), where="data")
    assert [(tag, content, whole) for tag, content, whole in found] == [
        (OCTET_STRING, content, whole) for content, whole in zip(contents, elements, strict=True)
    ]


@given(data=st.binary(max_size=60))
def test_whatever_comes_apart_is_the_one_spelling_of_its_parts(data: bytes) -> None:
    try:
        found = split_elements(data, where="data")
    except InputError:
        return
    assert b"".join(encode(tag, content) for tag, content, _ in found) == data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x30", "must be whole DER; the element at byte 0 is cut short"),
        (b"\x30\x02\x05", "the element at byte 0 is cut short"),
        (b"\x30\x80\x00\x00", "at byte 0 is not in its shortest form"),
        (b"\x30\x80" + bytes(128), "at byte 0 is not in its shortest form"),
        (b"\x30\x81\x01\x00", "at byte 0 is not in its shortest form"),
        (b"\x30\x82\x00\x80" + bytes(128), "at byte 0 is not in its shortest form"),
        (b"\x30\x85\x01\x00\x00\x00\x00", "the element at byte 0 is cut short"),
        (encode(SEQUENCE) + b"\x04\x01", "the element at byte 2 is cut short"),
    ],
    ids=[
        "no length",
        "cut",
        "indefinite",
        "indefinite and long",
        "long form",
        "leading zero",
        "five length bytes",
        "second cut",
    ],
)
def test_any_other_encoding_is_refused_with_its_place(data: bytes, message: str) -> None:
    with pytest.raises(InputError) as found:
        split_elements(data, where="data")
    assert message in str(found.value)
