"""YAML with positions: what is read, where it stands, and what is refused with its place."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safetyrepro.canonical import JsonValue
from safetyrepro.errors import InputError, InputErrors
from safetyrepro.located import MAX_DEPTH, DataPath, Place, core_scalar, parse_located


@pytest.mark.parametrize(
    ("text", "value"),
    [
        # YAML 1.2.2, section 10.3.2 (core schema), and the traps of YAML 1.1.
        ("", None),
        ("~", None),
        ("null", None),
        ("nUll", "nUll"),
        ("true", True),
        ("FALSE", False),
        ("no", "no"),
        ("Yes", "Yes"),
        ("on", "on"),
        ("12:30", "12:30"),
        ("1_000", "1_000"),
        ("0", 0),
        ("-17", -17),
        ("+3", 3),
        ("0o17", 15),
        ("0xFf", 255),
        ("0b11", "0b11"),
        ("1.", 1.0),
        (".5", 0.5),
        ("-1.5e3", -1500.0),
        ("0.05", 0.05),
        ("1e3", 1000.0),
        ("2026-11-30", "2026-11-30"),
        ("P6M", "P6M"),
        ("١٢", "١٢"),
    ],
)
def test_plain_scalars_follow_the_core_schema(text: str, value: object) -> None:
    got = core_scalar(text)
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize("text", ["017", "-007", "00", "01.5"])
def test_leading_zeros_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"a number must have no leading zeros \(quote it if it is text\)"):
        core_scalar(text)


@pytest.mark.parametrize("text", [".inf", "-.INF", ".nan", "1e999"])
def test_numbers_that_are_not_finite_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="a number must be finite"):
        core_scalar(text)


def test_a_number_of_ten_thousand_digits_is_refused() -> None:
    with pytest.raises(InputError, match="at most 40 digits"):
        core_scalar("1" * 10_000)


def test_quoted_scalars_stay_text() -> None:
    assert parse_located("a: '17'\nb: \"true\"\nc: |\n  12\n", "x").data == {
        "a": "17",
        "b": "true",
        "c": "12\n",
    }


def test_every_key_and_value_has_its_place() -> None:
    located = parse_located(
        "title: x\nmodels:\n  - id: ä\n    dtype:  float32\n  - {id: b, n: [1, 2]}\n", "x"
    )
    assert located.data == {
        "title": "x",
        "models": [{"id": "ä", "dtype": "float32"}, {"id": "b", "n": [1, 2]}],
    }
    assert located.keys[("models",)] == Place(2, 1)
    assert located.values[("models", 0)] == Place(3, 5)
    assert located.keys[("models", 0, "dtype")] == Place(4, 5)
    assert located.values[("models", 0, "dtype")] == Place(4, 13)
    assert located.values[("models", 1, "n", 1)] == Place(5, 20)


def test_the_place_of_something_absent_is_that_of_what_is_around_it() -> None:
    located = parse_located("a:\n  b:\n    c: 1\n", "x")
    assert located.place_of_value(("a", "b", "d", "e")) == Place(3, 5)
    assert located.place_of_key(("a", "b")) == Place(2, 3)


def test_an_alias_repeats_its_anchor() -> None:
    located = parse_located("a: &x {k: 1}\nb: *x\n", "x")
    assert located.data == {"a": {"k": 1}, "b": {"k": 1}}
    assert located.values[("b",)] == Place(2, 4)
    assert located.values[("b", "k")] == Place(1, 11)


def test_windows_line_ends_and_a_byte_order_mark_are_read() -> None:
    located = parse_located(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n", "x")
    assert located.data == {"a": 1, "b": 2}
    assert located.keys[("a",)] == Place(1, 1)
    assert located.keys[("b",)] == Place(2, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", "s.yaml:3:1: keys must be unique (first given in line 1); got 'a'"),
        ("a: !!str 3\n", "s.yaml:1:4: a value must have no tag (such as !!str); quote text instead; got"),
        ("a: !!python/object/apply:os.system [ls]\n", "s.yaml:1:4: a value must have no tag"),
        ("a: ! 3\n", "s.yaml:1:4: a value must have no tag"),
        ("!!str a: 3\n", "s.yaml:1:1: a key must have no tag"),
        (
            "a: &x {b: 1}\nc:\n  <<: *x\n",
            "s.yaml:3:3: merge keys must not be used; write the keys out; got '<<'",
        ),
        ("? [a]\n: 1\n", "s.yaml:1:3: a key must be text; got 'a list, a mapping or an alias'"),
        ("?\n: 1\n", "s.yaml:1:2: a key must be text; got ''"),
        ("a: 017\n", "s.yaml:1:4: a number must have no leading zeros (quote it if it is text); got 017"),
        ("a: .nan\n", "s.yaml:1:4: a number must be finite; got .nan"),
        ("a: *x\n", "s.yaml:1:4: an alias must refer to an anchor before it; got '*x'"),
        ("a: &x [*x]\n", "s.yaml:1:8: an alias must not contain itself; got '*x'"),
        ("a: 1\n---\nb: 2\n", "s.yaml:2:1: a file must hold one document; got 'a second one'"),
        ("a: 1\n\tb: 2\n", "s.yaml:2:1: must be YAML; found a tab character that violates indentation"),
        (
            "a: [1\nb: 2\n",
            "s.yaml:2:2: must be YAML; did not find expected ',' or ']' while parsing a flow",
        ),
        ("a: 1\n b: 2\n", "s.yaml:2:3: must be YAML; mapping values are not allowed in this context"),
        ("", "s.yaml:1:1: the document must hold something; got ''"),
        ("# only a comment\n", "s.yaml:1:1: the document must hold something; got '# only a comment"),
        ('a: "\\0"\n', "s.yaml:1:4: text must hold no control characters; got '\\x00'"),
        ("a: b\x07\n", "s.yaml:1:5: text must hold no control characters; got '\\x07'"),
        (b"a: 1\nb: \xff\xfe\n", "s.yaml:2:4: text must be UTF-8; got b'\\xff'"),
    ],
)
def test_what_is_refused_has_its_place(text: str | bytes, message: str) -> None:
    with pytest.raises(InputErrors) as caught:
        parse_located(text, "s.yaml")
    assert len(caught.value.messages) == 1
    assert caught.value.messages[0].startswith(message)


def test_all_refusals_of_a_text_come_at_once_in_the_order_of_their_places() -> None:
    with pytest.raises(InputErrors) as caught:
        parse_located("a: 017\na: 1\nb: !!int 3\nc: {d: 1, d: 2}\n", "s.yaml")
    assert [message.split(": ")[0] for message in caught.value.messages] == [
        "s.yaml:1:4",
        "s.yaml:2:1",
        "s.yaml:3:4",
        "s.yaml:4:11",
    ]


def test_a_bomb_of_aliases_is_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    with pytest.raises(InputErrors, match=r"at most 100000 values once its aliases are written out"):
        parse_located("\n".join(lines), "s.yaml")


@pytest.mark.parametrize("depth", [MAX_DEPTH + 2, 5000])
def test_a_tower_of_brackets_is_refused(depth: int) -> None:
    with pytest.raises(
        InputErrors, match=r"nesting must be at most 60 deep|exceeded maximum nesting depth"
    ):
        parse_located("a: " + "[" * depth + "]" * depth, "s.yaml")


def test_a_file_of_five_megabytes_is_refused() -> None:
    with pytest.raises(InputErrors, match="the file must have at most 4194304 bytes"):
        parse_located(b"a" * (5 << 20), "s.yaml")


_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=12)
_LEAF = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXT
)


@given(
    st.recursive(
        _LEAF, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4)
    )
)
def test_json_is_yaml_and_every_value_of_it_has_a_place(data: JsonValue) -> None:
    located = parse_located(json.dumps(data, ensure_ascii=False), "x")
    assert located.data == data
    assert set(located.values) == set(_paths(data, ()))


def _paths(data: JsonValue, path: DataPath) -> Iterator[DataPath]:
    yield path
    if isinstance(data, dict):
        for key, inner in data.items():
            yield from _paths(inner, (*path, key))
    elif isinstance(data, list):
        for index, inner in enumerate(data):
            yield from _paths(inner, (*path, index))
