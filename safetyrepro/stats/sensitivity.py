"""How much it takes to change the answer: removed items, and outcomes that are missing."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safetyrepro.errors import InputError, must_be
from safetyrepro.stats.envelope import JointComparison
from safetyrepro.stats.joint import cell_means, checked_scores, cluster_scores
from safetyrepro.stats.joint_comparison import checked_pairs, compare_pairs
from safetyrepro.stats.undefined import Undefined


@dataclass(frozen=True, slots=True)
class FewestRemovals:
    """The fewest items without which another model is ahead of the top one, in one configuration.

    count: how many; 0 if the rival is ahead already on the items both have. removed: which, (count,)
    indices. For scores 0 and 1 the count is wins - losses + 1.
    """

    top: int
    rival: int
    count: int
    removed: tuple[int, ...]


def fewest_removals(
    scores: NDArray[np.float64],
) -> tuple[FewestRemovals | Undefined, ...]:
    """For each configuration, the fewest items whose removal puts another model strictly ahead.

    The top is the model with the highest mean; each rival is compared with it on the items that both
    have, every item counting once. Removing the items with the largest differences first is exact: the
    order of two means over the same items is the sign of a sum. Of several rivals the one that needs
    fewest removals is named, then the smaller index; of equal items those that come first.

    Args:
        scores: (M, C, N), larger is better, NaN missing.

    Undefined, in its configuration, with fewer than 2 models or without scores for one, when models
    share the top, or when no removal suffices, since no rival is ahead on any item.

    Raises:
        InputError: scores that are not (M, C, N).
    """
    array = checked_scores(scores, "scores")
    means = cell_means(array)
    exact = cluster_scores(array, np.arange(array.shape[2]))
    items = np.flatnonzero(~np.isnan(array).all(axis=(0, 1)))
    return tuple(_removals_of_top(exact.values[:, c], means[:, c], items) for c in range(array.shape[1]))


@dataclass(frozen=True, slots=True)
class MissingOutcomeBounds:
    """What the answer could be had no outcome been missing: every missing score at its worst and best.

    lower, upper: (P, C) smallest and largest difference that any filling gives; equal to the estimate
    where nothing is missing. missing: (P, C) items without both scores.
    worst, best: the joint comparison with every missing score filled against, and for, the first model
    of each pair; both from the same resamples.
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    missing: NDArray[np.int64]
    worst: JointComparison
    best: JointComparison

    def decisions_survive(self) -> NDArray[np.bool_]:
        """(P, C) the decision is the same at both ends, hence whatever the missing outcomes were."""
        return np.asarray(self.worst.decisions == self.best.decisions)


def missing_outcome_bounds(
    scores: NDArray[np.float64],
    clusters: NDArray[np.int64],
    *,
    pairs: NDArray[np.int64],
    lowest: float,
    highest: float,
    rng: np.random.Generator,
    level: float = 0.95,
    resamples: int = 2000,
) -> MissingOutcomeBounds:
    """Worst-case bounds for missing outcomes, and the joint decisions at both ends.

    Args:
        scores: (M, C, N), larger is better, NaN missing. clusters: (N,) integer codes.
        pairs: (P, 2) declared pairs; memory grows with P x C x N.
        lowest, highest: the range of the score.

    The decisions at an end are simultaneous over pairs and configurations at that end. An item that no
    cell has a score for is missing too, and filled.

    Raises:
        InputError: as `compare_pairs`, or a score outside lowest..highest.

    Source: Horowitz & Manski 2000, JASA 95 (bounds without assumptions on what is missing).
    """
    array = checked_scores(scores, "scores")
    declared = checked_pairs(pairs, models=array.shape[0])
    if not (np.isfinite(lowest) and np.isfinite(highest) and lowest < highest):
        raise InputError(must_be("lowest, highest", "must be finite and ascending", (lowest, highest)))
    outside = (array < lowest) | (array > highest)
    if outside.any():
        rule = f"must lie in {lowest}..{highest}"
        raise InputError(must_be("scores", rule, float(array[outside][0])))
    ends = []
    for draws, for_first, for_second in (
        (copy.deepcopy(rng), lowest, highest),
        (rng, highest, lowest),
    ):
        first, second = array[declared[:, 0]], array[declared[:, 1]]
        filled = np.concatenate(
            [
                np.where(np.isnan(first), for_first, first),
                np.where(np.isnan(second), for_second, second),
            ]
        )
        count = declared.shape[0]
        own = np.stack([np.arange(count), np.arange(count) + count], axis=1)
        ends.append(compare_pairs(filled, clusters, pairs=own, rng=draws, level=level, resamples=resamples))
    gaps = np.isnan(array[declared[:, 0]]) | np.isnan(array[declared[:, 1]])
    return MissingOutcomeBounds(
        lower=ends[0].differences,
        upper=ends[1].differences,
        missing=gaps.sum(axis=2),
        worst=ends[0],
        best=ends[1],
    )


def _removals_of_top(
    scores: NDArray[np.float64], means: NDArray[np.float64], items: NDArray[np.int64]
) -> FewestRemovals | Undefined:
    """The fewest removals in one configuration, from exact scores (M, N) and their means (M,)."""
    if means.size < 2:
        return Undefined("there is only one model")
    if np.isnan(means).any():
        return Undefined(f"model {int(np.flatnonzero(np.isnan(means))[0])} has no score")
    leaders = np.flatnonzero(means == means.max())
    if leaders.size > 1:
        return Undefined(f"models {', '.join(map(str, leaders.tolist()))} share the top")
    top = int(leaders[0])
    best: FewestRemovals | None = None
    for rival in range(means.size):
        if rival == top:
            continue
        differences = scores[top] - scores[rival]
        places = np.flatnonzero(~np.isnan(differences))
        order = places[np.argsort(-differences[places], kind="stable")]
        left = differences[places].sum() - np.concatenate([[0.0], np.cumsum(differences[order])])
        enough = np.flatnonzero(left[:-1] < 0)
        if enough.size and (best is None or enough[0] < best.count):
            count = int(enough[0])
            removed = tuple(sorted(items[order[:count]].tolist()))
            best = FewestRemovals(top=top, rival=rival, count=count, removed=removed)
    if best is None:
        return Undefined(f"no other model is ahead of model {top} on any item")
    return best
