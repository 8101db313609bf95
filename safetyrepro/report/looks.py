"""Which system is drawn how, and how configurations are named: decided once, used in every drawing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from safetyrepro.data.results import Cell, ConfigurationInfo, Results
from safetyrepro.report.figures.marks import Series, series
from safetyrepro.spec.experiment import Experiment

NAMED_SYSTEMS = 6


@dataclass(frozen=True, slots=True)
class Looks:
    """The systems in drawing order, with their look and printed name."""

    order: tuple[str, ...]
    names: Mapping[str, str]
    series: Mapping[str, Series]
    cells: Mapping[tuple[str, str], Cell]
    """The cells by (system, configuration)."""
    factors: tuple[str, ...]
    """The factors in the spec's order; a stored configuration has forgotten it."""

    @property
    def named(self) -> tuple[str, ...]:
        """The systems that have a look of their own."""
        return self.order[:NAMED_SYSTEMS]


def find_looks(experiment: Experiment, results: Results) -> Looks:
    """Spec order while every system can have its own look; else those that claims name come first."""
    ids = [model.id for model in results.models]
    order = ids
    if len(ids) > NAMED_SYSTEMS:
        claimed = [
            model
            for claim in experiment.evidence.claims
            if claim.assertion is not None
            for model in claim.assertion.models
        ]
        order = list(dict.fromkeys([*claimed, *ids]))
    return Looks(
        order=tuple(order),
        names={model.id: model.name for model in results.models},
        series={model: series(index) for index, model in enumerate(order)},
        cells={(cell.model, cell.configuration): cell for cell in results.cells},
        factors=tuple(factor.kind for factor in experiment.factors),
    )


def configuration_levels(configuration: ConfigurationInfo, factors: Sequence[str]) -> tuple[str, ...]:
    """A configuration's levels, in the order of the factors."""
    return tuple(configuration.levels[factor] for factor in factors)


def configuration_words(configuration: ConfigurationInfo, factors: Sequence[str]) -> str:
    """A configuration in words: its levels, slowest factor first."""
    return " · ".join(configuration_levels(configuration, factors))


def estimand_words(results: Results) -> str:
    """The headline estimand in words."""
    if results.estimand == "accuracy":
        return "accuracy, options tied at the top share the credit"
    if results.estimand == "gold_mass":
        return "probability mass on right options"
    ties = "as half a win" if results.estimand == "alignment_half" else "as no win"
    return f"A, a tie {ties}"
