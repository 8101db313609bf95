"""Do two configurations rank the models alike? Rank correlations beside what noise alone gives.

Below five models a rank correlation takes a handful of values, so there is none: list the orderings.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

from safetyrepro.stats.ranking import checked_means, observed_ranks
from safetyrepro.stats.undefined import Undefined

MIN_MODELS = 5


@dataclass(frozen=True, slots=True)
class RankAgreement:
    """Rank correlations between configurations, (C, C), symmetric; NaN where one ties all models.

    tau: Kendall's tau-b. rho: Spearman's, on mean ranks.
    """

    tau: NDArray[np.float64]
    rho: NDArray[np.float64]

    def mean_tau(self) -> float | Undefined:
        """Mean tau over the pairs of different configurations."""
        return mean_off_diagonal(self.tau)

    def mean_rho(self) -> float | Undefined:
        """Mean rho over the pairs of different configurations."""
        return mean_off_diagonal(self.rho)


def rank_agreement(means: NDArray[np.float64]) -> RankAgreement | Undefined:
    """Tau-b and Spearman's rho between all configurations, from mean scores (M, C).

    Undefined below 5 models or where a model has no score in some configuration.

    Raises:
        InputError: means that are not (M, C).

    Source: Kendall 1945, Biometrika 33 (tau-b); checked against scipy.stats kendalltau and spearmanr.
    """
    array = checked_means(means)
    why = too_few_models(array.shape[0])
    if why is None and np.isnan(array).any():
        why = Undefined("a model has no score in one of the configurations")
    if why is not None:
        return why
    return RankAgreement(tau=tau_between(array, array), rho=rho_between(array, array))


def similarity_order(means: NDArray[np.float64]) -> tuple[int, ...]:
    """The configurations in an order that puts those that rank the models alike side by side.

    Average-linkage clustering with optimal leaf order on the share of pairs of models ordered
    differently (a tie against an order counts half). For drawing; starts at the end nearer to
    configuration 0. A model without a score somewhere is left out of the comparison.

    Raises:
        InputError: means that are not (M, C).

    Source: Bar-Joseph, Gifford & Jaakkola 2001, Bioinformatics 17, as in scipy `linkage`.
    """
    array = checked_means(means)
    array = array[~np.isnan(array).any(axis=1)]
    configurations = array.shape[1]
    if configurations < 3 or array.shape[0] < 2:
        return tuple(range(configurations))
    signs = _signs(array)
    distance = np.abs(signs[:, None, :] - signs[None, :, :]).mean(axis=2) / 2
    links = hierarchy.linkage(squareform(distance, checks=False), method="average", optimal_ordering=True)
    order = hierarchy.leaves_list(links).tolist()
    if order.index(0) > configurations - 1 - order.index(0):
        order.reverse()
    return tuple(order)


def mean_off_diagonal(matrix: NDArray[np.float64]) -> float | Undefined:
    """The mean over pairs of different configurations that have a value."""
    return mean_or_undefined(known_mean(off_diagonal(matrix)))


def _signs(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """(C, P) sign of every pair of models: 1, 0, -1; exact in float64 and in every product."""
    one, two = np.triu_indices(means.shape[0], k=1)
    return np.sign(means[one] - means[two]).T


def tau_between(one: NDArray[np.float64], two: NDArray[np.float64]) -> NDArray[np.float64]:
    """(C, C') tau-b of every column of `one` (M, C) with every column of `two` (M, C')."""
    first, second = _signs(one), _signs(two)
    untied = np.sqrt(np.outer(np.abs(first).sum(axis=1), np.abs(second).sum(axis=1)))
    out = np.full(untied.shape, np.nan)
    np.divide(first @ second.T, untied, out=out, where=untied > 0)
    return out


def rho_between(one: NDArray[np.float64], two: NDArray[np.float64]) -> NDArray[np.float64]:
    """(C, C') Spearman's rho of every column of `one` with every column of `two`."""
    first, second = (2 * observed_ranks(means).T - (means.shape[0] + 1) for means in (one, two))
    spread = np.sqrt(np.outer((first**2).sum(axis=1), (second**2).sum(axis=1)))
    out = np.full(spread.shape, np.nan)
    np.divide(first @ second.T, spread, out=out, where=spread > 0)
    return out


def too_few_models(models: int) -> Undefined | None:
    """The reason why there is no rank correlation below 5 models; None from there on."""
    if models >= MIN_MODELS:
        return None
    return Undefined(f"rank correlation needs at least {MIN_MODELS} models; there are {models}")


def off_diagonal(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """The entries of a square matrix beside its diagonal, as a vector."""
    return matrix[~np.eye(matrix.shape[0], dtype=bool)]


def known_mean(values: NDArray[np.float64]) -> float:
    """The mean of what is not NaN; NaN if nothing is."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")


def mean_or_undefined(value: float) -> float | Undefined:
    """The mean, or why there is none."""
    if np.isnan(value):
        return Undefined("every configuration ties all models, or there is only one")
    return value
