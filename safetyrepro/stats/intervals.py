"""Intervals in closed form: Wilson, Wilson for clusters, Hoeffding, t."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

from safetyrepro.errors import InputError, must_be
from safetyrepro.stats.undefined import Undefined

Method: TypeAlias = Literal[
    "wilson",
    "wilson-effective-n",
    "wilson-one-per-cluster",
    "hoeffding",
    "percentile-bootstrap",
    "bca-bootstrap",
    "bootstrap-t",
    "cluster-t",
    "exact-binomial",
]


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with two bounds, how they were made, and out of how many.

    `level` is the two-sided confidence level, `n` the scored rows (the denominator), `clusters` the
    independent units among them. One-sided uses read one bound at level (1 + level) / 2.
    """

    estimate: float
    low: float
    high: float
    level: float
    method: Method
    n: int
    clusters: int

    def affine(self, factor: float, offset: float) -> Interval:
        """The interval of factor * x + offset, for factor > 0; exact for every method here."""
        if factor <= 0:
            raise ValueError(f"factor must be positive; got {factor}")
        return replace(
            self,
            estimate=factor * self.estimate + offset,
            low=factor * self.low + offset,
            high=factor * self.high + offset,
        )


def check_level(level: float, *, where: str) -> None:
    """Refuses a confidence level that is not strictly between 0 and 1.

    Raises:
        InputError: such a level.
    """
    if not 0 < level < 1:
        raise InputError(must_be(where, "level must be between 0 and 1, as .95", level))


def wilson_interval(successes: int, n: int, *, level: float = 0.95) -> Interval | Undefined:
    """The score interval of a proportion of independent trials.

    Undefined for n = 0. Stays inside [0, 1] and has positive width at 0 and at n successes.

    Raises:
        InputError: successes outside 0..n, a level outside (0, 1).

    Source: Wilson 1927, JASA 22, 209-212; checked against statsmodels proportion_confint.
    """
    check_level(level, where="wilson_interval")
    if not 0 <= successes <= n:
        raise InputError(must_be("wilson_interval", f"successes must be in 0..{n}", successes))
    if n == 0:
        return Undefined("no scored rows")
    low, high = _wilson_bounds(successes / n, float(n), _z(level))
    return Interval(successes / n, low, high, level, "wilson", n, n)


def clustered_wilson_interval(
    proportion: float,
    standard_error: float,
    *,
    leverages: npt.ArrayLike,
    n: int,
    degrees_of_freedom: int,
    level: float = 0.95,
) -> Interval | Undefined:
    """The score interval of a proportion whose trials come in clusters or strata.

    The number of trials is replaced by an effective one, p(1-p)/SE^2, multiplied by
    (t_{n-1}/t_df)^2 because SE itself is estimated, and never above n: a negative correlation within
    clusters is not credited. At p = 0 or 1 no SE can be estimated; the effective number is then
    1/sum(leverages^2), as if a cluster were one trial, and the method's name says so.

    Args:
        proportion: the estimate, in [0, 1].
        standard_error: its cluster-robust standard error.
        leverages: (K,) share of the estimate that each cluster holds, as n_g / n.
        n: trials.
        degrees_of_freedom: clusters minus strata.

    Undefined for n = 0 or no degree of freedom.

    Source: Korn and Graubard 1998, Survey Methodology 24, 193-201 (effective number); Dean and Pagano
    2015, J. Survey Statistics and Methodology 3, 484-503 (with Wilson). Coverage: tests.
    """
    check_level(level, where="clustered_wilson_interval")
    if n == 0:
        return Undefined("no scored rows")
    if degrees_of_freedom < 1:
        return Undefined("one cluster (or one in a stratum): its spread cannot be estimated")
    shares = np.asarray(leverages, dtype=np.float64)
    clusters = int(np.count_nonzero(shares))
    method: Method = "wilson-effective-n"
    if proportion in (0.0, 1.0):
        method = "wilson-one-per-cluster"
        effective = 1.0 / float(np.square(shares).sum())
    elif standard_error == 0.0:
        effective = float(n)
    else:
        tail = (1 + level) / 2
        shrink = float(special.stdtrit(max(n - 1, 1), tail) / special.stdtrit(degrees_of_freedom, tail))
        effective = min(float(n), proportion * (1 - proportion) / standard_error**2 * shrink**2)
    low, high = _wilson_bounds(proportion, effective, _z(level))
    return Interval(proportion, low, high, level, method, n, clusters)


def hoeffding_radius(n: int, *, delta: float, width: float = 1.0) -> float:
    """Half-width that the mean of n independent values misses with probability at most delta.

    sqrt(ln(2/delta) / (2n)) times the width of the values' range: 1 for A, 2 for m = 2A - 1. It holds
    for every n and every distribution in the range, so it is wide.

    Raises:
        InputError: n < 1, delta outside (0, 1), a width that is not positive.

    Source: Hoeffding 1963, theorem 2; arXiv 2605.30758 (n = 5120, delta = .05: .0190).
    """
    if n < 1:
        raise InputError(must_be("hoeffding_radius", "n must be at least 1", n))
    _check_delta(delta)
    _check_width(width)
    return width * math.sqrt(math.log(2 / delta) / (2 * n))


