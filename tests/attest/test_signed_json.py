"""The bytes that are signed are RFC 8785's, so that every reader hashes the same document."""

from __future__ import annotations

import struct

import pytest

from safetyrepro.canonical import canonical_bytes, parse_json
from safetyrepro.errors import InputError

# RFC 8785 section 3.2.2: input, and the bytes of section 3.2.4.
_EXAMPLE = r"""{
  "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
  "literals": [null, true, false]
}"""
_EXAMPLE_BYTES = bytes.fromhex(
    "7b226c69746572616c73223a5b6e756c6c2c747275652c66616c73655d2c226e"
    "756d62657273223a5b3333333333333333332e333333333333332c31652b3330"
    "2c342e352c302e3030322c31652d32375d2c22737472696e67223a22e282ac24"
    "5c75303030665c6e4127425c225c5c5c5c5c222f227d"
)
# RFC 8785 section 3.2.3: keys sort by their UTF-16 code units.
_KEYS = r'{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}'
# RFC 8785 appendix B: bits of an IEEE 754 double, and how it is spelled.
_NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}


def test_the_example_of_the_rfc_has_its_bytes() -> None:
    assert canonical_bytes(parse_json(_EXAMPLE, "example")) == _EXAMPLE_BYTES


def test_keys_sort_as_in_the_rfc() -> None:
    ordered = canonical_bytes(parse_json(_KEYS, "keys")).decode()
    assert [int(part[-1]) for part in ordered.rstrip("}").split(",")] == [2, 4, 6, 7, 1, 5, 3]


@pytest.mark.parametrize("bits", _NUMBERS)
def test_numbers_are_spelled_as_in_the_rfc(bits: str) -> None:
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical_bytes(number) == _NUMBERS[bits].encode()


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_what_json_has_no_word_for_is_refused(number: float) -> None:
    with pytest.raises(InputError, match=r"^canonical JSON: "):
        canonical_bytes(number)


@pytest.mark.parametrize("integer", [2**53, -(2**53)])
def test_an_integer_that_a_double_cannot_tell_from_its_neighbour_is_refused(integer: int) -> None:
    with pytest.raises(InputError, match=r"^canonical JSON: "):
        canonical_bytes(integer)
