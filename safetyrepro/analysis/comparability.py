"""Whether two models may be compared: they must differ in the model, and in nothing else."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from safetyrepro.spec.envelope import configurations, pass_of
from safetyrepro.spec.experiment import Experiment


def find_refusal(experiment: Experiment, *, first: str, second: str | None) -> str | None:
    """Why the two models must not be ranked against each other; None where they may.

    Items, frames, rules and device are one for all models of a spec, and a model's own weight treatment is
    part of what it is; what a model may declare beside that is its computing precision. A difference that
    a factor makes is the same for all models.
    """
    if second is None:
        return None
    if experiment.items.better != "higher":
        return (
            f"items.better is {experiment.items.better}: models are ordered only where higher is better, "
            "so estimates are printed and nobody is ahead"
        )
    models = {model.id: model for model in experiment.models}
    for configuration in configurations(experiment):
        one, other = (
            pass_of(experiment, model=models[name], configuration=configuration) for name in (first, second)
        )
        if one.dtype != other.dtype:
            return (
                f"{first} was computed in {one.dtype} and {second} in {other.dtype}: compared models must "
                "differ only in the model"
            )
    return None


def find_refusals(experiment: Experiment) -> Iterator[str]:
    """Every reason for which some two models of the spec must not be ranked against each other."""
    names = [model.id for model in experiment.models]
    for first, second in itertools.combinations(names, 2):
        refusal = find_refusal(experiment, first=first, second=second)
        if refusal is not None:
            yield refusal
