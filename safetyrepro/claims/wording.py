"""The sentences of a verdict; the form is fixed so that two reports can be compared word by word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from safetyrepro.claims.numbers import counted, fraction, listed, percent_level, quoted
from safetyrepro.claims.verdicts import Counts
from safetyrepro.data.report_record import VerdictName
from safetyrepro.data.results import (
    ClaimTest,
    Contrast,
    Difference,
    Estimate,
    NoEstimate,
    PointOnly,
    Results,
)
from safetyrepro.spec.base import Level


@dataclass(frozen=True, slots=True)
class Limits:
    """What the closing sentence of every verdict states."""

    items: str
    level: Level
    tier: str
    dated: str
    expires: str


VERDICT_MEANINGS: dict[VerdictName, str] = {
    "HOLDS THROUGHOUT": "what is claimed holds reliably in every configuration of the envelope",
    "HOLDS WHERE DECIDABLE": "it holds wherever the data can decide, and nowhere is the opposite reliable",
    "REVERSED BY THE HARNESS": "which system ranks higher depends on the configuration",
    "CONTRADICTED": "the opposite is reliable in at least one configuration, and the claim in none",
    "EQUIVALENT WITHIN": "the two differ by less than the margin in every configuration",
    "UNDETERMINED": "the data decide in no configuration",
    "REFUSED": "no configuration gives a test",
    "NOT CHECKED": "the claim has no assertion that a program could check",
}
_REVERSED_CLAIM = "whether what is claimed holds depends on the configuration"

FACTOR_WORDS: dict[str, str] = {
    "template": "prompt template",
    "system": "system prompt",
    "shots": "few-shot level",
    "rule": "scoring rule",
    "dtype": "computing precision",
    "weights": "weight quantisation",
}

_Shape = Literal["pair", "margin", "equivalence", "trend", "value"]


def claim_sentences(
    test: ClaimTest,
    *,
    results: Results,
    counts: Counts,
    verdict: VerdictName,
    limits: Limits,
) -> tuple[str, ...]:
    """Four sentences: primary configuration, envelope, verdict, limits."""
    return (
        _primary_sentence(test, results),
        _envelope_sentence(test, results, counts),
        _verdict_sentence(test, verdict),
        _limits_sentence(limits),
    )


def model_name(results: Results, model: str) -> str:
    """The name of a model inside a sentence."""
    return quoted(next(info.name for info in results.models if info.id == model))


def _shape(test: ClaimTest) -> _Shape:
    """What kind of assertion the contrasts of a test stand for."""
    first = test.contrasts[0]
    if first.second is None:
        return "value"
    if len(test.contrasts) == 1:
        return "margin" if first.offset else "pair"
    second = test.contrasts[1]
    return "equivalence" if (second.first, second.second) == (first.second, first.first) else "trend"


def _named(test: ClaimTest) -> list[str]:
    """The models a test is about, in the order of its statement: of a trend, the lowest first."""
    first = test.contrasts[0]
    if first.second is None:
        return [first.first]
    if _shape(test) == "trend":
        return [first.second, *(contrast.first for contrast in test.contrasts)]
    return [first.first, first.second]


def _primary_sentence(test: ClaimTest, results: Results) -> str:
    scores = listed(
        [
            f"{model_name(results, model)}{' scored' if index == 0 else ''} {_score(results, model)}"
            for index, model in enumerate(_named(test))
        ]
    )
    opening = f"In the primary configuration declared before the run, {scores}"
    if _shape(test) in ("value", "trend"):
        return f"{opening}."
    contrast = test.contrasts[0]
    return f"{opening} ({_difference_words(contrast, _at(contrast, results.primary.id))})."


def _score(results: Results, model: str) -> str:
    headline = results.cell(model, results.primary.id).headline
    return "an undefined value" if isinstance(headline, NoEstimate) else fraction(headline.value)


def _difference_words(contrast: Contrast, difference: Difference) -> str:
    quantity, shift = difference.difference, contrast.offset
    match quantity:
        case NoEstimate():
            return f"difference undefined: {quantity.reason}"
        case PointOnly():
            return f"difference {fraction(quantity.value - shift)}, interval undefined: {quantity.reason}"
        case Estimate():
            return (
                f"difference {fraction(quantity.value - shift)}, "
                f"{percent_level(quantity.confidence)} interval "
                f"{fraction(quantity.low - shift)} to {fraction(quantity.high - shift)}"
            )


def _at(contrast: Contrast, configuration: str) -> Difference:
    return next(one for one in contrast.differences if one.configuration == configuration)


def _envelope_sentence(test: ClaimTest, results: Results, counts: Counts) -> str:
    return envelope_sentence(_count_words(test, results, counts), counts, digest=results.envelope_digest)


def envelope_sentence(found: str, counts: Counts, *, digest: str) -> str:
    """What was found over the envelope of this digest, and in how many configurations nothing was."""
    short = digest.removeprefix("sha256:")[:4]
    undecided, missing = counts.n - counts.ahead - counts.behind, counts.envelope - counts.n
    tail = f"; {undecided} could not be decided" + (f", {missing} gave no test" if missing else "")
    return f"Over the {counted(counts.envelope, 'configuration')} of envelope {short}, {found}{tail}."


def ahead_words(first: str, second: str, *, counts: Counts) -> str:
    """Who was reliably ahead of whom in how many configurations."""
    return f"{first} was reliably ahead in {counts.ahead}, {second} in {counts.behind}"


def _count_words(test: ClaimTest, results: Results, counts: Counts) -> str:
    contrast = test.contrasts[0]
    name = model_name(results, contrast.first)
    match _shape(test):
        case "pair":
            other = model_name(results, _named(test)[1])
            return ahead_words(name, other, counts=counts)
        case "margin" | "equivalence":
            margin = fraction(abs(contrast.offset))
            return (
                f"the claim with its margin of {margin} was reliably met in {counts.ahead}, "
                f"reliably missed in {counts.behind}"
            )
        case "trend":
            return (
                f"every step of the order was reliably met in {counts.ahead}, "
                f"at least one reliably reversed in {counts.behind}"
            )
        case "value":
            return (
                f"{name} was reliably on the claimed side of {fraction(abs(contrast.offset))} in "
                f"{counts.ahead}, on the other in {counts.behind}"
            )


def _verdict_sentence(test: ClaimTest, verdict: VerdictName) -> str:
    contrast = test.contrasts[0]
    name: str = verdict
    meaning = VERDICT_MEANINGS[verdict]
    if verdict == "EQUIVALENT WITHIN":
        name = f"{verdict} {fraction(contrast.equivalence_margin)}"
    if verdict == "REVERSED BY THE HARNESS":
        meaning = (meaning if _shape(test) == "pair" else _REVERSED_CLAIM) + _most_reversing(test)
    if verdict == "UNDETERMINED" and contrast.detectable_gap is not None:
        meaning += f"; a difference of {fraction(contrast.detectable_gap)} could have been detected"
    if verdict == "REFUSED":
        meaning += f" ({_reason(test)})"
    return f"Verdict: {name}: {meaning}."


def _reason(test: ClaimTest) -> str:
    """Why the first configuration that gave no test gave none."""
    reasons = (
        difference.difference.reason
        for contrast in test.contrasts
        for difference in contrast.differences
        if isinstance(difference.difference, NoEstimate | PointOnly)
    )
    return next(reasons, "no reason was recorded")


def _most_reversing(test: ClaimTest) -> str:
    factors = [factor for factor in test.factors if factor.reversed_ > 0]
    if not factors:
        return "; no single factor change reverses the point estimate"
    most = max(factors, key=lambda factor: factor.reversed_ / factor.matched)
    return reversing_words(most.factor, times=most.reversed_, matched=most.matched)


def reversing_words(factor: str, *, times: int, matched: int) -> str:
    """Which factor turned a decision around most often, as the tail of a verdict."""
    return (
        f"; changing the {FACTOR_WORDS.get(factor, factor)} alone reversed it most often "
        f"({times} of {counted(matched, 'matched change')})"
    )


def _limits_sentence(limits: Limits) -> str:
    beyond = "at deployment" if limits.level != "deployment" else "elsewhere"
    return (
        f"This concerns {limits.items}, {limits.level} level, {limits.tier}; nothing outside the envelope "
        f"or {beyond} follows; evidence dated {limits.dated}, expires {limits.expires}."
    )
