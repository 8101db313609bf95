"""The `factors` block: the harness choices that span the envelope, each with its levels."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from safetyrepro.spec.base import Document, Identifier, Text
from safetyrepro.spec.models import Dtype, WeightRounding

Rule = Literal["sum", "mean", "byte", "pmi"]
Join = Annotated[str, StringConstraints(max_length=40)]


class PlainTemplate(Document):
    """Plain text: system prompt, exemplars and prompt joined by declared strings, then the answer."""

    kind: Literal["plain"]
    id: Identifier
    """The level's name."""
    prompt: Annotated[str, StringConstraints(max_length=2000)] = "{prompt}"
    """The frame around a prompt; holds `{prompt}` exactly once."""
    answer_join: Join = "\n"
    """What stands between a prompt and its answer."""
    turn_join: Join = "\n\n"
    """What stands after the system prompt and after each exemplar."""

    @model_validator(mode="after")
    def _prompt_has_its_slot(self) -> PlainTemplate:
        if self.prompt.count("{prompt}") != 1:
            raise ValueError("prompt must hold {prompt} exactly once")
        return self


class ChatTemplate(Document):
    """The tokenizer's own chat template; the answer is the assistant's turn, its end-of-turn scored."""

    kind: Literal["chat"]
    id: Identifier
    """The level's name."""
    end_of_turn: bool = True
    """Whether the template's end-of-turn tokens are scored as part of the answer."""


TemplateLevel = Annotated[PlainTemplate | ChatTemplate, Field(discriminator="kind")]


class TemplateFactor(Document):
    """How prompt and answer are put into text."""

    kind: Literal["template"]
    levels: tuple[TemplateLevel, ...] = Field(min_length=1)
    """The templates."""

    @property
    def level_ids(self) -> tuple[str, ...]:
        return tuple(level.id for level in self.levels)


class SystemLevel(Document):
    """One system prompt, or none."""

    id: Identifier
    """The level's name."""
    text: Annotated[str, StringConstraints(max_length=20_000)] | None = None
    """The system prompt; absent: none is given (a template may insert its own, which is recorded)."""


class SystemFactor(Document):
    """Which system prompt stands before the conversation."""

    kind: Literal["system"]
    levels: tuple[SystemLevel, ...] = Field(min_length=1)
    """The system prompts."""

    @property
    def level_ids(self) -> tuple[str, ...]:
        return tuple(level.id for level in self.levels)


class Exemplar(Document):
    """One worked example, shown as an earlier turn; it is never an item."""

    prompt: Text
    """The example's prompt."""
    chosen: Text
    """The example's answer."""


class ShotLevel(Document):
    """How many exemplars are shown."""

    id: Identifier
    """The level's name."""
    count: int = Field(ge=0, le=100)
    """The first `count` exemplars are shown, in order."""


class ShotsFactor(Document):
    """How many worked examples stand before the prompt."""

    kind: Literal["shots"]
    levels: tuple[ShotLevel, ...] = Field(min_length=1)
    """The few-shot levels."""
    exemplars: tuple[Exemplar, ...] = ()
    """The worked examples, in the order they are shown."""

    @property
    def level_ids(self) -> tuple[str, ...]:
        return tuple(level.id for level in self.levels)

    @model_validator(mode="after")
    def _there_are_enough_exemplars(self) -> ShotsFactor:
        most = max(level.count for level in self.levels)
        if most > len(self.exemplars):
            raise ValueError(
                f"exemplars must be at least {most}, the largest count; got {len(self.exemplars)}"
            )
        return self


class RuleFactor(Document):
    """How an answer's log-probabilities become one score."""

    kind: Literal["rule"]
    levels: tuple[Rule, ...] = Field(min_length=1)
    """sum (nats), mean (nats a token), byte (nats a UTF-8 byte), pmi (nats above the unconditional)."""

    @property
    def level_ids(self) -> tuple[str, ...]:
        return tuple(self.levels)


class DtypeFactor(Document):
    """The computing precision."""

    kind: Literal["dtype"]
    levels: tuple[Dtype, ...] = Field(min_length=1)
    """The precisions."""

    @property
    def level_ids(self) -> tuple[str, ...]:
        return tuple(self.levels)


class WeightsLevel(Document):
    """One weight treatment."""

    id: Identifier
    """The level's name."""
    rounding: WeightRounding | None = None
    """The rounding; absent: weights as stored."""


class WeightsFactor(Document):
    """Weight quantisation as a harness choice, applied to every model alike."""

    kind: Literal["weights"]
    levels: tuple[WeightsLevel, ...] = Field(min_length=1)
    """The treatments."""

    @property
    def level_ids(self) -> tuple[str, ...]:
        return tuple(level.id for level in self.levels)


Factor = Annotated[
    TemplateFactor | SystemFactor | ShotsFactor | RuleFactor | DtypeFactor | WeightsFactor,
    Field(discriminator="kind"),
]
