"""What every part of a rank study starts from: scores turned so that larger is better, and the envelope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from safetyrepro.data.rank_study import Direction
from safetyrepro.data.score_matrix import configuration_id
from safetyrepro.errors import InputError, did_you_mean, must_be
from safetyrepro.stats.configurations import configuration_weights
from safetyrepro.stats.joint import cell_means

HIGHER: Final = Direction(kind="higher")


@dataclass(frozen=True, slots=True)
class RankOptions:
    """What a person decides about a rank study.

    Args:
        score: what the score is called.
        direction: what is better.
        confidence: of intervals, and of joint decisions over all pairs and configurations at once.
        joint_resamples: resamples (or, from counts, simulated maxima) behind the joint decisions.
        seed: of everything random.
        margin: the difference within which two models count as equal; none: equivalence is not asked.
        top: how many first places to follow; none: 1 up to 4 models, 3 up to 12, else 5.
        bounds: the range of the score, for worst cases of missing ones; none: 0..1 where all lie there.
        weights: a weight for every level of some factors; all levels of the others count alike.
        primary: the primary configuration, a level for every factor.
    """

    score: str = "score"
    direction: Direction = HIGHER
    confidence: float = 0.95
    joint_resamples: int = 2000
    seed: int = 0
    margin: float | None = None
    top: int | None = None
    bounds: tuple[float, float] | None = None
    weights: Mapping[str, Mapping[str, float]] | None = None
    primary: Mapping[str, str] | None = None

    def places(self, models: int) -> int:
        """k, the first places that are followed; 1..M-1.

        Raises:
            InputError: a declared number of places that is not in 1..M-1.
        """
        if self.top is None:
            return 1 if models <= 4 else 3 if models <= 12 else 5
        if not 1 <= self.top < models:
            raise InputError(must_be("top", f"must lie in 1..{models - 1} with {models} models", self.top))
        return self.top


@dataclass(frozen=True, slots=True)
class Envelope:
    """The configurations of a study, in numbers.

    levels: (C, F) names, in the order given. level_names: of each factor, in order of first appearance.
    codes: (C, F) places in `level_names`. weights: (C,) shares. primary: its place, where one was declared.
    """

    factors: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    codes: NDArray[np.int64]
    level_names: tuple[tuple[str, ...], ...]
    level_weights: tuple[tuple[float, ...] | None, ...]
    weights: NDArray[np.float64]
    primary: int | None

    @property
    def size(self) -> int:
        return len(self.levels)

    @property
    def ids(self) -> tuple[str, ...]:
        """(C,) factor=level pairs joined by commas."""
        return tuple(configuration_id(self.factors, levels) for levels in self.levels)

    @property
    def varied(self) -> tuple[int, ...]:
        """The places of the factors that have more than one level."""
        return tuple(f for f, names in enumerate(self.level_names) if len(names) > 1)

    @property
    def is_full(self) -> bool:
        """Whether every combination of levels occurs."""
        return self.size == int(np.prod([len(names) for names in self.level_names], dtype=np.float64))


def envelope_of(
    factors: Sequence[str],
    levels: Sequence[Sequence[str]],
    *,
    weights: Mapping[str, Mapping[str, float]] | None = None,
    primary: Mapping[str, str] | None = None,
) -> Envelope:
    """The envelope of these configurations (C, F), in the order given.

    Raises:
        InputError: weights or a primary configuration that name no factor or no level of the envelope.
    """
    names = tuple(tuple(dict.fromkeys(one[f] for one in levels)) for f in range(len(factors)))
    codes = np.array(
        [[names[f].index(level) for f, level in enumerate(one)] for one in levels], dtype=np.int64
    ).reshape(len(levels), len(factors))
    declared = _declared_weights(factors, names, weights or {})
    shares = configuration_weights(
        codes, [dict(enumerate(one)) if one else dict.fromkeys(range(len(names[f])), 1.0)
                for f, one in enumerate(declared)]
    )  # fmt: skip
    return Envelope(
        factors=tuple(factors),
        levels=tuple(tuple(one) for one in levels),
        codes=codes,
        level_names=names,
        level_weights=declared,
        weights=shares,
        primary=None if primary is None else _primary_place(factors, levels, primary),
    )


def _declared_weights(
    factors: Sequence[str],
    names: Sequence[Sequence[str]],
    weights: Mapping[str, Mapping[str, float]],
) -> tuple[tuple[float, ...] | None, ...]:
    for factor, given in weights.items():
        if factor not in factors:
            hint = did_you_mean(factor, factors)
            raise InputError(must_be("weights", f"must name factors of the envelope{hint}", factor))
        known = names[list(factors).index(factor)]
        if sorted(given) != sorted(known):
            rule = f"must name the levels {', '.join(known)}, once each"
            raise InputError(must_be(f"weights of {factor}", rule, sorted(given)))
    return tuple(
        tuple(weights[factor][level] for level in names[f]) if factor in weights else None
        for f, factor in enumerate(factors)
    )


def _primary_place(
    factors: Sequence[str], levels: Sequence[Sequence[str]], primary: Mapping[str, str]
) -> int:
    if sorted(primary) != sorted(factors):
        rule = f"must give a level for {', '.join(factors)}, once each"
        raise InputError(must_be("primary", rule, sorted(primary)))
    wanted = [primary[factor] for factor in factors]
    for place, one in enumerate(levels):
        if list(one) == wanted:
            return place
    raise InputError(must_be("primary", "must be a configuration of the envelope", ",".join(wanted)))


@dataclass(frozen=True, slots=True)
class Oriented:
    """Scores turned so that larger is better.

    points: (M, C, N). goodness: (M, C) what models are ordered by, the mean of the points.
    above: (M, C) where near a target is better: whether the mean lies above it; else None.
    sides: why statistics that need one direction for all cells are undefined; None where they are not.
    """

    points: NDArray[np.float64]
    goodness: NDArray[np.float64]
    above: NDArray[np.bool_] | None
    sides: str | None


def oriented(scores: NDArray[np.float64], direction: Direction) -> Oriented:
    """The scores (M, C, N) so that larger is better; NaN stays NaN.

    Where a mean near a target is better, each cell's scores are turned towards the target on the side on
    which its mean lies: -|mean - t| is then the mean of the turned scores, and their spread its linear
    approximation. For two cells that both truly hit the target the test so made keeps its level (the
    difference of two distances is the smaller of |e1 - e2| and |e1 + e2|, and is divided by the spread of
    the one that it is). Statistics in which cells are mixed item by item need all means on one side.
    """
    if direction.kind != "near":
        points = turn(scores, direction, above=None)
        return Oriented(points, cell_means(points), None, None)
    means = cell_means(scores)
    above = np.isnan(means) | (means > target_of(direction))
    points = turn(scores, direction, above=above)
    known = above[~np.isnan(means)]
    mixed = bool(known.any() and not known.all())
    why = (
        f"mean scores lie on both sides of {target_of(direction):g}, so scores of one item point in both "
        "directions"
    )
    return Oriented(points, cell_means(points), above, why if mixed else None)


def turn(
    scores: NDArray[np.float64], direction: Direction, *, above: NDArray[np.bool_] | None
) -> NDArray[np.float64]:
    """Scores (..., M, C, N) in the direction in which `oriented` turned theirs.

    Args:
        above: (M, C), `Oriented.above`.
    """
    if direction.kind == "higher":
        return scores
    if above is None:
        return -scores
    target = target_of(direction)
    return np.where(above[:, :, None], target - scores, scores - target)


def target_of(direction: Direction) -> float:
    """The target of a direction `near`.

    Raises:
        InputError: a direction `near` without a target.
    """
    if direction.target is None:
        raise InputError(must_be("better", "near must have a target, as near:0.5", direction.kind))
    return direction.target