def clustered_hoeffding_radius(leverages: npt.ArrayLike, *, delta: float, width: float = 1.0) -> float:
    """The same for clusters that are independent, whatever happens inside them.

    With leverages c_g = n_g / n this solves 2 exp(-2 eps^2 n^2 / sum n_g^2) = delta. It is the plain
    radius with the number of independent values n replaced by 1 / sum c_g^2.

    Args:
        leverages: (K,) the most by which each cluster moves the mean per unit of width.

    Raises:
        InputError: no cluster, delta outside (0, 1), a width that is not positive.

    Source: Hoeffding 1963, theorem 2, applied to the sums per cluster, which lie in [0, n_g].
    """
    shares = np.asarray(leverages, dtype=np.float64)
    if shares.ndim != 1 or shares.size == 0:
        raise InputError(must_be("hoeffding_radius", "leverages must have shape (K,)", shares.shape))
    _check_delta(delta)
    _check_width(width)
    return width * math.sqrt(math.log(2 / delta) * math.fsum(shares**2) / 2)


def required_pairs(*, radius: float, delta: float, width: float = 1.0, cluster_size: int = 1) -> int:
    """The fewest pairs whose Hoeffding radius is at most `radius`, in clusters of one size.

    ceil(width^2 ln(2/delta) / (2 radius^2)) clusters, times their size.

    Raises:
        InputError: a radius or width that is not positive, delta outside (0, 1), cluster_size < 1.

    Source: arXiv 2605.30758 (radius = delta = .05: 738).
    """
    if not radius > 0:
        raise InputError(must_be("required_pairs", "radius must be positive", radius))
    _check_width(width)
    if cluster_size < 1:
        raise InputError(must_be("required_pairs", "cluster_size must be at least 1", cluster_size))
    _check_delta(delta)
    return math.ceil(width**2 * math.log(2 / delta) / (2 * radius**2)) * cluster_size


def hoeffding_interval(
    estimate: float,
    leverages: npt.ArrayLike,
    *,
    n: int,
    level: float = 0.95,
    support: tuple[float, float] = (0.0, 1.0),
) -> Interval | Undefined:
    """A mean of values in `support`, plus and minus its Hoeffding radius, cut to that range.

    Undefined for n = 0. The clusters are those of positive leverage.

    Source: as `clustered_hoeffding_radius`.
    """
    check_level(level, where="hoeffding_interval")
    if n == 0:
        return Undefined("no scored rows")
    shares = np.asarray(leverages, dtype=np.float64)
    radius = clustered_hoeffding_radius(shares, delta=1 - level, width=support[1] - support[0])
    low, high = max(support[0], estimate - radius), min(support[1], estimate + radius)
    return Interval(estimate, low, high, level, "hoeffding", n, int(np.count_nonzero(shares)))


def t_interval(
    estimate: float,
    standard_error: float,
    *,
    degrees_of_freedom: int,
    n: int,
    clusters: int,
    level: float = 0.95,
) -> Interval | Undefined:
    """Estimate plus and minus t times its cluster-robust standard error, on `degrees_of_freedom`.

    Undefined without a degree of freedom, and where the standard error is zero: all clusters agree
    exactly, so nothing shows how far another sample could lie.
    """
    check_level(level, where="t_interval")
    reason = spread_reason(standard_error, degrees_of_freedom)
    if reason is not None:
        return reason
    radius = float(special.stdtrit(degrees_of_freedom, (1 + level) / 2)) * standard_error
    return Interval(estimate, estimate - radius, estimate + radius, level, "cluster-t", n, clusters)


def spread_reason(standard_error: float, degrees_of_freedom: int) -> Undefined | None:
    """Why no spread can be read off a standard error, or None where it can."""
    if degrees_of_freedom < 1 or math.isnan(standard_error):
        return Undefined("one cluster (or one in a stratum): its spread cannot be estimated")
    if standard_error == 0.0:
        return Undefined("every cluster has the same value: the data show no spread")
    return None


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise InputError(must_be("hoeffding_radius", "delta must be between 0 and 1", delta))


def _check_width(width: float) -> None:
    if not width > 0:
        raise InputError(must_be("hoeffding_radius", "width must be positive", width))


def _z(level: float) -> float:
    return float(special.ndtri((1 + level) / 2))


def _wilson_bounds(p: float, n: float, z: float) -> tuple[float, float]:
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    radius = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low = 0.0 if p == 0.0 else max(0.0, centre - radius)
    high = 1.0 if p == 1.0 else min(1.0, centre + radius)
    return low, high
