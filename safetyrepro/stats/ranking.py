"""Ranks of models in every configuration: rank sets that hold together, top-k places, orderings."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safetyrepro.errors import InputError, must_be
from safetyrepro.stats.envelope import JointComparison
from safetyrepro.stats.joint import (
    MIN_CLUSTERS,
    block_size,
    cluster_scores,
    resample_counts,
    weighted_means,
)
from safetyrepro.stats.undefined import Undefined

ALL_ORDERINGS_UP_TO = 5
"""Models up to which every ordering is listed, those that never occur too (5! = 120)."""


@dataclass(frozen=True, slots=True)
class RankSets:
    """For each model and configuration the ranks it can have; all sets hold together at `level`.

    lowest, highest: (M, C), 1 is best; the rank lies in lowest..highest (both included), where a model's
    rank is 1 + the number of models truly ahead of it.
    """

    lowest: NDArray[np.int64]
    highest: NDArray[np.int64]
    level: float

    def over_envelope(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(M,), (M,): the smallest and the largest rank that any configuration leaves possible."""
        return self.lowest.min(axis=1), self.highest.max(axis=1)

    def surely_in_top(self, k: int) -> NDArray[np.bool_]:
        """(M, C) no rank beyond k is possible."""
        return np.asarray(self.highest <= k)

    def possibly_in_top(self, k: int) -> NDArray[np.bool_]:
        """(M, C) some rank up to k is possible."""
        return np.asarray(self.lowest <= k)


def rank_sets(comparison: JointComparison, *, models: int) -> RankSets:
    """Rank sets of all models under all configurations, simultaneous at the comparison's level.

    A model's lowest rank is one more than the models reliably ahead of it; its highest leaves out those
    reliably behind it. A cell without a test decides nothing, so it widens the sets.

    Raises:
        InputError: the comparison does not hold every pair of the M models exactly once.

    Source: Mogstad, Romano, Shaikh & Wilhelm 2024, Review of Economic Studies 91: rank sets from
    simultaneous bounds of all pairwise differences, here over configurations too.
    """
    first, second = comparison.pairs[:, 0], comparison.pairs[:, 1]
    seen = set(zip(np.minimum(first, second).tolist(), np.maximum(first, second).tolist(), strict=True))
    wanted = set(itertools.combinations(range(models), 2))
    if seen != wanted or first.size != len(wanted):
        raise InputError(
            must_be("rank_sets", f"every pair of the {models} models must be compared once", first.size)
        )
    ahead = (comparison.decisions > 0).astype(np.int64)
    behind = (comparison.decisions < 0).astype(np.int64)
    shape = (models, comparison.decisions.shape[1])
    better, worse = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    np.add.at(better, second, ahead)
    np.add.at(worse, first, ahead)
    np.add.at(better, first, behind)
    np.add.at(worse, second, behind)
    return RankSets(lowest=1 + better, highest=models - worse, level=comparison.level)


