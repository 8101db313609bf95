"""What noise alone does to rankings: split halves, swapped labels, repeated runs.

Agreement between configurations means nothing by itself: two noisy rankings disagree even where the
configuration does not matter. Each comparison here has its own floor beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safetyrepro.errors import InputError, must_be
from safetyrepro.stats.joint import (
    ClusteredScores,
    checked_clusters,
    checked_scores,
    cluster_scores,
    weighted_means,
)
from safetyrepro.stats.rank_agreement import (
    MIN_MODELS,
    known_mean,
    mean_off_diagonal,
    mean_or_undefined,
    off_diagonal,
    rho_between,
    tau_between,
    too_few_models,
)
from safetyrepro.stats.ranking import top_k_membership
from safetyrepro.stats.undefined import Undefined

SWAP_BLOCKS = 256
"""At most this many blocks of clusters get labels of their own in a label-swap test."""


@dataclass(frozen=True, slots=True)
class SplitHalfAgreement:
    """Agreement between configurations beside its noise floor, both from halves of the items.

    Per pair of configurations c, c' (C, C): `between` is the mean over splits of the agreement of c on
    one half with c' on the other; `floor` that of each with itself on the other half, averaged over the
    two. Equal when the configuration does not matter; `between` is lower when it does. Half-sized samples
    give both more noise than the full sample has; only their comparison means something.
    """

    between: NDArray[np.float64]
    floor: NDArray[np.float64]

    def mean_between(self) -> float | Undefined:
        """Mean of `between` over pairs of different configurations."""
        return mean_off_diagonal(self.between)

    def mean_floor(self) -> float | Undefined:
        """Mean of `floor` over the same pairs."""
        return mean_off_diagonal(self.floor)


@dataclass(frozen=True, slots=True)
class SplitHalves:
    """Split-half comparisons of tau-b, of Spearman's rho, and of the overlap of the first k models.

    tau, rho: Undefined below 5 models. overlap: share of the first k that two configurations have in
    common; churn is 1 - overlap. `overlap` is Undefined when no k was asked for.
    """

    tau: SplitHalfAgreement | Undefined
    rho: SplitHalfAgreement | Undefined
    overlap: SplitHalfAgreement | Undefined
    splits: int
    clusters: int


def split_half_floor(
    scores: NDArray[np.float64],
    clusters: NDArray[np.int64],
    *,
    rng: np.random.Generator,
    splits: int = 200,
    top_k: int | None = None,
) -> SplitHalves | Undefined:
    """How far configurations agree on different items, beside how far each agrees with itself there.

    Clusters are dealt into two random halves, `splits` times. Both comparisons run between halves, so
    that configurations gain nothing from sharing items, which hides harness effects when a floor is made
    by resampling all items jointly.

    Args:
        scores: (M, C, N), NaN missing. clusters: (N,) integer codes.
        top_k: also compare the first k models, 1..M-1.

    Undefined with fewer than 4 clusters or fewer than 2 configurations, or where a model has no score in
    a configuration.

    Raises:
        InputError: shapes that do not fit, splits < 1, k outside 1..M-1.

    Source: split-half reliability (Spearman 1910; Brown 1910) applied to rankings, this project.
    """
    data = cluster_scores(scores, clusters)
    models, configurations, _ = data.values.shape
    if splits < 1:
        raise InputError(must_be("split_half_floor", "splits must be at least 1", splits))
    if top_k is not None and not 1 <= top_k < models:
        raise InputError(must_be("split_half_floor", f"top_k must lie in 1..{models - 1}", top_k))
    if data.clusters < 4:
        return Undefined(f"halves need at least 4 clusters; there are {data.clusters}")
    if configurations < 2:
        return Undefined("agreement needs at least 2 configurations; there is one")
    if np.isnan(data.values).all(axis=2).any():
        return Undefined("a model has no score in one of the configurations")
    few = too_few_models(models)
    tau, rho, overlap = (_SplitMean(configurations) for _ in range(3))
    one, two = _halves(data, rng, splits)
    for first, second in zip(one, two, strict=True):
        if few is None:
            tau.add(tau_between(first, second))
            rho.add(rho_between(first, second))
        if top_k is not None:
            overlap.add(_overlap_between(first, second, top_k))
    return SplitHalves(
        tau=few or tau.result(),
        rho=few or rho.result(),
        overlap=overlap.result() if top_k is not None else Undefined("no k was asked for"),
        splits=splits,
        clusters=data.clusters,
    )


@dataclass(frozen=True, slots=True)
class LabelSwap:
    """Whether the configurations rank models differently, by swapping their labels within items.

    statistic: mean square of the model x configuration interaction of the mean scores.
    p_value: share of swaps (the data included) with a statistic at least as large.
    observed_tau, swapped_tau: mean tau-b between configurations in the data and over swaps, that is,
    what it would be were the configurations alike on these very items; Undefined below 5 models.
    """

    statistic: float
    p_value: float
    observed_tau: float | Undefined
    swapped_tau: float | Undefined
    swaps: int


def label_swap_test(
    scores: NDArray[np.float64],
    clusters: NDArray[np.int64],
    *,
    rng: np.random.Generator,
    swaps: int = 499,
) -> LabelSwap | Undefined:
    """A randomisation test of "which configuration it was does not matter for comparing models".

    Within each cluster the labels of the configurations are dealt anew, for all models at once. What a
    configuration adds to every model's score of an item alike drops out: that is no interaction. Exact
    if differences between models are exchangeable between configurations. Above 256 clusters, random
    blocks of clusters are dealt together, which is as exact and nearly as powerful, and much faster.

    Only items with a score in every cell are used. Undefined without any, with fewer than 2 models or
    configurations, or fewer than 5 such clusters.

    Raises:
        InputError: shapes that do not fit, swaps < 19.
    """
    if swaps < 19:
        raise InputError(must_be("label_swap_test", "swaps must be at least 19", swaps))
    array = checked_scores(scores, "scores")
    codes = checked_clusters(clusters, array.shape[2])
    whole = ~np.isnan(array).any(axis=(0, 1))
    if not whole.any():
        return Undefined("no item has a score in every cell")
    data = cluster_scores(array[:, :, whole], codes[whole])
    models, configurations, _ = data.values.shape
    if models < 2 or configurations < 2:
        return Undefined("an interaction needs at least 2 models and 2 configurations")
    if data.clusters < 5:
        return Undefined(f"swapping needs at least 5 complete clusters; there are {data.clusters}")
    sums = _swap_blocks(data, rng)
    rows = np.arange(sums.shape[0])[:, None]
    correlated = models >= MIN_MODELS
    statistics, taus = np.empty(swaps + 1), np.full(swaps + 1, np.nan)
    for swap in range(swaps + 1):
        dealt = sums
        if swap:
            labels = np.argsort(rng.random((sums.shape[0], configurations)), axis=1)
            dealt = sums[rows, labels]
        means = dealt.sum(axis=0).T / data.items
        statistics[swap] = np.square(_interaction(means)).mean()
        if correlated:
            taus[swap] = known_mean(off_diagonal(tau_between(means, means)))
    reached = statistics[1:] >= statistics[0] * (1 - 1e-12)
    few = too_few_models(models)
    return LabelSwap(
        statistic=float(statistics[0]),
        p_value=float((1 + reached.sum()) / (swaps + 1)),
        observed_tau=few or mean_or_undefined(float(taus[0])),
        swapped_tau=few or mean_or_undefined(known_mean(taus[1:])),
        swaps=swaps,
    )


@dataclass(frozen=True, slots=True)
class RepeatRunAgreement:
    """Agreement of repeated runs of one configuration beside that of different configurations.

    floor: (C,) mean tau-b between different runs of the same configuration, on the same items.
    between: (C, C) mean tau-b between different runs of two configurations; its diagonal is `floor`.
    """

    floor: NDArray[np.float64]
    between: NDArray[np.float64]


def repeat_run_floor(means: NDArray[np.float64]) -> RepeatRunAgreement | Undefined:
    """The agreement that sampling of outputs alone leaves, from mean scores (R, M, C) of R repeated runs.

    Undefined below 2 runs or 5 models, or where a run lacks a score.

    Raises:
        InputError: means that are not (R, M, C).
    """
    array = np.asarray(means, dtype=np.float64)
    if array.ndim != 3 or 0 in array.shape:
        raise InputError(must_be("means", "must be (runs, models, configurations)", array.shape))
    few = too_few_models(array.shape[1])
    if few is not None:
        return few
    if array.shape[0] < 2:
        return Undefined("a repeat-run floor needs at least 2 runs; there is one")
    if np.isnan(array).any():
        return Undefined("a model has no score in one of the configurations of a run")
    mean = _SplitMean(array.shape[2])
    for run in range(array.shape[0]):
        for other in range(run):
            mean.add(tau_between(array[run], array[other]))
    between = mean.symmetric()
    return RepeatRunAgreement(floor=np.diag(between).copy(), between=between)


class _SplitMean:
    """Mean over splits of matrices agreement[c, c'] between first half of c and second half of c'."""

    def __init__(self, configurations: int) -> None:
        self._sum = np.zeros((configurations, configurations))
        self._count = np.zeros((configurations, configurations))

    def add(self, matrix: NDArray[np.float64]) -> None:
        known = ~np.isnan(matrix)
        self._sum += np.where(known, matrix, 0.0)
        self._count += known

    def symmetric(self) -> NDArray[np.float64]:
        count = self._count + self._count.T
        out = np.full(count.shape, np.nan)
        np.divide(self._sum + self._sum.T, count, out=out, where=count > 0)
        return out

    def result(self) -> SplitHalfAgreement:
        between = self.symmetric()
        same = np.diag(between)
        return SplitHalfAgreement(between=between, floor=(same[:, None] + same[None, :]) / 2)


def _swap_blocks(data: ClusteredScores, rng: np.random.Generator) -> NDArray[np.float64]:
    """(B, C, M) sums over each cluster, or over each of at most 256 random blocks of clusters."""
    sums = data.sum_by_cluster(data.values)
    if data.clusters > SWAP_BLOCKS:
        sums = sums[:, :, rng.permutation(data.clusters)]
        starts = np.arange(SWAP_BLOCKS) * data.clusters // SWAP_BLOCKS
        sums = np.add.reduceat(sums, starts, axis=2)
    return np.ascontiguousarray(sums.transpose(2, 1, 0))


def _halves(
    data: ClusteredScores, rng: np.random.Generator, splits: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    chosen = np.zeros((splits, data.clusters))
    for row in chosen:
        row[rng.permutation(data.clusters)[: data.clusters // 2]] = 1.0
    return weighted_means(data, chosen), weighted_means(data, 1.0 - chosen)


def _overlap_between(one: NDArray[np.float64], two: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """(C, C') share of the first k that two columns have in common."""
    first, second = top_k_membership(one, k=k).T, top_k_membership(two, k=k).T
    return np.asarray(np.minimum(first[:, None, :], second[None, :, :]).sum(axis=2) / k)


def _interaction(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means (M, C) without what models and what configurations add."""
    rows = means - means.mean(axis=1, keepdims=True)
    return np.asarray(rows - rows.mean(axis=0, keepdims=True))
