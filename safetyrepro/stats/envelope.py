"""What an envelope of configurations says about a pair of models: the results, and what follows.

Signs of estimates are description only: a truly tied pair shows both signs in most envelopes. The
decisions come from simultaneous bounds over all declared pairs times all configurations; they are made
in `joint_comparison` (item scores) and `counts_table` (counts only).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from safetyrepro.errors import InputError, must_be
from safetyrepro.stats.multiplicity import intersection_union_p, partial_conjunction_p
from safetyrepro.stats.undefined import Undefined

Method: TypeAlias = Literal["bootstrap-t", "fixed-standard-error", "unpaired-normal"]


@dataclass(frozen=True, slots=True)
class PairEnvelope:
    """One pair over the n configurations of an envelope. Positive means that the first is ahead.

    Per configuration, (C,): `differences`, `standard_errors`, simultaneous bounds `lower` and `upper`,
    step-down `decisions` (+1 reliably ahead, -1 reliably behind, 0 undecided) with `adjusted_p`, and the
    unadjusted one-sided `p_ahead` and `p_behind`. NaN where `undefined` holds a reason.
    `some_ahead_p`, `some_behind_p`: one-sided max-T over the configurations of this pair alone.
    """

    first: int
    second: int
    differences: NDArray[np.float64]
    standard_errors: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    decisions: NDArray[np.int8]
    adjusted_p: NDArray[np.float64]
    p_ahead: NDArray[np.float64]
    p_behind: NDArray[np.float64]
    some_ahead_p: float | Undefined
    some_behind_p: float | Undefined
    undefined: Mapping[int, Undefined]

    @property
    def configurations(self) -> int:
        """n: all configurations of the envelope, undefined ones too."""
        return int(self.differences.size)

    @property
    def raw_ahead(self) -> int:
        """Configurations in which the estimate is above zero. Description, not evidence."""
        return int((self.differences > 0).sum())

    @property
    def raw_behind(self) -> int:
        """Configurations in which the estimate is below zero. Description, not evidence."""
        return int((self.differences < 0).sum())

    @property
    def raw_tied(self) -> int:
        """Configurations in which the estimate is exactly zero."""
        return int((self.differences == 0).sum())

    @property
    def reliably_ahead(self) -> int:
        """k+: configurations in which the first is reliably ahead."""
        return int((self.decisions > 0).sum())

    @property
    def reliably_behind(self) -> int:
        """k-: configurations in which the first is reliably behind."""
        return int((self.decisions < 0).sum())

    @property
    def undecided(self) -> int:
        """n - k+ - k-."""
        return self.configurations - self.reliably_ahead - self.reliably_behind

    @property
    def true_ahead_range(self) -> tuple[int, int]:
        """[k+, n - k-]: holds the number of configurations in which the first is truly ahead."""
        return self.reliably_ahead, self.configurations - self.reliably_behind

    @property
    def disagreement_range(self) -> tuple[float, float] | Undefined:
        """The least and largest D = ahead x behind / C(n,2) over `true_ahead_range`.

        D is the share of pairs of configurations that order the two models differently; a true
        difference is taken not to be exactly zero, so behind = n - ahead. Undefined for n = 1.
        """
        return disagreement_range(self.true_ahead_range, configurations=self.configurations)

    def reversal_p(self) -> float | Undefined:
        """The p-value of "ahead in some configuration and behind in another".

        The larger of the two one-sided max-T p-values: an intersection of two unions, at most its level
        also where one effect is real and all others are nought. For one pair declared in advance; Holm
        over several.
        """
        if isinstance(self.some_ahead_p, Undefined):
            return self.some_ahead_p
        if isinstance(self.some_behind_p, Undefined):
            return self.some_behind_p
        return max(self.some_ahead_p, self.some_behind_p)

    def every_ahead_p(self) -> float | Undefined:
        """The p-value of "ahead in every configuration": the largest, without adjustment."""
        if self.undefined:
            place, why = min(self.undefined.items())
            return Undefined(f"configuration {place}: {why.reason}")
        return intersection_union_p(self.p_ahead)

    def at_least_ahead_p(self, count: int) -> float:
        """The p-value of "ahead in at least `count` configurations"; an undefined one counts as p = 1.

        Raises:
            InputError: count outside 1..n.
        """
        return partial_conjunction_p(np.where(np.isnan(self.p_ahead), 1.0, self.p_ahead), at_least=count)


@dataclass(frozen=True, slots=True)
class MarginTests:
    """One-sided tests of every pair and configuration against a margin m > 0, unadjusted, (P, C).

    not_worse_p: of "the first is not worse by more than m" (difference > -m).
    not_better_p: of "the first is not better by more than m" (difference < m).
    NaN where undefined.
    """

    margin: float
    not_worse_p: NDArray[np.float64]
    not_better_p: NDArray[np.float64]

    @property
    def equivalence_p(self) -> NDArray[np.float64]:
        """(P, C) two one-sided tests: the larger of the two. Source: Schuirmann 1987."""
        return np.maximum(self.not_worse_p, self.not_better_p)

    def equivalent_everywhere_p(self) -> NDArray[np.float64]:
        """(P,) the p-value of "within m in all n configurations": the largest; NaN if one is undefined.

        No adjustment over configurations (intersection-union). Holm over several declared pairs.
        """
        return np.asarray(self.equivalence_p.max(axis=1), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class JointComparison:
    """P pairs under C configurations, decided together; arrays are (P, C), signs as in `PairEnvelope`.

    The family is every pair times every configuration times both directions: the chance of any wrong
    "reliably ahead" or "reliably behind" among them is at most 1 - level. `lower` and `upper` are the
    simultaneous single-step bounds for printing; the step-down `decisions` decide at least as much.
    `some_ahead_p` and `some_behind_p` (P,) have one pair and one direction as their family.
    `undefined` names the cells (pair, configuration) without a test; they are undecided and stay in n.
    """

    pairs: NDArray[np.int64]
    differences: NDArray[np.float64]
    standard_errors: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    decisions: NDArray[np.int8]
    adjusted_p: NDArray[np.float64]
    p_ahead: NDArray[np.float64]
    p_behind: NDArray[np.float64]
    some_ahead_p: NDArray[np.float64]
    some_behind_p: NDArray[np.float64]
    items: NDArray[np.int64]
    clusters: NDArray[np.int64]
    critical_value: float | Undefined
    level: float
    resamples: int
    method: Method
    margin: MarginTests | None
    undefined: Mapping[tuple[int, int], Undefined]

    def envelope(self, pair: int) -> PairEnvelope:
        """Everything about pair number `pair` (its row in `pairs`)."""
        reasons = {c: why for (p, c), why in self.undefined.items() if p == pair}
        return PairEnvelope(
            first=int(self.pairs[pair, 0]),
            second=int(self.pairs[pair, 1]),
            differences=self.differences[pair],
            standard_errors=self.standard_errors[pair],
            lower=self.lower[pair],
            upper=self.upper[pair],
            decisions=self.decisions[pair],
            adjusted_p=self.adjusted_p[pair],
            p_ahead=self.p_ahead[pair],
            p_behind=self.p_behind[pair],
            some_ahead_p=_defined(self.some_ahead_p[pair], reasons),
            some_behind_p=_defined(self.some_behind_p[pair], reasons),
            undefined=reasons,
        )


def disagreement_range(ahead: tuple[int, int], *, configurations: int) -> tuple[float, float] | Undefined:
    """The least and largest D = x (n - x) / C(n,2) for x between the two counts in `ahead`.

    Undefined for n < 2. At most n / (2(n - 1)), which x = n/2 reaches.

    Raises:
        InputError: counts that are not 0 <= low <= high <= n.
    """
    low, high = ahead
    if not 0 <= low <= high <= configurations:
        raise InputError(must_be("disagreement_range", f"counts must lie in 0..{configurations}", ahead))
    if configurations < 2:
        return Undefined("disagreement needs at least 2 configurations; there is one")
    counts = np.arange(low, high + 1)
    values = counts * (configurations - counts) / (configurations * (configurations - 1) / 2)
    return float(values.min()), float(values.max())


def _defined(p_value: float, reasons: Mapping[int, Undefined]) -> float | Undefined:
    if np.isnan(p_value):
        return min(reasons.items())[1]
    return float(p_value)
