"""One shard of a pass: its items rendered, packed, scored, and written as rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safetyrepro.canonical import JsonValue, digest_json
from safetyrepro.data.records import Item, Outcome, Row
from safetyrepro.errors import InputError, must_be
from safetyrepro.findings import Finding, finding
from safetyrepro.score.backend import (
    MIN_TOKEN_BUDGET,
    SCORING_VERSION,
    Backend,
    ForwardPath,
    Identity,
    OutOfMemory,
)
from safetyrepro.score.likelihood import sum_nats
from safetyrepro.score.packing import build_trie, plan_schedule
from safetyrepro.score.rendering import Rendered, Renderer
from safetyrepro.spec.envelope import Frame
from safetyrepro.spec.experiment import Context, GivenTextScorer

_Sequence = tuple[tuple[int, ...], int]


@dataclass(frozen=True, slots=True)
class ShardScores:
    """The rows of a shard, one an answer in the order of the items, and how they were made.

    `computed_tokens` counts tokens that went through the model, `distinct_tokens` the distinct prefixes of
    the shard's sequences: the floor of the work. `token_budget` is what was used in the end.
    """

    rows: tuple[Row, ...]
    findings: tuple[Finding, ...]
    computed_tokens: int
    distinct_tokens: int
    forward_passes: int
    token_budget: int


@dataclass(frozen=True, slots=True)
class _Task:
    """One answer to score; `rendered` is None where the context leaves it no token."""

    item: Item
    answer: str
    rendered: Rendered | None
    context: Rendered | None


def shard_key(
    identity: Identity,
    items: Sequence[Item],
    *,
    frame: Frame,
    scorer: GivenTextScorer,
    context: Context | None,
    token_budget: int,
    path: ForwardPath,
) -> str:
    """The digest of everything that can move a bit of a shard's rows: equal keys, equal bits.

    Only what the scoring reads is in it: an item's other answers are (they share a pack), the report's
    wording is not.
    """
    parts: dict[str, JsonValue] = {
        "identity": identity.as_json(),
        "scoring": SCORING_VERSION,
        "frame": frame.digest(),
        "boundary": scorer.boundary,
        "truncation": scorer.truncation,
        "context": None if context is None else context.model_dump(mode="json"),
        "token_budget": token_budget,
        "path": path,
        "items": [item.digest() for item in items],
    }
    return digest_json(parts)


def score_shard(
    backend: Backend,
    items: Sequence[Item],
    *,
    renderer: Renderer,
    pass_id: str,
    scorer: GivenTextScorer,
    context: Context | None,
    token_budget: int,
    path: ForwardPath,
) -> ShardScores:
    """The rows of `items` in one pass.

    Args:
        context: what the pmi rule subtracts; None where no configuration uses pmi.
        token_budget: tokens a forward pass at most; halved (finding SR102) when memory runs out, and the
            whole shard is then computed again, so that its rows have one budget.
        path: `packed`, or `plain` where the self-check says so.

    An answer beyond the context has the outcome `limit` and no number, or with `truncation: per_answer` is
    cut for that answer alone. A log-probability that is not finite has the outcome `error`. No items give
    no rows.

    Raises:
        InputError: the template refuses an item, an answer is empty, or a token spans the join and the spec
            refuses that.
        OutOfMemory: even the smallest budget does not fit.
    """
    tasks = _render(backend, items, renderer=renderer, scorer=scorer, context=context)
    sequences: dict[_Sequence, int] = {}
    for task in tasks:
        for rendered in (task.rendered, task.context):
            if rendered is not None:
                sequences.setdefault((rendered.ids, rendered.start), len(sequences))
    where = f"pass {pass_id}"
    found: list[Finding] = []
    scored, budget = _score(
        backend, tuple(sequences), budget=token_budget, path=path, where=where, found=found
    )
    nats = {sequence: scored.nats[at] for sequence, at in sequences.items()}
    rows = tuple(_row(task, nats=nats, pass_id=pass_id) for task in tasks)
    found += _find(tasks, rows=rows, where=where)
    return ShardScores(
        rows=rows,
        findings=tuple(found),
        computed_tokens=scored.computed_tokens,
        distinct_tokens=scored.distinct_tokens,
        forward_passes=scored.forward_passes,
        token_budget=budget,
    )


def _render(
    backend: Backend,
    items: Sequence[Item],
    *,
    renderer: Renderer,
    scorer: GivenTextScorer,
    context: Context | None,
) -> list[_Task]:
    tasks: list[_Task] = []
    for item in items:
        for answer, text in item.answers:
            where = f"item {item.id}: {answer}"
            rendered = renderer.render(item.prompt, text, where=where)
            if rendered.spans_join and scorer.boundary == "refuse":
                raise InputError(
                    must_be(
                        where, "answer must begin with a token of its own (scorer.boundary is refuse)", text
                    )
                )
            fitted = _fit(rendered, backend.context_tokens, scorer=scorer)
            alone = None
            if context is not None and fitted is not None:
                alone = renderer.unconditional(fitted, text, context=context, where=where)
                alone = _fit(alone, backend.context_tokens, scorer=scorer)
                if alone is not None and alone.tokens > fitted.tokens:  # the same cut on both sides
                    alone = alone.truncated(alone.start + fitted.tokens - 1)
            tasks.append(_Task(item=item, answer=answer, rendered=fitted, context=alone))
    return tasks


def _fit(rendered: Rendered, context_tokens: int, *, scorer: GivenTextScorer) -> Rendered | None:
    cut = rendered.truncated(context_tokens)
    if cut is None or (cut.dropped_tokens and scorer.truncation == "refuse"):
        return None
    return cut


@dataclass(frozen=True, slots=True)
class _Scored:
    nats: tuple[NDArray[np.float64], ...]
    computed_tokens: int
    distinct_tokens: int
    forward_passes: int


def _score(
    backend: Backend,
    sequences: tuple[_Sequence, ...],
    *,
    budget: int,
    path: ForwardPath,
    where: str,
    found: list[Finding],
) -> tuple[_Scored, int]:
    trie = build_trie(sequences)
    if path == "plain":
        nats = tuple(backend.plain((sequence,))[0] for sequence in sequences)
        computed = sum(len(ids) - 1 for ids, _ in sequences)
        return _Scored(nats, computed, trie.distinct, len(sequences)), budget
    while True:
        schedule = plan_schedule(trie, budget=budget)
        try:
            edges = backend.packed(schedule)
        except OutOfMemory:
            if budget // 2 < MIN_TOKEN_BUDGET:
                raise
            found.append(
                finding("SR102", where, f"{budget} tokens did not fit; computed again with {budget // 2}")
            )
            budget //= 2
            continue
        nats = tuple(edges[path_edges] for path_edges in trie.sequence_edges)
        return _Scored(nats, len(trie.tokens), trie.distinct, len(schedule.steps)), budget


def _row(task: _Task, *, nats: dict[_Sequence, NDArray[np.float64]], pass_id: str) -> Row:
    def total(rendered: Rendered | None) -> float | None:
        return None if rendered is None else sum_nats(nats[rendered.ids, rendered.start])

    rendered = task.rendered
    conditional, unconditional = total(rendered), total(task.context)
    finite = all(value is None or math.isfinite(value) for value in (conditional, unconditional))
    scored = rendered is not None and finite
    outcome = Outcome.LIMIT if rendered is None else Outcome.SCORED if finite else Outcome.ERROR
    return Row(
        pass_=pass_id,
        item=task.item.id,
        item_digest=task.item.digest(),
        answer=task.answer,
        outcome=outcome,
        sum_nats=conditional if scored else None,
        unconditional_nats=unconditional if scored else None,
        tokens=0 if rendered is None else rendered.tokens,
        bytes_=0 if rendered is None else rendered.bytes_,
        spans_join=rendered is not None and rendered.spans_join,
        dropped_tokens=0 if rendered is None else rendered.dropped_tokens,
    )


def _find(tasks: Sequence[_Task], *, rows: Sequence[Row], where: str) -> list[Finding]:
    """One finding a kind, with the count and the first place: a long run must not drown its reader."""
    kinds: list[tuple[str, list[bool]]] = [
        ("SR103", [row.spans_join for row in rows]),
        ("SR104", [row.dropped_tokens > 0 for row in rows]),
        ("SR106", [task.rendered is not None and task.rendered.altered for task in tasks]),
        ("SR108", [row.outcome is Outcome.LIMIT for row in rows]),
        ("SR109", [row.outcome is Outcome.ERROR for row in rows]),
        ("SR110", [task.rendered is not None and task.rendered.holds_control for task in tasks]),
    ]
    found: list[Finding] = []
    for code, flags in kinds:
        hit = [row for row, flag in zip(rows, flags, strict=True) if flag]
        if hit:
            detail = f"{len(hit)} of {len(rows)} answers, first item {hit[0].item}: {hit[0].answer}"
            found.append(finding(code, where, detail))
    return found
