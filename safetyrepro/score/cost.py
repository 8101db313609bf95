"""What a run will cost, counted from tokens and a model's sizes, without its weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from safetyrepro.score.packing import build_trie, plan_schedule
from safetyrepro.spec.models import Dtype

_DTYPE_BYTES: dict[Dtype, int] = {"float32": 4, "bfloat16": 2, "float16": 2}
_LOGIT_ROWS = 64


@dataclass(frozen=True, slots=True)
class ModelShape:
    """A model's sizes. `linear_parameters` are those outside embedding and output head."""

    parameters: int
    linear_parameters: int
    layers: int
    width: int
    vocabulary: int
    key_value_width: int
    context_tokens: int


@dataclass(frozen=True, slots=True)
class ShardCost:
    """The work of one shard: what goes through the model, and what would without sharing prefixes."""

    sequences: int
    computed_tokens: int
    distinct_tokens: int
    unshared_tokens: int
    scored_tokens: int
    logit_rows: int
    forward_passes: int
    longest_tokens: int


def shard_cost(sequences: Sequence[tuple[tuple[int, ...], int]], *, token_budget: int) -> ShardCost:
    """The cost of scoring `(ids, start)` sequences on the packed path; no sequences cost nothing."""
    trie = build_trie(tuple(dict.fromkeys(sequences)))
    schedule = plan_schedule(trie, budget=token_budget)
    return ShardCost(
        sequences=len(sequences),
        computed_tokens=len(trie.tokens),
        distinct_tokens=trie.distinct,
        unshared_tokens=sum(len(ids) for ids, _ in sequences),
        scored_tokens=len(trie.edge_tokens),
        logit_rows=len(set(trie.edge_sources.tolist())),
        forward_passes=len(schedule.steps),
        longest_tokens=max((len(ids) for ids, _ in sequences), default=0),
    )


def compute_flop(cost: ShardCost, shape: ModelShape) -> float:
    """Floating-point operations of the matrix products: two a weight and token, head rows where scored."""
    body = 2.0 * shape.linear_parameters * cost.computed_tokens
    head = 2.0 * shape.width * shape.vocabulary * cost.logit_rows
    return body + head


def memory_bytes(shape: ModelShape, *, dtype: Dtype, token_budget: int, longest_tokens: int) -> int:
    """An estimate of peak memory: weights, the trunk's keys and values, one pack's activations and logits.

    The activations of one layer are counted as 16 widths a token, which covers attention inputs and a
    gated feed-forward of four widths.
    """
    size = _DTYPE_BYTES[dtype]
    weights = shape.parameters * size
    cached = 2 * shape.layers * shape.key_value_width * (longest_tokens + token_budget) * size
    activations = 16 * shape.width * token_budget * size
    mask = token_budget * (token_budget + longest_tokens) * size
    logits = 2 * _LOGIT_ROWS * shape.vocabulary * 4
    return weights + cached + activations + mask + logits
