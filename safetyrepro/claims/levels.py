"""Evidence levels and the signed distance between a claim and its evidence."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from safetyrepro.findings import Finding, finding
from safetyrepro.spec.base import LEVELS, Level
from safetyrepro.spec.evidence import Claim
from safetyrepro.spec.experiment import Experiment

LEVEL_MEANINGS: dict[Level, str] = {
    "model": "the log-likelihood of given text",
    "response": "what the system generated from a fixed input",
    "interaction": "a course of turns in which later inputs depended on earlier outputs",
    "deployment": "the released system with its own users, policies and oversight",
}

CLOSING_STUDIES: dict[tuple[Level, Level], str] = {
    ("model", "response"): (
        "let the system write its own answers to the same items, with the decoding it is used with, and "
        "score what it wrote"
    ),
    ("response", "interaction"): (
        "let later inputs depend on its earlier outputs (users, simulated or real; tools), score the whole "
        "course, and run an agent that does nothing beside it"
    ),
    ("interaction", "deployment"): (
        "observe the released system with its own users, policies and oversight over a stated period"
    ),
}
"""What kind of study closes each step upward. Our wording; the levels are those of arXiv 2605.04454."""

ATTRIBUTION_STUDY = (
    "vary the scaffold over at least two that differ and run an agent that does nothing; what holds under "
    "all of them, and not for that agent, may be attributed to the lower level"
)
"""What would allow an attribution downward. Our choice."""


@dataclass(frozen=True, slots=True)
class ClosingStep:
    """One level between evidence and claim, and the study that would close it."""

    start: Level
    end: Level
    study: str


def closing_steps(claim: Level, evidence: Level) -> tuple[ClosingStep, ...]:
    """The studies that lie between evidence and a claim, from the evidence on; none on one level.

    A claim below its evidence is an attribution, which one study settles whatever the distance.
    """
    place, goal = LEVELS.index(evidence), LEVELS.index(claim)
    if goal < place:
        return (ClosingStep(evidence, claim, ATTRIBUTION_STUDY),)
    return tuple(
        ClosingStep(start, end, CLOSING_STUDIES[start, end])
        for start, end in itertools.pairwise(LEVELS[place : goal + 1])
    )


def level_ran(experiment: Experiment) -> Level:
    """The level that what ran allows; the first rule of the ladder that fits, from the top.

    Scoring given text is model-level evidence whatever the text is about (Source: arXiv 2605.30758;
    arXiv 2605.04454 files some likelihood benchmarks under response).
    """
    match experiment.scorer.kind:
        case "loglik" | "implicit_reward" | "reward":
            return "model"


def lower_level(first: Level, second: Level) -> Level:
    """The lower of two levels."""
    return min(first, second, key=LEVELS.index)


def inferential_distance(claim: Level, evidence: Level) -> int:
    """Levels from the evidence up (+) or down (-) to the claim; 0 where they stand on one level."""
    return LEVELS.index(claim) - LEVELS.index(evidence)


def printed_type(claim: Claim, distance: int) -> str:
    """The claim's type as it may be printed: away from its evidence's level nothing is observed."""
    return "inference" if distance != 0 and claim.type == "observation" else claim.type


def find_level_defects(experiment: Experiment) -> Iterator[Finding]:
    """Claims away from their evidence's level, and evidence declared above what ran."""
    ran = level_ran(experiment)
    declared = experiment.evidence.level
    if inferential_distance(declared, ran) > 0:
        yield finding("SR205", "evidence.level", f"declared {declared}, what ran allows {ran}")
    level = lower_level(ran, declared)
    for claim in experiment.evidence.claims:
        distance = inferential_distance(claim.level, level)
        where = f"claim {claim.id}"
        if distance > 0:
            yield finding("SR201", where, _speaks(claim, level, distance))
        elif distance < 0:
            yield finding("SR202", where, _speaks(claim, level, distance))
        if claim.assertion is None:
            yield finding("SR203", where, "has no assertion")


def _speaks(claim: Claim, level: Level, distance: int) -> str:
    return f"speaks of {claim.level}, the evidence is {level} (distance {distance:+d})"
