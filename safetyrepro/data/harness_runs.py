"""Scores that a harness logged, run by run, as one matrix: which facts of the runs are factors.

A run knows facts about itself (its task, few-shot level, template, decoding). Those that a person names
are the factors; where none is named, those that take two levels for some model. A fact that differs
between models but never within one belongs to the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from safetyrepro.canonical import digest_file
from safetyrepro.data.score_matrix import MatrixBuilder, ScoreFile, ScoreMatrix
from safetyrepro.errors import InputError, did_you_mean, must_be, shorten

ABSENT: Final = "none"
"""The level of a run that does not know a fact which other runs know."""
TASK: Final = "task"
FILE: Final = "file"


@dataclass(frozen=True, slots=True)
class LoggedScore:
    """One score of a run; NaN where there is none. content: what tells whether an item is the same."""

    row: int
    item: str
    score: float
    run: str = ""
    content: str | None = None


@dataclass(frozen=True, slots=True)
class HarnessRun:
    """The scores of one model under one configuration, as one log has them.

    facts: what the log knows about the configuration; its task is always among them.
    remark: what a reader must know about the log, such as that it did not end; empty otherwise.
    """

    path: Path
    model: str
    facts: Mapping[str, str]
    scores: tuple[LoggedScore, ...]
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a person chooses of the logs.

    factors: facts that are factors; empty: found. run: the fact that numbers repeated runs, such as
    `file`; None: the harness's own repeats.
    """

    factors: tuple[str, ...]
    run: str | None
    only: tuple[str, ...]


def matrix_of_runs(runs: Sequence[HarnessRun], chosen: Chosen) -> ScoreMatrix:
    """The scores of all runs as one matrix.

    Items of different tasks are different items, unless the task is a factor.

    Raises:
        InputErrors: two scores for one item, configuration and run; an item that is another one in another
            run; each with its file and row.
        InputError: a factor that no run knows; no run of a chosen model.
    """
    kept = [run for run in runs if not chosen.only or run.model in chosen.only]
    for name in chosen.only:
        if all(run.model != name for run in runs):
            models = sorted({run.model for run in runs})
            raise InputError(
                must_be("--only", f"must name models of the logs{did_you_mean(name, models)}", name)
            )
    factors = _checked_factors(kept, chosen.factors) if chosen.factors else _varying(kept)
    builder = MatrixBuilder(factors)
    contents: dict[str, tuple[str, str]] = {}
    for run in kept:
        builder.open(str(run.path))
        levels = tuple(_fact(run, factor) for factor in factors)
        for score in run.scores:
            item = score.item if TASK in factors else f"{run.facts[TASK]}/{score.item}"
            place = f"{run.path}: row {score.row}"
            if score.content is not None:
                known, first = contents.setdefault(item, (score.content, place))
                if known != score.content:
                    builder.refuse(f"{place}: item {shorten(item)} must be the same item as at {first}")
            builder.add(
                score.row,
                model=run.model,
                levels=levels,
                item=item,
                score=score.score,
                run=score.run if chosen.run is None else _fact(run, chosen.run),
            )
    matrix = builder.build(_files(kept))
    return matrix.with_remarks(tuple(run.remark for run in kept if run.remark))


def _fact(run: HarnessRun, name: str) -> str:
    return run.path.name if name == FILE else run.facts.get(name, ABSENT)


def _varying(runs: Sequence[HarnessRun]) -> tuple[str, ...]:
    """Facts that take two levels for some model, in the order in which runs know them; never the task."""
    names = dict.fromkeys(name for run in runs for name in run.facts if name != TASK)
    found = []
    for name in names:
        levels: dict[str, set[str]] = {}
        for run in runs:
            levels.setdefault(run.model, set()).add(_fact(run, name))
        if any(len(own) > 1 for own in levels.values()):
            found.append(name)
    return tuple(found)


def _checked_factors(runs: Sequence[HarnessRun], factors: tuple[str, ...]) -> tuple[str, ...]:
    known = sorted({FILE, *(name for run in runs for name in run.facts)})
    for factor in factors:
        if factor not in known:
            hint = did_you_mean(factor, known)
            raise InputError(must_be("--factor", f"must be one of {', '.join(known)}{hint}", factor))
    return factors


def _files(runs: Sequence[HarnessRun]) -> list[ScoreFile]:
    """Every file once, in the order of its path, with the scores that were read from it."""
    counts: dict[Path, int] = {}
    for run in runs:
        counts[run.path] = counts.get(run.path, 0) + len(run.scores)
    return [
        ScoreFile(name=path.name, digest=digest_file(path), rows=counts[path]) for path in sorted(counts)
    ]
