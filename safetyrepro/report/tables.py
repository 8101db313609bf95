"""The tables of numbers: every estimate with its interval and denominator, every outcome counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from safetyrepro.claims.numbers import fraction
from safetyrepro.data.records import Outcome
from safetyrepro.data.results import Cell, NoEstimate, Quantity, Results
from safetyrepro.report.looks import Looks, configuration_words, estimand_words
from safetyrepro.report.notation import (
    NoteBook,
    count,
    fraction_digits,
    plural,
    quantity_entries,
    unit_digits,
)
from safetyrepro.report.tree import Column, Entry, Table, TableRow

MOST_ROWS = 150
_NUMBER: Final = "number"


def capped(rows: Sequence[TableRow], *, what: str) -> tuple[tuple[TableRow, ...], str]:
    """At most 150 rows, and the sentence that says where the others are."""
    if len(rows) <= MOST_ROWS:
        return tuple(rows), ""
    return (
        tuple(rows[:MOST_ROWS]),
        f"{count(MOST_ROWS)} of {count(len(rows))} {what} are printed; "
        "all of them are in the attached results.json.",
    )


def interval_columns(group: str, *, value: str) -> tuple[Column, Column, Column]:
    """Value, lower and upper end below one heading."""
    return (
        Column(value, align=_NUMBER, group=group),
        Column("low", align=_NUMBER, group=group),
        Column("high", align=_NUMBER, group=group),
    )


def cell_rows(results: Results) -> list[Cell]:
    """The cells, configuration by configuration; the primary one first where not all can be printed."""
    order = [configuration.id for configuration in results.configurations]
    if len(results.cells) > MOST_ROWS:
        primary = results.primary.id
        order = [primary, *(one for one in order if one != primary)]
    place = {configuration: index for index, configuration in enumerate(order)}
    return sorted(results.cells, key=lambda cell: place[cell.configuration])


def cell_heads(looks: Looks) -> tuple[Column, Column]:
    """The two columns that name a cell."""
    factors = " · ".join(looks.factors)
    return Column(factors, is_header=True), Column("system", is_header=True)


def cell_row(
    cell: Cell, *, previous: Cell | None, results: Results, looks: Looks, entries: Iterable[Entry]
) -> TableRow:
    """A row that begins with the names of its configuration and system."""
    same = previous is not None and previous.configuration == cell.configuration
    configuration = next(one for one in results.configurations if one.id == cell.configuration)
    return TableRow(
        entries=(
            Entry(configuration_words(configuration, looks.factors), is_repeat=same),
            Entry(looks.names[cell.model]),
            *entries,
        ),
        opens_group=not same,
        is_primary=configuration.primary,
    )


def _rows_of(
    results: Results, looks: Looks, write: Mapping[tuple[str, str], tuple[Entry, ...]]
) -> list[TableRow]:
    rows: list[TableRow] = []
    previous: Cell | None = None
    for cell in cell_rows(results):
        entries = write[(cell.model, cell.configuration)]
        rows.append(cell_row(cell, previous=previous, results=results, looks=looks, entries=entries))
        previous = cell
    return rows


def denominator(quantity: Quantity) -> str:
    """How many items an estimate stands on."""
    return count(quantity.n)


def estimates_table(results: Results, looks: Looks) -> Table:
    """Alignment of every cell: the headline and the other treatment of ties, each with its interval."""
    notes = NoteBook()
    digits = fraction_digits(results.items.clusters)
    half_first = results.estimand == "alignment_half"
    written: dict[tuple[str, str], tuple[Entry, ...]] = {}
    for cell in results.cells:
        other = cell.strict if half_first else cell.half
        radius = "–" if cell.hoeffding_radius is None else fraction(cell.hoeffding_radius, digits=digits)
        written[(cell.model, cell.configuration)] = (
            *quantity_entries(cell.headline, notes=notes, digits=digits),
            *quantity_entries(other, notes=notes, digits=digits),
            Entry(radius),
            Entry(denominator(cell.headline)),
        )
    rows, remark = capped(_rows_of(results, looks, written), what="cells")
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
            Column("±", align=_NUMBER, group="Hoeffding"),
            Column("n", align=_NUMBER),
        ),
        rows=rows,
        notes=notes.notes,
        remark=(
            f"Intervals at confidence {fraction(results.confidence)}. {grouped}"
            "Hoeffding: the distribution-free radius of the strict estimate. " + remark
        ).strip(),
    )


def margins_table(results: Results, looks: Looks) -> Table:
    """The mean margin of every cell, in the unit of its rule."""
    notes = NoteBook()
    written = {
        (cell.model, cell.configuration): (
            *quantity_entries(cell.margin, notes=notes, digits=unit_digits(cell.unit), is_fraction=False),
            Entry(cell.unit),
            Entry(denominator(cell.margin)),
        )
        for cell in results.cells
    }
    rows, remark = capped(_rows_of(results, looks, written), what="cells")
    return Table(
        id="margins",
        caption="Mean margin: score of the chosen answer minus score of the rejected one",
        columns=(
            *cell_heads(looks),
            *interval_columns("margin", value="mean"),
            Column("unit"),
            Column("n", align=_NUMBER),
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
    rows: list[TableRow] = []
    for index, stratum in enumerate(results.items.strata):
        for place, model in enumerate(looks.order):
            cell = results.cell(model, results.primary.id)
            headline = cell.strata[index].headline
            over = [
                quantity.value
                for one in results.cells
                if one.model == model and not isinstance(quantity := one.strata[index].headline, NoEstimate)
            ]
            ends = (
                (fraction(min(over), digits=digits), fraction(max(over), digits=digits))
                if over
                else ("–", "–")
            )
            rows.append(
                TableRow(
                    entries=(
                        Entry(stratum.name, is_repeat=place > 0),
                        Entry(looks.names[model]),
                        *quantity_entries(headline, notes=notes, digits=digits),
                        Entry(ends[0]),
                        Entry(ends[1]),
                        Entry(count(stratum.items)),
                        Entry(count(stratum.clusters)),
                    ),
                    opens_group=place == 0,
                )
            )
    printed, remark = capped(rows, what="rows")
    return Table(
        id="strata",
        caption="Alignment by stratum in the primary configuration, and its range over the envelope",
        columns=(
            Column("stratum", is_header=True),
            Column("system", is_header=True),
            *interval_columns("primary configuration", value="A"),
            Column("lowest", align=_NUMBER, group="over the envelope"),
            Column("highest", align=_NUMBER, group="over the envelope"),
            Column("items", align=_NUMBER),
            Column("clusters", align=_NUMBER),
        ),
        rows=printed,
        notes=notes.notes,
        remark=(
            "One system beats another under every mixture of strata only if it does in each. " + remark
        ).strip(),
    )


def baselines_table(results: Results, looks: Looks) -> Table:
    """What scores that do not read the prompt get on the same items."""
    notes = NoteBook()
    digits = fraction_digits(results.items.clusters)
    written = {
        (cell.model, cell.configuration): (
            *quantity_entries(cell.longer_wins, notes=notes, digits=digits),
            *quantity_entries(cell.shorter_wins, notes=notes, digits=digits),
            *quantity_entries(cell.prompt_blind, notes=notes, digits=digits),
        )
        for cell in results.cells
    }
    rows, remark = capped(_collapsed(results, looks, written), what="rows")
    coin = ""
    if results.random is not None:
        low, high = (fraction(end, digits=digits) for end in (results.random.low, results.random.high))
        coin = (
            f"A coin gets {fraction(results.random.expected, digits=digits)}; its sampling interval on "
            f"these items is {low} to {high}. "
        )
    return Table(
        id="baselines",
        caption="Null baselines: what the same estimand gives to scores that do not read the prompt",
        columns=(
            *cell_heads(looks),
            *interval_columns("longer answer wins", value="A"),
            *interval_columns("shorter answer wins", value="A"),
            *interval_columns("prompt-blind score", value="A"),
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
    written: dict[tuple[str, str], tuple[Entry, ...]] = {}
    for cell in results.cells:
        both = None if cell.twins is None else cell.twins.both_right
        crossed = None if cell.twins is None else cell.twins.crossed
        written[(cell.model, cell.configuration)] = (
            *quantity_entries(both, notes=notes, digits=digits),
            *quantity_entries(crossed, notes=notes, digits=digits),
            Entry("–" if both is None else denominator(both)),
        )
    rows, remark = capped(_rows_of(results, looks, written), what="cells")
    return Table(
        id="twins",
        caption="Crossed twins: both pairs right, and the crossed ordering",
        columns=(
            *cell_heads(looks),
            *interval_columns("both right", value="share"),
            *interval_columns("crossed ordering", value="share"),
            Column("twins", align=_NUMBER),
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
    written = {
        (cell.model, cell.configuration): (
            *(Entry(count(cell.outcomes.get(outcome.value, 0))) for outcome in Outcome),
            Entry(count(sum(cell.outcomes.values()))),
            Entry(count(cell.spans_join)),
        )
        for cell in results.cells
    }
    rows, remark = capped(_collapsed(results, looks, written), what="rows")
    return Table(
        id="outcomes",
        caption="Denominators: every item by its outcome",
        columns=(
            *cell_heads(looks),
            *(Column(outcome.value, align=_NUMBER, group="items by outcome") for outcome in Outcome),
            Column("items", align=_NUMBER),
            Column("join", align=_NUMBER),
        ),
        rows=rows,
        remark=(
            "Only scored and tie carry a number. Join: items with a token that spans the join of prompt "
            "and answer. " + remark
        ).strip(),
    )


def identity_sentence(results: Results) -> str:
    """Whether strict + strict with swapped labels + tie rate was one in every cell."""
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


def _collapsed(
    results: Results, looks: Looks, written: Mapping[tuple[str, str], tuple[Entry, ...]]
) -> list[TableRow]:
    """One row a cell, or fewer where all configurations, all systems or both print the same."""
    configurations = [one.id for one in results.configurations]
    models = list(looks.order)
    everywhere = f"all {len(configurations)} configurations"
    everyone = f"all {len(models)} systems"
    if len(set(written.values())) == 1:
        return [TableRow(entries=(Entry(everywhere), Entry(everyone), *next(iter(written.values()))))]
    if all(len({written[(m, c)] for c in configurations}) == 1 for m in models):
        return [
            TableRow(
                entries=(
                    Entry(everywhere, is_repeat=index > 0),
                    Entry(looks.names[m]),
                    *written[(m, configurations[0])],
                )
            )
            for index, m in enumerate(models)
        ]
    if all(len({written[(m, c)] for m in models}) == 1 for c in configurations):
        return [
            TableRow(
                entries=(
                    Entry(configuration_words(one, looks.factors)),
                    Entry(everyone),
                    *written[(models[0], one.id)],
                ),
                is_primary=one.primary,
            )
            for one in results.configurations
        ]
    return _rows_of(results, looks, written)
