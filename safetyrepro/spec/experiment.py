"""The experiment spec, version 1: models x configurations x items, scored and compared."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from safetyrepro.spec.base import Digest, Document, Identifier, OpenFraction, Text
from safetyrepro.spec.choices import ChoiceItems
from safetyrepro.spec.evidence import Evaluator, Evidence
from safetyrepro.spec.factors import Factor
from safetyrepro.spec.items import PairItems
from safetyrepro.spec.models import Model

EXPERIMENT_SCHEMA = "safetyrepro/experiment/v1"

Items = Annotated[PairItems | ChoiceItems, Field(discriminator="kind")]

Estimand = Literal["alignment_half", "alignment_strict", "accuracy", "gold_mass"]
"""What the headline estimates: alignment of pairs, a tie half a win or none; the measure of choices."""


class FrameScaffold(Document):
    """The protocol around the model when given text is scored: the prompt frame and nothing else."""

    kind: Literal["frame"]
    id: Identifier
    """The scaffold's name."""
    sha256: Digest | None = None
    """The expected digest of the frame (templates, system prompts, exemplars); a mismatch is refused."""


class BosContext(Document):
    """The unconditional score's context is the tokenizer's beginning-of-sequence token."""

    kind: Literal["bos"]


class TextContext(Document):
    """The unconditional score's context is a declared prompt, put through the same template."""

    kind: Literal["text"]
    text: Text
    """The prompt that stands for "no prompt", such as `Answer:`."""


Context = Annotated[BosContext | TextContext, Field(discriminator="kind")]


class GivenTextScorer(Document):
    """What every scorer of given text declares: where an answer begins, and what is too long."""

    boundary: Literal["record", "refuse"] = "record"
    """A token that spans the join of prompt and answer: scored with the answer and recorded, or refused."""
    truncation: Literal["refuse", "per_answer"] = "refuse"
    """An answer beyond the context: refused, or cut for that answer alone and counted."""
    context: Context = BosContext(kind="bos")
    """What stands for "no prompt" in unconditional scores: for pmi and the prompt-blind baseline."""


class LoglikScorer(GivenTextScorer):
    """Log-likelihood of the given answer after the given prompt."""

    kind: Literal["loglik"]


class ImplicitRewardScorer(GivenTextScorer):
    """The model's log-likelihood of the given answer minus that of its `reference` model.

    The reward that direct preference optimisation fits, without its factor beta, which orders nothing
    (arXiv 2305.18290, equation 5). Rules: sum, mean, byte.
    """

    kind: Literal["implicit_reward"]


class RewardScorer(GivenTextScorer):
    """The reward that a sequence-classification head gives prompt and answer.

    It has one rule, `sum` (the head's number as it is), and its context is a text: what stands for "no
    prompt" in the prompt-blind baseline. Nothing is cut: `truncation` is refuse.
    """

    kind: Literal["reward"]


Scorer = Annotated[LoglikScorer | ImplicitRewardScorer | RewardScorer, Field(discriminator="kind")]


class Device(Document):
    """Where and how the models run."""

    name: Literal["auto", "cpu", "cuda"] = "auto"
    """`auto` takes a GPU where there is one."""
    attention: Literal["auto", "eager", "sdpa"] = "auto"
    """The attention implementation; part of the cache key."""
    compile: bool = False
    """Whether the model is compiled; part of the cache key."""
    token_budget: int | None = Field(default=None, ge=16)
    """Tokens packed into one forward pass; absent: the device's default."""
    shard_items: int = Field(default=32, ge=1, le=10_000)
    """Items a shard: the unit of resume and of cache."""


class Analysis(Document):
    """What is estimated, and how uncertainty is expressed."""

    estimand: Literal["alignment_half", "alignment_strict"] = "alignment_half"
    """The headline of pairs: reference alignment with a tie as half a win, or as no win. Of choices it is
    `items.measure`, and this is absent."""
    confidence: OpenFraction = 0.95
    """Confidence level of every interval and of the joint decisions."""
    resamples: int = Field(default=10_000, ge=200, le=1_000_000)
    """Bootstrap resamples."""
    joint_resamples: int = Field(default=4_000, ge=200, le=1_000_000)
    """Resamples of the joint step-down over configurations and declared pairs."""
    cluster: Literal["declared", "none"] = "declared"
    """Resample the clusters of `items.fields.cluster`, or single items."""
    equivalence_margin: OpenFraction = 0.05
    """The difference below which two models count as equal, in the unit of the estimand."""
    correction: Literal["holm"] = "holm"
    """Family-wise correction over the claims declared for the primary configuration."""


class Experiment(Document):
    """An experiment: models x configurations x items, scored and compared, with the claims it is for."""

    schema_: Literal["safetyrepro/experiment/v1"] = Field(alias="schema")
    """The document's kind and version."""
    id: Identifier
    """A short name for the study."""
    version: int = Field(ge=1)
    """The version of this spec; raise it with every change after a report was published."""
    title: Text
    """The title on the report's cover."""
    question: Text | None = None
    """The question the study answers, in a sentence."""
    seed: int = Field(ge=0, le=2**53 - 1)
    """The seed of everything random."""
    evaluator: Evaluator
    """Who evaluates."""
    models: tuple[Model, ...] = Field(min_length=1)
    """The systems under comparison."""
    items: Items
    """What is asked."""
    scaffold: FrameScaffold
    """The protocol around the model."""
    factors: tuple[Factor, ...] = Field(min_length=1)
    """The harness choices that span the envelope."""
    primary: dict[Identifier, Identifier]
    """The configuration declared before the run: a level for every factor."""
    scorer: Scorer
    """What turns an answer into a score."""
    device: Device = Device()
    """Where and how the models run."""
    analysis: Analysis = Analysis()
    """What is estimated."""
    evidence: Evidence
    """Level, scope, validity and claims."""

    @property
    def estimand(self) -> Estimand:
        """What the headline estimates: `analysis.estimand` of pairs, `items.measure` of choices."""
        return self.items.measure if isinstance(self.items, ChoiceItems) else self.analysis.estimand
