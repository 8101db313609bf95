"""Choices with any number of options: credit for the top option, and the mass on the right ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from safetyrepro.errors import InputError, must_be
from safetyrepro.stats.clusters import cluster_means
from safetyrepro.stats.estimates import Estimate, Support, estimate_means
from safetyrepro.stats.undefined import Undefined

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]


def top_credit(scores: FloatArray, *, present: BoolArray, gold: BoolArray) -> FloatArray:
    """(..., N) whether the option with the highest score is right; k options tied for it get 1/k each.

    This is what drawing one of the tied options at random gets on average.

    Args:
        scores: (A, ..., N) of A options; NaN is "no score".
        present, gold: (A, N) which options an item has, and which of them are right.

    NaN where an option that the item has is without a score.

    Raises:
        InputError: shapes that do not fit, an infinite score of an option.
    """
    filled, known, right = _checked(scores, present, gold)
    top = filled == filled.max(axis=0)
    return np.where(known, (top & right).sum(axis=0) / top.sum(axis=0), np.nan)


def gold_mass(scores: FloatArray, *, present: BoolArray, gold: BoolArray) -> FloatArray:
    """(..., N) the softmax of an item's scores over its options, summed over the right ones.

    Shapes, NaN and errors as in `top_credit`. Scores are in nats (of a whole answer, a token or a byte).

    Source: Lin et al. 2022, arXiv 2109.07958 (MC2, with the sum of an answer's log-probabilities).
    """
    filled, known, right = _checked(scores, present, gold)
    weights = np.exp(filled - filled.max(axis=0))
    return np.where(known, np.where(right, weights, 0.0).sum(axis=0) / weights.sum(axis=0), np.nan)


def gold_margin(scores: FloatArray, *, present: BoolArray, gold: BoolArray) -> FloatArray:
    """(..., N) the highest score among right options minus the highest among wrong ones.

    Shapes, NaN and errors as in `top_credit`; an item must have an option of each kind.
    """
    filled, known, right = _checked(scores, present, gold)
    best = np.where(right, filled, -np.inf).max(axis=0)
    other = np.where(right, -np.inf, filled).max(axis=0)
    return np.where(known, best - other, np.nan)


def tied_at_top(scores: FloatArray, *, present: BoolArray) -> BoolArray:
    """(..., N) whether two or more options of an item share its highest score."""
    filled, known, _ = _checked(scores, present, present)
    shared = (filled == filled.max(axis=0)).sum(axis=0) > 1
    return np.asarray(np.logical_and(known, shared), dtype=np.bool_)


def estimate_points(
    points: FloatArray,
    *,
    support: Support,
    clusters: NDArray[np.str_],
    level: float,
    resamples: int,
    rng: np.random.Generator,
    strata: NDArray[np.str_] | None = None,
    weights: Mapping[str, float] | None = None,
) -> tuple[Estimate | Undefined, ...]:
    """(Q) estimates of the means of points (Q, N), all from the same resamples of the clusters (N,).

    Undefined for a series without a scored item. With strata (N,) the means are weighted by their shares.

    Raises:
        InputError: shapes that do not fit, a level outside (0, 1), too few resamples.
    """
    means = cluster_means(
        points, clusters=clusters, strata=strata, weights=weights, where="estimate_points"
    )
    return estimate_means(means, (support,) * points.shape[0], level=level, resamples=resamples, rng=rng)


def _checked(
    scores: FloatArray, present: BoolArray, gold: BoolArray
) -> tuple[FloatArray, BoolArray, BoolArray]:
    """Scores with -inf where there is no option, zeros where one is missing; which are whole; the golds."""
    options, items = scores.shape[0], scores.shape[-1]
    for name, mask in (("present", present), ("gold", gold)):
        if mask.shape != (options, items):
            raise InputError(must_be("choices", f"{name} must have shape {(options, items)}", mask.shape))
    between = (1,) * (scores.ndim - 2)
    has = present.reshape(options, *between, items)
    if (np.isinf(scores) & has).any():
        raise InputError(must_be("choices", "scores must be finite, or NaN where missing", float("inf")))
    known: BoolArray = np.asarray((~has | ~np.isnan(scores)).all(axis=0))
    filled = np.where(has, np.where(np.isnan(scores), 0.0, scores), -np.inf)
    return filled, known, gold.reshape(options, *between, items) & has
