"""Paired differences, equivalence and strata against statsmodels and scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.weightstats import DescrStatsW

from safetyrepro.errors import InputError
from safetyrepro.stats.equivalence import (
    EquivalenceTest,
    NonInferiorityTest,
    equivalence_test,
    non_inferiority_test,
    p_above,
    p_below,
    two_sided_p,
)
from safetyrepro.stats.estimates import Estimate
from safetyrepro.stats.intervals import Interval
from safetyrepro.stats.paired import (
    PairedDifference,
    mixture_dominance,
    paired_difference,
    paired_differences,
    stratum_differences,
    worst_case_difference,
)
from safetyrepro.stats.preference import Bounds
from safetyrepro.stats.undefined import Undefined

FLAT = Undefined("every cluster has the same value: the data show no spread")


def generator() -> np.random.Generator:
    return np.random.default_rng(23)


def difference(first: object, second: object, **options: object) -> PairedDifference:
    return paired_difference(first, second, rng=generator(), resamples=500, **options)  # type: ignore[arg-type]


def defined(estimate: Estimate | Undefined) -> Estimate:
    assert isinstance(estimate, Estimate), estimate
    return estimate


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(45), 2)
    hardness = rng.normal(size=45)[clusters]
    first = (hardness + rng.normal(0.5, 1, size=90) > 0).astype(float)
    second = (hardness + rng.normal(0.2, 1, size=90) > 0).astype(float)
    first[:4] = 0.5
    return first, second, clusters


def test_without_clusters_a_paired_difference_is_the_paired_t_test_of_scipy() -> None:
    first, second, _ = data()
    found, expected = difference(first, second), stats.ttest_rel(first, second)
    estimate = defined(found.estimate)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-10)
    assert isinstance(estimate.t, Interval)
    interval = expected.confidence_interval(0.95)
    assert (estimate.t.low, estimate.t.high) == pytest.approx((interval.low, interval.high), rel=1e-10)
    assert estimate.degrees_of_freedom == 89


def test_with_clusters_it_is_statsmodels_clustered_regression_on_k_minus_1_df() -> None:
    first, second, clusters = data()
    fit = sm.OLS(first - second, np.ones(90)).fit(
        cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True
    )
    found = difference(first, second, clusters=clusters)
    estimate = defined(found.estimate)
    assert estimate.value == pytest.approx(fit.params[0], rel=1e-12)
    assert estimate.standard_error == pytest.approx(fit.bse[0], rel=1e-10)
    assert found.p_value == pytest.approx(fit.pvalues[0], rel=1e-8)
    assert isinstance(estimate.t, Interval)
    assert (estimate.t.low, estimate.t.high) == pytest.approx(tuple(fit.conf_int()[0]), rel=1e-8)


def test_an_item_without_a_value_for_one_of_the_two_is_dropped_and_counted() -> None:
    first, second, clusters = data()
    first[3], second[10:12] = math.nan, math.nan
    found = difference(first, second, clusters=clusters)
    kept = ~np.isnan(first - second)
    whole = difference(first[kept], second[kept], clusters=clusters[kept])
    assert (found.items, found.dropped) == (90, 3)
    assert defined(found.estimate).n == 87
    assert defined(found.estimate).clusters == 44
    assert defined(found.estimate).value == defined(whole.estimate).value
    assert found.p_value == pytest.approx(whole.p_value, rel=1e-12)


def test_exchanging_the_models_changes_the_sign_alone() -> None:
    first, second, clusters = data()
    forward, backward = (
        difference(first, second, clusters=clusters),
        difference(second, first, clusters=clusters),
    )
    assert defined(backward.estimate).value == -defined(forward.estimate).value
    assert defined(backward.estimate).standard_error == defined(forward.estimate).standard_error
    assert backward.p_value == forward.p_value


def test_row_order_and_other_pairs_change_no_bit() -> None:
    first, second, clusters = data()
    order = np.random.default_rng(3).permutation(90)
    alone = difference(first, second, clusters=clusters)
    assert difference(first[order], second[order], clusters=clusters[order]) == alone
    table = paired_differences(
        [second, first, first],
        [first, second, np.zeros(90)],
        clusters=clusters,
        rng=generator(),
        resamples=500,
    )
    assert table[1] == alone


def test_doubling_every_row_inside_its_cluster_changes_nothing_but_n() -> None:
    first, second, clusters = data()
    once = difference(first, second, clusters=clusters)
    twice = difference(np.tile(first, 2), np.tile(second, 2), clusters=np.tile(clusters, 2))
    assert twice.p_value == pytest.approx(once.p_value, rel=1e-12)
    assert defined(twice.estimate).n == 2 * defined(once.estimate).n


def test_two_models_that_agree_on_every_item_have_a_difference_but_no_p_value() -> None:
    first, _, clusters = data()
    found = difference(first, first, clusters=clusters)
    assert defined(found.estimate).value == 0.0
    assert found.p_value == defined(found.estimate).t == defined(found.estimate).bca == FLAT
    assert equivalence_test(defined(found.estimate), margin=0.05) == FLAT


def test_no_common_item_is_undefined() -> None:
    found = difference([1.0, math.nan], [math.nan, 1.0])
    assert found.estimate == found.p_value == Undefined("no scored rows")


def test_a_weighted_difference_over_strata_is_the_mixture_of_its_strata() -> None:
    first, second, clusters = data()
    strata = np.where(clusters < 20, "a", "b")
    found = defined(
        difference(first, second, clusters=clusters, strata=strata, weights={"a": 0.7, "b": 0.3}).estimate
    )
    moved = first - second
    expected = 0.7 * moved[strata == "a"].mean() + 0.3 * moved[strata == "b"].mean()
    assert found.value == pytest.approx(expected, rel=1e-12)
    assert found.degrees_of_freedom == 45 - 2


@pytest.mark.parametrize("margin", [0.02, 0.1, 0.4])
def test_equivalence_is_statsmodels_two_one_sided_tests(margin: float) -> None:
    first, second, _ = data()
    estimate = defined(difference(first, second).estimate)
    found = equivalence_test(estimate, margin=margin)
    assert isinstance(found, EquivalenceTest)
    p, (_, above, _), (_, below, _) = DescrStatsW(first - second).ttost_mean(-margin, margin)
    assert found.p_value == pytest.approx(p, rel=1e-9)
    assert (found.p_above_lower, found.p_below_upper) == pytest.approx((above, below), rel=1e-9)


@pytest.mark.parametrize("margin", np.linspace(0.01, 0.6, 25))
def test_equivalent_exactly_where_the_90_percent_interval_lies_inside_the_margin(margin: float) -> None:
    first, second, clusters = data()
    estimate = defined(difference(first, second, clusters=clusters).estimate)
    found = equivalence_test(estimate, margin=margin)
    assert isinstance(found, EquivalenceTest)
    assert found.equivalent == (-margin < found.low and found.high < margin)
    ninety = defined(difference(first, second, clusters=clusters, level=0.9).estimate).t
    assert isinstance(ninety, Interval)
    assert (found.low, found.high) == pytest.approx((ninety.low, ninety.high), rel=1e-12)


@pytest.mark.parametrize("margin", np.linspace(0.0, 0.4, 17))
def test_not_worse_exactly_where_the_one_sided_bound_lies_above_minus_the_margin(margin: float) -> None:
    first, second, clusters = data()
    estimate = defined(difference(second, first, clusters=clusters).estimate)
    found = non_inferiority_test(estimate, margin=margin)
    assert isinstance(found, NonInferiorityTest)
    assert found.not_worse == (found.lower_bound > -margin)
    assert found.p_value == p_above(estimate, -margin)


def test_one_sided_p_values_are_complements_and_half_the_two_sided_one() -> None:
    first, second, clusters = data()
    estimate = defined(difference(first, second, clusters=clusters).estimate)
    above, below, both = p_above(estimate, 0.0), p_below(estimate, 0.0), two_sided_p(estimate)
    assert isinstance(above, float)
    assert isinstance(below, float)
    assert above + below == pytest.approx(1.0, rel=1e-12)
    assert both == pytest.approx(2 * min(above, below), rel=1e-12)


def test_two_models_with_one_true_effect_are_called_equivalent_at_most_in_alpha_of_studies() -> None:
    """True difference at the margin, 60 items, 600 studies: nominal .05 (standard error .009)."""
    rng = np.random.default_rng(12)
    called = 0
    for _ in range(600):
        moved = rng.normal(0.3, 1.0, size=60)
        estimate = paired_difference(moved, np.zeros(60), rng=rng, resamples=80).estimate
        found = equivalence_test(defined(estimate), margin=0.3)
        assert isinstance(found, EquivalenceTest)
        called += found.equivalent
    assert called / 600 < 0.08


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: equivalence_test(e, margin=0.0), r"margin must be positive; got 0\.0"),
        (lambda e: equivalence_test(e, margin=math.nan), "margin must be positive; got nan"),
        (
            lambda e: equivalence_test(e, margin=0.1, level=0.4),
            r"between \.5 and 1; got 0\.4",
        ),
        (lambda e: non_inferiority_test(e, margin=-0.1), r"margin must not be negative; got -0\.1"),
        (lambda e: non_inferiority_test(e, margin=0.1, level=1.0), r"level must be between \.5 and 1"),
    ],
)
def test_a_test_without_a_margin_or_level_is_refused(call: object, message: str) -> None:
    first, second, _ = data()
    assert callable(call)
    with pytest.raises(InputError, match=message):
        call(defined(difference(first, second).estimate))


def test_ahead_under_every_mixture_exactly_if_ahead_in_every_stratum() -> None:
    rng = np.random.default_rng(13)
    strata = np.repeat(["a", "b", "c"], 40)
    second = rng.normal(size=120)
    first = second + rng.normal(np.repeat([0.9, 0.7, 0.8], 40), 0.5)
    found = mixture_dominance(first, second, strata=strata, rng=generator(), resamples=200)
    assert found.ahead_in_every_stratum
    assert found.p_value == max(p_above(s.difference.estimate, 0.0) for s in found.strata)  # type: ignore[type-var]
    assert isinstance(found.p_value, float)
    assert found.p_value < 0.05
    first[strata == "b"] -= 1.4
    reversed_in_b = mixture_dominance(first, second, strata=strata, rng=generator(), resamples=200)
    assert not reversed_in_b.ahead_in_every_stratum
    assert isinstance(reversed_in_b.p_value, float)
    assert reversed_in_b.p_value > 0.95


def test_dominance_names_the_stratum_that_cannot_be_tested() -> None:
    strata = ["a", "a", "a", "b"]
    found = mixture_dominance(
        [1.0, 2.0, 4.0, 1.0], np.zeros(4), strata=strata, rng=generator(), resamples=200
    )
    assert isinstance(found.p_value, Undefined)
    assert found.p_value.reason.startswith("stratum b: one cluster")


def test_a_difference_between_strata_is_welchs_when_rows_are_independent() -> None:
    rng = np.random.default_rng(14)
    values, strata = rng.normal(size=70), np.array(["a"] * 30 + ["b"] * 40)
    (found,) = stratum_differences(values, strata, first="a", second="b", rng=generator(), resamples=300)
    x, y = values[:30], values[30:]
    assert defined(found).value == pytest.approx(x.mean() - y.mean(), rel=1e-12)
    expected = math.sqrt(x.var(ddof=1) / 30 + y.var(ddof=1) / 40)
    assert defined(found).standard_error == pytest.approx(expected, rel=1e-10)


def test_a_difference_between_strata_needs_two_strata_of_the_data() -> None:
    with pytest.raises(InputError, match=r"labels must be strata of the data \(did you mean 'alpha'\?\)"):
        stratum_differences([1.0, 2.0], ["alpha", "b"], first="alpa", second="b", rng=generator())
    with pytest.raises(InputError, match="the two strata must differ; got 'b'"):
        stratum_differences([1.0, 2.0], ["alpha", "b"], first="b", second="b", rng=generator())


def test_missing_values_bound_a_difference_from_both_sides() -> None:
    first, second = [1.0, math.nan, 0.5, math.nan], [0.0, 1.0, math.nan, math.nan]
    assert worst_case_difference(first, second) == Bounds((1 - 1 - 0.5 - 1) / 4, (1 + 0 + 0.5 + 1) / 4)
    with pytest.raises(InputError, match=r"values must be in \[0, 1\], or NaN where missing; got 2\.0"):
        worst_case_difference([2.0], [0.0])


def test_models_on_different_items_are_refused() -> None:
    with pytest.raises(InputError, match=r"first and second must have one shape \(P, N\)"):
        difference([1.0, 0.0], [1.0])
