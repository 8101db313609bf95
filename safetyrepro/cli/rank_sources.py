"""Which reader the files of `safetyrepro ranks` need, and what it gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from safetyrepro.data.columns import is_table, open_table
from safetyrepro.data.harness_runs import Chosen, matrix_of_runs
from safetyrepro.data.inspect_logs import looks_like_log, read_inspect
from safetyrepro.data.lm_eval_samples import read_lm_eval
from safetyrepro.data.score_matrix import CountMatrix, ScoreMatrix
from safetyrepro.data.score_tables import CountColumns, TableColumns, read_counts, read_scores
from safetyrepro.errors import InputError, did_you_mean, must_be

SOURCES: Final = ("table", "counts", "lm-eval", "inspect")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line says about where scores are."""

    source: str
    model: str
    item: str | None
    score: str | None
    factors: tuple[str, ...]
    cluster: str | None
    run: str | None
    ignored: tuple[str, ...]
    missing: tuple[str, ...]
    successes: str | None
    trials: str | None
    only: tuple[str, ...]
    better: str


@dataclass(frozen=True, slots=True)
class Found:
    """The scores, what they are called, and what the reader must say about them."""

    matrix: ScoreMatrix | CountMatrix
    score: str
    remarks: tuple[str, ...] = ()


def read_source(paths: Sequence[Path], wanted: Wanted) -> Found:
    """The scores of these files, read as the command line says or as the files look.

    Raises:
        InputError: files that no reader knows, and everything that a reader refuses.
    """
    match _source(paths, wanted):
        case "counts":
            return _counts(paths, wanted)
        case "table":
            return _table(paths, wanted)
        case "lm-eval":
            return _lm_eval(paths, wanted)
        case "inspect":
            return _inspect(paths, wanted)
        case name:
            raise InputError(must_be("--from", f"must be one of {', '.join(SOURCES)}", name))


def _source(paths: Sequence[Path], wanted: Wanted) -> str:
    if wanted.source in SOURCES:
        return wanted.source
    if wanted.source != "auto":
        hint = did_you_mean(wanted.source, SOURCES)
        raise InputError(must_be("--from", f"must be auto, {', '.join(SOURCES)}{hint}", wanted.source))
    if wanted.successes is not None or wanted.trials is not None:
        return "counts"
    if all(path.name.startswith("samples_") and path.suffix == ".jsonl" for path in paths):
        return "lm-eval"
    if all(is_table(path) and not path.is_dir() for path in paths):
        return "table"
    if all(looks_like_log(path) for path in paths):
        return "inspect"
    if all(path.is_dir() for path in paths):
        return _source_of_folders(paths)
    raise InputError(must_be("--from", "must be given: the files do not tell what they are", str(paths[0])))


def _source_of_folders(paths: Sequence[Path]) -> str:
    """What the folders hold: lm-eval's samples or Inspect's logs, and not both."""
    samples = any(next(path.rglob("samples_*.jsonl"), None) for path in paths)
    logs = any(looks_like_log(file) for path in paths for file in path.rglob("*") if file.is_file())
    if samples == logs:
        found = "both" if samples else "neither"
        what = "must be given: a folder must hold lm-eval samples or Inspect logs"
        raise InputError(must_be("--from", what, found))
    return "lm-eval" if samples else "inspect"


def _lm_eval(paths: Sequence[Path], wanted: Wanted) -> Found:
    found = read_lm_eval(paths, metric=wanted.score, factors=wanted.factors)
    against = sorted(set(found.metrics) & found.lower_is_better)
    if against and wanted.better == "higher":
        what = f"must be lower: the logs say that a smaller {against[0]} is better"
        raise InputError(must_be("--better", what, wanted.better))
    chosen = Chosen(factors=wanted.factors, run=wanted.run, only=wanted.only)
    score = " and ".join(found.metrics)
    return Found(matrix=matrix_of_runs(found.runs, chosen), score=score)


def _inspect(paths: Sequence[Path], wanted: Wanted) -> Found:
    runs = read_inspect(paths, scorer=wanted.score, factors=wanted.factors)
    chosen = Chosen(factors=wanted.factors, run=wanted.run, only=wanted.only)
    score = " and ".join(dict.fromkeys(run.facts["scorer"] for run in runs))
    return Found(matrix=matrix_of_runs(runs, chosen), score=score)


def _table(paths: Sequence[Path], wanted: Wanted) -> Found:
    first = open_table(paths[0])
    item, score = wanted.item, wanted.score
    if item is None and score is None and {"item", "score"} <= set(first.columns):
        item, score = "item", "score"
    if (item is None) != (score is None):
        raise InputError("--item, --score: must be given both, or neither (one column an item); got one")
    columns = TableColumns(
        model=wanted.model,
        factors=wanted.factors,
        item=item,
        score=score,
        cluster=wanted.cluster,
        run=wanted.run,
        ignored=wanted.ignored,
        missing=wanted.missing,
    )
    matrix = read_scores(paths, columns, only=wanted.only)
    remarks: tuple[str, ...] = ()
    if item is not None:
        used = {wanted.model, item, score, wanted.cluster, wanted.run, *wanted.factors, *wanted.ignored}
        unused = [name for name in first.columns if name not in used]
        if unused:
            remarks = (f"columns not used: {', '.join(unused)} (name harness choices with --factor)",)
    return Found(matrix=matrix, score=score or "score", remarks=remarks)


def _counts(paths: Sequence[Path], wanted: Wanted) -> Found:
    if wanted.successes is None or wanted.trials is None:
        raise InputError("--successes, --trials: must be given both for a table of counts; got one")
    columns = CountColumns(
        model=wanted.model, factors=wanted.factors, successes=wanted.successes, trials=wanted.trials
    )
    return Found(matrix=read_counts(paths, columns, only=wanted.only), score=wanted.successes)
