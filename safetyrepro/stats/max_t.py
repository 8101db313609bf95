"""Step-down maximum test over many effects at once, in both directions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class MaxTResult:
    """What a family of m effects says at one level.

    critical_value: single-step, for simultaneous bounds: estimate +- critical_value * standard error.
    adjusted_p: (m,) step-down, for the direction in which the estimate points.
    decisions: (m,) +1 reliably above zero, -1 reliably below, 0 undecided.
    """

    critical_value: float
    adjusted_p: NDArray[np.float64]
    decisions: NDArray[np.int8]


class MaxT:
    """Collects blocks of resampled statistics and decides which effects have which sign.

    The family is the 2m one-sided hypotheses "effect i is not above zero" and "effect i is not below
    zero"; the chance of any false rejection among them, hence of any wrong sign and any sign for a null
    effect, is at most 1 - level. Stepping down removes only rejected hypotheses: the opposite of a
    rejected one stays in, since it is true and its statistic may still be the maximum. (Dropping it
    would save little and lose the control of signs.) Whatever the single-step bound decides, the
    step-down decides too.

    Args:
        statistics: (m,) observed t = estimate / standard error, finite, m >= 1.

    Source: Romano & Wolf 2005, Econometrica 73 (step-down, resampled maxima); p-values as in
    Phipson & Smyth 2010, (1 + exceedances) / (1 + resamples).
    """

    def __init__(self, statistics: NDArray[np.float64]) -> None:
        magnitude = np.abs(statistics)
        self._order = np.argsort(-magnitude, kind="stable")
        self._signs = np.where(statistics < 0, -1.0, 1.0)[self._order]
        self._thresholds = magnitude[self._order]
        self._exceedances = np.zeros(statistics.size, dtype=np.int64)
        self._maxima: list[NDArray[np.float64]] = []

    def add(self, block: NDArray[np.float64]) -> None:
        """Add resampled statistics (s, m), each centred at the estimate it resamples."""
        signed = block[:, self._order]
        signed *= self._signs
        opposite = -signed.min(axis=1)
        remaining = np.maximum.accumulate(signed[:, ::-1], axis=1)[:, ::-1]
        largest = np.maximum(remaining, opposite[:, None])
        self._exceedances += (largest >= self._thresholds).sum(axis=0)
        self._maxima.append(largest[:, 0].copy())

    def result(self, *, level: float) -> MaxTResult:
        """The critical value, the adjusted p-values and the decisions at this joint level."""
        maxima = np.sort(np.concatenate(self._maxima))
        resamples = maxima.size
        rank = min(resamples, math.ceil((resamples + 1) * level - 1e-9))
        steps = np.maximum.accumulate((1.0 + self._exceedances) / (1.0 + resamples))
        adjusted = np.empty(steps.size)
        adjusted[self._order] = steps
        signs = np.empty(steps.size)
        signs[self._order] = self._signs
        rejected = adjusted <= 1.0 - level + 1e-12
        return MaxTResult(
            critical_value=float(maxima[rank - 1]),
            adjusted_p=adjusted,
            decisions=np.where(rejected, signs, 0.0).astype(np.int8),
        )
