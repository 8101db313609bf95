"""From logits to nats to scores: the float64 reference, and the scoring rules read off a row."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from safetyrepro.data.records import Outcome, Row
from safetyrepro.spec.factors import Rule


def log_softmax(logits: NDArray[np.floating]) -> NDArray[np.float64]:
    """Log-probabilities in nats over the last axis, in float64: (..., V) to (..., V).

    A shift of all logits by a constant changes nothing; a logit of minus infinity has probability zero.
    """
    wide = np.asarray(logits, dtype=np.float64)
    shifted = wide - np.max(wide, axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True)), dtype=np.float64)


def token_log_probs(logits: NDArray[np.floating], *, ids: Sequence[int], start: int) -> NDArray[np.float64]:
    """Log-probability in nats of `ids[start:]`, (T - start,), from the logits of a whole sequence, (T, V).

    Row t of the logits predicts token t + 1; `start` is at least 1.
    """
    if not 1 <= start < len(ids):
        raise ValueError(f"start must be from 1 to {len(ids) - 1}; got {start}")
    rows = log_softmax(np.asarray(logits)[start - 1 : len(ids) - 1])
    return np.asarray(rows[np.arange(len(rows)), list(ids[start:])], dtype=np.float64)


def sum_nats(token_nats: NDArray[np.float64]) -> float:
    """The correctly rounded float64 sum, the same in whatever order the tokens come."""
    return math.fsum(token_nats.tolist())


def rule_score(rule: Rule, row: Row) -> float | None:
    """The score of an answer by `rule`, from its row; None where the row was not scored.

    Units: `sum` nats, `mean` nats a token, `byte` nats a UTF-8 byte, `pmi` nats above the unconditional
    score of the same tokens.

    Raises:
        ValueError: pmi of a row without an unconditional score, or bytes of an answer without bytes.

    Source: arXiv 2605.30758 for sum and mean; pmi is the domain-conditional pointwise mutual information of
    arXiv 2104.08315; bytes make scores of different tokenizers comparable.
    """
    if row.outcome is not Outcome.SCORED or row.sum_nats is None:
        return None
    match rule:
        case "sum":
            return row.sum_nats
        case "mean":
            return row.sum_nats / row.tokens
        case "byte":
            if row.bytes_ < 1:
                raise ValueError(
                    f"item {row.item}: bytes must be at least 1 for the byte rule; got {row.bytes_}"
                )
            return row.sum_nats / row.bytes_
        case "pmi":
            if row.unconditional_nats is None:
                raise ValueError(f"item {row.item}: pmi needs unconditional_nats; got None")
            return row.sum_nats - row.unconditional_nats
