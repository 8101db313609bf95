"""What a run without a failure can show at most: the evidential ceiling of a null result.

Two hypotheses are compared: a system that fails at the `safe` rate, and one that fails at the `unsafe`
rate. A result moves belief between them by its likelihood ratio, whatever the prior odds; `factor` is
that ratio, for the safe rate over the unsafe one. No analysis of the same result can move it further.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from safetyrepro.errors import InputError, must_be
from safetyrepro.stats.undefined import Undefined

MOST_TRIALS = 10_000_000
_LARGEST_EXPONENT = math.log(math.nextafter(math.inf, 0.0))


@dataclass(frozen=True, slots=True)
class Trials:
    """How many trials there are, and how alike those of one family are.

    A family is a scenario with its rewordings, `family_size` trials each. `icc` is the intraclass
    correlation of failures within a family, in 0..1: at 0 trials are independent, at 1 a family is one
    trial.

    Raises:
        InputError: n outside 1..10,000,000, family_size below 1, n no multiple of family_size, icc outside
            0..1.
    """

    n: int
    family_size: int = 1
    icc: float = 0.0

    def __post_init__(self) -> None:
        if not 1 <= self.n <= MOST_TRIALS:
            raise InputError(must_be("trials", f"n must be in 1..{MOST_TRIALS}", self.n))
        if self.family_size < 1:
            raise InputError(must_be("trials", "family size must be at least 1", self.family_size))
        if self.n % self.family_size:
            what = f"n must be a multiple of the family size {self.family_size}"
            raise InputError(must_be("trials", what, self.n))
        if not 0.0 <= self.icc <= 1.0:
            raise InputError(must_be("trials", "icc must be in 0..1", self.icc))

    @property
    def families(self) -> int:
        return self.n // self.family_size


@dataclass(frozen=True, slots=True)
class Rates:
    """The two failure rates under comparison, and what stands between a failure and its being seen.

    `detection` is the probability that the judge sees a failure (its sensitivity; it is taken to raise no
    false alarm), `awareness` the probability that an unsafe system acts at the safe rate throughout
    because it is tested.

    Raises:
        InputError: a rate outside 0 <= safe < unsafe < 1, detection outside 0 < s <= 1, awareness outside
            0 <= w < 1.
    """

    safe: float
    unsafe: float
    detection: float = 1.0
    awareness: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.safe < 1.0:
            raise InputError(must_be("rates", "the safe rate must be at least 0 and below 1", self.safe))
        if not self.safe < self.unsafe < 1.0:
            what = f"the unsafe rate must be above the safe rate {self.safe} and below 1"
            raise InputError(must_be("rates", what, self.unsafe))
        if not 0.0 < self.detection <= 1.0:
            raise InputError(must_be("rates", "detection must be above 0, at most 1", self.detection))
        if not 0.0 <= self.awareness < 1.0:
            raise InputError(must_be("rates", "awareness must be at least 0 and below 1", self.awareness))


@dataclass(frozen=True, slots=True)
class SuiteCeiling:
    """How far the outcomes of a suite can move belief between two failure rates.

    Factors are likelihood ratios in their own direction, so at least 1 is "for" what the field names.
    """

    for_safe: float | Undefined
    """Of no failure at all: no outcome speaks louder for the safe rate."""
    single_failure: float | Undefined
    """Of exactly one failure, for the unsafe rate; below 1 it still speaks for the safe one."""
    for_unsafe: float | Undefined
    """Of a failure in every trial: no outcome speaks louder for the unsafe rate."""
    crossover: float | Undefined
    """The number of failures at which the evidence changes sides, a real number."""
    awareness_bound: float | Undefined
    """1 / awareness: no number of trials brings `for_safe` beyond it."""


@dataclass(frozen=True, slots=True)
class UpperBound:
    """The one-sided upper bound of a failure rate after n independent trials without a failure."""

    n: int
    level: float
    exact: float
    """1 - (1 - level)^(1/n): Clopper and Pearson's."""
    approximation: float
    """-ln(1 - level) / n, at most 1; at 95% the "rule of three", 3/n."""


