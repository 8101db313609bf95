"""The implicit reward: two models a system, each with its own rows; their difference is compared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fakes import FakeLoader, fake_model, load_job, spec_document, write_spec

from safetyrepro.analysis.table import score_table
from safetyrepro.data.bundle import read_items, read_rows
from safetyrepro.data.records import Row
from safetyrepro.errors import InputErrors, IntegrityError
from safetyrepro.run.engine import Outcome, bundle_digest, run_experiment
from safetyrepro.run.progress import Silent
from safetyrepro.spec.envelope import pass_of, passes, primary_configuration, reference_pass
from safetyrepro.spec.load import load_experiment

RULES = ("sum", "mean", "byte")


def tuned(name: str, reference: str = "weak") -> dict[str, object]:
    return {**fake_model(name), "reference": {"kind": "path", "path": f"{reference}.bin"}}


def document(**changes: object) -> dict[str, object]:
    return spec_document(
        models=[tuned("strong"), tuned("middle"), tuned("weak")],
        rules=RULES,
        changes={"scorer": {"kind": "implicit_reward"}, **changes},
    )


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_spec(tmp_path_factory.mktemp("reward") / "spec", document=document())


@pytest.fixture(scope="module")
def outcome(spec: Path) -> Outcome:
    job = load_job(spec, out_dir=spec.parent / "runs")
    return run_experiment(job, loader=FakeLoader(), progress=Silent())


def rows_of(outcome: Outcome, pass_id: str) -> list[Row]:
    shards = [shard for shard in outcome.manifest.shards if shard.pass_ == pass_id]
    root = outcome.bundle.root
    return [row for shard in shards for row in read_rows(root / shard.file, sha256=shard.sha256)]


def test_a_score_is_the_models_log_likelihood_above_its_references(spec: Path, outcome: Outcome) -> None:
    experiment = load_experiment(spec).document
    one = pass_of(experiment, model=experiment.models[0], configuration=primary_configuration(experiment))
    reference = reference_pass(one)
    assert reference is not None
    table = score_table(
        experiment, items=read_items(outcome.bundle), rows=lambda name: rows_of(outcome, name)
    )
    below = {(row.item, row.answer): row.sum_nats for row in rows_of(outcome, reference.id())}
    expected = {
        (row.item, row.answer): row.sum_nats - below[row.item, row.answer]
        for row in rows_of(outcome, one.id())
    }
    place = table.configurations.index(primary_configuration(experiment))
    for n, item in enumerate(table.items):
        assert table.chosen[0, place, n] == pytest.approx(expected[item.id, "chosen"], abs=1e-12)
        assert table.rejected[0, place, n] == pytest.approx(expected[item.id, "rejected"], abs=1e-12)


def test_a_model_that_is_its_own_reference_gets_ties_everywhere(outcome: Outcome) -> None:
    for configuration in outcome.results.configurations:
        cell = outcome.results.cell("weak", configuration.id)
        assert cell.outcomes["tie"] == outcome.results.items.items


def test_the_manifest_has_the_digests_of_the_references(spec: Path, outcome: Outcome) -> None:
    weights = {one.model: one.weights for one in outcome.manifest.models}
    assert set(weights) == {
        f"{name}{suffix}" for name in ("strong", "middle", "weak") for suffix in ("", "--reference")
    }
    assert weights["strong--reference"] == weights["weak"]
    assert len(outcome.manifest.passes) == len(passes(load_experiment(spec).document)) == 12


def test_another_reference_is_another_bundle(spec: Path, tmp_path: Path) -> None:
    other = write_spec(tmp_path, document=document())
    before, after = (load_job(one, out_dir=tmp_path) for one in (spec, other))
    digests = [bundle_digest(before, loader=FakeLoader(), device="fake")]
    changed = FakeLoader(skills={"strong": 0.9, "middle": 0.45, "weak": 0.1})
    digests.append(bundle_digest(after, loader=changed, device="fake"))
    assert digests[0] != digests[1]
    assert bundle_digest(after, loader=FakeLoader(), device="fake") == digests[0]


def test_a_reference_with_other_tokens_is_refused(spec: Path, outcome: Outcome) -> None:
    experiment = load_experiment(spec).document

    def rows(name: str) -> list[Row]:
        found = rows_of(outcome, name)
        more = 1 if "--reference" in name else 0
        return [row.model_copy(update={"tokens": row.tokens + more}) for row in found]

    with pytest.raises(IntegrityError, match="a model and its reference must read the same tokens"):
        score_table(experiment, items=read_items(outcome.bundle), rows=rows)


def test_the_baseline_without_a_prompt_is_a_difference_too(spec: Path, outcome: Outcome) -> None:
    table = score_table(
        load_experiment(spec).document,
        items=read_items(outcome.bundle),
        rows=lambda name: rows_of(outcome, name),
    )
    assert np.isfinite(table.blind[0]).all()
    assert (table.blind[0][2] == 0.0).all()  # the model that is its own reference


def test_what_does_not_fit_the_scorer_is_refused_with_its_place(tmp_path: Path) -> None:
    bare = [tuned("strong"), fake_model("middle"), tuned("weak")]
    written = write_spec(tmp_path / "a", document={**document(), "models": bare})
    with pytest.raises(InputErrors, match=r"models\.1\.reference must be given where scorer\.kind is"):
        load_experiment(written)
    factors = [{"kind": "template", "levels": [{"kind": "plain", "id": "plain"}]},
               {"kind": "rule", "levels": ["sum", "pmi"]}]  # fmt: skip
    changes = {"factors": factors, "primary": {"template": "plain", "rule": "sum"}}
    written = write_spec(tmp_path / "b", document={**document(), **changes})
    with pytest.raises(InputErrors, match=r"levels\.1 must be sum, mean or byte where scorer\.kind is"):
        load_experiment(written)
    written = write_spec(tmp_path / "c", document={**document(), "scorer": {"kind": "loglik"}})
    with pytest.raises(InputErrors, match=r"models\.0\.reference must be absent unless scorer\.kind is"):
        load_experiment(written)
