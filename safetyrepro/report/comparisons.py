"""Pairs of systems over the envelope: counts a pair, and every difference with its bounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from safetyrepro.claims.numbers import fraction
from safetyrepro.data.results import Contrast, Difference, Results
from safetyrepro.report.figures.marks import side_cell, strip_words
from safetyrepro.report.figures.svg import drawing
from safetyrepro.report.looks import Looks, configuration_words
from safetyrepro.report.notation import NoteBook, count, fraction_digits, quantity_entries
from safetyrepro.report.rows import MOST_ROWS, capped, interval_columns
from safetyrepro.report.tree import Column, Entry, Side, Table, TableRow

_SIDES: dict[int | None, tuple[Side, str]] = {
    1: ("ahead", "ahead"),
    -1: ("behind", "behind"),
    0: ("open", "undecided"),
    None: ("none", "no number"),
}


def pairs_table(results: Results, looks: Looks) -> Table | None:
    """One row a pair: configurations reliably ahead and behind, and what the bounds leave open."""
    if not results.comparisons:
        return None
    digits = fraction_digits(results.items.clusters)
    margin = fraction(results.comparisons[0].equivalence_margin)
    contrasts = _ordered(results, looks)
    rows = (_pair_row(one, looks=looks, digits=digits) for one in contrasts)
    printed, remark = capped(rows, total=len(contrasts), what="pairs")
    return Table(
        id="pairs",
        caption=f"Pairs of systems over the {len(results.configurations)} configurations",
        columns=(
            Column("first", is_header=True),
            Column("second", is_header=True),
            Column("ahead", align="number", group="by estimate"),
            Column("behind", align="number", group="by estimate"),
            Column("k+", align="number", group="reliably"),
            Column("k−", align="number", group="reliably"),
            Column("n", align="number"),
            Column("from", align="number", group="disagreement"),
            Column("to", align="number", group="disagreement"),
            Column("detectable", align="number"),
            Column("TOST p", align="number"),
        ),
        rows=printed,
        remark=(
            "k+ and k−: configurations in which the first is reliably ahead or behind, by a joint "
            f"step-down at confidence {fraction(results.confidence)} over all pairs and configurations. "
            "Disagreement: the share of pairs of configurations that rank the two in opposite order, as "
            "far as the bounds allow. Detectable: the gap that could have been detected. TOST p: for "
            f"equivalence within {margin} in every configuration. " + remark
        ).strip(),
    )


def differences_table(results: Results, looks: Looks) -> Table | None:
    """One row a pair and configuration: the difference, its own interval, and the joint one."""
    if not results.comparisons:
        return None
    notes = NoteBook()
    digits = fraction_digits(results.items.clusters)
    contrasts = _ordered(results, looks)
    rows = _difference_rows(contrasts, results=results, looks=looks, notes=notes, digits=digits)
    total = len(contrasts) * len(results.configurations)
    printed, remark = capped(rows, total=total, what="differences")
    return Table(
        id="differences",
        caption="Difference in alignment, by pair and configuration",
        columns=(
            Column(" · ".join(looks.factors), is_header=True),
            *interval_columns("difference, own interval", value="diff."),
            Column("low", align="number", group="joint interval"),
            Column("high", align="number", group="joint interval"),
            Column("first is", align="mark"),
            Column("n", align="number"),
        ),
        rows=printed,
        notes=notes.notes,
        remark=(
            "Own interval: t on clusters − 1 degrees of freedom, for this difference alone. Joint: "
            "simultaneous over all pairs and configurations; “ahead” and “behind” are decided by it. "
            + remark
        ).strip(),
    )


def _difference_rows(
    contrasts: Sequence[Contrast], *, results: Results, looks: Looks, notes: NoteBook, digits: int
) -> Iterator[TableRow]:
    words = {one.id: configuration_words(one, looks.factors) for one in results.configurations}
    for contrast in contrasts:
        pair = f"{looks.names[contrast.first]} − {_second(contrast, looks)}"
        for index, difference in enumerate(contrast.differences):
            yield TableRow(
                entries=(
                    Entry(words[difference.configuration]),
                    *quantity_entries(difference.difference, notes=notes, digits=digits),
                    *_joint_entries(difference, digits=digits),
                    _side_entry(difference),
                    Entry(count(difference.difference.n)),
                ),
                heading=pair if index == 0 else "",
                is_primary=difference.configuration == results.primary.id,
            )


def _ordered(results: Results, looks: Looks) -> list[Contrast]:
    """Spec order; where not all pairs can be printed, pairs of named systems and reversed pairs first."""
    contrasts = list(results.comparisons)
    if len(contrasts) * len(results.configurations) <= MOST_ROWS:
        return contrasts
    named = set(looks.named)

    def urgency(contrast: Contrast) -> int:
        if {contrast.first, contrast.second} <= named:
            return 0
        return 1 if contrast.k_ahead and contrast.k_behind else 2

    return sorted(contrasts, key=urgency)


def _second(contrast: Contrast, looks: Looks) -> str:
    return fraction(-contrast.offset) if contrast.second is None else looks.names[contrast.second]


def _pair_row(contrast: Contrast, *, looks: Looks, digits: int) -> TableRow:
    gap = contrast.detectable_gap
    p_value = contrast.equivalence_p
    numbers = (
        count(contrast.raw_ahead),
        count(contrast.raw_behind),
        count(contrast.k_ahead),
        count(contrast.k_behind),
        count(contrast.n),
        "–" if contrast.disagreement_low is None else fraction(contrast.disagreement_low),
        "–" if contrast.disagreement_high is None else fraction(contrast.disagreement_high),
        "–" if gap is None else fraction(gap, digits=digits),
        "–" if p_value is None else "< .001" if p_value < 0.001 else fraction(p_value, digits=3),
    )
    return TableRow(
        entries=(
            Entry(looks.names[contrast.first]),
            Entry(_second(contrast, looks)),
            *(Entry(number) for number in numbers),
        )
    )


def _joint_entries(difference: Difference, *, digits: int) -> tuple[Entry, Entry]:
    ends: Sequence[float | None] = (difference.joint_low, difference.joint_high)
    low, high = (Entry("–" if end is None else fraction(end, digits=digits)) for end in ends)
    return low, high


def _side_entry(difference: Difference) -> Entry:
    side, word = _SIDES[difference.ahead]
    return Entry(word, mark=_mark(side))


def _mark(side: Side) -> Markup:
    return drawing([side_cell(side, 0, 0, 9)], width=9, height=9, title=strip_words([side]))
