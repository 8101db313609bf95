"""The configurations of an envelope among each other: weights, how many there really are, changes.

Levels come as (C, F) integers: the level of each factor in each configuration.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safetyrepro.errors import InputError, must_be
from safetyrepro.stats.joint import checked_scores
from safetyrepro.stats.undefined import Undefined


def configuration_weights(
    levels: NDArray[np.int64], level_weights: Sequence[Mapping[int, float]]
) -> NDArray[np.float64]:
    """(C,) share of each configuration: the product of its levels' weights, over their sum.

    Args:
        levels: (C, F).
        level_weights: one mapping from level to weight for each factor, every level named.

    Raises:
        InputError: a factor or level without weight, a weight that is negative or not finite, all zero.
    """
    array = checked_levels(levels)
    if len(level_weights) != array.shape[1]:
        rule = f"must have one mapping for each of {array.shape[1]} factors"
        raise InputError(must_be("level_weights", rule, len(level_weights)))
    shares = np.ones(array.shape[0])
    for f, weights in enumerate(level_weights):
        for level in np.unique(array[:, f]).tolist():
            weight = weights.get(level)
            if weight is None or not 0.0 <= weight < np.inf:
                raise InputError(
                    must_be(f"level_weights.{f}.{level}", "must be a finite weight, at least 0", weight)
                )
            shares[array[:, f] == level] *= weight
    if not shares.sum() > 0:
        raise InputError(must_be("level_weights", "must leave some configuration with weight", "none"))
    return np.asarray(shares / shares.sum())


@dataclass(frozen=True, slots=True)
class WeightedCounts:
    """The weight of the configurations in which the first model is reliably ahead, behind, neither."""

    ahead: float
    behind: float
    undecided: float


def weighted_counts(signs: NDArray[np.int8], weights: NDArray[np.float64]) -> WeightedCounts:
    """The share of an envelope's weight with each decision, from decisions (C,) and weights (C,).

    Raises:
        InputError: shapes that differ, a negative weight, all zero.
    """
    decided, shares = np.asarray(signs), np.asarray(weights, dtype=np.float64)
    if decided.ndim != 1 or decided.shape != shares.shape:
        raise InputError(must_be("weights", f"must have the shape {decided.shape}", shares.shape))
    if not (np.isfinite(shares).all() and (shares >= 0).all() and shares.sum() > 0):
        raise InputError(must_be("weights", "must be finite, at least 0 and not all 0", shares.tolist()))
    shares = shares / shares.sum()
    ahead, behind = float(shares[decided > 0].sum()), float(shares[decided < 0].sum())
    return WeightedCounts(ahead=ahead, behind=behind, undecided=float(shares[decided == 0].sum()))


def effective_configurations(
    scores: NDArray[np.float64], *, weights: NDArray[np.float64] | None = None
) -> float | Undefined:
    """How many configurations the envelope has for comparing models, near-duplicates counted as one.

    With rho the correlation between two configurations of the item scores centred at their mean over
    models (what moves a comparison), and weights w that sum to one: 1 / sum_cd w_c w_d rho_cd^2. It is
    C when comparisons under different configurations are unrelated and 1 when they are all the same.

    Args:
        scores: (M, C, N); only items with a score in every cell are used.
        weights: (C,), equal if not given.

    Undefined with fewer than 2 models, without a complete item, or where a configuration of positive
    weight never tells two models apart.

    Raises:
        InputError: shapes that do not fit, weights that are negative or all zero.

    Source: (sum lambda)^2 / sum lambda^2 of Bretherton et al. 1999, Journal of Climate 12, applied to
    the correlation matrix; with weights it is the inverse of Rao's similarity-sensitive concentration.
    """
    array = checked_scores(scores, "scores")
    models, configurations, _ = array.shape
    shares = np.full(configurations, 1.0) if weights is None else np.asarray(weights, dtype=np.float64)
    if shares.shape != (configurations,):
        raise InputError(must_be("weights", f"must have the shape ({configurations},)", shares.shape))
    if not (np.isfinite(shares).all() and (shares >= 0).all() and shares.sum() > 0):
        raise InputError(must_be("weights", "must be finite, at least 0 and not all 0", shares.tolist()))
    shares = shares / shares.sum()
    if models < 2:
        return Undefined("configurations differ in how they compare models; there is only one model")
    complete = array[:, :, ~np.isnan(array).any(axis=(0, 1))]
    if complete.shape[2] == 0:
        return Undefined("no item has a score in every cell")
    used = shares > 0
    kept = complete[:, used]
    centred = models * kept - kept.sum(axis=0)  # times M, so that whole scores stay whole
    rows = _on_product_grid(np.moveaxis(centred, 1, 0).reshape(int(used.sum()), -1))
    spread = np.square(rows).sum(axis=1)
    flat = np.flatnonzero(spread == 0)
    if flat.size:
        place = int(np.flatnonzero(used)[flat[0]])
        return Undefined(f"configuration {place} gives all models the same score on every item")
    similarity = np.square(rows @ rows.T) / np.outer(spread, spread)
    return float(1.0 / (shares[used] @ similarity @ shares[used]))


def _on_product_grid(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Whole numbers proportional to the rows, small enough that sums of their products are exact.

    At 150,000 columns each keeps 18 bits of the largest; the products do not depend on the number of
    threads.
    """
    largest = float(np.abs(rows).max(initial=0.0))
    bits = (53 - math.frexp(float(rows.shape[1]))[1]) // 2
    return np.asarray(np.rint(np.ldexp(rows, bits - math.frexp(largest)[1])))


