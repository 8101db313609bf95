"""Every cell's estimates, its strata, its twins and its null baselines."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from safetyrepro.analysis.choice_cells import analyse_choices, guessing
from safetyrepro.analysis.quantities import bca, percentile, share_quantity, wilson
from safetyrepro.analysis.table import ScoreTable
from safetyrepro.data.results import Cell, Quantity, RandomBaseline, StratumEstimate, Twins
from safetyrepro.data.rules import RULE_UNITS
from safetyrepro.rng import generator
from safetyrepro.spec.envelope import rule_of
from safetyrepro.spec.experiment import Experiment
from safetyrepro.stats.baselines import random_baseline
from safetyrepro.stats.intervals import clustered_hoeffding_radius
from safetyrepro.stats.preference import (
    Alignment,
    PairCounts,
    StratifiedAlignment,
    pair_outcomes,
    pairwise_alignments,
    stratified_alignments,
    swapped_label_gap,
)
from safetyrepro.stats.twins import twin_summary
from safetyrepro.stats.undefined import Undefined


def analyse_cells(experiment: Experiment, *, table: ScoreTable) -> tuple[Cell, ...]:
    """One cell a model and configuration, models slowest; all from the same resamples."""
    if experiment.items.kind == "choice":
        return analyse_choices(experiment, table=table)
    models, size, items = table.chosen.shape
    flat = (models * size, items)
    chosen, rejected = table.chosen.reshape(flat), table.rejected.reshape(flat)
    tokens = table.token_lengths().reshape(2, *flat)
    align = _Aligner(experiment, table)
    alignments = align.cells(chosen, rejected)
    blind = align.cells(table.blind[0].reshape(flat), table.blind[1].reshape(flat))
    longer = align.cells(tokens[0], tokens[1])
    shorter = align.cells(-tokens[0], -tokens[1])
    stratified = align.strata(chosen, rejected)
    found: list[Cell] = []
    for index in range(models * size):
        m, c = divmod(index, size)
        one = alignments[index]
        strict = one.strict
        found.append(
            Cell.model_validate(
                {
                    "model": experiment.models[m].id,
                    "configuration": table.configurations[c].id,
                    "pass": table.pass_ids[m][c],
                    "outcomes": table.outcome_counts(m, c),
                    "spans_join": int(table.passes[table.pass_ids[m][c]].spans_join.sum()),
                    "headline": align.headline(one),
                    "half": percentile(one.half_credit, n=items),
                    "strict": wilson(strict, n=items),
                    "hoeffding_radius": align.hoeffding_radius(chosen[index] - rejected[index]),
                    "margin": percentile(one.margin, n=items),
                    "unit": RULE_UNITS[rule_of(table.configurations[c])],
                    "strata": _strata(align, stratified, index),
                    "weighted": _weighted(align, stratified, index),
                    "twins": _twins(experiment, table, chosen[index], rejected[index]),
                    "prompt_blind": align.headline(blind[index]),
                    "longer_wins": align.headline(longer[index]),
                    "shorter_wins": align.headline(shorter[index]),
                    "swapped_identity": swapped_label_gap(
                        one.counts, _pair_counts(rejected[index], chosen[index])
                    )
                    == 0,
                }
            )
        )
    return tuple(found)


def random_reference(experiment: Experiment, *, table: ScoreTable) -> RandomBaseline | None:
    """What a fair coin gets on these pairs, or what guessing gets on these choices."""
    items = len(table.items)
    if experiment.items.kind == "choice":
        return guessing(experiment, table=table)
    interval = random_baseline(items, level=experiment.analysis.confidence)
    if isinstance(interval, Undefined):
        return None
    return RandomBaseline(
        expected=interval.estimate, low=interval.low, high=interval.high, confidence=interval.level
    )


class _Aligner:
    """The same clusters, level, resamples and seed for everything that is aligned."""

    def __init__(self, experiment: Experiment, table: ScoreTable) -> None:
        self._analysis = experiment.analysis
        self._seed = experiment.seed
        self._clusters = table.cluster_labels(declared=self._analysis.cluster == "declared")
        self._strata = [item.stratum for item in table.items]
        self._weights = (
            None
            if experiment.items.weights is None
            else {stratum.name: stratum.weight for stratum in experiment.items.weights}
        )

    def cells(self, chosen: NDArray[np.float64], rejected: NDArray[np.float64]) -> tuple[Alignment, ...]:
        return pairwise_alignments(
            chosen,
            rejected,
            rng=generator(self._seed, "alignment"),
            clusters=self._clusters,
            level=self._analysis.confidence,
            resamples=self._analysis.resamples,
        )

    def strata(
        self, chosen: NDArray[np.float64], rejected: NDArray[np.float64]
    ) -> tuple[StratifiedAlignment, ...]:
        if any(stratum is None for stratum in self._strata):
            return ()
        return stratified_alignments(
            chosen,
            rejected,
            strata=np.array(self._strata),
            weights=self._weights,
            rng=generator(self._seed, "strata"),
            clusters=self._clusters,
            level=self._analysis.confidence,
            resamples=self._analysis.resamples,
        )

    def hoeffding_radius(self, margins: NDArray[np.float64]) -> float | None:
        """Of the strict estimate, not cut to [0, 1]; None where no item of (N,) margins has a number."""
        scored = self._clusters[~np.isnan(margins)]
        if scored.size == 0:
            return None
        sizes = np.unique(scored, return_counts=True)[1]
        return clustered_hoeffding_radius(sizes / scored.size, delta=1.0 - self._analysis.confidence)

    def headline(self, alignment: Alignment) -> Quantity:
        """The declared estimand with its BCa interval."""
        strict = self._analysis.estimand == "alignment_strict"
        return bca(alignment.strict if strict else alignment.half_credit, n=alignment.counts.pairs)


def _pair_counts(above: NDArray[np.float64], below: NDArray[np.float64]) -> PairCounts:
    points = pair_outcomes(above, below)
    wins, ties, losses = (int(np.count_nonzero(points == point)) for point in (1.0, 0.5, 0.0))
    missing = int(np.count_nonzero(np.isnan(points)))
    return PairCounts(pairs=points.size, wins=wins, ties=ties, losses=losses, missing=missing)


def _strata(
    align: _Aligner, stratified: tuple[StratifiedAlignment, ...], index: int
) -> tuple[StratumEstimate, ...]:
    if not stratified:
        return ()
    return tuple(
        StratumEstimate(stratum=one.label, headline=align.headline(one.alignment))
        for one in stratified[index].strata
    )


def _weighted(align: _Aligner, stratified: tuple[StratifiedAlignment, ...], index: int) -> Quantity | None:
    if not stratified or isinstance(stratified[index].weighted, Undefined):
        return None
    weighted = stratified[index].weighted
    return None if isinstance(weighted, Undefined) else align.headline(weighted)


def _twins(
    experiment: Experiment,
    table: ScoreTable,
    chosen: NDArray[np.float64],
    rejected: NDArray[np.float64],
) -> Twins | None:
    """Both pairs of a twin are (x1; a over b) and (x2; b over a), so S(b|x1) is the first's rejected."""
    if not experiment.items.twins:
        return None
    scores = np.array(
        [[[chosen[a], rejected[a]], [rejected[b], chosen[b]]] for a, b in table.twin_places()]
    )
    summary = twin_summary(scores, level=experiment.analysis.confidence)
    return Twins(
        both_right=share_quantity(summary.both_right, n=summary.twins),
        crossed=share_quantity(summary.crossed, n=summary.twins),
    )
