"""Pairwise reference alignment: how often a score puts the chosen answer above the rejected one.

Z = 1[S(x, y+) > S(x, y-)]. Strict A = mean Z, so that a tie is a loss; half-credit A gives a tie one
half. m = 2A - 1: with half credit it is wins minus losses over pairs, Somers' d. The margin is
mean(S+ - S-), in the unit of the scores. Strict A is a proportion; half-credit A is not (its variance
per pair is A(1-A) - t/4 with t the tie rate), so it has no Wilson interval.

Source: arXiv 2605.30758 (A, m, margin, Hoeffding radius).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from safetyrepro.errors import InputError, must_be
from safetyrepro.stats.clusters import FloatArray, cluster_means
from safetyrepro.stats.estimates import Estimate, Support, estimate_means
from safetyrepro.stats.undefined import Undefined

_SUPPORTS = (Support.BINARY, Support.UNIT, Support.REAL, Support.BINARY)


@dataclass(frozen=True, slots=True)
class PairCounts:
    """The denominators: scored = wins + ties + losses, pairs = scored + missing."""

    pairs: int
    wins: int
    ties: int
    losses: int
    missing: int

    @property
    def scored(self) -> int:
        return self.wins + self.ties + self.losses


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a value would be with every missing outcome at its worst, and at its best."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Alignment:
    """One cell's alignment: its denominators and four estimates, Undefined where no pair is scored."""

    counts: PairCounts
    strict: Estimate | Undefined
    half_credit: Estimate | Undefined
    margin: Estimate | Undefined
    tie_rate: Estimate | Undefined

    @property
    def strict_m(self) -> Estimate | Undefined:
        """2 strict A - 1; its intervals, Hoeffding's too, are twice as wide."""
        return _doubled(self.strict)

    @property
    def half_credit_m(self) -> Estimate | Undefined:
        """(wins - losses) / scored, Somers' d."""
        return _doubled(self.half_credit)

    @property
    def worst_case(self) -> Bounds:
        """Half-credit A over all pairs, with every missing pair lost, and with every one won."""
        points = self.counts.wins + self.counts.ties / 2
        pairs = self.counts.pairs
        return Bounds(points / pairs, (points + self.counts.missing) / pairs)


@dataclass(frozen=True, slots=True)
class StratumAlignment:
    """The alignment inside one stratum."""

    label: str
    alignment: Alignment


@dataclass(frozen=True, slots=True)
class StratifiedAlignment:
    """Alignment per stratum, in the order of the labels, and weighted by the declared shares."""

    strata: tuple[StratumAlignment, ...]
    weighted: Alignment | Undefined


def pair_outcomes(chosen: npt.ArrayLike, rejected: npt.ArrayLike) -> FloatArray:
    """Half-credit points: 1 chosen above, 1/2 tie, 0 below, NaN where a score is missing.

    Args:
        chosen, rejected: scores of one shape; NaN is "no score".

    Raises:
        InputError: shapes that differ, an infinite score.
    """
    above, below = _scores(chosen, rejected, "pair_outcomes")
    points = np.where(above > below, 1.0, np.where(above == below, 0.5, 0.0))
    return np.where(np.isnan(above) | np.isnan(below), np.nan, points)


def pairwise_alignments(
    chosen: npt.ArrayLike,
    rejected: npt.ArrayLike,
    *,
    rng: np.random.Generator,
    clusters: npt.ArrayLike | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
) -> tuple[Alignment, ...]:
    """(C) alignments, one per cell, all from the same resamples of the clusters.

    Args:
        chosen, rejected: (C, N) scores of the two answers of N pairs in C cells; NaN is "no score": the
            pair leaves that cell's estimates and is counted as missing.
        rng: used for the resamples alone; the same generator gives the same bits in any row order.
        clusters: (N,) labels of what was sampled independently; None means the pairs were.
        level, resamples: of all intervals.

    Raises:
        InputError: shapes that do not fit, infinite scores, a level outside (0, 1), too few resamples.
    """
    above, below = _matrix(chosen, rejected, "pairwise_alignments")
    return _alignments(above, below, clusters, None, None, level, resamples, rng)


def pairwise_alignment(
    chosen: npt.ArrayLike,
    rejected: npt.ArrayLike,
    *,
    rng: np.random.Generator,
    clusters: npt.ArrayLike | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
) -> Alignment:
    """The alignment of one cell: `pairwise_alignments` for scores of shape (N,)."""
    above, below = _scores(chosen, rejected, "pairwise_alignment")
    (only,) = pairwise_alignments(
        above[None], below[None], rng=rng, clusters=clusters, level=level, resamples=resamples
    )
    return only