def observed_ranks(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """(M, C) rank of each model by its mean score, 1 the highest; tied models share their mean rank.

    A model without a score in a configuration has no rank there (NaN). Description, not evidence.
    """
    array = checked_means(means)
    with np.errstate(invalid="ignore"):
        above = (array[None, :, :] > array[:, None, :]).sum(axis=1)
        level = (array[None, :, :] == array[:, None, :]).sum(axis=1)
    return np.where(np.isnan(array), np.nan, above + (level + 1) / 2)


@dataclass(frozen=True, slots=True)
class TopK:
    """How often each model is among the first k, over joint resamples of item clusters.

    shares: (M, C), each configuration's shares sum to k; models tied at the boundary share its places.
    A share is how steady the place is under other items like these; it is no probability that the model
    belongs there. `RankSets.surely_in_top` decides.
    """

    k: int
    shares: NDArray[np.float64]
    resamples: int


def top_k_inclusion(
    scores: NDArray[np.float64],
    clusters: NDArray[np.int64],
    *,
    k: int,
    rng: np.random.Generator,
    resamples: int = 2000,
) -> TopK | Undefined:
    """The share of joint resamples in which each model is among the first k of each configuration.

    Args:
        scores: (M, C, N), larger is better, NaN missing. A model without a score in a resample is last.
        clusters: (N,) integer codes.
        k: places, 1..M-1.

    Undefined with fewer than 5 clusters, or where a model has no score in a configuration.

    Raises:
        InputError: shapes that do not fit, k outside 1..M-1, resamples < 1.
    """
    data = cluster_scores(scores, clusters)
    models, configurations, _ = data.values.shape
    if not 1 <= k < models:
        raise InputError(must_be("top_k_inclusion", f"k must lie in 1..{models - 1}", k))
    if resamples < 1:
        raise InputError(must_be("top_k_inclusion", "resamples must be at least 1", resamples))
    if data.clusters < MIN_CLUSTERS:
        return Undefined(f"resampling needs at least {MIN_CLUSTERS} clusters; there are {data.clusters}")
    if np.isnan(data.values).all(axis=2).any():
        return Undefined("a model has no score in one of the configurations")
    total = np.zeros((models, configurations))
    block = block_size(models * configurations)
    for counts in resample_counts(rng, clusters=data.clusters, resamples=resamples, block=block):
        total += top_k_membership(weighted_means(data, counts), k=k).sum(axis=0)
    return TopK(k=k, shares=total / resamples, resamples=resamples)


def top_k_membership(means: NDArray[np.float64], *, k: int) -> NDArray[np.float64]:
    """Which models are among the first k, along axis -2 of (..., M, C): 1 in, 0 out, NaN last.

    Models tied at the boundary get equal parts of the places left, so that each column sums to k.
    """
    filled = np.where(np.isnan(means), -np.inf, means)
    boundary = np.sort(filled, axis=-2)[..., -k, :][..., None, :]
    above, tied = filled > boundary, filled == boundary
    left = k - above.sum(axis=-2, keepdims=True)
    return np.asarray(above + tied * (left / tied.sum(axis=-2, keepdims=True)))


@dataclass(frozen=True, slots=True)
class Ordering:
    """One ordering of the models, best first, and the configurations in which the estimates show it.

    Each place holds one model; in an ordering with ties a place holds several.
    """

    places: tuple[tuple[int, ...], ...]
    configurations: tuple[int, ...]

    @property
    def tied(self) -> bool:
        """Some place holds more than one model."""
        return any(len(place) > 1 for place in self.places)


def orderings(means: NDArray[np.float64]) -> tuple[Ordering, ...] | Undefined:
    """The orderings of the models by their mean scores, most frequent first.

    Up to 5 models all M! strict orderings are listed, those that never occur with no configuration;
    beyond that, only what occurs. Orderings with ties are listed when they occur. Equally frequent ones
    come in the order of their models. Description, not evidence.

    Undefined where a model has no score in some configuration.

    Raises:
        InputError: means that are not (M, C).
    """
    array = checked_means(means)
    if np.isnan(array).any():
        return Undefined("a model has no score in one of the configurations")
    found: dict[tuple[tuple[int, ...], ...], list[int]] = {}
    if array.shape[0] <= ALL_ORDERINGS_UP_TO:
        for order in itertools.permutations(range(array.shape[0])):
            found[tuple((model,) for model in order)] = []
    for c in range(array.shape[1]):
        values = np.unique(array[:, c])[::-1]
        places = tuple(tuple(np.flatnonzero(array[:, c] == value).tolist()) for value in values)
        found.setdefault(places, []).append(c)
    ranked = sorted(found.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    return tuple(Ordering(places=places, configurations=tuple(where)) for places, where in ranked)


def checked_means(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean scores as float64 (M, C), no axis empty, no infinity.

    Raises:
        InputError: otherwise.
    """
    array = np.asarray(means, dtype=np.float64)
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(must_be("means", "must have the shape (models, configurations)", array.shape))
    if np.isinf(array).any():
        raise InputError(must_be("means", "must be finite, or NaN where missing", "an infinity"))
    return array
