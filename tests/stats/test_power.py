"""Items needed and detectable gaps, against statsmodels and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm
from statsmodels.stats.power import NormalIndPower

from safetyrepro.errors import InputError
from safetyrepro.stats.joint_comparison import compare_pairs
from safetyrepro.stats.power import (
    critical_value,
    design_effect,
    detectable_gap,
    detectable_gaps,
    difference_spread,
    items_needed,
    paired_spread,
)
from safetyrepro.stats.undefined import Undefined


@pytest.mark.parametrize(
    ("gap", "power", "level"), [(0.05, 0.8, 0.95), (0.02, 0.9, 0.99), (-0.3, 0.8, 0.95)]
)
def test_items_needed_are_those_of_statsmodels(gap: float, power: float, level: float) -> None:
    expected = NormalIndPower().solve_power(
        effect_size=abs(gap) / 0.6, alpha=1 - level, power=power, ratio=0, alternative="two-sided"
    )
    assert items_needed(gap, spread=0.6, power=power, level=level) == math.ceil(expected)


def test_the_detectable_gap_undoes_the_number_of_items() -> None:
    items = items_needed(0.04, spread=0.5, comparisons=12)
    gap = detectable_gap(0.5 / math.sqrt(items), critical=critical_value(level=0.95, comparisons=12))
    assert gap == pytest.approx(0.04, rel=1e-3)
    assert gap <= 0.04


def test_a_family_is_adjusted_as_bonferroni_does() -> None:
    assert critical_value(level=0.95) == pytest.approx(1.959964, abs=1e-6)
    assert critical_value(level=0.95, comparisons=10) == pytest.approx(norm.ppf(1 - 0.0025))


def test_clusters_inflate_the_number_of_items() -> None:
    effect = design_effect(10, intraclass_correlation=0.2)
    assert effect == pytest.approx(2.8)
    plain, inflated = items_needed(0.05, spread=0.5), items_needed(0.05, spread=0.5, design_effect=effect)
    assert inflated == pytest.approx(2.8 * plain, rel=0.01)


def test_the_spread_of_a_difference_falls_with_correlation() -> None:
    rng = np.random.default_rng(0)
    first = rng.normal(size=200)
    second = 0.6 * first + rng.normal(size=200)
    second[3] = np.nan
    spread = paired_spread(first, second)
    both = ~np.isnan(second)
    assert spread.items == 199
    assert spread.difference == pytest.approx((first - second)[both].std(ddof=1))
    rebuilt = difference_spread(spread.first, spread.second, correlation=spread.correlation)
    assert rebuilt == pytest.approx(spread.difference)


def test_a_spread_is_undefined_where_it_does_not_exist() -> None:
    assert paired_spread(np.array([1.0, np.nan]), np.array([1.0, 2.0])) == Undefined(
        "a spread needs at least 2 common items; there are 1"
    )
    constant = paired_spread(np.ones(5), np.arange(5.0))
    assert constant.correlation == Undefined("one of the two models has the same score on every item")
    assert constant.difference == pytest.approx(np.arange(5.0).std(ddof=1))


def test_the_detectable_gap_of_a_study_is_detected_with_its_power() -> None:
    rng = np.random.default_rng(0)
    base = rng.normal(size=(400, 250))
    pair = np.array([[0, 1]])
    found = 0
    for row in base:
        scores = np.stack([row + 0.0, np.zeros(250)])[:, None, :]
        study = compare_pairs(
            scores,
            np.arange(250),
            pairs=pair,
            rng=np.random.Generator(np.random.Philox(key=1)),
            resamples=99,
        )
        gap = detectable_gaps(study)[0, 0]
        found += study.differences[0, 0] + gap - study.critical_value * study.standard_errors[0, 0] > 0
    assert found / 400 == pytest.approx(0.8, abs=0.06)


def test_a_cell_without_a_test_has_no_detectable_gap() -> None:
    scores = np.random.default_rng(0).integers(0, 2, size=(2, 2, 30)).astype(float)
    scores[1, 0] = scores[0, 0]
    rng = np.random.Generator(np.random.Philox(key=1))
    study = compare_pairs(scores, np.arange(30), pairs=np.array([[0, 1]]), rng=rng, resamples=99)
    gaps = detectable_gaps(study)
    assert np.isnan(gaps[0, 0])
    assert gaps[0, 1] > 0
    blind = compare_pairs(scores[:, :1], np.arange(30), pairs=np.array([[0, 1]]), rng=rng, resamples=99)
    assert np.isnan(detectable_gaps(blind)).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: items_needed(0.0, spread=1.0), "items_needed: gap must be finite and not 0; got 0.0"),
        (lambda: items_needed(0.1, spread=-1.0), "items_needed: spread must be finite and at least 0"),
        (lambda: items_needed(0.1, spread=1.0, power=0.5), "power: must lie strictly between 0.5 and 1"),
        (lambda: items_needed(0.1, spread=1.0, level=1.0), "level: must lie strictly between 0 and 1"),
        (lambda: items_needed(0.1, spread=1.0, comparisons=0), "comparisons: must be at least 1; got 0"),
        (lambda: items_needed(0.1, spread=1.0, design_effect=0.0), "design_effect must be positive"),
        (lambda: detectable_gap(-1.0, critical=2.0), "detectable_gap.standard_error: must be finite"),
        (lambda: detectable_gap(1.0, critical=float("nan")), "detectable_gap.critical: must be finite"),
        (lambda: difference_spread(1.0, 1.0, correlation=1.1), "correlation: must lie in -1..1; got 1.1"),
        (lambda: difference_spread(-1.0, 1.0, correlation=0.0), "first: must be at least 0; got -1.0"),
        (lambda: design_effect(0.5, intraclass_correlation=0.1), "items_per_cluster: must be at least 1"),
        (lambda: design_effect(2, intraclass_correlation=2.0), "intraclass_correlation: must lie in 0..1"),
        (lambda: paired_spread(np.ones(2), np.ones(3)), "paired_spread: must be two vectors of one length"),
    ],
)
def test_wrong_arguments_are_refused(call, message: str) -> None:
    with pytest.raises(InputError, match=message.replace(".", r"\.")):
        call()
