"""What a rank study's reader must know about the scores: what is missing, what was not varied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from safetyrepro.analysis.rank_input import Envelope, Oriented
from safetyrepro.data.quantities import NoEstimate
from safetyrepro.data.rank_study import Value
from safetyrepro.data.score_matrix import CountMatrix, ScoreMatrix
from safetyrepro.findings import Finding, finding
from safetyrepro.stats.rank_agreement import MIN_MODELS

FEW_CLUSTERS = 20
NEAR_DUPLICATES_BELOW = 0.5
"""Effective configurations below this share of all of them are remarked upon."""
_SHOWN = 5


def find_defects(
    matrix: ScoreMatrix, *, envelope: Envelope, turned: Oriented, effective: Value | NoEstimate
) -> Iterator[Finding]:
    """One finding a kind, with the first places and the number of others.

    Args:
        matrix: the scores. envelope: their configurations.
        turned: the scores so that larger is better. effective: the number of effective configurations.
    """
    known: NDArray[np.bool_] = ~np.isnan(matrix.scores)
    yield from _find_grid_defects(matrix.models, np.asarray(known.any(axis=2)), envelope)
    yield from _find_other_items(matrix, known)
    yield from _find_missing(matrix, known)
    if matrix.remarks:
        yield finding("SR321", "files", _first(matrix.remarks))
    if turned.sides is not None:
        yield finding("SR320", "scores", turned.sides)
    clusters = int(np.unique(matrix.cluster_codes()).size)
    if clusters < FEW_CLUSTERS:
        yield finding("SR301", "items", f"{clusters} clusters, fewer than {FEW_CLUSTERS}")
    if len(matrix.models) > 1 and _all_tied(turned.points):
        yield finding("SR314", "scores", "no two models differ on any item of any configuration")
    if isinstance(effective, Value) and effective.value < NEAR_DUPLICATES_BELOW * envelope.size:
        count = f"{envelope.size} configurations count as {effective.value:.1f}"
        yield finding("SR317", "envelope", count)


def find_count_defects(counts: CountMatrix, *, envelope: Envelope) -> Iterator[Finding]:
    """What there is to say about a table of counts."""
    yield from _find_grid_defects(counts.models, counts.trials > 0, envelope)
    yield finding("SR318", "counts", "successes and trials, no item scores")
    if len(counts.models) > 1 and counts.trials.all() and _equal_shares(counts):
        yield finding("SR314", "counts", "all models have the same share in every configuration")


def _find_grid_defects(
    models: Sequence[str], present: NDArray[np.bool_], envelope: Envelope
) -> Iterator[Finding]:
    """Of the grid alone. present: (M, C) cells with at least one score."""
    if len(models) < 2:
        yield finding("SR315", "models", f"there is one model, {models[0]}")
    if envelope.size < 2:
        yield finding("SR313", "configurations", f"there is one configuration, {envelope.ids[0]}")
    absent = np.argwhere(~present).tolist()
    if absent:
        names = [f"{models[m]} under {envelope.ids[c]}" for m, c in absent]
        yield finding("SR310", "cells", f"{len(absent)} of {present.size}: {_first(names)}")
    if not envelope.is_full:
        whole = int(np.prod([len(names) for names in envelope.level_names]))
        yield finding("SR319", "envelope", f"{envelope.size} of {whole} combinations of levels occur")
    if 1 < len(models) < MIN_MODELS:
        yield finding("SR316", "models", f"there are {len(models)} models")


def _find_other_items(matrix: ScoreMatrix, known: NDArray[np.bool_]) -> Iterator[Finding]:
    """Models that lack, under every configuration, items that another model has."""
    has = np.asarray(known.any(axis=1))
    asked = has.any(axis=0)
    lacking = [(name, int((asked & ~has[m]).sum())) for m, name in enumerate(matrix.models) if has[m].any()]
    found = [f"{name} lacks {count} of {int(asked.sum())} items" for name, count in lacking if count]
    if found:
        yield finding("SR311", "models", _first(found))


def _find_missing(matrix: ScoreMatrix, known: NDArray[np.bool_]) -> Iterator[Finding]:
    if matrix.blanks.count:
        yield finding(
            "SR312",
            "scores",
            f"{matrix.blanks.count}: {_first(matrix.blanks.first, total=matrix.blanks.count)}",
        )
    missing = int((~known).sum())
    if missing:
        yield finding("SR303", "cells", f"{missing} of {known.size} scores of the grid are missing")


def _all_tied(points: NDArray[np.float64]) -> bool:
    with np.errstate(invalid="ignore"):
        spread = np.fmax.reduce(points, axis=0) - np.fmin.reduce(points, axis=0)
    return bool((spread[~np.isnan(spread)] == 0).all())


def _equal_shares(counts: CountMatrix) -> bool:
    crossed = counts.successes * counts.trials[:1] == counts.successes[:1] * counts.trials
    return bool(crossed.all())


def _first(names: Sequence[str], *, total: int | None = None) -> str:
    """The first names, and how many more there are."""
    count = len(names) if total is None else total
    more = f", and {count - _SHOWN} more" if count > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
