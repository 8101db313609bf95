"""What is stored in the place of a number: with its interval, without one, or with the reason for none."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from safetyrepro.spec.base import Document


class Estimate(Document):
    """A number with its interval and its denominator."""

    kind: Literal["estimate"] = "estimate"
    value: float
    """The point estimate."""
    low: float
    """Lower end of the interval."""
    high: float
    """Upper end of the interval."""
    confidence: float
    """Confidence level of the interval, a fraction."""
    method: str
    """How the interval was made."""
    n: int
    """The denominator: items that carry a number."""
    clusters: int
    """Independent groups the items fall into."""


class NoEstimate(Document):
    """A statistic that has no value on these data, and why."""

    kind: Literal["undefined"] = "undefined"
    reason: str
    """Why there is no number."""
    n: int
    """Items that would have carried a number."""


class PointOnly(Document):
    """A number whose interval does not exist on these data, and why."""

    kind: Literal["point"] = "point"
    value: float
    """The point estimate."""
    reason: str
    """Why there is no interval."""
    n: int
    """The denominator: items that carry a number."""
    clusters: int
    """Independent groups the items fall into."""


Quantity = Annotated[Estimate | PointOnly | NoEstimate, Field(discriminator="kind")]


class FindingRecord(Document):
    """A finding, as stored."""

    code: str
    """Its code."""
    where: str
    """Its place."""
    detail: str
    """The particulars."""
