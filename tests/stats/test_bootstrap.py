"""Resampled intervals against scipy on the same draws, and the invariances they must have."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from safetyrepro.errors import InputError
from safetyrepro.stats import bootstrap
from safetyrepro.stats.bootstrap import (
    Replicates,
    bca_intervals,
    bootstrap_t_intervals,
    draw_replicates,
    percentile_intervals,
)
from safetyrepro.stats.clusters import cluster_means, on_exact_grid
from safetyrepro.stats.intervals import Interval
from safetyrepro.stats.undefined import Undefined

METHODS = [percentile_intervals, bca_intervals, bootstrap_t_intervals]


def defined(interval: Interval | Undefined) -> Interval:
    assert isinstance(interval, Interval), interval
    return interval


def replicate(values: object, *, resamples: int = 2000, seed: int = 7, **labels: object) -> Replicates:
    means = cluster_means(values, **labels)  # type: ignore[arg-type]
    return draw_replicates(means, resamples=resamples, rng=np.random.default_rng(seed))


def clustered_data(seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(40), rng.integers(1, 6, size=40))
    return rng.exponential(size=clusters.size) + 0.5 * (clusters % 3), clusters


@pytest.mark.parametrize(("ours", "theirs"), [(percentile_intervals, "percentile"), (bca_intervals, "BCa")])
def test_intervals_of_a_mean_are_scipys_on_the_same_draws(ours: object, theirs: str) -> None:
    """scipy draws the same indices from the same generator, so only rounding may differ."""
    values = np.sort(np.random.default_rng(0).exponential(size=60))
    assert callable(ours)
    found = defined(ours(replicate(values, resamples=4000))[0])
    expected = stats.bootstrap(
        (values,), np.mean, n_resamples=4000, method=theirs, rng=np.random.default_rng(7)
    ).confidence_interval
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-10)


def test_clustered_bca_is_scipys_on_a_ratio_of_cluster_sums() -> None:
    values, clusters = clustered_data()
    sums = np.bincount(clusters, values)
    sizes = np.bincount(clusters).astype(float)

    def ratio(tops: np.ndarray, bottoms: np.ndarray, axis: int) -> np.ndarray:
        return tops.sum(axis=axis) / bottoms.sum(axis=axis)

    found = defined(bca_intervals(replicate(values, clusters=clusters, resamples=4000))[0])
    expected = stats.bootstrap(
        (sums, sizes), ratio, paired=True, vectorized=True, n_resamples=4000, method="BCa",
        rng=np.random.default_rng(7),
    ).confidence_interval  # fmt: skip
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-10)


def test_weighted_strata_are_resampled_within_and_bca_is_scipys_of_two_samples() -> None:
    rng = np.random.default_rng(2)
    first, second = np.sort(rng.exponential(size=30)), np.sort(rng.normal(size=45))
    strata = ["a"] * 30 + ["b"] * 45

    def weighted(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
        return 0.25 * x.mean(axis=axis) + 0.75 * y.mean(axis=axis)

    values = np.concatenate([first, second])
    replicates = replicate(values, strata=strata, weights={"a": 1, "b": 3}, resamples=3000)
    found = defined(bca_intervals(replicates)[0])
    expected = stats.bootstrap(
        (first, second), weighted, vectorized=True, n_resamples=3000, method="BCa",
        rng=np.random.default_rng(7),
    ).confidence_interval  # fmt: skip
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-10)


def test_the_standard_error_of_a_replicate_is_that_of_the_resampled_data() -> None:
    """Fast path (one product) against the plain path: rebuild the resample and analyse it."""
    values, clusters = clustered_data()
    replicates = replicate(values, clusters=clusters, resamples=20)
    drawn = np.random.default_rng(7).integers(0, 40, size=(20, 40))
    for s in range(20):
        rows = [np.flatnonzero(clusters == cluster) for cluster in drawn[s]]
        labels = np.repeat(np.arange(40), [len(r) for r in rows])
        again = cluster_means(values[np.concatenate(rows)], clusters=labels)
        assert replicates.values[s, 0] == pytest.approx(again.estimates()[0], rel=1e-12)
        assert replicates.standard_errors[s, 0] == pytest.approx(again.standard_errors()[0], rel=1e-9)


def test_bootstrap_t_covers_a_skewed_mean_better_than_the_percentile_interval() -> None:
    """15 lognormal values, nominal 95%, 300 studies."""
    rng = np.random.default_rng(11)
    truth = math.exp(0.5)
    replicates = [
        draw_replicates(cluster_means(rng.lognormal(size=15)), resamples=400, rng=rng) for _ in range(300)
    ]
    covered = {
        method: np.mean([(f := defined(method(r)[0])).low <= truth <= f.high for r in replicates])
        for method in METHODS
    }
    assert covered[bootstrap_t_intervals] > 0.88
    assert covered[percentile_intervals] < 0.86


@pytest.mark.parametrize("method", METHODS)
def test_row_order_changes_no_bit(method: object) -> None:
    assert callable(method)
    values, clusters = clustered_data()
    order = np.random.default_rng(5).permutation(values.size)
    before = method(replicate(values, clusters=clusters))
    assert method(replicate(values[order], clusters=clusters[order])) == before
    assert method(replicate(values[order])) == method(replicate(values))


@pytest.mark.parametrize("method", METHODS)
def test_labels_of_another_kind_in_the_same_order_change_no_bit(method: object) -> None:
    assert callable(method)
    values, clusters = clustered_data()
    names = np.array([f"twin-{c:03d}" for c in clusters])
    assert method(replicate(values, clusters=names)) == method(replicate(values, clusters=clusters))


@pytest.mark.parametrize("method", METHODS)
def test_relabelled_clusters_change_the_draws_only(method: object) -> None:
    assert callable(method)
    values, clusters = clustered_data()
    found = defined(method(replicate(values, clusters=clusters, resamples=20_000))[0])
    again = defined(method(replicate(values, clusters=(7 * clusters) % 40, resamples=20_000))[0])
    assert again.estimate == pytest.approx(found.estimate, rel=1e-12)
    width = found.high - found.low
    assert (again.low, again.high) == pytest.approx((found.low, found.high), abs=0.05 * width)


@pytest.mark.parametrize("method", METHODS)
def test_doubling_every_row_inside_its_cluster_changes_nothing(method: object) -> None:
    assert callable(method)
    values, clusters = clustered_data()
    found = defined(method(replicate(values, clusters=clusters))[0])
    twice = defined(method(replicate(np.tile(values, 2), clusters=np.tile(clusters, 2)))[0])
    assert (twice.low, twice.high) == pytest.approx((found.low, found.high), rel=1e-10)
    assert (twice.n, twice.clusters) == (2 * found.n, found.clusters)


@pytest.mark.parametrize("method", METHODS)
def test_a_series_has_the_same_bits_alone_and_among_others(method: object) -> None:
    assert callable(method)
    values, clusters = clustered_data()
    others = np.random.default_rng(9).normal(size=(30, values.size)) * 1e6
    others[3, :10] = math.nan
    among = method(replicate(np.vstack([others, values, others]), clusters=clusters))[30]
    assert among == method(replicate(values, clusters=clusters))[0]


@pytest.mark.parametrize("method", METHODS)
def test_the_size_of_the_pieces_changes_no_bit(method: object, monkeypatch: pytest.MonkeyPatch) -> None:
    assert callable(method)
    values, clusters = clustered_data()
    before = method(replicate(values, clusters=clusters))
    monkeypatch.setattr(bootstrap, "_CHUNK_ELEMENTS", 333)
    assert method(replicate(values, clusters=clusters)) == before


def test_sums_on_the_grid_add_exactly_in_any_order() -> None:
    """What makes a product independent of how many threads share it."""
    rng = np.random.default_rng(8)
    sums = on_exact_grid(rng.normal(size=(5, 300)) * 10.0 ** rng.integers(-6, 6, size=(5, 1)), 300)
    counts = rng.multinomial(300, np.full(300, 1 / 300), size=50).astype(float)
    order = rng.permutation(300)
    assert np.array_equal(counts @ sums.T, counts[:, order] @ sums[:, order].T)
    exact = [
        [math.fsum(c * t for c, t in zip(row, series, strict=True)) for series in sums] for row in counts
    ]
    assert np.array_equal(counts @ sums.T, exact)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("values", "clusters", "reason"),
    [
        ([1.0, 1.0, 1.0], None, "every cluster has the same value"),
        ([0.0, 1.0, 0.0, 1.0], [1, 1, 2, 2], "every cluster has the same value"),
        ([0.0, 1.0], ["a", "a"], "one cluster"),
        ([0.3], None, "one cluster"),
        ([math.nan, math.nan], None, "no scored rows"),
        ([0.0, 1.0, math.nan, math.nan], None, "some resamples hold no scored row"),
    ],
)
def test_without_spread_an_interval_is_undefined_with_its_reason(
    method: object, values: list[float], clusters: list[object] | None, reason: str
) -> None:
    assert callable(method)
    (found,) = method(replicate(values, clusters=clusters))
    assert isinstance(found, Undefined)
    assert found.reason.startswith(reason)


def test_bca_with_all_resamples_on_one_side_is_undefined() -> None:
    replicates = replicate([0.0, 1.0, 2.0, 5.0])
    lifted = Replicates(replicates.means, replicates.values + 100, replicates.standard_errors)
    (found,) = bca_intervals(lifted)
    assert found == Undefined("every resample lies on one side of the estimate: infinite bias correction")


def test_bca_whose_acceleration_passes_every_resample_is_undefined() -> None:
    """One outlier in 2000 has acceleration near 1/6; bias 3.9 and z 3.1 make 1 - a (bias + z) negative."""
    means = cluster_means([0.0] * 1999 + [1.0])
    values = means.estimates()[0] + np.concatenate([np.linspace(-1, -0.5, 19_999), [1.0]])[:, None]
    (found,) = bca_intervals(Replicates(means, values, values), level=0.998)
    assert found == Undefined("the acceleration is too large: a bound lies past every resample")


def test_bca_needs_a_jackknife() -> None:
    """Stratum b has scores in one cluster alone, which therefore cannot be left out."""
    means = cluster_means(
        [0.0, 1.0, 1.0, 0.0], clusters=["p", "q", "r", "r"], strata=list("aaab"), weights={"a": 1, "b": 1}
    )
    values = np.linspace(0, 1, 200)[:, None]
    (found,) = bca_intervals(Replicates(means, values, values))
    assert found == Undefined("leaving out one cluster leaves no scored row: no jackknife")


def test_bootstrap_t_over_clusters_that_cross_strata_is_undefined() -> None:
    values, clusters = clustered_data()
    strata = np.random.default_rng(3).integers(0, 2, size=values.size)
    replicates = replicate(values, clusters=clusters, strata=strata, weights={"0": 1, "1": 1})
    assert bootstrap_t_intervals(replicates) == (
        Undefined("clusters cross strata: no standard error of a resample"),
    )
    assert isinstance(percentile_intervals(replicates)[0], Interval)


def test_a_resample_of_equal_clusters_has_no_spread_at_all() -> None:
    """Not a spread of rounding size, which would make its ratio, and then a bound, astronomic."""
    replicates = replicate([1.0] * 113 + [0.0] * 7, clusters=np.arange(120) // 2)
    flat = replicates.values[:, 0] == 1.0
    assert flat.any()
    assert (replicates.standard_errors[flat, 0] == 0.0).all()
    assert (replicates.standard_errors[~flat, 0] > 1e-3).all()


def test_bootstrap_t_with_too_many_flat_resamples_is_undefined() -> None:
    (found,) = bootstrap_t_intervals(replicate([0.0, 0.0, 0.0, 1.0]))
    assert found == Undefined("too many resamples show no spread: a bound is infinite")


def test_too_few_resamples_for_the_level_are_refused() -> None:
    with pytest.raises(InputError, match=r"at least two beyond each bound at level 0\.99; got 100"):
        percentile_intervals(replicate([0.0, 1.0, 2.0], resamples=100), level=0.99)
    with pytest.raises(InputError, match="resamples must be at least 1; got 0"):
        replicate([0.0, 1.0], resamples=0)
