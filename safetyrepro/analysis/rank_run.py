"""A run's outcome points to its rank study, from the joint comparison that its results are read off."""

from __future__ import annotations

from dataclasses import dataclass

from safetyrepro.analysis.points import outcome_points
from safetyrepro.analysis.rank_document import RunContext
from safetyrepro.analysis.rank_input import RankOptions
from safetyrepro.analysis.ranks import study_scores
from safetyrepro.analysis.table import ScoreTable
from safetyrepro.data.quantities import FindingRecord
from safetyrepro.data.rank_study import RankStudy
from safetyrepro.data.score_matrix import ScoreMatrix
from safetyrepro.findings import KINDS
from safetyrepro.spec.envelope import envelope_digest
from safetyrepro.spec.experiment import Experiment
from safetyrepro.stats.envelope import JointComparison

_SAID_OF_THE_RUN = frozenset({"SR301", "SR303", "SR310", "SR311"})
"""Codes that the analysis of a run finds by itself, from its rows."""


@dataclass(frozen=True, slots=True)
class RunStudy:
    """The study, without its findings, and those of them that are a run's: warnings, not remarks.

    No study where the ranking is refused.
    """

    study: RankStudy | None
    findings: tuple[FindingRecord, ...]


def study_run(experiment: Experiment, *, table: ScoreTable, comparison: JointComparison | None) -> RunStudy:
    """Whether the ranking of a run's models survives its envelope.

    Args:
        table: the run's scores.
        comparison: of all pairs, over all configurations; None where the ranking is refused.
    """
    if comparison is None:
        return RunStudy(None, ())
    analysis = experiment.analysis
    grid = table.configurations
    matrix = ScoreMatrix(
        models=tuple(model.id for model in experiment.models),
        factors=tuple(factor for factor, _ in grid[0].levels),
        levels=tuple(tuple(level for _, level in one.levels) for one in grid),
        items=tuple(item.id for item in table.items),
        clusters=tuple(table.cluster_labels(declared=analysis.cluster == "declared").tolist()),
        scores=outcome_points(experiment, table),
    )
    options = RankOptions(
        score=experiment.estimand,
        confidence=analysis.confidence,
        joint_resamples=analysis.joint_resamples,
        seed=experiment.seed,
        margin=analysis.equivalence_margin,
        bounds=(0.0, 1.0),
        primary={str(factor): level for factor, level in experiment.primary.items()},
    )
    context = RunContext(
        names={model.id: model.name for model in experiment.models},
        envelope_digest=envelope_digest(experiment),
        clustered=experiment.items.fields.cluster is not None and analysis.cluster == "declared",
        comparison=comparison,
    )
    study = study_scores(matrix, options, run=context)
    findings = tuple(
        one
        for one in study.findings
        if one.code not in _SAID_OF_THE_RUN and KINDS[one.code].severity != "note"
    )
    return RunStudy(study.model_copy(update={"findings": ()}), findings)
