"""Scores out of what `lm_eval --log_samples` writes: `samples_<task>_<time>.jsonl` beside its results.

A samples file says what each item scored; the results file of the same time says which model, which
few-shot level and which template it was. Metrics (`acc`, `acc_norm`) and filters of one file are scoring
rules over the same outputs: a factor, or a choice, never mixed.

Source: lm-evaluation-harness 0.4 (file names and fields); tried on real files of 0.4.9.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from safetyrepro.canonical import digest_json
from safetyrepro.data.harness_runs import TASK, HarnessRun, LoggedScore
from safetyrepro.data.score_tables import score_of
from safetyrepro.errors import InputError, InputErrors, must_be

METRIC, FILTER = "metric", "filter"
_RESULTS: Final = "results"
_SAMPLES: Final = "samples_"
_SHOWN_ERRORS = 20


@dataclass(frozen=True, slots=True)
class LmEvalRuns:
    """All runs that were found, and the metrics of which a smaller value is better, as the logs say."""

    runs: tuple[HarnessRun, ...]
    lower_is_better: frozenset[str]
    metrics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Results:
    model: str
    facts: Mapping[str, str]
    lower_is_better: frozenset[str]


def read_lm_eval(paths: Sequence[Path], *, metric: str | None, factors: Sequence[str]) -> LmEvalRuns:
    """Every run in these samples files, and in the folders below these paths.

    Args:
        paths: samples files, or folders that hold them.
        metric: the metric to take; None: the only one, or every one where `metric` is a factor.
        factors: what the person named as factors.

    Raises:
        InputErrors: rows without the metric, or whose metric is no number.
        InputError: no samples file; several metrics or filters, and none is chosen.
    """
    files = sorted({file for path in paths for file in _samples_files(path)})
    if not files:
        raise InputError(must_be("lm-eval", "must be given samples_*.jsonl files (--log_samples)", "none"))
    runs: list[HarnessRun] = []
    lower: set[str] = set()
    used: dict[str, None] = {}
    for file in files:
        results = _results_of(file)
        lower |= results.lower_is_better
        rows = _rows(file)
        for name in _metrics(file, rows, metric=metric, factors=factors):
            used[name] = None
            runs += _runs_of_file(file, rows, results=results, metric=name, factors=factors)
    return LmEvalRuns(tuple(runs), frozenset(lower), tuple(used))


def _samples_files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return [file for file in path.rglob(f"{_SAMPLES}*.jsonl") if file.is_file()]


def _rows(file: Path) -> list[tuple[int, Mapping[str, object]]]:
    found: list[tuple[int, Mapping[str, object]]] = []
    try:
        with file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    value = json.loads(line)
                    if not isinstance(value, dict) or "doc_id" not in value:
                        what = "a row must be an object with a doc_id, as --log_samples writes it"
                        raise InputErrors([must_be(f"{file}: row {number}", what, value)])
                    found.append((number, value))
    except (ValueError, OSError) as error:
        raise InputError(f"{file}: must be JSON lines of lm-eval samples; {error}") from error
    if not found:
        raise InputError(must_be(str(file), "must hold at least one sample", "none"))
    return found


def _metrics(
    file: Path,
    rows: Sequence[tuple[int, Mapping[str, object]]],
    *,
    metric: str | None,
    factors: Sequence[str],
) -> list[str]:
    """The metrics to take from a file."""
    listed: dict[str, None] = {}
    for _, row in rows:
        named = row.get("metrics")
        listed |= dict.fromkeys(str(name) for name in named) if isinstance(named, list) else {}
    if metric is not None:
        if listed and metric not in listed:
            raise InputError(must_be(f"{file}: metrics", f"must hold {metric}", list(listed)))
        return [metric]
    if len(listed) > 1 and METRIC not in factors:
        what = "must be one metric: choose it with --score, or take all with --factor metric"
        raise InputError(must_be(f"{file}: metrics", what, list(listed)))
    if not listed:
        raise InputError(must_be(f"{file}: metrics", "must be named: choose one with --score", "none"))
    return list(listed)


def _runs_of_file(
    file: Path,
    rows: Sequence[tuple[int, Mapping[str, object]]],
    *,
    results: _Results,
    metric: str,
    factors: Sequence[str],
) -> list[HarnessRun]:
    """One run a filter."""
    by_filter: dict[str, list[LoggedScore]] = {}
    errors: list[str] = []
    for number, row in rows:
        value = score_of(row[metric]) if metric in row else None
        if value is None:
            errors.append(must_be(f"{file}: row {number}", f"{metric} must be a number", row.get(metric)))
            continue
        content = row.get("doc_hash")
        by_filter.setdefault(str(row.get(FILTER, "none")), []).append(
            LoggedScore(
                row=number,
                item=str(row["doc_id"]),
                score=value,
                content=content if isinstance(content, str) else None,
            )
        )
    if errors:
        more = [f"{file}: and {len(errors) - _SHOWN_ERRORS} more rows like these"]
        raise InputErrors(errors[:_SHOWN_ERRORS] + (more if len(errors) > _SHOWN_ERRORS else []))
    if len(by_filter) > 1 and FILTER not in factors:
        what = "must be one filter: filters are scoring rules, take them with --factor filter"
        raise InputError(must_be(f"{file}: filters", what, list(by_filter)))
    task = _task_of(file)
    return [
        HarnessRun(
            path=file,
            model=results.model,
            facts={TASK: task, METRIC: metric, FILTER: name, **results.facts},
            scores=tuple(scores),
        )
        for name, scores in by_filter.items()
    ]


def _task_of(file: Path) -> str:
    stem = file.name.removesuffix(".jsonl").removeprefix(_SAMPLES)
    head, _, tail = stem.rpartition("_")
    return head if head and tail[:4].isdigit() and "T" in tail else stem


def _results_of(file: Path) -> _Results:
    """What the results file of these samples says; without one, the folder is the model's name."""
    path = _results_path(file)
    if path is None:
        return _Results(model=file.resolve().parent.name, facts={}, lower_is_better=frozenset())
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise InputError(f"{path}: must be the JSON of lm-eval's results; {error}") from error
    if not isinstance(found, dict):
        raise InputError(must_be(str(path), "must be a JSON object", found))
    config = found.get("config")
    settings = config if isinstance(config, dict) else {}
    model, rest = _model(found, settings, default=file.resolve().parent.name)
    return _Results(
        model=model,
        facts=_facts(found, settings, task=_task_of(file), rest=rest),
        lower_is_better=_lower(found.get("higher_is_better")),
    )


