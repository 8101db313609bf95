"""Where the differences between scores come from: shares of the sum of squares within an envelope.

Levels are fixed: the shares describe this envelope and these items, and are not random components.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safetyrepro.errors import InputError, must_be
from safetyrepro.stats.clusters import on_exact_grid
from safetyrepro.stats.configurations import checked_levels
from safetyrepro.stats.joint import (
    MIN_CLUSTERS,
    ClusteredScores,
    block_size,
    check_resampling,
    checked_clusters,
    checked_scores,
    cluster_scores,
    resample_counts,
    weighted_means,
)
from safetyrepro.stats.undefined import Undefined

MAX_FACTORS = 10


@dataclass(frozen=True, slots=True)
class Share:
    """A share of the total sum of squares, in 0..1, and its interval at the result's level."""

    share: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class VarianceShares:
    """Shares that add up to one.

    model; factors (one each); model_by_factor (one each: what reorders models); factor_interactions and
    model_by_interactions (what several factors do together); item (difficulty); residual (all that is
    between item and cell). `orthogonal`: the factors are crossed evenly, so that shares of single factors
    are the usual ones; otherwise what factors explain together is split evenly over the orders of
    entering them. `items`: complete ones, used here, of `items_given`.
    """

    model: Share
    factors: tuple[Share, ...]
    factor_interactions: Share
    model_by_factor: tuple[Share, ...]
    model_by_interactions: Share
    item: Share
    residual: Share
    orthogonal: bool
    level: float
    items: int
    items_given: int


def variance_shares(
    scores: NDArray[np.float64],
    clusters: NDArray[np.int64],
    *,
    levels: NDArray[np.int64],
    rng: np.random.Generator,
    level: float = 0.95,
    resamples: int = 1000,
) -> VarianceShares | Undefined:
    """How much of the spread of item scores is due to model, factors, their interplay, items, the rest.

    Args:
        scores: (M, C, N); items with a score in every cell are used.
        clusters: (N,) integer codes.
        levels: (C, F) integers; every factor has at least two levels; F = 0 for an envelope of one.
        rng: consumed by the resampling of clusters.

    Intervals are basic bootstrap intervals (reflected about the estimate), cut to 0..1.
    Undefined without a complete item, with fewer than 5 complete clusters, or when all scores are equal.

    Raises:
        InputError: shapes that do not fit, a factor with one level, more than 10 factors, level or
            resamples out of range.

    Source: two-way layout with items (Searle, Casella & McCulloch 1992, ch. 4); averaging over orders:
    Lindeman, Merenda & Gold 1980; checked against statsmodels `anova_lm`.
    """
    check_resampling(level=level, resamples=resamples)
    array = checked_scores(scores, "scores")
    codes = checked_clusters(clusters, array.shape[2])
    design = _checked_design(levels, array.shape[1])
    whole = ~np.isnan(array).any(axis=(0, 1))
    if not whole.any():
        return Undefined("no item has a score in every cell")
    data = cluster_scores(array[:, :, whole], codes[whole])
    if data.clusters < MIN_CLUSTERS:
        return Undefined(f"resampling needs at least {MIN_CLUSTERS} clusters; there are {data.clusters}")
    forms, orthogonal = _factor_forms(design)
    squares = _item_squares(data)
    estimate = _shares(data, np.ones((1, data.clusters)), squares=squares, forms=forms)[0]
    if np.isnan(estimate).any():
        return Undefined("all scores are equal, so there is no spread to share out")
    block = block_size(data.values.shape[0] * data.values.shape[1] * 3)
    draws = [
        _shares(data, counts, squares=squares, forms=forms)
        for counts in resample_counts(rng, clusters=data.clusters, resamples=resamples, block=block)
    ]
    drawn = np.concatenate(draws)
    drawn = drawn[~np.isnan(drawn).any(axis=1)]
    tail = (1 - level) / 2
    bottom, top = np.quantile(drawn, [tail, 1 - tail], axis=0)
    low, high = np.clip(2 * estimate - top, 0, 1), np.clip(2 * estimate - bottom, 0, 1)
    parts = [Share(*map(float, entry)) for entry in zip(estimate, low, high, strict=True)]
    count = design.shape[1]
    return VarianceShares(
        model=parts[0],
        factors=tuple(parts[3 : 3 + count]),
        factor_interactions=parts[3 + count],
        model_by_factor=tuple(parts[4 + count : 4 + 2 * count]),
        model_by_interactions=parts[4 + 2 * count],
        item=parts[1],
        residual=parts[2],
        orthogonal=orthogonal,
        level=level,
        items=data.items,
        items_given=int(array.shape[2]),
    )