def null_result_factor(trials: Trials, rates: Rates) -> float | Undefined:
    """The largest factor by which no failure can move belief towards the safe rate; at least 1.

    Independent trials give ((1 - s q_safe) / (1 - s q_unsafe))^n. Clustered ones replace 1 - q by the
    probability that a family shows no failure, to the power of the families. With awareness w the factor R
    becomes 1 / (w + (1 - w) / R), below 1 / w for any n. Undefined beyond 1e308.

    Source: arXiv 2607.21735 for the factor, detection and the bound 1/w. The beta-binomial families, and a
    safe rate above 0 beside awareness, are this project's derivation. Where detection is below 1, `icc` is
    that of failures as detected.
    """
    return _exponential(_log_null_factor(trials, rates))


def suite_ceiling(trials: Trials, rates: Rates) -> SuiteCeiling:
    """The ceiling over all outcomes of a suite, with the single failure and where evidence changes sides.

    Within a family the ratio of the two probabilities falls with the number of failures, so over all
    outcomes of all families it is largest for none and smallest for all of them.

    Undefined: what speaks for the unsafe rate where the safe rate is 0 (one failure refutes it); the
    single failure where a family fails as a whole; the crossover at a safe rate of 0, and for clustered
    trials, where it depends on which families fail.

    Source: this project's derivation from the likelihoods; the crossover is the root of the binomial
    log-likelihood ratio.
    """
    awareness = rates.awareness
    refuted: float | Undefined = Undefined(
        "at a safe rate of 0 one failure refutes it: no factor is finite"
    )
    single = all_failed = crossover = refuted
    if rates.safe > 0.0:
        single = (
            Undefined("at an icc of 1 a family fails as a whole, so there is no single failure")
            if trials.icc == 1.0 and trials.family_size > 1
            else _exponential(-_aware(_log_ratio(trials, rates, failures=1), awareness))
        )
        all_failed = _exponential(-_aware(_log_ratio(trials, rates, failures=trials.n), awareness))
        crossover = _crossover(trials, rates)
    return SuiteCeiling(
        for_safe=null_result_factor(trials, rates),
        single_failure=single,
        for_unsafe=all_failed,
        crossover=crossover,
        awareness_bound=1.0 / awareness
        if awareness > 0.0
        else Undefined("without awareness the factor has no bound"),
    )


def required_trials(
    factor: float, rates: Rates, *, family_size: int = 1, icc: float = 0.0
) -> int | Undefined:
    """The fewest trials whose null result has at least this factor; whole families where clustered.

    Undefined where awareness w keeps every null result below it (factor >= 1/w).

    Raises:
        InputError: a factor that is not above 1.

    Source: `null_result_factor`, solved for n.
    """
    if not 1.0 < factor < math.inf:
        raise InputError(must_be("required_trials", "factor must be above 1 and finite", factor))
    remaining = 1.0 / factor - rates.awareness
    if remaining <= 0.0:
        return Undefined(
            f"with awareness {rates.awareness:g} every null result stays below {1.0 / rates.awareness:g}"
        )
    needed = math.log(1.0 - rates.awareness) - math.log(remaining)
    family = Trials(n=family_size, family_size=family_size, icc=icc)
    each = _log_ratio(family, rates, failures=0)
    families = max(1, math.ceil(needed / each))
    if (families + 1) * family_size > MOST_TRIALS:
        return Undefined(f"it takes more than {MOST_TRIALS} trials")
    # The division may round across an integer; the factor itself decides.
    while _log_null_factor(_of(families, family), rates) < math.log(factor):
        families += 1
    while families > 1 and _log_null_factor(_of(families - 1, family), rates) >= math.log(factor):
        families -= 1
    return families * family_size


