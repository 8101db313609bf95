"""Items as asked, and rows as scored: the two records every later number is made from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from pydantic import Field, model_validator

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


@dataclass(frozen=True, slots=True)
class Pair:
    """A preference pair: one prompt, the answer that is preferred, and the other."""

    id: str
    prompt: str
    chosen: str
    rejected: str
    stratum: str | None
    cluster: str | None

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


def item_record(pair: Pair) -> ItemRecord:
    """The record of a pair."""
    return ItemRecord(id=pair.id, digest=pair.digest(), stratum=pair.stratum, cluster=pair.cluster)


def items_digest(items: tuple[ItemRecord, ...]) -> str:
    """One digest for a set of items, whatever the order of its file."""
    return digest_json(sorted(item.digest for item in items))


Answer = Literal["chosen", "rejected"]


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
