"""Crossed twins: two prompts and two answers, each answer right for one of the prompts.

A score that does not read the prompt (length, fluency) gets a half-credit A of exactly one half over
the two pairs of a twin, and ties the crossed ordering. The unit is the twin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from safetyrepro.errors import InputError, must_be
from safetyrepro.stats.intervals import Interval, wilson_interval
from safetyrepro.stats.undefined import Undefined


@dataclass(frozen=True, slots=True)
class TwinSummary:
    """How often a score tells the two prompts of a twin apart, over the twins with all four scores.

    `crossed` is the share with S(a|x1) + S(b|x2) > S(a|x2) + S(b|x1), `both_right` the share with
    S(a|x1) > S(b|x1) and S(b|x2) > S(a|x2), `same_answer` the share in which one answer, whichever,
    is preferred under both prompts. Ties count against each; `crossed_ties` says how many there were.
    """

    twins: int
    scored: int
    crossed: Interval | Undefined
    both_right: Interval | Undefined
    same_answer: Interval | Undefined
    crossed_ties: int

    @property
    def missing(self) -> int:
        return self.twins - self.scored


def twin_summary(scores: npt.ArrayLike, *, level: float = 0.95) -> TwinSummary:
    """The crossed ordering and both-right rates of twins, with Wilson intervals over twins.

    Args:
        scores: (K, 2, 2) as [twin, prompt, answer], where answer 0 is right for prompt 0 and answer 1
            for prompt 1. A twin with a NaN is not scored and counted as missing.
        level: of the intervals.

    The crossed ordering adds scores of the same answer under two prompts, so the answers' lengths and
    fluency cancel. Half-credit A over the 2K pairs is `pairwise_alignment` with the twin as cluster.

    Raises:
        InputError: another shape, infinite scores, a level outside (0, 1).
    """
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 3 or table.shape[1:] != (2, 2) or table.shape[0] == 0:
        raise InputError(must_be("twin_summary", "scores must have shape (K, 2, 2), K >= 1", table.shape))
    if np.isinf(table).any():
        raise InputError(
            must_be("twin_summary", "scores must be finite, or NaN where missing", float("inf"))
        )
    whole = table[~np.isnan(table).any(axis=(1, 2))]
    right = whole[:, 0, 0] + whole[:, 1, 1]
    wrong = whole[:, 1, 0] + whole[:, 0, 1]
    # The sign of the preference for answer 0 under each prompt: (K, 2).
    leaning = np.sign(whole[:, :, 0] - whole[:, :, 1])
    both_right = (leaning[:, 0] > 0) & (leaning[:, 1] < 0)
    same_answer = leaning[:, 0] * leaning[:, 1] > 0

    def share(hits: npt.NDArray[np.bool_]) -> Interval | Undefined:
        return wilson_interval(int(hits.sum()), len(whole), level=level)

    return TwinSummary(
        twins=len(table),
        scored=len(whole),
        crossed=share(right > wrong),
        both_right=share(both_right),
        same_answer=share(same_answer),
        crossed_ties=int((right == wrong).sum()),
    )