def _results_path(file: Path) -> Path | None:
    stamp = file.name.removesuffix(".jsonl").rpartition("_")[2]
    same = file.with_name(f"{_RESULTS}_{stamp}.json")
    if same.is_file():
        return same
    others = [one for one in file.parent.glob("*.json") if _RESULTS in one.name]
    return others[0] if len(others) == 1 else None


def _model(found: Mapping[str, object], settings: Mapping[str, object], *, default: str) -> tuple[str, str]:
    """The model's name, and its other arguments in the order of their names."""
    given = settings.get("model_args")
    pairs: dict[str, str] = {}
    if isinstance(given, str):
        pairs = dict(part.partition("=")[::2] for part in given.split(",") if "=" in part)
    elif isinstance(given, dict):
        pairs = {str(name): str(value) for name, value in given.items()}
    own = pairs.pop("pretrained", None) or pairs.pop("model", None)
    name = found.get("model_name") or own or default
    return str(name), ",".join(f"{key}={pairs[key]}" for key in sorted(pairs))


def _facts(
    found: Mapping[str, object], settings: Mapping[str, object], *, task: str, rest: str
) -> dict[str, str]:
    shots = found.get("n-shot")
    template, system = found.get("chat_template"), found.get("system_instruction")
    return {
        "num_fewshot": str(shots.get(task, "unknown")) if isinstance(shots, dict) else "unknown",
        "chat_template": "none" if not template else f"template {digest_json(str(template))[7:15]}",
        "system_instruction": "none" if not system else f"system {digest_json(str(system))[7:15]}",
        "fewshot_as_multiturn": str(bool(found.get("fewshot_as_multiturn"))).lower(),
        "dtype": str(settings.get("model_dtype") or "unknown").removeprefix("torch."),
        "model_args": rest or "none",
        "gen_kwargs": str(settings.get("gen_kwargs") or "none"),
    }


def _lower(declared: object) -> frozenset[str]:
    """The metrics of which a smaller value is better."""
    if not isinstance(declared, dict):
        return frozenset()
    tables = [table for table in declared.values() if isinstance(table, dict)]
    return frozenset(name for table in tables for name, higher in table.items() if higher is False)
