"""The formality tier: the lowest link of one chain, the best sufficient one of parallel chains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from safetyrepro.claims.formality_table import formality_table
from safetyrepro.data.report_record import Tier, TierLink
from safetyrepro.spec.experiment import Experiment
from safetyrepro.spec.items import Origin

TIERS: tuple[Tier, ...] = tuple(row.tier for row in formality_table().tiers)
MINIMUM_AGREEMENT = formality_table().agreement.minimum
TIER_MEANINGS: dict[Tier, str] = {row.tier: row.meaning for row in formality_table().tiers}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of evidence for a claim: a chain of links, and whether it alone would suffice."""

    name: str
    links: tuple[TierLink, ...]
    sufficient: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """The line that a claim's tier rests on, and the others, which corroborate it and lower nothing."""

    line: Line
    tier: Tier
    others: tuple[Line, ...]


def tier_links(experiment: Experiment) -> tuple[TierLink, ...]:
    """The links of an experiment's chain: its labels, its scorer, its target texts.

    Nobody codes anything when given text is scored, so the chain has no `code` link.
    """
    return (
        _link("label", experiment.items.labels),
        TierLink(
            link="scorer",
            tier="F1",
            reason="log-likelihood read off the model by a fixed, versioned program",
        ),
        _link("target", experiment.items.texts),
    )


def lowest_tier(links: tuple[TierLink, ...]) -> Tier:
    """The tier of a chain: its lowest link's."""
    return min((link.tier for link in links), key=TIERS.index)


def best_line(lines: Sequence[Line]) -> Standing | None:
    """The best sufficient one of parallel lines: the first of equal ones, none where none suffices.

    A line that does not suffice alone neither raises nor lowers the tier: if it lowered it, people would
    leave corroboration out.
    """
    sufficient = [line for line in lines if line.sufficient and line.links]
    if not sufficient:
        return None
    best = max(sufficient, key=lambda line: TIERS.index(lowest_tier(line.links)))
    others = tuple(line for line in lines if line is not best)
    return Standing(line=best, tier=lowest_tier(best.links), others=others)


def _link(link: str, origin: Origin) -> TierLink:
    tier, reason = origin_tier(origin)
    return TierLink.model_validate({"link": link, "tier": tier, "reason": reason})


def origin_tier(origin: Origin) -> tuple[Tier, str]:
    """The tier of one decided thing and the reason in a sentence."""
    match origin.by:
        case "program":
            return "F1", f"decided by a fixed program: {origin.note}"
        case "key":
            return "F1", f"decided by a documented key: {origin.note}"
        case "model":
            return "F0", f"decided by a model: {origin.note}"
        case "people":
            return _people_tier(origin)


def _people_tier(origin: Origin) -> tuple[Tier, str]:
    agreement = origin.agreement
    if agreement is None:
        return "F0", f"decided by people, no measured agreement: {origin.note}"
    measured = f"{agreement.statistic} lower bound {agreement.low:.3f}, {agreement.coders} coders"
    if agreement.low < MINIMUM_AGREEMENT:
        return "F0", f"decided by people, {measured}, below {MINIMUM_AGREEMENT}: {origin.note}"
    if not origin.controls_passed:
        return "F0", f"decided by people, {measured}, without gold and deletion controls: {origin.note}"
    return "F2", f"decided by people, {measured}: {origin.note}"
