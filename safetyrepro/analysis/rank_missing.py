"""Missing scores: how many, and whether the decisions survive the worst that they could have been."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safetyrepro.analysis.rank_input import Oriented, RankOptions
from safetyrepro.data.rank_study import MissingOutcomes
from safetyrepro.errors import InputError, must_be
from safetyrepro.rng import generator
from safetyrepro.stats.joint_comparison import all_pairs
from safetyrepro.stats.sensitivity import missing_outcome_bounds

MOST_FILLED = 20_000_000
"""Filled scores that are held at once: two for every pair, configuration and item."""


@dataclass(frozen=True, slots=True)
class Missing:
    """The stored record, and (P,) how many decisions of each pair survive, where that was computed."""

    record: MissingOutcomes
    by_pair: NDArray[np.int64] | None


def missing_outcomes(
    scores: NDArray[np.float64], turned: Oriented, *, clusters: NDArray[np.int64], options: RankOptions
) -> Missing:
    """Worst-case bounds over all pairs and configurations, or the reason why there are none.

    Args:
        scores: (M, C, N) as given. turned: the same, larger is better. clusters: (N,) codes.

    Raises:
        InputError: a score outside the declared range.
    """
    missing = int(np.isnan(scores).sum())
    bounds, reason = _bounds(scores, turned, options=options, missing=missing)
    if missing == 0 or bounds is None:
        return Missing(_record(scores, missing, bounds, reason=reason), None)
    turned_bounds = (-bounds[1], -bounds[0]) if options.direction.kind == "lower" else bounds
    found = missing_outcome_bounds(
        turned.points,
        clusters,
        pairs=all_pairs(scores.shape[0]),
        lowest=turned_bounds[0],
        highest=turned_bounds[1],
        rng=generator(options.seed, "missing-outcomes"),
        level=options.confidence,
        resamples=options.joint_resamples,
    )
    survive = found.decisions_survive()
    record = _record(scores, missing, bounds, reason=None)
    counted = {"decisions": int(survive.size), "surviving": int(survive.sum())}
    return Missing(record.model_copy(update=counted), survive.sum(axis=1))


def _bounds(
    scores: NDArray[np.float64], turned: Oriented, *, options: RankOptions, missing: int
) -> tuple[tuple[float, float] | None, str | None]:
    """The range of the score, or why no worst case is computed."""
    low, high = float(np.nanmin(scores)), float(np.nanmax(scores))
    declared = options.bounds
    if declared is not None and not (declared[0] <= low and high <= declared[1]):
        rule = f"every score must lie in {declared[0]:g}..{declared[1]:g}"
        raise InputError(must_be("range", rule, low if low < declared[0] else high))
    if missing == 0:
        return None, None
    models, configurations, items = scores.shape
    pairs = models * (models - 1) // 2
    if models < 2:
        return None, "there is only one model"
    if turned.above is not None:
        return None, "a missing score could move a mean to the other side of its target"
    if declared is None and not (low >= 0.0 and high <= 1.0):
        return None, "the range of the score was not declared"
    if 2 * pairs * configurations * items > MOST_FILLED:
        return None, f"{pairs} pairs x {configurations} configurations x {items} items are too many to fill"
    return declared or (0.0, 1.0), None


def _record(
    scores: NDArray[np.float64],
    missing: int,
    bounds: tuple[float, float] | None,
    *,
    reason: str | None,
) -> MissingOutcomes:
    return MissingOutcomes(
        scores=int(scores.size),
        missing=missing,
        lowest=None if bounds is None else bounds[0],
        highest=None if bounds is None else bounds[1],
        decisions=None,
        surviving=None,
        reason=reason,
    )
