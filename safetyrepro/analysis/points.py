"""Scores of answers to one point an item, from 0 to 1: what every estimate and comparison is made of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from safetyrepro.analysis.table import ScoreTable
from safetyrepro.spec.experiment import Experiment
from safetyrepro.stats.choices import gold_mass, top_credit
from safetyrepro.stats.preference import pair_outcomes


def outcome_points(experiment: Experiment, table: ScoreTable) -> NDArray[np.float64]:
    """(M, C, N) points of the headline estimand; NaN where the item has no score.

    Of pairs a win is 1 and a tie half a win, or none where strict; of choices, credit or mass by `measure`.
    """
    if experiment.items.kind == "choice":
        return choice_points(experiment, table, scores=table.scores)
    points = pair_outcomes(table.chosen, table.rejected)
    if experiment.analysis.estimand == "alignment_strict":
        points = np.where(points == 0.5, 0.0, points)
    return points


def choice_points(
    experiment: Experiment, table: ScoreTable, *, scores: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(M, C, N) points that scores (A, M, C, N) of the table's options get under the declared measure."""
    measured = gold_mass if experiment.estimand == "gold_mass" else top_credit
    return measured(scores, present=table.present, gold=table.golds())
