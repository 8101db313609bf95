"""The benchmark specs read the real files, and the whole pipe runs on them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fakes import FakeLoader

from safetyrepro.data.sources import read_items
from safetyrepro.run.engine import Job, run_experiment
from safetyrepro.run.progress import Silent
from safetyrepro.spec.envelope import configurations
from safetyrepro.spec.experiment import Experiment
from safetyrepro.spec.load import load_experiment
from safetyrepro.spec.models import PathModel
from safetyrepro.spec.named_envelopes import DEFAULT_12

ROOT = Path(__file__).resolve().parents[2]
SPECS = sorted((ROOT / "specs" / "benchmarks").glob("*.yaml"))
LOCAL = [path for path in SPECS if not path.stem.endswith("-hub")]
FILES = ROOT.parent / "shared" / "data" / "benchmarks"
ITEMS = {
    "bbq-age": 136,
    "crows-pairs": 150,
    "toxigen": 54,
    "truthfulqa-mc1": 150,
    "truthfulqa-mc2": 150,
}


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_the_envelope_is_the_named_one_of_twelve(path: Path) -> None:
    experiment = load_experiment(path).document
    found = tuple((str(factor.kind), tuple(factor.level_ids)) for factor in experiment.factors)
    assert found == DEFAULT_12.factors
    assert len(configurations(experiment)) == 12


def _with_fake_weights(experiment: Experiment) -> Experiment:
    models = tuple(
        model.model_copy(update={"source": PathModel(kind="path", path=f"{name}.bin"), "weights": None})
        for model, name in zip(experiment.models, ("strong", "middle", "weak"), strict=True)
    )
    analysis = experiment.analysis.model_copy(update={"resamples": 200, "joint_resamples": 200})
    return experiment.model_copy(update={"models": models, "analysis": analysis})


@pytest.mark.shared
@pytest.mark.parametrize("path", LOCAL, ids=lambda path: path.stem)
def test_the_whole_pipe_runs_on_the_real_files(path: Path, tmp_path: Path) -> None:
    if not FILES.is_dir():
        pytest.skip("the public data files of ../shared are not here")
    loaded = load_experiment(path)
    items = read_items(loaded.document, base_dir=path.parent, data_dir=FILES)
    assert len(items.items) == ITEMS[path.stem]
    job = Job(
        experiment=_with_fake_weights(loaded.document),
        spec_bytes=loaded.data,
        base_dir=path.parent,
        items=replace(items, items=items.items[:40]),
        out_dir=tmp_path,
        cache_dir=None,
    )
    results = run_experiment(job, loader=FakeLoader(), progress=Silent()).results
    assert len(results.cells) == 36
    for cell in results.cells:
        assert sum(cell.outcomes.values()) == 40
        assert cell.headline.kind != "undefined"
        assert 0.0 <= cell.headline.value <= 1.0
    ranked = path.stem != "crows-pairs"
    assert (results.ranks is not None) is ranked
    assert ("SR304" in {one.code for one in results.findings}) is not ranked
