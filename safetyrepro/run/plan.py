"""What a run will cost, counted before it starts: passes, shards, tokens, forward passes, time, memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from safetyrepro.data.records import Item
from safetyrepro.data.sources import ItemSet
from safetyrepro.run.readiness import check_readiness
from safetyrepro.run.shards import shards
from safetyrepro.score.backend import Tokenizer
from safetyrepro.score.cost import ModelShape, ShardCost, compute_flop, memory_bytes, shard_cost
from safetyrepro.score.rendering import Renderer
from safetyrepro.spec.envelope import Pass, configurations, passes
from safetyrepro.spec.experiment import Device, Experiment, GivenTextScorer
from safetyrepro.spec.models import Dtype, ModelSource

EFFICIENCY = 0.55
"""Share of the matrix-product rate that scoring reaches; a rough figure, so times are printed as about."""


class Surveyor(Protocol):
    """What a plan asks of a machine and its models, without loading weights."""

    def tokenizer(self, source: ModelSource, *, base_dir: Path) -> Tokenizer:
        """The tokenizer with its chat template."""

    def shape(self, source: ModelSource, *, base_dir: Path) -> ModelShape:
        """The model's sizes."""

    def token_budget(self, device: Device) -> int:
        """Tokens a forward pass where the spec does not say."""

    def matrix_rate(self, device: Device, *, width: int, rows: int, dtype: Dtype) -> float:
        """Floating-point operations a second."""


@dataclass(frozen=True, slots=True)
class PassPlan:
    """One pass: what it computes and about how long that takes."""

    id: str
    model: str
    template: str
    shards: int
    sequences: int
    computed_tokens: int
    unshared_tokens: int
    scored_tokens: int
    forward_passes: int
    longest_tokens: int
    context_tokens: int
    seconds: float
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The whole run."""

    cells: int
    configurations: int
    items: int
    passes: tuple[PassPlan, ...]

    @property
    def seconds(self) -> float:
        return sum(one.seconds for one in self.passes)

    @property
    def memory_bytes(self) -> int:
        return max(one.memory_bytes for one in self.passes)

    @property
    def computed_tokens(self) -> int:
        return sum(one.computed_tokens for one in self.passes)


def plan_run(experiment: Experiment, *, items: ItemSet, base_dir: Path, surveyor: Surveyor) -> Plan:
    """What `run` would do; nothing is scored and no weights are loaded.

    Raises:
        InputErrors: the parts of the spec do not fit together, or do not fit the items.
        InputError: a model, a tokenizer or a template refuses.
    """
    check_readiness(experiment, items=items)
    budget = experiment.device.token_budget or surveyor.token_budget(experiment.device)
    rates: dict[tuple[int, Dtype], float] = {}
    found: list[PassPlan] = []
    for name, one in passes(experiment).items():
        shape = surveyor.shape(one.model.source, base_dir=base_dir)
        key = (shape.width, one.dtype)
        if key not in rates:
            rates[key] = surveyor.matrix_rate(
                experiment.device, width=shape.width, rows=budget, dtype=one.dtype
            )
        renderer = Renderer(surveyor.tokenizer(one.model.source, base_dir=base_dir), one.frame)
        costs = [
            _cost(renderer, shard.items, scorer=experiment.scorer, budget=budget)
            for shard in shards(experiment, items=items.items)
        ]
        found.append(_pass_plan(name, one, costs, shape=shape, rate=rates[key], budget=budget))
    grid = configurations(experiment)
    return Plan(
        cells=len(grid) * len(experiment.models),
        configurations=len(grid),
        items=len(items.items),
        passes=tuple(found),
    )


def _cost(
    renderer: Renderer, items: tuple[Item, ...], *, scorer: GivenTextScorer, budget: int
) -> ShardCost:
    sequences: list[tuple[tuple[int, ...], int]] = []
    for item in items:
        for _, answer in item.answers:
            where = f"item {item.id}"
            rendered = renderer.render(item.prompt, answer, where=where)
            alone = renderer.unconditional(rendered, answer, context=scorer.context, where=where)
            sequences += [(rendered.ids, rendered.start), (alone.ids, alone.start)]
    return shard_cost(sequences, token_budget=budget)


def _pass_plan(
    name: str, one: Pass, costs: list[ShardCost], *, shape: ModelShape, rate: float, budget: int
) -> PassPlan:
    longest = max(cost.longest_tokens for cost in costs)
    return PassPlan(
        id=name,
        model=one.model.name,
        template=one.frame.template.id,
        shards=len(costs),
        sequences=sum(cost.sequences for cost in costs),
        computed_tokens=sum(cost.computed_tokens for cost in costs),
        unshared_tokens=sum(cost.unshared_tokens for cost in costs),
        scored_tokens=sum(cost.scored_tokens for cost in costs),
        forward_passes=sum(cost.forward_passes for cost in costs),
        longest_tokens=longest,
        context_tokens=shape.context_tokens,
        seconds=sum(compute_flop(cost, shape) for cost in costs) / (rate * EFFICIENCY),
        memory_bytes=memory_bytes(shape, dtype=one.dtype, token_budget=budget, longest_tokens=longest),
    )
