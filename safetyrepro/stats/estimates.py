"""An estimate with every interval it has, and the reason in the place of each it has not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from safetyrepro.errors import InputError, must_be
from safetyrepro.stats.bootstrap import (
    bca_intervals,
    bootstrap_t_intervals,
    draw_replicates,
    percentile_intervals,
)
from safetyrepro.stats.clusters import ClusterMeans
from safetyrepro.stats.intervals import (
    Interval,
    clustered_wilson_interval,
    hoeffding_interval,
    t_interval,
    wilson_interval,
)
from safetyrepro.stats.undefined import Undefined


class Support(Enum):
    """The values a row can take: it decides which intervals exist."""

    BINARY = "0 or 1"
    UNIT = "0 to 1"
    SIGNED = "-1 to 1"
    REAL = "unbounded"


_BOUNDS = {Support.BINARY: (0.0, 1.0), Support.UNIT: (0.0, 1.0), Support.SIGNED: (-1.0, 1.0)}


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean of scored rows with its standard error and its intervals, all at one `level`.

    `n` is the denominator, `clusters` the independent units in it, `standard_error` is cluster-robust
    (factor K/(K-1)) on `degrees_of_freedom`.
    """

    value: float
    standard_error: float | Undefined
    degrees_of_freedom: int
    level: float
    n: int
    clusters: int
    wilson: Interval | Undefined
    hoeffding: Interval | Undefined
    t: Interval | Undefined
    percentile: Interval | Undefined
    bca: Interval | Undefined
    bootstrap_t: Interval | Undefined

    def affine(self, factor: float, offset: float) -> Estimate:
        """The estimate of factor * x + offset, for factor > 0, with all its intervals."""

        def moved(interval: Interval | Undefined) -> Interval | Undefined:
            return interval if isinstance(interval, Undefined) else interval.affine(factor, offset)

        error = self.standard_error
        return replace(
            self,
            value=factor * self.value + offset,
            standard_error=error if isinstance(error, Undefined) else factor * error,
            wilson=moved(self.wilson),
            hoeffding=moved(self.hoeffding),
            t=moved(self.t),
            percentile=moved(self.percentile),
            bca=moved(self.bca),
            bootstrap_t=moved(self.bootstrap_t),
        )


def estimate_means(
    means: ClusterMeans,
    supports: Sequence[Support],
    *,
    level: float,
    resamples: int,
    rng: np.random.Generator,
) -> tuple[Estimate | Undefined, ...]:
    """(Q) estimates of the series of `means`, all from the same resamples.

    A proportion gets plain Wilson only where every row is independent; with clusters or strata it is
    `clustered_wilson_interval`. Undefined for a series without scored rows, or with a stratum without.

    Raises:
        InputError: one support per series is not given; a level outside (0, 1); too few resamples.
    """
    values = means.estimates()
    if len(supports) != values.size:
        raise InputError(must_be("estimate_means", f"there must be {values.size} supports", len(supports)))
    replicates = draw_replicates(means, resamples=resamples, rng=rng)
    percentile = percentile_intervals(replicates, level=level)
    bca = bca_intervals(replicates, level=level)
    studentised = bootstrap_t_intervals(replicates, level=level)
    errors, freedom = means.standard_errors(), means.degrees_of_freedom()
    rows, clusters, leverages = means.rows(), means.scored_clusters(), means.leverages()
    independent = len(means.strata) == 1 and means.strata[0].counts.max() <= 1

    def one(q: int) -> Estimate | Undefined:
        if np.isnan(values[q]):
            return Undefined("no scored rows" if rows[q] == 0 else "a stratum without scored rows")
        value, error = float(values[q]), float(errors[q])
        n, k, df = int(rows[q]), int(clusters[q]), int(freedom[q])
        wilson: Interval | Undefined = Undefined("not a proportion of ones among ones and zeros")
        if supports[q] is Support.BINARY and independent:
            wilson = wilson_interval(round(value * n), n, level=level)
        elif supports[q] is Support.BINARY:
            wilson = clustered_wilson_interval(
                value, error, leverages=leverages[q], n=n, degrees_of_freedom=df, level=level
            )
        hoeffding: Interval | Undefined = Undefined("the values have no bound")
        bounds = _BOUNDS.get(supports[q])
        if bounds is not None:
            hoeffding = hoeffding_interval(value, leverages[q], n=n, level=level, support=bounds)
        return Estimate(
            value=value,
            standard_error=Undefined("one cluster (or one in a stratum)") if np.isnan(error) else error,
            degrees_of_freedom=df,
            level=level,
            n=n,
            clusters=k,
            wilson=wilson,
            hoeffding=hoeffding,
            t=t_interval(value, error, degrees_of_freedom=df, n=n, clusters=k, level=level),
            percentile=percentile[q],
            bca=bca[q],
            bootstrap_t=studentised[q],
        )

    return tuple(one(q) for q in range(values.size))
