"""Closed-form intervals against published values, statsmodels and simulation."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.stats.proportion import proportion_confint

from safetyrepro.errors import InputError
from safetyrepro.stats.clusters import cluster_means, cluster_standard_error, stratum_contrast
from safetyrepro.stats.intervals import (
    Interval,
    clustered_hoeffding_radius,
    clustered_wilson_interval,
    hoeffding_interval,
    hoeffding_radius,
    required_pairs,
    t_interval,
    wilson_interval,
)
from safetyrepro.stats.undefined import Undefined

GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "preference.json").read_text())


def defined(interval: Interval | Undefined) -> Interval:
    assert isinstance(interval, Interval), interval
    return interval


@pytest.mark.parametrize("case", GOLDEN["wilson"]["cases"])
def test_wilson_gives_the_published_intervals(case: dict[str, float]) -> None:
    found = defined(wilson_interval(int(case["successes"]), int(case["n"])))
    tolerance = GOLDEN["wilson"]["tolerance"]
    assert found.low == pytest.approx(case["low"], abs=tolerance)
    assert found.high == pytest.approx(case["high"], abs=tolerance)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
@pytest.mark.parametrize("n", [1, 7, 120, 5120])
def test_wilson_agrees_with_statsmodels_to_rounding(n: int, level: float) -> None:
    for successes in {0, 1, n // 3, n - 1, n}:
        found = defined(wilson_interval(successes, n, level=level))
        low, high = proportion_confint(successes, n, alpha=1 - level, method="wilson")
        assert (found.low, found.high) == pytest.approx((low, high), abs=1e-14)


def test_wilson_touches_the_end_exactly_where_all_trials_agree() -> None:
    assert defined(wilson_interval(0, 49)).low == 0.0
    assert defined(wilson_interval(49, 49)).high == 1.0


def test_wilson_without_trials_is_undefined() -> None:
    assert wilson_interval(0, 0) == Undefined("no scored rows")


def test_wilson_refuses_more_successes_than_trials() -> None:
    with pytest.raises(InputError, match=r"wilson_interval: successes must be in 0\.\.3; got 4"):
        wilson_interval(4, 3)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0, math.nan])
def test_a_level_that_is_not_between_0_and_1_is_refused(level: float) -> None:
    with pytest.raises(InputError, match=r"level must be between 0 and 1, as \.95; got"):
        wilson_interval(1, 3, level=level)


@pytest.mark.parametrize("case", GOLDEN["hoeffding_radius"]["cases"])
def test_hoeffding_radius_is_the_published_one(case: dict[str, float]) -> None:
    found = hoeffding_radius(int(case["n"]), delta=case["delta"])
    assert found == pytest.approx(case["radius"], abs=GOLDEN["hoeffding_radius"]["tolerance"])


@pytest.mark.parametrize("case", GOLDEN["required_pairs"]["cases"])
def test_required_pairs_is_the_published_number(case: dict[str, float]) -> None:
    assert required_pairs(radius=case["radius"], delta=case["delta"]) == case["pairs"]


def test_required_pairs_is_the_smallest_number_that_reaches_the_radius() -> None:
    for radius in (0.2, 0.05, 0.013):
        pairs = required_pairs(radius=radius, delta=0.1)
        assert hoeffding_radius(pairs, delta=0.1) <= radius < hoeffding_radius(pairs - 1, delta=0.1)


def test_m_has_twice_the_range_so_twice_the_radius_and_four_times_the_pairs() -> None:
    assert hoeffding_radius(500, delta=0.05, width=2) == 2 * hoeffding_radius(500, delta=0.05)
    assert required_pairs(radius=0.05, delta=0.05, width=2) == math.ceil(4 * math.log(40) / (2 * 0.0025))


def test_clusters_of_size_g_need_g_times_the_pairs() -> None:
    assert required_pairs(radius=0.05, delta=0.05, cluster_size=2) == 2 * 738
    radius = clustered_hoeffding_radius([2 / 1476] * 738, delta=0.05)
    assert radius == pytest.approx(hoeffding_radius(738, delta=0.05), rel=1e-12)


def test_clustered_hoeffding_solves_its_own_tail_bound() -> None:
    sizes = np.array([1, 1, 2, 5, 9])
    n = sizes.sum()
    radius = clustered_hoeffding_radius(sizes / n, delta=0.05)
    assert 2 * math.exp(-2 * radius**2 * n**2 / np.square(sizes).sum()) == pytest.approx(0.05, rel=1e-12)


def test_hoeffding_interval_is_cut_to_the_range_of_the_values() -> None:
    found = defined(hoeffding_interval(0.98, [1 / 50] * 50, n=50))
    assert found.high == 1.0
    assert found.low == pytest.approx(0.98 - hoeffding_radius(50, delta=0.05), rel=1e-12)
    signed = defined(hoeffding_interval(0.0, [1 / 50] * 50, n=50, support=(-1.0, 1.0)))
    assert signed.high == pytest.approx(2 * hoeffding_radius(50, delta=0.05), rel=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hoeffding_radius(0, delta=0.05), "n must be at least 1; got 0"),
        (lambda: hoeffding_radius(5, delta=0.0), "delta must be between 0 and 1; got 0.0"),
        (lambda: hoeffding_radius(5, delta=0.05, width=0), "width must be positive; got 0"),
        (lambda: clustered_hoeffding_radius([], delta=0.05), r"leverages must have shape \(K,\)"),
        (lambda: required_pairs(radius=0, delta=0.05), "radius must be positive; got 0"),
        (lambda: required_pairs(radius=0.1, delta=0.05, cluster_size=0), "cluster_size must be at least 1"),
    ],
)
def test_hoeffding_refuses_what_has_no_radius(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(InputError, match=message):
        call()


def _clustered_wilson(values: np.ndarray, clusters: np.ndarray) -> Interval:
    means = cluster_means(values, clusters=clusters)
    return defined(
        clustered_wilson_interval(
            float(means.estimates()[0]),
            float(means.standard_errors()[0]),
            leverages=means.leverages()[0],
            n=int(means.rows()[0]),
            degrees_of_freedom=int(means.degrees_of_freedom()[0]),
        )
    )


def test_clustered_wilson_covers_where_plain_wilson_does_not() -> None:
    """30 clusters of 5, p = .7, correlation 1/3: nominal 95%, 400 studies (standard error .011)."""
    rng = np.random.default_rng(20)
    clusters = np.repeat(np.arange(30), 5)
    clustered, plain = 0, 0
    for _ in range(400):
        values = (rng.random(150) < np.repeat(rng.beta(1.4, 0.6, size=30), 5)).astype(float)
        found = _clustered_wilson(values, clusters)
        clustered += found.low <= 0.7 <= found.high
        naive = defined(wilson_interval(int(values.sum()), 150))
        plain += naive.low <= 0.7 <= naive.high
    assert 0.925 <= clustered / 400 <= 0.985
    assert plain / 400 < 0.85


def test_a_negative_correlation_within_clusters_is_not_credited() -> None:
    """Each twin has one win: the mean has no variance between twins, and plain Wilson is printed."""
    found = _clustered_wilson(np.tile([0.0, 1.0], 40), np.repeat(np.arange(40), 2))
    plain = defined(wilson_interval(40, 80))
    assert (found.low, found.high) == (plain.low, plain.high)
    assert found.method == "wilson-effective-n"


def test_where_all_trials_agree_a_cluster_counts_as_one_trial_and_the_method_says_so() -> None:
    found = _clustered_wilson(np.ones(80), np.repeat(np.arange(40), 2))
    one_per_cluster = defined(wilson_interval(40, 40))
    assert found.method == "wilson-one-per-cluster"
    assert (found.low, found.high) == pytest.approx((one_per_cluster.low, one_per_cluster.high), rel=1e-12)


def test_clustered_wilson_of_one_cluster_is_undefined() -> None:
    found = clustered_wilson_interval(0.5, math.nan, leverages=[1.0], n=10, degrees_of_freedom=0)
    assert isinstance(found, Undefined)
    assert found.reason.startswith("one cluster")


def test_the_cluster_standard_error_of_a_mean_is_statsmodels_default() -> None:
    rng = np.random.default_rng(3)
    values, clusters = rng.normal(size=200), rng.integers(0, 37, size=200)
    fit = sm.OLS(values, np.ones(200)).fit(cov_type="cluster", cov_kwds={"groups": clusters})
    assert cluster_standard_error(values, clusters=clusters) == pytest.approx(fit.bse[0], rel=1e-10)


def test_without_clusters_the_standard_error_is_the_textbook_one() -> None:
    values = np.random.default_rng(4).normal(size=50)
    assert cluster_standard_error(values) == pytest.approx(values.std(ddof=1) / math.sqrt(50), rel=1e-10)


def test_the_standard_error_of_a_difference_of_strata_is_statsmodels_sandwich() -> None:
    """Clusters reach into both strata; statsmodels multiplies by (N-1)/(N-p) besides K/(K-1)."""
    rng = np.random.default_rng(5)
    clusters, strata = rng.integers(0, 25, size=180), rng.integers(0, 2, size=180)
    values = rng.normal(size=180) + 0.3 * clusters / 25 + strata
    design = sm.add_constant(strata.astype(float))
    fit = sm.OLS(values, design).fit(cov_type="cluster", cov_kwds={"groups": clusters})
    means = cluster_means(values, clusters=clusters, strata=strata, weights={"0": 1, "1": 1})
    contrast = stratum_contrast(means, "1", second="0")
    assert contrast.estimates()[0] == pytest.approx(fit.params[1], rel=1e-10)
    assert contrast.standard_errors()[0] == pytest.approx(fit.bse[1] / math.sqrt(179 / 178), rel=1e-10)


def test_a_missing_value_is_in_no_sum_and_in_no_denominator() -> None:
    values, clusters = np.array([1.0, math.nan, 0.0, math.nan, 1.0]), np.array([0, 0, 1, 2, 3])
    kept = ~np.isnan(values)
    with_missing = cluster_means(values, clusters=clusters)
    without = cluster_means(values[kept], clusters=clusters[kept])
    assert with_missing.estimates() == without.estimates()
    assert with_missing.standard_errors() == pytest.approx(without.standard_errors(), rel=1e-14)
    assert with_missing.rows()[0] == 3
    assert with_missing.scored_clusters()[0] == 3


def test_one_cluster_has_no_standard_error() -> None:
    assert isinstance(cluster_standard_error([1.0, 0.0], clusters=["a", "a"]), Undefined)
    assert cluster_standard_error([math.nan], clusters=["a"]) == Undefined("no scored rows")


def test_t_interval_of_equal_clusters_is_undefined_not_of_zero_width() -> None:
    found = t_interval(0.2, 0.0, degrees_of_freedom=9, n=20, clusters=10)
    assert found == Undefined("every cluster has the same value: the data show no spread")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"values": np.zeros((2, 0))}, r"values must have shape \(Q, N\) with N >= 1; got \(2, 0\)"),
        ({"values": [math.inf]}, "values must be finite, or NaN where missing; got inf"),
        ({"values": [1.0], "clusters": [1, 2]}, r"clusters: labels must have shape \(1,\); got \(2,\)"),
        ({"values": [1.0], "clusters": [1.5]}, "labels must be strings or integers; got 'float64'"),
        ({"values": [1.0], "clusters": [None]}, "labels must be strings or integers; got 'object'"),
        ({"values": [1.0], "weights": {"a": 1.0}}, "weights must come with strata"),
        ({"values": [1.0], "strata": ["a"]}, "strata must come with declared weights; got None"),
        ({"values": [1.0], "strata": ["alpha"], "weights": {"alpa": 1}}, r"did you mean 'alpha'\?"),
        (
            {"values": [1, 2], "strata": ["a", "b"], "weights": {"a": 1}},
            "every stratum must have a weight",
        ),
        ({"values": [1.0], "strata": ["a"], "weights": {"a": 0}}, "the weight of 'a' must be positive"),
    ],
)
def test_cluster_means_refuses_what_it_cannot_read(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        cluster_means(**arguments)  # type: ignore[arg-type]
