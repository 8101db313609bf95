"""The JSON Schemas are what the models say, and an editor can complete a spec from them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from safetyrepro.cli import execute
from safetyrepro.cli.exits import Exit
from safetyrepro.located import parse_located
from safetyrepro.spec.base import Document
from safetyrepro.spec.kinds import EXPERIMENT, KINDS, Kind
from safetyrepro.spec.schema import JsonSchema, json_schema, schema_texts

ROOT = Path(__file__).resolve().parents[2]
SPECS = sorted((ROOT / "specs").rglob("*.yaml"))
GOOD = Path(__file__).parent / "good.yaml"
SCHEMA = json_schema(EXPERIMENT)
VALIDATOR = Draft202012Validator(SCHEMA)


def _properties(schema: JsonSchema) -> Iterator[tuple[str, str, JsonSchema]]:
    """Every (object, property, schema of the property)."""
    objects = {"(document)": schema, **_mapping(schema["$defs"])}
    for name, one in objects.items():
        for key, inner in _mapping(_mapping(one).get("properties", {})).items():
            yield name, key, _mapping(inner)


def _mapping(value: object) -> JsonSchema:
    assert isinstance(value, dict)
    return value


def test_the_files_do_not_drift_from_the_models() -> None:
    texts = schema_texts()
    assert {path.name for path in (ROOT / "schemas").glob("*.json")} == set(texts)
    for name, text in texts.items():
        assert (ROOT / "schemas" / name).read_text(encoding="utf-8") == text, "run: safetyrepro schema"


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.schema)
def test_each_schema_is_json_schema_2020_12_named_by_its_file(kind: Kind[Document]) -> None:
    schema = json_schema(kind)
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    assert schema["$id"] == kind.file_name
    assert list(schema)[:4] == ["$schema", "$id", "title", "description"]


@pytest.mark.parametrize("path", [GOOD, *SPECS], ids=lambda path: str(path.relative_to(ROOT)))
def test_what_the_program_takes_an_editor_takes(path: Path) -> None:
    data = parse_located(path.read_bytes(), str(path)).data
    assert [error.message for error in VALIDATOR.iter_errors(data)] == []


@pytest.mark.parametrize("path", [GOOD, *SPECS], ids=lambda path: str(path.relative_to(ROOT)))
def test_each_spec_names_its_schema_in_its_first_line(path: Path) -> None:
    first = path.read_text(encoding="utf-8").splitlines()[0]
    match = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", first)
    assert match
    assert (path.parent / match.group(1)).resolve() == ROOT / "schemas" / "experiment-v1.json"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("title:", "titel:", "'titel' was unexpected"),
        ("version: 1\n", "", "'version' is a required property"),
        ("seed: 20261130", "seed: -1", "-1 is less than the minimum of 0"),
        ("small-study", "Small study", "does not match"),
        ("level: model\n  scope", "level: modell\n  scope", "'modell' is not one of"),
        ("[sum, mean, byte, pmi]", "[sum, mena]", "is not valid under any of the given schemas"),
    ],
)
def test_what_the_program_refuses_an_editor_marks(old: str, new: str, message: str) -> None:
    text = GOOD.read_text(encoding="utf-8")
    assert old in text
    data = parse_located(text.replace(old, new, 1), "s.yaml").data
    assert any(message in error.message for error in VALIDATOR.iter_errors(data))


def test_every_key_is_described() -> None:
    definitions = _mapping(SCHEMA["$defs"])
    assert all("description" in _mapping(one) for one in definitions.values())
    bare = [
        f"{name}.{key}"
        for name, key, schema in _properties(SCHEMA)
        if key != "kind" and "description" not in schema and "$ref" not in schema
    ]
    assert bare == []


def test_an_unknown_key_is_marked_everywhere() -> None:
    assert SCHEMA["additionalProperties"] is False
    assert all(_mapping(one)["additionalProperties"] is False for one in _mapping(SCHEMA["$defs"]).values())


def test_alternatives_are_told_apart_by_a_constant() -> None:
    kinds = {name: schema for name, key, schema in _properties(SCHEMA) if key == "kind"}
    assert kinds["HubModel"]["const"] == "hub"
    assert all("const" in schema for schema in kinds.values())
    for name in kinds:
        if name != "(document)":
            assert "kind" in str(_mapping(_mapping(SCHEMA["$defs"])[name])["required"])


def test_closed_choices_are_listed() -> None:
    found = {f"{name}.{key}": schema.get("enum") for name, key, schema in _properties(SCHEMA)}
    assert found["Evidence.level"] == ["model", "response", "interaction", "deployment"]
    assert found["Evaluator.relation"] == [
        "independent",
        "contracted",
        "developer",
        "same_organisation",
        "other",
    ]


def test_a_schema_holds_no_address_but_its_dialect() -> None:
    text = json.dumps({key: value for key, value in SCHEMA.items() if key != "$schema"})
    assert "://" not in text


def test_schema_writes_what_is_missing_and_checks_what_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "schemas"
    assert execute(["schema", str(folder), "--check"]) == Exit.FINDINGS
    assert not folder.exists()
    assert execute(["schema", str(folder)]) == Exit.CLEAN
    assert execute(["schema", str(folder), "--check"]) == Exit.CLEAN
    (folder / "experiment-v1.json").write_text("{}", encoding="utf-8")
    capsys.readouterr()
    assert execute(["schema", str(folder), "--check"]) == Exit.FINDINGS
    assert capsys.readouterr().out.endswith("experiment-v1.json: differs from what is generated\n")


def test_an_unwritable_place_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "plain").write_text("a file", encoding="utf-8")
    assert execute(["schema", str(tmp_path / "plain" / "schemas")]) == Exit.REFUSED
    assert "must be writable; got Not a directory" in capsys.readouterr().err
