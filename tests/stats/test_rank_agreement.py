"""Rank correlations between configurations and their noise floors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import kendalltau, spearmanr

from safetyrepro.errors import InputError
from safetyrepro.stats.noise_floor import (
    SWAP_BLOCKS,
    label_swap_test,
    repeat_run_floor,
    split_half_floor,
)
from safetyrepro.stats.rank_agreement import rank_agreement, similarity_order
from safetyrepro.stats.undefined import Undefined


def generator(seed: int = 1) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=seed))


def made_scores(
    models: int, configurations: int, items: int, *, interaction: float, seed: int = 0, noise: float = 1.0
) -> np.ndarray:
    """Real-valued scores; `interaction` is the spread of what a configuration does to one model."""
    rng = np.random.default_rng(seed)
    return (
        0.3 * rng.normal(size=(models, 1, 1))
        + interaction * rng.normal(size=(models, configurations, 1))
        + 0.5 * rng.normal(size=(1, configurations, 1))
        + rng.normal(size=(1, 1, items))
        + 0.7 * rng.normal(size=(models, 1, items))
        + noise * rng.normal(size=(models, configurations, items))
    )


def test_tau_and_rho_are_those_of_scipy_with_ties() -> None:
    means = np.random.default_rng(0).integers(0, 5, size=(8, 6)).astype(float)
    result = rank_agreement(means)
    for c, d in itertools.product(range(6), repeat=2):
        assert result.tau[c, d] == pytest.approx(kendalltau(means[:, c], means[:, d]).statistic, abs=1e-12)
        assert result.rho[c, d] == pytest.approx(spearmanr(means[:, c], means[:, d]).statistic, abs=1e-12)
    pairs = [result.tau[c, d] for c, d in itertools.combinations(range(6), 2)]
    assert result.mean_tau() == pytest.approx(np.mean(pairs))


def test_a_configuration_that_ties_all_models_has_no_correlation() -> None:
    means = np.stack([np.arange(5.0), np.ones(5), np.arange(5.0)], axis=1)
    result = rank_agreement(means)
    assert np.isnan(result.tau[0, 1])
    assert np.isnan(result.rho[1, 1])
    assert result.mean_tau() == pytest.approx(1.0)
    flat = rank_agreement(np.ones((5, 2)))
    assert flat.mean_rho() == Undefined("every configuration ties all models, or there is only one")


def test_below_five_models_there_is_no_tau() -> None:
    reason = "rank correlation needs at least 5 models; there are 4"
    assert rank_agreement(np.zeros((4, 3))) == Undefined(reason)
    scores = made_scores(4, 2, 30, interaction=0.0)
    halves = split_half_floor(scores, np.arange(30), rng=generator(), splits=5, top_k=2)
    assert halves.tau == Undefined(reason)
    assert halves.rho == Undefined(reason)
    assert halves.overlap.mean_floor() > 0
    swap = label_swap_test(scores, np.arange(30), rng=generator(), swaps=19)
    assert swap.observed_tau == Undefined(reason)
    assert 0 < swap.p_value <= 1
    assert repeat_run_floor(np.zeros((2, 4, 3))) == Undefined(reason)


def test_a_missing_mean_leaves_no_correlation() -> None:
    means = np.ones((5, 2))
    means[3, 1] = np.nan
    assert rank_agreement(means) == Undefined("a model has no score in one of the configurations")


def test_split_halves_are_the_loop() -> None:
    scores = made_scores(6, 3, 41, interaction=0.3)
    clusters = np.arange(41) // 2
    result = split_half_floor(scores, clusters, rng=generator(), splits=7, top_k=2)
    rng, tau, overlap = generator(), np.zeros((3, 3)), np.zeros((3, 3))
    for _ in range(7):
        first = np.isin(clusters, rng.permutation(21)[:10])
        one, two = scores[:, :, first].mean(axis=2), scores[:, :, ~first].mean(axis=2)
        for c, d in itertools.product(range(3), repeat=2):
            tau[c, d] += kendalltau(one[:, c], two[:, d]).statistic / 7
            best = [set(np.argsort(-half)[:2].tolist()) for half in (one[:, c], two[:, d])]
            overlap[c, d] += len(best[0] & best[1]) / 2 / 7
    for measured, expected in ((result.tau, tau), (result.overlap, overlap)):
        np.testing.assert_allclose(measured.between, (expected + expected.T) / 2, atol=1e-12)
        own = np.diag(expected)
        np.testing.assert_allclose(measured.floor, (own[:, None] + own[None, :]) / 2, atol=1e-12)
    assert result.clusters == 21


def test_the_floor_is_met_without_interaction_and_missed_with_it() -> None:
    gaps = {}
    for interaction in (0.0, 0.5):
        differences = []
        for seed in range(12):
            scores = made_scores(8, 4, 120, interaction=interaction, seed=seed)
            halves = split_half_floor(scores, np.arange(120), rng=generator(seed), splits=20)
            differences.append(halves.tau.mean_floor() - halves.tau.mean_between())
        gaps[interaction] = np.mean(differences)
    assert abs(gaps[0.0]) < 0.02
    assert gaps[0.5] > 0.15


def test_label_swaps_reject_an_interaction_and_not_a_harder_configuration() -> None:
    clusters = np.arange(150)
    rejected = [
        label_swap_test(
            made_scores(5, 3, 150, interaction=0.0, seed=seed), clusters, rng=generator(seed), swaps=39
        ).p_value
        <= 0.05
        for seed in range(40)
    ]
    assert sum(rejected) <= 6  # binomial(40, .05): 6 or fewer with probability .997
    planted = label_swap_test(made_scores(5, 3, 150, interaction=0.4), clusters, rng=generator(), swaps=199)
    assert planted.p_value == 1 / 200
    assert planted.swapped_tau > planted.observed_tau


def test_many_clusters_are_swapped_in_blocks() -> None:
    items = 2 * SWAP_BLOCKS + 11
    scores = made_scores(3, 2, items, interaction=0.3)
    result = label_swap_test(scores, np.arange(items), rng=generator(), swaps=199)
    means = scores.mean(axis=2)
    alone = means - means.mean(axis=0) - means.mean(axis=1, keepdims=True) + means.mean()
    assert result.statistic == pytest.approx(np.square(alone).mean(), rel=1e-8)
    assert result.p_value == 1 / 200


def test_identical_configurations_never_look_different() -> None:
    scores = np.repeat(made_scores(6, 1, 50, interaction=0.0), 3, axis=1)
    swap = label_swap_test(scores, np.arange(50), rng=generator(), swaps=19)
    assert swap.p_value == 1.0
    assert swap.observed_tau == 1.0
    halves = split_half_floor(scores, np.arange(50), rng=generator(), splits=10)
    assert halves.tau.mean_between() == pytest.approx(halves.tau.mean_floor(), abs=1e-12)


@pytest.mark.parametrize("estimate", [split_half_floor, label_swap_test])
def test_the_order_of_items_does_not_change_a_bit(estimate) -> None:
    scores = made_scores(5, 3, 60, interaction=0.2)
    clusters, order = np.arange(60) // 2, np.random.default_rng(3).permutation(60)
    one = estimate(scores, clusters, rng=generator())
    two = estimate(scores[:, :, order], clusters[order], rng=generator())
    if estimate is label_swap_test:
        assert one == two
    else:
        np.testing.assert_array_equal(one.tau.between, two.tau.between)
        np.testing.assert_array_equal(one.rho.between, two.rho.between)


def test_repeated_runs_have_their_own_floor() -> None:
    rng = np.random.default_rng(0)
    means = rng.normal(size=(1, 7, 3)) + 0.3 * rng.normal(size=(3, 7, 3))
    result = repeat_run_floor(means)
    runs = list(itertools.combinations(range(3), 2))
    for c in range(3):
        own = [kendalltau(means[a, :, c], means[b, :, c]).statistic for a, b in runs]
        assert result.floor[c] == pytest.approx(np.mean(own))
    cross = [
        kendalltau(means[a, :, 0], means[b, :, 1]).statistic for a, b in itertools.permutations(range(3), 2)
    ]
    assert result.between[0, 1] == pytest.approx(np.mean(cross))
    assert repeat_run_floor(means[:1]) == Undefined(
        "a repeat-run floor needs at least 2 runs; there is one"
    )


@pytest.mark.parametrize(
    ("shape", "clusters", "reason"),
    [
        ((5, 2, 6), [0, 0, 1, 1, 2, 2], "halves need at least 4 clusters; there are 3"),
        ((5, 1, 6), [0, 1, 2, 3, 4, 5], "agreement needs at least 2 configurations; there is one"),
    ],
)
def test_split_halves_say_why_there_is_none(shape, clusters, reason) -> None:
    scores = np.random.default_rng(0).normal(size=shape)
    assert split_half_floor(scores, np.array(clusters), rng=generator()) == Undefined(reason)


def test_label_swaps_say_why_there_is_none() -> None:
    scores = made_scores(5, 2, 20, interaction=0.0)
    clusters = np.arange(20)
    assert label_swap_test(scores[:1], clusters, rng=generator()).reason.startswith("an interaction needs")
    assert label_swap_test(scores, clusters % 4, rng=generator()).reason.endswith("there are 4")
    scores[0, 0] = np.nan
    assert label_swap_test(scores, clusters, rng=generator()) == Undefined(
        "no item has a score in every cell"
    )


def test_wrong_numbers_of_splits_and_swaps_are_refused() -> None:
    scores = made_scores(5, 2, 20, interaction=0.0)
    with pytest.raises(InputError, match="split_half_floor: splits must be at least 1; got 0"):
        split_half_floor(scores, np.arange(20), rng=generator(), splits=0)
    with pytest.raises(InputError, match=r"split_half_floor: top_k must lie in 1\.\.4; got 5"):
        split_half_floor(scores, np.arange(20), rng=generator(), top_k=5)
    with pytest.raises(InputError, match="label_swap_test: swaps must be at least 19; got 1"):
        label_swap_test(scores, np.arange(20), rng=generator(), swaps=1)
    with pytest.raises(InputError, match=r"means: must be \(runs, models, configurations\); got"):
        repeat_run_floor(np.zeros((5, 2)))


def test_configurations_that_rank_alike_stand_side_by_side() -> None:
    up, down = np.arange(6.0), np.arange(6.0)[::-1]
    nearly = np.array([1.0, 0.0, 2.0, 3.0, 4.0, 5.0])
    order = similarity_order(np.stack([up, down, nearly, down, up], axis=1))
    assert order[0] == 0
    assert {order[3], order[4]} == {1, 3}
    assert similarity_order(np.ones((3, 2))) == (0, 1)
