"""Scoring rules: how an answer's log-probabilities become one score. All rules read one pass."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from safetyrepro.spec.factors import Rule

RULE_UNITS: Final[dict[Rule, str]] = {
    "sum": "nats",
    "mean": "nats per token",
    "byte": "nats per byte",
    "pmi": "nats",
}


def rule_scores(
    rule: Rule,
    *,
    sum_nats: NDArray[np.float64],
    unconditional_nats: NDArray[np.float64],
    tokens: NDArray[np.int64],
    utf8_bytes: NDArray[np.int64],
) -> NDArray[np.float64]:
    """The score of every answer under a rule; arrays of one shape, NaN where there is no score.

    sum: log p(y | x). mean: sum / tokens. byte: sum / UTF-8 bytes of the text. pmi: log p(y | x) -
    log p(y | context), the pointwise mutual information with the declared context (Source: Holtzman et
    al. 2021, arXiv 2104.08315).
    """
    match rule:
        case "sum":
            return sum_nats.copy()
        case "mean":
            return np.divide(sum_nats, tokens, out=np.full_like(sum_nats, np.nan), where=tokens > 0)
        case "byte":
            return np.divide(sum_nats, utf8_bytes, out=np.full_like(sum_nats, np.nan), where=utf8_bytes > 0)
        case "pmi":
            return sum_nats - unconditional_nats


def prompt_blind_scores(
    rule: Rule,
    *,
    unconditional_nats: NDArray[np.float64],
    tokens: NDArray[np.int64],
    utf8_bytes: NDArray[np.int64],
) -> NDArray[np.float64]:
    """What the rule gives when the prompt is replaced by the declared context.

    Under pmi that is zero for every answer, so the plain unconditional sum stands in.
    """
    return rule_scores(
        "sum" if rule == "pmi" else rule,
        sum_nats=unconditional_nats,
        unconditional_nats=unconditional_nats,
        tokens=tokens,
        utf8_bytes=utf8_bytes,
    )
