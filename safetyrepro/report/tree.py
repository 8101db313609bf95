"""The printed tree: everything a report template may show, and nothing else.

A template sees one `ReportView`. Every number in it is text already, rounded once, with its
denominator beside it; a statistic without a value is the word "undefined" with a numbered note that
gives the reason. Drawings are finished SVG. HTML and PDF are printed from the same tree.

`Markup` is text that is HTML already; every other text is escaped by the template.
"""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from safetyrepro.report.elements import Align as Align
from safetyrepro.report.elements import Column as Column
from safetyrepro.report.elements import Entry as Entry
from safetyrepro.report.elements import Figure as Figure
from safetyrepro.report.elements import FindingView as FindingView
from safetyrepro.report.elements import Method as Method
from safetyrepro.report.elements import Note as Note
from safetyrepro.report.elements import Side as Side
from safetyrepro.report.elements import Table as Table
from safetyrepro.report.elements import TableRow as TableRow
from safetyrepro.report.elements import Term as Term
from safetyrepro.report.elements import VerdictView as VerdictView
from safetyrepro.report.rank_tree import RanksView


@dataclass(frozen=True, slots=True)
class ClaimView:
    """One claim with what became of it."""

    number: int
    """Its number in the report, from 1."""
    id: str
    """Its id in the spec."""
    statement: str
    """The claim as declared."""
    kind: str
    """Type and level in words, with the distance where it is not zero."""
    verdict: VerdictView
    """The verdict over the envelope."""
    standing: str
    """Whether the assertion stands over the configurations it speaks about, in words."""
    tally: str
    """How many configurations are on which side, in words; empty for a claim that was not checked."""
    strip: Markup | None
    """The configurations as a strip of marks; none for a claim that was not checked."""
    sentences: tuple[str, ...]
    """The wording in full."""
    tier: str
    """Its formality tier."""


@dataclass(frozen=True, slots=True)
class TierView:
    """The formality tier and the links that decide it."""

    name: str
    """F0, F1, F2 or F3."""
    meaning: str
    """What the tier means."""
    links: tuple[tuple[str, str, str], ...]
    """(link, tier, reason), in the order of the chain."""
    lowest: tuple[str, ...]
    """The links that hold the tier down."""


@dataclass(frozen=True, slots=True)
class WindowView:
    """From when to when the report is in force."""

    collected: str
    """Day of the oldest evidence."""
    issued: str
    """Day of issue: the window starts here."""
    expires: str
    """Day it ends."""
    issued_at: str
    """The moment of issue, for machines."""
    expires_at: str
    """The moment it ends, for machines."""
    period: str
    """The declared period, in words."""
    triggers: tuple[str, ...]
    """What ends it early."""


@dataclass(frozen=True, slots=True)
class ScopeView:
    """What was tested, and what was not."""

    tested: tuple[Term, ...]
    """Population, languages, tasks, conditions."""
    excluded: tuple[str, ...]
    """What was not tested."""


@dataclass(frozen=True, slots=True)
class SignerView:
    """Who signed."""

    name: str
    """The name in the signer's certificate."""
    role: str
    """The role in which they signed."""
    fingerprint: str
    """The fingerprint of their key, in groups of four."""


@dataclass(frozen=True, slots=True)
class Cover:
    """Page one: what the reader came for."""

    title: str
    """The title."""
    question: str | None
    """The question the study answers."""
    answer: str
    """What was found, in one sentence."""
    caveat: str | None
    """A plain band above the title."""
    evaluator: str
    """Who evaluated, and how they stand to the developer."""
    level: str
    """The level of the evidence, in words."""
    ladder: Figure
    """The four levels with evidence and claims."""
    claims: tuple[ClaimView, ...]
    """The claims, in the spec's order."""
    tier: TierView
    """The formality tier."""
    scope: ScopeView
    """What was tested, and what was not."""
    window: WindowView
    """From when to when."""
    signers: tuple[SignerView, ...]
    """Who signed; empty where the report is published without a signature."""
    verify_command: str
    """What to type to verify this report."""


