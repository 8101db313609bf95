"""From the counts of an envelope to one verdict, and from p-values to whether an assertion stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from safetyrepro.claims.numbers import counted
from safetyrepro.data.report_record import VerdictName
from safetyrepro.data.results import ClaimTest, Contrast
from safetyrepro.spec.evidence import Assertion

Standing = Literal["supported", "contradicted", "undecided", "refused", "not checked"]


@dataclass(frozen=True, slots=True)
class Counts:
    """Configurations reliably ahead, reliably behind, with a test, and in the envelope."""

    ahead: int
    behind: int
    n: int
    envelope: int


def joint_counts(test: ClaimTest) -> Counts:
    """The counts over all contrasts of a claim.

    A configuration is ahead when every contrast is reliably ahead there, behind when any contrast is
    reliably behind: a trend needs all its steps, an equivalence both its sides. A contrast without a test
    keeps a configuration from being ahead, and never hides one that is behind.
    """
    envelope = len(test.contrasts[0].differences)
    ahead = behind = n = 0
    for index in range(envelope):
        signs = [contrast.differences[index].ahead for contrast in test.contrasts]
        against = any(sign == -1 for sign in signs)
        n += against or None not in signs
        ahead += all(sign == 1 for sign in signs)
        behind += against
    return Counts(ahead=ahead, behind=behind, n=n, envelope=envelope)


def envelope_verdict(counts: Counts, *, equivalent: bool) -> VerdictName:
    """The verdict over an envelope; exactly one applies.

    Source: this project's measurement decisions. `equivalent` (two one-sided tests in every
    configuration) takes precedence over undetermined only.
    """
    if counts.n == 0:
        return "REFUSED"
    if counts.ahead and counts.behind:
        return "REVERSED BY THE HARNESS"
    if counts.behind:
        return "CONTRADICTED"
    if counts.ahead == counts.envelope:
        return "HOLDS THROUGHOUT"
    if counts.ahead:
        return "HOLDS WHERE DECIDABLE"
    return "EQUIVALENT WITHIN" if equivalent else "UNDETERMINED"


def one_sided_alpha(confidence: float) -> float:
    """Level of every one-sided test, margins and equivalences too: half of 1 - confidence.

    So a test decides exactly where the two-sided interval at that confidence does.
    """
    return (1.0 - confidence) / 2.0


def is_equivalent(contrast: Contrast, *, confidence: float) -> bool:
    """Whether two one-sided tests put the pair within the margin in every configuration."""
    return contrast.equivalence_p is not None and contrast.equivalence_p <= one_sided_alpha(confidence)


def standing(test: ClaimTest, *, confidence: float) -> Standing:
    """Whether the assertion stands over the configurations it speaks about."""
    alpha = one_sided_alpha(confidence)
    if test.p_holds is None or test.p_fails is None:
        return "refused"
    if test.p_holds <= alpha:
        return "supported"
    if test.p_fails <= alpha:
        return "contradicted"
    return "undecided"


def quantifier_words(assertion: Assertion | None, *, envelope: int) -> str:
    """Which configurations an assertion speaks about."""
    if assertion is None:
        return "none"
    match assertion.over:
        case "primary":
            return "the primary configuration"
        case "every":
            return f"every one of the {counted(envelope, 'configuration')}"
        case "at_least":
            return f"at least {assertion.r} of the {counted(envelope, 'configuration')}"
