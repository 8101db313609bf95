"""A pair of models over an envelope, and what single factors do, as a RankStudy stores them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from safetyrepro.data.quantities import NoEstimate
from safetyrepro.spec.base import Document


class FactorChange(Document):
    """What changing one factor and nothing else does to a pair's decision."""

    factor: str
    """The factor."""
    matched: int
    """Matched changes: pairs of configurations that differ in this factor only."""
    decided: int
    """Of these, with a decision on both sides."""
    reversed_: int = Field(alias="reversed")
    """Of these, with opposite decisions."""


class ReversingSet(Document):
    """A set of factors whose change turns a decision around."""

    factors: tuple[str, ...]
    """The factors that change together."""
    times: int
    """Pairs of configurations in which it does."""


class SmallestReversal(Document):
    """The fewest factors whose change turns a decision around."""

    kind: Literal["reversal"] = "reversal"
    sets: tuple[ReversingSet, ...]
    """The smallest sets that do, the most frequent first."""
    ahead_in: str
    """A configuration in which the first is reliably ahead."""
    behind_in: str
    """One that differs from it in the first of these sets only, in which it is reliably behind."""


class EnvelopeTests(Document):
    """One-sided p-values of a direction over the envelope; each family stands for itself."""

    every: float | None
    """Of "in every configuration": the largest, unadjusted; none where a configuration has no test."""
    some: float | None
    """Of "in some configuration": maximum over the configurations of this pair."""
    at_least: int
    """The largest r for which "in at least r configurations" holds at half of 1 - confidence (partial
    conjunction); 0 where none does."""


class PairPower(Document):
    """What telling the pair apart takes, in the configuration whose spread is the median one."""

    kind: Literal["power"] = "power"
    configuration: str
    """That configuration."""
    difference_spread: float
    """Standard deviation over items of the difference."""
    correlation: float | None
    """Correlation over items of the two scores; none where one is constant."""
    design_effect: float
    """How much clusters inflate the variance of the difference, from the two standard errors."""
    items_needed: int
    """Items at which a true gap as large as the mean estimate over the envelope would be seen with 80%."""
    gap: float
    """That gap."""


class RankedPair(Document):
    """Two models over the envelope. Positive means that the first is ahead."""

    first: str
    """One model."""
    second: str
    """The other."""
    decided: str
    """One character a configuration: + reliably ahead, - reliably behind, 0 undecided, . without a test."""
    reasons: tuple[str, ...]
    """Why configurations have no test, each reason once."""
    raw_ahead: int
    """Configurations with a positive estimate. Description, not evidence."""
    raw_behind: int
    """Configurations with a negative estimate."""
    k_ahead: int
    """k+: configurations in which the first is reliably ahead."""
    k_behind: int
    """k-: configurations in which it is reliably behind."""
    n: int
    """Configurations with a test."""
    weight_ahead: float
    """Share of the envelope's weight in which the first is reliably ahead."""
    weight_behind: float
    """Share in which it is reliably behind."""
    disagreement_low: float | None
    """Least share of pairs of configurations that order the two differently; none below two."""
    disagreement_high: float | None
    """Largest such share that the joint bounds allow."""
    ahead: EnvelopeTests
    """Tests of "the first is ahead"."""
    behind: EnvelopeTests
    """Tests of "the first is behind"."""
    reversal_p: float | None
    """P-value of "ahead in some configuration and behind in another"; none where there is no test."""
    equivalence_p: float | None
    """Largest p-value of the two one-sided tests over all configurations, Holm-adjusted over all pairs;
    none without a margin."""
    detectable_gap: float | None
    """Median over configurations of the difference that would have been reliably seen with 80% power."""
    power: Annotated[PairPower | NoEstimate, Field(discriminator="kind")]
    """How many items it takes to tell the two apart."""
    factors: tuple[FactorChange, ...]
    """What each factor does alone."""
    smallest: Annotated[SmallestReversal | NoEstimate, Field(discriminator="kind")]
    """The smallest set of changes that turns the decision around."""
    surviving: int | None
    """Configurations whose decision is the same whatever the missing outcomes were; none where none is
    missing or the bounds were not computed."""
    differences: tuple[float | None, ...] | None
    """The differences; none where a run's results hold them as `comparisons`."""
    low: tuple[float | None, ...] | None
    """Lower ends of the joint bounds."""
    high: tuple[float | None, ...] | None
    """Upper ends."""


class FactorSummary(Document):
    """What changing one factor alone does, over all pairs of models."""

    factor: str
    """The factor."""
    matched: int
    """Matched changes times pairs of models."""
    decided: int
    """Of these, with a decision on both sides."""
    reversed_: int = Field(alias="reversed")
    """Of these, with opposite decisions."""
    pairs: int
    """Pairs of models that it reverses at least once."""
