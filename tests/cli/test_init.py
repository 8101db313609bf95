"""`safetyrepro init` writes a spec that is valid as it is, and overwrites nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from safetyrepro.cli import execute, init
from safetyrepro.cli.exits import Exit
from safetyrepro.data.sources import read_items
from safetyrepro.resources import resource_dir
from safetyrepro.spec.load import load_experiment

ROOT = Path(__file__).resolve().parents[2]
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a person at a terminal answers, in the order of the questions."""
    given: list[str] = []

    def prompt(question: str, *, default: str, show_default: bool = True) -> str:
        return given.pop(0) or default

    monkeypatch.setattr(init, "is_interactive", lambda: True)
    monkeypatch.setattr(init.typer, "prompt", prompt)
    return given


def test_the_defaults_are_valid_and_their_items_can_be_read(tmp_path: Path) -> None:
    file = tmp_path / "new" / "My Study.yaml"
    assert execute(["init", str(file), "--defaults"]) == Exit.CLEAN
    assert execute(["validate", str(file)]) == Exit.CLEAN
    experiment = load_experiment(file).document
    assert experiment.id == "my-study"
    items = read_items(experiment, base_dir=file.parent)
    assert len(items.items) == items.source_rows
    assert sorted(path.name for path in file.parent.iterdir()) == ["My Study-items.jsonl", "My Study.yaml"]


def test_the_spec_explains_itself_and_names_its_schema(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    execute(["init", str(file), "--defaults"])
    lines = file.read_text(encoding="utf-8").splitlines()
    schema = resource_dir("schemas") / "experiment-v1.json"
    assert lines[0] == f"# yaml-language-server: $schema={schema.as_posix()}"
    assert sum("#" in line for line in lines) > 25
    assert not any("$" in line for line in lines[1:])


def test_inside_a_tree_with_schemas_the_schema_is_named_relatively() -> None:
    assert init._schema_path(ROOT / "a" / "b" / "s.yaml") == "../../schemas/experiment-v1.json"
    assert init._schema_path(ROOT / "s.yaml") == "schemas/experiment-v1.json"


def test_answers_reach_the_spec(tmp_path: Path, answers: list[str]) -> None:
    (tmp_path / "own.jsonl").write_text(
        json.dumps({"prompt": "q", "chosen": "a", "rejected": "b"}) + "\n", encoding="utf-8"
    )
    answers += ['He said: "why?" # no', "Ödön", "own.jsonl", f"someone/model@{COMMIT}"]
    file = tmp_path / "s.yaml"
    assert execute(["init", str(file)]) == Exit.CLEAN
    experiment = load_experiment(file).document
    assert experiment.title == 'He said: "why?" # no'
    assert experiment.evaluator.name == "Ödön"
    source = experiment.models[0].source
    assert source.kind == "hub"
    assert (source.repo, source.revision) == ("someone/model", COMMIT)
    assert len(read_items(experiment, base_dir=tmp_path).items) == 1
    assert not (tmp_path / "s-items.jsonl").exists()


def test_a_model_that_is_no_hub_name_is_a_path(tmp_path: Path, answers: list[str]) -> None:
    answers += ["", "", "", "models/some file.gguf"]
    assert execute(["init", str(tmp_path / "s.yaml")]) == Exit.CLEAN
    source = load_experiment(tmp_path / "s.yaml").document.models[1].source
    assert source.kind == "path"
    assert source.path == "models/some file.gguf"


@pytest.mark.parametrize("there", ["s.yaml", "s-items.jsonl"])
def test_nothing_is_overwritten(there: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / there).write_text("mine", encoding="utf-8")
    assert execute(["init", str(tmp_path / "s.yaml"), "--defaults"]) == Exit.REFUSED
    assert f"{there}: must not exist yet; got a file, which is left as it is" in capsys.readouterr().err
    assert [(path.name, path.read_text(encoding="utf-8")) for path in tmp_path.iterdir()] == [
        (there, "mine")
    ]


def test_without_a_terminal_nothing_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["init", str(tmp_path / "s.yaml")]) == Exit.REFUSED
    assert "add --defaults" in capsys.readouterr().err


def test_a_name_that_is_no_yaml_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["init", str(tmp_path / "s.txt"), "--defaults"]) == Exit.REFUSED
    assert "the file's name must end in .yaml" in capsys.readouterr().err


def test_an_unwritable_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "plain").write_text("a file", encoding="utf-8")
    assert execute(["init", str(tmp_path / "plain" / "s.yaml"), "--defaults"]) == Exit.REFUSED
    assert "must be writable; got" in capsys.readouterr().err


def test_the_next_command_can_be_pasted_into_a_shell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "my study.yaml"
    execute(["init", str(file), "--defaults"])
    assert f"next: safetyrepro plan '{file}'" in capsys.readouterr().out


def test_a_folder_below_a_plain_file_is_refused_with_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plain").touch()
    assert execute(["init", str(tmp_path / "plain" / "x.yaml"), "--defaults"]) == Exit.REFUSED
    assert "(choose a folder; a part of this path is a file)" in capsys.readouterr().err