def stratified_alignments(
    chosen: npt.ArrayLike,
    rejected: npt.ArrayLike,
    *,
    strata: npt.ArrayLike,
    weights: Mapping[str, float] | None,
    rng: np.random.Generator,
    clusters: npt.ArrayLike | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
) -> tuple[StratifiedAlignment, ...]:
    """(C) alignments per stratum and weighted by declared shares.

    Shapes as in `pairwise_alignments`; `strata` (N,) labels, `weights` a share per label, divided by
    their sum. Without weights the weighted alignment is Undefined: no shares are invented. The strata
    are drawn first, so that declaring weights changes nothing in them.

    Raises:
        InputError: as `pairwise_alignments`, and a stratum without weight.
    """
    above, below = _matrix(chosen, rejected, "stratified_alignments")
    labels = np.asarray(strata)
    if labels.shape != above.shape[1:]:
        what = f"strata must have shape {above.shape[1:]}"
        raise InputError(must_be("stratified_alignments", what, labels.shape))
    groups = None if clusters is None else np.asarray(clusters)
    per_stratum = []
    for label in np.unique(labels):
        inside = labels == label
        own = None if groups is None else groups[inside]
        found = _alignments(above[:, inside], below[:, inside], own, None, None, level, resamples, rng)
        per_stratum.append((str(label), found))
    weighted: tuple[Alignment | Undefined, ...]
    if weights is None:
        weighted = (Undefined("no stratum weights were declared"),) * above.shape[0]
    else:
        weighted = _alignments(above, below, groups, labels, weights, level, resamples, rng)
    return tuple(
        StratifiedAlignment(tuple(StratumAlignment(name, found[c]) for name, found in per_stratum), total)
        for c, total in enumerate(weighted)
    )


def swapped_label_gap(original: PairCounts, swapped: PairCounts) -> int:
    """Pairs on which exchanging chosen and rejected did not exchange win and loss; 0 if all is well.

    An identity, not a baseline: strict A + swapped strict A + tie rate = 1. A gap is a defect of
    the scoring path (an answer scored differently by its place in the pair).
    """
    return max(
        abs(original.wins - swapped.losses),
        abs(original.losses - swapped.wins),
        abs(original.ties - swapped.ties),
        abs(original.missing - swapped.missing),
    )


def _alignments(
    above: FloatArray,
    below: FloatArray,
    clusters: npt.ArrayLike | None,
    strata: npt.ArrayLike | None,
    weights: Mapping[str, float] | None,
    level: float,
    resamples: int,
    rng: np.random.Generator,
) -> tuple[Alignment, ...]:
    points = pair_outcomes(above, below)
    missing = np.isnan(points)
    strict = np.where(missing, np.nan, points == 1.0)
    ties = np.where(missing, np.nan, points == 0.5)
    series = np.stack([strict, points, above - below, ties], axis=1)  # (C, 4, N)
    means = cluster_means(
        series.reshape(-1, series.shape[-1]),
        clusters=clusters,
        strata=strata,
        weights=weights,
        where="pairwise_alignments",
    )
    supports = _SUPPORTS * above.shape[0]
    estimates = estimate_means(means, supports, level=level, resamples=resamples, rng=rng)
    return tuple(
        Alignment(_counts(points[c]), *estimates[4 * c : 4 * c + 4]) for c in range(above.shape[0])
    )


def _counts(points: FloatArray) -> PairCounts:
    return PairCounts(
        pairs=points.size,
        wins=int(np.count_nonzero(points == 1.0)),
        ties=int(np.count_nonzero(points == 0.5)),
        losses=int(np.count_nonzero(points == 0.0)),
        missing=int(np.count_nonzero(np.isnan(points))),
    )


def _doubled(estimate: Estimate | Undefined) -> Estimate | Undefined:
    return estimate if isinstance(estimate, Undefined) else estimate.affine(2.0, -1.0)


def _scores(chosen: npt.ArrayLike, rejected: npt.ArrayLike, where: str) -> tuple[FloatArray, FloatArray]:
    above = np.asarray(chosen, dtype=np.float64)
    below = np.asarray(rejected, dtype=np.float64)
    if above.shape != below.shape:
        what = f"rejected must have the shape of chosen, {above.shape}"
        raise InputError(must_be(where, what, below.shape))
    for name, scores in (("chosen", above), ("rejected", below)):
        if np.isinf(scores).any():
            what = f"{name} scores must be finite, or NaN where missing"
            raise InputError(must_be(where, what, float("inf")))
    return above, below


def _matrix(chosen: npt.ArrayLike, rejected: npt.ArrayLike, where: str) -> tuple[FloatArray, FloatArray]:
    above, below = _scores(chosen, rejected, where)
    if above.ndim != 2 or above.size == 0:
        raise InputError(must_be(where, "scores must have shape (C, N), both at least 1", above.shape))
    return above, below
