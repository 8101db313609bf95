"""What noise alone does to a ranking, where the spread comes from, how little would change the top."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from safetyrepro.analysis.rank_input import Envelope, Oriented
from safetyrepro.data.quantities import NoEstimate
from safetyrepro.data.rank_study import (
    Correlations,
    Floored,
    LabelSwapTest,
    Noise,
    Removals,
    RepeatRuns,
    ShareOfSquares,
    SumsOfSquares,
    Value,
)
from safetyrepro.rng import generator
from safetyrepro.stats.configurations import effective_configurations
from safetyrepro.stats.joint import cell_means
from safetyrepro.stats.noise_floor import (
    SplitHalfAgreement,
    label_swap_test,
    repeat_run_floor,
    split_half_floor,
)
from safetyrepro.stats.rank_agreement import RankAgreement, rank_agreement
from safetyrepro.stats.sensitivity import fewest_removals
from safetyrepro.stats.undefined import Undefined
from safetyrepro.stats.variance import MAX_FACTORS, Share, variance_shares

_T = TypeVar("_T")

SPLITS = 200
SWAPS = 499
SHARE_RESAMPLES = 1000


@dataclass(frozen=True, slots=True)
class NoiseInput:
    """What is asked about noise: the turned scores and their clusters, the envelope, seed and first places.

    runs: (R, M, C, N) turned scores of repeated runs, where there are any.
    """

    scores: Oriented
    clusters: NDArray[np.int64]
    runs: NDArray[np.float64] | None
    envelope: Envelope
    seed: int
    top: int
    confidence: float


def study_noise(given: NoiseInput) -> Noise:
    """Agreement between configurations beside its floors."""
    n = given.envelope.size
    halves = _one_direction(
        given,
        lambda: split_half_floor(
            given.scores.points,
            given.clusters,
            rng=generator(given.seed, "split-halves"),
            splits=SPLITS,
            top_k=given.top if given.top < given.scores.points.shape[0] else None,
        ),
    )
    why = halves if isinstance(halves, Undefined) else None
    tau, rho, overlap = (
        (why, why, why) if isinstance(halves, Undefined) else (halves.tau, halves.rho, halves.overlap)
    )
    return Noise(
        correlations=_correlations(rank_agreement(given.scores.goodness), given.envelope),
        tau=_floored(tau, n),
        rho=_floored(rho, n),
        top_overlap=_floored(overlap, n),
        splits=SPLITS,
        label_swap=_label_swap(given),
        repeats=_repeats(given),
    )


def counts_noise(goodness: NDArray[np.float64], envelope: Envelope) -> Noise:
    """What counts leave of it: rank correlations, and the reason for everything else."""
    reason = NoEstimate(reason="counts cannot be split, paired or swapped by item", n=envelope.size)
    return Noise(
        correlations=_correlations(rank_agreement(goodness), envelope),
        tau=reason,
        rho=reason,
        top_overlap=reason,
        splits=0,
        label_swap=reason,
        repeats=NoEstimate(reason="there is one run", n=1),
    )


def study_effective(given: NoiseInput) -> Value | NoEstimate:
    """How many configurations there are for comparing models."""
    found = _one_direction(
        given, lambda: effective_configurations(given.scores.points, weights=given.envelope.weights)
    )
    if isinstance(found, Undefined):
        return NoEstimate(reason=_named_places(found.reason, given.envelope), n=given.envelope.size)
    return Value(value=found)


def study_squares(scores: NDArray[np.float64], given: NoiseInput) -> SumsOfSquares | NoEstimate:
    """Shares of sums of squares of the scores (M, C, N) as given."""
    envelope, varied = given.envelope, list(given.envelope.varied)
    if len(varied) > MAX_FACTORS:
        return NoEstimate(reason=f"more than {MAX_FACTORS} factors vary", n=len(varied))
    found = variance_shares(
        scores,
        given.clusters,
        levels=envelope.codes[:, varied],
        rng=generator(given.seed, "sums-of-squares"),
        level=given.confidence,
        resamples=SHARE_RESAMPLES,
    )
    if isinstance(found, Undefined):
        return NoEstimate(reason=found.reason, n=int(scores.shape[2]))
    names = [envelope.factors[f] for f in varied]
    parts = [("model", found.model)]
    parts += zip(names, found.factors, strict=True)
    parts += [(f"model x {name}", part) for name, part in zip(names, found.model_by_factor, strict=True)]
    if len(names) > 1:
        parts.append(("factors together", found.factor_interactions))
        parts.append(("model x factors together", found.model_by_interactions))
    parts += [("item", found.item), ("residual", found.residual)]
    return SumsOfSquares(
        shares=tuple(_share(name, part) for name, part in parts),
        orthogonal=found.orthogonal,
        items=found.items,
        resamples=SHARE_RESAMPLES,
    )


def study_removals(given: NoiseInput, models: Sequence[str]) -> tuple[Removals | NoEstimate, ...]:
    """The fewest items whose removal changes the top, one entry a configuration."""
    size = given.envelope.size
    if given.scores.sides is not None:
        return (NoEstimate(reason=given.scores.sides, n=given.scores.points.shape[2]),) * size
    n = int(given.scores.points.shape[2])
    return tuple(
        NoEstimate(reason=_named_models(one.reason, models), n=n)
        if isinstance(one, Undefined)
        else Removals(top=models[one.top], rival=models[one.rival], count=one.count)
        for one in fewest_removals(given.scores.points)
    )


def _one_direction(given: NoiseInput, compute: Callable[[], _T | Undefined]) -> _T | Undefined:
    return compute() if given.scores.sides is None else Undefined(given.scores.sides)


def _share(name: str, part: Share) -> ShareOfSquares:
    return ShareOfSquares(part=name, share=part.share, low=part.low, high=part.high)


def _floored(found: SplitHalfAgreement | Undefined | None, n: int) -> Floored | NoEstimate:
    if found is None:
        raise ValueError("agreement is neither a number nor undefined")
    if isinstance(found, Undefined):
        return NoEstimate(reason=found.reason, n=n)
    between, floor = found.mean_between(), found.mean_floor()
    if isinstance(between, Undefined) or isinstance(floor, Undefined):
        return NoEstimate(reason="every configuration ties all models in every half", n=n)
    return Floored(between=between, floor=floor)


def _correlations(found: RankAgreement | Undefined, envelope: Envelope) -> Correlations | NoEstimate:
    if isinstance(found, Undefined):
        return NoEstimate(reason=found.reason, n=envelope.size)
    tau, rho = found.mean_tau(), found.mean_rho()
    if isinstance(tau, Undefined):
        return NoEstimate(reason=tau.reason, n=envelope.size)
    if isinstance(rho, Undefined):
        return NoEstimate(reason=rho.reason, n=envelope.size)
    one, two = np.triu_indices(envelope.size, k=1)
    values = found.tau[one, two]
    place = int(np.nanargmin(values))
    return Correlations(
        tau=tau,
        lowest_tau=float(values[place]),
        least_alike=(envelope.ids[int(one[place])], envelope.ids[int(two[place])]),
        rho=rho,
    )


def _label_swap(given: NoiseInput) -> LabelSwapTest | NoEstimate:
    found = _one_direction(
        given,
        lambda: label_swap_test(
            given.scores.points, given.clusters, rng=generator(given.seed, "label-swap"), swaps=SWAPS
        ),
    )
    if isinstance(found, Undefined):
        return NoEstimate(reason=found.reason, n=given.envelope.size)
    return LabelSwapTest(
        p_value=found.p_value,
        observed_tau=None if isinstance(found.observed_tau, Undefined) else found.observed_tau,
        swapped_tau=None if isinstance(found.swapped_tau, Undefined) else found.swapped_tau,
        swaps=found.swaps,
    )


def _repeats(given: NoiseInput) -> RepeatRuns | NoEstimate:
    if given.runs is None:
        return NoEstimate(reason="no item was run more than once", n=1)
    if given.scores.sides is not None:
        return NoEstimate(reason=given.scores.sides, n=given.runs.shape[0])
    if np.isnan(given.runs).all(axis=(1, 2, 3)).any():
        return NoEstimate(reason="a run has no score at all", n=given.runs.shape[0])
    found = repeat_run_floor(np.stack([cell_means(run) for run in given.runs]))
    if isinstance(found, Undefined):
        return NoEstimate(reason=found.reason, n=given.runs.shape[0])
    apart = found.between[~np.eye(found.floor.size, dtype=bool)]
    if np.isnan(found.floor).all() or not apart.size or np.isnan(apart).all():
        return NoEstimate(reason="there is one configuration, or a run ties all models", n=found.floor.size)
    return RepeatRuns(
        runs=int(given.runs.shape[0]),
        floor=float(np.nanmean(found.floor)),
        between=float(np.nanmean(apart)),
    )


def _named_places(reason: str, envelope: Envelope) -> str:
    """A reason that speaks of configurations by place, with their ids instead."""
    head, word, rest = reason.partition("configuration ")
    number, _, tail = rest.partition(" ")
    return f"{head}{word}{envelope.ids[int(number)]} {tail}" if word and number.isdigit() else reason


def _named_models(reason: str, models: Sequence[str]) -> str:
    """A reason that speaks of models by place, with their names instead."""
    words = []
    for word in reason.split(" "):
        bare = word.rstrip(",")
        words.append(models[int(bare)] + word[len(bare) :] if bare.isdigit() else word)
    return " ".join(words)
