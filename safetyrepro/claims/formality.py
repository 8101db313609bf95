"""The formality tier: along one chain of evidence the weakest link counts."""

from __future__ import annotations

from safetyrepro.data.report_record import Tier, TierLink
from safetyrepro.spec.experiment import Experiment
from safetyrepro.spec.items import Origin

TIERS: tuple[Tier, ...] = ("F0", "F1", "F2", "F3")
MINIMUM_AGREEMENT = 0.667

TIER_MEANINGS: dict[Tier, str] = {
    "F0": "at least one link was decided by a model, or by people without sufficient measured agreement",
    "F1": "every link is a fixed program or a documented key",
    "F2": "people decided, with sufficient measured agreement",
    "F3": "proved, or checked exhaustively over a declared finite domain",
}


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
