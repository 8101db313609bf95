"""What must hold between the parts of an experiment; each problem with the path to its place."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from safetyrepro.errors import InputErrors, did_you_mean, must_be
from safetyrepro.spec.experiment import Experiment

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that does not fit: the path inside the document, the rule, and what was there."""

    path: Path
    what: str
    value: object


def check_experiment(experiment: Experiment) -> None:
    """Refuse an experiment whose parts do not fit together.

    Raises:
        InputErrors: every problem, each with its path.
    """
    messages = [
        must_be(".".join(str(part) for part in problem.path), problem.what, problem.value)
        for problem in find_problems(experiment)
    ]
    if messages:
        raise InputErrors(messages)


def find_problems(experiment: Experiment) -> Iterator[Problem]:
    """Every problem between the parts, in the order of the document."""
    yield from _doubled(("models",), "id", [model.id for model in experiment.models])
    if experiment.items.kind == "choice" and "estimand" in experiment.analysis.model_fields_set:
        what = "must be absent where items are choices, whose estimand is items.measure"
        yield Problem(("analysis", "estimand"), what, experiment.analysis.estimand)
    yield from _factor_problems(experiment)
    yield from _primary_problems(experiment)
    yield from _scorer_problems(experiment)
    yield from _claim_problems(experiment)


def _doubled(path: Path, key: str | None, names: list[str]) -> Iterator[Problem]:
    for index, name in enumerate(names):
        if name in names[:index]:
            place: Path = (*path, index) if key is None else (*path, index, key)
            yield Problem(place, f"must be unique within {path[0]}", name)


def _factor_problems(experiment: Experiment) -> Iterator[Problem]:
    kinds = [str(factor.kind) for factor in experiment.factors]
    yield from _doubled(("factors",), "kind", kinds)
    for needed in ("template", "rule"):
        if needed not in kinds:
            yield Problem(("factors",), f"must include a factor of kind {needed}", kinds)
    for index, factor in enumerate(experiment.factors):
        yield from _doubled(("factors", index, "levels"), None, list(factor.level_ids))
    for index, model in enumerate(experiment.models):
        if "dtype" in kinds and model.dtype is not None:
            yield Problem(("models", index, "dtype"), "must be absent where dtype is a factor", model.dtype)
        if "weights" in kinds and model.weights is not None:
            yield Problem(
                ("models", index, "weights"), "must be absent where weights is a factor", model.weights.bits
            )


def _primary_problems(experiment: Experiment) -> Iterator[Problem]:
    levels = {str(factor.kind): factor.level_ids for factor in experiment.factors}
    for kind in levels:
        if kind not in experiment.primary:
            yield Problem(("primary",), f"must name a level of factor {kind}", dict(experiment.primary))
    for kind, level in experiment.primary.items():
        if kind not in levels:
            hint = did_you_mean(kind, levels)
            yield Problem(("primary", kind), f"must be a declared factor{hint}", kind)
        elif level not in levels[kind]:
            known = ", ".join(levels[kind])
            hint = did_you_mean(level, levels[kind])
            yield Problem(("primary", kind), f"must be one of {known}{hint}", level)


def _scorer_problems(experiment: Experiment) -> Iterator[Problem]:
    if experiment.scorer.kind != "implicit_reward":
        for index, model in enumerate(experiment.models):
            if model.reference is not None:
                yield Problem(
                    ("models", index, "reference"),
                    "must be absent unless scorer.kind is implicit_reward",
                    model.reference.kind,
                )
        if experiment.scorer.kind == "reward":
            yield from _reward_problems(experiment)
        return
    for index, model in enumerate(experiment.models):
        if model.reference is None:
            yield Problem(
                ("models", index, "reference"), "must be given where scorer.kind is implicit_reward", None
            )
    for index, factor in enumerate(experiment.factors):
        if factor.kind == "rule" and "pmi" in factor.levels:
            yield Problem(
                ("factors", index, "levels", factor.levels.index("pmi")),
                "must be sum, mean or byte where scorer.kind is implicit_reward",
                "pmi",
            )


def _reward_problems(experiment: Experiment) -> Iterator[Problem]:
    what = "where scorer.kind is reward"
    if experiment.scorer.context.kind != "text":
        yield Problem(("scorer", "context", "kind"), f"must be text {what}", experiment.scorer.context.kind)
    if experiment.scorer.truncation != "refuse":
        yield Problem(("scorer", "truncation"), f"must be refuse {what}", experiment.scorer.truncation)
    for index, factor in enumerate(experiment.factors):
        if factor.kind == "rule" and factor.levels != ("sum",):
            yield Problem(("factors", index, "levels"), f"must be sum alone {what}", list(factor.level_ids))
        if factor.kind == "weights":
            yield Problem(("factors", index), f"must not be of kind weights {what}", factor.kind)
    for index, model in enumerate(experiment.models):
        if model.weights is not None:
            yield Problem(("models", index, "weights"), f"must be absent {what}", model.weights.bits)


def _claim_problems(experiment: Experiment) -> Iterator[Problem]:
    known = [model.id for model in experiment.models]
    size = math.prod(len(factor.level_ids) for factor in experiment.factors)
    for index, claim in enumerate(experiment.evidence.claims):
        if claim.assertion is None:
            continue
        path: Path = ("evidence", "claims", index, "assertion")
        named = claim.assertion.models
        for name in named:
            if name not in known:
                yield Problem(path, f"must name declared models{did_you_mean(name, known)}", name)
        if len(set(named)) != len(named):
            yield Problem(path, "must compare different models", list(named))
        if claim.assertion.r is not None and claim.assertion.r > size:
            yield Problem(
                (*path, "r"), f"must be at most {size}, the size of the envelope", claim.assertion.r
            )
