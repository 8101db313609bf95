"""The parts of a rank study put together into the document that is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from safetyrepro.analysis.rank_input import Envelope, RankOptions
from safetyrepro.analysis.rank_models import study_models, study_orderings, study_top
from safetyrepro.analysis.rank_pairs import summarise_factors
from safetyrepro.data.quantities import FindingRecord, NoEstimate, Quantity
from safetyrepro.data.rank_pair import RankedPair
from safetyrepro.data.rank_study import (
    MissingOutcomes,
    Noise,
    RankedConfiguration,
    RankedFactor,
    RankStudy,
    Removals,
    ScoreSource,
    SumsOfSquares,
    Value,
)
from safetyrepro.data.score_matrix import ScoreFile, grid_digest
from safetyrepro.errors import InputError, must_be
from safetyrepro.findings import Finding
from safetyrepro.stats.envelope import JointComparison
from safetyrepro.stats.rank_agreement import similarity_order
from safetyrepro.stats.ranking import TopK, rank_sets
from safetyrepro.stats.undefined import Undefined

MOST_DECISIONS = 2_000_000


@dataclass(frozen=True, slots=True)
class RunContext:
    """What a run knows beyond its scores.

    names: the models' printed names. envelope_digest: what the spec's envelope is cited by.
    clustered: whether the spec names a cluster.
    comparison: the joint comparison of all pairs, in the order of `all_pairs`, so that it is made once.
    """

    names: Mapping[str, str]
    envelope_digest: str
    clustered: bool
    comparison: JointComparison


@dataclass(frozen=True, slots=True)
class Table:
    """What was compared: models, files, envelope."""

    models: tuple[str, ...]
    files: tuple[ScoreFile, ...]
    envelope: Envelope


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything computed, ready to be put into the document.

    goodness: (M, C) what models are ordered by. items, clusters: how many, clustered where named.
    """

    source: Literal["run", "scores", "counts"]
    comparison: JointComparison | None
    pairs: tuple[RankedPair, ...]
    goodness: NDArray[np.float64]
    scores: tuple[tuple[Quantity, ...], ...] | None
    shares: TopK | Undefined
    noise: Noise
    effective: Value | NoEstimate
    squares: SumsOfSquares | NoEstimate
    removals: tuple[Removals | NoEstimate, ...]
    missing: MissingOutcomes
    items: int
    clusters: int
    clustered: bool


def compose(
    table: Table,
    options: RankOptions,
    *,
    parts: Parts,
    findings: Sequence[Finding],
    run: RunContext | None = None,
) -> RankStudy:
    """The document."""
    envelope = table.envelope
    names = {} if run is None else run.names
    digest = grid_digest(envelope.factors, envelope.levels) if run is None else run.envelope_digest
    sets = None if parts.comparison is None else rank_sets(parts.comparison, models=len(table.models))
    return RankStudy(
        source=parts.source,
        files=tuple(ScoreSource(name=f.name, digest=f.digest, rows=f.rows) for f in table.files),
        score=options.score,
        direction=options.direction,
        confidence=options.confidence,
        method="none" if parts.comparison is None else parts.comparison.method,
        joint_resamples=options.joint_resamples,
        seed=options.seed,
        margin=options.margin,
        envelope_digest=digest,
        models=study_models(
            [(model, names.get(model, model)) for model in table.models],
            goodness=parts.goodness,
            sets=sets,
            scores=parts.scores,
            shares=parts.shares,
        ),
        factors=tuple(
            RankedFactor(name=name, levels=envelope.level_names[f], weights=envelope.level_weights[f])
            for f, name in enumerate(envelope.factors)
        ),
        configurations=tuple(
            RankedConfiguration(
                id=name,
                levels=envelope.levels[c],
                primary=c == envelope.primary,
                weight=float(envelope.weights[c]),
            )
            for c, name in enumerate(envelope.ids)
        ),
        full_grid=envelope.is_full,
        similarity_order=similarity_order(parts.goodness),
        effective_configurations=parts.effective,
        items=parts.items,
        clusters=parts.clusters,
        clustered=parts.clustered,
        pairs=parts.pairs,
        factor_summaries=summarise_factors(parts.pairs, envelope=envelope),
        noise=parts.noise,
        orderings=study_orderings(parts.goodness, table.models),
        top=study_top(sets, table.models, k=options.places(len(table.models)), shares=parts.shares)
        if sets is not None
        else None,
        squares=parts.squares,
        removals=parts.removals,
        missing=parts.missing,
        findings=tuple(
            FindingRecord(code=one.code, where=one.where, detail=one.detail) for one in findings
        ),
    )


def check_size(models: int, configurations: int) -> None:
    """Refuse more decisions than a page, or a machine, can hold.

    Raises:
        InputError: more than 2,000,000 pairs x configurations.
    """
    decisions = models * (models - 1) // 2 * configurations
    if decisions > MOST_DECISIONS:
        rule = f"pairs x configurations must be at most {MOST_DECISIONS:,} (choose models with --only)"
        raise InputError(must_be("scores", rule, f"{models} models x {configurations} configurations"))
