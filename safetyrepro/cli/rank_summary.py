"""What `safetyrepro ranks` prints: the envelope, the models, the pairs, the noise, the findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.table import Table

from safetyrepro.claims.numbers import counted, fraction, percent_level
from safetyrepro.claims.rank_verdicts import PairVerdict
from safetyrepro.cli.console import say, stdout
from safetyrepro.data.quantities import FindingRecord, NoEstimate
from safetyrepro.data.rank_study import Floored, LabelSwapTest, RankedModel, RankStudy, Value
from safetyrepro.findings import KINDS

MOST_ROWS = 12
_URGENCY = ("REVERSED BY THE HARNESS", "HOLDS THROUGHOUT", "HOLDS WHERE DECIDABLE", "EQUIVALENT WITHIN")


def print_summary(study: RankStudy, verdicts: Sequence[PairVerdict]) -> None:
    """The study on one screen."""
    for line in _heading(study):
        say(line)
    if study.pairs:
        stdout().print(_models_table(study))
        stdout().print(_pairs_table(study, verdicts))
        counts = Counter(one.verdict for one in verdicts)
        say("Verdicts: " + ", ".join(f"{count} {name}" for name, count in counts.most_common()))
    for line in (*_noise(study), *_factors(study)):
        say(line)


def finding_lines(findings: Sequence[FindingRecord]) -> Iterator[str]:
    """One line a finding: severity, code, title, place, particulars."""
    for one in findings:
        kind = KINDS[one.code]
        yield f"{kind.severity} {one.code} {kind.title}: {one.where}: {one.detail}"


def _heading(study: RankStudy) -> Iterator[str]:
    grid = " x ".join(f"{factor.name} {len(factor.levels)}" for factor in study.factors)
    size = counted(len(study.configurations), "configuration") + (f" ({grid})" if grid else "")
    asked = (
        counted(study.items, "item") if study.source != "counts" else f"up to {study.items} trials a cell"
    )
    grouped = f" in {counted(study.clusters, 'cluster')}" if study.clustered else ""
    better = study.direction.kind
    near = f" {study.direction.target:g}" if study.direction.target is not None else ""
    yield (
        f"{counted(len(study.models), 'model')} x {size} x {asked}{grouped}; "
        f"{study.score}: {better}{near} is better"
    )
    effective = study.effective_configurations
    many = f", effectively {effective.value:.1f}" if isinstance(effective, Value) else ""
    family = f"{counted(len(study.pairs), 'pair')} x {counted(len(study.configurations), 'configuration')}"
    yield (
        f"envelope {study.envelope_digest.removeprefix('sha256:')[:12]}{many}; joint decisions at "
        f"{percent_level(study.confidence)} over {family} ({study.method})"
    )


def _models_table(study: RankStudy) -> Table:
    table = Table(box=None, pad_edge=False, show_edge=False)
    table.add_column("model")
    for title in ("mean score", "ranks by estimate", "ranks the bounds allow"):
        table.add_column(title, justify="right")
    ordered = sorted(study.models, key=_mean_rank)
    for model in ordered[:MOST_ROWS]:
        known = [rank for rank in model.ranks if rank is not None]
        span = _span(min(known), max(known)) if known else "none"
        table.add_row(model.name, _score_span(model), span, _span(min(model.lowest), max(model.highest)))
    if len(ordered) > MOST_ROWS:
        table.add_row(f"and {len(ordered) - MOST_ROWS} more", "", "", "")
    return table


def _mean_rank(model: RankedModel) -> float:
    known = [rank for rank in model.ranks if rank is not None]
    return sum(known) / len(known) if known else float("inf")


def _score_span(model: RankedModel) -> str:
    values = [one.value for one in model.scores or () if not isinstance(one, NoEstimate)]
    if not values:
        return "undefined"
    low, high = fraction(min(values), digits=3), fraction(max(values), digits=3)
    return low if low == high else f"{low} to {high}"


def _span(low: float, high: float) -> str:
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _pairs_table(study: RankStudy, verdicts: Sequence[PairVerdict]) -> Table:
    names = {model.id: model.name for model in study.models}
    table = Table(box=None, pad_edge=False, show_edge=False)
    table.add_column("pair")
    for title in ("ahead", "behind", "undecided"):
        table.add_column(title, justify="right")
    table.add_column("verdict")
    order = {name: place for place, name in enumerate(_URGENCY)}
    shown = sorted(verdicts, key=lambda one: order.get(one.verdict, len(order)))
    for one in shown[:MOST_ROWS]:
        counts = one.counts
        table.add_row(
            f"{names[one.leader]} > {names[one.other]}",
            str(counts.ahead),
            str(counts.behind),
            str(counts.envelope - counts.ahead - counts.behind),
            one.verdict + ("" if one.margin is None else f" {fraction(one.margin)}"),
        )
    if len(shown) > MOST_ROWS:
        table.add_row(f"and {len(shown) - MOST_ROWS} more pairs", "", "", "", "")
    return table


def _noise(study: RankStudy) -> Iterator[str]:
    tau, swap = study.noise.tau, study.noise.label_swap
    if isinstance(tau, Floored):
        yield (
            f"Rank agreement (tau, split halves): {fraction(tau.between)} between configurations, "
            f"{fraction(tau.floor)} within one: the floor that noise alone leaves"
        )
    else:
        yield f"Rank agreement (tau): undefined: {tau.reason}"
    if isinstance(swap, LabelSwapTest):
        yield f"Configurations rank alike (label swap): p = {fraction(swap.p_value, digits=3)}"
    else:
        yield f"Configurations rank alike (label swap): undefined: {swap.reason}"


def _factors(study: RankStudy) -> Iterator[str]:
    turning = [one for one in study.factor_summaries if one.reversed_]
    if turning:
        most = max(turning, key=lambda one: one.reversed_ / one.matched)
        yield (
            f"Factor that matters most: changing {most.factor} alone reverses {most.reversed_} of "
            f"{most.decided} decided matched changes ({counted(most.pairs, 'pair')} of models)"
        )
    elif study.factor_summaries:
        yield "No single factor change reverses a reliable decision"
