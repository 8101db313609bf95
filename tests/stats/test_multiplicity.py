"""Adjusted p-values and the p-values of "every", "some" and "at least r"."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from safetyrepro.errors import InputError
from safetyrepro.stats.multiplicity import (
    benjamini_hochberg_adjust,
    holm_adjust,
    intersection_union_p,
    partial_conjunction_p,
)

FAMILIES = [
    [0.01],
    [0.01, 0.04, 0.03, 0.005],
    [0.2, 0.2, 0.001, 0.9, 0.05, 0.05],
    [0.0, 1.0, 0.5],
    list(np.random.default_rng(3).uniform(size=40) ** 3),
]


@pytest.mark.parametrize("family", FAMILIES)
def test_holm_agrees_with_statsmodels(family: list[float]) -> None:
    expected = multipletests(family, method="holm")[1]
    np.testing.assert_allclose(holm_adjust(family), expected, rtol=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_benjamini_hochberg_agrees_with_statsmodels(family: list[float]) -> None:
    expected = multipletests(family, method="fdr_bh")[1]
    np.testing.assert_allclose(benjamini_hochberg_adjust(family), expected, rtol=1e-12)


@pytest.mark.parametrize("adjust", [holm_adjust, benjamini_hochberg_adjust])
def test_the_order_of_the_family_does_not_matter(adjust) -> None:
    family = np.random.default_rng(5).uniform(size=17)
    family[3] = family[9]
    order = np.random.default_rng(6).permutation(17)
    np.testing.assert_array_equal(adjust(family)[order], adjust(family[order]))


@pytest.mark.parametrize("adjust", [holm_adjust, benjamini_hochberg_adjust])
def test_an_empty_family_stays_empty(adjust) -> None:
    assert adjust([]).shape == (0,)


@pytest.mark.parametrize(
    ("at_least", "expected"),
    [
        (1, Fraction(4 * 1, 100)),  # 4 x .01
        (2, Fraction(3 * 2, 100)),  # 3 x .02
        (3, Fraction(2 * 3, 100)),  # 2 x .03
        (4, Fraction(1 * 50, 100)),  # 1 x .50
    ],
)
def test_a_partial_conjunction_is_worked_by_hand(at_least: int, expected: Fraction) -> None:
    value = partial_conjunction_p([0.5, 0.01, 0.03, 0.02], at_least=at_least)
    assert value == pytest.approx(float(expected), abs=1e-15)


def test_a_partial_conjunction_is_capped_at_one() -> None:
    assert partial_conjunction_p([0.9, 0.8, 0.7], at_least=1) == 1.0


def test_at_least_one_is_bonferroni_and_at_least_all_is_the_largest() -> None:
    family = [0.004, 0.2, 0.03]
    assert partial_conjunction_p(family, at_least=1) == pytest.approx(3 * 0.004)
    assert intersection_union_p(family) == 0.2


@pytest.mark.parametrize("wrong", [0, 4, -1])
def test_at_least_must_lie_within_the_family(wrong: int) -> None:
    with pytest.raises(InputError, match=r"partial_conjunction_p: at_least must lie in 1\.\.3; got"):
        partial_conjunction_p([0.1, 0.2, 0.3], at_least=wrong)


@pytest.mark.parametrize("bad", [[-0.1], [1.1], [float("nan")]])
@pytest.mark.parametrize("adjust", [holm_adjust, benjamini_hochberg_adjust, intersection_union_p])
def test_what_is_no_p_value_is_refused(bad: list[float], adjust) -> None:
    with pytest.raises(InputError, match=r"p_values must lie in 0\.\.1; got"):
        adjust(bad)


def test_a_table_of_p_values_is_refused() -> None:
    with pytest.raises(InputError, match=r"holm_adjust: p_values must be a vector; got \(1, 2\)"):
        holm_adjust([[0.1, 0.2]])


def test_every_of_an_empty_family_is_refused() -> None:
    with pytest.raises(InputError, match="at_least must lie in"):
        intersection_union_p([])
