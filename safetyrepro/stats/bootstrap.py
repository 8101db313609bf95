"""Intervals by resampling clusters: percentile, BCa and bootstrap-t, for many means at once.

All series of one call share the same resamples, so they can be compared; the numbers of one series do
not depend on which others stand beside it. Nothing falls back on another method: where an interval
does not exist, its place holds the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import special

from safetyrepro.errors import InputError, must_be
from safetyrepro.stats.clusters import ClusterMeans, FloatArray, IntArray, Stratum, on_exact_grid
from safetyrepro.stats.intervals import Interval, Method, check_level, spread_reason
from safetyrepro.stats.undefined import Undefined

_CHUNK_ELEMENTS = 1 << 20
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Replicates:
    """The estimates of S resamples, with their own standard errors.

    `values` and `standard_errors` (S, Q); NaN where a resample holds no scored row of a stratum.
    `standard_errors` is empty (0, Q) where clusters cross strata: it has no closed form there.
    """

    means: ClusterMeans
    values: FloatArray
    standard_errors: FloatArray


def draw_replicates(means: ClusterMeans, *, resamples: int, rng: np.random.Generator) -> Replicates:
    """The estimates of `resamples` draws of clusters, with replacement, within every block.

    A cluster is drawn whole. Cost: one product of (S, K) counts with (K, Q) sums, in pieces of at most
    a million counts; the pieces depend on K alone, so the same generator gives the same bits.

    Raises:
        InputError: resamples < 1.

    Source: Efron and Tibshirani 1993, An Introduction to the Bootstrap, ch. 6 and 8.
    """
    if resamples < 1:
        raise InputError(must_be("draw_replicates", "resamples must be at least 1", resamples))
    crossed = len(means.strata) > 1 and int(means.blocks.max()) == 0
    parts = [_Products(part, means.size) for part in means.strata]
    values, errors = [], []
    for counts in _resampling_counts(means.blocks, resamples, rng):
        terms = [part.resample(counts) for part in parts]
        values.append(np.sum([term[0] for term in terms], axis=0))
        if not crossed:
            errors.append(np.sqrt(np.sum([term[1] for term in terms], axis=0)))
    stacked = np.concatenate(values)
    empty = np.empty((0, stacked.shape[1]))
    return Replicates(means, stacked, np.concatenate(errors) if errors else empty)


def percentile_intervals(
    replicates: Replicates, *, level: float = 0.95
) -> tuple[Interval | Undefined, ...]:
    """(Q) intervals between the (1-level)/2 and (1+level)/2 quantiles of the replicates.

    Too narrow below some dozens of clusters. Undefined where clusters show no spread, where there are
    fewer than two, and where some resample empties a stratum.

    Raises:
        InputError: a level outside (0, 1), or fewer than two resamples beyond each bound.

    Source: Efron and Tibshirani 1993, ch. 13; checked against scipy.stats.bootstrap.
    """
    _check_tails(replicates, level)
    tails = np.array([(1 - level) / 2, (1 + level) / 2])

    def bounds(q: int) -> tuple[float, float]:
        low, high = np.quantile(replicates.values[:, q], tails)
        return float(low), float(high)

    return _intervals(replicates, level, "percentile-bootstrap", bounds)


def bca_intervals(replicates: Replicates, *, level: float = 0.95) -> tuple[Interval | Undefined, ...]:
    """(Q) bias-corrected and accelerated intervals; the acceleration is the clusters' jackknife.

    Undefined as the percentile interval is, and also where the bias correction is infinite (all
    replicates on one side of the estimate), where leaving out a cluster empties a stratum, and where
    the acceleration sends a bound past the last replicate.

    Raises:
        InputError: as `percentile_intervals`.

    Source: Efron 1987, JASA 82, 171-185; checked, with one and with several strata, against
    scipy.stats.bootstrap(method="BCa") on the same draws.
    """
    _check_tails(replicates, level)
    estimates = replicates.means.estimates()
    accelerations = _accelerations(replicates.means)
    z = special.ndtri(np.array([(1 - level) / 2, (1 + level) / 2]))

    def bounds(q: int) -> tuple[float, float] | Undefined:
        if np.isnan(accelerations[q]):
            return Undefined("leaving out one cluster leaves no scored row: no jackknife")
        values = replicates.values[:, q]
        below = ((values < estimates[q]).mean() + (values <= estimates[q]).mean()) / 2
        if below in (0.0, 1.0):
            return Undefined("every resample lies on one side of the estimate: infinite bias correction")
        bias = special.ndtri(below)
        shrink = 1 - accelerations[q] * (bias + z)
        if (shrink <= 0).any():
            return Undefined("the acceleration is too large: a bound lies past every resample")
        low, high = np.quantile(values, special.ndtr(bias + (bias + z) / shrink))
        return float(low), float(high)

    return _intervals(replicates, level, "bca-bootstrap", bounds)


def bootstrap_t_intervals(
    replicates: Replicates, *, level: float = 0.95
) -> tuple[Interval | Undefined, ...]:
    """(Q) studentised intervals: estimate minus quantiles of (replicate - estimate) / its own SE.

    The one to use below 200 clusters. Bounds may leave the range of the values. Undefined as the
    percentile interval is, and also where clusters cross strata, and where so many resamples show no
    spread that a bound is infinite.

    Raises:
        InputError: as `percentile_intervals`.

    Source: Efron and Tibshirani 1993, sec. 12.5; the SE of a replicate is that of `ClusterMeans`.
    """
    _check_tails(replicates, level)
    estimates, errors = replicates.means.estimates(), replicates.means.standard_errors()
    tails = np.array([(1 + level) / 2, (1 - level) / 2])

    def bounds(q: int) -> tuple[float, float] | Undefined:
        if replicates.standard_errors.shape[0] == 0:
            return Undefined("clusters cross strata: no standard error of a resample")
        moved = replicates.values[:, q] - estimates[q]
        spread = replicates.standard_errors[:, q]
        at_rest = np.where(moved == 0, 0.0, np.copysign(np.inf, moved))
        ratios = np.divide(moved, spread, out=at_rest, where=spread > 0)
        # No interpolation between infinities: it would give NaN.
        high, low = np.quantile(ratios, tails, method="inverted_cdf")
        if not (np.isfinite(high) and np.isfinite(low)):
            return Undefined("too many resamples show no spread: a bound is infinite")
        return float(estimates[q] - high * errors[q]), float(estimates[q] - low * errors[q])

    return _intervals(replicates, level, "bootstrap-t", bounds)


class _Products:
    """What one stratum contributes to a resample's estimate and squared standard error.

    Sums of squares are taken of the residuals R = T - mean N of the data, since
    T - mean* N = R - (mean* - mean) N loses fewer digits than squares of T.
    """

    def __init__(self, part: Stratum, n_clusters: int) -> None:
        self._weight, self._members = part.weight, part.members
        self._means = part.means()
        self._columns = np.concatenate([part.sums, part.counts]).T
        residuals = part.sums - self._means[:, None] * part.counts
        k = np.count_nonzero(part.counts, axis=1).astype(np.float64)
        self._factor = np.divide(k, k - 1, out=np.full(k.shape, np.nan), where=k > 1)
        squares = [residuals**2, residuals * part.counts, part.counts**2]
        # A resample of equal clusters must have no spread; what cancellation leaves is far below this.
        self._noise = _ROUNDING * np.abs(squares[0]).max(axis=1)
        self._squares = np.concatenate(
            [on_exact_grid(np.nan_to_num(term), n_clusters) for term in squares]
        ).T

    def resample(self, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weighted means and their squared standard errors, each (s, Q), for counts (s, K)."""
        drawn = counts[:, self._members] if self._members.size < counts.shape[1] else counts
        sums, rows = np.split(drawn @ self._columns, 2, axis=1)
        means = np.divide(sums, rows, out=np.full(sums.shape, np.nan), where=rows > 0)
        own, mixed, sizes = np.split(drawn @ self._squares, 3, axis=1)
        moved = means - self._means
        squares = own - 2 * moved * mixed + moved**2 * sizes
        squares[squares < self._noise] = 0.0
        variances = np.divide(squares, rows**2, out=np.full(sums.shape, np.nan), where=rows > 0)
        return self._weight * means, self._weight**2 * self._factor * variances


