"""Families of tests: adjusted p-values, and p-values of "every", "some" and "at least r".

Which family a question belongs to is decided in advance: Holm for a handful of declared claims,
Benjamini-Hochberg for exploration, the joint maximum (`max_t`) for pairs times configurations, where
Holm on resampled p-values could never reject.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safetyrepro.errors import InputError, must_be


def holm_adjust(p_values: ArrayLike) -> NDArray[np.float64]:
    """Adjusted p-values that bound the chance of any false rejection, in the order given.

    Valid under every dependence. An empty family gives an empty array.

    Raises:
        InputError: not a vector, or a value outside [0, 1] or NaN (drop what is undefined first).

    Source: Holm 1979, Scandinavian Journal of Statistics 6; checked against statsmodels `multipletests`.
    """
    p = _checked(p_values, "holm_adjust")
    n = p.size
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(n, 0, -1))
    adjusted = np.empty(n)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


def benjamini_hochberg_adjust(p_values: ArrayLike) -> NDArray[np.float64]:
    """Adjusted p-values that bound the expected share of false rejections, in the order given.

    For exploration only. Valid for independent or positively dependent tests.

    Raises:
        InputError: not a vector, or a value outside [0, 1] or NaN.

    Source: Benjamini & Hochberg 1995, JRSS B 57; checked against statsmodels `multipletests`.
    """
    p = _checked(p_values, "benjamini_hochberg_adjust")
    n = p.size
    order = np.argsort(p, kind="stable")
    steps = np.minimum.accumulate((p[order] * n / np.arange(1, n + 1))[::-1])[::-1]
    adjusted = np.empty(n)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


def intersection_union_p(p_values: ArrayLike) -> float:
    """The p-value of "the effect is there in every one": the largest, without adjustment.

    Raises:
        InputError: no value, or a value outside [0, 1] or NaN (an undefined test cannot be part of
            "every": say that it is undefined instead).

    Source: Berger 1982, Technometrics 24.
    """
    return partial_conjunction_p(p_values, at_least=np.asarray(p_values).size)


def partial_conjunction_p(p_values: ArrayLike, *, at_least: int) -> float:
    """The p-value of "the effect is there in at least r": (n - r + 1) times the r-th smallest.

    Valid under every dependence. r = 1 is Bonferroni's global test, r = n the intersection-union test.

    Raises:
        InputError: no value, a value outside [0, 1] or NaN, or r outside 1..n.

    Source: Benjamini & Heller 2008, Biometrics 64, the Bonferroni combination.
    """
    p = np.sort(_checked(p_values, "partial_conjunction_p"))
    if not 1 <= at_least <= p.size:
        raise InputError(must_be("partial_conjunction_p", f"at_least must lie in 1..{p.size}", at_least))
    return float(min(1.0, (p.size - at_least + 1) * p[at_least - 1]))


def _checked(p_values: ArrayLike, where: str) -> NDArray[np.float64]:
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1:
        raise InputError(must_be(where, "p_values must be a vector", p.shape))
    bad = ~((p >= 0) & (p <= 1))
    if bad.any():
        raise InputError(must_be(where, "p_values must lie in 0..1", float(p[bad][0])))
    return p
