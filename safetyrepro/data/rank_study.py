"""RankStudy: what an envelope of configurations says about a ranking, as `ranks.json` stores it.

No clock in it: the same scores give the same bytes, whatever the order of their rows. Lists over models,
configurations and levels are in the order of `models`, `configurations` and `factors`.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from safetyrepro.data.quantities import FindingRecord, NoEstimate, Quantity
from safetyrepro.data.rank_pair import FactorSummary, RankedPair
from safetyrepro.spec.base import Document

RANKS_SCHEMA: Final = "safetyrepro/ranks/v1"


class ScoreSource(Document):
    """A file that scores were read from."""

    name: str
    """Its name, without its folder."""
    digest: str
    """The digest of its bytes."""
    rows: int
    """Rows that were read."""


class Direction(Document):
    """What a better score is."""

    kind: Literal["higher", "lower", "near"]
    """Larger is better, smaller is better, or a mean score near the target is better."""
    target: float | None = None
    """The target, where near it is better."""


class RankedFactor(Document):
    """One harness choice of the envelope."""

    name: str
    """Its name."""
    levels: tuple[str, ...]
    """Its levels; one level is held fixed."""
    weights: tuple[float, ...] | None
    """The declared weight of every level; none: all configurations count alike."""


class RankedConfiguration(Document):
    """One configuration of the envelope."""

    id: str
    """Its id: factor=level pairs joined by commas."""
    levels: tuple[str, ...]
    """Its level of every factor."""
    primary: bool
    """Whether it was declared as the primary one."""
    weight: float
    """Its share of the envelope's weight."""


class RankedModel(Document):
    """One model over the envelope; lists have one entry a configuration."""

    id: str
    """Its id."""
    name: str
    """Its printed name."""
    scores: tuple[Quantity, ...] | None
    """Its mean scores as given, with their own intervals; none where a run's results hold its cells."""
    ranks: tuple[float | None, ...]
    """Its rank by mean score, 1 the best; equal scores share their mean rank. Description, not evidence."""
    lowest: tuple[int, ...]
    """The best rank that the joint bounds leave possible."""
    highest: tuple[int, ...]
    """The worst rank that they leave possible."""
    top_shares: tuple[float, ...] | None
    """Share of joint resamples in which it is among the first k; none where that is undefined."""


class Floored(Document):
    """Agreement between configurations beside the agreement of a configuration with itself."""

    kind: Literal["floored"] = "floored"
    between: float
    """Mean over pairs of different configurations, one half of the items against the other."""
    floor: float
    """The same for each configuration with itself: what noise alone leaves at half the items."""


class Correlations(Document):
    """Rank correlation between configurations on all items."""

    kind: Literal["correlations"] = "correlations"
    tau: float
    """Mean Kendall's tau-b over pairs of different configurations."""
    lowest_tau: float
    """The smallest."""
    least_alike: tuple[str, str]
    """The two configurations that have it."""
    rho: float
    """Mean Spearman's rho."""


class LabelSwapTest(Document):
    """Whether configurations rank models differently, by swapping their labels within items."""

    kind: Literal["label-swap"] = "label-swap"
    p_value: float
    """Share of swaps, the data included, with at least as large an interaction of model and
    configuration."""
    observed_tau: float | None
    """Mean tau-b between configurations; none below five models."""
    swapped_tau: float | None
    """What it would be were the configurations alike on these items."""
    swaps: int
    """Swaps."""


class RepeatRuns(Document):
    """Agreement of repeated runs."""

    kind: Literal["repeats"] = "repeats"
    runs: int
    """Runs."""
    floor: float
    """Mean tau-b between different runs of the same configuration."""
    between: float
    """Mean tau-b between different runs of different configurations."""


class Noise(Document):
    """Agreement between configurations, and what noise alone does; each may be undefined for itself."""

    correlations: Annotated[Correlations | NoEstimate, Field(discriminator="kind")]
    """Rank correlation on all items."""
    tau: Annotated[Floored | NoEstimate, Field(discriminator="kind")]
    """Tau-b from split halves."""
    rho: Annotated[Floored | NoEstimate, Field(discriminator="kind")]
    """Spearman's rho from split halves."""
    top_overlap: Annotated[Floored | NoEstimate, Field(discriminator="kind")]
    """Share of the first k that two configurations have in common, from split halves; churn is one minus
    this."""
    splits: int
    """Random halvings."""
    label_swap: Annotated[LabelSwapTest | NoEstimate, Field(discriminator="kind")]
    """The label-swap test."""
    repeats: Annotated[RepeatRuns | NoEstimate, Field(discriminator="kind")]
    """Repeated runs."""


class OrderingCount(Document):
    """One ordering of the models and where the estimates show it."""

    places: tuple[tuple[str, ...], ...]
    """The models, best first; a place with several models is a tie."""
    configurations: tuple[int, ...]
    """The configurations that show it, by place; empty for an ordering that never occurs."""


