"""Fewest removals against brute force; missing outcomes at their worst."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from safetyrepro.errors import InputError
from safetyrepro.stats.joint_comparison import compare_pairs
from safetyrepro.stats.sensitivity import fewest_removals, missing_outcome_bounds
from safetyrepro.stats.undefined import Undefined

PAIR = np.array([[0, 1]])


def generator(seed: int = 1) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=seed))


def brute_force(scores: np.ndarray) -> int | None:
    """The fewest items whose removal puts another model strictly ahead of the top, (M, N) without NaN."""
    top = int(scores.mean(axis=1).argmax())
    n = scores.shape[1]
    for count in range(n):
        for dropped in itertools.combinations(range(n), count):
            left = np.delete(scores, dropped, axis=1).sum(axis=1)
            if (np.delete(left, top) > left[top]).any():
                return count
    return None


@pytest.mark.parametrize("seed", range(12))
def test_binary_removals_are_wins_minus_losses_plus_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = (rng.uniform(size=(2, 1, 11)) < np.array([0.8, 0.4])[:, None, None]).astype(float)
    (found,) = fewest_removals(scores)
    top = int(scores.mean(axis=2).argmax())
    difference = scores[top, 0] - scores[1 - top, 0]
    wins, losses = int((difference > 0).sum()), int((difference < 0).sum())
    if wins == losses:
        assert isinstance(found, Undefined)
    elif losses == 0:
        assert found == Undefined(f"no other model is ahead of model {top} on any item")
    else:
        assert found.count == wins - losses + 1 == brute_force(scores[:, 0])


@pytest.mark.parametrize("seed", range(8))
def test_greedy_removal_is_exact_for_any_scores(seed: int) -> None:
    scores = np.random.default_rng(seed).integers(-3, 4, size=(3, 1, 8)).astype(float)
    scores[0] += 0.5
    (found,) = fewest_removals(scores)
    expected = brute_force(scores[:, 0])
    if isinstance(found, Undefined):
        assert expected is None
    else:
        assert found.count == expected
        left = np.delete(scores[:, 0], found.removed, axis=1).sum(axis=1)
        assert left[found.rival] > left[found.top]
        assert len(found.removed) == found.count


def test_each_configuration_has_its_own_answer() -> None:
    scores = np.zeros((2, 4, 6))
    scores[0, 0] = [1, 1, 1, 0, 0, 0]
    scores[1, 0] = [0, 0, 0, 1, 0, 0]
    scores[0, 1] = 1.0  # ahead on every item
    scores[:, 2] = 0.5  # tied
    scores[0, 3], scores[1, 3] = np.nan, 1.0
    first, every, tied, gone = fewest_removals(scores)
    assert (first.top, first.rival, first.count, first.removed) == (0, 1, 3, (0, 1, 2))
    assert every == Undefined("no other model is ahead of model 0 on any item")
    assert tied == Undefined("models 0, 1 share the top")
    assert gone == Undefined("model 0 has no score")
    assert fewest_removals(scores[:1])[0] == Undefined("there is only one model")


def test_a_missing_score_is_on_nobodys_side_and_indices_are_those_of_the_table() -> None:
    scores = np.full((2, 1, 6), np.nan)
    scores[0, 0, 1:] = [1, 1, 1, 0, 1]
    scores[1, 0, 1:] = [0, 0, 0, 1, np.nan]
    (found,) = fewest_removals(scores)
    assert (found.count, found.removed) == (3, (1, 2, 3))


def test_bounds_are_the_smallest_and_largest_difference_of_any_filling() -> None:
    scores = np.random.default_rng(0).integers(0, 2, size=(2, 2, 7)).astype(float)
    scores[0, 0, 2] = scores[1, 0, 2] = scores[1, 0, 5] = np.nan
    bounds = missing_outcome_bounds(
        scores, np.arange(7), pairs=PAIR, lowest=0.0, highest=1.0, rng=generator(), resamples=99
    )
    holes = np.argwhere(np.isnan(scores[:, 0]))
    values = []
    for filling in itertools.product([0.0, 1.0], repeat=len(holes)):
        filled = scores[:, 0].copy()
        filled[tuple(holes.T)] = filling
        values.append(filled[0].mean() - filled[1].mean())
    assert bounds.lower[0, 0] == pytest.approx(min(values))
    assert bounds.upper[0, 0] == pytest.approx(max(values))
    assert bounds.lower[0, 1] == bounds.upper[0, 1]
    assert bounds.missing.tolist() == [[2, 0]]


def test_a_decision_survives_few_missing_outcomes_and_not_many() -> None:
    rng = np.random.default_rng(0)
    scores = (rng.uniform(size=(2, 2, 300)) < np.array([0.75, 0.55])[:, None, None]).astype(float)
    scores[1, 0, :3] = np.nan
    scores[1, 1, :90] = np.nan
    observed = compare_pairs(scores, np.arange(300), pairs=PAIR, rng=generator(), resamples=400)
    assert observed.decisions.tolist() == [[1, 1]]
    bounds = missing_outcome_bounds(
        scores, np.arange(300), pairs=PAIR, lowest=0.0, highest=1.0, rng=generator(), resamples=400
    )
    assert bounds.worst.decisions.tolist() == [[1, 0]]
    assert bounds.best.decisions.tolist() == [[1, 1]]
    assert bounds.decisions_survive().tolist() == [[True, False]]


def test_without_missing_outcomes_both_ends_are_the_comparison() -> None:
    scores = np.random.default_rng(0).integers(0, 2, size=(2, 2, 60)).astype(float)
    bounds = missing_outcome_bounds(
        scores, np.arange(60), pairs=PAIR, lowest=0.0, highest=1.0, rng=generator(), resamples=99
    )
    plain = compare_pairs(scores, np.arange(60), pairs=PAIR, rng=generator(), resamples=99)
    for end in (bounds.worst, bounds.best):
        np.testing.assert_array_equal(end.adjusted_p, plain.adjusted_p)
        np.testing.assert_array_equal(end.lower, plain.lower)


@pytest.mark.parametrize(
    ("lowest", "highest", "message"),
    [
        (0.0, 0.5, r"scores: must lie in 0\.0\.\.0\.5; got 1\.0"),
        (1.0, 0.0, r"lowest, highest: must be finite and ascending; got"),
        (0.0, float("inf"), "lowest, highest: must be finite and ascending"),
    ],
)
def test_a_range_that_does_not_hold_the_scores_is_refused(lowest, highest, message) -> None:
    scores = np.ones((2, 1, 10))
    with pytest.raises(InputError, match=message):
        missing_outcome_bounds(
            scores, np.arange(10), pairs=PAIR, lowest=lowest, highest=highest, rng=generator()
        )
