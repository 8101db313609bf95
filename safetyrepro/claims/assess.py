"""Evidence and results to a verdict for every claim: the one place where the parts meet."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass

from safetyrepro.claims.formality import lowest_tier, tier_links
from safetyrepro.claims.levels import (
    find_level_defects,
    inferential_distance,
    level_ran,
    lower_level,
    printed_type,
)
from safetyrepro.claims.numbers import counted, listed, quoted
from safetyrepro.claims.scope import find_scope_defects
from safetyrepro.claims.validity import expiry
from safetyrepro.claims.verdicts import (
    envelope_verdict,
    is_equivalent,
    joint_counts,
    quantifier_words,
    standing,
)
from safetyrepro.claims.wording import VERDICT_MEANINGS, Limits, claim_sentences
from safetyrepro.data.report_record import ClaimVerdict, Tier, TierLink, VerdictName
from safetyrepro.data.results import ClaimTest, Ranking, Results
from safetyrepro.findings import Finding, finding
from safetyrepro.spec.base import Level
from safetyrepro.spec.evidence import Claim, Equivalent, NotWorse
from safetyrepro.spec.experiment import Experiment


@dataclass(frozen=True, slots=True)
class Assessment:
    """Everything a report states about its claims."""

    level: Level
    level_ran: Level
    tier: Tier
    links: tuple[TierLink, ...]
    expires_at: dt.datetime
    claims: tuple[ClaimVerdict, ...]
    answer: str
    non_claims: tuple[str, ...]
    findings: tuple[Finding, ...]


def assess(experiment: Experiment, *, results: Results, collected_at: dt.datetime) -> Assessment:
    """The verdict of every claim, and what the report must say beside it.

    Args:
        experiment: the spec that ran.
        results: what the analysis computed from the stored rows.
        collected_at: the time of the oldest evidence; expiry counts from here.
    """
    ran = level_ran(experiment)
    level = lower_level(ran, experiment.evidence.level)
    links = tier_links(experiment)
    tier = lowest_tier(links)
    expires_at = expiry(collected_at, experiment.evidence.validity.period)
    limits = Limits(
        items=_items_words(results),
        level=level,
        tier=tier,
        dated=collected_at.date().isoformat(),
        expires=expires_at.date().isoformat(),
    )
    tests = {test.claim: test for test in results.claim_tests}
    claims = tuple(
        _assess_claim(claim, test=tests.get(claim.id), results=results, level=level, limits=limits)
        for claim in experiment.evidence.claims
    )
    return Assessment(
        level=level,
        level_ran=ran,
        tier=tier,
        links=links,
        expires_at=expires_at,
        claims=claims,
        answer=_answer(experiment, claims, results),
        non_claims=_non_claims(experiment, level),
        findings=tuple(find_claim_defects(experiment)),
    )


def find_claim_defects(experiment: Experiment) -> Iterator[Finding]:
    """What a spec alone says may not be claimed, before anything runs: levels, scope, formality."""
    yield from find_level_defects(experiment)
    yield from find_scope_defects(experiment)
    links = tier_links(experiment)
    yield from _tier_findings(lowest_tier(links), links)


def _assess_claim(
    claim: Claim, *, test: ClaimTest | None, results: Results, level: Level, limits: Limits
) -> ClaimVerdict:
    distance = inferential_distance(claim.level, level)
    envelope = len(results.configurations)
    verdict: VerdictName = "NOT CHECKED"
    stands = "not checked"
    margin: float | None = None
    sentences: tuple[str, ...] = (f"Verdict: NOT CHECKED: {VERDICT_MEANINGS['NOT CHECKED']}.",)
    if isinstance(claim.assertion, Equivalent | NotWorse):
        margin = claim.assertion.margin
    if test is not None:
        counts = joint_counts(test)
        contrast = test.contrasts[0]
        pair = len(test.contrasts) == 1 and contrast.second is not None and contrast.offset == 0.0
        equivalent = pair and is_equivalent(contrast, confidence=results.confidence)
        verdict = envelope_verdict(counts, equivalent=equivalent)
        if verdict == "EQUIVALENT WITHIN":
            margin = contrast.equivalence_margin
        stands = standing(test, confidence=results.confidence)
        sentences = claim_sentences(test, results=results, counts=counts, verdict=verdict, limits=limits)
    return ClaimVerdict.model_validate(
        {
            "claim": claim.id,
            "statement": claim.statement,
            "type": claim.type,
            "printed_type": printed_type(claim, distance),
            "level": claim.level,
            "distance": distance,
            "tier": limits.tier,
            "verdict": verdict,
            "margin": margin,
            "quantifier": quantifier_words(claim.assertion, envelope=envelope),
            "assertion": stands,
            "sentences": sentences,
        }
    )


def _items_words(results: Results) -> str:
    items = results.items
    grouped = (
        f" in {counted(items.clusters, 'twin' if items.twins else 'cluster')}" if items.clustered else ""
    )
    return f"{counted(items.items, 'item')}{grouped} of {items.name}, equally weighted"


def _answer(experiment: Experiment, claims: tuple[ClaimVerdict, ...], results: Results) -> str:
    parts: list[str] = [] if len(experiment.models) < 2 else [_ranking_words(results)]
    checked = [claim for claim in claims if claim.verdict != "NOT CHECKED"]
    if checked:
        supported = sum(claim.assertion == "supported" for claim in checked)
        reversed_ = sum(claim.verdict == "REVERSED BY THE HARNESS" for claim in checked)
        turned = f", {reversed_} reversed by the harness" if reversed_ else ""
        parts.append(f"{supported} of {counted(len(checked), 'checked claim')} supported{turned}")
    else:
        parts.append("no claim has an assertion that a program could check")
    sentence = "; ".join(parts)
    return f"{sentence[0].upper()}{sentence[1:]}."


def _ranking_words(results: Results) -> str:
    """Who is first where, by point estimate; systems that share the first place share the words."""
    names = {model.id: quoted(model.name) for model in results.models}
    firsts = {_firsts(ranking) for ranking in results.rankings if ranking.ranks}
    if not firsts:
        return "no ranking is given"
    ranked = sum(bool(ranking.ranks) for ranking in results.rankings)
    whole = f"all {counted(ranked, 'configuration')}" if ranked > 1 else "the one configuration"
    if ranked < len(results.rankings):
        whole = f"{ranked} of {counted(len(results.rankings), 'configuration')}, the others give none"
    leaders = [names[model.id] for model in results.models if any(model.id in tops for tops in firsts)]
    if len(firsts) > 1:
        among = whole.replace("all ", "the ", 1) if ranked == len(results.rankings) else whole
        return f"by point estimate the first place changes hands within {among} ({_few(leaders)})"
    if len(leaders) > 1:
        return f"by point estimate {_few(leaders)} share the first place in {whole}"
    return f"by point estimate {leaders[0]} ranks first in {whole}"


def _few(names: list[str]) -> str:
    """At most three names, and how many more there are."""
    if len(names) <= 3:
        return listed(names)
    return listed([*names[:3], counted(len(names) - 3, "other")])


def _firsts(ranking: Ranking) -> frozenset[str]:
    best = min(ranking.ranks.values())
    return frozenset(model for model, rank in ranking.ranks.items() if rank == best)


def _non_claims(experiment: Experiment, level: Level) -> tuple[str, ...]:
    fixed = [factor.kind for factor in experiment.factors if len(factor.level_ids) == 1]
    undeclared = [
        kind
        for kind in ("system", "shots", "dtype", "weights")
        if kind not in {factor.kind for factor in experiment.factors}
    ]
    return (
        *(f"Not tested: {what}." for what in experiment.evidence.scope.excluded),
        f"Nothing is said above the {level} level: a claim above it is an inference with its distance.",
        "Nothing is said about configurations outside the envelope"
        + (f"; not varied: {', '.join([*fixed, *undeclared])}." if fixed or undeclared else "."),
        "A signature says who signed what, and when; it does not say that the content is right.",
        "Agreement with the labels is not validity of the labels.",
    )


def _tier_findings(tier: Tier, links: tuple[TierLink, ...]) -> Iterator[Finding]:
    if tier == "F0":
        weakest = [link.link for link in links if link.tier == "F0"]
        yield finding(
            "SR204", "formality", f"decided by a model or without agreement: {', '.join(weakest)}"
        )
