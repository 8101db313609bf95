"""Every pair of models over the envelope: decisions, families of tests, reversals, power."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safetyrepro.analysis.rank_input import Envelope
from safetyrepro.data.quantities import NoEstimate
from safetyrepro.data.rank_pair import (
    EnvelopeTests,
    FactorChange,
    FactorSummary,
    PairPower,
    RankedPair,
    ReversingSet,
    SmallestReversal,
)
from safetyrepro.stats.configurations import factor_reversals, smallest_reversal, weighted_counts
from safetyrepro.stats.envelope import JointComparison, PairEnvelope
from safetyrepro.stats.multiplicity import holm_adjust
from safetyrepro.stats.power import detectable_gaps, items_needed, paired_spread
from safetyrepro.stats.undefined import Undefined

POWER = 0.8
"""Chance with which a printed gap would have been seen, or is to be seen."""

_SIGNS = {1: "+", -1: "-", 0: "0"}


@dataclass(frozen=True, slots=True)
class PairSettings:
    """What all pairs of a study share.

    points: (M, C, N) larger is better; None where only counts are known.
    surviving: (P,) configurations whose decision survives missing outcomes; None where not computed.
    with_differences: whether the numbers of every configuration are stored with the pair.
    """

    models: tuple[str, ...]
    envelope: Envelope
    points: NDArray[np.float64] | None
    surviving: NDArray[np.int64] | None
    with_differences: bool


def study_pairs(comparison: JointComparison, settings: PairSettings) -> tuple[RankedPair, ...]:
    """One entry a pair of the comparison, in its order."""
    gaps = detectable_gaps(comparison, power=POWER)
    equivalence = _equivalence_p(comparison)
    return tuple(
        _pair(
            comparison.envelope(p),
            comparison,
            gaps=gaps[p],
            equivalence_p=equivalence[p],
            surviving=None if settings.surviving is None else int(settings.surviving[p]),
            settings=settings,
        )
        for p in range(comparison.pairs.shape[0])
    )


def summarise_factors(pairs: Sequence[RankedPair], *, envelope: Envelope) -> tuple[FactorSummary, ...]:
    """What changing each varied factor alone does, over all pairs, in the order of the factors."""
    found = []
    for place, f in enumerate(envelope.varied):
        changes = [pair.factors[place] for pair in pairs]
        found.append(
            FactorSummary(
                factor=envelope.factors[f],
                matched=sum(change.matched for change in changes),
                decided=sum(change.decided for change in changes),
                reversed_=sum(change.reversed_ for change in changes),
                pairs=sum(change.reversed_ > 0 for change in changes),
            )
        )
    return tuple(found)


def _pair(
    pair: PairEnvelope,
    comparison: JointComparison,
    *,
    gaps: NDArray[np.float64],
    equivalence_p: float | None,
    surviving: int | None,
    settings: PairSettings,
) -> RankedPair:
    envelope = settings.envelope
    signs = np.asarray(pair.decisions)
    decided = "".join("." if c in pair.undefined else _SIGNS[sign] for c, sign in enumerate(signs.tolist()))
    disagreement = pair.disagreement_range
    low, high = (None, None) if isinstance(disagreement, Undefined) else disagreement
    weighted = weighted_counts(signs, envelope.weights)
    reversal = pair.reversal_p()
    seen = gaps[~np.isnan(gaps)]
    tail = (1.0 - comparison.level) / 2.0
    stored = settings.with_differences
    return RankedPair(
        first=settings.models[pair.first],
        second=settings.models[pair.second],
        decided=decided,
        reasons=tuple(dict.fromkeys(why.reason for _, why in sorted(pair.undefined.items()))),
        raw_ahead=pair.raw_ahead,
        raw_behind=pair.raw_behind,
        k_ahead=pair.reliably_ahead,
        k_behind=pair.reliably_behind,
        n=pair.configurations - len(pair.undefined),
        weight_ahead=weighted.ahead,
        weight_behind=weighted.behind,
        disagreement_low=low,
        disagreement_high=high,
        ahead=_tests(pair.p_ahead, pair.some_ahead_p, tail=tail),
        behind=_tests(pair.p_behind, pair.some_behind_p, tail=tail),
        reversal_p=None if isinstance(reversal, Undefined) else reversal,
        equivalence_p=equivalence_p,
        detectable_gap=float(np.median(seen)) if seen.size else None,
        power=_power(pair, comparison, settings),
        factors=_factors(signs, envelope),
        smallest=_smallest(signs, envelope),
        surviving=surviving,
        differences=_listed(pair.differences) if stored else None,
        low=_listed(pair.lower) if stored else None,
        high=_listed(pair.upper) if stored else None,
    )


def _listed(values: NDArray[np.float64]) -> tuple[float | None, ...]:
    return tuple(None if value != value else value for value in values.tolist())


def _tests(p: NDArray[np.float64], some: float | Undefined, *, tail: float) -> EnvelopeTests:
    """The three families; the partial conjunction of Benjamini and Heller for every r at once."""
    conservative = np.sort(np.where(np.isnan(p), 1.0, p))
    counts = np.arange(1, conservative.size + 1)
    holding = counts[(conservative.size - counts + 1) * conservative <= tail + 1e-12]
    return EnvelopeTests(
        every=None if np.isnan(p).any() else float(p.max()),
        some=None if isinstance(some, Undefined) else some,
        at_least=int(holding.max()) if holding.size else 0,
    )


def _equivalence_p(comparison: JointComparison) -> list[float | None]:
    """(P,) of "within the margin in every configuration", Holm-adjusted over the pairs; None without."""
    if comparison.margin is None:
        return [None] * comparison.pairs.shape[0]
    raw = comparison.margin.equivalent_everywhere_p()
    known = ~np.isnan(raw)
    adjusted = np.full(raw.shape, np.nan)
    adjusted[known] = holm_adjust(raw[known])
    return [None if p != p else p for p in adjusted.tolist()]


def _factors(signs: NDArray[np.int8], envelope: Envelope) -> tuple[FactorChange, ...]:
    changes = factor_reversals(envelope.codes, signs)
    return tuple(
        FactorChange(
            factor=envelope.factors[f],
            matched=changes[f].matched,
            decided=changes[f].decided,
            reversed_=changes[f].reversed,
        )
        for f in envelope.varied
    )


def _smallest(signs: NDArray[np.int8], envelope: Envelope) -> SmallestReversal | NoEstimate:
    found = smallest_reversal(envelope.codes, signs)
    if isinstance(found, Undefined):
        return NoEstimate(reason=found.reason, n=envelope.size)
    ahead, behind = found.example
    return SmallestReversal(
        sets=tuple(
            ReversingSet(factors=tuple(envelope.factors[f] for f in factors), times=times)
            for factors, times in found.sets
        ),
        ahead_in=envelope.ids[ahead],
        behind_in=envelope.ids[behind],
    )


def _power(
    pair: PairEnvelope, comparison: JointComparison, settings: PairSettings
) -> PairPower | NoEstimate:
    """From the configuration with the median standard error, for a gap as large as the mean estimate."""
    n, points = pair.configurations, settings.points
    if points is None:
        return NoEstimate(reason="counts say nothing about how items vary together", n=n)
    errors = np.asarray(pair.standard_errors)
    usable = np.flatnonzero(errors > 0)
    if not usable.size:
        return NoEstimate(reason="the difference has no spread in any configuration", n=n)
    gap = float(abs(np.mean(pair.differences[usable])))
    if gap == 0.0:
        return NoEstimate(reason="the mean estimate over the envelope is no difference at all", n=n)
    middle = int(usable[np.argsort(errors[usable], kind="stable")[(usable.size - 1) // 2]])
    first, second = points[pair.first, middle], points[pair.second, middle]
    order = np.lexsort((second, first))  # so that not even the last bit depends on the order of items
    spread = paired_spread(first[order], second[order])
    if isinstance(spread, Undefined):
        return NoEstimate(reason=spread.reason, n=n)
    if not spread.difference > 0:
        return NoEstimate(reason="the difference has no spread over items", n=n)
    inflation = float(errors[middle]) ** 2 * spread.items / spread.difference**2
    return PairPower(
        configuration=settings.envelope.ids[middle],
        difference_spread=spread.difference,
        correlation=None if isinstance(spread.correlation, Undefined) else spread.correlation,
        design_effect=inflation,
        items_needed=items_needed(
            gap,
            spread=spread.difference,
            power=POWER,
            level=comparison.level,
            comparisons=comparison.differences.size,
            design_effect=inflation,
        ),
        gap=gap,
    )
