"""Results: every number that a report may print, as `results.json` stores it. No clock in it."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from safetyrepro.data.quantities import Estimate as Estimate
from safetyrepro.data.quantities import FindingRecord as FindingRecord
from safetyrepro.data.quantities import NoEstimate as NoEstimate
from safetyrepro.data.quantities import PointOnly as PointOnly
from safetyrepro.data.quantities import Quantity as Quantity
from safetyrepro.data.rank_study import RankStudy
from safetyrepro.spec.base import Document
from safetyrepro.spec.experiment import Estimand

RESULTS_SCHEMA: Final = "safetyrepro/results/v1"


class ModelInfo(Document):
    """A system under comparison."""

    id: str
    """Its id in the spec."""
    name: str
    """Its printed name."""


class ConfigurationInfo(Document):
    """One configuration of the envelope."""

    id: str
    """Its id: factor=level pairs joined by commas."""
    levels: dict[str, str]
    """Its level of every factor."""
    primary: bool
    """Whether it was declared as the primary one before the run."""


class StratumInfo(Document):
    """One stratum of the items."""

    name: str
    """Its name."""
    items: int
    """Items in it."""
    clusters: int
    """Clusters in it."""


class ItemsInfo(Document):
    """What was asked, in numbers."""

    id: str
    """The item set's id."""
    name: str
    """Its printed name."""
    digest: str
    """Digest over the digests of all items, whatever their order."""
    items: int
    """Items."""
    clusters: int
    """Clusters (the number of items where none are declared)."""
    clustered: bool
    """Whether the spec names a cluster."""
    kind: Literal["pair", "choice"] = "pair"
    """Pairs, or choices with any number of options."""
    twins: bool
    """Whether the clusters are crossed twins."""
    strata: tuple[StratumInfo, ...]
    """Strata, in order of their names."""


class StratumEstimate(Document):
    """A cell's headline estimate within one stratum."""

    stratum: str
    """The stratum."""
    headline: Quantity
    """The headline estimate there."""


class Twins(Document):
    """What crossed twins add: a score that does not read the prompt gets neither."""

    both_right: Quantity
    """Share of twins with both pairs right."""
    crossed: Quantity
    """Share of twins whose two right pairings outscore the two wrong ones in sum."""


class Cell(Document):
    """One model under one configuration."""

    model: str
    """The model."""
    configuration: str
    """The configuration."""
    pass_: str = Field(alias="pass")
    """The pass its scores were read off."""
    outcomes: dict[str, int]
    """How many items had which outcome; they add up to the number of items."""
    spans_join: int
    """Items with a token that spans the join of prompt and answer."""
    headline: Quantity
    """The declared estimand with its interval (BCa bootstrap, clustered)."""
    half: Quantity | None
    """Of pairs: pairwise reference alignment, a tie as half a win (percentile bootstrap, clustered)."""
    strict: Quantity | None
    """Of pairs: pairwise reference alignment, a tie as no win."""
    hoeffding_radius: float | None
    """Of pairs: distribution-free radius of the strict estimate, clustered where declared."""
    margin: Quantity
    """Mean score of the chosen minus the rejected answer, in the rule's unit; of choices, of the best right
    minus the best wrong option."""
    unit: str
    """The unit of `margin`."""
    strata: tuple[StratumEstimate, ...]
    """The headline estimate by stratum."""
    weighted: Quantity | None
    """The headline estimate under the declared stratum weights."""
    twins: Twins | None
    """Both-right and crossed ordering, for crossed twins."""
    prompt_blind: Quantity | None
    """The same estimand with the unconditional score, which reads no prompt."""
    longer_wins: Quantity
    """The same estimand if the answer with most tokens always won."""
    shorter_wins: Quantity
    """The same estimand if the answer with fewest tokens always won."""
    first_option: Quantity | None = None
    """Of choices: the same estimand if the first option always won."""
    swapped_identity: bool | None
    """Of pairs: whether strict + strict with swapped labels + tie rate is exactly one."""


class RandomBaseline(Document):
    """What a fair coin gets on these pairs, or one option drawn at random on these choices."""

    expected: float
    """Its expectation."""
    low: float
    """Lower end of its sampling interval at this number of items."""
    high: float
    """Upper end."""
    confidence: float
    """Confidence level of the interval."""


class Ranking(Document):
    """The order of the models under one configuration, by the headline estimate."""

    configuration: str
    """The configuration."""
    ranks: dict[str, float]
    """Rank by model, 1 is best; equal estimates share their mean rank; no number, no rank. Empty where the
    ranking is refused, because the models differ in more than the model (finding SR304)."""


