"""The evidential ceiling: the project's own check values, brute force, bounds and degenerate cases."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from safetyrepro.errors import InputError
from safetyrepro.stats.evidential import (
    Rates,
    Trials,
    null_result_factor,
    required_trials,
    suite_ceiling,
    zero_failures_bound,
)
from safetyrepro.stats.undefined import Undefined

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "evidential.json").read_text(encoding="utf-8"))
NULL, ZERO = GOLDEN["null_result"], GOLDEN["zero_failures"]


@pytest.mark.parametrize("case", NULL["cases"], ids=str)
def test_the_factor_of_a_null_result_is_the_published_one(case: dict[str, float]) -> None:
    trials = Trials(int(case["n"]), int(case.get("family_size", 1)), case.get("icc", 0.0))
    rates = Rates(0.0, case["unsafe"], case.get("detection", 1.0), case.get("awareness", 0.0))
    assert factor_of(trials, rates) == pytest.approx(case["factor"], abs=NULL["tolerance"])


@pytest.mark.parametrize("case", ZERO["cases"], ids=str)
def test_the_bound_after_no_failure_is_the_exact_one_with_the_rule_of_three_beside_it(
    case: dict[str, float],
) -> None:
    bound = zero_failures_bound(int(case["n"]))
    assert bound.exact == pytest.approx(case["exact"], abs=ZERO["tolerance"])
    assert bound.approximation == pytest.approx(case["approximation"], abs=ZERO["tolerance"])


@pytest.mark.parametrize("n", [1, 7, 300])
def test_the_bound_is_clopper_and_pearsons_at_the_one_sided_level(n: int) -> None:
    two_sided = stats.binomtest(0, n).proportion_ci(confidence_level=0.90, method="exact")
    assert zero_failures_bound(n, level=0.95).exact == pytest.approx(two_sided.high, rel=1e-9)


def factor_of(trials: Trials, rates: Rates) -> float:
    factor = null_result_factor(trials, rates)
    assert isinstance(factor, float)
    return factor


def pmf(trials: Trials, rate: float) -> list[float]:
    """The distribution of failures over all families, family by family: the slow way."""
    size, total = trials.family_size, [1.0]
    if trials.icc == 0.0:
        family = [stats.binom.pmf(k, size, rate) for k in range(size + 1)]
    else:
        scale = (1 - trials.icc) / trials.icc
        family = [stats.betabinom.pmf(k, size, rate * scale, (1 - rate) * scale) for k in range(size + 1)]
    for _ in range(trials.families):
        longer = [0.0] * (len(total) + size)
        for i, left in enumerate(total):
            for j, right in enumerate(family):
                longer[i + j] += left * right
        total = longer
    return total


@pytest.mark.parametrize(
    "trials", [Trials(12), Trials(12, 4, 0.3), Trials(12, 3, 0.9), Trials(12, 12, 0.1)]
)
@pytest.mark.parametrize("awareness", [0.0, 0.2])
def test_no_outcome_goes_beyond_the_ceiling_of_a_suite(trials: Trials, awareness: float) -> None:
    rates = Rates(0.02, 0.3, 0.9, awareness)
    safe, apart = pmf(trials, 0.02 * 0.9), pmf(trials, 0.3 * 0.9)
    unsafe = [awareness * s + (1 - awareness) * u for s, u in zip(safe, apart, strict=True)]
    factors = [s / u for s, u in zip(safe, unsafe, strict=True)]
    ceiling = suite_ceiling(trials, rates)
    assert ceiling.for_safe == pytest.approx(max(factors), rel=1e-9)
    assert ceiling.for_safe == pytest.approx(factors[0], rel=1e-9)
    assert ceiling.for_unsafe == pytest.approx(1 / min(factors), rel=1e-6)
    assert ceiling.single_failure == pytest.approx(1 / factors[1], rel=1e-9)


def test_the_evidence_changes_sides_at_the_crossover() -> None:
    rates = Rates(0.001, 0.05)
    ceiling = suite_ceiling(Trials(300), rates)
    assert isinstance(ceiling.crossover, float)
    assert 3 < ceiling.crossover < 4
    for failures, sign in ((3, 1), (4, -1)):
        ratio = stats.binom.logpmf(failures, 300, 0.001) - stats.binom.logpmf(failures, 300, 0.05)
        assert math.copysign(1, ratio) == sign
    assert isinstance(ceiling.single_failure, float)
    assert ceiling.single_failure < 1, "one failure in 300 still speaks for a rate of one in a thousand"


def test_a_single_failure_speaks_loudest_for_a_rate_near_one_in_n() -> None:
    grid = [k / 2000 for k in range(2, 100)]
    factors = [suite_ceiling(Trials(100), Rates(0.0005, rate)).single_failure for rate in grid]
    assert all(isinstance(one, float) for one in factors)
    best = max(zip(factors, grid, strict=True), key=lambda pair: pair[0])  # type: ignore[arg-type, return-value]
    assert best[1] == 0.01


def test_at_a_safe_rate_of_zero_what_speaks_against_it_is_undefined_with_the_reason() -> None:
    ceiling = suite_ceiling(Trials(10), Rates(0.0, 0.1))
    for value in (ceiling.single_failure, ceiling.for_unsafe, ceiling.crossover):
        assert isinstance(value, Undefined)
        assert "one failure refutes it" in value.reason
    assert isinstance(ceiling.awareness_bound, Undefined)


def test_a_family_that_fails_as_a_whole_has_no_single_failure() -> None:
    ceiling = suite_ceiling(Trials(20, 10, 1.0), Rates(0.01, 0.1))
    assert isinstance(ceiling.single_failure, Undefined)
    assert isinstance(ceiling.crossover, Undefined)
    assert ceiling.for_safe == pytest.approx((0.99 / 0.9) ** 2)


def test_a_factor_too_large_for_a_number_is_undefined_and_never_infinite() -> None:
    ceiling = suite_ceiling(Trials(100_000), Rates(0.001, 0.5))
    for value in (ceiling.for_unsafe, ceiling.for_safe):
        assert isinstance(value, Undefined)
        assert "beyond 1e308" in value.reason


def test_a_factor_that_takes_too_many_trials_is_undefined_and_not_searched_for() -> None:
    answer = required_trials(1e6, Rates(0.0, 1e-9))
    assert isinstance(answer, Undefined)
    assert answer.reason == "it takes more than 10000000 trials"


@given(
    n=st.integers(1, 400),
    unsafe=st.floats(0.001, 0.2),
    awareness=st.floats(0.01, 0.9),
    detection=st.floats(0.05, 1.0),
)
def test_awareness_bounds_the_factor_whatever_the_number_of_trials(
    n: int, unsafe: float, awareness: float, detection: float
) -> None:
    factor = factor_of(Trials(n), Rates(0.0, unsafe, detection, awareness))
    assert 1.0 <= factor <= 1.0 / awareness * (1 + 1e-12)


@given(icc=st.floats(0.0, 1.0), size=st.integers(1, 12), families=st.integers(1, 12))
def test_clustering_never_adds_evidence_and_never_leaves_less_than_one_trial_a_family(
    icc: float, size: int, families: int
) -> None:
    rates = Rates(0.0, 0.03)
    factor = factor_of(Trials(size * families, size, icc), rates)
    assert factor <= factor_of(Trials(size * families), rates) * (1 + 1e-9)
    assert factor >= factor_of(Trials(families), rates) * (1 - 1e-9)


@given(
    factor=st.floats(1.01, 500.0),
    unsafe=st.floats(0.002, 0.3),
    size=st.integers(1, 6),
    icc=st.sampled_from([0.0, 0.2, 1.0]),
)
def test_the_required_trials_are_the_fewest_that_reach_the_factor(
    factor: float, unsafe: float, size: int, icc: float
) -> None:
    rates = Rates(0.0, unsafe)
    n = required_trials(factor, rates, family_size=size, icc=icc)
    assert isinstance(n, int)
    assert factor_of(Trials(n, size, icc), rates) >= factor
    if n > size:
        assert factor_of(Trials(n - size, size, icc), rates) < factor


def test_a_factor_beyond_what_awareness_allows_is_reached_by_no_number_of_trials() -> None:
    answer = required_trials(20.0, Rates(0.0, 0.01, awareness=0.05))
    assert isinstance(answer, Undefined)
    assert answer.reason == "with awareness 0.05 every null result stays below 20"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Trials(0), "n must be in 1..10000000; got 0"),
        (lambda: Trials(10**12), "n must be in 1..10000000"),
        (lambda: Trials(10, 0), "family size must be at least 1"),
        (lambda: Trials(10, 3), "n must be a multiple of the family size 3; got 10"),
        (lambda: Trials(10, 5, 1.5), "icc must be in 0..1; got 1.5"),
        (lambda: Trials(10, 5, math.nan), "icc must be in 0..1; got nan"),
        (lambda: Rates(-0.1, 0.1), "the safe rate must be at least 0"),
        (lambda: Rates(0.2, 0.1), "the unsafe rate must be above the safe rate 0.2"),
        (lambda: Rates(0.1, 1.0), "the unsafe rate must be above"),
        (lambda: Rates(0.0, 0.1, 0.0), "detection must be above 0"),
        (lambda: Rates(0.0, 0.1, 1.0, 1.0), "awareness must be at least 0 and below 1"),
        (lambda: required_trials(1.0, Rates(0.0, 0.1)), "factor must be above 1"),
        (lambda: required_trials(math.inf, Rates(0.0, 0.1)), "factor must be above 1 and finite"),
        (lambda: zero_failures_bound(0), "n must be at least 1; got 0"),
        (lambda: zero_failures_bound(10, level=1.0), "level must be between 0 and 1"),
    ],
)
def test_an_impossible_question_is_refused(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(InputError, match=message):
        call()
