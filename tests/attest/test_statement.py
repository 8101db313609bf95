"""In-toto statements: one spelling, strict fields, subjects matched by digest."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from safetyrepro.attest.document import format_instant, parse_instant
from safetyrepro.attest.statement import (
    STATEMENT_TYPE,
    PredicateType,
    Statement,
    match_subjects,
    new_statement,
    parse_statement,
    statement_bytes,
)
from safetyrepro.canonical import canonical_bytes, digest_bytes
from safetyrepro.errors import InputError, InputErrors

FILES = {"report.json": b"{}", "results.json": b"[]"}


def _statement() -> Statement:
    digests = {name: digest_bytes(data) for name, data in reversed(FILES.items())}
    return new_statement(digests, predicate_type=PredicateType.REPORT, predicate={"level": "model"})


def _fields() -> dict[str, object]:
    found = json.loads(statement_bytes(_statement()))
    assert isinstance(found, dict)
    return found


def test_a_statement_has_the_fields_of_in_toto_v1() -> None:
    fields = _fields()
    assert set(fields) == {"_type", "subject", "predicateType", "predicate"}
    assert fields["_type"] == STATEMENT_TYPE == "https://in-toto.io/Statement/v1"
    assert fields["subject"] == [
        {"name": name, "digest": {"sha256": digest_bytes(data).removeprefix("sha256:")}}
        for name, data in sorted(FILES.items())
    ]


def test_a_statement_comes_back_from_its_bytes() -> None:
    assert parse_statement(statement_bytes(_statement()), where="statement") == _statement()


def test_predicate_types_are_lower_case_versioned_uris_of_one_uuid() -> None:
    assert len({kind.value.partition("#")[0] for kind in PredicateType}) == 1
    for kind in PredicateType:
        assert kind.value == kind.value.lower()
        assert kind.value.startswith("urn:uuid:")
        assert kind.value.endswith(f"#safetyrepro-{kind.short_name.replace('/', '-')}")
        assert kind.short_name.endswith("/v1")


_EDITS: dict[str, tuple[dict[str, object], str]] = {
    "another version": ({"_type": "https://in-toto.io/Statement/v0.1"}, "statement: _type: "),
    "another predicate": (
        {"predicateType": "https://slsa.dev/provenance/v1"},
        "statement: predicateType: ",
    ),
    "an unknown field": ({"subjects": []}, "subjects is not a known field (did you mean 'subject'?)"),
    "no subject": ({"subject": []}, "statement: subject: "),
    "a short digest": (
        {"subject": [{"name": "a", "digest": {"sha256": "abc"}}]},
        "statement: subject.0.digest.sha256: ",
    ),
    "an upper-case digest": (
        {"subject": [{"name": "a", "digest": {"sha256": "A" * 64}}]},
        "statement: subject.0.digest.sha256: ",
    ),
    "another digest": (
        {"subject": [{"name": "a", "digest": {"sha256": "0" * 64, "md5": "0" * 32}}]},
        "statement: subject.0.digest.md5 is not a known field",
    ),
    "a name twice": (
        {"subject": [{"name": "a", "digest": {"sha256": digit * 64}} for digit in "01"]},
        "subject names must be unique, 'a' stands 2 times",
    ),
    "a predicate that is no object": ({"predicate": []}, "statement: predicate: "),
}


@pytest.mark.parametrize("how", _EDITS)
def test_another_document_is_refused_with_its_place(how: str) -> None:
    edit, message = _EDITS[how]
    data = canonical_bytes({**_fields(), **edit})  # type: ignore[dict-item]
    with pytest.raises(InputErrors) as found:
        parse_statement(data, where="statement")
    assert message in str(found.value)


def test_all_defects_are_told_at_once() -> None:
    data = canonical_bytes({"_type": "x", "predicateType": "y"})
    with pytest.raises(InputErrors) as found:
        parse_statement(data, where="statement")
    assert len(found.value.messages) == 4
    assert "statement: subject must be given" in found.value.messages


@pytest.mark.parametrize(
    "spell",
    [
        lambda data: data + b"\n",
        lambda data: data.replace(b":", b": ", 1),
        lambda data: json.dumps(dict(reversed(json.loads(data).items())), separators=(",", ":")).encode(),
    ],
    ids=["a line break", "a space", "another order"],
)
def test_another_spelling_of_the_same_statement_is_refused(spell: object) -> None:
    assert callable(spell)
    with pytest.raises(InputError, match=r"^statement: must be canonical JSON \(RFC 8785\); got b'"):
        parse_statement(spell(statement_bytes(_statement())), where="statement")


def test_a_doubled_key_is_refused() -> None:
    data = statement_bytes(_statement()).replace(b'{"_type"', b'{"_type":"x","_type"', 1)
    with pytest.raises(InputError, match=r"^statement: object keys must be unique; got '_type' twice$"):
        parse_statement(data, where="statement")


def test_subjects_are_matched_by_digest_and_everything_else_is_named() -> None:
    match = match_subjects(_statement(), files={"report.json": b"{ }", "extra.csv": b"x"})
    assert (match.matched, match.differing) == ((), ("report.json",))
    assert (match.absent, match.unnamed) == (("results.json",), ("extra.csv",))
    assert match_subjects(_statement(), files=FILES).matched == ("report.json", "results.json")


def test_swapped_files_are_found() -> None:
    swapped = dict(zip(FILES, reversed(FILES.values()), strict=True))
    assert match_subjects(_statement(), files=swapped).differing == ("report.json", "results.json")


def test_a_digest_must_name_its_algorithm() -> None:
    with pytest.raises(InputError, match=r"^subject a: digest must begin with 'sha256:'; got '00'$"):
        new_statement({"a": "00"}, predicate_type=PredicateType.REPORT, predicate={})


def test_a_time_has_one_spelling_in_utc_to_the_second() -> None:
    moment = datetime(2026, 11, 30, 23, 53, 7, 999_999, tzinfo=timezone(timedelta(hours=1)))
    assert format_instant(moment) == "2026-11-30T22:53:07Z"
    assert parse_instant("2026-11-30T22:53:07Z") == datetime(2026, 11, 30, 22, 53, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-30",
        "2026-11-30T22:53:07+00:00",
        "2026-11-30T22:53:07.5Z",
        "2026-11-31T00:00:00Z",
        "2026-11-30T24:00:00Z",
    ],
)
def test_another_spelling_of_a_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"must be a UTC time|does not match|day is out of range"):
        parse_instant(text)


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="a time must have a zone"):
        format_instant(datetime(2026, 1, 1))
