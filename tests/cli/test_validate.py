"""`safetyrepro validate` tells every error of every file, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from safetyrepro.cli import execute
from safetyrepro.cli.exits import Exit

GOOD = (Path(__file__).parents[1] / "spec" / "good.yaml").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "deep").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "a.yaml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "deep" / "b.yml").write_text(GOOD.replace("title:", "titel:"), encoding="utf-8")
    (tmp_path / "deep" / "c.yaml").write_text(
        GOOD.replace("seed: 20261130", "seed: -1\nseed: 2"), encoding="utf-8"
    )
    (tmp_path / "deep" / "notes.txt").write_text("not a spec", encoding="utf-8")
    (tmp_path / ".hidden" / "d.yaml").write_text("not: a spec", encoding="utf-8")
    return tmp_path


def test_good_files_end_clean(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["validate", str(folder / "a.yaml")]) == Exit.CLEAN
    assert capsys.readouterr().out == "1 file: no errors of form\n"


def test_every_error_of_every_file_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["validate", str(folder), str(folder / "none.yaml")]) == Exit.REFUSED
    text = capsys.readouterr()
    assert text.err.splitlines() == [
        f"{folder}/deep/b.yml:5:1: titel must be a known key (did you mean 'title'?); got 'titel'",
        f"{folder}/deep/c.yaml:7:1: keys must be unique (first given in line 6); got 'seed'",
        f"{folder}/none.yaml: must be a readable file; got No such file or directory",
    ]
    assert text.out == "4 files: 3 errors in 3\n"


def test_a_file_named_twice_is_checked_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["validate", str(folder / "a.yaml"), str(folder / "a.yaml")]) == Exit.CLEAN
    assert capsys.readouterr().out.startswith("1 file:")


def test_json_holds_files_digests_and_errors(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["validate", "--json", str(folder)]) == Exit.REFUSED
    text = capsys.readouterr()
    assert text.err == ""
    told = json.loads(text.out)
    assert told["errors"] == 2
    assert [Path(entry["file"]).name for entry in told["files"]] == ["a.yaml", "b.yml", "c.yaml"]
    good, bad, _ = told["files"]
    assert good["schema"] == "safetyrepro/experiment/v1"
    assert good["digest"].startswith("sha256:")
    assert good["errors"] == []
    assert bad["digest"] is None
    assert "titel" in bad["errors"][0]


def test_a_folder_without_specs_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["validate", str(tmp_path)]) == Exit.REFUSED
    assert "a folder must hold at least one *.yaml or *.yml" in capsys.readouterr().err
