"""Items as asked, and rows as scored: the two records every later number is made from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final, TypeAlias

from pydantic import Field, StringConstraints, model_validator

from safetyrepro.canonical import digest_json
from safetyrepro.spec.base import Document


class Outcome(StrEnum):
    """What became of an item in a cell. Only `scored` and `tie` carry a number."""

    SCORED = "scored"
    TIE = "tie"
    REFUSED = "refused"
    UNPARSED = "unparsed"
    TRUNCATED = "truncated"
    LIMIT = "limit"
    ERROR = "error"


PAIR_ANSWERS: Final = ("chosen", "rejected")


@dataclass(frozen=True, slots=True)
class Pair:
    """A preference pair: one prompt, the answer that is preferred, and the other."""

    id: str
    prompt: str
    chosen: str
    rejected: str
    stratum: str | None
    cluster: str | None

    @property
    def answers(self) -> tuple[tuple[str, str], ...]:
        """(label, text) of every answer that is scored."""
        return (PAIR_ANSWERS[0], self.chosen), (PAIR_ANSWERS[1], self.rejected)

    def digest(self) -> str:
        """The digest of everything that is asked and how it is grouped."""
        return digest_json(
            {
                "id": self.id,
                "prompt": self.prompt,
                "chosen": self.chosen,
                "rejected": self.rejected,
                "stratum": self.stratum,
                "cluster": self.cluster,
            }
        )


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice: one prompt with two or more different options; `golds` are the places of the right ones."""

    id: str
    prompt: str
    options: tuple[str, ...]
    golds: tuple[int, ...]
    stratum: str | None
    cluster: str | None

    @property
    def answers(self) -> tuple[tuple[str, str], ...]:
        """(label, text) of every answer that is scored; an option's label is its place."""
        return tuple((str(place), text) for place, text in enumerate(self.options))

    def digest(self) -> str:
        """The digest of everything that is asked, of what is right, and of how it is grouped."""
        return digest_json(
            {
                "id": self.id,
                "prompt": self.prompt,
                "options": list(self.options),
                "golds": list(self.golds),
                "stratum": self.stratum,
                "cluster": self.cluster,
            }
        )


Item: TypeAlias = Pair | Choice
"""One thing asked: both kinds have an id, a prompt, answers, a stratum, a cluster and a digest."""


class ItemRecord(Document):
    """What the analysis must know of an item; its text stays in the item file."""

    id: str
    """The item's id."""
    digest: str
    """The digest of the item."""
    stratum: str | None
    """Its stratum."""
    cluster: str | None
    """Its cluster."""
    options: int | None = Field(default=None, ge=2)
    """Of a choice, how many options there are; a pair has none of the two."""
    golds: tuple[int, ...] | None = Field(default=None, min_length=1)
    """Of a choice, the places of the right options, from 0, in order."""

    @model_validator(mode="after")
    def _golds_are_among_the_options(self) -> ItemRecord:
        if (self.options is None) != (self.golds is None):
            raise ValueError("options and golds must be given together")
        if self.options is not None and self.golds is not None:
            fit = list(self.golds) == sorted(set(self.golds)) and self.golds[0] >= 0
            if not fit or self.golds[-1] >= self.options:
                raise ValueError(f"golds must be places among {self.options} options; got {self.golds}")
        return self

    @property
    def answers(self) -> tuple[str, ...]:
        """The labels of its answers."""
        return PAIR_ANSWERS if self.options is None else tuple(str(at) for at in range(self.options))


def item_record(item: Item) -> ItemRecord:
    """The record of an item; of a pair it has the fields that pairs have, and no others."""
    asked = {"id": item.id, "digest": item.digest(), "stratum": item.stratum, "cluster": item.cluster}
    if isinstance(item, Pair):
        return ItemRecord.model_validate(asked)
    return ItemRecord.model_validate({**asked, "options": len(item.options), "golds": item.golds})


def items_digest(items: tuple[ItemRecord, ...]) -> str:
    """One digest for a set of items, whatever the order of its file."""
    return digest_json(sorted(item.digest for item in items))


Answer = Annotated[str, StringConstraints(pattern=r"^(chosen|rejected|0|[1-9][0-9]{0,3})$")]
"""The label of an answer: of a pair `chosen` or `rejected`, of a choice the option's place from 0."""


class Row(Document):
    """One scored answer of one item in one pass; several cells read their scores off it."""

    pass_: str = Field(alias="pass")
    """The pass."""
    item: str
    """The item's id."""
    item_digest: str
    """The digest of the item; its text stays in the item file."""
    answer: Answer
    """Which answer."""
    outcome: Outcome
    """What became of it."""
    sum_nats: float | None
    """Log-probability of the answer after its prompt, summed over tokens; absent where not scored."""
    unconditional_nats: float | None
    """Log-probability of the same tokens after the declared context; absent where not asked for."""
    tokens: int
    """Tokens scored."""
    bytes_: int = Field(alias="bytes")
    """UTF-8 bytes of the answer's text (end-of-turn tokens have none)."""
    spans_join: bool = False
    """Whether a token holds characters of both prompt and answer."""
    dropped_tokens: int = 0
    """Tokens cut off the answer because the context ended."""

    @model_validator(mode="after")
    def _a_number_stands_where_it_was_scored(self) -> Row:
        scored = self.outcome is Outcome.SCORED
        if scored != (self.sum_nats is not None):
            raise ValueError("sum_nats must be given exactly where the outcome is scored")
        if scored and self.tokens < 1:
            raise ValueError(f"tokens must be at least 1 where the outcome is scored; got {self.tokens}")
        if self.outcome is Outcome.TIE:
            raise ValueError("outcome must not be tie, which two answers have and one has not")
        return self
