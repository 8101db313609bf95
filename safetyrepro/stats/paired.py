"""Differences between two models on the same items, and between strata of one model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from safetyrepro.errors import InputError, must_be
from safetyrepro.stats.clusters import FloatArray, cluster_means, stratum_contrast
from safetyrepro.stats.equivalence import p_above, two_sided_p
from safetyrepro.stats.estimates import Estimate, Support, estimate_means
from safetyrepro.stats.preference import Bounds
from safetyrepro.stats.undefined import Undefined


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Mean of first minus second over the items that both have.

    `p_value` is two-sided, from t on `estimate.degrees_of_freedom` (clusters minus strata); `items` is
    all items, `dropped` those that one of the two has no value for.
    """

    estimate: Estimate | Undefined
    p_value: float | Undefined
    items: int
    dropped: int


@dataclass(frozen=True, slots=True)
class StratumDifference:
    """The paired difference inside one stratum."""

    label: str
    difference: PairedDifference


@dataclass(frozen=True, slots=True)
class MixtureDominance:
    """Whether first beats second under every mixture of the strata: exactly if it does in each.

    `p_value` is the largest one-sided p-value (an intersection-union test: no adjustment is needed),
    Undefined where a stratum has none.
    """

    strata: tuple[StratumDifference, ...]
    p_value: float | Undefined

    @property
    def ahead_in_every_stratum(self) -> bool:
        """The signs alone, as description: every stratum's estimate is above zero."""
        return all(
            isinstance(s.difference.estimate, Estimate) and s.difference.estimate.value > 0
            for s in self.strata
        )


def paired_differences(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    rng: np.random.Generator,
    clusters: npt.ArrayLike | None = None,
    strata: npt.ArrayLike | None = None,
    weights: Mapping[str, float] | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
) -> tuple[PairedDifference, ...]:
    """(P) differences of two models' values on the same N items, from the same resamples.

    Args:
        first, second: (P, N) values of one kind, such as the points of `pair_outcomes`; an item where
            either is NaN is dropped from that difference and counted.
        rng: for the resamples.
        clusters, strata: (N,) labels; `weights` is a share per stratum, given exactly with `strata`.
        level, resamples: of the intervals.

    The p-values are not adjusted for how many there are. They are Undefined where the difference is
    the same in every cluster (as for two models that agree on every item) and with one cluster.

    Raises:
        InputError: shapes that do not fit, infinite values, strata without weights, a bad level.

    Source: Miller 2024, arXiv 2411.00640 (paired, clustered standard errors for evaluations).
    """
    one, two = _matrices(first, second, "paired_differences")
    moved = one - two
    means = cluster_means(
        moved, clusters=clusters, strata=strata, weights=weights, where="paired_differences"
    )
    supports = (Support.REAL,) * moved.shape[0]
    estimates = estimate_means(means, supports, level=level, resamples=resamples, rng=rng)
    dropped = np.isnan(moved).sum(axis=1)
    return tuple(
        PairedDifference(estimate, two_sided_p(estimate), moved.shape[1], int(lost))
        for estimate, lost in zip(estimates, dropped, strict=True)
    )


def paired_difference(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    rng: np.random.Generator,
    clusters: npt.ArrayLike | None = None,
    strata: npt.ArrayLike | None = None,
    weights: Mapping[str, float] | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
) -> PairedDifference:
    """One difference: `paired_differences` for values of shape (N,)."""
    (only,) = paired_differences(
        np.asarray(first, dtype=np.float64)[None],
        np.asarray(second, dtype=np.float64)[None],
        rng=rng,
        clusters=clusters,
        strata=strata,
        weights=weights,
        level=level,
        resamples=resamples,
    )
    return only


def stratum_differences(
    values: npt.ArrayLike,
    strata: npt.ArrayLike,
    *,
    first: str,
    second: str,
    rng: np.random.Generator,
    clusters: npt.ArrayLike | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
) -> tuple[Estimate | Undefined, ...]:
    """(C) the mean of `values` (C, N) in stratum `first` minus that in stratum `second`.

    Not paired: the strata hold different items. Clusters that reach into both are drawn whole.

    Raises:
        InputError: a label that is no stratum, shapes that do not fit, a bad level.
    """
    labels = np.unique(np.asarray(strata))
    shares = {str(label): 1.0 for label in labels}
    means = cluster_means(
        values, clusters=clusters, strata=strata, weights=shares, where="stratum_differences"
    )
    contrast = stratum_contrast(means, first, second=second)
    supports = (Support.REAL,) * means.estimates().size
    return estimate_means(contrast, supports, level=level, resamples=resamples, rng=rng)


def mixture_dominance(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    strata: npt.ArrayLike,
    rng: np.random.Generator,
    clusters: npt.ArrayLike | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
) -> MixtureDominance:
    """Paired differences of (N,) values per stratum, and the test that first is ahead in all of them.

    Raises:
        InputError: as `paired_differences`.
    """
    one, two, labels = np.asarray(first), np.asarray(second), np.asarray(strata)
    if not one.shape == two.shape == labels.shape or labels.ndim != 1:
        what = "first, second and strata must have one shape (N,)"
        raise InputError(must_be("mixture_dominance", what, (one.shape, two.shape, labels.shape)))
    groups = None if clusters is None else np.asarray(clusters)
    found = []
    for label in np.unique(labels):
        inside = labels == label
        own = None if groups is None else groups[inside]
        difference = paired_difference(
            one[inside], two[inside], rng=rng, clusters=own, level=level, resamples=resamples
        )
        found.append(StratumDifference(str(label), difference))
    return MixtureDominance(tuple(found), _largest_p(found))


def worst_case_difference(first: npt.ArrayLike, second: npt.ArrayLike) -> Bounds:
    """The mean difference over all (N,) items, were every missing value at its worst or at its best.

    For values in [0, 1], such as points. A verdict that survives both bounds does not rest on what
    is missing.

    Raises:
        InputError: shapes that differ, no item, a value outside [0, 1].

    Source: Manski 1990, American Economic Review 80, 319-323.
    """
    one, two = _matrices(np.asarray(first)[None], np.asarray(second)[None], "worst_case_difference")
    for values in (one, two):
        outside = values[(values < 0) | (values > 1)]
        if outside.size:
            what = "values must be in [0, 1], or NaN where missing"
            raise InputError(must_be("worst_case_difference", what, float(outside[0])))
    low = np.nan_to_num(one, nan=0.0) - np.nan_to_num(two, nan=1.0)
    high = np.nan_to_num(one, nan=1.0) - np.nan_to_num(two, nan=0.0)
    return Bounds(float(low.mean()), float(high.mean()))


def _largest_p(strata: list[StratumDifference]) -> float | Undefined:
    largest = 0.0
    for stratum in strata:
        p = p_above(stratum.difference.estimate, 0.0)
        if isinstance(p, Undefined):
            return Undefined(f"stratum {stratum.label}: {p.reason}")
        largest = max(largest, p)
    return largest


def _matrices(first: npt.ArrayLike, second: npt.ArrayLike, where: str) -> tuple[FloatArray, FloatArray]:
    one, two = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if one.shape != two.shape or one.ndim != 2 or one.size == 0:
        what = "first and second must have one shape (P, N), both at least 1"
        raise InputError(must_be(where, what, (one.shape, two.shape)))
    return one, two
