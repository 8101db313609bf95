"""Rank sets, top-k places and orderings."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import rankdata

from safetyrepro.errors import InputError
from safetyrepro.stats.joint import cell_means
from safetyrepro.stats.joint_comparison import all_pairs, compare_pairs
from safetyrepro.stats.ranking import (
    observed_ranks,
    orderings,
    rank_sets,
    top_k_inclusion,
    top_k_membership,
)
from safetyrepro.stats.undefined import Undefined


def generator(seed: int = 1) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=seed))


def three_levels(items: int = 300) -> np.ndarray:
    """Model 0 far ahead, models 1 and 2 alike, in two configurations."""
    rng = np.random.default_rng(0)
    return (rng.uniform(size=(3, 2, items)) < np.array([0.9, 0.4, 0.4])[:, None, None]).astype(float)


def test_a_clear_first_has_one_rank_and_the_tied_rest_two() -> None:
    scores = three_levels()
    comparison = compare_pairs(scores, np.arange(300), pairs=all_pairs(3), rng=generator(), resamples=400)
    sets = rank_sets(comparison, models=3)
    assert sets.lowest.tolist() == [[1, 1], [2, 2], [2, 2]]
    assert sets.highest.tolist() == [[1, 1], [3, 3], [3, 3]]
    assert sets.surely_in_top(1).tolist() == [[True, True], [False, False], [False, False]]
    assert sets.possibly_in_top(2).all()
    lowest, highest = sets.over_envelope()
    assert (lowest.tolist(), highest.tolist()) == ([1, 2, 2], [1, 3, 3])


def test_rank_sets_do_not_depend_on_which_model_of_a_pair_comes_first() -> None:
    scores = three_levels()
    pairs = all_pairs(3)
    there, back = (
        rank_sets(
            compare_pairs(scores, np.arange(300), pairs=chosen, rng=generator(), resamples=400), models=3
        )
        for chosen in (pairs, pairs[::-1, ::-1])
    )
    np.testing.assert_array_equal(there.lowest, back.lowest)
    np.testing.assert_array_equal(there.highest, back.highest)


def test_a_cell_without_a_test_widens_the_rank_sets() -> None:
    scores = three_levels()
    comparison = compare_pairs(scores, np.arange(300), pairs=all_pairs(3), rng=generator(), resamples=400)
    scores[0, 0], scores[1, 0] = 1.0, 0.0
    blind = compare_pairs(scores, np.arange(300), pairs=all_pairs(3), rng=generator(), resamples=400)
    assert (0, 0) in blind.undefined
    assert rank_sets(comparison, models=3).highest[0, 0] == 1
    assert rank_sets(blind, models=3).highest[0, 0] == 2


def test_rank_sets_need_every_pair() -> None:
    scores = three_levels()
    some = compare_pairs(scores, np.arange(300), pairs=all_pairs(3)[:2], rng=generator(), resamples=99)
    with pytest.raises(
        InputError, match=r"rank_sets: every pair of the 3 models must be compared once; got 2"
    ):
        rank_sets(some, models=3)
    twice = replace(some, pairs=np.array([[0, 1], [1, 0]]))
    with pytest.raises(InputError, match="every pair of the 2 models must be compared once"):
        rank_sets(twice, models=2)


def test_observed_ranks_are_mean_ranks_of_scipy() -> None:
    means = np.random.default_rng(0).integers(0, 4, size=(6, 5)).astype(float)
    np.testing.assert_array_equal(observed_ranks(means), rankdata(-means, axis=0))


def test_a_model_without_a_score_has_no_rank_and_takes_no_place() -> None:
    ranks = observed_ranks(np.array([[3.0], [np.nan], [1.0]]))
    np.testing.assert_array_equal(ranks[:, 0], [1.0, np.nan, 2.0])


def test_models_tied_at_the_boundary_share_the_places_left() -> None:
    means = np.array([[5.0, 1.0], [3.0, 1.0], [3.0, 1.0], [np.nan, 0.0]])
    members = top_k_membership(means, k=2)
    assert members[:, 0].tolist() == [1.0, 0.5, 0.5, 0.0]
    np.testing.assert_allclose(members[:, 1], [2 / 3, 2 / 3, 2 / 3, 0.0])


def test_top_k_shares_are_counted_over_the_resamples() -> None:
    scores = three_levels(40)
    result = top_k_inclusion(scores, np.arange(40), k=1, rng=generator(), resamples=50)
    rng, expected = generator(), np.zeros((3, 2))
    for _ in range(50):
        drawn = scores[:, :, rng.integers(0, 40, size=40)].sum(axis=2)
        first = drawn == drawn.max(axis=0)
        expected += first / first.sum(axis=0)
    np.testing.assert_allclose(result.shares, expected / 50, atol=1e-12)
    np.testing.assert_allclose(result.shares.sum(axis=0), 1.0)


def test_top_k_shares_do_not_depend_on_the_order_of_items() -> None:
    scores, order = three_levels(40), np.random.default_rng(2).permutation(40)
    one = top_k_inclusion(scores, np.arange(40), k=2, rng=generator(), resamples=50)
    two = top_k_inclusion(scores[:, :, order], np.arange(40)[order], k=2, rng=generator(), resamples=50)
    np.testing.assert_array_equal(one.shares, two.shares)


def test_top_k_shares_are_undefined_without_clusters_or_scores() -> None:
    scores = three_levels(40)
    few = top_k_inclusion(scores, np.arange(40) % 4, k=1, rng=generator())
    assert few == Undefined("resampling needs at least 5 clusters; there are 4")
    scores[1, 1] = np.nan
    bare = top_k_inclusion(scores, np.arange(40), k=1, rng=generator())
    assert bare == Undefined("a model has no score in one of the configurations")


@pytest.mark.parametrize("k", [0, 3])
def test_top_k_must_leave_somebody_out(k: int) -> None:
    with pytest.raises(InputError, match=rf"top_k_inclusion: k must lie in 1\.\.2; got {k}"):
        top_k_inclusion(three_levels(40), np.arange(40), k=k, rng=generator())


def test_all_orderings_of_few_models_are_listed_with_their_counts() -> None:
    means = np.array([[3.0, 3.0, 1.0, 2.0], [2.0, 2.0, 2.0, 2.0], [1.0, 1.0, 3.0, 1.0]])
    found = orderings(means)
    strict = [one for one in found if not one.tied]
    assert len(strict) == 6
    assert {one.places for one in strict} == {
        tuple((m,) for m in order) for order in itertools.permutations(range(3))
    }
    assert found[0].places == ((0,), (1,), (2,))
    assert found[0].configurations == (0, 1)
    (tie,) = [one for one in found if one.tied]
    assert (tie.places, tie.configurations) == (((0, 1), (2,)), (3,))
    assert sum(len(one.configurations) for one in found) == 4


def test_many_models_list_only_orderings_that_occur() -> None:
    means = np.stack([np.arange(6.0), np.arange(6.0)[::-1], np.arange(6.0)], axis=1)
    found = orderings(means)
    assert [one.configurations for one in found] == [(0, 2), (1,)]


def test_orderings_without_a_score_are_undefined() -> None:
    assert isinstance(orderings(np.array([[1.0], [np.nan]])), Undefined)


def test_cell_means_find_exact_ties() -> None:
    scores = np.array([[[0.1, 0.2, 0.3]], [[0.3, 0.1, 0.2]], [[0.2, np.nan, 0.2]]])
    means = cell_means(scores)
    assert means[0, 0] == means[1, 0]
    np.testing.assert_allclose(means[:, 0], 0.2, rtol=1e-12)


@pytest.mark.parametrize("means", [np.zeros(3), np.zeros((0, 2))])
def test_means_must_be_a_table(means: np.ndarray) -> None:
    with pytest.raises(InputError, match=r"means: must have the shape \(models, configurations\); got"):
        orderings(means)
