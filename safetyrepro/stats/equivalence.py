"""Tests on an estimate: above a threshold, not worse by more than a margin, equivalent within one."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy import special

from safetyrepro.errors import InputError, must_be
from safetyrepro.stats.estimates import Estimate
from safetyrepro.stats.intervals import spread_reason
from safetyrepro.stats.undefined import Undefined


@dataclass(frozen=True, slots=True)
class EquivalenceTest:
    """Two one-sided tests against plus and minus the margin: the only way to say "no difference".

    `p_above_lower` tests difference <= -margin, `p_below_upper` difference >= margin; `p_value` is the
    larger. `low` and `high` are the interval of level 2 `level` - 1, inside the margin exactly when
    `equivalent`.
    """

    margin: float
    level: float
    p_above_lower: float
    p_below_upper: float
    low: float
    high: float

    @property
    def p_value(self) -> float:
        return max(self.p_above_lower, self.p_below_upper)

    @property
    def equivalent(self) -> bool:
        return self.p_value <= 1 - self.level


@dataclass(frozen=True, slots=True)
class NonInferiorityTest:
    """Whether first is not worse than second by more than the margin, one-sided.

    `lower_bound` is the one-sided bound at `level`, at or above -margin exactly when `not_worse`.
    """

    margin: float
    level: float
    p_value: float
    lower_bound: float

    @property
    def not_worse(self) -> bool:
        return self.p_value <= 1 - self.level


def two_sided_p(estimate: Estimate | Undefined) -> float | Undefined:
    """p of "the mean is zero", from t on the estimate's degrees of freedom; Undefined without spread."""
    if isinstance(estimate, Undefined):
        return estimate
    error, df = _error(estimate), estimate.degrees_of_freedom
    if isinstance(error, Undefined):
        return error
    return 2 * float(special.stdtr(df, -abs(estimate.value) / error))


def p_above(estimate: Estimate | Undefined, threshold: float) -> float | Undefined:
    """p of "the mean is at most `threshold`": small says that it lies above."""
    if isinstance(estimate, Undefined):
        return estimate
    error, df = _error(estimate), estimate.degrees_of_freedom
    if isinstance(error, Undefined):
        return error
    return float(special.stdtr(df, (threshold - estimate.value) / error))


def p_below(estimate: Estimate | Undefined, threshold: float) -> float | Undefined:
    """p of "the mean is at least `threshold`": small says that it lies below."""
    if isinstance(estimate, Undefined):
        return estimate
    error, df = _error(estimate), estimate.degrees_of_freedom
    if isinstance(error, Undefined):
        return error
    return float(special.stdtr(df, (estimate.value - threshold) / error))


def equivalence_test(
    difference: Estimate, *, margin: float, level: float = 0.95
) -> EquivalenceTest | Undefined:
    """Whether a difference lies within +-`margin`, by two one-sided t tests at 1 - `level` each.

    Undefined where the difference shows no spread between clusters.

    Raises:
        InputError: a margin that is not positive, a level outside (.5, 1).

    Source: Schuirmann 1987, J. Pharmacokinetics and Biopharmaceutics 15, 657-680; checked against
    statsmodels DescrStatsW.ttost_mean.
    """
    if not margin > 0:
        raise InputError(must_be("equivalence_test", "margin must be positive", margin))
    _check_one_sided(level, "equivalence_test")
    error, df, value = _error(difference), difference.degrees_of_freedom, difference.value
    if isinstance(error, Undefined):
        return error
    radius = float(special.stdtrit(df, level)) * error
    return EquivalenceTest(
        margin=margin,
        level=level,
        p_above_lower=float(special.stdtr(df, -(value + margin) / error)),
        p_below_upper=float(special.stdtr(df, (value - margin) / error)),
        low=value - radius,
        high=value + radius,
    )


def non_inferiority_test(
    difference: Estimate, *, margin: float, level: float = 0.95
) -> NonInferiorityTest | Undefined:
    """Whether first is not worse than second by more than `margin`, by one t test at 1 - `level`.

    A margin of 0 asks whether first is ahead. Undefined where the difference shows no spread.

    Raises:
        InputError: a negative margin, a level outside (.5, 1).
    """
    if not margin >= 0:
        raise InputError(must_be("non_inferiority_test", "margin must not be negative", margin))
    _check_one_sided(level, "non_inferiority_test")
    error, df, value = _error(difference), difference.degrees_of_freedom, difference.value
    if isinstance(error, Undefined):
        return error
    return NonInferiorityTest(
        margin=margin,
        level=level,
        p_value=float(special.stdtr(df, -(value + margin) / error)),
        lower_bound=value - float(special.stdtrit(df, level)) * error,
    )


def _error(estimate: Estimate) -> float | Undefined:
    error = estimate.standard_error
    plain = math.nan if isinstance(error, Undefined) else error
    reason = spread_reason(plain, estimate.degrees_of_freedom)
    return plain if reason is None else reason


def _check_one_sided(level: float, where: str) -> None:
    if not 0.5 < level < 1:
        raise InputError(must_be(where, "level must be between .5 and 1", level))
