"""Factors to configurations: the envelope is every combination of the factors' levels."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from safetyrepro.canonical import digest_json
from safetyrepro.spec.experiment import Experiment
from safetyrepro.spec.factors import (
    DtypeFactor,
    Exemplar,
    PlainTemplate,
    Rule,
    RuleFactor,
    ShotsFactor,
    SystemFactor,
    TemplateFactor,
    TemplateLevel,
    WeightsFactor,
)
from safetyrepro.spec.models import Dtype, Model, WeightRounding


@dataclass(frozen=True, slots=True)
class Configuration:
    """One level of every factor, in the spec's order of factors."""

    levels: tuple[tuple[str, str], ...]

    @property
    def id(self) -> str:
        return ",".join(f"{factor}={level}" for factor, level in self.levels)

    def level(self, factor: str) -> str | None:
        """The level of `factor`, or None where the spec does not declare that factor."""
        return dict(self.levels).get(factor)


@dataclass(frozen=True, slots=True)
class Frame:
    """How a prompt becomes text: everything of a configuration that changes the tokens."""

    template: TemplateLevel
    system: str | None
    exemplars: tuple[Exemplar, ...]

    def digest(self) -> str:
        return digest_json(
            {
                "template": self.template.model_dump(mode="json"),
                "system": self.system,
                "exemplars": [exemplar.model_dump(mode="json") for exemplar in self.exemplars],
            }
        )


@dataclass(frozen=True, slots=True)
class Pass:
    """What needs a model once: its weights' treatment and the rendered tokens; rules are read off it."""

    model: Model
    dtype: Dtype
    rounding: WeightRounding | None
    frame: Frame

    def id(self) -> str:
        """A short, stable name: the model and 12 digits of everything that changes weights or tokens."""
        parts = {
            "source": self.model.source.model_dump(mode="json", exclude_unset=True),
            "dtype": self.dtype,
            "rounding": None if self.rounding is None else self.rounding.model_dump(mode="json"),
            "frame": self.frame.digest(),
        }
        return f"{self.model.id}-{digest_json(parts).removeprefix('sha256:')[:12]}"


def configurations(experiment: Experiment) -> tuple[Configuration, ...]:
    """Every combination of levels, the last factor changing fastest."""
    axes = [[(str(factor.kind), level) for level in factor.level_ids] for factor in experiment.factors]
    return tuple(Configuration(levels=levels) for levels in itertools.product(*axes))


def primary_configuration(experiment: Experiment) -> Configuration:
    """The configuration that the spec declares before the run."""
    return Configuration(
        levels=tuple((str(factor.kind), experiment.primary[factor.kind]) for factor in experiment.factors)
    )


def envelope_digest(experiment: Experiment) -> str:
    """The digest of the factors with their levels: what an envelope is cited by."""
    return digest_json(
        [factor.model_dump(mode="json", exclude_unset=True) for factor in experiment.factors]
    )


def rule_of(configuration: Configuration) -> Rule:
    """The scoring rule of a configuration."""
    for factor, level in configuration.levels:
        if factor == "rule":
            return level  # type: ignore[return-value]
    raise ValueError(f"configuration {configuration.id} has no rule")


def pass_of(experiment: Experiment, *, model: Model, configuration: Configuration) -> Pass:
    """The pass that a cell reads its scores off."""
    template: TemplateLevel = PlainTemplate(kind="plain", id="plain")
    system: str | None = None
    exemplars: tuple[Exemplar, ...] = ()
    dtype: Dtype = model.dtype or "float32"
    rounding = model.weights
    for factor in experiment.factors:
        chosen = configuration.level(factor.kind)
        match factor:
            case TemplateFactor():
                template = next(level for level in factor.levels if level.id == chosen)
            case SystemFactor():
                system = next(level.text for level in factor.levels if level.id == chosen)
            case ShotsFactor():
                count = next(level.count for level in factor.levels if level.id == chosen)
                exemplars = factor.exemplars[:count]
            case DtypeFactor():
                dtype = next(level for level in factor.levels if level == chosen)
            case WeightsFactor():
                rounding = next(level.rounding for level in factor.levels if level.id == chosen)
            case RuleFactor():
                pass
    return Pass(
        model=model,
        dtype=dtype,
        rounding=rounding,
        frame=Frame(template=template, system=system, exemplars=exemplars),
    )


def reference_pass(one: Pass) -> Pass | None:
    """The pass of a model's reference, from whose rows an implicit reward takes away; None without one.

    The reference computes in the same precision on the same frames; its weights are as stored.
    """
    model = one.model
    if model.reference is None:
        return None
    reference = model.model_copy(
        update={
            "id": f"{model.id}--reference",
            "name": f"{model.name}, reference",
            "source": model.reference,
            "weights": None,
            "reference": None,
        }
    )
    return Pass(model=reference, dtype=one.dtype, rounding=None, frame=one.frame)


def passes(experiment: Experiment) -> Mapping[str, Pass]:
    """Every distinct pass by its id, model by model, so that a model is loaded once.

    Where the scorer is the implicit reward, those of the references stand among them.
    """
    found: dict[str, Pass] = {}
    for model in experiment.models:
        for configuration in configurations(experiment):
            one = pass_of(experiment, model=model, configuration=configuration)
            found.setdefault(one.id(), one)
            if experiment.scorer.kind == "implicit_reward" and (reference := reference_pass(one)):
                found.setdefault(reference.id(), reference)
    return found
