"""`safetyrepro check`: findings of a spec, a bundle and a report, and what would close a distance."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import shutil
from pathlib import Path

import pytest
from fakes import Finished, spec_document, write_spec

from safetyrepro.canonical import canonical_bytes
from safetyrepro.claims.levels import ATTRIBUTION_STUDY, CLOSING_STUDIES, closing_steps
from safetyrepro.cli import execute
from safetyrepro.cli.exits import Exit
from safetyrepro.data.bundle import open_bundle
from safetyrepro.findings import KINDS
from safetyrepro.report.publish import publish
from safetyrepro.spec.base import LEVELS


def spec(folder: Path, **claim: object) -> Path:
    """A spec with one checkable claim at model level, changed as asked; its labels are a program's."""
    document = spec_document()
    evidence, items = document["evidence"], document["items"]
    assert isinstance(evidence, dict)
    assert isinstance(items, dict)
    first = {**evidence["claims"][0], "level": "model", **claim}
    document["evidence"] = {**evidence, "claims": [first]}
    origin = {"by": "program", "note": "a rule"}
    document["items"] = {**items, "labels": origin, "texts": origin}
    return write_spec(folder, document=document)


def test_a_spec_without_defects_is_clean_before_any_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["check", str(spec(tmp_path))]) == Exit.CLEAN
    assert "(spec): 0 errors, 0 warnings, 0 notes" in capsys.readouterr().out


def test_notes_alone_leave_the_exit_code_at_zero(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = spec_document()
    evidence = document["evidence"]
    assert isinstance(evidence, dict)
    document["evidence"] = {**evidence, "claims": [{**evidence["claims"][0], "level": "model"}]}
    path = write_spec(tmp_path, document=document)
    assert execute(["check", str(path), "--json"]) == Exit.CLEAN
    found = json.loads(capsys.readouterr().out)["findings"]
    assert {one["severity"] for one in found} <= {"note"}


def test_a_claim_above_its_evidence_is_named_with_its_remedy_and_every_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["check", str(spec(tmp_path, level="deployment"))]) == Exit.FINDINGS
    said = capsys.readouterr().out
    assert "SR201 warning: claim" in said
    assert KINDS["SR201"].remedy in said
    for (start, end), study in CLOSING_STUDIES.items():
        assert f"{start} -> {end}: {study}" in said


def test_the_json_has_code_severity_place_explanation_and_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = spec(tmp_path, level="response", scope={"languages": ["tlh"]})
    assert execute(["check", str(path), "--json"]) == Exit.FINDINGS
    document = json.loads(capsys.readouterr().out)
    assert [one["code"] for one in document["findings"]] == ["SR201", "SR206"]
    for one in document["findings"]:
        assert set(one) == {"code", "severity", "title", "where", "detail", "explanation", "remedy"}
    assert [step["end"] for step in document["gaps"][0]["steps"]] == ["response"]


def test_a_bundle_and_its_report_have_the_findings_of_what_ran(
    finished: Finished, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "bundle"
    shutil.copytree(finished.outcome.bundle.root, root)
    publish(open_bundle(root), issued_at=dt.datetime(2090, 1, 1, tzinfo=dt.UTC), signing=None)
    listed = []
    for source in (
        root,
        root / "report/report.json",
        root / "report/report.pdf",
        root / "report/report.html",
    ):
        execute(["check", str(source), "--json"])
        listed.append(json.loads(capsys.readouterr().out)["findings"])
    assert "SR301" in {one["code"] for one in listed[0]}, "twelve clusters are few"
    assert all(one == listed[0] for one in listed)


def test_a_finding_of_an_unknown_code_is_refused(
    finished: Finished, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "bundle"
    shutil.copytree(finished.outcome.bundle.root, root)
    results = json.loads((root / "results.json").read_bytes())
    results["findings"] = [{"code": "SR999", "where": "x", "detail": "y"}]
    (root / "results.json").write_bytes(canonical_bytes(results))
    assert execute(["check", str(root)]) == Exit.REFUSED
    assert "must have codes that this version knows; got 'SR999'" in capsys.readouterr().err


@pytest.mark.parametrize("data", [b"", b"{}", b"%PDF-1.7 nothing", b"<html></html>", b"\xff\xfe"])
def test_what_is_no_report_is_refused(
    data: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.pdf").write_bytes(data)
    assert execute(["check", str(tmp_path / "x.pdf")]) == Exit.REFUSED
    assert "x.pdf" in capsys.readouterr().err


@pytest.mark.parametrize(("claim", "evidence"), [*itertools.product(LEVELS, LEVELS)])
def test_the_steps_lead_from_the_evidence_to_the_claim(claim: str, evidence: str) -> None:
    steps = closing_steps(claim, evidence)  # type: ignore[arg-type]
    distance = LEVELS.index(claim) - LEVELS.index(evidence)  # type: ignore[arg-type]
    if distance < 0:
        assert [step.study for step in steps] == [ATTRIBUTION_STUDY]
    else:
        assert len(steps) == distance
    if steps:
        assert (steps[0].start, steps[-1].end) == (evidence, claim)
