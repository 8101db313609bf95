"""The tables of numbers: every estimate with its interval and denominator, every outcome counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from safetyrepro.claims.numbers import fraction
from safetyrepro.data.records import Outcome
from safetyrepro.data.results import Cell, NoEstimate, Quantity, Results
from safetyrepro.report.looks import Looks, estimand_words
from safetyrepro.report.notation import (
    NoteBook,
    count,
    fraction_digits,
    padded,
    plural,
    quantity_entries,
    unit_digits,
)
from safetyrepro.report.rows import (
    capped,
    cell_heads,
    cell_table_rows,
    collapsed_rows,
    interval_columns,
)
from safetyrepro.report.tree import Column, Entry, Table, TableRow


def denominator(quantity: Quantity) -> str:
    """How many items an estimate stands on."""
    return count(quantity.n)


def estimates_table(results: Results, looks: Looks) -> Table:
    """Alignment of every cell: the headline and the other treatment of ties, each with its interval."""
    if results.items.kind == "choice":
        return choices_table(results, looks)
    notes = NoteBook()
    digits = fraction_digits(results.items.clusters)
    half_first = results.estimand == "alignment_half"

    def write(cell: Cell) -> tuple[Entry, ...]:
        other = cell.strict if half_first else cell.half
        radius = "–" if cell.hoeffding_radius is None else fraction(cell.hoeffding_radius, digits=digits)
        return (
            *quantity_entries(cell.headline, notes=notes, digits=digits),
            *quantity_entries(other, notes=notes, digits=digits),
            Entry(radius),
            Entry(denominator(cell.headline)),
        )

    rows, remark = cell_table_rows(results, looks, write=write)
    second = "A, a tie as no win" if half_first else "A, a tie as half a win"
    grouped = (
        f"n counts items; they fall into {plural(results.items.clusters, 'cluster')}. "
        if results.items.clustered
        else "n counts items. "
    )
    return Table(
        id="estimates",
        caption="Pairwise reference alignment of every cell",
        columns=(
            *cell_heads(looks),
            *interval_columns(estimand_words(results), value="A"),
            *interval_columns(second, value="A"),
            Column("±", align="number", group="Hoeffding"),
            Column("n", align="number"),
        ),
        rows=rows,
        notes=notes.notes,
        remark=(
            f"Intervals at confidence {fraction(results.confidence)}. {grouped}"
            "Hoeffding: the distribution-free radius of the strict estimate. " + remark
        ).strip(),
    )


def choices_table(results: Results, looks: Looks) -> Table:
    """The estimate of every cell of choices, with its interval."""
    notes = NoteBook()
    digits = fraction_digits(results.items.clusters)

    def write(cell: Cell) -> tuple[Entry, ...]:
        return (
            *quantity_entries(cell.headline, notes=notes, digits=digits),
            Entry(denominator(cell.headline)),
        )

    rows, remark = cell_table_rows(results, looks, write=write)
    return Table(
        id="estimates",
        caption="Every cell's estimate over the items",
        columns=(
            *cell_heads(looks),
            *interval_columns(estimand_words(results), value="value"),
            Column("n", align="number"),
        ),
        rows=rows,
        notes=notes.notes,
        remark=(
            f"Intervals at confidence {fraction(results.confidence)}. n counts items in "
            f"{plural(results.items.clusters, 'cluster')}. " + remark
        ).strip(),
    )


def margins_table(results: Results, looks: Looks) -> Table:
    """The mean margin of every cell, in the unit of its rule."""
    notes = NoteBook()
    most = max(unit_digits(cell.unit) for cell in results.cells)

    def write(cell: Cell) -> tuple[Entry, ...]:
        entries = quantity_entries(
            cell.margin, notes=notes, digits=unit_digits(cell.unit), is_fraction=False
        )
        return (
            *(replace(entry, text=padded(entry.text, digits=most)) for entry in entries),
            Entry(cell.unit),
            Entry(denominator(cell.margin)),
        )

    rows, remark = cell_table_rows(results, looks, write=write)
    return Table(
        id="margins",
        caption="Mean margin: score of the chosen answer minus score of the rejected one"
        if results.items.kind == "pair"
        else "Mean margin: score of the best right option minus score of the best wrong one",
        columns=(
            *cell_heads(looks),
            *interval_columns("margin", value="mean"),
            Column("unit"),
            Column("n", align="number"),
        ),
        rows=rows,
        notes=notes.notes,
        remark=(
            "Margins in different units, or over different tokenizers, are not compared. " + remark
        ).strip(),
    )


def strata_table(results: Results, looks: Looks) -> Table | None:
    """The primary configuration by stratum, with the range over the envelope; None without strata."""
    if not results.items.strata:
        return None
    notes = NoteBook()
    smallest = min(stratum.clusters for stratum in results.items.strata)
    digits = fraction_digits(smallest)
    total = len(results.items.strata) * len(looks.order)
    rows = _stratum_rows(results, looks, notes=notes, digits=digits)
    printed, remark = capped(rows, total=total, what="rows")
    return Table(
        id="strata",
        caption="Alignment by stratum in the primary configuration, and its range over the envelope",
        columns=(
            Column("stratum", is_header=True),
            Column("system", is_header=True),
            *interval_columns("primary configuration", value="A"),
            Column("lowest", align="number", group="over the envelope"),
            Column("highest", align="number", group="over the envelope"),
            Column("items", align="number"),
            Column("clusters", align="number"),
        ),
        rows=printed,
        notes=notes.notes,
        remark=(
            "One system beats another under every mixture of strata only if it does in each. " + remark
        ).strip(),
    )


def _stratum_rows(results: Results, looks: Looks, *, notes: NoteBook, digits: int) -> Iterator[TableRow]:
    for index, stratum in enumerate(results.items.strata):
        for place, model in enumerate(looks.order):
            headline = looks.cells[(model, results.primary.id)].strata[index].headline
            over = [
                quantity.value
                for one in results.configurations
                if not isinstance(
                    quantity := looks.cells[(model, one.id)].strata[index].headline, NoEstimate
                )
            ]
            ends = [fraction(end(over), digits=digits) if over else "–" for end in (min, max)]
            yield TableRow(
                entries=(
                    Entry(stratum.name, is_repeat=place > 0),
                    Entry(looks.names[model]),
                    *quantity_entries(headline, notes=notes, digits=digits),
                    *(Entry(end) for end in ends),
                    Entry(count(stratum.items)),
                    Entry(count(stratum.clusters)),
                ),
                opens_group=place == 0,
            )


def baselines_table(results: Results, looks: Looks) -> Table:
    """What scores that do not read the prompt get on the same items."""
    choices = results.items.kind == "choice"
    notes = NoteBook()
    digits = fraction_digits(results.items.clusters)

    def write(cell: Cell) -> tuple[Entry, ...]:
        return (
            *quantity_entries(cell.longer_wins, notes=notes, digits=digits),
            *quantity_entries(cell.shorter_wins, notes=notes, digits=digits),
            *quantity_entries(cell.prompt_blind, notes=notes, digits=digits),
            *(quantity_entries(cell.first_option, notes=notes, digits=digits) if choices else ()),
        )

    rows, remark = collapsed_rows(results, looks, write=write)
    value = "value" if choices else "A"
    coin, who = "", "An option drawn at random" if choices else "A coin"
    if results.random is not None:
        low, high = (fraction(end, digits=digits) for end in (results.random.low, results.random.high))
        coin = (
            f"{who} gets {fraction(results.random.expected, digits=digits)}; its sampling interval on "
            f"these items is {low} to {high}. "
        )
    return Table(
        id="baselines",
        caption="Null baselines: what the same estimand gives to scores that do not read the prompt",
        columns=(
            *cell_heads(looks),
            *interval_columns("longest answer wins" if choices else "longer answer wins", value=value),
            *interval_columns("shortest answer wins" if choices else "shorter answer wins", value=value),
            *interval_columns("prompt-blind score", value=value),
            *(interval_columns("first option wins", value=value) if choices else ()),
        ),
        rows=rows,
        notes=notes.notes,
        remark=(coin + "Length is counted in tokens. " + remark).strip(),
    )


def twins_table(results: Results, looks: Looks) -> Table | None:
    """Both-right and crossed ordering of crossed twins; None where the items are no twins."""
    if not results.items.twins:
        return None
    notes = NoteBook()
    digits = fraction_digits(results.items.clusters)

    def write(cell: Cell) -> tuple[Entry, ...]:
        both = None if cell.twins is None else cell.twins.both_right
        crossed = None if cell.twins is None else cell.twins.crossed
        return (
            *quantity_entries(both, notes=notes, digits=digits),
            *quantity_entries(crossed, notes=notes, digits=digits),
            Entry("–" if both is None else denominator(both)),
        )

    rows, remark = cell_table_rows(results, looks, write=write)
    return Table(
        id="twins",
        caption="Crossed twins: both pairs right, and the crossed ordering",
        columns=(
            *cell_heads(looks),
            *interval_columns("both right", value="share"),
            *interval_columns("crossed ordering", value="share"),
            Column("twins", align="number"),
        ),
        rows=rows,
        notes=notes.notes,
        remark=(
            "Crossed ordering: the two right pairings outscore the two wrong ones in sum, whatever the "
            "answers' own likelihood. " + remark
        ).strip(),
    )


def outcomes_table(results: Results, looks: Looks) -> Table:
    """How many items had which outcome; an outcome other than scored or tie is never a number."""

    def write(cell: Cell) -> tuple[Entry, ...]:
        return (
            *(Entry(count(cell.outcomes.get(outcome.value, 0))) for outcome in Outcome),
            Entry(count(sum(cell.outcomes.values()))),
            Entry(count(cell.spans_join)),
        )

    rows, remark = collapsed_rows(results, looks, write=write)
    return Table(
        id="outcomes",
        caption="Denominators: every item by its outcome",
        columns=(
            *cell_heads(looks),
            *(Column(outcome.value, align="number", group="items by outcome") for outcome in Outcome),
            Column("items", align="number"),
            Column("join", align="number"),
        ),
        rows=rows,
        remark=(
            "Only scored and tie carry a number. Join: items with a token that spans the join of prompt "
            "and answer. " + remark
        ).strip(),
    )


def identity_sentence(results: Results) -> str:
    """Whether strict + strict with swapped labels + tie rate was one in every cell."""
    if results.items.kind == "choice":
        return "Choices have no labels to swap, so there is no identity to check."
    broken = [cell for cell in results.cells if not cell.swapped_identity]
    if not broken:
        return (
            "Identity check: in every cell the strict estimate, the same with swapped labels and the "
            "tie rate add up to one."
        )
    return (
        f"Identity check failed in {plural(len(broken), 'cell')}: the strict estimate, the same with "
        "swapped labels and the tie rate do not add up to one there. Do not use this report."
    )
