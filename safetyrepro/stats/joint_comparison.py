"""Which model is reliably ahead where: declared pairs under every configuration, decided jointly."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy import special

from safetyrepro.errors import InputError, must_be
from safetyrepro.stats.envelope import JointComparison, MarginTests, Method
from safetyrepro.stats.joint import MIN_CLUSTERS, check_resampling, cluster_scores
from safetyrepro.stats.max_t import MaxT
from safetyrepro.stats.pair_columns import (
    STUDENTISED_BELOW,
    ColumnEstimates,
    estimate_columns,
    resample_statistics,
)
from safetyrepro.stats.undefined import Undefined


def compare_pairs(
    scores: NDArray[np.float64],
    clusters: NDArray[np.int64],
    *,
    pairs: NDArray[np.int64],
    rng: np.random.Generator,
    level: float = 0.95,
    resamples: int = 2000,
    margin: float | None = None,
) -> JointComparison:
    """Who is reliably ahead of whom under which configuration, by joint resampling of item clusters.

    Args:
        scores: (M, C, N), larger is better; NaN is a missing outcome. A pair is compared on the items
            that both have.
        clusters: (N,) integer codes of the independent units; a code travels with its item.
        pairs: (P, 2) indices of models: first, second.
        rng: consumed; give each use its own.
        level: joint two-sided level over pairs and configurations.
        margin: also test every cell against this margin (non-inferiority, equivalence).

    Bootstrap-t below 200 clusters; from there on the full sample's standard error, with Student's tails at
    one degree of freedom less than the cell's clusters (without them coverage was .93 to .94 at 250
    clusters). `critical_value` is that of the cells with most clusters. A cell has no test,
    and stands in `undefined`, where fewer than 5 clusters have both scores or the difference is the same
    for every item.

    Raises:
        InputError: shapes that do not fit, a model index outside 0..M-1, a pair of a model with itself, no
            pair, a margin that is not positive, a level outside (0, 1), too few resamples.

    Source: Romano & Wolf 2005 (joint step-down); decisions and thresholds as in this project's
    measurement notes; errors checked against statsmodels, coverage in benchmarks/ranks_simulation.py.
    """
    check_resampling(level=level, resamples=resamples)
    data = cluster_scores(scores, clusters)
    declared = checked_pairs(pairs, models=data.values.shape[0])
    check_margin(margin)
    estimates = estimate_columns(data, declared)
    undefined = _undefined_cells(estimates)
    usable = np.ones(estimates.differences.shape, dtype=bool)
    for cell in undefined:
        usable[cell] = False
    studentised = data.clusters < STUDENTISED_BELOW
    tally = CellTally(
        estimates.differences,
        estimates.standard_errors,
        usable=usable,
        margin=margin,
        clusters=None if studentised else estimates.clusters,
    )
    if usable.any():
        blocks = resample_statistics(data, declared, estimates=estimates, rng=rng, resamples=resamples)
        for block in blocks:
            tally.add(block)
    method: Method = "bootstrap-t" if studentised else "fixed-standard-error"
    return tally.comparison(
        declared, estimates, undefined=undefined, level=level, resamples=resamples, method=method
    )


class CellTally:
    """Counts, over blocks of resampled statistics, how often each observed one is reached.

    `clusters` (P, C) is given when resampled statistics have the full sample's standard error: they then
    lack the spread that an estimated error adds, so the observed ones are first put on their scale.
    """

    def __init__(
        self,
        differences: NDArray[np.float64],
        standard_errors: NDArray[np.float64],
        *,
        usable: NDArray[np.bool_],
        margin: float | None,
        clusters: NDArray[np.int64] | None = None,
    ) -> None:
        self._usable = usable
        self._clusters = clusters
        t = np.where(usable, differences / np.where(usable, standard_errors, 1.0), np.nan)
        self._t = self._on_resampled_scale(t)
        self._joint = MaxT(self._t[usable]) if usable.any() else None
        shape = usable.shape
        self._ahead = np.zeros(shape, dtype=np.int64)
        self._behind = np.zeros(shape, dtype=np.int64)
        self._some_ahead = np.zeros(shape[0], dtype=np.int64)
        self._some_behind = np.zeros(shape[0], dtype=np.int64)
        self._any: NDArray[np.bool_] = np.asarray(usable.any(axis=1))
        self._best = np.where(usable, self._t, -np.inf).max(axis=1)
        self._worst = np.where(usable, self._t, np.inf).min(axis=1)
        self._margin = margin
        shift = np.where(usable, (margin or 0.0) / np.where(usable, standard_errors, 1.0), np.nan)
        self._above = self._on_resampled_scale(t + shift)
        self._below = self._on_resampled_scale(t - shift)
        self._not_worse = np.zeros(shape, dtype=np.int64)
        self._not_better = np.zeros(shape, dtype=np.int64)

    def add(self, block: NDArray[np.float64]) -> None:
        """Add statistics (s, P, C), each centred at its estimate; what is not usable is ignored."""
        if self._joint is None:
            return
        self._joint.add(block[:, self._usable])
        self._ahead += (block >= self._t).sum(axis=0)
        self._behind += (block <= self._t).sum(axis=0)
        whole = self._usable.all()
        high = block if whole else np.where(self._usable, block, -np.inf)
        low = block if whole else np.where(self._usable, block, np.inf)
        self._some_ahead += (high.max(axis=2) >= self._best).sum(axis=0)
        self._some_behind += (low.min(axis=2) <= self._worst).sum(axis=0)
        if self._margin is not None:
            self._not_worse += (block >= self._above).sum(axis=0)
            self._not_better += (block <= self._below).sum(axis=0)

    def comparison(
        self,
        pairs: NDArray[np.int64],
        estimates: ColumnEstimates,
        *,
        undefined: Mapping[tuple[int, int], Undefined],
        level: float,
        resamples: int,
        method: Method,
    ) -> JointComparison:
        """What the counts say at this level."""
        usable, errors = self._usable, estimates.standard_errors
        decisions = np.zeros(usable.shape, dtype=np.int8)
        adjusted = np.full(usable.shape, np.nan)
        critical: float | Undefined = Undefined("no pair has a test under any configuration")
        reach = np.full(usable.shape, np.nan)
        if self._joint is not None:
            joint = self._joint.result(level=level)
            decisions[usable] = joint.decisions
            adjusted[usable] = joint.adjusted_p
            critical_values = self._on_observed_scale(joint.critical_value)
            critical = float(critical_values[usable].min())
            reach[usable] = (critical_values * errors)[usable]

        def p_value(counts: NDArray[np.int64], where: NDArray[np.bool_]) -> NDArray[np.float64]:
            return np.where(where, (1.0 + counts) / (1.0 + resamples), np.nan)

        tests = None
        if self._margin is not None:
            tests = MarginTests(
                margin=self._margin,
                not_worse_p=p_value(self._not_worse, usable),
                not_better_p=p_value(self._not_better, usable),
            )
        return JointComparison(
            pairs=pairs,
            differences=estimates.differences,
            standard_errors=errors,
            lower=estimates.differences - reach,
            upper=estimates.differences + reach,
            decisions=decisions,
            adjusted_p=adjusted,
            p_ahead=p_value(self._ahead, usable),
            p_behind=p_value(self._behind, usable),
            some_ahead_p=p_value(self._some_ahead, self._any),
            some_behind_p=p_value(self._some_behind, self._any),
            items=estimates.items,
            clusters=estimates.clusters,
            critical_value=critical,
            level=level,
            resamples=resamples,
            method=method,
            margin=tests,
            undefined=undefined,
        )

    def _on_resampled_scale(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """t with Student's tails to a statistic of a resample with fixed error: normal, slightly narrow."""
        if self._clusters is None:
            return t
        k = np.maximum(self._clusters, 2).astype(np.float64)
        normal = -special.ndtri(special.stdtr(k - 1, -np.abs(t)))
        return np.asarray(np.copysign(normal * np.sqrt((k - 1) / k), t))

    def _on_observed_scale(self, value: float) -> NDArray[np.float64]:
        """(P, C) the inverse, for a critical value: that of each cell."""
        if self._clusters is None:
            return np.full(self._usable.shape, value)
        k = np.maximum(self._clusters, 2).astype(np.float64)
        return np.asarray(-special.stdtrit(k - 1, special.ndtr(-value * np.sqrt(k / (k - 1)))))


