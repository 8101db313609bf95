"""Tiny tables of rows with scores given by hand, and their analysis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fakes import load_job, spec_document, write_spec

from safetyrepro.analysis.analyse import analyse
from safetyrepro.data.records import Answer, ItemRecord, Outcome, Row
from safetyrepro.data.results import Results
from safetyrepro.spec.envelope import passes
from safetyrepro.spec.experiment import Experiment

Scores = Mapping[str, Sequence[tuple[float | None, float | None]]]
"""By model or `model/template`: every item's sums in nats of chosen and rejected; None is no score."""

UNCHECKED: dict[str, object] = {
    "id": "unchecked",
    "statement": "It is good.",
    "type": "normative",
    "level": "model",
}


def experiment_of(
    folder: Path,
    *,
    models: Sequence[str | dict[str, object]] = ("a", "b"),
    rules: Sequence[str] = ("sum",),
    templates: Sequence[str] = ("plain",),
    claims: Sequence[dict[str, object]] = (UNCHECKED,),
    changes: Mapping[str, object] | None = None,
    items: Mapping[str, object] | None = None,
) -> Experiment:
    """An experiment on items without twins, of which `items` replaces fields."""
    document = spec_document(
        models=models, rules=rules, templates=templates, claims=claims, changes=changes
    )
    base = document["items"]
    assert isinstance(base, dict)
    document["items"] = {**base, "twins": False, **(items or {})}
    return load_job(write_spec(folder, document=document), out_dir=folder).experiment


def records(
    size: int, *, clusters: Sequence[str | None] | None = None, strata: Sequence[str | None] | None = None
) -> list[ItemRecord]:
    """Items `i00`, `i01`, ..., each its own cluster unless told otherwise."""
    return [
        ItemRecord(
            id=f"i{index:02d}",
            digest=f"sha256:{index:064x}",
            cluster=f"k{index:02d}" if clusters is None else clusters[index],
            stratum="s" if strata is None else strata[index],
        )
        for index in range(size)
    ]


def rows_of(
    pass_id: str,
    items: Sequence[ItemRecord],
    scores: Sequence[tuple[float | None, float | None]],
    *,
    tokens: tuple[int, int] = (2, 2),
    unconditional: Sequence[tuple[float, float]] | None = None,
    failure: Outcome = Outcome.ERROR,
) -> list[Row]:
    """Two rows an item; tokens of the chosen and of the rejected answer, two bytes a token."""
    found: list[Row] = []
    answers: tuple[Answer, Answer] = ("chosen", "rejected")
    for index, (item, pair) in enumerate(zip(items, scores, strict=True)):
        for place, answer in enumerate(answers):
            nats = pair[place]
            blind = None if unconditional is None else unconditional[index][place]
            found.append(
                Row(
                    pass_=pass_id,
                    item=item.id,
                    item_digest=item.digest,
                    answer=answer,
                    outcome=failure if nats is None else Outcome.SCORED,
                    sum_nats=nats,
                    unconditional_nats=None if nats is None else blind,
                    tokens=tokens[place],
                    bytes_=2 * tokens[place],
                )
            )
    return found


def analysed(
    experiment: Experiment,
    items: Sequence[ItemRecord],
    scores: Scores,
    *,
    tokens: tuple[int, int] = (2, 2),
    unconditional: Sequence[tuple[float, float]] | None = None,
    order: Sequence[int] | None = None,
) -> Results:
    """The results of given scores; `order` permutes items and rows."""
    todo = passes(experiment)

    def rows(pass_id: str) -> Iterable[Row]:
        model, template = todo[pass_id].model.id, todo[pass_id].frame.template.id
        own = scores.get(f"{model}/{template}") or scores[model]
        found = rows_of(pass_id, items, own, tokens=tokens, unconditional=unconditional)
        return found if order is None else [found[2 * at + half] for at in order for half in (1, 0)]

    shuffled = items if order is None else [items[at] for at in order]
    return analyse(experiment, items=shuffled, rows=rows)


def of_points(points: str) -> list[tuple[float | None, float | None]]:
    """Scores that win (+), tie (=), lose (-) or miss one answer (?)."""
    kinds: dict[str, tuple[float | None, float | None]] = {
        "+": (-1.0, -2.0),
        "=": (-1.5, -1.5),
        "-": (-3.0, -1.0),
        "?": (-1.0, None),
    }
    return [kinds[point] for point in points]
