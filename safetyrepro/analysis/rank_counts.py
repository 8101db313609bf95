"""Counts to a RankStudy: the unpaired analysis, and the reason for everything that counts do not say."""

from __future__ import annotations

import numpy as np

from safetyrepro.analysis.rank_document import Parts, Table, check_size, compose
from safetyrepro.analysis.rank_findings import find_count_defects
from safetyrepro.analysis.rank_input import RankOptions, envelope_of
from safetyrepro.analysis.rank_models import count_scores
from safetyrepro.analysis.rank_noise import counts_noise
from safetyrepro.analysis.rank_pairs import PairSettings, study_pairs
from safetyrepro.data.quantities import NoEstimate
from safetyrepro.data.rank_study import MissingOutcomes, RankStudy
from safetyrepro.data.score_matrix import CountMatrix
from safetyrepro.errors import InputError, must_be
from safetyrepro.rng import generator
from safetyrepro.stats.counts_table import compare_counts
from safetyrepro.stats.joint_comparison import all_pairs
from safetyrepro.stats.undefined import Undefined


def study_counts(counts: CountMatrix, options: RankOptions) -> RankStudy:
    """What the envelope says about the ranking, from successes and trials: unpaired, cells independent.

    Raises:
        InputError: no trial at all; a direction that is not higher or lower; options that do not fit.
    """
    if not counts.trials.any():
        raise InputError(must_be("counts", "at least one cell must have trials", "none"))
    if options.direction.kind == "near":
        raise InputError(must_be("better", "must be higher or lower for counts", "near"))
    models = len(counts.models)
    envelope = envelope_of(counts.factors, counts.levels, weights=options.weights, primary=options.primary)
    check_size(models, envelope.size)
    better = counts.successes
    if options.direction.kind == "lower":
        better = counts.trials - counts.successes
    goodness = np.full(better.shape, np.nan)
    np.divide(better, counts.trials, out=goodness, where=counts.trials > 0)
    comparison = None
    if models > 1:
        comparison = compare_counts(
            better,
            counts.trials,
            pairs=all_pairs(models),
            rng=generator(options.seed, "comparisons"),
            level=options.confidence,
            resamples=options.joint_resamples,
            margin=options.margin,
        )
    settings = PairSettings(
        models=counts.models, envelope=envelope, points=None, surviving=None, with_differences=True
    )
    most = int(counts.trials.max())
    unpaired = NoEstimate(reason="counts do not say which items were solved", n=most)
    parts = Parts(
        source="counts",
        comparison=comparison,
        pairs=() if comparison is None else study_pairs(comparison, settings),
        goodness=goodness,
        scores=count_scores(counts.successes, counts.trials, level=options.confidence),
        shares=Undefined(unpaired.reason),
        noise=counts_noise(goodness, envelope),
        effective=unpaired,
        squares=unpaired,
        removals=(unpaired,) * envelope.size,
        missing=MissingOutcomes(
            scores=int(counts.trials.sum()),
            missing=0,
            lowest=None,
            highest=None,
            decisions=None,
            surviving=None,
            reason="counts do not say what is missing",
        ),
        items=most,
        clusters=most,
        clustered=False,
    )
    findings = tuple(find_count_defects(counts, envelope=envelope))
    table = Table(counts.models, counts.files, envelope)
    return compose(table, options, parts=parts, findings=findings)