class Orderings(Document):
    """Which of the M! orderings occur. Description, not evidence."""

    kind: Literal["orderings"] = "orderings"
    possible: str
    """M!, in digits."""
    occurring: int
    """Distinct orderings that occur, those with ties too."""
    complete: bool
    """Whether every possible ordering is listed, those that never occur too."""
    listed: tuple[OrderingCount, ...]
    """The most frequent first."""


class TopPlaces(Document):
    """The first k places over the envelope."""

    k: int
    """How many places."""
    sure: tuple[str, ...]
    """Models that the joint bounds keep among the first k in every configuration."""
    possible: tuple[str, ...]
    """Models that may be among the first k in some configuration."""
    resamples: int
    """Joint resamples behind `top_shares`."""
    reason: str | None
    """Why `top_shares` are undefined, where they are."""


class ShareOfSquares(Document):
    """A share of the total sum of squares."""

    part: str
    """What it belongs to: `model`, `item`, a factor, `model x factor`, `factors together`, `model x
    factors together`, `residual`."""
    share: float
    """The share; all of them add up to one."""
    low: float
    """Lower end of its interval."""
    high: float
    """Upper end."""


class SumsOfSquares(Document):
    """Where the spread of item scores comes from, within this envelope."""

    kind: Literal["squares"] = "squares"
    shares: tuple[ShareOfSquares, ...]
    """The shares."""
    orthogonal: bool
    """Whether factors are crossed evenly, so that single shares are the usual ones."""
    items: int
    """Items with a score in every cell, used here."""
    resamples: int
    """Resamples behind the intervals."""


class Value(Document):
    """A number without an interval."""

    kind: Literal["value"] = "value"
    value: float
    """The number."""


class Removals(Document):
    """The fewest items without which another model is first in one configuration."""

    kind: Literal["removals"] = "removals"
    top: str
    """The first model."""
    rival: str
    """The model that is then ahead of it."""
    count: int
    """How many items."""


class MissingOutcomes(Document):
    """Scores that are missing, and whether decisions survive them."""

    scores: int
    """Scores of the grid: models x configurations x items."""
    missing: int
    """Missing ones."""
    lowest: float | None
    """The lowest score that a missing one could have had, in the worst case."""
    highest: float | None
    """The highest."""
    decisions: int | None
    """Decisions (pairs x configurations), with a test or without."""
    surviving: int | None
    """Decisions that are the same whatever the missing outcomes were; none where not computed."""
    reason: str | None
    """Why the worst case was not computed, where it was not."""


class RankStudy(Document):
    """What an envelope says about a ranking of models; everything a page may print."""

    schema_: Literal["safetyrepro/ranks/v1"] = Field(default=RANKS_SCHEMA, alias="schema")
    """The document's kind and version."""
    source: Literal["run", "scores", "counts"]
    """Scored by this program, somebody's item scores, or somebody's counts (which permit no pairing)."""
    files: tuple[ScoreSource, ...]
    """The files that scores were read from; none for a run."""
    score: str
    """What the score is called."""
    direction: Direction
    """What is better."""
    confidence: float
    """Confidence level of every interval; of joint decisions over all pairs and configurations at once."""
    method: str
    """How joint decisions were made."""
    joint_resamples: int
    """Resamples behind the joint decisions."""
    seed: int
    """The seed of everything random."""
    margin: float | None
    """The declared margin of equivalence."""
    envelope_digest: str
    """The digest that the envelope is cited by."""
    models: tuple[RankedModel, ...]
    """The models."""
    factors: tuple[RankedFactor, ...]
    """The factors, slowest first."""
    configurations: tuple[RankedConfiguration, ...]
    """The envelope."""
    full_grid: bool
    """Whether every combination of levels occurs."""
    similarity_order: tuple[int, ...]
    """The configurations by place, so that those that rank alike stand side by side."""
    effective_configurations: Annotated[Value | NoEstimate, Field(discriminator="kind")]
    """How many configurations there are with near-duplicates counted as one."""
    items: int
    """Items; for counts the largest number of trials in a cell."""
    clusters: int
    """Independent groups the items fall into."""
    clustered: bool
    """Whether clusters were named."""
    pairs: tuple[RankedPair, ...]
    """Every pair of models once; the joint family is all of them times all configurations."""
    factor_summaries: tuple[FactorSummary, ...]
    """What each factor does alone, over all pairs."""
    noise: Noise
    """Agreement between configurations beside its floors."""
    orderings: Annotated[Orderings | NoEstimate, Field(discriminator="kind")]
    """Which orderings occur."""
    top: TopPlaces | None
    """The first k places; none with fewer than two models."""
    squares: Annotated[SumsOfSquares | NoEstimate, Field(discriminator="kind")]
    """Where the spread comes from."""
    removals: tuple[Annotated[Removals | NoEstimate, Field(discriminator="kind")], ...]
    """The fewest items that change the top, one a configuration."""
    missing: MissingOutcomes
    """Missing outcomes."""
    findings: tuple[FindingRecord, ...]
    """What the analysis found."""

    @property
    def primary(self) -> int | None:
        """The place of the primary configuration, where one was declared."""
        return next((place for place, one in enumerate(self.configurations) if one.primary), None)