def _resampling_counts(blocks: IntArray, resamples: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """(s, K) pieces of the (S, K) matrix of how often each cluster was drawn."""
    members = [np.flatnonzero(blocks == block) for block in range(int(blocks.max()) + 1)]
    piece = max(1, _CHUNK_ELEMENTS // blocks.size)
    for start in range(0, resamples, piece):
        rows = min(piece, resamples - start)
        counts = np.empty((rows, blocks.size))
        for inside in members:
            k = inside.size
            drawn = rng.integers(0, k, size=(rows, k)) + k * np.arange(rows)[:, None]
            counts[:, inside] = np.bincount(drawn.ravel(), minlength=rows * k).reshape(rows, k)
        yield counts


def _accelerations(means: ClusterMeans) -> FloatArray:
    """(Q,) skewness of the clusters' influence over six; each block is its own sample."""
    left_out = means.jackknife()
    cubes = np.zeros(left_out.shape[0])
    squares = np.zeros(left_out.shape[0])
    for block in range(int(means.blocks.max()) + 1):
        values = left_out[:, means.blocks == block]
        k = values.shape[1]
        influence = (k - 1) * (values.mean(axis=1, keepdims=True) - values)
        cubes += (influence**3).sum(axis=1) / k**3
        squares += (influence**2).sum(axis=1) / k**2
    return np.divide(cubes, 6 * squares**1.5, out=np.zeros(cubes.shape), where=squares != 0)


def _intervals(
    replicates: Replicates,
    level: float,
    method: Method,
    bounds: Callable[[int], tuple[float, float] | Undefined],
) -> tuple[Interval | Undefined, ...]:
    means = replicates.means
    estimates, errors = means.estimates(), means.standard_errors()
    rows, clusters, freedom = means.rows(), means.scored_clusters(), means.degrees_of_freedom()
    emptied = np.isnan(replicates.values.sum(axis=0))

    def one(q: int) -> Interval | Undefined:
        if np.isnan(estimates[q]):
            return Undefined("no scored rows")
        reason = spread_reason(float(errors[q]), int(freedom[q]))
        if reason is not None:
            return reason
        if emptied[q]:
            return Undefined("some resamples hold no scored row: too few clusters with scores")
        found = bounds(q)
        if isinstance(found, Undefined):
            return found
        low, high = found
        return Interval(float(estimates[q]), low, high, level, method, int(rows[q]), int(clusters[q]))

    return tuple(one(q) for q in range(estimates.size))


def _check_tails(replicates: Replicates, level: float) -> None:
    check_level(level, where="bootstrap")
    resamples = replicates.values.shape[0]
    if resamples * (1 - level) / 2 < 2:
        what = f"resamples must leave at least two beyond each bound at level {level}"
        raise InputError(must_be("bootstrap", what, resamples))
