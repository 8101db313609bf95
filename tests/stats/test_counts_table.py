"""Counts without items: unpaired, against statsmodels and the normal maximum."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau, norm, studentized_range
from statsmodels.stats.proportion import confint_proportions_2indep

from safetyrepro.errors import InputError
from safetyrepro.stats.counts_table import compare_counts
from safetyrepro.stats.joint_comparison import all_pairs
from safetyrepro.stats.rank_agreement import rank_agreement
from safetyrepro.stats.ranking import rank_sets
from safetyrepro.stats.undefined import Undefined

PUBLISHED = json.loads(
    (Path(__file__).resolve().parents[1] / "golden" / "scaffold_counts.json").read_text(encoding="utf-8")
)


def generator(seed: int = 1) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=seed))


def test_bounds_are_those_of_agresti_and_caffo_at_the_joint_critical_value() -> None:
    won, asked = np.array([[40, 3], [25, 0]]), np.array([[50, 20], [50, 25]])
    result = compare_counts(won, asked, pairs=np.array([[0, 1]]), rng=generator())
    assert result.differences[0].tolist() == pytest.approx([0.3, 0.15])
    alpha = 2 * norm.sf(result.critical_value)
    for c in range(2):
        low, high = confint_proportions_2indep(
            won[0, c], asked[0, c], won[1, c], asked[1, c], method="agresti-caffo", alpha=alpha
        )
        assert (result.lower[0, c], result.upper[0, c]) == pytest.approx((low, high), rel=1e-9)
    assert result.method == "unpaired-normal"
    assert result.items.tolist() == [[100, 45]]


def test_one_comparison_has_the_normal_critical_value() -> None:
    result = compare_counts(
        np.array([[30], [20]]),
        np.array([[50], [50]]),
        pairs=np.array([[0, 1]]),
        rng=generator(),
        resamples=40_000,
    )
    assert result.critical_value == pytest.approx(1.96, abs=0.03)


def test_all_pairs_of_equal_cells_have_tukeys_critical_value() -> None:
    won, asked = np.full((5, 1), 50), np.full((5, 1), 100)
    result = compare_counts(won, asked, pairs=all_pairs(5), rng=generator(), resamples=40_000)
    tukey = studentized_range.ppf(0.95, 5, np.inf) / np.sqrt(2)
    assert result.critical_value == pytest.approx(tukey, abs=0.03)


def test_clear_counts_are_decided_and_alike_ones_are_not() -> None:
    won, asked = np.array([[90, 50], [40, 52]]), np.array([[100, 100], [100, 100]])
    envelope = compare_counts(won, asked, pairs=np.array([[0, 1]]), rng=generator()).envelope(0)
    assert envelope.decisions.tolist() == [1, 0]
    assert (envelope.raw_ahead, envelope.raw_behind) == (1, 1)
    assert envelope.true_ahead_range == (1, 2)


def test_perfect_counts_have_a_spread() -> None:
    result = compare_counts(
        np.array([[3], [0]]), np.array([[3], [3]]), pairs=np.array([[0, 1]]), rng=generator()
    )
    assert result.undefined == {}
    assert 0 < result.standard_errors[0, 0] < 1


def test_a_cell_without_trials_is_undefined() -> None:
    won, asked = np.array([[5, 0], [5, 3]]), np.array([[9, 0], [9, 9]])
    result = compare_counts(won, asked, pairs=np.array([[0, 1]]), rng=generator(), margin=0.5)
    assert result.undefined == {(0, 1): Undefined("one of the two models has no trials here")}
    assert np.isnan(result.differences[0, 1])
    assert result.decisions[0, 1] == 0
    assert np.isnan(result.margin.equivalent_everywhere_p()[0])
    none = compare_counts(
        np.zeros((2, 1), int), np.zeros((2, 1), int), pairs=np.array([[0, 1]]), rng=generator()
    )
    assert isinstance(none.critical_value, Undefined)


def test_a_family_of_tied_cells_errs_at_most_at_its_level() -> None:
    rng = np.random.default_rng(0)
    asked = np.full((3, 4), 60)
    wrong = 0
    for seed in range(200):
        won = rng.binomial(60, 0.7, size=(3, 4))
        result = compare_counts(won, asked, pairs=all_pairs(3), rng=generator(seed), resamples=400)
        wrong += bool(result.decisions.any())
    assert wrong <= 18  # binomial(200, .05): 18 or fewer with probability .99


@pytest.mark.parametrize(
    ("won", "asked", "message"),
    [
        ([[3], [1]], [[2], [5]], r"successes\[0, 0\]: must lie in 0\.\.trials = 2; got 3"),
        ([[-1], [1]], [[2], [5]], r"successes\[0, 0\]: must lie in 0\.\.trials = 2; got -1"),
        ([[0.5], [1]], [[2], [5]], r"successes: must be whole numbers; got 'float64'"),
        ([[1, 1]], [[2], [5]], r"successes, trials: must both have the shape \(models, configurations\)"),
    ],
)
def test_wrong_counts_are_refused(won, asked, message: str) -> None:
    with pytest.raises(InputError, match=message):
        compare_counts(np.array(won), np.array(asked), pairs=np.array([[0, 1]]), rng=generator())


def published(benchmark: str) -> tuple[np.ndarray, np.ndarray]:
    table = PUBLISHED["benchmarks"][benchmark]
    safe = np.array(table["safe"])
    return safe, np.full(safe.shape, table["trials"])


def test_a_published_reversal_is_found_by_bounds() -> None:
    safe, trials = published("xstest_orbench")
    names = PUBLISHED["models"]
    pair = np.array([[names.index("deepseek"), names.index("opus")]])
    alone = compare_counts(safe, trials, pairs=pair, rng=generator())
    family = compare_counts(safe, trials, pairs=all_pairs(6), rng=generator())
    place = family.pairs.tolist().index(pair[0].tolist())
    # Safe of 500: 328 423 329 274 against 438 340 428 410; map-reduce alone turns it around.
    assert PUBLISHED["scaffolds"][1] == "map_reduce"
    for envelope in (alone.envelope(0), family.envelope(place)):
        assert envelope.decisions.tolist() == [-1, 1, -1, -1]
        assert envelope.true_ahead_range == (1, 1)
        assert envelope.disagreement_range == (0.5, 0.5)  # 1 x 3 of the 6 pairs of scaffolds
        assert envelope.reversal_p() == pytest.approx(1 / 10_001)
    assert family.critical_value > alone.critical_value


@pytest.mark.parametrize("benchmark", PUBLISHED["benchmarks"])
def test_published_counts_are_ranked_as_a_loop_ranks_them(benchmark: str) -> None:
    safe, trials = published(benchmark)
    result = compare_counts(safe, trials, pairs=all_pairs(6), rng=generator())
    sets = rank_sets(result, models=6)
    alpha = 2 * norm.sf(result.critical_value)
    for c, m in itertools.product(range(4), range(6)):
        bounds = [
            confint_proportions_2indep(
                safe[m, c], trials[m, c], safe[o, c], trials[o, c], method="agresti-caffo", alpha=alpha
            )
            for o in range(6)
            if o != m
        ]
        # The single step decides a little less than the step-down, so its rank sets are no smaller.
        assert 1 + sum(high < 0 for _, high in bounds) <= sets.lowest[m, c]
        assert 6 - sum(low > 0 for low, _ in bounds) >= sets.highest[m, c]
        assert sets.lowest[m, c] <= 1 + (safe[:, c] > safe[m, c]).sum() <= sets.highest[m, c]
    tau = rank_agreement(safe / trials).tau
    for c, d in itertools.combinations(range(4), 2):
        assert tau[c, d] == pytest.approx(kendalltau(safe[:, c], safe[:, d]).statistic)
