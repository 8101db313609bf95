"""The self-check on a loaded model: what does not hold turns the run to the plain path."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from numpy.typing import NDArray
from tiny_models import FAMILIES, PLAIN_ONLY, THINKS, tiny_backend, tiny_tokenizer

from safetyrepro.score.backend import OutOfMemory
from safetyrepro.score.local.model import LocalBackend
from safetyrepro.score.packing import Schedule
from safetyrepro.score.selfcheck import SelfCheck, self_check


def held(check: SelfCheck) -> dict[str, bool]:
    return {one.name: one.held for one in check.checks}


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_family_takes_the_path_it_can(family: str) -> None:
    check = self_check(tiny_backend(family))
    assert check.path == ("plain" if family in PLAIN_ONLY else "packed")
    assert [found.code for found in check.findings] == (["SR101"] if family in PLAIN_ONLY else [])
    assert held(check)["right-padded batch = batch of one"]
    assert held(check)["rendered ids = the tokenizer's own"]


def test_a_packed_path_that_is_a_little_wrong_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    right = LocalBackend.packed

    def wrong(self: LocalBackend, schedule: Schedule) -> NDArray[np.float64]:
        return np.asarray(right(self, schedule) + 2e-4)

    monkeypatch.setattr(LocalBackend, "packed", wrong)
    check = self_check(tiny_backend())
    assert check.path == "plain"
    assert check.findings[0].code == "SR101"
    assert "largest difference 0.0002 nats a token" in check.findings[0].detail


def test_a_mask_that_shows_siblings_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the tree mask a token sees the other answer: the commonest fault of packing."""
    right = LocalBackend.packed

    def causal(self: LocalBackend, schedule: Schedule) -> NDArray[np.float64]:
        everything = np.full_like(schedule.trie.lasts, len(schedule.trie.lasts))
        trie = dataclasses.replace(schedule.trie, lasts=everything)
        return right(self, dataclasses.replace(schedule, trie=trie))

    monkeypatch.setattr(LocalBackend, "packed", causal)
    assert self_check(tiny_backend()).path == "plain"


def test_a_score_that_is_not_a_number_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        LocalBackend, "packed", lambda _, schedule: np.full(len(schedule.trie.edge_tokens), np.nan)
    )
    assert self_check(tiny_backend()).path == "plain"


def test_a_template_whose_prompt_is_no_prefix_is_shown_and_packs_all_the_same() -> None:
    template = THINKS.replace("assistant\n' }}{% endif %}", "assistant\n<reason>' }}{% endif %}")
    check = self_check(tiny_backend(tokenizer=tiny_tokenizer(template)))
    assert not held(check)["prompt tokens are a prefix of prompt and answer"]
    assert check.path == "packed"


def test_a_tokenizer_without_a_template_has_no_template_checks() -> None:
    check = self_check(tiny_backend(tokenizer=tiny_tokenizer(None)))
    assert "rendered ids = the tokenizer's own" not in held(check)


def test_the_probes_reach_beyond_a_sliding_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalBackend, "_mask", lambda self, trie, queries, keys: self._additive(
        (self._tensor(keys)[None] <= self._tensor(queries)[:, None])
        & (self._tensor(queries)[:, None] <= self._tensor(trie.lasts[keys])[None])
    ))  # fmt: skip
    assert self_check(tiny_backend("mistral")).path == "plain"
    assert self_check(tiny_backend("llama")).path == "packed"


def small_memory(monkeypatch: pytest.MonkeyPatch, *, tokens: int) -> None:
    right = LocalBackend.packed

    def packed(self: LocalBackend, schedule: Schedule) -> NDArray[np.float64]:
        if max(step.stop - step.start for step in schedule.steps) > tokens:
            raise OutOfMemory("device memory: must hold one pack; full")
        return right(self, schedule)

    monkeypatch.setattr(LocalBackend, "packed", packed)


def test_memory_that_runs_out_lowers_the_budget_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    small_memory(monkeypatch, tokens=40)
    check = self_check(tiny_backend(), token_budget=128)
    assert check.path == "packed"
    assert check.token_budget == 32
    assert [(found.code, found.detail) for found in check.findings] == [
        ("SR102", "128 tokens did not fit; 64 taken"),
        ("SR102", "64 tokens did not fit; 32 taken"),
    ]
    monkeypatch.undo()
    assert self_check(tiny_backend(), token_budget=128).token_budget == 128


def test_memory_that_never_suffices_is_an_error_and_no_path(monkeypatch: pytest.MonkeyPatch) -> None:
    small_memory(monkeypatch, tokens=4)
    with pytest.raises(OutOfMemory, match="must hold one pack"):
        self_check(tiny_backend())
