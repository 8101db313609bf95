"""The verdict on every pair of a rank study, and its wording: pure, over the stored study.

Nobody has claimed anything about these pairs, so each is read in the direction in which more
configurations are reliably decided. CONTRADICTED, which needs a claim made beforehand, does not occur.
"""

from __future__ import annotations

from dataclasses import dataclass

from safetyrepro.claims.numbers import fraction, percent_level, quoted
from safetyrepro.claims.verdicts import Counts, envelope_verdict, one_sided_alpha
from safetyrepro.claims.wording import (
    VERDICT_MEANINGS,
    ahead_words,
    envelope_sentence,
    reversing_words,
)
from safetyrepro.data.quantities import NoEstimate
from safetyrepro.data.rank_pair import RankedPair
from safetyrepro.data.rank_study import RankStudy
from safetyrepro.data.report_record import VerdictName


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """What the envelope says about two models, the one that is more often reliably ahead first.

    place: of the pair in the study. flipped: whether `leader` is the pair's second model.
    sentences: primary configuration, envelope, verdict; the limits of a report or page come after them.
    """

    place: int
    leader: str
    other: str
    flipped: bool
    counts: Counts
    verdict: VerdictName
    margin: float | None
    sentences: tuple[str, ...]


def pair_verdicts(study: RankStudy) -> tuple[PairVerdict, ...]:
    """One verdict a pair, in the study's order."""
    names = {model.id: quoted(model.name) for model in study.models}
    return tuple(_verdict(study, pair, place, names) for place, pair in enumerate(study.pairs))


def unstated_limits(study: RankStudy) -> str:
    """The closing sentence of scores that came without level, tier and dates."""
    where = ", ".join(file.name for file in study.files) or "this run"
    asked = f"at most {study.items} trials a cell" if study.source == "counts" else f"{study.items} items"
    return (
        f"This concerns {asked} of {where}, equally weighted; level and tier not stated; nothing outside "
        "the envelope or at deployment follows; date and expiry of the evidence not stated."
    )


def _verdict(study: RankStudy, pair: RankedPair, place: int, names: dict[str, str]) -> PairVerdict:
    ahead, behind = (pair.k_ahead, pair.raw_ahead), (pair.k_behind, pair.raw_behind)
    flipped = behind > ahead
    leader, other = (pair.second, pair.first) if flipped else (pair.first, pair.second)
    most, least = (pair.k_behind, pair.k_ahead) if flipped else (pair.k_ahead, pair.k_behind)
    counts = Counts(ahead=most, behind=least, n=pair.n, envelope=len(study.configurations))
    equivalent = pair.equivalence_p is not None and pair.equivalence_p <= one_sided_alpha(study.confidence)
    verdict = envelope_verdict(counts, equivalent=equivalent)
    found = ahead_words(names[leader], names[other], counts=counts)
    return PairVerdict(
        place=place,
        leader=leader,
        other=other,
        flipped=flipped,
        counts=counts,
        verdict=verdict,
        margin=study.margin if verdict == "EQUIVALENT WITHIN" else None,
        sentences=(
            _primary_sentence(study, pair, leader=leader, other=other, flipped=flipped, names=names),
            envelope_sentence(found, counts, digest=study.envelope_digest),
            _verdict_sentence(study, pair, verdict),
        ),
    )


def _primary_sentence(
    study: RankStudy,
    pair: RankedPair,
    *,
    leader: str,
    other: str,
    flipped: bool,
    names: dict[str, str],
) -> str:
    """The scores in the primary configuration; says so where none was declared."""
    primary = study.primary
    if primary is None:
        return "No primary configuration was declared."
    opening = f"In the primary configuration, {study.configurations[primary].id}, "
    if study.source == "run":
        opening = "In the primary configuration declared before the run, "
    models = {model.id: model for model in study.models}
    scored = []
    for name in (leader, other):
        scores = models[name].scores
        value = None if scores is None else scores[primary]
        if value is not None:
            text = "an undefined value" if isinstance(value, NoEstimate) else fraction(value.value)
            scored.append(f"{names[name]} {'scored ' if name == leader else ''}{text}")
    if not scored:
        decided = pair.decided[primary]
        words = {"+": "ahead", "-": "behind", "0": "not decided against", ".": "not tested against"}
        turned = decided.translate(str.maketrans("+-", "-+")) if flipped else decided
        return f"{opening}{names[leader]} was {words[turned]} {names[other]}."
    return f"{opening}{' and '.join(scored)}{_difference_words(study, pair, primary, flipped)}."


def _difference_words(study: RankStudy, pair: RankedPair, primary: int, flipped: bool) -> str:
    if pair.differences is None or pair.low is None or pair.high is None:
        return ""
    value, low, high = pair.differences[primary], pair.low[primary], pair.high[primary]
    if value is None:
        return " (difference undefined)"
    if low is None or high is None:
        return f" (difference {fraction(-value if flipped else value)}, interval undefined)"
    if flipped:
        value, low, high = -value, -high, -low
    return (
        f" (difference {fraction(value)}, joint {percent_level(study.confidence)} interval "
        f"{fraction(low)} to {fraction(high)})"
    )


def _verdict_sentence(study: RankStudy, pair: RankedPair, verdict: VerdictName) -> str:
    name: str = verdict
    meaning = VERDICT_MEANINGS[verdict]
    if verdict == "EQUIVALENT WITHIN" and study.margin is not None:
        name = f"{verdict} {fraction(study.margin)}"
    if verdict == "REVERSED BY THE HARNESS":
        meaning += _reversing(pair)
    if verdict == "UNDETERMINED" and pair.detectable_gap is not None:
        meaning += f"; a difference of {fraction(pair.detectable_gap)} could have been detected"
    if verdict == "REFUSED":
        meaning += f" ({next(iter(pair.reasons), 'no reason was recorded')})"
    return f"Verdict: {name}: {meaning}."


def _reversing(pair: RankedPair) -> str:
    """The factor whose change alone turned the decision around most often."""
    turning = [change for change in pair.factors if change.reversed_]
    if turning:
        most = max(turning, key=lambda change: change.reversed_ / change.matched)
        return reversing_words(most.factor, times=most.reversed_, matched=most.matched)
    if isinstance(pair.smallest, NoEstimate):
        return ""
    together = " and ".join(pair.smallest.sets[0].factors)
    return f"; no single factor change reversed it, {together} together did"
