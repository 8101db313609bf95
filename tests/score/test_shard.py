"""A shard's rows: pairs in, one row an answer out, and every way an answer can fail to get a number."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tiny_models import tiny_backend, tiny_tokenizer

from safetyrepro.data.records import Outcome, Pair, Row
from safetyrepro.errors import InputError
from safetyrepro.score.backend import OutOfMemory
from safetyrepro.score.local.model import LocalBackend
from safetyrepro.score.packing import Schedule
from safetyrepro.score.rendering import Renderer
from safetyrepro.score.shard import ShardScores, score_shard, shard_key
from safetyrepro.spec.envelope import Frame
from safetyrepro.spec.experiment import BosContext, Context, LoglikScorer, TextContext
from safetyrepro.spec.factors import ChatTemplate, PlainTemplate

PLAIN = Frame(template=PlainTemplate(kind="plain", id="plain"), system=None, exemplars=())
JOINED = Frame(template=PlainTemplate(kind="plain", id="plain", answer_join=""), system=None, exemplars=())
CHAT = Frame(template=ChatTemplate(kind="chat", id="chat"), system=None, exemplars=())
REFUSE = LoglikScorer(kind="loglik")
CUT = LoglikScorer(kind="loglik", truncation="per_answer")
BOS = BosContext(kind="bos")


def pair(name: str, prompt: str, chosen: str, rejected: str) -> Pair:
    return Pair(id=name, prompt=prompt, chosen=chosen, rejected=rejected, stratum=None, cluster=None)


PAIRS = (
    pair("a", "Name the Answer.", "wer", "werB the"),
    pair("b", "Name the Answer.", "wer", "é☕"),
    pair("c", "Q", "B", "A"),
)


@pytest.fixture(scope="module")
def backend() -> LocalBackend:
    return tiny_backend(tokenizer=tiny_tokenizer(kind="bos"))


def scored(
    backend: LocalBackend,
    pairs: tuple[Pair, ...],
    *,
    frame: Frame = PLAIN,
    scorer: LoglikScorer = REFUSE,
    context: Context | None = None,
    token_budget: int = 256,
    plain: bool = False,
) -> ShardScores:
    return score_shard(
        backend, pairs, renderer=Renderer(backend.tokenizer, frame), pass_id="p", scorer=scorer,
        context=context, token_budget=token_budget, path="plain" if plain else "packed",
    )  # fmt: skip


def sums(scores: ShardScores) -> list[float]:
    return [row.sum_nats for row in scores.rows if row.sum_nats is not None]


@pytest.mark.parametrize("frame", [PLAIN, JOINED, CHAT])
def test_packed_rows_are_the_plain_rows(backend: LocalBackend, frame: Frame) -> None:
    packed = scored(backend, PAIRS, frame=frame, context=BOS)
    plain = scored(backend, PAIRS, frame=frame, context=BOS, plain=True)
    for one, other in zip(packed.rows, plain.rows, strict=True):
        assert one.sum_nats == pytest.approx(other.sum_nats, abs=1e-4 * one.tokens)
        assert one.unconditional_nats == pytest.approx(other.unconditional_nats, abs=1e-4 * one.tokens)
        assert one.model_copy(update={"sum_nats": None, "unconditional_nats": None}) == other.model_copy(
            update={"sum_nats": None, "unconditional_nats": None}
        )
    assert packed.computed_tokens < plain.computed_tokens


def test_rows_come_two_a_pair_in_order_and_name_their_item_by_digest(backend: LocalBackend) -> None:
    rows = scored(backend, PAIRS).rows
    assert [(row.item, row.answer) for row in rows] == [
        (name, answer) for name in "abc" for answer in ("chosen", "rejected")
    ]
    assert [row.item_digest for row in rows[::2]] == [one.digest() for one in PAIRS]


def test_equal_answers_to_equal_prompts_get_equal_bits(backend: LocalBackend) -> None:
    scores = scored(backend, PAIRS)
    assert scores.rows[0].sum_nats == scores.rows[2].sum_nats
    alone = scored(backend, PAIRS[:1])
    assert scored(backend, (PAIRS[0], PAIRS[0])).computed_tokens == alone.computed_tokens


def test_no_items_give_no_rows_and_one_item_two(backend: LocalBackend) -> None:
    assert scored(backend, ()).rows == ()
    assert len(scored(backend, PAIRS[:1]).rows) == 2


def test_a_one_token_answer_has_one_token(backend: LocalBackend) -> None:
    row = scored(backend, PAIRS).rows[4]
    assert (row.tokens, row.bytes_, row.outcome) == (1, 1, Outcome.SCORED)


def test_scores_do_not_depend_on_the_order_of_items(backend: LocalBackend) -> None:
    forwards, backwards = scored(backend, PAIRS), scored(backend, PAIRS[::-1])
    by_name = {(row.item, row.answer): row.sum_nats for row in backwards.rows}
    for row in forwards.rows:
        assert row.sum_nats == pytest.approx(by_name[row.item, row.answer], abs=1e-4 * row.tokens)


def test_the_same_shard_and_budget_give_the_same_bytes(backend: LocalBackend) -> None:
    first, second = (scored(backend, PAIRS, context=BOS, token_budget=32) for _ in range(2))
    assert first == second


def test_an_answer_beyond_the_context_is_refused_for_itself_alone(backend: LocalBackend) -> None:
    long = pair("long", "Name", "x" * 300, "B")
    scores = scored(backend, (long,))
    assert [row.outcome for row in scores.rows] == [Outcome.LIMIT, Outcome.SCORED]
    assert scores.rows[0].sum_nats is None
    assert [(found.code, found.detail) for found in scores.findings] == [
        ("SR108", "1 of 2 answers, first item long: chosen")
    ]


def test_a_cut_does_not_depend_on_the_other_answer(backend: LocalBackend) -> None:
    long = pair("long", "Name", "x" * 300, "B")
    both = scored(backend, (long,), scorer=CUT)
    cut, whole = both.rows
    assert cut.dropped_tokens == 300 + 6 - 257  # the beginning token, five of prompt and join, the answer
    assert (cut.tokens, cut.bytes_, cut.outcome) == (
        300 - cut.dropped_tokens,
        300 - cut.dropped_tokens,
        "scored",
    )
    alone = scored(backend, (dataclasses.replace(long, chosen="A"),), scorer=CUT).rows[1]
    assert whole.sum_nats == pytest.approx(alone.sum_nats, abs=1e-4)
    assert [found.code for found in both.findings] == ["SR104"]


def test_a_prompt_that_fills_the_context_leaves_nothing_to_score(backend: LocalBackend) -> None:
    rows = scored(backend, (pair("full", "x" * 300, "A", "B"),), scorer=CUT).rows
    assert [row.outcome for row in rows] == [Outcome.LIMIT, Outcome.LIMIT]
    assert [row.tokens for row in rows] == [0, 0]


def test_a_cut_answer_and_its_unconditional_twin_have_the_same_tokens(backend: LocalBackend) -> None:
    long = pair("long", "Name", "x" * 300, "B")
    row = scored(backend, (long,), scorer=CUT, context=BOS).rows[0]
    twin = scored(backend, (dataclasses.replace(long, chosen="x" * row.tokens),), context=BOS).rows[0]
    assert row.unconditional_nats == pytest.approx(twin.unconditional_nats, abs=1e-4 * row.tokens)


def test_a_join_is_recorded_or_refused_as_declared(backend: LocalBackend) -> None:
    item = (pair("join", "The Ans", "wer", "A"),)
    recorded = scored(backend, item, frame=JOINED)
    assert [row.spans_join for row in recorded.rows] == [True, False]
    assert [found.code for found in recorded.findings] == ["SR103"]
    refusing = LoglikScorer(kind="loglik", boundary="refuse")
    with pytest.raises(InputError, match="item join: chosen: answer must begin with a token of its own"):
        scored(backend, item, frame=JOINED, scorer=refusing)


def test_the_unconditional_score_is_that_of_the_answer_after_its_context(backend: LocalBackend) -> None:
    text = TextContext(kind="text", text="Q")
    with_text = scored(backend, PAIRS, context=text).rows
    assert with_text[4].unconditional_nats == pytest.approx(
        with_text[4].sum_nats, abs=1e-4
    )  # its prompt is Q
    assert all(row.unconditional_nats is None for row in scored(backend, PAIRS).rows)


def test_out_of_memory_halves_the_budget_and_is_recorded(
    backend: LocalBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = LocalBackend.packed

    def small(self: LocalBackend, schedule: Schedule) -> NDArray[np.float64]:
        if schedule.budget > 40:
            raise OutOfMemory("device memory: must hold one pack; full")
        return right(self, schedule)

    monkeypatch.setattr(LocalBackend, "packed", small)
    scores = scored(backend, PAIRS, token_budget=128)
    assert scores.token_budget == 32
    assert [found.detail for found in scores.findings] == [
        "128 tokens did not fit; computed again with 64",
        "64 tokens did not fit; computed again with 32",
    ]
    monkeypatch.undo()
    assert scores.rows == scored(backend, PAIRS, token_budget=32).rows


def test_memory_that_never_suffices_ends_the_run(
    backend: LocalBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: LocalBackend, schedule: Schedule) -> NDArray[np.float64]:
        raise OutOfMemory("device memory: must hold one pack; full")

    monkeypatch.setattr(LocalBackend, "packed", full)
    with pytest.raises(OutOfMemory, match="must hold one pack"):
        scored(backend, PAIRS)


def test_a_probability_that_is_no_number_is_an_error_and_never_a_score(
    backend: LocalBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = LocalBackend.packed

    def overflown(self: LocalBackend, schedule: Schedule) -> NDArray[np.float64]:
        nats = right(self, schedule)
        nats[schedule.trie.sequence_edges[1][-1]] = math.nan
        return nats

    monkeypatch.setattr(LocalBackend, "packed", overflown)
    scores = scored(backend, PAIRS[::2])
    assert [row.outcome for row in scores.rows] == ["scored", "error", "scored", "scored"]
    assert scores.rows[1].sum_nats is None
    assert [found.code for found in scores.findings] == ["SR109"]


KEYED = {"frame": PLAIN, "scorer": REFUSE, "context": None, "token_budget": 64, "path": "packed"}


@pytest.mark.parametrize(
    "change",
    [{"frame": CHAT}, {"scorer": CUT}, {"context": BOS}, {"token_budget": 65}, {"path": "plain"}],
)
def test_a_shards_key_moves_with_everything_that_moves_a_bit(
    backend: LocalBackend, change: dict[str, object]
) -> None:
    before = shard_key(backend.identity, PAIRS, **KEYED)  # type: ignore[arg-type]
    assert shard_key(backend.identity, PAIRS, **{**KEYED, **change}) != before  # type: ignore[arg-type]
    assert shard_key(backend.identity, PAIRS[:2], **KEYED) != before  # type: ignore[arg-type]
    other = dataclasses.replace(backend.identity, weights="sha256:" + "1" * 64)
    assert shard_key(other, PAIRS, **KEYED) != before  # type: ignore[arg-type]
    assert shard_key(backend.identity, PAIRS, **KEYED) == before  # type: ignore[arg-type]


def test_rows_are_what_the_bundle_stores(backend: LocalBackend) -> None:
    row = scored(backend, PAIRS).rows[0]
    assert Row.model_validate_json(row.model_dump_json(by_alias=True)) == row


def test_an_answer_equal_to_a_prefix_of_another_keeps_its_own_score(backend: LocalBackend) -> None:
    item = pair("prefix", "Name the Answer.", "wer", "wer the B")
    short, long = scored(backend, (item,)).rows
    plain_short, plain_long = scored(backend, (item,), plain=True).rows
    assert (short.tokens, long.tokens) == (plain_short.tokens, plain_long.tokens)
    assert short.sum_nats == pytest.approx(plain_short.sum_nats, abs=1e-4)
    assert long.sum_nats == pytest.approx(plain_long.sum_nats, abs=1e-4 * long.tokens)


def test_an_answer_that_quotes_its_prompt_is_scored_whole(backend: LocalBackend) -> None:
    item = pair("quote", "Name the Answer.", "Name the Answer.", "A")
    for frame in (PLAIN, CHAT):
        row = scored(backend, (item,), frame=frame).rows[0]
        assert row.bytes_ == len("Name the Answer.")


def test_ties_that_bfloat16_sums_would_make_vanish() -> None:
    """Near 200 nats bfloat16 numbers are spaced by 1; sums in float64 keep such answers apart."""
    narrow = tiny_backend(tokenizer=tiny_tokenizer(kind="bos"), dtype="bfloat16")
    letters = "ABQaenrstwhdogcfikmv"
    pairs = tuple(
        pair(f"{at:02d}", "Q", letters[at] * 30, letters[at + 1] * 30) for at in range(0, len(letters), 2)
    )
    nats = [row.sum_nats for row in scored(narrow, pairs).rows]
    rounded = torch.tensor(nats).bfloat16().tolist()
    assert len(set(nats)) == len(letters)
    assert len(set(rounded)) < len(letters)


def test_a_text_that_spells_a_control_token_is_found(backend: LocalBackend) -> None:
    """The tokenizer reads the mark as a control wherever it stands, so the item is not what it seems."""
    quoting = pair("mark", "What does <|end|> do?", "A", "B")
    answering = pair("says", "Q", "A <|end|> B", "B")
    for frame in (PLAIN, CHAT):
        found = scored(backend, (PAIRS[2], quoting, answering), frame=frame).findings
        assert [(one.code, one.detail) for one in found if one.code == "SR110"] == [
            ("SR110", "3 of 6 answers, first item mark: chosen")
        ]
    assert [one.code for one in scored(backend, PAIRS, frame=CHAT).findings] == []
