"""Page one as a tree: the answer, the claims with their verdicts, level, tier, scope, window, signers."""

from __future__ import annotations

from collections.abc import Sequence

from safetyrepro.claims.formality import TIER_MEANINGS
from safetyrepro.claims.levels import LEVEL_MEANINGS
from safetyrepro.claims.numbers import fraction
from safetyrepro.claims.wording import VERDICT_MEANINGS
from safetyrepro.data.report_record import ClaimVerdict, Report, VerdictName
from safetyrepro.data.results import ClaimTest, Results
from safetyrepro.report.figures.ladder import evidence_ladder
from safetyrepro.report.figures.marks import configuration_strip, verdict_mark
from safetyrepro.report.notation import day, listed, period
from safetyrepro.report.tree import (
    ClaimView,
    Cover,
    Figure,
    ScopeView,
    Side,
    SignerView,
    Term,
    TierView,
    VerdictView,
    WindowView,
)
from safetyrepro.spec.evidence import Evaluator, Scope

VERDICT_KINDS = {
    "HOLDS THROUGHOUT": "for",
    "HOLDS WHERE DECIDABLE": "partly",
    "EQUIVALENT WITHIN": "equal",
    "REVERSED BY THE HARNESS": "mixed",
    "CONTRADICTED": "against",
    "UNDETERMINED": "open",
    "REFUSED": "absent",
    "NOT CHECKED": "absent",
}
_RELATIONS = {
    "independent": "independent of the developer",
    "contracted": "contracted by the developer",
    "developer": "the developer",
    "same_organisation": "in the developer's organisation",
    "other": "other relation to the developer",
}
_TRIGGERS = {
    "model_weights": "the model's weights",
    "tokenizer": "the tokenizer",
    "template": "the chat template",
    "data_revision": "the data",
    "scaffold": "the scaffold",
    "scorer": "the scorer",
    "rubric": "the rubric",
    "contamination_notice": "a notice of contamination",
}
_LANGUAGES = {"en": "English", "de": "German", "fr": "French", "es": "Spanish", "zh": "Chinese"}


def cover_view(
    report: Report, *, results: Results, signers: Sequence[SignerView], verify_command: str
) -> Cover:
    """Page one of a report."""
    tests = {test.claim: test for test in results.claim_tests}
    claims = tuple(
        claim_view(claim, number=number, test=tests.get(claim.claim), results=results)
        for number, claim in enumerate(report.claims, start=1)
    )
    return Cover(
        title=report.title,
        question=report.question,
        answer=report.answer,
        caveat=report.caveat,
        evaluator=f"{report.evaluator.name} ({relation_words(report.evaluator)})",
        level=level_words(report),
        ladder=_ladder(report),
        claims=claims,
        tier=tier_view(report),
        scope=scope_view(report.scope),
        window=window_view(report),
        signers=tuple(signers),
        verify_command=verify_command,
    )


def relation_words(evaluator: Evaluator) -> str:
    """How the evaluator stands to the developer."""
    return _RELATIONS[evaluator.relation]


def level_words(report: Report) -> str:
    """The level of the evidence in a sentence."""
    text = f"Evidence at {report.level} level: {LEVEL_MEANINGS[report.level]}."
    if report.level != report.level_ran:
        text += f" What ran allows {report.level_ran} level; the spec declares lower."
    return text


def verdict_view(name: VerdictName, *, margin: float | None) -> VerdictView:
    """A verdict with its mark and meaning."""
    printed = f"{name} {fraction(margin)}" if name == "EQUIVALENT WITHIN" and margin is not None else name
    kind = VERDICT_KINDS[name]
    return VerdictView(
        name=printed,
        kind=kind,  # type: ignore[arg-type]
        mark=verdict_mark(kind),
        meaning=VERDICT_MEANINGS[name],
    )


def claim_sides(test: ClaimTest) -> tuple[Side, ...]:
    """What the joint bounds say about a claim, one word a configuration.

    A configuration is ahead when every contrast of the claim is, behind when any contrast is.
    """
    sides: list[Side] = []
    for index in range(len(test.contrasts[0].differences)):
        signs = [contrast.differences[index].ahead for contrast in test.contrasts]
        if any(sign is None for sign in signs):
            sides.append("none")
        elif all(sign == 1 for sign in signs):
            sides.append("ahead")
        elif any(sign == -1 for sign in signs):
            sides.append("behind")
        else:
            sides.append("open")
    return tuple(sides)


def claim_view(claim: ClaimVerdict, *, number: int, test: ClaimTest | None, results: Results) -> ClaimView:
    """One claim as printed."""
    sides = () if test is None else claim_sides(test)
    primary = next(
        index for index, configuration in enumerate(results.configurations) if configuration.primary
    )
    return ClaimView(
        number=number,
        id=claim.claim,
        statement=claim.statement,
        kind=_kind_words(claim),
        verdict=verdict_view(claim.verdict, margin=claim.margin),
        standing=_standing_words(claim),
        tally=_tally(sides),
        strip=configuration_strip(sides, primary=primary) if sides else None,
        sentences=claim.sentences,
        tier=claim.tier,
    )


def _kind_words(claim: ClaimVerdict) -> str:
    kind: str = claim.printed_type
    if claim.printed_type != claim.type:
        kind = f"{claim.printed_type}, declared as {claim.type}"
    if claim.distance == 0:
        return f"{kind}, {claim.level} level"
    distance = f"{claim.distance:+d}".replace("-", "−")
    return f"{kind}, {claim.level} level, distance {distance}"


def _standing_words(claim: ClaimVerdict) -> str:
    if claim.assertion == "not checked":
        return "No assertion that a program could check."
    return f"Asserted for {claim.quantifier}: {claim.assertion}."


def _tally(sides: tuple[Side, ...]) -> str:
    if not sides:
        return ""
    words: dict[Side, str] = {
        "ahead": "as claimed",
        "behind": "opposite",
        "open": "undecided",
        "none": "without a number",
    }
    counted = {side: sum(one == side for one in sides) for side in words}
    return (
        ", ".join(f"{counted[side]} {words[side]}" for side in words if counted[side]) + f" of {len(sides)}"
    )


def _ladder(report: Report) -> Figure:
    claims = [(number, claim.level) for number, claim in enumerate(report.claims, start=1)]
    return Figure(
        id="ladder",
        title="Where the evidence stands, and where the claims speak",
        svg=evidence_ladder(report.level, claims=claims),
        caption="",
        narrow=True,
    )


def tier_view(report: Report) -> TierView:
    """The tier with its links and which of them hold it down."""
    return TierView(
        name=report.tier,
        meaning=TIER_MEANINGS[report.tier],
        links=tuple((link.link, link.tier, link.reason) for link in report.tier_links),
        lowest=tuple(link.link for link in report.tier_links if link.tier == report.tier),
    )


def scope_view(scope: Scope) -> ScopeView:
    """The scope in words."""
    languages = [_LANGUAGES.get(tag, tag) for tag in scope.languages]
    return ScopeView(
        tested=(
            Term("Population", scope.population),
            Term("Languages", listed(languages)),
            Term("Tasks", "; ".join(scope.tasks)),
            Term("Conditions", scope.conditions),
        ),
        excluded=scope.excluded,
    )


def window_view(report: Report) -> WindowView:
    """The validity window in words."""
    window = report.window
    return WindowView(
        collected=day(window.collected_at),
        issued=day(window.issued_at),
        expires=day(window.expires_at),
        issued_at=window.issued_at,
        expires_at=window.expires_at,
        period=period(window.period),
        triggers=tuple(_TRIGGERS.get(trigger, trigger) for trigger in window.triggers),
    )
