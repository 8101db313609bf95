"""Choices by hand: credit at the top, mass on right options, and what guessing gets."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from safetyrepro.analysis.choice_cells import poisson_binomial_range
from safetyrepro.errors import InputError
from safetyrepro.stats.choices import gold_margin, gold_mass, tied_at_top, top_credit

NAN = float("nan")
# Five items of up to three options: right at the top, wrong at the top, a tie of two with one right, a tie
# of three with two right, and one whose second option has no score. The third option of item 0 is absent.
SCORES = np.array(
    [
        [-1.0, -3.0, -1.0, -2.0, -1.0],
        [-2.0, -1.0, -1.0, -2.0, NAN],
        [NAN, -2.0, -5.0, -2.0, -4.0],
    ]
)
PRESENT = np.array([[True] * 5, [True] * 5, [False, True, True, True, True]])
GOLD = np.array(
    [
        [True, True, True, True, True],
        [False, False, False, True, False],
        [False, False, False, False, False],
    ]
)


def test_options_tied_at_the_top_share_the_credit() -> None:
    found = top_credit(SCORES, present=PRESENT, gold=GOLD)
    assert found == pytest.approx([1.0, 0.0, 1 / 2, 2 / 3, NAN], nan_ok=True)
    assert tied_at_top(SCORES, present=PRESENT).tolist() == [False, False, True, True, False]


def test_the_mass_is_the_softmax_over_the_options_an_item_has() -> None:
    e = np.exp
    by_hand = [
        e(-1) / (e(-1) + e(-2)),
        e(-3) / (e(-3) + e(-1) + e(-2)),
        e(-1) / (2 * e(-1) + e(-5)),
        2 / 3,
        NAN,
    ]
    found = gold_mass(SCORES, present=PRESENT, gold=GOLD)
    assert found == pytest.approx(by_hand, nan_ok=True, abs=1e-15)


def test_the_mass_of_very_long_answers_neither_overflows_nor_vanishes() -> None:
    scores = np.array([[-90_000.0], [-90_001.0]])
    ones = np.ones((2, 1), dtype=np.bool_)
    gold = np.array([[True], [False]])
    assert gold_mass(scores, present=ones, gold=gold)[0] == pytest.approx(1 / (1 + np.exp(-1)))


def test_the_margin_is_between_the_best_right_and_the_best_wrong_option() -> None:
    found = gold_margin(SCORES, present=PRESENT, gold=GOLD)
    assert found == pytest.approx([1.0, -2.0, 0.0, 0.0, NAN], nan_ok=True)


@pytest.mark.parametrize("measure", [top_credit, gold_mass, gold_margin])
def test_the_order_of_options_changes_nothing(measure: object) -> None:
    assert callable(measure)
    first = measure(SCORES, present=PRESENT, gold=GOLD)
    for order in itertools.permutations(range(3)):
        again = measure(SCORES[list(order)], present=PRESENT[list(order)], gold=GOLD[list(order)])
        assert again == pytest.approx(first, nan_ok=True, abs=1e-15)


def test_cells_between_options_and_items_are_kept_apart() -> None:
    stacked = np.stack([SCORES, SCORES[::-1]], axis=1)  # (A, 2, N)
    found = top_credit(stacked, present=np.ones((3, 5), dtype=np.bool_), gold=GOLD)
    assert found.shape == (2, 5)


def test_an_infinite_score_is_refused() -> None:
    with pytest.raises(InputError, match="scores must be finite, or NaN where missing; got inf"):
        top_credit(
            np.array([[np.inf], [0.0]]), present=np.ones((2, 1), bool), gold=np.array([[True], [False]])
        )


def test_masks_of_another_shape_are_refused() -> None:
    with pytest.raises(InputError, match=r"present must have shape \(3, 5\); got \(2, 5\)"):
        top_credit(SCORES, present=PRESENT[:2], gold=GOLD)


def test_guessing_has_the_range_of_a_binomial_where_all_chances_are_equal() -> None:
    from scipy import stats

    for n, chance in ((10, 0.25), (150, 1 / 3), (41, 0.5)):
        low, high = poisson_binomial_range(np.full(n, chance), level=0.95)
        assert (low, high) == tuple(int(end) for end in stats.binom.interval(0.95, n, chance))


def test_guessing_on_unlike_items_is_counted_over_every_outcome() -> None:
    chances = np.array([0.2, 0.5, 0.9])
    mass = np.zeros(4)
    for hits in itertools.product((0, 1), repeat=3):
        mass[sum(hits)] += np.prod([c if hit else 1 - c for c, hit in zip(chances, hits, strict=True)])
    below = np.cumsum(mass)
    low, high = poisson_binomial_range(chances, level=0.8)
    assert (low, high) == (int((below < 0.1).sum()), int((below < 0.9).sum()))
