"""Choices are read in every form that sets store them in, and every bad row is told with its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from safetyrepro.data.records import Choice, ItemRecord, item_record
from safetyrepro.data.sources import read_declared
from safetyrepro.errors import InputError
from safetyrepro.spec.choices import ChoiceItems


def _items(fields: dict[str, object], **changes: object) -> ChoiceItems:
    document = {
        "kind": "choice",
        "id": "trial",
        "name": "Trial choices",
        "source": {"kind": "file", "path": "items.jsonl"},
        "fields": {"prompt": ["q"], **fields},
        "labels": {"by": "key", "note": "made by rule"},
        "texts": {"by": "program", "note": "made by rule"},
        **changes,
    }
    return ChoiceItems.model_validate_json(json.dumps(document))


def _read(tmp_path: Path, row: dict[str, object], fields: dict[str, object]) -> Choice:
    (tmp_path / "items.jsonl").write_text(json.dumps({"q": "Which?", **row}) + "\n", encoding="utf-8")
    (found,) = read_declared(_items(fields), base_dir=tmp_path).items
    assert isinstance(found, Choice)
    return found


COLUMNS = {"kind": "columns", "columns": ["a", "b", "c"]}
LIST = {"kind": "list", "column": "o"}
TRUTHS = {"kind": "truths", "correct": "yes", "incorrect": "no", "separator": ";"}
THREE = {"a": "red", "b": "green", "c": "blue"}


@pytest.mark.parametrize(
    ("row", "options", "gold", "golds"),
    [
        (THREE | {"g": 1}, COLUMNS, {"column": "g", "form": "index"}, (1,)),
        (THREE | {"g": "2"}, COLUMNS, {"column": "g", "form": "index"}, (2,)),
        (THREE | {"g": "B"}, COLUMNS, {"column": "g", "form": "letter"}, (1,)),
        (THREE | {"g": "blue"}, COLUMNS, {"column": "g", "form": "text"}, (2,)),
        (THREE | {"g": ["C", "a"]}, COLUMNS, {"column": "g", "form": "letter"}, (0, 2)),
        ({"o": ["red", "green", "blue"], "g": [0, 1, 1]}, LIST, {"column": "g", "form": "flags"}, (1, 2)),
        ({"o": '["red", "green", "blue"]', "g": 0}, LIST, {"column": "g", "form": "index"}, (0,)),
        (
            {"t": {"choices": ["red", "green", "blue"], "labels": [1, 0, 0]}},
            {"kind": "list", "column": "t.choices"},
            {"column": "t.labels", "form": "flags"},
            (0,),
        ),
        (
            {"o": "red| green |blue", "g": 1},
            {"kind": "split", "column": "o", "separator": "|"},
            {"column": "g", "form": "index"},
            (1,),
        ),
        (
            {"g": "green"},
            {"kind": "texts", "texts": ["red", "green", "blue"]},
            {"column": "g", "form": "text"},
            (1,),
        ),
    ],
)
def test_every_form_gives_the_same_options(
    row: dict[str, object], options: object, gold: object, golds: tuple[int, ...], tmp_path: Path
) -> None:
    found = _read(tmp_path, row, {"options": options, "gold": gold})
    assert found.options == ("red", "green", "blue")
    assert found.golds == golds
    assert found.answers == (("0", "red"), ("1", "green"), ("2", "blue"))


def test_right_and_wrong_answers_stand_in_alphabetical_order(tmp_path: Path) -> None:
    found = _read(tmp_path, {"yes": "b; d; b", "no": "c; a;"}, {"options": TRUTHS})
    assert found.options == ("a", "b", "c", "d")
    assert found.golds == (1, 3)


def test_the_texts_of_several_prompt_columns_are_joined(tmp_path: Path) -> None:
    fields = {"prompt": ["q", "more"], "options": TRUTHS, "prompt_join": " "}
    assert _read(tmp_path, {"more": "Say.", "yes": "b", "no": "c"}, fields).prompt == "Which? Say."


@pytest.mark.parametrize(
    ("row", "fields", "message"),
    [
        (THREE | {"g": 3}, {"options": COLUMNS, "gold": {"column": "g", "form": "index"}},
         "row 1: g must be the index of an option, 0 to 2; got 3"),
        (THREE | {"g": True}, {"options": COLUMNS, "gold": {"column": "g", "form": "index"}},
         "row 1: g must be the index of an option, 0 to 2; got True"),
        (THREE | {"g": "D"}, {"options": COLUMNS, "gold": {"column": "g", "form": "letter"}},
         "row 1: g must be the letter of an option, A to C; got 'D'"),
        (THREE | {"g": "pink"}, {"options": COLUMNS, "gold": {"column": "g", "form": "text"}},
         "row 1: g must be one of the options; got 'pink'"),
        (THREE | {"g": 0, "c": "red"}, {"options": COLUMNS, "gold": {"column": "g", "form": "index"}},
         "row 1: options must differ; got 'red'"),
        (THREE | {"g": 0, "c": " "}, {"options": COLUMNS, "gold": {"column": "g", "form": "index"}},
         "row 1: c: an option must be a non-empty string; got ' '"),
        ({"o": ["x"], "g": 0}, {"options": LIST, "gold": {"column": "g", "form": "index"}},
         "row 1: there must be at least two options"),
        ({"o": "x, y", "g": 0}, {"options": LIST, "gold": {"column": "g", "form": "index"}},
         "row 1: o must be a list, or the text of a JSON list; got 'x, y'"),
        ({"o": ["x", "y"], "g": [0, 0]}, {"options": LIST, "gold": {"column": "g", "form": "flags"}},
         "row 1: at least one option must be right"),
        ({"o": ["x", "y"], "g": [1, 1]}, {"options": LIST, "gold": {"column": "g", "form": "flags"}},
         "row 1: at least one option must be wrong"),
        ({"o": ["x", "y"], "g": [1]}, {"options": LIST, "gold": {"column": "g", "form": "flags"}},
         "row 1: g must have a flag for each of 2 options; got 1"),
        ({"o": ["x", "y"], "g": [1, 2]}, {"options": LIST, "gold": {"column": "g", "form": "flags"}},
         "row 1: g must hold flags, 0 or 1; got 2"),
        ({"yes": "a; b", "no": "b"}, {"options": TRUTHS},
         "row 1: yes and no must not share an answer; got 'b'"),
        ({"yes": "a", "no": ""}, {"options": TRUTHS}, "row 1: no must be a non-empty string; got ''"),
        ({"yes": "a"}, {"options": TRUTHS}, "fields.options.incorrect must be one of the columns q, yes"),
    ],
)  # fmt: skip
def test_a_bad_row_is_told_with_its_place(
    row: dict[str, object], fields: dict[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        _read(tmp_path, row, fields)
    assert message in str(caught.value)


def test_lines_of_files_carry_what_their_file_says(tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text("one\n\n two \n", encoding="utf-8")
    (tmp_path / "good.txt").write_bytes(b"three\r\n")
    files = [
        {"path": f"{name}.txt", "cells": {"label": name}}
        for name in ("bad", "good")
    ]  # fmt: skip
    fields = {
        "prompt": ["text"],
        "options": {"kind": "texts", "texts": ["bad", "good"]},
        "gold": {"column": "label", "form": "text"},
    }
    items = _items(fields, source={"kind": "lines", "column": "text", "files": files}, rows=3)
    found = read_declared(items, base_dir=tmp_path).items
    assert [(one.id, one.prompt) for one in found] == [("1", "one"), ("2", " two "), ("3", "three")]
    assert [one.golds for one in found if isinstance(one, Choice)] == [(0,), (0,), (1,)]


def test_a_file_of_lines_that_changed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n", encoding="utf-8")
    fields = {"options": {"kind": "texts", "texts": ["x", "y"]}, "gold": {"column": "q", "form": "text"}}
    files = [{"path": "a.txt", "sha256": "sha256:" + "0" * 64}]
    items = _items(fields, source={"kind": "lines", "column": "q", "files": files})
    with pytest.raises(InputError, match=r"a\.txt: sha256 must be sha256:0000"):
        read_declared(items, base_dir=tmp_path)


def test_a_record_keeps_what_the_analysis_must_know_and_no_text(tmp_path: Path) -> None:
    choice = _read(tmp_path, {"yes": "b", "no": "a; c"}, {"options": TRUTHS})
    record = item_record(choice)
    assert (record.options, record.golds, record.answers) == (3, (1,), ("0", "1", "2"))
    assert "Which?" not in record.model_dump_json()


@pytest.mark.parametrize("golds", [[2], [1, 0], [0, 0], [-1]])
def test_golds_that_are_no_places_of_options_are_refused(golds: list[int]) -> None:
    record = {"id": "a", "digest": "d", "stratum": None, "cluster": None, "options": 2, "golds": golds}
    with pytest.raises(ValueError, match="golds must be places among 2 options"):
        ItemRecord.model_validate_json(json.dumps(record))
