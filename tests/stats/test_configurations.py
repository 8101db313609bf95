"""Weights, effective number and factor changes of an envelope."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from safetyrepro.errors import InputError
from safetyrepro.stats.configurations import (
    FactorReversals,
    configuration_weights,
    effective_configurations,
    factor_reversals,
    smallest_reversal,
    weighted_counts,
)
from safetyrepro.stats.undefined import Undefined

GRID = np.array(
    list(itertools.product(range(2), range(3)))
)  # configurations 0..5: (0,0) (0,1) (0,2) (1,0)...


def test_weights_are_products_of_level_weights() -> None:
    weights = configuration_weights(GRID, [{0: 1.0, 1: 3.0}, {0: 1.0, 1: 1.0, 2: 2.0}])
    np.testing.assert_allclose(weights * 16, [1, 1, 2, 3, 3, 6])


def test_equal_weights_give_equal_shares_and_plain_counts() -> None:
    weights = configuration_weights(GRID, [{0: 2.0, 1: 2.0}, {0: 1.0, 1: 1.0, 2: 1.0}])
    np.testing.assert_allclose(weights, 1 / 6)
    counts = weighted_counts(np.array([1, 1, 1, -1, 0, 0]), weights)
    assert (counts.ahead, counts.behind, counts.undecided) == pytest.approx((3 / 6, 1 / 6, 2 / 6))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([{0: 1.0, 1: 1.0}], r"level_weights: must have one mapping for each of 2 factors; got 1"),
        (
            [{0: 1.0}, {0: 1.0, 1: 1.0, 2: 1.0}],
            r"level_weights\.0\.1: must be a finite weight, at least 0; got",
        ),
        ([{0: -1.0, 1: 1.0}, {0: 1, 1: 1, 2: 1}], r"level_weights\.0\.0: must be a finite weight"),
        (
            [{0: 0.0, 1: 0.0}, {0: 1, 1: 1, 2: 1}],
            r"level_weights: must leave some configuration with weight",
        ),
    ],
)
def test_wrong_level_weights_are_refused(weights, message) -> None:
    with pytest.raises(InputError, match=message):
        configuration_weights(GRID, weights)


@pytest.mark.parametrize("weights", [np.ones(5), np.zeros(6), -np.ones(6)])
def test_wrong_weights_of_configurations_are_refused(weights) -> None:
    with pytest.raises(InputError, match="weights: must"):
        weighted_counts(np.zeros(6), weights)


def independent_comparisons(configurations: int, items: int = 4000) -> np.ndarray:
    """Two models whose comparison on each item is a fresh fair coin in every configuration."""
    coins = np.random.default_rng(0).integers(0, 2, size=(1, configurations, items)).astype(float)
    return np.concatenate([coins, 1 - coins])


def test_unrelated_configurations_all_count() -> None:
    assert effective_configurations(independent_comparisons(4)) == pytest.approx(4, rel=0.01)


def test_copies_of_one_configuration_count_as_one() -> None:
    assert effective_configurations(np.repeat(independent_comparisons(1), 5, axis=1)) == pytest.approx(1)


def test_near_duplicates_do_not_add_what_they_claim() -> None:
    # One level copied ten times beside one other: sum of squares (10/11)^2 + (1/11)^2 = 101/121.
    scores = independent_comparisons(2)[:, [0] * 10 + [1]]
    assert effective_configurations(scores) == pytest.approx(121 / 101, rel=0.01)


def test_weights_that_split_one_among_its_copies_restore_the_number() -> None:
    scores = independent_comparisons(2)[:, [0] * 10 + [1]]
    weights = np.array([0.1] * 10 + [1.0])
    assert effective_configurations(scores, weights=weights) == pytest.approx(2, rel=0.01)


def test_what_all_models_share_does_not_count() -> None:
    scores = independent_comparisons(3)
    moved = scores + np.random.default_rng(1).normal(size=(1, 3, 4000))
    assert effective_configurations(moved) == pytest.approx(effective_configurations(scores), rel=1e-3)


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e9])
def test_the_unit_of_the_score_does_not_matter(scale: float) -> None:
    scores = np.random.default_rng(0).normal(size=(3, 4, 200))
    assert effective_configurations(scale * scores) == pytest.approx(
        effective_configurations(scores), rel=1e-4
    )


def test_the_effective_number_is_undefined_where_nothing_is_compared() -> None:
    scores = independent_comparisons(2)
    assert effective_configurations(scores[:1]).reason.endswith("there is only one model")
    scores[:, 1] = 0.5
    flat = effective_configurations(scores)
    assert flat == Undefined("configuration 1 gives all models the same score on every item")
    assert effective_configurations(scores, weights=np.array([1.0, 0.0])) == pytest.approx(1)
    assert effective_configurations(np.array([[[np.nan, 1]], [[1, np.nan]]])).reason.startswith("no item")
    with pytest.raises(InputError, match=r"weights: must have the shape \(2,\); got \(3,\)"):
        effective_configurations(scores, weights=np.ones(3))


def test_matched_changes_are_counted_by_hand() -> None:
    #        (0,0) (0,1) (0,2) (1,0) (1,1) (1,2)
    signs = [+1, +1, 0, -1, +1, -1]
    assert factor_reversals(GRID, np.array(signs)) == (
        # factor 0: (0,0)-(1,0) reversed; (0,1)-(1,1) both ahead; (0,2)-(1,2) one undecided
        FactorReversals(factor=0, matched=3, decided=2, reversed=1),
        # factor 1: 3 pairs at level 0 (one decided), 3 at level 1 (all decided, two reversed)
        FactorReversals(factor=1, matched=6, decided=4, reversed=2),
    )
    smallest = smallest_reversal(GRID, np.array(signs))
    assert smallest.size == 1
    assert smallest.sets == (((1,), 2), ((0,), 1))
    assert smallest.example == (0, 3)


def test_the_smallest_change_away_from_the_primary_may_be_larger() -> None:
    signs = np.array([+1, 0, 0, 0, -1, -1])
    from_primary = smallest_reversal(GRID, signs, start=0)
    assert (from_primary.size, from_primary.sets) == (2, (((0, 1), 2),))
    assert smallest_reversal(GRID, signs, start=5).example == (0, 5)
    undecided = smallest_reversal(GRID, signs, start=1)
    assert undecided == Undefined("configuration 1 is undecided, so there is nothing to reverse")


def test_without_opposite_decisions_nothing_reverses() -> None:
    reason = "no two configurations decide in opposite directions"
    assert smallest_reversal(GRID, np.array([1, 1, 0, 0, 0, 1])) == Undefined(reason)
    assert all(one.reversed == 0 for one in factor_reversals(GRID, np.array([1, 1, 0, 0, 0, 1])))


def test_the_order_of_configurations_does_not_change_the_counts() -> None:
    signs = np.array([+1, +1, 0, -1, +1, -1])
    order = np.array([4, 2, 0, 5, 1, 3])
    assert factor_reversals(GRID[order], signs[order]) == factor_reversals(GRID, signs)
    assert smallest_reversal(GRID[order], signs[order]).sets == smallest_reversal(GRID, signs).sets


@pytest.mark.parametrize(
    ("levels", "signs", "message"),
    [
        (GRID[[0, 0]], [1, 1], "levels: must not hold a configuration twice"),
        (GRID, [1, 1], r"signs: must have the shape \(6,\); got \(2,\)"),
        (GRID.astype(float), [1] * 6, "levels: must be integers; got 'float64'"),
        (np.zeros(3, dtype=int), [1] * 3, r"levels: must have the shape \(configurations, factors\)"),
    ],
)
def test_wrong_levels_are_refused(levels, signs, message) -> None:
    with pytest.raises(InputError, match=message):
        factor_reversals(levels, np.array(signs))


def test_a_start_outside_the_envelope_is_refused() -> None:
    with pytest.raises(InputError, match=r"start: must lie in 0\.\.5; got 6"):
        smallest_reversal(GRID, np.ones(6), start=6)
