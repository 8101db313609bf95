"""Every model over the envelope: scores, ranks, what the bounds leave of them; orderings, first places."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from safetyrepro.analysis.quantities import interval_quantity
from safetyrepro.data.quantities import NoEstimate, PointOnly, Quantity
from safetyrepro.data.rank_study import OrderingCount, Orderings, RankedModel, TopPlaces
from safetyrepro.stats.clusters import cluster_means
from safetyrepro.stats.intervals import Interval, clustered_wilson_interval, t_interval, wilson_interval
from safetyrepro.stats.joint import cell_means
from safetyrepro.stats.ranking import RankSets, TopK, observed_ranks, orderings
from safetyrepro.stats.undefined import Undefined


def study_models(
    models: Sequence[tuple[str, str]],
    *,
    goodness: NDArray[np.float64],
    sets: RankSets | None,
    scores: Sequence[Sequence[Quantity]] | None,
    shares: TopK | Undefined,
) -> tuple[RankedModel, ...]:
    """One entry a model.

    Args:
        models: (id, printed name).
        goodness: (M, C) what models are ordered by, larger is better.
        sets: the ranks that the joint bounds leave; None without a second model, whose ranks are all 1.
        scores: (M, C) mean scores as given, where they are to be stored.
        shares: how steady the first places are.
    """
    ranks = observed_ranks(goodness)
    ones = np.ones(ranks.shape, dtype=np.int64)
    lowest, highest = (ones, ones) if sets is None else (sets.lowest, sets.highest)
    return tuple(
        RankedModel(
            id=name,
            name=printed,
            scores=None if scores is None else tuple(scores[m]),
            ranks=tuple(None if rank != rank else rank for rank in ranks[m].tolist()),
            lowest=tuple(lowest[m].tolist()),
            highest=tuple(highest[m].tolist()),
            top_shares=None if isinstance(shares, Undefined) else tuple(shares.shares[m].tolist()),
        )
        for m, (name, printed) in enumerate(models)
    )


def mean_scores(
    scores: NDArray[np.float64], clusters: NDArray[np.int64] | None, *, level: float
) -> tuple[tuple[Quantity, ...], ...]:
    """(M, C) mean scores with their own intervals: Wilson for zeros and ones, else t; both by cluster.

    Args:
        scores: (M, C, N) as given; NaN missing.
        clusters: (N,) codes; None where every item is its own.
    """
    models, configurations, items = scores.shape
    flat = scores.reshape(models * configurations, items)
    means = cluster_means(flat, clusters=clusters)
    values, exact = means.estimates(), cell_means(scores).reshape(-1)
    errors, freedom = means.standard_errors(), means.degrees_of_freedom()
    rows, units = means.rows(), means.scored_clusters()
    proportion = bool(np.isin(flat[~np.isnan(flat)], (0.0, 1.0)).all())
    leverages = means.leverages() if proportion and clusters is not None else None

    def one(q: int) -> Quantity:
        n, k = int(rows[q]), int(units[q])
        if n == 0:
            return NoEstimate(reason="no item has a score here", n=0)
        interval: Interval | Undefined
        if leverages is not None:
            interval = clustered_wilson_interval(
                float(values[q]),
                float(errors[q]),
                leverages=leverages[q],
                n=n,
                degrees_of_freedom=int(freedom[q]),
                level=level,
            )
        elif proportion:
            interval = wilson_interval(round(float(values[q]) * n), n, level=level)
        else:
            interval = t_interval(
                float(values[q]),
                float(errors[q]),
                degrees_of_freedom=int(freedom[q]),
                n=n,
                clusters=k,
                level=level,
            )
        if isinstance(interval, Undefined):
            return PointOnly(value=float(exact[q]), reason=interval.reason, n=n, clusters=k)
        return interval_quantity(interval)

    size = configurations
    return tuple(tuple(one(m * size + c) for c in range(size)) for m in range(models))


def count_scores(
    successes: NDArray[np.int64], trials: NDArray[np.int64], *, level: float
) -> tuple[tuple[Quantity, ...], ...]:
    """(M, C) proportions with Wilson's interval, from counts."""

    def one(won: int, asked: int) -> Quantity:
        interval = wilson_interval(won, asked, level=level)
        if isinstance(interval, Undefined):
            return NoEstimate(reason="no trial is counted here", n=0)
        return interval_quantity(interval)

    pairs = zip(successes.tolist(), trials.tolist(), strict=True)
    return tuple(tuple(one(w, a) for w, a in zip(won, asked, strict=True)) for won, asked in pairs)


def study_orderings(goodness: NDArray[np.float64], models: Sequence[str]) -> Orderings | NoEstimate:
    """The orderings that the estimates show, from (M, C)."""
    found = orderings(goodness)
    if isinstance(found, Undefined):
        return NoEstimate(reason=found.reason, n=goodness.shape[1])
    listed = tuple(
        OrderingCount(
            places=tuple(tuple(models[m] for m in place) for place in one.places),
            configurations=one.configurations,
        )
        for one in found
    )
    occurring = sum(bool(one.configurations) for one in listed)
    possible = math.factorial(len(models))
    strict = sum(all(len(place) == 1 for place in one.places) for one in listed)
    return Orderings(
        possible=str(possible), occurring=occurring, complete=strict == possible, listed=listed
    )


def study_top(
    sets: RankSets | None, models: Sequence[str], *, k: int, shares: TopK | Undefined
) -> TopPlaces | None:
    """Who is surely, and who may be, among the first k; None without a second model."""
    if sets is None:
        return None
    lowest, highest = (ends.tolist() for ends in sets.over_envelope())
    return TopPlaces(
        k=k,
        sure=tuple(name for name, worst in zip(models, highest, strict=True) if worst <= k),
        possible=tuple(name for name, best in zip(models, lowest, strict=True) if best <= k),
        resamples=0 if isinstance(shares, Undefined) else shares.resamples,
        reason=shares.reason if isinstance(shares, Undefined) else None,
    )
