"""Models compared from counts alone: successes out of trials, no pairing of items possible.

Published tables often give no more. The same items were usually asked of all models, so the true
paired errors are smaller; what is decided here would be decided there, not the other way round.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from safetyrepro.errors import InputError, must_be
from safetyrepro.stats.envelope import JointComparison
from safetyrepro.stats.joint import block_size, check_resampling
from safetyrepro.stats.joint_comparison import CellTally, check_margin, checked_pairs
from safetyrepro.stats.pair_columns import ColumnEstimates
from safetyrepro.stats.undefined import Undefined


def compare_counts(
    successes: NDArray[np.int64],
    trials: NDArray[np.int64],
    *,
    pairs: NDArray[np.int64],
    rng: np.random.Generator,
    level: float = 0.95,
    resamples: int = 10_000,
    margin: float | None = None,
) -> JointComparison:
    """Who is reliably ahead of whom where, from counts (M, C): unpaired, all cells independent.

    The test statistic and the simultaneous bounds use Agresti and Caffo's difference and standard error
    (one success and one failure added to each cell), which hold their level down to small counts and
    have a spread at 0 and at n successes; `differences` are those of the plain proportions. The joint
    maximum is simulated from independent normal cells, so pairs that share a model are correlated as
    they should be.

    Args:
        successes, trials: (M, C) whole numbers, 0 <= successes <= trials.
        pairs: (P, 2) indices of models. rng: consumed.
        resamples: simulated maxima.
        margin: also test every cell against this margin.

    In the result, `method` is "unpaired-normal", `items` the trials of both cells, and `clusters` the
    same (each trial stands for itself). A cell without trials is `undefined`.

    Raises:
        InputError: shapes that do not fit, counts that are not whole or out of range, and as in
            `compare_pairs`.

    Source: Agresti & Caffo 2000, The American Statistician 54; checked against statsmodels
    `confint_proportions_2indep(method="agresti-caffo")`.
    """
    check_resampling(level=level, resamples=resamples)
    check_margin(margin)
    won, asked = _checked_counts(successes, trials)
    declared = checked_pairs(pairs, models=won.shape[0])
    one, two = declared[:, 0], declared[:, 1]
    known = (asked[one] > 0) & (asked[two] > 0)
    share = (won + 1.0) / (asked + 2.0)
    variance = share * (1.0 - share) / (asked + 2.0)
    errors = np.sqrt(variance[one] + variance[two])
    total = asked[one] + asked[two]
    estimates = ColumnEstimates(
        differences=np.where(known, share[one] - share[two], np.nan),
        standard_errors=np.where(known, errors, np.nan),
        items=total,
        clusters=total,
    )
    tally = CellTally(estimates.differences, estimates.standard_errors, usable=known, margin=margin)
    spread = np.sqrt(variance)
    block = block_size(declared.shape[0] * won.shape[1])
    for first in range(0, resamples if known.any() else 0, block):
        rows = min(block, resamples - first)
        cells = rng.standard_normal((rows, *won.shape)) * spread
        tally.add((cells[:, one] - cells[:, two]) / errors)
    result = tally.comparison(
        declared,
        estimates,
        undefined=_without_trials(known),
        level=level,
        resamples=resamples,
        method="unpaired-normal",
    )
    plain = np.divide(won, asked, out=np.full(won.shape, np.nan), where=asked > 0)
    return replace(result, differences=plain[one] - plain[two])


def _checked_counts(
    successes: NDArray[np.int64], trials: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    won, asked = np.asarray(successes), np.asarray(trials)
    if won.ndim != 2 or 0 in won.shape or won.shape != asked.shape:
        rule = "must both have the shape (models, configurations)"
        raise InputError(must_be("successes, trials", rule, (won.shape, asked.shape)))
    for name, counts in (("successes", won), ("trials", asked)):
        if not np.issubdtype(counts.dtype, np.integer):
            raise InputError(must_be(name, "must be whole numbers", str(counts.dtype)))
    wrong = (won < 0) | (won > asked)
    if wrong.any():
        m, c = np.argwhere(wrong)[0].tolist()
        rule = f"must lie in 0..trials = {asked[m, c]}"
        raise InputError(must_be(f"successes[{m}, {c}]", rule, int(won[m, c])))
    return won.astype(np.int64), asked.astype(np.int64)


def _without_trials(known: NDArray[np.bool_]) -> Mapping[tuple[int, int], Undefined]:
    why = Undefined("one of the two models has no trials here")
    return dict.fromkeys([(p, c) for p, c in np.argwhere(~known).tolist()], why)
