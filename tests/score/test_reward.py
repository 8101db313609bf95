"""The reward of a sequence-classification head: the model's own number for the whole conversation."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tiny_models import CHATML, FAMILIES, tiny_model, tiny_tokenizer
from transformers import AutoModelForSequenceClassification

from safetyrepro.data.records import Outcome, Pair
from safetyrepro.errors import InputError
from safetyrepro.score import local
from safetyrepro.score.local.reward import LocalRewardModel
from safetyrepro.score.rendering import Renderer
from safetyrepro.score.reward import reward_check, score_reward_shard
from safetyrepro.score.shard import ShardScores
from safetyrepro.spec.envelope import Frame
from safetyrepro.spec.experiment import BosContext, Context, Device, RewardScorer, TextContext
from safetyrepro.spec.factors import ChatTemplate, PlainTemplate
from safetyrepro.spec.models import PathModel

CPU = Device(name="cpu")
PLAIN = Frame(template=PlainTemplate(kind="plain", id="plain"), system=None, exemplars=())
CHAT = Frame(template=ChatTemplate(kind="chat", id="chat"), system=None, exemplars=())
PAIRS = (
    Pair("a", "Name the Answer.", "wer", "werB the", None, None),
    Pair("b", "Name the Answer.", "wer", "A", None, None),
)


def saved(folder: Path, *, labels: int = 1) -> PathModel:
    config = type(FAMILIES["llama"])(**{**FAMILIES["llama"].to_dict(), "num_labels": labels})
    torch.manual_seed(1)
    AutoModelForSequenceClassification.from_config(config).save_pretrained(folder)
    tiny_tokenizer(CHATML).library_tokenizer.save_pretrained(folder)
    return PathModel(kind="path", path=str(folder))


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> LocalRewardModel:
    folder = tmp_path_factory.mktemp("reward")
    return local.load_reward_model(saved(folder), dtype="float32", device=CPU, base_dir=folder)


def scored(
    backend: LocalRewardModel,
    pairs: tuple[Pair, ...],
    *,
    frame: Frame = CHAT,
    context: Context = TextContext(kind="text", text="Q"),  # noqa: B008  frozen
) -> ShardScores:
    return score_reward_shard(
        backend, pairs, renderer=Renderer(backend.tokenizer, frame), pass_id="p",
        scorer=RewardScorer(kind="reward", context=context), token_budget=512,
    )  # fmt: skip


def test_a_reward_is_the_models_own_number_for_the_templates_own_ids(backend: LocalRewardModel) -> None:
    rows = scored(backend, PAIRS).rows
    own = backend.tokenizer.library_tokenizer
    for row, (prompt, answer) in zip(
        rows, [(one.prompt, text) for one in PAIRS for text in (one.chosen, one.rejected)], strict=True
    ):
        turns = [{"role": "user", "content": prompt}, {"role": "assistant", "content": answer}]
        ids = own.apply_chat_template(turns, tokenize=True, return_tensors="pt", return_dict=True)[
            "input_ids"
        ]
        with torch.inference_mode():
            expected = float(backend._model(ids).logits[0, 0])
        assert row.sum_nats == pytest.approx(expected, abs=1e-6)
        assert row.tokens == ids.shape[1]
        assert row.bytes_ == len(answer.encode())


def test_equal_conversations_are_read_once_and_get_equal_bits(backend: LocalRewardModel) -> None:
    scores = scored(backend, PAIRS)
    assert scores.rows[0].sum_nats == scores.rows[2].sum_nats
    assert scores.forward_passes == 3 + 3  # three different answers, with their prompt and without
    assert scored(backend, ()).rows == ()


def test_the_baseline_without_a_prompt_is_the_reward_after_the_context(backend: LocalRewardModel) -> None:
    asked = (Pair("q", "Q", "wer", "A", None, None),)
    for frame in (PLAIN, CHAT):
        for row in scored(backend, asked, frame=frame).rows:
            assert row.unconditional_nats == row.sum_nats


def test_a_conversation_beyond_the_context_has_no_reward(backend: LocalRewardModel) -> None:
    long = (Pair("long", "Name", "x" * 300, "B", None, None),)
    scores = scored(backend, long)
    assert [row.outcome for row in scores.rows] == [Outcome.LIMIT, Outcome.SCORED]
    assert [(one.code, one.detail) for one in scores.findings] == [
        ("SR108", "1 of 2 answers, first item long: chosen")
    ]


def test_a_reward_without_a_text_for_no_prompt_is_refused(backend: LocalRewardModel) -> None:
    with pytest.raises(
        InputError, match=r"scorer\.context: must be a text where kind is reward; got 'bos'"
    ):
        scored(backend, PAIRS, context=BosContext(kind="bos"))


def test_the_check_of_a_reward_model_reads_its_tokens(backend: LocalRewardModel) -> None:
    check = reward_check(backend, token_budget=64)
    assert check.path == "plain"
    assert {one.name: one.held for one in check.checks} == {
        "the same sequence, the same reward": True,
        "rendered ids = the tokenizer's own": True,
        "prompt tokens are a prefix of prompt and answer": True,
    }


def test_a_language_model_has_no_head_and_is_refused(tmp_path: Path) -> None:
    """transformers would make up a random head, and every reward would be noise."""
    tiny_model().save_pretrained(tmp_path)
    tiny_tokenizer().library_tokenizer.save_pretrained(tmp_path)
    source = PathModel(kind="path", path=str(tmp_path))
    with pytest.raises(InputError, match=r"reward model must hold all its weights; score\.weight is not"):
        local.load_reward_model(source, dtype="float32", device=CPU, base_dir=tmp_path)


def test_a_head_of_several_labels_or_a_file_is_refused(tmp_path: Path) -> None:
    source = saved(tmp_path / "two", labels=2)
    with pytest.raises(InputError, match="reward model: must have one label; got 2"):
        local.load_reward_model(source, dtype="float32", device=CPU, base_dir=tmp_path)
    (tmp_path / "x.gguf").write_bytes(b"GGUF")
    source = PathModel(kind="path", path="x.gguf")
    with pytest.raises(InputError, match="reward model must be a folder with its head; got a file"):
        local.load_reward_model(source, dtype="float32", device=CPU, base_dir=tmp_path)