def all_pairs(models: int) -> NDArray[np.int64]:
    """(M(M-1)/2, 2): every pair of models once, the smaller index first."""
    return np.stack(np.triu_indices(models, k=1), axis=1).astype(np.int64)


def checked_pairs(pairs: NDArray[np.int64], *, models: int) -> NDArray[np.int64]:
    """The pairs as int64 (P, 2), P >= 1, of two different models each.

    Raises:
        InputError: otherwise.
    """
    array = np.asarray(pairs)
    if array.ndim != 2 or array.shape[1] != 2 or array.shape[0] == 0:
        raise InputError(must_be("pairs", "must have the shape (pairs, 2), at least one pair", array.shape))
    if not np.issubdtype(array.dtype, np.integer):
        raise InputError(must_be("pairs", "must be integer indices of models", str(array.dtype)))
    if array.min() < 0 or array.max() >= models:
        raise InputError(must_be("pairs", f"model indices must lie in 0..{models - 1}", array.tolist()))
    same = array[:, 0] == array[:, 1]
    if same.any():
        raise InputError(must_be("pairs", "must be of two different models", array[same][0].tolist()))
    return array.astype(np.int64)


def check_margin(margin: float | None) -> None:
    """Refuse a margin that is not a positive number.

    Raises:
        InputError: such a margin.
    """
    if margin is not None and not 0.0 < margin < np.inf:
        raise InputError(must_be("margin", "must be a positive number", margin))


def _undefined_cells(estimates: ColumnEstimates) -> dict[tuple[int, int], Undefined]:
    reasons: dict[tuple[int, int], Undefined] = {}
    few = estimates.clusters < MIN_CLUSTERS
    flat = ~few & ~(estimates.standard_errors > 0)
    for p, c in np.argwhere(few | flat).tolist():
        count = int(estimates.clusters[p, c])
        difference = float(estimates.differences[p, c])
        if few[p, c]:
            why = f"at least {MIN_CLUSTERS} clusters must have both scores; {count} have"
        elif difference == 0.0:
            why = f"the two agree in each of the {count} clusters, so their difference has no spread"
        else:
            why = f"the difference is {difference:.6g} in each of the {count} clusters, so it has no spread"
        reasons[(p, c)] = Undefined(why)
    return reasons
