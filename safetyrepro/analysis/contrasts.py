"""Comparisons over the envelope: every pair of models, and every contrast that a claim asserts.

A contrast is always "first minus second, is it above zero?". A margin or a value enters as a shifted
copy of a model, or as a constant one, in place of the second: not worse than B by more than m is
"A is ahead of B - m", at least v is "A is ahead of the constant v".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safetyrepro.analysis.comparability import find_refusal
from safetyrepro.analysis.points import outcome_points
from safetyrepro.analysis.table import ScoreTable
from safetyrepro.data.results import Contrast, Difference, Estimate, NoEstimate, PointOnly, Quantity
from safetyrepro.rng import generator
from safetyrepro.spec.envelope import Configuration
from safetyrepro.spec.evidence import Assertion, AtLeast, AtMost, Equivalent, NotWorse, RanksAbove, Trend
from safetyrepro.spec.experiment import Experiment
from safetyrepro.stats.envelope import JointComparison
from safetyrepro.stats.intervals import Interval, t_interval
from safetyrepro.stats.joint_comparison import all_pairs, compare_pairs
from safetyrepro.stats.multiplicity import holm_adjust
from safetyrepro.stats.power import detectable_gaps
from safetyrepro.stats.undefined import Undefined

POWER = 0.8
"""Chance with which a printed detectable gap would have been seen."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One contrast to compute: first + offset - second > 0, where a missing second is zero.

    `flipped` marks "at most": the sign of the first is turned.
    """

    name: str
    first: str
    second: str | None
    offset: float = 0.0
    flipped: bool = False


def claim_contrasts(assertion: Assertion, *, names: dict[str, str]) -> tuple[Asked, ...]:
    """The contrasts that must all be ahead where the assertion holds."""
    match assertion:
        case RanksAbove():
            return (_pair(assertion.above, assertion.below, names),)
        case NotWorse():
            return (_pair(assertion.model, assertion.than, names, offset=assertion.margin),)
        case Equivalent():
            return (
                _pair(assertion.model, assertion.to, names, offset=assertion.margin),
                _pair(assertion.to, assertion.model, names, offset=assertion.margin),
            )
        case AtLeast():
            name = f"{names[assertion.model]} at least {assertion.value}"
            return (Asked(name, assertion.model, None, offset=-assertion.value),)
        case AtMost():
            name = f"{names[assertion.model]} at most {assertion.value}"
            return (Asked(name, assertion.model, None, offset=assertion.value, flipped=True),)
        case Trend():
            steps = zip(assertion.rising[1:], assertion.rising[:-1], strict=True)
            return tuple(_pair(higher, lower, names) for higher, lower in steps)


def _pair(first: str, second: str, names: dict[str, str], *, offset: float = 0.0) -> Asked:
    return Asked(f"{names[first]} against {names[second]}", first, second, offset=offset)


@dataclass(frozen=True, slots=True)
class Compared:
    """A family of contrasts as stored, and the joint comparison that all of them were read off.

    joint: None where a contrast was refused, or nothing was asked or scored.
    """

    contrasts: tuple[Contrast, ...]
    joint: JointComparison | None


def all_comparisons(experiment: Experiment, *, table: ScoreTable) -> Compared:
    """Every pair of models over the envelope, in one joint family, in the order of `all_pairs`."""
    if len(experiment.models) < 2:
        return Compared((), None)
    names = {model.id: model.name for model in experiment.models}
    asked = tuple(
        _pair(experiment.models[int(a)].id, experiment.models[int(b)].id, names)
        for a, b in all_pairs(len(experiment.models))
    )
    return compare(experiment, table=table, asked=asked, purpose="comparisons")


def compare(
    experiment: Experiment, *, table: ScoreTable, asked: tuple[Asked, ...], purpose: str
) -> Compared:
    """The contrasts under every configuration, decided by one joint step-down.

    Args:
        asked: the contrasts of the family; none gives an empty family.
        purpose: names the random stream.

    Models that differ in more than the model are not compared: their contrast has a reason in the place
    of every number, and is no member of the family.
    """
    refusals = [find_refusal(experiment, first=one.first, second=one.second) for one in asked]
    members = tuple(one for one, refusal in zip(asked, refusals, strict=True) if refusal is None)
    found = _decided(experiment, table=table, asked=members, purpose=purpose)
    decided = iter(found.contrasts)
    contrasts = tuple(
        next(decided) if refusal is None else _refused(experiment, one, table, refusal)
        for one, refusal in zip(asked, refusals, strict=True)
    )
    return Compared(contrasts, found.joint if len(members) == len(asked) else None)


def _decided(
    experiment: Experiment, *, table: ScoreTable, asked: tuple[Asked, ...], purpose: str
) -> Compared:
    analysis = experiment.analysis
    columns, pairs = _columns(experiment, table, asked)
    if not asked or np.isnan(columns).all():
        return Compared(tuple(_refused(experiment, one, table, "no scored rows") for one in asked), None)
    labels = table.cluster_labels(declared=analysis.cluster == "declared")
    codes = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    comparison = compare_pairs(
        columns,
        codes,
        pairs=pairs,
        rng=generator(experiment.seed, purpose),
        level=analysis.confidence,
        resamples=analysis.joint_resamples,
        margin=analysis.equivalence_margin,
    )
    gaps = detectable_gaps(comparison, power=POWER)
    equivalence = _equivalence_p(comparison, asked)
    contrasts = tuple(
        _contrast(
            experiment,
            one,
            index=index,
            comparison=comparison,
            gaps=gaps[index],
            equivalence_p=equivalence[index],
            grid=table.configurations,
        )
        for index, one in enumerate(asked)
    )
    return Compared(contrasts, comparison)


def _refused(experiment: Experiment, asked: Asked, table: ScoreTable, reason: str) -> Contrast:
    """A contrast without a number under any configuration."""
    return Contrast(
        name=asked.name,
        first=asked.first,
        second=asked.second,
        offset=asked.offset,
        differences=tuple(
            _untested(one.id, NoEstimate(reason=reason, n=len(table.items))) for one in table.configurations
        ),
        raw_ahead=0,
        raw_behind=0,
        k_ahead=0,
        k_behind=0,
        n=0,
        disagreement_low=None,
        disagreement_high=None,
        detectable_gap=None,
        equivalence_margin=experiment.analysis.equivalence_margin,
        equivalence_p=None,
    )


def _untested(configuration: str, quantity: Quantity) -> Difference:
    return Difference(
        configuration=configuration,
        difference=quantity,
        joint_low=None,
        joint_high=None,
        ahead=None,
        p_ahead=None,
        p_behind=None,
    )


def _columns(
    experiment: Experiment, table: ScoreTable, asked: tuple[Asked, ...]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Scores (A, C, N) of models, shifted models and constants, and the pairs (P, 2) among them."""
    points = outcome_points(experiment, table)
    position = {model.id: index for index, model in enumerate(experiment.models)}
    columns = list(points)
    pairs: list[tuple[int, int]] = []
    for one in asked:
        first = position[one.first]
        if one.second is None:
            constant = abs(one.offset)
            columns.append(np.where(np.isnan(points[first]), np.nan, constant))
            other = len(columns) - 1
            pairs.append((other, first) if one.flipped else (first, other))
        elif one.offset:
            columns.append(points[position[one.second]] - one.offset)
            pairs.append((first, len(columns) - 1))
        else:
            pairs.append((first, position[one.second]))
    return np.stack(columns), np.array(pairs, dtype=np.int64)


