"""Named results of `stats` as the quantities that `results.json` stores."""

from __future__ import annotations

from safetyrepro.data.results import Estimate, NoEstimate, PointOnly, Quantity
from safetyrepro.stats.estimates import Estimate as Estimated
from safetyrepro.stats.intervals import Interval
from safetyrepro.stats.undefined import Undefined


def interval_quantity(interval: Interval) -> Estimate:
    """An interval as a quantity."""
    return Estimate(
        value=interval.estimate,
        low=interval.low,
        high=interval.high,
        confidence=interval.level,
        method=interval.method,
        n=interval.n,
        clusters=interval.clusters,
    )


def quantity(
    estimate: Estimated | Undefined, interval: Interval | Undefined | None, *, n: int = 0
) -> Quantity:
    """An estimate with one of its intervals: a number with its interval, a bare point, or a reason.

    Args:
        estimate: the estimate, or why there is none.
        interval: the interval of it to store (None where the estimate is undefined).
        n: items that would have carried a number, for an undefined estimate.
    """
    if isinstance(estimate, Undefined):
        return NoEstimate(reason=estimate.reason, n=n)
    if interval is None:
        raise ValueError("an estimate needs one of its intervals, or the reason why it has none")
    if isinstance(interval, Undefined):
        return PointOnly(
            value=estimate.value, reason=interval.reason, n=estimate.n, clusters=estimate.clusters
        )
    return interval_quantity(interval)


def share_quantity(interval: Interval | Undefined, *, n: int) -> Quantity:
    """A proportion's interval, or why there is none."""
    if isinstance(interval, Undefined):
        return NoEstimate(reason=interval.reason, n=n)
    return interval_quantity(interval)


def percentile(estimate: Estimated | Undefined, *, n: int = 0) -> Quantity:
    """With the percentile bootstrap interval."""
    return quantity(estimate, None if isinstance(estimate, Undefined) else estimate.percentile, n=n)


def bca(estimate: Estimated | Undefined, *, n: int = 0) -> Quantity:
    """With the BCa bootstrap interval."""
    return quantity(estimate, None if isinstance(estimate, Undefined) else estimate.bca, n=n)


def wilson(estimate: Estimated | Undefined, *, n: int = 0) -> Quantity:
    """With the Wilson interval, adjusted for clusters where there are any."""
    return quantity(estimate, None if isinstance(estimate, Undefined) else estimate.wilson, n=n)


def value_of(one: Quantity) -> float | None:
    """The point estimate, or None where there is none."""
    return None if isinstance(one, NoEstimate) else one.value