def _checked_design(levels: NDArray[np.int64], configurations: int) -> NDArray[np.int64]:
    design = checked_levels(levels)
    if design.shape[0] != configurations:
        rule = f"must have one row for each of {configurations} configurations"
        raise InputError(must_be("levels", rule, design.shape))
    if design.shape[1] > MAX_FACTORS:
        raise InputError(must_be("levels", f"must have at most {MAX_FACTORS} factors", design.shape[1]))
    for f in range(design.shape[1]):
        if np.unique(design[:, f]).size < 2:
            raise InputError(must_be(f"levels.{f}", "must have at least two levels (or be left out)", 1))
    return design


@dataclass(frozen=True, slots=True)
class _Forms:
    """The part of each factor as sum_r values[r] * (directions[:, r] . x)^2, factor by factor."""

    directions: NDArray[np.float64]
    values: NDArray[np.float64]
    factor: NDArray[np.int64]
    factors: int

    def parts(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """(F, ...) each factor's part of the squared length of the vectors (..., C)."""
        lengths = np.square(np.einsum("...c,cr->...r", vectors, self.directions)) * self.values
        out = [lengths[..., self.factor == f].sum(axis=-1) for f in range(self.factors)]
        return np.stack(out) if out else np.zeros((0, *vectors.shape[:-1]))


def _factor_forms(design: NDArray[np.int64]) -> tuple[_Forms, bool]:
    """How to split a vector over configurations by factor, and whether the factors are orthogonal.

    The part of a factor is the mean, over all orders of entering the factors, of what it adds.
    """
    configurations, factors = design.shape
    projections: dict[frozenset[int], NDArray[np.float64]] = {}
    for size in range(factors + 1):
        for chosen in itertools.combinations(range(factors), size):
            columns = [np.ones((configurations, 1))]
            columns += [(design[:, [f]] == np.unique(design[:, f])).astype(np.float64) for f in chosen]
            basis, scale, _ = np.linalg.svd(np.hstack(columns), full_matrices=False)
            basis = basis[:, scale > 1e-9 * scale[0]]
            projections[frozenset(chosen)] = basis @ basis.T
    directions, values, owner, orthogonal = [np.zeros((configurations, 0))], [np.zeros(0)], [], True
    for f in range(factors):
        form = np.zeros((configurations, configurations))
        for entered, projection in projections.items():
            if f not in entered:
                weight = math.factorial(len(entered)) * math.factorial(factors - len(entered) - 1)
                form += weight * (projections[entered | {f}] - projection)
        form /= math.factorial(factors)
        alone = projections[frozenset({f})] - projections[frozenset()]
        orthogonal = orthogonal and bool(np.abs(form - alone).max() < 1e-9)
        eigenvalues, vectors = np.linalg.eigh(form)
        kept = np.abs(eigenvalues) > 1e-9
        directions.append(vectors[:, kept])
        values.append(eigenvalues[kept])
        owner += [f] * int(kept.sum())
    forms = _Forms(np.hstack(directions), np.concatenate(values), np.array(owner, dtype=np.int64), factors)
    return forms, orthogonal


def _item_squares(data: ClusteredScores) -> NDArray[np.float64]:
    """(K, 2) per cluster: sum over items and cells of y^2, and over items of (mean over cells)^2."""
    total = np.square(data.values).sum(axis=(0, 1))
    item = np.square(data.values.mean(axis=(0, 1)))
    exact = on_exact_grid(np.stack([total, item]), data.items)  # so that the order of items is no matter
    return data.sum_by_cluster(exact).T


def _shares(
    data: ClusteredScores,
    counts: NDArray[np.float64],
    *,
    squares: NDArray[np.float64],
    forms: _Forms,
) -> NDArray[np.float64]:
    """(s, 5 + 2F): model, item, residual, factors, their rest, model x factors, their rest."""
    models, configurations, _ = data.values.shape
    means = weighted_means(data, counts)
    items = counts @ data.sizes.astype(np.float64)
    sums = np.einsum("sk,kj->sj", counts, squares)
    grand = means.mean(axis=(1, 2))
    total = sums[:, 0] - models * configurations * items * grand**2
    item = models * configurations * (sums[:, 1] - items * grand**2)
    by_model = means.mean(axis=2) - grand[:, None]
    by_configuration = means.mean(axis=1) - grand[:, None]
    together = means - grand[:, None, None] - by_model[:, :, None] - by_configuration[:, None, :]
    model = configurations * items * np.square(by_model).sum(axis=1)
    configuration = models * items * np.square(by_configuration).sum(axis=1)
    crossed = items * np.square(together).sum(axis=(1, 2))
    residual = total - item - model - configuration - crossed
    factors = models * items * forms.parts(by_configuration)
    mixed = items * forms.parts(together).sum(axis=2)
    columns = [model, item, residual, *factors]
    columns += [configuration - factors.sum(axis=0), *mixed, crossed - mixed.sum(axis=0)]
    whole = np.where(total > 1e-12 * np.maximum(sums[:, 0], 1e-300), total, np.nan)
    return np.asarray(np.stack(columns, axis=1) / whole[:, None])
