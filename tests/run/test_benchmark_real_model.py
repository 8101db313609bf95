"""SmolLM2 on twenty questions of TruthfulQA: the accuracy is the one counted from its stored rows."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from safetyrepro.data.records import Choice
from safetyrepro.data.sources import read_items
from safetyrepro.run.engine import Job, run_experiment, stored_rows
from safetyrepro.run.loader import LocalLoader
from safetyrepro.run.progress import Silent
from safetyrepro.spec.factors import RuleFactor, ShotsFactor, TemplateFactor
from safetyrepro.spec.load import load_experiment

pytestmark = [pytest.mark.model, pytest.mark.shared, pytest.mark.timeout(900)]

ROOT = Path(__file__).resolve().parents[2]
SPEC = ROOT / "specs" / "benchmarks" / "truthfulqa-mc1.yaml"
FILES = ROOT.parent / "shared" / "data" / "benchmarks"


def test_accuracy_is_what_the_stored_rows_say(tmp_path: Path) -> None:
    if not FILES.is_dir():
        pytest.skip("the public data files of ../shared are not here")
    loaded = load_experiment(SPEC)
    given = loaded.document
    assert given.items.sample is not None
    sample = given.items.sample.model_copy(update={"rows": 20})
    template, shots, rule = given.factors
    assert isinstance(template, TemplateFactor)
    assert isinstance(shots, ShotsFactor)
    assert isinstance(rule, RuleFactor)
    experiment = given.model_copy(
        update={
            "models": (given.models[0], given.models[2]),
            "items": given.items.model_copy(update={"sample": sample}),
            "factors": (
                template.model_copy(update={"levels": template.levels[1:2]}),
                shots.model_copy(update={"levels": shots.levels[:1]}),
                rule,
            ),
            "analysis": given.analysis.model_copy(update={"resamples": 400, "joint_resamples": 400}),
        }
    )
    items = read_items(experiment, base_dir=SPEC.parent, data_dir=FILES)
    assert len(items.items) == 20
    job = Job(
        experiment=experiment,
        spec_bytes=loaded.data,
        base_dir=SPEC.parent,
        items=items,
        out_dir=tmp_path,
        cache_dir=None,
    )
    outcome = run_experiment(job, loader=LocalLoader(), progress=Silent())
    golds = {one.id: one.golds for one in items.items if isinstance(one, Choice)}
    for cell in outcome.results.cells:
        by_sum = cell.configuration.endswith("rule=sum")
        scores: defaultdict[str, dict[int, float]] = defaultdict(dict)
        for row in stored_rows(outcome.bundle, outcome.manifest.shards, pass_id=cell.pass_):
            assert row.sum_nats is not None
            scores[row.item][int(row.answer)] = row.sum_nats / (1 if by_sum else row.tokens)
        right = [max(own, key=own.__getitem__) in golds[item] for item, own in scores.items()]
        assert cell.outcomes["scored"] == len(right) == 20
        assert cell.headline.value == pytest.approx(sum(right) / 20)  # type: ignore[union-attr]
