"""Scores out of Inspect logs, `.json` and `.eval`, read without Inspect.

Letter grades: C is 1, P is a half, I is 0. N (no answer) is a missing score, since what was not answered
is never a number here; Inspect's own accuracy counts it as 0.

Source: the log format of inspect_ai, version 2 (fields and file layout); tried on real logs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from safetyrepro.canonical import digest_json
from safetyrepro.data.eval_zip import open_eval
from safetyrepro.data.harness_runs import TASK, HarnessRun, LoggedScore
from safetyrepro.data.score_tables import score_of
from safetyrepro.errors import InputError, InputErrors, must_be

SCORER: Final = "scorer"
SUFFIXES: Final = (".eval", ".json")
_GRADES: Final[Mapping[str, float]] = {"C": 1.0, "P": 0.5, "I": 0.0, "N": math.nan}
_SHOWN_ERRORS = 20
_DECODING = ("temperature", "top_p", "max_tokens", "reasoning_effort", "seed")


def read_inspect(
    paths: Sequence[Path], *, scorer: str | None, factors: Sequence[str]
) -> tuple[HarnessRun, ...]:
    """Every run in these logs, and in the folders below these paths.

    Args:
        paths: logs, or folders that hold them.
        scorer: the scorer to take (of a score with several values, `scorer.value`); None: the only one, or
            every one where `scorer` is a factor.
        factors: what the person named as factors.

    Raises:
        InputErrors: samples whose score is no number and no grade.
        InputError: no log; a log without samples or scores; several scorers, and none is chosen.
        MissingExtraError: a log compressed by Zstandard needs the extra `logs`.
    """
    files = sorted({file for path in paths for file in _logs(path)})
    if not files:
        raise InputError(must_be("inspect", "must be given .eval or .json logs", "none"))
    return tuple(run for file in files for run in _read_log(file, scorer=scorer, factors=factors))


def looks_like_log(path: Path) -> bool:
    """Whether a file is an Inspect log by its name and its first bytes."""
    if path.suffix == ".eval":
        return True
    if path.suffix != ".json" or not path.is_file():
        return False
    with path.open("rb") as stream:
        head = stream.read(4096)
    return b'"eval"' in head and b'"status"' in head


def _logs(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return [file for file in path.rglob("*") if file.suffix in SUFFIXES and looks_like_log(file)]


def _read_log(file: Path, *, scorer: str | None, factors: Sequence[str]) -> list[HarnessRun]:
    head, samples = _contents(file)
    if not samples:
        raise InputError(must_be(str(file), "must hold samples, not only the head of a log", "none"))
    evaluation = _object(head.get("eval"), f"{file}: eval")
    values = [_values(sample) for sample in samples]
    names = dict.fromkeys(name for one in values for name in one)
    chosen = _scorers(file, list(names), scorer=scorer, factors=factors)
    facts = _facts(head, evaluation)
    status = str(head.get("status"))
    remark = "" if status == "success" else f"{file.name}: the log's status is {status}"
    return [
        HarnessRun(
            path=file,
            model=str(evaluation.get("model")),
            facts={TASK: str(evaluation.get("task")), SCORER: name, **facts},
            scores=_scores(file, samples, values, name=name),
            remark=remark,
        )
        for name in chosen
    ]


def _contents(file: Path) -> tuple[Mapping[str, object], list[Mapping[str, object]]]:
    """The log without its samples, and the samples."""
    if file.suffix == ".eval":
        with open_eval(file) as archive:
            if "header.json" not in archive.names:
                raise InputError(f"{file}: must hold header.json, which a finished log has; it does not")
            head = _parsed(archive.read("header.json"), f"{file}: header.json")
            names = [name for name in archive.names if name.startswith("samples/")]
            return head, [_parsed(archive.read(name), f"{file}: {name}") for name in names]
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InputError(f"{file}: must be a readable file; got {error.strerror or error}") from error
    log = _parsed(data, str(file))
    listed = log.get("samples")
    if not isinstance(log.get("eval"), dict) or not isinstance(listed, list | None):
        raise InputError(must_be(str(file), "must be an Inspect log, with eval and samples", list(log)[:5]))
    return log, [_object(one, f"{file}: sample {n}") for n, one in enumerate(listed or (), start=1)]


def _parsed(data: bytes, where: str) -> Mapping[str, object]:
    try:
        value = json.loads(data)
    except ValueError as error:
        raise InputError(f"{where}: must be JSON; {error}") from error
    return _object(value, where)


def _object(value: object, where: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise InputError(must_be(where, "must be a JSON object", value))
    return value


def _values(sample: Mapping[str, object]) -> dict[str, object]:
    """What each scorer gave; a score of several values is one entry a value. Empty after an error."""
    scores = sample.get("scores")
    if sample.get("error") or not isinstance(scores, dict):
        return {}
    found: dict[str, object] = {}
    for name, score in scores.items():
        value = score.get("value") if isinstance(score, dict) else score
        if isinstance(value, dict):
            found |= {f"{name}.{key}": one for key, one in value.items()}
        else:
            found[str(name)] = value
    return found


def _scorers(file: Path, names: Sequence[str], *, scorer: str | None, factors: Sequence[str]) -> list[str]:
    if not names:
        raise InputError(must_be(f"{file}: scores", "at least one sample must be scored", "none"))
    if scorer is not None:
        if scorer not in names:
            raise InputError(must_be(f"{file}: scorers", f"must hold {scorer}", list(names)))
        return [scorer]
    if len(names) > 1 and SCORER not in factors:
        what = "must be one scorer: choose it with --score, or take all with --factor scorer"
        raise InputError(must_be(f"{file}: scorers", what, list(names)))
    return list(names)


def _scores(
    file: Path,
    samples: Sequence[Mapping[str, object]],
    values: Sequence[Mapping[str, object]],
    *,
    name: str,
) -> tuple[LoggedScore, ...]:
    errors: list[str] = []
    found: list[LoggedScore] = []
    for number, (sample, own) in enumerate(zip(samples, values, strict=True), start=1):
        score = _number(own[name]) if name in own else math.nan
        if score is None:
            what = f"{name} must be a number or a grade"
            errors.append(must_be(f"{file}: sample {number}", what, own[name]))
            continue
        epoch = str(sample.get("epoch", 1))
        found.append(
            LoggedScore(
                row=number,
                item=str(sample.get("id")),
                score=score,
                run=epoch,
                content=digest_json({"input": str(sample.get("input"))}),
            )
        )
    if errors:
        more = [f"{file}: and {len(errors) - _SHOWN_ERRORS} more samples like these"]
        raise InputErrors(errors[:_SHOWN_ERRORS] + (more if len(errors) > _SHOWN_ERRORS else []))
    return tuple(found)


def _number(value: object) -> float | None:
    if isinstance(value, str) and value in _GRADES:
        return _GRADES[value]
    return score_of(value)


def _facts(head: Mapping[str, object], evaluation: Mapping[str, object]) -> dict[str, str]:
    """What the log knows about the harness: solvers, system prompt, decoding, arguments of the task."""
    facts = dict(_plan_facts(head.get("plan")))
    for place, given in (
        ("task_args", evaluation.get("task_args")),
        ("model_args", evaluation.get("model_args")),
    ):
        if isinstance(given, dict):
            facts |= {f"{place}.{name}": str(value) for name, value in given.items()}
    return facts


def _plan_facts(plan: object) -> Iterator[tuple[str, str]]:
    if not isinstance(plan, dict):
        return
    steps = [step for step in plan.get("steps") or () if isinstance(step, dict)]
    yield "solver", " + ".join(str(step.get("solver")) for step in steps) or "none"
    texts = [step.get("params") for step in steps if step.get("solver") == "system_message"]
    yield "system_message", f"system {digest_json(json.dumps(texts))[7:15]}" if texts else "none"
    config = plan.get("config")
    for name in _DECODING:
        value = config.get(name) if isinstance(config, dict) else None
        yield name, "default" if value is None else str(value)
