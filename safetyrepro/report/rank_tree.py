"""What the chapter on ranks, and the page that is nothing else, may show."""

from __future__ import annotations

from dataclasses import dataclass

from safetyrepro.report.elements import Figure, FindingView, Method, Table, Term, VerdictView


@dataclass(frozen=True, slots=True)
class PairView:
    """One pair of systems in words."""

    statement: str
    """Who is compared with whom."""
    verdict: VerdictView
    """The verdict over the envelope."""
    sentences: tuple[str, ...]
    """Its wording."""


@dataclass(frozen=True, slots=True)
class RanksView:
    """The chapter: does the ranking survive the harness?"""

    lead: tuple[str, ...]
    """What was found, in a few sentences."""
    bumps: Figure
    """Ranks over configurations in the order of their likeness."""
    reversals: Figure | None
    """Who is reliably ahead of whom where; none with fewer than two systems."""
    sets: Figure | None
    """The ranks that each system can have."""
    pairs: Table | None
    """One row a pair: counts and verdict."""
    words: tuple[PairView, ...]
    """The pairs that a reader should look at first, in words."""
    words_left_out: int
    """Pairs without words here."""
    floors: Figure | None
    """Agreement against its floor; none where all of it is undefined."""
    agreement: tuple[Term, ...]
    """What is known, or undefined, about agreement and noise."""
    orderings: Table | None
    """Which orderings occur."""
    factors: Figure | None
    """What changing one factor alone does; none where no factor varies."""
    factor_words: str
    """The factor that matters most, in a sentence."""
    squares: Table | None
    """Where the spread of item scores comes from."""
    squares_reason: str
    """Why it is undefined, where it is."""
    sensitivity: tuple[Term, ...]
    """Fewest removals, missing outcomes, effective configurations, first places."""
    key: tuple[VerdictView, ...]
    """Every verdict that occurs, with its meaning."""


@dataclass(frozen=True, slots=True)
class RanksPage:
    """A page about somebody's scores: a study of ranks, and no claim report."""

    title: str
    """What it is about."""
    question: str
    """The question it answers."""
    caveat: str
    """What it is not."""
    language: str
    """A BCP 47 tag."""
    generator: str
    """The program and version that made it."""
    id: str
    """The study's short digest."""
    made: str
    """The day on which it was made."""
    made_at: str
    """The moment, for machines."""
    ranks: RanksView
    """The chapter."""
    scores: Table | None
    """Mean scores with their intervals."""
    card: tuple[Term, ...]
    """The grid card: what was varied, and what was held fixed."""
    levels: tuple[tuple[str, str], ...]
    """Every factor with its levels."""
    sources: tuple[Term, ...]
    """The files with their digests."""
    findings: tuple[FindingView, ...]
    """What the analysis found."""
    methods: tuple[Method, ...]
    """How the numbers were computed."""
    limits: str
    """What follows from it, and what does not."""
