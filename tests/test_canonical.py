"""Canonical JSON. Vectors: RFC 8785, appendix B (numbers) and section 3.2 (strings and key order)."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safetyrepro.canonical import (
    JsonValue,
    canonical_bytes,
    digest_bytes,
    digest_file,
    digest_json,
    parse_json,
)
from safetyrepro.errors import InputError

NUMBERS = [  # IEEE 754 bits, JSON text: RFC 8785 appendix B
    ("0000000000000000", "0"),
    ("8000000000000000", "0"),
    ("0000000000000001", "5e-324"),
    ("8000000000000001", "-5e-324"),
    ("7fefffffffffffff", "1.7976931348623157e+308"),
    ("ffefffffffffffff", "-1.7976931348623157e+308"),
    ("4340000000000000", "9007199254740992"),
    ("c340000000000000", "-9007199254740992"),
    ("4430000000000000", "295147905179352830000"),
    ("44b52d02c7e14af5", "9.999999999999997e+22"),
    ("44b52d02c7e14af6", "1e+23"),
    ("44b52d02c7e14af7", "1.0000000000000001e+23"),
    ("444b1ae4d6e2ef4e", "999999999999999700000"),
    ("444b1ae4d6e2ef4f", "999999999999999900000"),
    ("444b1ae4d6e2ef50", "1e+21"),
    ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
    ("3eb0c6f7a0b5ed8d", "0.000001"),
    ("41b3de4355555553", "333333333.3333332"),
    ("41b3de4355555554", "333333333.33333325"),
    ("41b3de4355555555", "333333333.3333333"),
    ("41b3de4355555556", "333333333.3333334"),
    ("41b3de4355555557", "333333333.33333343"),
    ("becbf647612f3696", "-0.0000033333333333333333"),
    ("43143ff3c1cb0959", "1424953923781206.2"),
]

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(-(2.0**53) + 1, 2.0**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: not number.is_integer())
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(("bits", "text"), NUMBERS)
def test_numbers_are_written_as_rfc_8785_appendix_b_says(bits: str, text: str) -> None:
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical_bytes(number) == text.encode()


def test_the_object_of_rfc_8785_section_3_2_2_has_its_bytes() -> None:
    value: JsonValue = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": '€$\u000f\nA\'B"\\\\"/',
        "literals": [None, True, False],
    }
    assert (
        canonical_bytes(value)
        == (
            '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
            '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
        ).encode()
    )


def test_keys_are_sorted_by_utf_16_units_and_not_by_code_points() -> None:
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    found = canonical_bytes({key: key for key in keys}).decode()
    assert list(json.loads(found)) == ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]
    assert sorted(keys).index("\U0001f600") == len(keys) - 1  # by code points it would be last


# A float that is an integer beyond 2^53 - 1 is written as JCS says, and its text is then no safe integer.
@given(JSON_VALUES)
def test_canonical_bytes_are_read_back_as_the_value_and_written_again_as_the_same_bytes(
    value: JsonValue,
) -> None:
    data = canonical_bytes(value)
    assert canonical_bytes(parse_json(data, "f")) == data


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (float("nan"), "nan is not representable"),
        (float("inf"), "inf is not representable"),
        (float("-inf"), "-inf is not representable"),
        ([{"a": float("nan")}], "nan is not representable"),
        (2**53, "9007199254740992 exceeds safe integer"),
        (-(2**53), "-9007199254740992 exceeds safe integer"),
        ("\ud800", "non-UTF-8 codepoints"),
        ({"\udfff": 1}, r"text must be Unicode; got '\\udfff'"),
        ({1: 2}, "object keys must be strings"),
        (b"bytes", "unsupported type"),
    ],
)
def test_what_json_has_no_word_for_is_refused(value: JsonValue, reason: str) -> None:
    with pytest.raises(InputError, match=f"canonical JSON: .*{reason}"):
        canonical_bytes(value)


def test_the_largest_integers_that_every_reader_keeps_are_written() -> None:
    assert canonical_bytes([2**53 - 1, -(2**53) + 1]) == b"[9007199254740991,-9007199254740991]"


def test_nesting_beyond_pythons_limit_is_refused_in_both_directions() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InputError, match="canonical JSON: must not be nested this deeply"):
        canonical_bytes(deep)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"deep\.json: must not be nested this deeply"):
        parse_json("[" * 100_000 + "]" * 100_000, "deep.json")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ('{"a": 1, "a": 2}', "object keys must be unique; got 'a' twice"),
        ('[{"b": {"a": 1, "a": 1}}]', "object keys must be unique; got 'a' twice"),
        ("NaN", "numbers must be finite; got 'NaN'"),
        ("-Infinity", "numbers must be finite; got '-Infinity'"),
        ("1e999", "numbers must be finite; got '1e999'"),
        ('"\\ud800"', r"text must be Unicode; got '\\ud800'"),
        ('{"\\udead": 1}', r"text must be Unicode; got '\\udead'"),
        ('"\ud800"', r"text must be Unicode; got '\\ud800'"),
        (b'"\xff"', "must be JSON; 'utf-8' codec"),
        ('"a"'.encode("utf-16"), "must be JSON; 'utf-8' codec"),
        (b'\xef\xbb\xbf"a"', "must be JSON; Unexpected UTF-8 BOM"),
        ("", "must be JSON; Expecting value"),
        ("[1] [2]", "must be JSON; Extra data"),
        ("1" * 5000, "must be JSON; Exceeds the limit"),
    ],
)
def test_json_that_two_readers_could_take_differently_is_refused(data: str | bytes, reason: str) -> None:
    with pytest.raises(InputError, match=f"^f.json: {reason}"):
        parse_json(data, "f.json")


def test_a_surrogate_pair_is_one_character() -> None:
    assert parse_json('"\\ud83d\\ude00"', "f") == "😀"


def test_a_digest_names_its_function_and_is_the_same_for_bytes_json_and_file(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b'{"a":1,"b":2}')
    expected = "sha256:" + hashlib.sha256(b'{"a":1,"b":2}').hexdigest()
    assert digest_bytes(b'{"a":1,"b":2}') == expected
    assert digest_json({"b": 2, "a": 1}) == expected
    assert digest_file(path) == expected
    assert digest_bytes(b"") == "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
