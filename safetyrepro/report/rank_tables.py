"""The tables of the chapter on ranks: pairs, orderings, shares of squares, mean scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from safetyrepro.claims.numbers import fraction
from safetyrepro.claims.rank_verdicts import PairVerdict
from safetyrepro.data.quantities import NoEstimate
from safetyrepro.data.rank_pair import RankedPair
from safetyrepro.data.rank_study import Orderings, RankStudy, SumsOfSquares
from safetyrepro.report.cover import verdict_view
from safetyrepro.report.notation import NoteBook, count, fixed, fraction_digits, quantity_entries
from safetyrepro.report.rank_order import RankOrder
from safetyrepro.report.rows import MOST_ROWS, SHORTENED_ROWS
from safetyrepro.report.tree import Column, Entry, Table, TableRow

_MOST_ORDERINGS = 24


def verdict_table(study: RankStudy, verdicts: Sequence[PairVerdict], *, order: RankOrder) -> Table | None:
    """One row a pair, reversed pairs first: counts, what the bounds leave open, families, verdict."""
    if not verdicts:
        return None
    ordered = order.pairs(verdicts)
    has_missing = study.missing.surviving is not None
    rows = (
        _verdict_row(study.pairs[one.place], one, order=order, has_missing=has_missing) for one in ordered
    )
    printed, left_out = _capped(rows, total=len(ordered), what="pairs", study=study)
    survive = (Column("survive", align="number"),) if has_missing else ()
    survive_words = (
        " Survive: decisions that are the same whatever the missing scores were." if has_missing else ""
    )
    return Table(
        id="rank-pairs",
        caption=f"Every pair over {count(len(study.configurations))} configurations",
        columns=(
            Column("ahead", is_header=True),
            Column("of", is_header=True),
            Column("k+", align="number", group="reliably"),
            Column("k−", align="number", group="reliably"),
            Column("open", align="number"),
            Column("from", align="number", group="disagreement"),
            Column("to", align="number", group="disagreement"),
            Column("at least", align="number"),
            Column("reversal p", align="number"),
            Column("could see", align="number"),
            *survive,
            Column("verdict"),
        ),
        rows=printed,
        remark=(
            "Of a pair, the one that is more often reliably ahead comes first. k+ and k−: configurations "
            "in which it is reliably ahead or behind, decided jointly over all pairs and configurations at "
            f"{fraction(study.confidence)}; the true number ahead lies between k+ and n − k−. "
            "Disagreement: the share of pairs of configurations that order the two differently, as far as "
            "the bounds allow. At least: in how many it is ahead, tested by itself (partial conjunction). "
            "Reversal p: of “ahead somewhere and behind elsewhere”, for this pair alone. Could see: the "
            f"difference that would have been reliably seen with 80% power.{survive_words} {left_out}"
        ).strip(),
    )


def _verdict_row(
    pair: RankedPair, verdict: PairVerdict, *, order: RankOrder, has_missing: bool
) -> TableRow:
    counts = verdict.counts
    view = verdict_view(verdict.verdict, margin=verdict.margin)
    tests = pair.behind if verdict.flipped else pair.ahead
    gap = pair.detectable_gap
    return TableRow(
        entries=(
            Entry(order.names[verdict.leader]),
            Entry(order.names[verdict.other]),
            Entry(count(counts.ahead)),
            Entry(count(counts.behind)),
            Entry(count(counts.envelope - counts.ahead - counts.behind)),
            Entry(_or_dash(pair.disagreement_low)),
            Entry(_or_dash(pair.disagreement_high)),
            Entry(count(tests.at_least)),
            Entry(p_words(pair.reversal_p)),
            Entry("–" if gap is None else number_words(gap)),
            *((Entry("–" if pair.surviving is None else count(pair.surviving)),) if has_missing else ()),
            Entry(view.name, mark=view.mark),
        )
    )


def orderings_table(study: RankStudy, order: RankOrder) -> Table | None:
    """The orderings by point estimate, the most frequent first; those that never occur where few exist."""
    found = study.orderings
    if isinstance(found, NoEstimate) or len(study.models) < 2:
        return None
    shown = [one for one in found.listed if one.configurations or int(found.possible) <= _MOST_ORDERINGS]
    rows = (
        TableRow(
            entries=(
                Entry(" > ".join(" = ".join(order.names[m] for m in place) for place in one.places)),
                Entry(count(len(one.configurations))),
            )
        )
        for one in shown[:_MOST_ORDERINGS]
    )
    return Table(
        id="rank-orderings",
        caption="Orderings by point estimate",
        columns=(
            Column("ordering, best first", is_header=True),
            Column("configurations", align="number"),
        ),
        rows=tuple(rows),
        remark=_orderings_remark(found, shown=len(shown)),
    )


def _orderings_remark(found: Orderings, *, shown: int) -> str:
    possible = int(found.possible)
    strict = sum(
        bool(one.configurations) and all(len(place) == 1 for place in one.places) for one in found.listed
    )
    words = f"{count(strict)} of {possible:,} possible strict orderings occur".replace(",", "\u202f")
    if possible > 10**9:
        words = f"{count(found.occurring)} orderings occur"
    tied = found.occurring - strict
    ties = f", {count(tied)} with ties beside them" if tied else ""
    left = f" {count(_MOST_ORDERINGS)} of {count(shown)} are printed." if shown > _MOST_ORDERINGS else ""
    return f"{words}{ties}. Description: a truly tied pair shows both orders in most envelopes.{left}"


def squares_table(squares: SumsOfSquares | NoEstimate) -> Table | None:
    """Shares of sums of squares, the parts in the order of their kind."""
    if isinstance(squares, NoEstimate):
        return None
    rows = tuple(
        TableRow(
            entries=(
                Entry(share.part.replace(" x ", " × ")),
                Entry(fraction(share.share, digits=3)),
                Entry(fraction(share.low, digits=3)),
                Entry(fraction(share.high, digits=3)),
            )
        )
        for share in squares.shares
    )
    uneven = (
        ""
        if squares.orthogonal
        else " Factors are not crossed evenly: what they explain together is split evenly between them."
    )
    return Table(
        id="rank-squares",
        caption="Where the spread of item scores comes from, within this envelope",
        columns=(
            Column("part", is_header=True),
            Column("share", align="number"),
            Column("low", align="number"),
            Column("high", align="number"),
        ),
        rows=rows,
        remark=(
            f"Shares of the sum of squares over {count(squares.items)} complete items. “Model × factor” is "
            "what reorders systems; “factor” alone moves all of them alike. Levels are fixed: nothing is "
            f"said about levels that were not run.{uneven}"
        ),
    )


def scores_table(study: RankStudy, order: RankOrder) -> Table | None:
    """Mean scores with their own intervals, configuration by configuration."""
    models = {model.id: model for model in study.models}
    if any(model.scores is None for model in study.models):
        return None
    notes = NoteBook()
    digits = fraction_digits(study.clusters)
    values = [one.value for m in study.models for one in m.scores or () if not isinstance(one, NoEstimate)]
    is_fraction = all(-1.0 <= value <= 1.0 for value in values)

    def rows() -> Iterator[TableRow]:
        for place, configuration in enumerate(study.configurations):
            for index, name in enumerate(order.models):
                scores = models[name].scores
                if scores is not None:
                    entries = quantity_entries(
                        scores[place], notes=notes, digits=digits, is_fraction=is_fraction
                    )
                    yield TableRow(
                        entries=(
                            Entry(" · ".join(configuration.levels) or "all", is_repeat=index > 0),
                            Entry(order.names[name]),
                            *entries,
                            Entry(count(scores[place].n)),
                        ),
                        opens_group=index == 0,
                        is_primary=configuration.primary,
                    )

    total = len(study.configurations) * len(order.models)
    printed, left_out = _capped(rows(), total=total, what="cells", study=study)
    return Table(
        id="rank-scores",
        caption=f"Mean {study.score}, with its own interval",
        columns=(
            Column(" · ".join(one.name for one in study.factors) or "configuration", is_header=True),
            Column("system", is_header=True),
            Column("mean", align="number", group="mean, own interval"),
            Column("low", align="number", group="mean, own interval"),
            Column("high", align="number", group="mean, own interval"),
            Column("n", align="number"),
        ),
        rows=printed,
        notes=notes.notes,
        remark=(
            "Overlapping intervals decide nothing about a difference: the pairs do. " + left_out
        ).strip(),
    )


def p_words(p: float | None) -> str:
    """A p-value as it is printed."""
    return "–" if p is None else "< .001" if p < 0.001 else fraction(p, digits=3)


def number_words(value: float) -> str:
    """A difference: as a fraction up to one, else with two decimals."""
    return fraction(value, digits=3) if abs(value) <= 1.0 else fixed(value, digits=2)


def _or_dash(value: float | None) -> str:
    return "–" if value is None else fraction(value)


def _capped(
    rows: Iterable[TableRow], *, total: int, what: str, study: RankStudy
) -> tuple[tuple[TableRow, ...], str]:
    if total <= MOST_ROWS:
        return tuple(rows), ""
    file = "results.json" if study.source == "run" else "ranks.json"
    return (
        tuple(islice(rows, SHORTENED_ROWS)),
        f"{count(SHORTENED_ROWS)} of {count(total)} {what} are printed; all are in the attached {file}.",
    )
