"""The blocks every spec has: who evaluates, at which level and scope, until when, and what is claimed."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Literal

import isodate
from pydantic import AfterValidator, Field, StringConstraints, model_validator

from safetyrepro.spec.base import Document, Fraction, Identifier, Level, Text


def _check_period(text: str) -> str:
    try:
        period = isodate.parse_duration(text, as_timedelta_if_possible=False)
    except (isodate.ISO8601Error, ValueError) as error:
        raise ValueError("must be an ISO 8601 duration such as P6M or P90D") from error
    if dt.datetime(2000, 1, 1) + period <= dt.datetime(2000, 1, 1):
        raise ValueError("must be longer than nothing, such as P6M or P90D")
    return text


Period = Annotated[
    str,
    StringConstraints(pattern=r"^P[0-9YMWDTHS]+$"),
    AfterValidator(_check_period),
    Field(description="An ISO 8601 duration, such as P6M (six calendar months) or P90D (ninety days)."),
]


class Evaluator(Document):
    """Who evaluates, and how they stand to the developer of what is evaluated."""

    name: Text
    """The person or organisation that answers for this evaluation."""
    relation: Literal["independent", "contracted", "developer", "same_organisation", "other"]
    """How the evaluator stands to the developer."""
    access: Text
    """What the evaluator had: weights, an interface, logs, documents."""
    funding: Text
    """Who paid for the evaluation."""
    elicitation: Text
    """How much was done to bring the evaluated behaviour out."""
    dissent: Text | None = None
    """Disagreement inside the evaluation team, if any."""
    right_of_reply: Text | None = None
    """What the developer answered when shown the result, if anything."""


class Scope(Document):
    """What was tested, and what was not."""

    population: Text
    """Whose use or which inputs the items stand for."""
    languages: tuple[Identifier, ...] = Field(min_length=1)
    """Languages of the items, as lower-case BCP 47 tags such as `en`."""
    tasks: tuple[Text, ...] = Field(min_length=1)
    """What was asked of the systems."""
    conditions: Text
    """The circumstances under which the evidence was collected."""
    excluded: tuple[Text, ...] = Field(min_length=1)
    """What was not tested and must not be concluded from this."""


Trigger = Literal[
    "model_weights",
    "tokenizer",
    "template",
    "data_revision",
    "scaffold",
    "scorer",
    "rubric",
    "contamination_notice",
]


class Validity(Document):
    """How long the claims stand, and what ends them early."""

    period: Period
    """From the oldest evidence to the expiry."""
    triggers: tuple[Trigger, ...] = Field(min_length=1)
    """Changes that end the window before its time."""


class _Assertion(Document):
    over: Literal["primary", "every", "at_least"]
    """Which configurations it must hold in: the primary one, every one, or at least `r` of them."""
    r: int | None = Field(default=None, ge=1)
    """With `over: at_least`: in how many configurations."""

    @model_validator(mode="after")
    def _r_goes_with_at_least(self) -> _Assertion:
        if (self.over == "at_least") != (self.r is not None):
            raise ValueError("r must be given with over: at_least, and only there")
        return self


class RanksAbove(_Assertion):
    """One model scores higher than another."""

    kind: Literal["ranks_above"]
    above: Identifier
    """The model said to rank higher."""
    below: Identifier
    """The model said to rank lower."""

    @property
    def models(self) -> tuple[str, ...]:
        return (self.above, self.below)


class NotWorse(_Assertion):
    """One model is not worse than another by more than a margin (non-inferiority)."""

    kind: Literal["not_worse_by_more_than"]
    model: Identifier
    """The model said to be not much worse."""
    than: Identifier
    """The model it is compared with."""
    margin: Fraction
    """The largest loss that would still be accepted, in the unit of the headline estimand."""

    @property
    def models(self) -> tuple[str, ...]:
        return (self.model, self.than)


class Equivalent(_Assertion):
    """Two models differ by less than a margin (two one-sided tests)."""

    kind: Literal["equivalent"]
    model: Identifier
    """One of the two models."""
    to: Identifier
    """The other."""
    margin: Fraction
    """The largest difference that counts as none, in the unit of the headline estimand."""

    @property
    def models(self) -> tuple[str, ...]:
        return (self.model, self.to)


class AtLeast(_Assertion):
    """A model's headline estimate is at least a value."""

    kind: Literal["at_least"]
    model: Identifier
    """The model."""
    value: Fraction
    """The value, in the unit of the headline estimand."""

    @property
    def models(self) -> tuple[str, ...]:
        return (self.model,)


class AtMost(_Assertion):
    """A model's headline estimate is at most a value."""

    kind: Literal["at_most"]
    model: Identifier
    """The model."""
    value: Fraction
    """The value, in the unit of the headline estimand."""

    @property
    def models(self) -> tuple[str, ...]:
        return (self.model,)


class Trend(_Assertion):
    """Each model of an ordered list scores higher than the one before it."""

    kind: Literal["trend"]
    rising: tuple[Identifier, ...] = Field(min_length=2)
    """The models, from the lowest to the highest."""

    @property
    def models(self) -> tuple[str, ...]:
        return self.rising


Assertion = Annotated[
    RanksAbove | NotWorse | Equivalent | AtLeast | AtMost | Trend, Field(discriminator="kind")
]


class ClaimScope(Document):
    """What a claim speaks about, where it says so; outside the evidence's scope it is a finding."""

    population: Text | None = None
    """Whose use or which inputs; absent: those of the evidence."""
    languages: tuple[Identifier, ...] | None = Field(default=None, min_length=1)
    """Languages, as lower-case BCP 47 tags such as `en`; absent: those of the evidence."""
    tasks: tuple[Text, ...] | None = Field(default=None, min_length=1)
    """What is asked of the systems, in the words of the evidence's scope; absent: its tasks."""
    conditions: Text | None = None
    """The circumstances; absent: those of the evidence."""


class Claim(Document):
    """One statement, with its type, its level and where possible something the program can check."""

    id: Identifier
    """A name for the claim, unique in the spec."""
    statement: Text
    """The claim in a sentence, as it would be quoted."""
    type: Literal["observation", "inference", "prediction", "normative"]
    """What kind of statement it is."""
    level: Level
    """The level the claim speaks about."""
    assertion: Assertion | None = None
    """What the program checks; a claim without one is printed as not checked."""
    scope: ClaimScope | None = None
    """What the claim speaks about; absent: the scope of the evidence."""


class Evidence(Document):
    """The evidence block: level, scope, validity window and claims."""

    level: Level
    """The level the evidence is declared at; what ran may allow less, never more."""
    scope: Scope
    """What was tested, and what was not."""
    validity: Validity
    """How long the claims stand."""
    claims: tuple[Claim, ...] = Field(min_length=1)
    """What is claimed."""
    caveat: Text | None = None
    """A plain band on the report's first page, such as "worked example"."""

    @model_validator(mode="after")
    def _claim_ids_are_unique(self) -> Evidence:
        ids = [claim.id for claim in self.claims]
        if len(set(ids)) != len(ids):
            raise ValueError(f"claims must have unique ids; got {ids}")
        return self
