"""Rows of one bundle to its Results."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.stats import rankdata

from safetyrepro.analysis.cells import analyse_cells, random_reference
from safetyrepro.analysis.claim_tests import claim_tests
from safetyrepro.analysis.comparability import find_refusals
from safetyrepro.analysis.contrasts import all_comparisons
from safetyrepro.analysis.quantities import value_of
from safetyrepro.analysis.rank_run import study_run
from safetyrepro.analysis.table import ScoreTable, StoredRows, score_table
from safetyrepro.data.records import ItemRecord, Outcome, items_digest
from safetyrepro.data.results import (
    Cell,
    ConfigurationInfo,
    FindingRecord,
    ItemsInfo,
    ModelInfo,
    NoEstimate,
    PointOnly,
    Ranking,
    Results,
    StratumInfo,
)
from safetyrepro.errors import InputErrors, must_be
from safetyrepro.findings import Finding, finding
from safetyrepro.spec.envelope import envelope_digest, primary_configuration
from safetyrepro.spec.experiment import Experiment

FEW_CLUSTERS = 20


def analyse(experiment: Experiment, *, items: Sequence[ItemRecord], rows: StoredRows) -> Results:
    """Everything computed from stored rows; the order of items and rows changes nothing.

    Args:
        experiment: the spec that ran.
        items: the item records.
        rows: gives the stored rows of a pass.

    Raises:
        InputErrors: what `check_analysis` refuses.
        IntegrityError: a row is missing, doubled, or belongs to another item set.
    """
    check_analysis(experiment, items=items)
    table = score_table(experiment, items=items, rows=rows)
    cells = analyse_cells(experiment, table=table)
    info = _items_info(experiment, table)
    compared = all_comparisons(experiment, table=table)
    ranks = study_run(experiment, table=table, comparison=compared.joint)
    defects = (
        FindingRecord(code=one.code, where=one.where, detail=one.detail)
        for one in _find_defects(experiment, info, cells)
    )
    return Results(
        spec=experiment.id,
        spec_version=experiment.version,
        spec_digest=experiment.content_digest(),
        envelope_digest=envelope_digest(experiment),
        estimand=experiment.estimand,
        confidence=experiment.analysis.confidence,
        resamples=experiment.analysis.resamples,
        joint_resamples=experiment.analysis.joint_resamples,
        seed=experiment.seed,
        models=tuple(ModelInfo(id=model.id, name=model.name) for model in experiment.models),
        configurations=_configuration_infos(experiment, table),
        items=info,
        cells=cells,
        random=random_reference(experiment, table=table),
        rankings=_rankings(experiment, table, cells),
        comparisons=compared.contrasts,
        claim_tests=claim_tests(experiment, table=table),
        ranks=ranks.study,
        findings=(*defects, *ranks.findings),
    )


def check_analysis(experiment: Experiment, *, items: Sequence[ItemRecord]) -> None:
    """Refuse, before anything is scored, what could not be analysed afterwards.

    Raises:
        InputErrors: too few resamples for the confidence level; stratum weights that are not of the items'
            strata; twins that are not two items each.
    """
    messages = list(_analysis_messages(experiment, items))
    if messages:
        raise InputErrors(messages)


def _analysis_messages(experiment: Experiment, items: Sequence[ItemRecord]) -> Iterator[str]:
    analysis = experiment.analysis
    tail = 1.0 - analysis.confidence
    # Two resamples beyond each bound; one beyond the joint level (`bootstrap`, `joint` of stats).
    for name, given, needed in (
        ("resamples", analysis.resamples, math.ceil(4.0 / tail - 1e-9)),
        ("joint_resamples", analysis.joint_resamples, math.ceil(1.0 / tail - 1e-9)),
    ):
        if given < needed:
            what = f"must be at least {needed} at confidence {analysis.confidence}"
            yield must_be(f"analysis.{name}", what, given)
    weights = experiment.items.weights
    if weights is not None:
        declared = sorted(stratum.name for stratum in weights)
        found = sorted({str(item.stratum) for item in items})
        if declared != found:
            yield must_be("items.weights", f"must name the strata {', '.join(found)}, once each", declared)
        for stratum in weights:
            if stratum.weight == 0.0:
                yield must_be("items.weights", f"the weight of {stratum.name} must be above 0", 0.0)
    if experiment.items.twins:
        sizes = Counter(item.cluster for item in items)
        for twin, size in sizes.items():
            if size != 2:
                yield must_be(f"items: twin {twin}", "must be two items", size)


def _configuration_infos(experiment: Experiment, table: ScoreTable) -> tuple[ConfigurationInfo, ...]:
    primary = primary_configuration(experiment).id
    return tuple(
        ConfigurationInfo(id=one.id, levels=dict(one.levels), primary=one.id == primary)
        for one in table.configurations
    )


def _items_info(experiment: Experiment, table: ScoreTable) -> ItemsInfo:
    labels = table.cluster_labels(declared=experiment.analysis.cluster == "declared")
    strata = sorted({item.stratum for item in table.items if item.stratum is not None})
    return ItemsInfo(
        id=experiment.items.id,
        name=experiment.items.name,
        digest=items_digest(table.items),
        items=len(table.items),
        clusters=len(set(labels.tolist())),
        clustered=experiment.items.fields.cluster is not None and experiment.analysis.cluster == "declared",
        twins=experiment.items.twins,
        kind=experiment.items.kind,
        strata=tuple(_stratum_info(name, table, labels.tolist()) for name in strata),
    )


def _stratum_info(name: str, table: ScoreTable, labels: list[str]) -> StratumInfo:
    inside = [label for label, item in zip(labels, table.items, strict=True) if item.stratum == name]
    return StratumInfo(name=name, items=len(inside), clusters=len(set(inside)))


def _rankings(experiment: Experiment, table: ScoreTable, cells: tuple[Cell, ...]) -> tuple[Ranking, ...]:
    size = len(table.configurations)
    comparable = next(find_refusals(experiment), None) is None
    found: list[Ranking] = []
    for c, configuration in enumerate(table.configurations):
        values = {
            model.id: value_of(cells[m * size + c].headline) for m, model in enumerate(experiment.models)
        }
        known = {model: value for model, value in values.items() if value is not None and comparable}
        ranks = rankdata(-np.array(list(known.values())), method="average") if known else []
        found.append(
            Ranking(
                configuration=configuration.id,
                ranks={model: float(rank) for model, rank in zip(known, ranks, strict=True)},
            )
        )
    return tuple(found)


def _find_defects(experiment: Experiment, info: ItemsInfo, cells: tuple[Cell, ...]) -> Iterator[Finding]:
    """One finding a kind: a wide envelope must not drown its reader."""
    if info.clusters < FEW_CLUSTERS:
        yield finding("SR301", "items", f"{info.clusters} clusters, fewer than {FEW_CLUSTERS}")
    undefined = [
        (cell, cell.headline.reason) for cell in cells if isinstance(cell.headline, NoEstimate | PointOnly)
    ]
    if undefined:
        yield _finding_of_cells("SR302", undefined, total=len(cells))
    scored = [(cell, cell.outcomes[Outcome.SCORED] + cell.outcomes[Outcome.TIE]) for cell in cells]
    missing = [
        (cell, f"{count} of {info.items} items have a score")
        for cell, count in scored
        if count < info.items
    ]
    if missing:
        yield _finding_of_cells("SR303", missing, total=len(cells))
    refusals = list(find_refusals(experiment))
    if refusals:
        more = f"; and {len(refusals) - 1} more pairs" if len(refusals) > 1 else ""
        yield finding("SR304", "models", refusals[0] + more)


def _finding_of_cells(code: str, found: list[tuple[Cell, str]], *, total: int) -> Finding:
    cell, reason = found[0]
    where = f"{cell.model}, {cell.configuration}"
    return finding(code, "cells", f"{len(found)} of {total} cells, first {where}: {reason}")
