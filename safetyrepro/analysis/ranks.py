"""Item scores to a RankStudy: anybody's, or a run's outcome points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from safetyrepro.analysis.rank_document import Parts, RunContext, Table, check_size, compose
from safetyrepro.analysis.rank_findings import find_defects
from safetyrepro.analysis.rank_input import Oriented, RankOptions, envelope_of, oriented, turn
from safetyrepro.analysis.rank_missing import missing_outcomes
from safetyrepro.analysis.rank_models import mean_scores
from safetyrepro.analysis.rank_noise import (
    NoiseInput,
    study_effective,
    study_noise,
    study_removals,
    study_squares,
)
from safetyrepro.analysis.rank_pairs import PairSettings, study_pairs
from safetyrepro.data.rank_study import RankStudy
from safetyrepro.data.score_matrix import ScoreMatrix
from safetyrepro.errors import InputError, must_be
from safetyrepro.rng import generator
from safetyrepro.stats.envelope import JointComparison
from safetyrepro.stats.joint import check_resampling
from safetyrepro.stats.joint_comparison import all_pairs, check_margin, compare_pairs
from safetyrepro.stats.ranking import TopK, top_k_inclusion
from safetyrepro.stats.undefined import Undefined

TOP_RESAMPLES = 1000


def study_scores(matrix: ScoreMatrix, options: RankOptions, *, run: RunContext | None = None) -> RankStudy:
    """What the envelope says about the ranking, from item scores; independent of the order of rows.

    Args:
        matrix: the scores.
        options: what a person decides.
        run: given for a run of this program, whose results hold cells and differences themselves.

    Raises:
        InputError: not a single score; options that do not fit the scores; more than 2,000,000 decisions
            (pairs x configurations).
    """
    if np.isnan(matrix.scores).all():
        raise InputError(must_be("scores", "at least one score must be a number", "none"))
    if options.direction.kind == "near":
        raise InputError(
            must_be(
                "better",
                "must be higher or lower: which of two means is nearer to a target is not decided by this "
                "analysis where the side of a mean is uncertain",
                "near",
            )
        )
    check_resampling(level=options.confidence, resamples=options.joint_resamples)
    check_margin(options.margin)
    models = len(matrix.models)
    envelope = envelope_of(matrix.factors, matrix.levels, weights=options.weights, primary=options.primary)
    check_size(models, envelope.size)
    turned = oriented(matrix.scores, options.direction)
    codes = matrix.cluster_codes()
    comparison = run.comparison if run is not None else _compare(turned, codes, options)
    missing = missing_outcomes(matrix.scores, turned, clusters=codes, options=options)
    given = NoiseInput(
        scores=turned,
        clusters=codes,
        runs=None if matrix.runs is None else turn(matrix.runs, options.direction, above=turned.above),
        envelope=envelope,
        seed=options.seed,
        top=options.places(models) if models > 1 else 1,
        confidence=options.confidence,
    )
    settings = PairSettings(
        models=matrix.models,
        envelope=envelope,
        points=turned.points,
        surviving=missing.by_pair,
        with_differences=run is None,
    )
    clusters = codes if matrix.clusters is not None else None
    parts = Parts(
        source="scores" if run is None else "run",
        comparison=comparison,
        pairs=() if comparison is None else study_pairs(comparison, settings),
        goodness=turned.goodness,
        scores=None if run is not None else mean_scores(matrix.scores, clusters, level=options.confidence),
        shares=_top_shares(given, models),
        noise=study_noise(given),
        effective=study_effective(given),
        squares=study_squares(matrix.scores, given),
        removals=study_removals(given, matrix.models),
        missing=missing.record,
        items=len(matrix.items),
        clusters=int(np.unique(codes).size),
        clustered=matrix.clusters is not None if run is None else run.clustered,
    )
    findings = tuple(find_defects(matrix, envelope=envelope, turned=turned, effective=parts.effective))
    table = Table(matrix.models, matrix.files, envelope)
    return compose(table, options, parts=parts, findings=findings, run=run)


def _compare(turned: Oriented, codes: NDArray[np.int64], options: RankOptions) -> JointComparison | None:
    models = turned.points.shape[0]
    if models < 2:
        return None
    return compare_pairs(
        turned.points,
        codes,
        pairs=all_pairs(models),
        rng=generator(options.seed, "comparisons"),
        level=options.confidence,
        resamples=options.joint_resamples,
        margin=options.margin,
    )


def _top_shares(given: NoiseInput, models: int) -> TopK | Undefined:
    if models < 2:
        return Undefined("there is only one model")
    return top_k_inclusion(
        given.scores.points,
        given.clusters,
        k=given.top,
        rng=generator(given.seed, "first-places"),
        resamples=TOP_RESAMPLES,
    )
