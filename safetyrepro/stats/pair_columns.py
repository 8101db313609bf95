"""Paired differences of many pairs under many configurations, and their joint resamples.

A *column* is one pair under one configuration. An item counts in a column when both scores are there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safetyrepro.stats.clusters import on_exact_grid
from safetyrepro.stats.joint import ClusteredScores, block_size, resample_counts

STUDENTISED_BELOW = 200
"""Clusters below which every resample gets its own standard error (bootstrap-t)."""

_COLUMN_BYTES = 32 << 20
_NO_SPREAD = 1e-20  # of the mean square: far above rounding, far below one differing cluster


@dataclass(frozen=True, slots=True)
class ColumnEstimates:
    """The full-sample estimates of P pairs under C configurations, all (P, C).

    differences: mean score of the first model minus that of the second over the common items.
    standard_errors: cluster-robust, with the factor K/(K-1); 0 where the difference has no spread.
    items, clusters: how many have both scores.
    NaN where there is no common item (and for standard errors, fewer than two common clusters).
    """

    differences: NDArray[np.float64]
    standard_errors: NDArray[np.float64]
    items: NDArray[np.int64]
    clusters: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Columns:
    """Cluster sums (L, K) of some columns and the items behind them, (L, K) or shared (1, K)."""

    sums: NDArray[np.float64]
    sizes: NDArray[np.float64]


def estimate_columns(data: ClusteredScores, pairs: NDArray[np.int64]) -> ColumnEstimates:
    """Differences and standard errors of every pair under every configuration.

    Source: linearised variance of a ratio mean over clusters (Cochran 1977, Sampling Techniques, 3rd
    ed., 9A); checked against statsmodels OLS with cov_type="cluster".
    """
    shape = (pairs.shape[0], data.values.shape[1])
    out = ColumnEstimates(
        differences=np.empty(shape),
        standard_errors=np.empty(shape),
        items=np.empty(shape, dtype=np.int64),
        clusters=np.empty(shape, dtype=np.int64),
    )
    for part, columns in _column_chunks(data, pairs):
        items = columns.sizes.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            differences = columns.sums.sum(axis=1) / items
            residuals = columns.sums - differences[:, None] * columns.sizes
            clusters = (columns.sizes > 0).sum(axis=1)
            squares = np.einsum("lk,lk->l", residuals, residuals)
            scale = np.einsum("lk,lk->l", columns.sums, columns.sums)
            squares = np.where(squares <= _NO_SPREAD * scale, 0.0, squares)
            factor = np.where(clusters > 1, clusters / (clusters - 1.0), np.nan)
            errors = np.sqrt(factor * squares) / items
        block = (-1, shape[1])
        out.differences[part] = differences.reshape(block)
        out.standard_errors[part] = errors.reshape(block)
        out.items[part] = np.broadcast_to(items, differences.shape).reshape(block)
        out.clusters[part] = np.broadcast_to(clusters, differences.shape).reshape(block)
    return out


def resample_statistics(
    data: ClusteredScores,
    pairs: NDArray[np.int64],
    *,
    estimates: ColumnEstimates,
    rng: np.random.Generator,
    resamples: int,
) -> Iterator[NDArray[np.float64]]:
    """Blocks (s, P, C) of (resampled difference - difference) / standard error, all columns jointly.

    Below `STUDENTISED_BELOW` clusters the standard error is the resample's own; where it is zero (a
    resample without any spread, as when the models differ on few items) it is the full sample's. From
    there on it is the full sample's always. Columns whose standard error is zero or NaN give NaN; a
    resample without a common item of a column gives 0 there.

    Source: Efron & Tibshirani 1993, ch. 12 (bootstrap-t); fixed denominators: Hall & Wilson 1991.
    """
    studentised = data.clusters < STUDENTISED_BELOW
    block = block_size(pairs.shape[0] * data.values.shape[1])
    for counts in resample_counts(rng, clusters=data.clusters, resamples=resamples, block=block):
        if studentised:
            yield _studentised(data, pairs, estimates, counts)
        else:
            yield _fixed(data, pairs, estimates, counts)


def _fixed(
    data: ClusteredScores,
    pairs: NDArray[np.int64],
    estimates: ColumnEstimates,
    counts: NDArray[np.float64],
) -> NDArray[np.float64]:
    if data.complete:
        models, configurations, _ = data.values.shape
        cells = data.sum_by_cluster(data.values).reshape(models * configurations, -1)
        sums = (counts @ cells.T).reshape(-1, models, configurations)
        block = sums[:, pairs[:, 0]] - sums[:, pairs[:, 1]]
        block /= (counts @ data.sizes.astype(np.float64))[:, None, None]
        block -= estimates.differences
    else:
        block = np.empty((counts.shape[0], *estimates.differences.shape))
        for part, columns in _column_chunks(data, pairs):
            change = _resampled_change(columns, counts, estimates.differences[part].reshape(-1))
            block[:, part] = change.reshape(counts.shape[0], -1, block.shape[2])
    block /= _divisor(estimates.standard_errors)
    return block


def _studentised(
    data: ClusteredScores,
    pairs: NDArray[np.int64],
    estimates: ColumnEstimates,
    counts: NDArray[np.float64],
) -> NDArray[np.float64]:
    block = np.empty((counts.shape[0], *estimates.differences.shape))
    for part, columns in _column_chunks(data, pairs):
        differences = estimates.differences[part].reshape(-1)
        full = _divisor(estimates.standard_errors[part].reshape(-1))
        change = _resampled_change(columns, counts, differences)
        own = _resampled_errors(columns, counts, differences, change)
        statistic = change / np.where(own > 0, own, full)
        statistic[:, np.isnan(full)] = np.nan
        block[:, part] = statistic.reshape(counts.shape[0], -1, block.shape[2])
    return block


def _divisor(standard_errors: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(standard_errors > 0, standard_errors, np.nan)


def _resampled_change(
    columns: _Columns, counts: NDArray[np.float64], differences: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(s, L) resampled difference minus the full sample's; 0 where the resample has no item."""
    items = counts @ columns.sizes.T
    with np.errstate(invalid="ignore", divide="ignore"):
        change = (counts @ columns.sums.T) / items - differences
    return np.where(items > 0, change, 0.0)


