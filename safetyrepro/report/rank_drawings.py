"""The drawings of the chapter on ranks, each with the words above and below it."""

from __future__ import annotations

from safetyrepro.claims.numbers import fraction
from safetyrepro.data.rank_study import Floored, RankStudy
from safetyrepro.report.figures.bump import Bumps, bump_caption, bump_chart
from safetyrepro.report.figures.floors import Agreement, FactorBar, factor_chart, floor_chart
from safetyrepro.report.figures.rank_sets import RankSet, rank_set_chart
from safetyrepro.report.figures.reversals import Reversals, reversal_caption, reversal_matrix
from safetyrepro.report.notation import plural
from safetyrepro.report.rank_order import RankOrder, mean_rank
from safetyrepro.report.tree import Figure


def bump_figure(study: RankStudy, order: RankOrder) -> Figure:
    """Ranks over the configurations in the order of their likeness."""
    columns = study.similarity_order
    varied = [f for f, factor in enumerate(study.factors) if len(factor.levels) > 1]
    models = {model.id: model for model in study.models}
    bumps = Bumps(
        names=tuple(order.names[name] for name in order.models),
        looks=tuple(order.looks[name] for name in order.models),
        ranks=tuple(tuple(models[name].ranks[c] for c in columns) for name in order.models),
        factors=tuple(study.factors[f].name for f in varied),
        levels=tuple(tuple(study.configurations[c].levels[f] for f in varied) for c in columns),
        known=tuple(study.factors[f].levels for f in varied),
        primary=None if study.primary is None else columns.index(study.primary),
    )
    return Figure(
        id="rank-bumps",
        title=f"Rank by point estimate over {plural(len(columns), 'configuration')}",
        svg=bump_chart(bumps),
        caption=bump_caption(bumps),
    )


def reversal_figure(study: RankStudy, order: RankOrder) -> Figure | None:
    """Who is reliably ahead of whom where; None with fewer than two systems."""
    if not study.pairs:
        return None
    place = {name: index for index, name in enumerate(order.models)}
    ahead = [[0] * len(place) for _ in place]
    for pair in study.pairs:
        one, other = place[pair.first], place[pair.second]
        ahead[one][other], ahead[other][one] = pair.k_ahead, pair.k_behind
    reversals = Reversals(
        names=tuple(order.names[name] for name in order.models),
        ahead=tuple(tuple(row) for row in ahead),
        total=len(study.configurations),
    )
    return Figure(
        id="rank-reversals",
        title="Who is reliably ahead of whom, and where that turns",
        svg=reversal_matrix(reversals),
        caption=reversal_caption(reversals),
    )


def rank_set_figure(study: RankStudy, order: RankOrder) -> Figure | None:
    """The ranks that the joint bounds leave; None with fewer than two systems."""
    if not study.pairs:
        return None
    models = {model.id: model for model in study.models}
    sets = []
    for name in order.models:
        model = models[name]
        best, worst = max(model.lowest), min(model.highest)
        sets.append(
            RankSet(
                name=order.names[name],
                look=order.looks[name],
                possible=(min(model.lowest), max(model.highest)),
                common=(best, worst) if best <= worst else None,
                mean=mean_rank(model),
            )
        )
    return Figure(
        id="rank-sets",
        title="Ranks that the data allow",
        svg=rank_set_chart(tuple(sets)),
        caption="Whisker: ranks that the joint bounds leave possible under some configuration. Bar: ranks "
        "that they leave possible under every one; without a bar no single rank fits all configurations. "
        f"All sets hold together at {fraction(study.confidence)}, over systems and configurations.",
    )


def floor_figure(study: RankStudy) -> Figure | None:
    """Agreement beside its noise floor; None where all of it is undefined."""
    noise = study.noise
    top = f"first {study.top.k} in common" if study.top is not None else "first places in common"
    rows = [
        Agreement(name=name, between=one.between, floor=one.floor)
        for name, one in (
            ("Kendall's tau-b", noise.tau),
            ("Spearman's rho", noise.rho),
            (top, noise.top_overlap),
        )
        if isinstance(one, Floored)
    ]
    if not rows:
        return None
    return Figure(
        id="rank-floors",
        title="Do configurations agree less than noise explains?",
        svg=floor_chart(rows),
        caption=f"Both from halves of the items, {noise.splits} random splits: one configuration on one "
        "half against another, or itself, on the other half. Equal where the harness does not matter; at "
        "half the items both are lower than on all of them: only their comparison means something.",
    )


def factor_figure(study: RankStudy) -> Figure | None:
    """What changing one factor alone does; None where no factor varies or there is no pair."""
    if not study.factor_summaries or not study.pairs:
        return None
    bars = [
        FactorBar(name=one.factor, matched=one.matched, decided=one.decided, reversed=one.reversed_)
        for one in study.factor_summaries
    ]
    return Figure(
        id="rank-factors",
        title="Which harness choice turns decisions around",
        svg=factor_chart(bars),
        caption="Matched changes: two configurations that differ in this factor only, counted once for "
        "every pair of systems. Only reliable decisions count; signs of estimates turn by noise alone.",
    )
