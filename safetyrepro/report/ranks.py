"""A rank study to the printed chapter: a pure function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from safetyrepro.claims.numbers import counted, fraction, listed, quoted
from safetyrepro.claims.rank_verdicts import PairVerdict, pair_verdicts
from safetyrepro.claims.wording import FACTOR_WORDS
from safetyrepro.data.quantities import NoEstimate
from safetyrepro.data.rank_study import (
    Correlations,
    Floored,
    LabelSwapTest,
    RankStudy,
    Removals,
    RepeatRuns,
    Value,
)
from safetyrepro.report.cover import verdict_view
from safetyrepro.report.notation import count, plural
from safetyrepro.report.rank_drawings import (
    bump_figure,
    factor_figure,
    floor_figure,
    rank_set_figure,
    reversal_figure,
)
from safetyrepro.report.rank_order import RankOrder, rank_order
from safetyrepro.report.rank_tables import orderings_table, p_words, squares_table, verdict_table
from safetyrepro.report.rank_tree import PairView, RanksView
from safetyrepro.report.tree import Term

MOST_WORDED = 6


def ranks_view(study: RankStudy, *, drawn: Sequence[str] | None = None) -> RanksView:
    """The chapter on whether the ranking survives the harness.

    Args:
        drawn: the order in which a report gives systems their looks; absent: by mean rank.
    """
    order = rank_order(study, drawn=drawn)
    verdicts = pair_verdicts(study)
    worded = order.pairs(verdicts)[:MOST_WORDED]
    squares = study.squares
    return RanksView(
        lead=tuple(_lead(study, verdicts)),
        bumps=bump_figure(study, order),
        reversals=reversal_figure(study, order),
        sets=rank_set_figure(study, order),
        pairs=verdict_table(study, verdicts, order=order),
        words=tuple(_pair_view(one, order) for one in worded),
        words_left_out=len(verdicts) - len(worded),
        floors=floor_figure(study),
        agreement=tuple(_agreement(study)),
        orderings=orderings_table(study, order),
        factors=factor_figure(study),
        factor_words=_factor_words(study),
        squares=squares_table(squares),
        squares_reason=squares.reason if isinstance(squares, NoEstimate) else "",
        sensitivity=tuple(_sensitivity(study, order)),
        key=tuple(
            verdict_view(name, margin=study.margin)
            for name in dict.fromkeys(one.verdict for one in order.pairs(verdicts))
        ),
    )


def _pair_view(verdict: PairVerdict, order: RankOrder) -> PairView:
    return PairView(
        statement=f"{order.names[verdict.leader]} against {order.names[verdict.other]}",
        verdict=verdict_view(verdict.verdict, margin=verdict.margin),
        sentences=verdict.sentences,
    )


def _lead(study: RankStudy, verdicts: Sequence[PairVerdict]) -> Iterator[str]:
    size = len(study.configurations)
    if not verdicts:
        yield "There is one system, so there is nothing to rank."
        return
    tally = Counter(one.verdict for one in verdicts)
    reversed_ = tally["REVERSED BY THE HARNESS"]
    throughout = tally["HOLDS THROUGHOUT"]
    pairs = plural(len(verdicts), "pair")
    if size == 1:
        yield (
            f"There is one configuration, so nothing is said about the harness: of {pairs} of systems, "
            f"{throughout} are decided in it."
        )
        return
    effective = study.effective_configurations
    many = f" (effectively {effective.value:.1f})" if isinstance(effective, Value) else ""
    yield (
        f"Over {plural(size, 'configuration')}{many}, {reversed_} of {pairs} of systems "
        f"{'is' if reversed_ == 1 else 'are'} reversed by the harness and {throughout} "
        f"{'holds' if throughout == 1 else 'hold'} throughout."
    )
    if study.top is not None:
        names = {model.id: quoted(model.name) for model in study.models}
        sure = [names[model] for model in study.top.sure]
        places = "first place" if study.top.k == 1 else f"first {study.top.k} places"
        found = f"surely {listed(sure)}" if sure else "no system surely"
        yield (
            f"In every configuration the {places}: {found}; {len(study.top.possible)} of "
            f"{plural(len(study.models), 'system')} may have one somewhere."
        )


def _agreement(study: RankStudy) -> Iterator[Term]:
    noise = study.noise
    correlations = noise.correlations
    if isinstance(correlations, Correlations):
        least = " and ".join(correlations.least_alike)
        text = (
            f"mean tau {fraction(correlations.tau)}, rho {fraction(correlations.rho)}; least alike {least} "
            f"(tau {fraction(correlations.lowest_tau)})"
        )
        yield Term("on all items", text)
    else:
        yield Term("on all items", f"undefined: {correlations.reason}")
    for name, one in (("tau, split halves", noise.tau), ("first places", noise.top_overlap)):
        if isinstance(one, Floored):
            text = f"{fraction(one.between)} between configurations, {fraction(one.floor)} within one"
            churn = (
                f"; churn {fraction(1 - one.between)}, of which noise alone gives {fraction(1 - one.floor)}"
            )
            yield Term(name, text + (churn if name == "first places" else ""))
        else:
            yield Term(name, f"undefined: {one.reason}")
    swap = noise.label_swap
    if isinstance(swap, LabelSwapTest):
        text = f"p = {p_words(swap.p_value)}, {swap.swaps} swaps of labels within items"
        yield Term("configurations rank alike", text.replace("= <", "<"))
    else:
        yield Term("configurations rank alike", f"undefined: {swap.reason}")
    if isinstance(noise.repeats, RepeatRuns):
        text = (
            f"{fraction(noise.repeats.between)} between configurations, {fraction(noise.repeats.floor)} "
            f"between {noise.repeats.runs} runs of one"
        )
        yield Term("tau, repeated runs", text)
    else:
        yield Term("tau, repeated runs", f"undefined: {noise.repeats.reason}")


def _factor_words(study: RankStudy) -> str:
    if not study.factor_summaries:
        return "No factor was varied."
    turning = [one for one in study.factor_summaries if one.reversed_]
    if not turning:
        return "Changing one factor alone reverses no reliable decision."
    most = max(turning, key=lambda one: one.reversed_ / one.matched)
    name = FACTOR_WORDS.get(most.factor, most.factor)
    return (
        f"Changing the {name} alone reverses decisions most often: {count(most.reversed_)} of "
        f"{counted(most.matched, 'matched change')}, in {plural(most.pairs, 'pair')} of systems."
    )


def _sensitivity(study: RankStudy, order: RankOrder) -> Iterator[Term]:
    found = [(one.count, place) for place, one in enumerate(study.removals) if isinstance(one, Removals)]
    if found:
        fewest, place = min(found)
        one = study.removals[place]
        rival = (
            f": {order.names[one.rival]} is then ahead of {order.names[one.top]}"
            if isinstance(one, Removals)
            else ""
        )
        items = plural(fewest, "item")
        where = study.configurations[place].id
        text = f"{items} of {count(study.items)}, under {where}{rival}"
        others = len(study.removals) - len(found)
        yield Term(
            "fewest removals that change the top", text + (f"; undefined in {others}" if others else "")
        )
    else:
        reason = next(one.reason for one in study.removals if isinstance(one, NoEstimate))
        yield Term("fewest removals that change the top", f"undefined: {reason}")
    yield Term("missing scores", _missing_words(study))
    effective = study.effective_configurations
    words = (
        f"{effective.value:.1f} of {len(study.configurations)}, near-duplicates counted as one"
        if isinstance(effective, Value)
        else f"undefined: {effective.reason}"
    )
    yield Term("effective configurations", words)
    needed = sorted(one.power.items_needed for one in study.pairs if not isinstance(one.power, NoEstimate))
    if needed:
        yield Term(
            "items needed",
            f"{count(needed[0])} to {count(needed[-1])}, median {count(needed[(len(needed) - 1) // 2])}, "
            "to see a pair's mean gap with 80% power in one configuration of this family",
        )


def _missing_words(study: RankStudy) -> str:
    missing = study.missing
    if missing.reason is not None and not missing.missing:
        return f"unknown: {missing.reason}"
    if not missing.missing:
        return "none"
    share = f"{count(missing.missing)} of {count(missing.scores)}"
    if missing.decisions is None or missing.surviving is None:
        return f"{share}; worst case not computed: {missing.reason}"
    return (
        f"{share}; {count(missing.surviving)} of {count(missing.decisions)} decisions are the same "
        "whatever they were"
    )