def _resampled_errors(
    columns: _Columns,
    counts: NDArray[np.float64],
    differences: NDArray[np.float64],
    change: NDArray[np.float64],
) -> NDArray[np.float64]:
    """(s, L) standard errors within each resample; 0 where it has no spread.

    With residuals r = D - d n about the full-sample difference d, the resample's own squares are
    sum (r - change n)^2 = sum r^2 - 2 change sum r n + change^2 sum n^2.
    """
    clusters = counts.shape[1]
    residuals = np.nan_to_num(columns.sums - differences[:, None] * columns.sizes)
    rr = counts @ on_exact_grid(residuals * residuals, clusters).T
    rn = counts @ on_exact_grid(residuals * columns.sizes, clusters).T
    nn = counts @ (columns.sizes * columns.sizes).T
    items = counts @ columns.sizes.T
    drawn = (counts > 0).astype(np.float64) @ (columns.sizes > 0).astype(np.float64).T
    present = counts @ (columns.sizes > 0).astype(np.float64).T
    squares = rr - 2.0 * change * rn + change * change * nn
    squares = np.where((squares <= 1e-10 * rr) | (drawn < 2), 0.0, squares)
    with np.errstate(invalid="ignore", divide="ignore"):
        errors = np.sqrt(squares * present / (present - 1.0)) / items
    return np.where(items > 0, np.nan_to_num(errors), 0.0)


def _column_chunks(data: ClusteredScores, pairs: NDArray[np.int64]) -> Iterator[tuple[slice, _Columns]]:
    """Slices of pairs with their columns, few enough at a time to stay small in memory."""
    configurations = data.values.shape[1]
    step = max(1, _COLUMN_BYTES // (8 * configurations * data.items))
    cells = data.sum_by_cluster(data.values) if data.complete else None
    shared = data.sizes.astype(np.float64)[None, :]
    for first in range(0, pairs.shape[0], step):
        part = slice(first, min(first + step, pairs.shape[0]))
        one, two = pairs[part, 0], pairs[part, 1]
        if cells is not None:
            sums = cells[one] - cells[two]
            yield part, _Columns(sums.reshape(-1, data.clusters), shared)
            continue
        items = data.values[one] - data.values[two]
        both = ~np.isnan(items)
        sums = data.sum_by_cluster(np.where(both, items, 0.0))
        sizes = data.sum_by_cluster(both.astype(np.float64))
        yield part, _Columns(sums.reshape(-1, data.clusters), sizes.reshape(-1, data.clusters))
