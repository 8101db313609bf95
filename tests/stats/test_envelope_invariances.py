"""What must not change the answer does not: every estimator over an envelope, by table."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import fields, is_dataclass

import numpy as np
import pytest

from safetyrepro.stats.configurations import effective_configurations
from safetyrepro.stats.joint import cell_means
from safetyrepro.stats.joint_comparison import all_pairs, compare_pairs
from safetyrepro.stats.noise_floor import label_swap_test, split_half_floor
from safetyrepro.stats.rank_agreement import rank_agreement
from safetyrepro.stats.ranking import rank_sets, top_k_inclusion
from safetyrepro.stats.sensitivity import fewest_removals, missing_outcome_bounds
from safetyrepro.stats.variance import variance_shares

LEVELS = np.array(list(itertools.product(range(2), range(2))))
Estimator = Callable[[np.ndarray, np.ndarray], object]


def generator() -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=3))


def compared(scores: np.ndarray, clusters: np.ndarray):
    return compare_pairs(
        scores, clusters, pairs=all_pairs(len(scores)), rng=generator(), resamples=60, margin=0.1
    )


ESTIMATORS: dict[str, Estimator] = {
    "joint comparison": compared,
    "rank sets": lambda s, k: rank_sets(compared(s, k), models=len(s)),
    "top-k": lambda s, k: top_k_inclusion(s, k, k=2, rng=generator(), resamples=60),
    "tau": lambda s, k: rank_agreement(cell_means(s)),
    "split halves": lambda s, k: split_half_floor(s, k, rng=generator(), splits=8, top_k=2),
    "label swaps": lambda s, k: label_swap_test(s, k, rng=generator(), swaps=19),
    "shares": lambda s, k: variance_shares(s, k, levels=LEVELS, rng=generator(), resamples=40),
    "effective number": lambda s, k: effective_configurations(s),
    "removals": lambda s, k: [(r.top, r.rival, r.count) for r in fewest_removals(s)],
    "missing bounds": lambda s, k: missing_outcome_bounds(
        s, k, pairs=all_pairs(2), lowest=-9.0, highest=9.0, rng=generator(), resamples=60
    ),
}


def table() -> tuple[np.ndarray, np.ndarray]:
    """Scores (5, 4, 60) on a grid of quarters, with ties, in 30 clusters of unequal size."""
    rng = np.random.default_rng(8)
    scores = np.round(4 * (0.4 * rng.normal(size=(5, 4, 1)) + rng.normal(size=(5, 4, 60)))) / 4
    return np.clip(scores, -8, 8), np.sort(rng.integers(0, 30, size=60))


def numbers(value: object) -> list[object]:
    """Everything in a result, flat, in a fixed order."""
    if is_dataclass(value):
        return [n for field in fields(value) for n in numbers(getattr(value, field.name))]
    if isinstance(value, np.ndarray):
        return value.reshape(-1).tolist()
    if isinstance(value, tuple | list):
        return [n for part in value for n in numbers(part)]
    return [value]


def assert_same(one: object, two: object, *, exactly: bool) -> None:
    for a, b in zip(numbers(one), numbers(two), strict=True):
        if isinstance(a, float) and not exactly:
            assert a == pytest.approx(b, rel=1e-9, abs=1e-11, nan_ok=True)
        else:
            assert a == b or (a != a and b != b)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_same_seed_gives_the_same_bits(name: str) -> None:
    scores, clusters = table()
    assert_same(ESTIMATORS[name](scores, clusters), ESTIMATORS[name](scores, clusters), exactly=True)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_order_of_items_does_not_change_a_bit(name: str) -> None:
    scores, clusters = table()
    order = np.random.default_rng(1).permutation(60)
    shuffled = ESTIMATORS[name](scores[:, :, order], clusters[order])
    assert_same(ESTIMATORS[name](scores, clusters), shuffled, exactly=True)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_other_names_of_the_clusters_in_the_same_order_do_not_change_a_bit(name: str) -> None:
    scores, clusters = table()
    renamed = ESTIMATORS[name](scores, 3 * clusters + 100)
    assert_same(ESTIMATORS[name](scores, clusters), renamed, exactly=True)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_input_is_left_as_it_was(name: str) -> None:
    scores, clusters = table()
    before = scores.copy(), clusters.copy()
    ESTIMATORS[name](scores, clusters)
    np.testing.assert_array_equal(scores, before[0])
    np.testing.assert_array_equal(clusters, before[1])


@pytest.mark.parametrize("name", sorted(set(ESTIMATORS) - {"missing bounds"}))
def test_an_item_that_is_harder_for_everybody_does_not_move_a_comparison(name: str) -> None:
    scores, clusters = table()
    harder = scores - 2.0 * (np.arange(60) % 3)
    one, two = ESTIMATORS[name](scores, clusters), ESTIMATORS[name](harder, clusters)
    if name == "shares":
        assert two.item.share > one.item.share
        assert two.model.share / two.residual.share == pytest.approx(one.model.share / one.residual.share)
    else:
        assert_same(one, two, exactly=False)


@pytest.mark.parametrize(
    "name", sorted(set(ESTIMATORS) - {"joint comparison", "missing bounds", "label swaps"})
)
def test_another_unit_of_the_score_changes_no_rank_and_no_share(name: str) -> None:
    scores, clusters = table()
    one, two = ESTIMATORS[name](scores, clusters), ESTIMATORS[name](8.0 * scores, clusters)
    if name == "rank sets":
        assert_same((one.lowest, one.highest), (two.lowest, two.highest), exactly=True)
    else:
        assert_same(one, two, exactly=False)


def test_other_names_of_models_and_configurations_rename_the_rank_sets() -> None:
    scores, clusters = table()
    models, places = np.array([3, 1, 4, 0, 2]), np.array([2, 0, 3, 1])
    one = ESTIMATORS["rank sets"](scores, clusters)
    two = ESTIMATORS["rank sets"](scores[models][:, places], clusters)
    np.testing.assert_array_equal(one.lowest[models][:, places], two.lowest)
    np.testing.assert_array_equal(one.highest[models][:, places], two.highest)


def test_adding_a_model_does_not_change_another_pairs_estimates() -> None:
    scores, clusters = table()
    few = compare_pairs(scores[:2], clusters, pairs=all_pairs(2), rng=generator(), resamples=60)
    more = compare_pairs(scores, clusters, pairs=all_pairs(2), rng=generator(), resamples=60)
    for name in ("differences", "standard_errors", "lower", "upper", "adjusted_p"):
        np.testing.assert_array_equal(getattr(few, name), getattr(more, name))
