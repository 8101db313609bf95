"""Shares of the sum of squares: by hand, against statsmodels, and when factors are not crossed evenly."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from safetyrepro.errors import InputError
from safetyrepro.stats.undefined import Undefined
from safetyrepro.stats.variance import variance_shares

GRID = np.array(list(itertools.product(range(2), range(3))))


def generator(seed: int = 1) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=seed))


def made_scores(items: int = 12) -> np.ndarray:
    rng = np.random.default_rng(4)
    return (
        rng.normal(size=(3, 1, 1))
        + rng.normal(size=(1, 6, 1))
        + 0.5 * rng.normal(size=(3, 6, 1))
        + rng.normal(size=(1, 1, items))
        + rng.normal(size=(3, 6, items))
    )


def all_shares(result) -> list[float]:
    parts = [result.model, *result.factors, result.factor_interactions, *result.model_by_factor]
    return [part.share for part in [*parts, result.model_by_interactions, result.item, result.residual]]


def test_shares_are_those_of_a_crossed_analysis_of_variance() -> None:
    scores = made_scores()
    result = variance_shares(scores, np.arange(12), levels=GRID, rng=generator(), resamples=40)
    rows = [
        (m, *GRID[c], i, scores[m, c, i]) for m, c, i in itertools.product(range(3), range(6), range(12))
    ]
    frame = pd.DataFrame(rows, columns=["m", "a", "b", "i", "y"])
    table = anova_lm(ols("y ~ C(i) + C(m)*C(a)*C(b)", frame).fit())["sum_sq"] / (
        frame.y.var(ddof=0) * len(frame)
    )
    assert result.orthogonal
    assert result.model.share == pytest.approx(table["C(m)"], rel=1e-9)
    assert [f.share for f in result.factors] == pytest.approx([table["C(a)"], table["C(b)"]], rel=1e-9)
    assert result.factor_interactions.share == pytest.approx(table["C(a):C(b)"], rel=1e-9)
    mixed = [f.share for f in result.model_by_factor]
    assert mixed == pytest.approx([table["C(m):C(a)"], table["C(m):C(b)"]], rel=1e-9)
    assert result.model_by_interactions.share == pytest.approx(table["C(m):C(a):C(b)"], rel=1e-9)
    assert result.item.share == pytest.approx(table["C(i)"], rel=1e-9)
    assert result.residual.share == pytest.approx(table["Residual"], rel=1e-9)
    assert sum(all_shares(result)) == pytest.approx(1, abs=1e-12)


def test_a_small_table_is_worked_by_hand() -> None:
    # Two models, one factor of two levels, five items that repeat: y = 1 only for model 0 at level 0.
    scores = np.zeros((2, 2, 5))
    scores[0, 0] = 1.0
    result = variance_shares(
        scores, np.arange(5), levels=np.array([[0], [1]]), rng=generator(), resamples=40
    )
    # mean 1/4; total 5 x (9/16 + 3/16) = 15/4; model, factor, model x factor: each 20 x (1/4)^2 = 5/4
    third = float(Fraction(5, 4) / Fraction(15, 4))
    assert result.model.share == pytest.approx(third)
    assert result.factors[0].share == pytest.approx(third)
    assert result.model_by_factor[0].share == pytest.approx(third)
    assert result.item.share == pytest.approx(0, abs=1e-12)
    assert result.residual.share == pytest.approx(0, abs=1e-12)
    assert (result.model.low, result.model.high) == pytest.approx((third, third))


def test_factors_that_are_not_crossed_evenly_share_what_they_explain_together() -> None:
    levels = np.array([[0, 0], [0, 0], [1, 1], [1, 1], [1, 0]])
    rng = np.random.default_rng(0)
    effect = np.array([0.0, 0.1, 1.0, 1.1, 0.6])
    scores = effect[None, :, None] + 0.1 * rng.normal(size=(2, 5, 20))
    result = variance_shares(scores, np.arange(20), levels=levels, rng=generator(), resamples=40)
    assert not result.orthogonal
    assert sum(all_shares(result)) == pytest.approx(1, abs=1e-12)
    swapped = variance_shares(scores, np.arange(20), levels=levels[:, ::-1], rng=generator(), resamples=40)
    assert [f.share for f in result.factors] == pytest.approx([f.share for f in swapped.factors][::-1])
    centred = scores.mean(axis=(0, 2)) - scores.mean()
    total = np.square(scores - scores.mean()).sum() / 40
    entered = {}
    for chosen in [(0,), (1,), (0, 1)]:
        design = np.column_stack([np.ones(5), *(levels[:, f] for f in chosen)])
        entered[chosen] = np.square(design @ np.linalg.lstsq(design, centred, rcond=None)[0]).sum()
    first = (entered[0,] + entered[0, 1] - entered[1,]) / 2
    assert result.factors[0].share == pytest.approx(first / total, rel=1e-9)


def test_an_interval_covers_the_share_of_the_item_population() -> None:
    covered, rounds = 0, 60
    rng = np.random.default_rng(7)
    effects = 0.4 * rng.normal(size=(3, 6))
    for seed in range(rounds):
        draw = np.random.default_rng(1000 + seed)
        scores = effects[:, :, None] + draw.normal(size=(1, 1, 150)) + draw.normal(size=(3, 6, 150))
        result = variance_shares(scores, np.arange(150), levels=GRID, rng=generator(seed), resamples=100)
        model = np.square(effects.mean(axis=1) - effects.mean()).mean()
        truth = model / (np.square(effects - effects.mean()).mean() + 2)
        covered += result.model.low <= truth <= result.model.high
    assert covered >= 51  # binomial(60, .95): 51 or more with probability .997


def test_items_without_a_full_row_are_left_out_and_counted() -> None:
    scores = made_scores(15)
    scores[1, 2, 3] = np.nan
    result = variance_shares(scores, np.arange(15), levels=GRID, rng=generator(), resamples=40)
    kept = np.delete(scores, 3, axis=2)
    alone = variance_shares(kept, np.delete(np.arange(15), 3), levels=GRID, rng=generator(), resamples=40)
    assert (result.items, result.items_given) == (14, 15)
    assert all_shares(result) == all_shares(alone)


def test_the_order_of_items_does_not_change_a_bit() -> None:
    scores, clusters = made_scores(20), np.arange(20) // 2
    order = np.random.default_rng(0).permutation(20)
    one = variance_shares(scores, clusters, levels=GRID, rng=generator(), resamples=40)
    two = variance_shares(scores[:, :, order], clusters[order], levels=GRID, rng=generator(), resamples=40)
    assert one == two


def test_adding_a_constant_or_changing_the_unit_changes_nothing() -> None:
    scores = made_scores()
    one = variance_shares(scores, np.arange(12), levels=GRID, rng=generator(), resamples=40)
    two = variance_shares(7 - 3 * scores, np.arange(12), levels=GRID, rng=generator(), resamples=40)
    assert all_shares(one) == pytest.approx(all_shares(two), rel=1e-7)


def test_one_configuration_has_no_factors() -> None:
    result = variance_shares(
        made_scores()[:, :1],
        np.arange(12),
        levels=np.zeros((1, 0), dtype=int),
        rng=generator(),
        resamples=40,
    )
    assert result.factors == ()
    assert result.factor_interactions.share == pytest.approx(0, abs=1e-12)


def test_shares_are_undefined_with_a_reason() -> None:
    flat = variance_shares(np.ones((2, 6, 9)), np.arange(9), levels=GRID, rng=generator(), resamples=40)
    assert flat == Undefined("all scores are equal, so there is no spread to share out")
    few = variance_shares(made_scores(), np.arange(12) % 3, levels=GRID, rng=generator(), resamples=40)
    assert few == Undefined("resampling needs at least 5 clusters; there are 3")
    holes = made_scores()
    holes[0, 0] = np.nan
    none = variance_shares(holes, np.arange(12), levels=GRID, rng=generator(), resamples=40)
    assert none == Undefined("no item has a score in every cell")


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        (GRID[:5], "levels: must have one row for each of 6 configurations"),
        (
            np.zeros((6, 1), dtype=int),
            r"levels\.0: must have at least two levels \(or be left out\); got 1",
        ),
        (np.zeros((6, 11), dtype=int), "levels: must have at most 10 factors; got 11"),
    ],
)
def test_wrong_levels_are_refused(levels, message) -> None:
    with pytest.raises(InputError, match=message):
        variance_shares(made_scores(), np.arange(12), levels=levels, rng=generator())
