"""Every cell of choices: its estimate, its strata, and what options get that are chosen without reading."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from safetyrepro.analysis.points import choice_points
from safetyrepro.analysis.quantities import bca, percentile
from safetyrepro.analysis.table import ScoreTable
from safetyrepro.data.results import Cell, Quantity, RandomBaseline, StratumEstimate
from safetyrepro.data.rules import RULE_UNITS
from safetyrepro.rng import generator
from safetyrepro.spec.envelope import rule_of
from safetyrepro.spec.experiment import Experiment
from safetyrepro.stats.choices import estimate_points, gold_margin, top_credit
from safetyrepro.stats.estimates import Support


def analyse_choices(experiment: Experiment, *, table: ScoreTable) -> tuple[Cell, ...]:
    """One cell a model and configuration, models slowest; all from the same resamples."""
    _, models, size, _ = table.scores.shape
    present, gold = table.present, table.golds()
    mean = _Means(experiment, table)
    points = choice_points(experiment, table, scores=table.scores)
    lengths = table.token_lengths()
    first = np.where(np.isnan(points), np.nan, gold[0].astype(np.float64))
    margins = mean.of(gold_margin(table.scores, present=present, gold=gold), support=Support.REAL)
    headline, blind = mean.of(points), mean.of(choice_points(experiment, table, scores=table.blind))
    longest = mean.of(top_credit(lengths, present=present, gold=gold))
    shortest = mean.of(top_credit(-lengths, present=present, gold=gold))
    first_option = mean.of(first)
    strata, weighted = mean.by_stratum(points)
    found: list[Cell] = []
    for index in range(models * size):
        m, c = divmod(index, size)
        found.append(
            Cell.model_validate(
                {
                    "model": experiment.models[m].id,
                    "configuration": table.configurations[c].id,
                    "pass": table.pass_ids[m][c],
                    "outcomes": table.outcome_counts(m, c),
                    "spans_join": int(table.passes[table.pass_ids[m][c]].spans_join.sum()),
                    "headline": headline[index],
                    "half": None,
                    "strict": None,
                    "hoeffding_radius": None,
                    "margin": margins[index],
                    "unit": RULE_UNITS[rule_of(table.configurations[c])],
                    "strata": tuple(
                        StratumEstimate(stratum=name, headline=own[index]) for name, own in strata
                    ),
                    "weighted": None if weighted is None else weighted[index],
                    "twins": None,
                    "prompt_blind": blind[index],
                    "longer_wins": longest[index],
                    "shorter_wins": shortest[index],
                    "first_option": first_option[index],
                    "swapped_identity": None,
                }
            )
        )
    return tuple(found)


def guessing(experiment: Experiment, *, table: ScoreTable) -> RandomBaseline | None:
    """What one option drawn at random gets: an item with g right ones of k is right with chance g / k.

    Of accuracy the range is exact, from the distribution of a sum of N independent draws with these
    chances (Poisson binomial). Equal scores have exactly the expected mass, so of `gold_mass` the range is
    this one value. None without items.
    """
    level = experiment.analysis.confidence
    chances = table.golds().sum(axis=0) / np.maximum(table.present.sum(axis=0), 1)
    if chances.size == 0:
        return None
    expected = float(chances.mean())
    if experiment.estimand == "gold_mass":
        return RandomBaseline(expected=expected, low=expected, high=expected, confidence=level)
    low, high = poisson_binomial_range(chances, level=level)
    n = chances.size
    return RandomBaseline(expected=expected, low=low / n, high=high / n, confidence=level)


def poisson_binomial_range(chances: NDArray[np.float64], *, level: float) -> tuple[int, int]:
    """The central range in which a number of successes falls with probability at least `level`.

    Args:
        chances: (N,) of independent trials, N at least 1.
    """
    mass = np.ones(1)
    for chance in chances:
        mass = np.append(mass, 0.0) * (1.0 - chance) + np.append(0.0, mass) * chance
    below = np.cumsum(mass)
    tail = (1.0 - level) / 2.0
    low = int(np.searchsorted(below, tail, side="left"))
    return low, min(int(np.searchsorted(below, 1.0 - tail, side="left")), chances.size)


class _Means:
    """The same clusters, level, resamples and seed for all means of points."""

    def __init__(self, experiment: Experiment, table: ScoreTable) -> None:
        self._analysis = experiment.analysis
        self._seed = experiment.seed
        self._clusters = table.cluster_labels(declared=self._analysis.cluster == "declared")
        self._strata = [item.stratum for item in table.items]
        declared = experiment.items.weights
        self._weights = None if declared is None else {one.name: one.weight for one in declared}

    def of(
        self, points: NDArray[np.float64], *, support: Support = Support.UNIT, purpose: str = "choices"
    ) -> tuple[Quantity, ...]:
        """(M C) means of (M, C, N) points: BCa for points in 0..1, else the percentile bootstrap."""
        return self._estimates(points, self._clusters, support=support, purpose=purpose)

    def by_stratum(
        self, points: NDArray[np.float64]
    ) -> tuple[tuple[tuple[str, tuple[Quantity, ...]], ...], tuple[Quantity, ...] | None]:
        """The means in every stratum; weighted by the declared shares, where there are any."""
        if any(stratum is None for stratum in self._strata):
            return (), None
        labels = np.array(self._strata)
        strata = []
        for name in sorted({str(one) for one in self._strata}):
            inside = labels == name
            purpose = f"choices in {name}"
            own = self._estimates(
                points[:, :, inside], self._clusters[inside], support=Support.UNIT, purpose=purpose
            )
            strata.append((name, own))
        if self._weights is None:
            return tuple(strata), None
        estimates = estimate_points(
            points.reshape(-1, points.shape[-1]),
            support=Support.UNIT,
            clusters=self._clusters,
            strata=labels,
            weights=self._weights,
            level=self._analysis.confidence,
            resamples=self._analysis.resamples,
            rng=generator(self._seed, "weighted choices"),
        )
        return tuple(strata), tuple(bca(one, n=points.shape[-1]) for one in estimates)

    def _estimates(
        self,
        points: NDArray[np.float64],
        clusters: NDArray[np.str_],
        *,
        support: Support,
        purpose: str,
    ) -> tuple[Quantity, ...]:
        flat = points.reshape(-1, points.shape[-1])
        estimates = estimate_points(
            flat,
            support=support,
            clusters=clusters,
            level=self._analysis.confidence,
            resamples=self._analysis.resamples,
            rng=generator(self._seed, purpose),
        )
        stored = bca if support is Support.UNIT else percentile
        return tuple(stored(one, n=flat.shape[-1]) for one in estimates)
