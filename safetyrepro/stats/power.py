"""How many items it takes to tell two models apart, and which gap a study could have seen."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from safetyrepro.errors import InputError, must_be
from safetyrepro.stats.envelope import JointComparison
from safetyrepro.stats.undefined import Undefined


@dataclass(frozen=True, slots=True)
class PairedSpread:
    """Item standard deviations of two models' scores, their correlation, and that of the difference.

    All with divisor n - 1, over the items both have. `correlation` is Undefined where one is constant.
    """

    first: float
    second: float
    correlation: float | Undefined
    difference: float
    items: int


def paired_spread(first: NDArray[np.float64], second: NDArray[np.float64]) -> PairedSpread | Undefined:
    """The spreads that a power calculation needs, from two models' item scores (N,), NaN missing.

    Undefined with fewer than two common items.

    Raises:
        InputError: two vectors of different length.
    """
    one, two = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if one.ndim != 1 or one.shape != two.shape:
        raise InputError(
            must_be("paired_spread", "must be two vectors of one length", (one.shape, two.shape))
        )
    both = ~(np.isnan(one) | np.isnan(two))
    one, two = one[both], two[both]
    if one.size < 2:
        return Undefined(f"a spread needs at least 2 common items; there are {one.size}")
    spreads = float(one.std(ddof=1)), float(two.std(ddof=1))
    correlation: float | Undefined = Undefined("one of the two models has the same score on every item")
    if min(spreads) > 0:
        correlation = float(np.corrcoef(one, two)[0, 1])
    return PairedSpread(
        first=spreads[0],
        second=spreads[1],
        correlation=correlation,
        difference=float((one - two).std(ddof=1)),
        items=int(one.size),
    )


def difference_spread(first: float, second: float, *, correlation: float) -> float:
    """The item standard deviation of the difference of two scores with these spreads and correlation.

    Raises:
        InputError: a negative spread, a correlation outside -1..1.
    """
    for name, value in (("first", first), ("second", second)):
        if not 0 <= value < math.inf:
            raise InputError(must_be(f"difference_spread.{name}", "must be at least 0", value))
    if not -1 <= correlation <= 1:
        raise InputError(must_be("difference_spread.correlation", "must lie in -1..1", correlation))
    return math.sqrt(max(0.0, first**2 + second**2 - 2 * correlation * first * second))


def items_needed(
    gap: float,
    *,
    spread: float,
    power: float = 0.8,
    level: float = 0.95,
    comparisons: int = 1,
    design_effect: float = 1.0,
) -> int:
    """Items with which a true gap between two models is reliably seen with this power.

    Args:
        gap: true difference of mean scores; only its size matters.
        spread: item standard deviation of the paired difference (`difference_spread`).
        power: chance of the right decision.
        level: two-sided joint level.
        comparisons: size of the family (pairs x configurations), adjusted as Bonferroni does; the joint
            step-down needs no more than that.
        design_effect: variance inflation by clusters, 1 + (items per cluster - 1) x icc.

    Raises:
        InputError: a gap of 0, a negative spread, power not in (0.5, 1), level not in (0, 1),
            comparisons < 1, design effect not positive.

    Source: normal approximation (Miller 2024, arXiv 2411.00640, sec. 5); checked against statsmodels
    `NormalIndPower(ratio=0)`.
    """
    if not 0 < abs(gap) < math.inf:
        raise InputError(must_be("items_needed", "gap must be finite and not 0", gap))
    if not 0 <= spread < math.inf:
        raise InputError(must_be("items_needed", "spread must be finite and at least 0", spread))
    reach = critical_value(level=level, comparisons=comparisons) + _power_quantile(power)
    if not 0 < design_effect < math.inf:
        raise InputError(must_be("items_needed", "design_effect must be positive", design_effect))
    return max(1, math.ceil(design_effect * (reach * spread / gap) ** 2 * (1 - 1e-12)))


def detectable_gap(standard_error: float, *, critical: float, power: float = 0.8) -> float:
    """The true gap that would have been reliably seen with this power, in the unit of the score.

    Args:
        standard_error: of the difference, as the study had it.
        critical: the family's critical value, such as `JointComparison.critical_value`.
        power: chance of the right decision.

    Raises:
        InputError: a negative standard error or critical value, power not in (0.5, 1).
    """
    for name, value in (("standard_error", standard_error), ("critical", critical)):
        if not 0 <= value < math.inf:
            raise InputError(must_be(f"detectable_gap.{name}", "must be finite and at least 0", value))
    return (critical + _power_quantile(power)) * standard_error


def detectable_gaps(comparison: JointComparison, *, power: float = 0.8) -> NDArray[np.float64]:
    """(P, C) the gap that each pair and configuration of a study could have seen; NaN without a test.

    Raises:
        InputError: power not in (0.5, 1).
    """
    quantile = _power_quantile(power)
    if isinstance(comparison.critical_value, Undefined):
        return np.full(comparison.differences.shape, np.nan)
    return (comparison.upper - comparison.lower) / 2 + quantile * comparison.standard_errors


def critical_value(*, level: float, comparisons: int = 1) -> float:
    """The two-sided normal critical value of a family of comparisons, Bonferroni.

    Raises:
        InputError: level not in (0, 1), comparisons < 1.
    """
    if not 0 < level < 1:
        raise InputError(must_be("level", "must lie strictly between 0 and 1", level))
    if comparisons < 1:
        raise InputError(must_be("comparisons", "must be at least 1", comparisons))
    return float(stats.norm.isf((1 - level) / (2 * comparisons)))


def design_effect(items_per_cluster: float, *, intraclass_correlation: float) -> float:
    """How much clusters of this size inflate the variance of a mean: 1 + (m - 1) icc.

    Raises:
        InputError: fewer than one item per cluster, a correlation outside 0..1.

    Source: Kish 1965, Survey Sampling, sec. 5.4.
    """
    if not 1 <= items_per_cluster < math.inf:
        raise InputError(must_be("items_per_cluster", "must be at least 1", items_per_cluster))
    if not 0 <= intraclass_correlation <= 1:
        raise InputError(must_be("intraclass_correlation", "must lie in 0..1", intraclass_correlation))
    return 1 + (items_per_cluster - 1) * intraclass_correlation


def _power_quantile(power: float) -> float:
    if not 0.5 < power < 1:
        raise InputError(must_be("power", "must lie strictly between 0.5 and 1", power))
    return float(stats.norm.ppf(power))