@dataclass(frozen=True, slots=True)
class ResultsView:
    """The numbers: drawings and tables."""

    rank_figure: Figure
    """Rank of every system under every configuration."""
    estimate_figure: Figure
    """Estimates with intervals, against one half and the null baselines."""
    estimates: Table
    """Alignment of every cell, under both treatments of ties."""
    margins: Table
    """Mean margin of every cell, in the unit of its rule."""
    strata_figure: Figure | None
    """Estimates by stratum; none without strata, or where they are too many to draw."""
    strata: Table | None
    """Alignment by stratum; none without strata."""
    baselines: Table
    """What scores get that do not read the prompt."""
    twins: Table | None
    """Both-right and crossed ordering; none where the items are no twins."""
    outcomes: Table
    """Every item by its outcome, cell by cell."""
    pairs: Table | None
    """One row a pair of models: counts over the envelope."""
    differences: Table | None
    """One row a pair and configuration."""
    identity_check: str
    """What the identity check with swapped labels gave."""


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a factor."""

    id: str
    """Its name in the spec."""
    is_primary: bool
    """Whether the primary configuration has it."""
    details: tuple[Term, ...]
    """What it means."""


@dataclass(frozen=True, slots=True)
class FactorView:
    """One factor of the envelope."""

    name: str
    """The factor, in words."""
    meaning: str
    """What it decides."""
    levels: tuple[Level, ...]
    """Its levels."""


@dataclass(frozen=True, slots=True)
class GridCard:
    """The envelope in full: what was varied, what was held fixed, what was not varied."""

    size: str
    """How many configurations, as a product of levels."""
    digest: str
    """The digest it is cited by."""
    primary: str
    """The configuration declared before the run."""
    factors: tuple[FactorView, ...]
    """Every factor with its levels, the slowest first."""
    fixed: tuple[Term, ...]
    """What was held fixed, and at what."""
    not_varied: tuple[str, ...]
    """What was not varied: nothing is said about it."""
    templates: tuple[Term, ...]
    """What each template did on its own: default system prompts, end-of-turn."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """What the numbers were made from."""

    systems: Table
    """The systems under comparison."""
    items: tuple[Term, ...]
    """What was asked, and who decided what is right."""
    digests: tuple[Term, ...]
    """Digests of spec, results, items, envelope, code, weights, tokenizer and template."""
    rows: Table
    """The files of stored rows with their digests."""
    software: tuple[Term, ...]
    """Versions of what ran."""
    run: tuple[Term, ...]
    """When it ran, and how much."""


@dataclass(frozen=True, slots=True)
class Attached:
    """A file inside the report."""

    name: str
    """Its name."""
    size: str
    """Its size, in words."""
    digest: str
    """Its digest."""
    what: str
    """What it is."""


@dataclass(frozen=True, slots=True)
class ReportView:
    """The root of the tree: all that a template sees."""

    id: str
    """The report's id."""
    language: str
    """The language of the document, a BCP 47 tag."""
    generator: str
    """The program and version that made the report."""
    cover: Cover
    """Page one."""
    results: ResultsView
    """The numbers."""
    ranks: RanksView | None
    """Whether the ranking survives the envelope; none where there is no ranking."""
    grid: GridCard
    """The envelope in full."""
    evaluator: tuple[Term, ...]
    """Who evaluated, with what access, funding and elicitation."""
    methods: tuple[Method, ...]
    """How the numbers were computed."""
    provenance: Provenance
    """What they were made from."""
    findings: tuple[FindingView, ...]
    """Defects and remarks, the gravest first."""
    non_claims: tuple[str, ...]
    """What the report does not say."""
    attachments: tuple[Attached, ...]
    """The files inside the document; empty where none are."""
    verdict_key: tuple[VerdictView, ...]
    """Every verdict that occurs, with its meaning."""
