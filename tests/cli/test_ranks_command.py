"""The ranks command: one screen, three files, and the exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from safetyrepro.cli import execute
from safetyrepro.cli.exits import Exit
from safetyrepro.cli.rank_options import parse_direction, parse_levels, parse_range, parse_weights
from safetyrepro.data.rank_study import RankStudy
from safetyrepro.errors import InputError


def write_table(path: Path, *, models: int = 2, extra: str = "") -> Path:
    """Model 0 is always right, the others on every second item; two templates, 40 items."""
    rows = [
        f"m{m},{template},q{n},{1 if m == 0 else n % 2}"
        for m in range(models)
        for template in ("a", "b")
        for n in range(40)
    ]
    path.write_text("\n".join(["model,template,item,score", *rows]) + "\n" + extra, encoding="utf-8")
    return path


def test_the_summary_says_who_holds_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_table(tmp_path / "s.csv")
    assert execute(["ranks", str(path), "--factor", "template", "--resamples", "200"]) == Exit.CLEAN
    printed = capsys.readouterr()
    assert "2 models x 2 configurations (template 2) x 40 items; score: higher is better" in printed.out
    assert "HOLDS THROUGHOUT" in printed.out
    assert "SR316" in printed.err


def test_out_gets_the_study_the_page_and_the_pdf(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = write_table(tmp_path / "s.csv"), tmp_path / "made" / "ranks"
    arguments = ["ranks", str(path), "--factor", "template", "--resamples", "200", "--out", str(out)]
    assert execute(arguments) == Exit.CLEAN
    assert capsys.readouterr().out.splitlines()[-1] == str(out / "ranks.pdf")
    study = RankStudy.model_validate_json((out / "ranks.json").read_bytes())
    assert study.files[0].name == "s.csv"
    page = (out / "ranks.html").read_text(encoding="utf-8")
    assert "Not a claim report." in page
    assert "level and tier not stated" in page
    assert (out / "ranks.pdf").read_bytes().startswith(b"%PDF-")


def test_json_is_the_study_and_does_not_depend_on_the_order_of_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_table(tmp_path / "s.csv")
    head, *rows = path.read_text(encoding="utf-8").splitlines()
    (tmp_path / "other").mkdir()
    turned = tmp_path / "other" / "s.csv"
    turned.write_text("\n".join([head, *reversed(rows)]) + "\n", encoding="utf-8")
    found = []
    for one in (path, turned):
        assert execute(["ranks", str(one), "--factor", "template", "--json"]) == Exit.CLEAN
        study = json.loads(capsys.readouterr().out)
        study["files"][0].pop("digest")
        found.append(study)
    assert found[0] == found[1]


def test_one_model_is_a_finding_of_severity_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_table(tmp_path / "s.csv", models=1)
    assert execute(["ranks", str(path), "--factor", "template"]) == Exit.FINDINGS
    assert "error SR315 one model only" in capsys.readouterr().err


def test_wrong_rows_are_refused_with_their_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_table(tmp_path / "s.csv", extra="m0,a,q1,0\n")
    assert execute(["ranks", str(path), "--factor", "template"]) == Exit.REFUSED
    assert f"{path}: row 161: a model must have one score" in capsys.readouterr().err


def test_a_forgotten_factor_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["ranks", str(write_table(tmp_path / "s.csv"))]) == Exit.REFUSED
    assert "is a factor missing?" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["up", "near", "near:", "near:x", "near:inf"])
def test_what_is_better_is_one_of_three(text: str) -> None:
    with pytest.raises(InputError, match="--better"):
        parse_direction(text)


def test_directions_are_parsed() -> None:
    assert parse_direction("lower").kind == "lower"
    assert parse_direction("near:0.5").target == 0.5


@pytest.mark.parametrize("text", ["1", "2:1", "a:b", "0:inf"])
def test_a_range_is_two_ascending_numbers(text: str) -> None:
    with pytest.raises(InputError, match="--range"):
        parse_range(text)


def test_levels_and_weights_are_parsed() -> None:
    assert parse_levels("a=1,b=x", "--primary") == {"a": "1", "b": "x"}
    assert parse_weights(["t:a=2,b=1"]) == {"t": {"a": 2.0, "b": 1.0}}
    assert parse_weights([]) is None
    with pytest.raises(InputError, match="must be name=level pairs with different names"):
        parse_levels("a=1,a=2", "--primary")
    with pytest.raises(InputError, match="once a factor"):
        parse_weights(["t:a=1", "t:a=2"])