def zero_failures_bound(n: int, *, level: float = 0.95) -> UpperBound:
    """The one-sided upper bound of a failure rate after n independent trials without a failure.

    One-sided, because a rate has no lower bound but 0 here; a two-sided interval at the same level would
    quote 3.7/n.

    Raises:
        InputError: n below 1, a level outside (0, 1).

    Source: Clopper and Pearson 1934, Biometrika 26, 404-413; Hanley and Lippman-Hand 1983, JAMA 249,
    1743-1745 (the rule of three).
    """
    if n < 1:
        raise InputError(must_be("zero_failures_bound", "n must be at least 1", n))
    if not 0.0 < level < 1.0:
        raise InputError(must_be("zero_failures_bound", "level must be between 0 and 1, as .95", level))
    log_alpha = math.log1p(-level)
    return UpperBound(
        n=n,
        level=level,
        exact=-math.expm1(log_alpha / n),
        approximation=min(1.0, -log_alpha / n),
    )


def _aware(log_ratio: float, awareness: float) -> float:
    """log(1 / (w + (1 - w) exp(-log_ratio))): the safe rate against a mixture of both."""
    if awareness == 0.0:
        return log_ratio
    return -float(special.logsumexp([0.0, -log_ratio], b=[awareness, 1.0 - awareness]))


def _exponential(exponent: float) -> float | Undefined:
    """e to this power, which a number of this machine may be too small to hold."""
    if exponent > _LARGEST_EXPONENT:
        return Undefined(f"the factor is beyond 1e308: e to the {exponent:.0f}")
    return math.exp(exponent)


def _of(families: int, family: Trials) -> Trials:
    return Trials(n=families * family.family_size, family_size=family.family_size, icc=family.icc)


def _log_null_factor(trials: Trials, rates: Rates) -> float:
    return _aware(_log_ratio(trials, rates, failures=0), rates.awareness)


def _log_ratio(trials: Trials, rates: Rates, *, failures: int) -> float:
    """log P(failures | safe) - log P(failures | unsafe) without awareness; failures is 0, 1 or n."""
    safe, unsafe = (
        _log_outcome(trials, rate * rates.detection, failures=failures)
        for rate in (rates.safe, rates.unsafe)
    )
    return safe - unsafe


def _log_outcome(trials: Trials, rate: float, *, failures: int) -> float:
    families, size = trials.families, trials.family_size
    none = _log_family(size, rate, icc=trials.icc, failures=0)
    if failures == 0:
        return families * none
    if failures == trials.n:
        return families * _log_family(size, rate, icc=trials.icc, failures=size)
    one = _log_family(size, rate, icc=trials.icc, failures=1)
    return math.log(families) + one + (families - 1) * none


def _log_family(size: int, rate: float, *, icc: float, failures: int) -> float:
    """log of the beta-binomial probability of 0, 1 or `size` failures among the trials of one family.

    Written as a product over the trials (an urn that returns each draw with more of its kind), which is
    exact down to an icc of 0, where the beta function cancels.
    """
    if rate == 0.0:
        return 0.0 if failures == 0 else -math.inf
    if icc == 1.0 or size == 1:
        share = {0: 1.0 - rate, size: rate}.get(failures, 0.0)
        return math.log(share) if share > 0.0 else -math.inf
    reinforcement = icc / (1.0 - icc) * np.arange(size, dtype=np.float64)
    if failures == size:
        return float(np.sum(np.log((rate + reinforcement) / (1.0 + reinforcement))))
    passes = np.log1p(-rate / (1.0 + reinforcement))
    if failures == 0:
        return float(np.sum(passes))
    return math.log(size * rate) + float(np.sum(passes[:-1]) - np.log1p(reinforcement[-1]))


def _crossover(trials: Trials, rates: Rates) -> float | Undefined:
    if trials.icc > 0.0 and trials.family_size > 1:
        return Undefined("for clustered trials it depends on which families fail")
    safe, unsafe = rates.safe * rates.detection, rates.unsafe * rates.detection
    for_none = math.log1p(-safe) - math.log1p(-unsafe)
    return trials.n * for_none / (for_none + math.log(unsafe) - math.log(safe))
