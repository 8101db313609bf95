"""The reward that a sequence-classification head gives a whole conversation, written as rows.

A reward model trained on preferences by the Bradley-Terry likelihood (arXiv 2203.02155, equation 1) gives
log-odds: the probability that one answer is preferred to another is the logistic function of their
difference. So a reward is a number in nats, and stands where a log-likelihood stands in a row. It belongs
to the whole sequence; the only rule that makes sense of it is `sum`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from safetyrepro.data.records import Item, Outcome, Row
from safetyrepro.errors import InputError, must_be
from safetyrepro.findings import Finding, finding
from safetyrepro.score.backend import Identity, Tokenizer
from safetyrepro.score.rendering import Renderer
from safetyrepro.score.selfcheck import TOLERANCE_NATS, Check, SelfCheck, id_checks
from safetyrepro.score.shard import ShardScores
from safetyrepro.spec.experiment import RewardScorer

_PROBES = ("Name a fruit that is yellow and long.", "A banana.")


class RewardBackend(Protocol):
    """A loaded reward model: one number for a whole sequence."""

    @property
    def identity(self) -> Identity:
        """What decides its rewards."""

    @property
    def tokenizer(self) -> Tokenizer:
        """Its tokenizer."""

    @property
    def context_tokens(self) -> int:
        """The most tokens it reads at once."""

    def rewards(self, sequences: Sequence[tuple[int, ...]]) -> NDArray[np.float64]:
        """The reward in nats of every sequence of tokens, (N,), each read on its own."""


def reward_check(backend: RewardBackend, *, token_budget: int) -> SelfCheck:
    """What can be checked of a reward model: its tokens, and that one sequence gives one number.

    Nothing is packed or padded, so there is no other way of computing to compare with.
    """
    tokenizer = backend.tokenizer
    ids = tokenizer.encode(" ".join(_PROBES), add_special=True).ids
    first, second = backend.rewards((ids, ids))
    apart = abs(float(first - second))
    tolerance = TOLERANCE_NATS[backend.identity.dtype]
    again = Check("the same sequence, the same reward", apart, 0, apart == 0.0)
    return SelfCheck(
        model=backend.identity.architecture,
        checks=(again, *id_checks(tokenizer)),
        tolerance_nats=tolerance,
        path="plain",
        findings=(),
        token_budget=token_budget,
    )


def score_reward_shard(
    backend: RewardBackend,
    items: Sequence[Item],
    *,
    renderer: Renderer,
    pass_id: str,
    scorer: RewardScorer,
    token_budget: int,
) -> ShardScores:
    """The rows of `items`: the reward of prompt and answer, and that of the declared context and answer.

    Equal conversations are read once. A conversation beyond the context has the outcome `limit`; a reward
    that is not finite has the outcome `error`. `tokens` counts the whole conversation.

    Raises:
        InputError: the template refuses an item, or the scorer declares no text for "no prompt".
    """
    if scorer.context.kind != "text":
        raise InputError(must_be("scorer.context", "must be a text where kind is reward", "bos"))
    asked: list[tuple[Item, str, str, tuple[int, ...], tuple[int, ...]]] = []
    for item in items:
        for label, text in item.answers:
            where = f"item {item.id}: {label}"
            whole = renderer.conversation(item.prompt, text, where=where)
            blind = renderer.conversation(scorer.context.text, text, where=where)
            asked.append((item, label, text, whole, blind))
    fitting = dict.fromkeys(
        ids for *_, whole, blind in asked for ids in (whole, blind) if len(ids) <= backend.context_tokens
    )
    rewards = dict(zip(fitting, backend.rewards(tuple(fitting)).tolist(), strict=True))
    rows = tuple(
        _row(
            item,
            label,
            text=text,
            pass_id=pass_id,
            tokens=len(whole),
            reward=rewards.get(whole),
            blind=rewards.get(blind),
        )
        for item, label, text, whole, blind in asked
    )
    computed = sum(len(ids) for ids in fitting)
    return ShardScores(
        rows=rows,
        findings=tuple(_find(rows, where=f"pass {pass_id}")),
        computed_tokens=computed,
        distinct_tokens=computed,
        forward_passes=len(fitting),
        token_budget=token_budget,
    )


def _row(
    item: Item,
    label: str,
    *,
    text: str,
    pass_id: str,
    tokens: int,
    reward: float | None,
    blind: float | None,
) -> Row:
    finite = all(value is None or math.isfinite(value) for value in (reward, blind))
    scored = reward is not None and finite
    outcome = Outcome.LIMIT if reward is None else Outcome.SCORED if finite else Outcome.ERROR
    return Row(
        pass_=pass_id,
        item=item.id,
        item_digest=item.digest(),
        answer=label,
        outcome=outcome,
        sum_nats=reward if scored else None,
        unconditional_nats=blind if scored else None,
        tokens=tokens if reward is not None else 0,
        bytes_=len(text.encode()) if reward is not None else 0,
    )


def _find(rows: Sequence[Row], *, where: str) -> list[Finding]:
    found: list[Finding] = []
    for code, outcome in (("SR108", Outcome.LIMIT), ("SR109", Outcome.ERROR)):
        hit = [row for row in rows if row.outcome is outcome]
        if hit:
            detail = f"{len(hit)} of {len(rows)} answers, first item {hit[0].item}: {hit[0].answer}"
            found.append(finding(code, where, detail))
    return found