@dataclass(frozen=True, slots=True)
class FactorReversals:
    """What changing one factor and nothing else does to a pair's decision.

    matched: pairs of configurations that differ in this factor only. decided: those among them with a
    decision on both sides. reversed: those with opposite decisions.
    """

    factor: int
    matched: int
    decided: int
    reversed: int


@dataclass(frozen=True, slots=True)
class SmallestReversal:
    """The fewest factors whose change turns a decision around.

    size: how many. sets: each set of factors of that size that does, with the number of pairs of
    configurations in which it does, most frequent first. example: one such pair (ahead, behind).
    """

    size: int
    sets: tuple[tuple[tuple[int, ...], int], ...]
    example: tuple[int, int]


def factor_reversals(levels: NDArray[np.int64], signs: NDArray[np.int8]) -> tuple[FactorReversals, ...]:
    """For each factor, how often changing it alone turns the decision around, in matched changes.

    Args:
        levels: (C, F), no configuration twice.
        signs: (C,) decisions of one pair, +1, 0, -1 (signs of estimates would count noise).

    Raises:
        InputError: shapes that do not fit, a configuration that comes twice.
    """
    array, decided = _checked_changes(levels, signs)
    one, two = np.triu_indices(array.shape[0], k=1)
    changed = array[one] != array[two]
    single = changed.sum(axis=1) == 1
    both = decided[one] * decided[two]
    out = []
    for f in range(array.shape[1]):
        matched = single & changed[:, f]
        out.append(
            FactorReversals(
                factor=f,
                matched=int(matched.sum()),
                decided=int((matched & (both != 0)).sum()),
                reversed=int((matched & (both < 0)).sum()),
            )
        )
    return tuple(out)


def smallest_reversal(
    levels: NDArray[np.int64], signs: NDArray[np.int8], *, start: int | None = None
) -> SmallestReversal | Undefined:
    """The smallest set of factor changes that turns the decision around.

    Args:
        levels: (C, F), no configuration twice. signs: (C,) decisions of one pair.
        start: only changes away from this configuration (the primary one).

    Undefined where no two configurations (none opposite to `start`) are decided in opposite directions.

    Raises:
        InputError: shapes that do not fit, a configuration that comes twice, start outside 0..C-1.
    """
    array, decided = _checked_changes(levels, signs)
    if start is not None and not 0 <= start < array.shape[0]:
        raise InputError(must_be("start", f"must lie in 0..{array.shape[0] - 1}", start))
    ahead, behind = np.flatnonzero(decided > 0), np.flatnonzero(decided < 0)
    if start is not None:
        ahead = ahead[ahead == start] if decided[start] > 0 else ahead
        behind = behind[behind == start] if decided[start] < 0 else behind
        if decided[start] == 0:
            return Undefined(f"configuration {start} is undecided, so there is nothing to reverse")
    if not (ahead.size and behind.size):
        return Undefined("no two configurations decide in opposite directions")
    changed = array[ahead][:, None, :] != array[behind][None, :, :]
    distances = changed.sum(axis=2)
    size = int(distances.min())
    places = np.argwhere(distances == size)
    sets, counts = np.unique(changed[places[:, 0], places[:, 1]], axis=0, return_counts=True)
    found = [
        (tuple(np.flatnonzero(chosen).tolist()), int(count))
        for chosen, count in zip(sets, counts, strict=True)
    ]
    ranked = sorted(found, key=lambda entry: (-entry[1], entry[0]))
    example = (int(ahead[places[0, 0]]), int(behind[places[0, 1]]))
    return SmallestReversal(size=size, sets=tuple(ranked), example=example)


def checked_levels(levels: NDArray[np.int64]) -> NDArray[np.int64]:
    """The levels as integers (C, F), C >= 1; F = 0 is an envelope without factors.

    Raises:
        InputError: otherwise.
    """
    array = np.asarray(levels)
    if array.ndim != 2 or array.shape[0] == 0:
        raise InputError(must_be("levels", "must have the shape (configurations, factors)", array.shape))
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise InputError(must_be("levels", "must be integers", str(array.dtype)))
    return array.astype(np.int64)


def _checked_changes(
    levels: NDArray[np.int64], signs: NDArray[np.int8]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    array, decided = checked_levels(levels), np.asarray(signs)
    if decided.shape != (array.shape[0],):
        raise InputError(must_be("signs", f"must have the shape ({array.shape[0]},)", decided.shape))
    if np.unique(array, axis=0).shape[0] != array.shape[0]:
        raise InputError(must_be("levels", "must not hold a configuration twice", array.tolist()))
    return array, np.sign(decided).astype(np.int64)
