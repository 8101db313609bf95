from __future__ import annotations

from pathlib import Path

import pytest
from fakes import (
    FakeLoader,
    FakeSurveyor,
    Finished,
    fake_model,
    load_job,
    spec_document,
    twin_rows,
    write_spec,
)

from safetyrepro.errors import InputError, InputErrors
from safetyrepro.run.engine import run_experiment
from safetyrepro.run.plan import plan_run
from safetyrepro.run.progress import Silent
from safetyrepro.run.readiness import scaffold_digest


def test_a_plan_counts_what_the_run_then_does(finished: Finished) -> None:
    job, manifest = finished.job, finished.outcome.manifest
    plan = plan_run(job.experiment, items=job.items, base_dir=job.base_dir, surveyor=FakeSurveyor())
    assert (plan.cells, plan.configurations, plan.items) == (24, 8, 24)
    assert [one.id for one in plan.passes] == [one.id for one in manifest.passes]
    assert sum(one.shards for one in plan.passes) == len(manifest.shards)
    assert plan.computed_tokens == sum(shard.tokens for shard in manifest.shards)
    for one in plan.passes:
        assert one.computed_tokens < one.unshared_tokens
        assert one.seconds > 0
        assert one.memory_bytes > 4_000_000
    assert plan.seconds == pytest.approx(sum(one.seconds for one in plan.passes))


def test_nothing_is_planned_that_could_not_be_analysed_after_it_is_scored(tmp_path: Path) -> None:
    cases = {
        "analysis.resamples: must be at least 400 at confidence 0.99; got 200": spec_document(
            changes={"analysis": {"resamples": 200, "joint_resamples": 400, "confidence": 0.99}}
        ),
        "analysis.joint_resamples: must be at least 1000 at confidence 0.999; got 400": spec_document(
            changes={"analysis": {"resamples": 4000, "joint_resamples": 400, "confidence": 0.999}}
        ),
        "scaffold.sha256: must be the digest of the frames, sha256:": spec_document(
            changes={"scaffold": {"kind": "frame", "id": "frame", "sha256": "sha256:" + "0" * 64}}
        ),
    }
    for number, (message, document) in enumerate(cases.items()):
        job = load_job(write_spec(tmp_path / str(number), document=document), out_dir=tmp_path / "runs")
        with pytest.raises(InputErrors) as refused:
            plan_run(job.experiment, items=job.items, base_dir=job.base_dir, surveyor=FakeSurveyor())
        assert message in str(refused.value)
        loader = FakeLoader()
        with pytest.raises(InputErrors) as refused:
            run_experiment(job, loader=loader, progress=Silent())
        assert message in str(refused.value)
        assert loader.loads == 0


def test_the_smallest_number_of_resamples_that_is_allowed_is_enough(tmp_path: Path) -> None:
    document = spec_document(
        models=("strong", "weak"),
        templates=("chat",),
        rules=("mean",),
        claims=[],
        changes={"analysis": {"resamples": 400, "joint_resamples": 200, "confidence": 0.99}},
    )
    document["evidence"] = {**spec_document()["evidence"], "claims": [UNCHECKED]}  # type: ignore[dict-item]
    job = load_job(write_spec(tmp_path / "spec", document=document), out_dir=tmp_path / "runs")
    assert run_experiment(job, loader=FakeLoader(), progress=Silent()).results.confidence == 0.99


UNCHECKED = {"id": "unchecked", "statement": "It is good.", "type": "normative", "level": "model"}


def test_the_scaffold_that_a_spec_expects_is_the_one_that_runs(tmp_path: Path) -> None:
    plain = load_job(write_spec(tmp_path / "plain"), out_dir=tmp_path)
    expected = scaffold_digest(plain.experiment)
    document = spec_document(changes={"scaffold": {"kind": "frame", "id": "frame", "sha256": expected}})
    job = load_job(write_spec(tmp_path / "pinned", document=document), out_dir=tmp_path)
    plan_run(job.experiment, items=job.items, base_dir=job.base_dir, surveyor=FakeSurveyor())
    other = spec_document(
        templates=("plain",), changes={"scaffold": {"kind": "frame", "id": "frame", "sha256": expected}}
    )
    job = load_job(write_spec(tmp_path / "other", document=other), out_dir=tmp_path)
    with pytest.raises(InputErrors, match=r"scaffold\.sha256: must be the digest of the frames"):
        plan_run(job.experiment, items=job.items, base_dir=job.base_dir, surveyor=FakeSurveyor())


def test_a_template_that_refuses_an_item_is_found_by_the_plan(tmp_path: Path) -> None:
    rows = [dict(row) for row in twin_rows()]
    rows[3]["prompt"] = "REFUSE this"
    job = load_job(write_spec(tmp_path / "spec", rows=rows), out_dir=tmp_path)
    with pytest.raises(InputError, match="the chat template refuses"):
        plan_run(job.experiment, items=job.items, base_dir=job.base_dir, surveyor=FakeSurveyor())


def test_a_plan_loads_no_weights(tmp_path: Path) -> None:
    document = spec_document(models=(fake_model("nowhere"),), claims=[UNCHECKED])
    job = load_job(write_spec(tmp_path / "spec", document=document), out_dir=tmp_path)
    plan = plan_run(job.experiment, items=job.items, base_dir=job.base_dir, surveyor=FakeSurveyor())
    assert plan.cells == 8
