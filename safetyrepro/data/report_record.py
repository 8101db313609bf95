"""The report record: what `report.json` says, dated and signed."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from safetyrepro.data.results import FindingRecord
from safetyrepro.spec.base import Document, Level
from safetyrepro.spec.evidence import Evaluator, Scope

REPORT_SCHEMA: Final = "safetyrepro/report/v1"

Tier = Literal["F0", "F1", "F2", "F3"]
VerdictName = Literal[
    "HOLDS THROUGHOUT",
    "HOLDS WHERE DECIDABLE",
    "REVERSED BY THE HARNESS",
    "CONTRADICTED",
    "EQUIVALENT WITHIN",
    "UNDETERMINED",
    "REFUSED",
    "NOT CHECKED",
]


class TierLink(Document):
    """One link of the chain that decides the formality tier."""

    link: Literal["label", "scorer", "target", "code"]
    """Which link."""
    tier: Tier
    """Its tier."""
    reason: str
    """Why, in a sentence."""


class ClaimVerdict(Document):
    """What becomes of one claim."""

    claim: str
    """The claim's id."""
    statement: str
    """The claim as declared."""
    type: Literal["observation", "inference", "prediction", "normative"]
    """The type as declared."""
    printed_type: Literal["observation", "inference", "prediction", "normative"]
    """The type as printed: a claim away from its evidence's level is never an observation."""
    level: Level
    """The level the claim speaks about."""
    distance: int
    """Signed inferential distance: levels from the evidence up (+) or down (-) to the claim."""
    tier: Tier
    """Its formality tier."""
    verdict: VerdictName
    """The verdict over the envelope."""
    margin: float | None
    """The margin of an equivalence, a non-inferiority or EQUIVALENT WITHIN; else none."""
    quantifier: str
    """Which configurations the assertion speaks about, in words."""
    assertion: Literal["supported", "contradicted", "undecided", "refused", "not checked"]
    """Whether the assertion stands over those configurations."""
    sentences: tuple[str, ...]
    """The wording, as `MEASUREMENT` prescribes: numbers, envelope, verdict, limits."""


class Window(Document):
    """The validity window."""

    collected_at: str
    """Time of the oldest evidence, UTC."""
    issued_at: str
    """When the report was issued, UTC; the window starts here."""
    expires_at: str
    """When it ends, UTC: counted from `collected_at`."""
    period: str
    """The declared period."""
    triggers: tuple[str, ...]
    """Changes that end it early; unchecked unless `verify --against` is used."""


class Materials(Document):
    """The digests that tie a report to what it was made from."""

    spec: str
    """Digest of the spec file's bytes."""
    results: str
    """Digest of `results.json`."""
    manifest: str
    """Digest of `manifest.json`."""
    items: str
    """Digest of the items."""
    rows: dict[str, str]
    """Digest of every stored shard file, by its path in the bundle."""


class Report(Document):
    """What may be claimed, at which level, within which scope, until when."""

    schema_: Literal["safetyrepro/report/v1"] = Field(default=REPORT_SCHEMA, alias="schema")
    """The document's kind and version."""
    id: str
    """The report's id: the spec's id, its version and the bundle's digest."""
    title: str
    """The title."""
    question: str | None
    """The question the study answers."""
    answer: str
    """What was found, in one sentence."""
    caveat: str | None
    """A plain band on the first page."""
    level: Level
    """The level of the evidence: the lower of what ran and what was declared."""
    level_ran: Level
    """The level that what ran allows."""
    tier: Tier
    """The formality tier: the lowest link's."""
    tier_links: tuple[TierLink, ...]
    """The links."""
    scope: Scope
    """What was tested, and what was not."""
    window: Window
    """The validity window."""
    evaluator: Evaluator
    """Who evaluated."""
    claims: tuple[ClaimVerdict, ...]
    """The verdicts."""
    non_claims: tuple[str, ...]
    """What this report does not say."""
    findings: tuple[FindingRecord, ...]
    """Defects and remarks."""
    materials: Materials
    """What the report was made from."""
    generator: str
    """The program and version that made it."""