class Difference(Document):
    """One contrast under one configuration."""

    configuration: str
    """The configuration."""
    difference: Quantity
    """The contrast with its own interval (t on clusters - 1 degrees of freedom)."""
    joint_low: float | None
    """Lower end of the joint interval over configurations and contrasts of the family."""
    joint_high: float | None
    """Upper end."""
    ahead: Literal[-1, 0, 1] | None
    """Reliably ahead (1), reliably behind (-1), undecided (0) by the joint step-down; none: no number."""
    p_ahead: float | None
    """One-sided p-value against "not ahead", unadjusted."""
    p_behind: float | None
    """One-sided p-value against "not behind", unadjusted."""


class Contrast(Document):
    """A comparison over the whole envelope: a pair of models, or a model and a value."""

    name: str
    """What is compared, in words."""
    first: str
    """The model that counts as ahead where the contrast is positive."""
    second: str | None
    """The other model; none where the first is compared with a value."""
    offset: float
    """What is added to the difference before its sign is read: a margin, or minus a value."""
    differences: tuple[Difference, ...]
    """One a configuration, in the envelope's order."""
    raw_ahead: int
    """Configurations with a positive point estimate (description only)."""
    raw_behind: int
    """Configurations with a negative point estimate (description only)."""
    k_ahead: int
    """k+: configurations reliably ahead."""
    k_behind: int
    """k-: configurations reliably behind."""
    n: int
    """Configurations with a number."""
    disagreement_low: float | None
    """Least disagreement rate that the joint bounds allow; none below two configurations."""
    disagreement_high: float | None
    """Largest disagreement rate that the joint bounds allow."""
    detectable_gap: float | None
    """Median over configurations of the difference that would have been reliably seen with 80% power."""
    equivalence_margin: float
    """The declared margin of equivalence."""
    equivalence_p: float | None
    """Largest p-value of the two one-sided tests over all configurations, Holm-adjusted over the family's
    pairs; none where a configuration has no test, and for a contrast with an offset."""


class FactorReversal(Document):
    """How often changing one factor alone reverses a pair."""

    factor: str
    """The factor."""
    matched: int
    """Matched changes: pairs of configurations that differ in this factor only."""
    reversed_: int = Field(alias="reversed")
    """Of these, how many reverse the sign of the point estimate: that of the claim's weakest contrast."""


class ClaimTest(Document):
    """The numbers a claim is decided by."""

    claim: str
    """The claim's id."""
    contrasts: tuple[Contrast, ...]
    """Its contrasts: one for a pair or a value, two for equivalence, one a step for a trend."""
    p_holds: float | None
    """One-sided p-value of the claim over its configurations, Holm-adjusted over the declared claims."""
    p_fails: float | None
    """One-sided p-value of its opposite over its configurations, Holm-adjusted over the declared claims."""
    factors: tuple[FactorReversal, ...]
    """Matched changes of single factors, and how many turn what the point estimates say of the claim."""


class Results(Document):
    """Everything computed from the stored rows of one bundle; the same rows give the same bytes."""

    schema_: Literal["safetyrepro/results/v1"] = Field(default=RESULTS_SCHEMA, alias="schema")
    """The document's kind and version."""
    spec: str
    """The spec's id."""
    spec_version: int
    """The spec's version."""
    spec_digest: str
    """The digest of the spec."""
    envelope_digest: str
    """The digest of the factors and their levels."""
    estimand: Estimand
    """The headline estimand."""
    confidence: float
    """Confidence level of every interval."""
    resamples: int
    """Bootstrap resamples of single estimates."""
    joint_resamples: int
    """Resamples of the joint step-down."""
    seed: int
    """The seed of everything random."""
    models: tuple[ModelInfo, ...]
    """The systems, in the spec's order."""
    configurations: tuple[ConfigurationInfo, ...]
    """The envelope, the last factor changing fastest."""
    items: ItemsInfo
    """What was asked."""
    cells: tuple[Cell, ...]
    """One a model and configuration, models slowest."""
    random: RandomBaseline | None
    """The coin, where there is at least one item."""
    rankings: tuple[Ranking, ...]
    """One a configuration."""
    comparisons: tuple[Contrast, ...]
    """Every pair of models over the whole envelope; the joint family is all of them."""
    claim_tests: tuple[ClaimTest, ...]
    """One a claim with an assertion; the joint family is all of them."""
    ranks: RankStudy | None = None
    """Whether the ranking survives the envelope; none where it is refused, or there is one model."""
    findings: tuple[FindingRecord, ...]
    """What the analysis found."""

    def cell(self, model: str, configuration: str) -> Cell:
        """The cell of a model under a configuration."""
        return next(
            cell for cell in self.cells if cell.model == model and cell.configuration == configuration
        )

    @property
    def primary(self) -> ConfigurationInfo:
        return next(configuration for configuration in self.configurations if configuration.primary)
