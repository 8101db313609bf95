"""What a score that measures nothing would get: longer wins, shorter wins, prompt-blind, random."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from safetyrepro.errors import InputError, must_be
from safetyrepro.stats.intervals import Interval, check_level
from safetyrepro.stats.preference import Alignment, pairwise_alignments
from safetyrepro.stats.undefined import Undefined


@dataclass(frozen=True, slots=True)
class Baselines:
    """The null scores on the same pairs.

    `longer` and `shorter` prefer an answer by its length alone and `prompt_blind` by its score without
    the prompt (Undefined where no such scores were made). `random` is where strict and half-credit A
    of a coin would fall at this number of pairs.
    """

    longer: Alignment
    shorter: Alignment
    prompt_blind: Alignment | Undefined
    random: Interval | Undefined


def null_baselines(
    chosen_lengths: npt.ArrayLike,
    rejected_lengths: npt.ArrayLike,
    *,
    rng: np.random.Generator,
    chosen_blind: npt.ArrayLike | None = None,
    rejected_blind: npt.ArrayLike | None = None,
    clusters: npt.ArrayLike | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
) -> Baselines:
    """The null scores of N pairs, analysed exactly as a model's scores are.

    Args:
        chosen_lengths, rejected_lengths: (N,) lengths in one unit, tokens or bytes; a tie is half a
            win as everywhere. NaN leaves a pair out, so that the pairs are those a model was scored on.
        rng: for the resamples.
        chosen_blind, rejected_blind: (N,) scores of the answers without their prompt, both or neither.
            Over crossed twins they give a half-credit A of exactly one half.
        clusters, level, resamples: as in `pairwise_alignments`.

    Raises:
        InputError: shapes that do not fit, one of the two blind scores without the other.
    """
    above, below = _lengths(chosen_lengths), _lengths(rejected_lengths)
    if (chosen_blind is None) != (rejected_blind is None):
        missing = "chosen_blind" if chosen_blind is None else "rejected_blind"
        raise InputError(must_be("null_baselines", f"{missing} must come with its counterpart", None))
    rows = [(above, below), (-above, -below)]
    if chosen_blind is not None and rejected_blind is not None:
        rows.append((_lengths(chosen_blind), _lengths(rejected_blind)))
    if len({scores.shape for pair in rows for scores in pair}) != 1:
        shapes = [scores.shape for pair in rows for scores in pair]
        raise InputError(must_be("null_baselines", "all arrays must have one shape (N,)", shapes))
    found = pairwise_alignments(
        np.stack([pair[0] for pair in rows]),
        np.stack([pair[1] for pair in rows]),
        rng=rng,
        clusters=clusters,
        level=level,
        resamples=resamples,
    )
    blind = found[2] if len(found) == 3 else Undefined("no scores without the prompt were made")
    return Baselines(found[0], found[1], blind, random_baseline(found[0].counts.scored, level=level))


def random_baseline(n: int, *, probability: float = 0.5, level: float = 0.95) -> Interval | Undefined:
    """Where the proportion of n independent coin tosses falls with probability at least `level`.

    The estimate is `probability` itself: 1/2 for a pair and for a crossed ordering, 1/4 for both-right.
    No draw is made. It is a range for a random score, not an interval around an observed one; a random
    score is independent between the pairs of a cluster too. Undefined for n = 0.

    Raises:
        InputError: negative n, a probability outside [0, 1], a level outside (0, 1).
    """
    check_level(level, where="random_baseline")
    if n < 0:
        raise InputError(must_be("random_baseline", "n must not be negative", n))
    if not 0 <= probability <= 1:
        raise InputError(must_be("random_baseline", "probability must be in [0, 1]", probability))
    if n == 0:
        return Undefined("no scored rows")
    low, high = stats.binom.interval(level, n, probability)
    return Interval(probability, float(low) / n, float(high) / n, level, "exact-binomial", n, n)


def _lengths(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    return np.atleast_1d(np.asarray(values, dtype=np.float64))
