"""The sentences of a verdict; the form is fixed so that two reports can be compared word by word."""

from __future__ import annotations

from dataclasses import dataclass

from safetyrepro.claims.numbers import fraction, percent_level
from safetyrepro.claims.verdicts import Counts
from safetyrepro.data.report_record import VerdictName
from safetyrepro.data.results import ClaimTest, Contrast, Difference, Estimate, Results
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
    "REFUSED": "no configuration gives a number",
    "NOT CHECKED": "the claim has no assertion that a program could check",
}


def claim_sentences(
    test: ClaimTest,
    *,
    results: Results,
    counts: Counts,
    verdict: VerdictName,
    limits: Limits,
) -> tuple[str, ...]:
    """Primary configuration, envelope, verdict and limits: one sentence or two for each."""
    contrast = test.contrasts[0]
    return (
        _primary_sentence(test, results),
        _envelope_sentence(contrast, results, counts),
        _verdict_sentence(test, contrast, verdict),
        _limits_sentence(limits),
    )


def model_name(results: Results, model: str) -> str:
    """The printed name of a model."""
    return next(info.name for info in results.models if info.id == model)


def _primary_sentence(test: ClaimTest, results: Results) -> str:
    primary = results.primary
    named = list(
        dict.fromkeys(
            model
            for contrast in test.contrasts
            for model in (contrast.first, contrast.second)
            if model is not None
        )
    )
    opening = f"In the primary configuration declared before the run, {_scores(named, results)}"
    contrast = test.contrasts[0]
    if contrast.second is None or len(test.contrasts) > 1:
        return f"{opening}."
    return f"{opening} ({_difference_words(contrast, _at(contrast, primary.id))})."


def _scores(models: list[str], results: Results) -> str:
    parts = [
        f"{model_name(results, model)}{' scored' if index == 0 else ''} "
        f"{_score(results, model, results.primary.id)}"
        for index, model in enumerate(models)
    ]
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def _score(results: Results, model: str, configuration: str) -> str:
    headline = results.cell(model, configuration).headline
    return fraction(headline.value) if isinstance(headline, Estimate) else "undefined"


def _difference_words(contrast: Contrast, difference: Difference) -> str:
    quantity = difference.difference
    if not isinstance(quantity, Estimate):
        return f"difference undefined: {quantity.reason}"
    shift = contrast.offset
    return (
        f"difference {fraction(quantity.value - shift)}, {percent_level(quantity.confidence)} interval "
        f"{fraction(quantity.low - shift)} to {fraction(quantity.high - shift)}"
    )


def _at(contrast: Contrast, configuration: str) -> Difference:
    return next(one for one in contrast.differences if one.configuration == configuration)


def _envelope_sentence(contrast: Contrast, results: Results, counts: Counts) -> str:
    short = results.envelope_digest.removeprefix("sha256:")[:4]
    undecided = counts.n - counts.ahead - counts.behind
    name = model_name(results, contrast.first)
    if contrast.second is None:
        ahead = (
            f"{name} was reliably on the claimed side in {counts.ahead}, on the other in {counts.behind}"
        )
    elif contrast.offset:
        margin = fraction(abs(contrast.offset))
        ahead = (
            f"the claim with its margin of {margin} was reliably met in {counts.ahead}, "
            f"reliably missed in {counts.behind}"
        )
    else:
        other = model_name(results, contrast.second)
        ahead = f"{name} was reliably ahead in {counts.ahead}, {other} in {counts.behind}"
    missing = counts.envelope - counts.n
    tail = f"; {undecided} could not be decided" + (f", {missing} gave no number" if missing else "")
    return f"Over the {counts.envelope} configurations of envelope {short}, {ahead}{tail}."


def _verdict_sentence(test: ClaimTest, contrast: Contrast, verdict: VerdictName) -> str:
    name = (
        f"{verdict} {fraction(contrast.equivalence_margin)}" if verdict == "EQUIVALENT WITHIN" else verdict
    )
    sentence = f"Verdict: {name}: {VERDICT_MEANINGS[verdict]}"
    if verdict == "REVERSED BY THE HARNESS":
        sentence += _most_reversing(test)
    if verdict == "UNDETERMINED" and contrast.detectable_gap is not None:
        sentence += f"; a difference of {fraction(contrast.detectable_gap)} could have been detected"
    return sentence + "."


def _most_reversing(test: ClaimTest) -> str:
    factors = [factor for factor in test.factors if factor.reversed_ > 0]
    if not factors:
        return "; no single factor change reverses it"
    most = max(factors, key=lambda factor: factor.reversed_ / factor.matched)
    return (
        f"; changing the {most.factor} alone reversed it most often "
        f"({most.reversed_} of {most.matched} matched changes)"
    )


def _limits_sentence(limits: Limits) -> str:
    beyond = "at deployment" if limits.level != "deployment" else "elsewhere"
    return (
        f"This concerns {limits.items}, {limits.level} level, {limits.tier}; nothing outside the envelope "
        f"or {beyond} follows; evidence dated {limits.dated}, expires {limits.expires}."
    )