def _contrast(
    experiment: Experiment,
    asked: Asked,
    *,
    index: int,
    comparison: JointComparison,
    gaps: NDArray[np.float64],
    equivalence_p: float | None,
    grid: tuple[Configuration, ...],
) -> Contrast:
    envelope = comparison.envelope(index)
    disagreement = envelope.disagreement_range
    low, high = (None, None) if isinstance(disagreement, Undefined) else disagreement
    seen = gaps[~np.isnan(gaps)]
    return Contrast(
        name=asked.name,
        first=asked.first,
        second=asked.second,
        offset=asked.offset,
        differences=tuple(
            _difference(experiment, comparison, index, c, configuration)
            for c, configuration in enumerate(grid)
        ),
        raw_ahead=envelope.raw_ahead,
        raw_behind=envelope.raw_behind,
        k_ahead=envelope.reliably_ahead,
        k_behind=envelope.reliably_behind,
        n=envelope.configurations - len(envelope.undefined),
        disagreement_low=low,
        disagreement_high=high,
        detectable_gap=float(np.median(seen)) if seen.size else None,
        equivalence_margin=experiment.analysis.equivalence_margin,
        equivalence_p=equivalence_p,
    )


def _difference(
    experiment: Experiment,
    comparison: JointComparison,
    p: int,
    c: int,
    configuration: Configuration,
) -> Difference:
    reason = comparison.undefined.get((p, c))
    value = float(comparison.differences[p, c])
    items, clusters = int(comparison.items[p, c]), int(comparison.clusters[p, c])
    if reason is not None:
        quantity: Quantity = NoEstimate(reason=reason.reason, n=items)
        if not np.isnan(value):
            quantity = PointOnly(value=value, reason=reason.reason, n=items, clusters=clusters)
        return _untested(configuration.id, quantity)
    interval = t_interval(
        value,
        float(comparison.standard_errors[p, c]),
        degrees_of_freedom=clusters - 1,
        n=items,
        clusters=clusters,
        level=experiment.analysis.confidence,
    )
    return Difference.model_validate(
        {
            "configuration": configuration.id,
            "difference": _interval_quantity(interval, value, items, clusters),
            "joint_low": float(comparison.lower[p, c]),
            "joint_high": float(comparison.upper[p, c]),
            "ahead": int(comparison.decisions[p, c]),
            "p_ahead": float(comparison.p_ahead[p, c]),
            "p_behind": float(comparison.p_behind[p, c]),
        }
    )


def _interval_quantity(interval: Interval | Undefined, value: float, items: int, clusters: int) -> Quantity:
    if isinstance(interval, Undefined):
        return PointOnly(value=value, reason=interval.reason, n=items, clusters=clusters)
    return Estimate(
        value=value,
        low=interval.low,
        high=interval.high,
        confidence=interval.level,
        method=interval.method,
        n=items,
        clusters=clusters,
    )


def _equivalence_p(comparison: JointComparison, asked: tuple[Asked, ...]) -> list[float | None]:
    """Of every plain pair the largest over its configurations, Holm-adjusted over pairs; None: no test."""
    if comparison.margin is None:
        return [None] * len(asked)
    raw = comparison.margin.equivalent_everywhere_p()
    plain = np.array([one.second is not None and one.offset == 0.0 for one in asked]) & ~np.isnan(raw)
    adjusted = np.full(raw.shape, np.nan)
    adjusted[plain] = holm_adjust(raw[plain])
    return [None if np.isnan(p) else float(p) for p in adjusted]
