"""A run with a reward head: one rule, a text for "no prompt", and rows in the place of log-likelihoods."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from fakes import FakeLoader, FakeTokenizer, load_job, spec_document, write_spec
from numpy.typing import NDArray

from safetyrepro.claims.levels import level_ran
from safetyrepro.errors import InputErrors
from safetyrepro.run.engine import run_experiment
from safetyrepro.run.progress import Silent
from safetyrepro.score.backend import Identity
from safetyrepro.spec.experiment import Device
from safetyrepro.spec.load import load_experiment
from safetyrepro.spec.models import Dtype, ModelSource

SCORER = {"kind": "reward", "context": {"kind": "text", "text": "Say something."}}


@dataclass
class FakeRewards:
    """Rewards repetition: how many tokens of a conversation were there before, times its skill."""

    identity: Identity
    skill: float
    tokenizer: FakeTokenizer = field(default_factory=FakeTokenizer)
    context_tokens: int = 512

    def rewards(self, sequences: tuple[tuple[int, ...], ...]) -> NDArray[np.float64]:
        return np.array([self.skill * (len(ids) - len(set(ids))) for ids in sequences], dtype=np.float64)


class RewardLoader(FakeLoader):
    def load_reward_model(
        self, source: ModelSource, *, dtype: Dtype, device: Device, base_dir: Path
    ) -> FakeRewards:
        model = self.load(source, dtype=dtype, rounding=None, device=device, base_dir=base_dir)
        return FakeRewards(model.identity, model.skill)


def document(**changes: object) -> dict[str, object]:
    return {**spec_document(rules=("sum",), changes={"scorer": SCORER}), **changes}


def test_a_reward_run_is_model_level_evidence_with_a_complete_bundle(tmp_path: Path) -> None:
    claims = [
        {
            "id": "first",
            "statement": "Strong beats weak.",
            "type": "observation",
            "level": "model",
            "assertion": {"kind": "ranks_above", "above": "strong", "below": "weak", "over": "every"},
        }
    ]
    evidence = {**spec_document()["evidence"], "claims": claims}
    spec = write_spec(tmp_path / "s", document=document(evidence=evidence))
    outcome = run_experiment(
        load_job(spec, out_dir=tmp_path / "runs"), loader=RewardLoader(), progress=Silent()
    )
    assert level_ran(load_experiment(spec).document) == "model"
    assert not any(one.fast_path for one in outcome.manifest.passes)
    weak = outcome.results.cell("weak", outcome.results.configurations[0].id)
    assert weak.outcomes["tie"] == outcome.results.items.items  # no skill, no reward, all ties


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scorer": {"kind": "reward"}}, r"scorer\.context\.kind must be text where scorer\.kind is"),
        ({"scorer": {**SCORER, "truncation": "per_answer"}}, r"scorer\.truncation must be refuse where"),
        (
            {"factors": [{"kind": "template", "levels": [{"kind": "plain", "id": "plain"}]},
                         {"kind": "rule", "levels": ["sum", "mean"]}]},
            r"factors\.1\.levels must be sum alone where scorer\.kind is reward",
        ),
    ],
)  # fmt: skip
def test_what_a_reward_has_no_sense_for_is_refused_with_its_place(
    changes: dict[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputErrors, match=message):
        load_experiment(write_spec(tmp_path, document=document(**changes)))
