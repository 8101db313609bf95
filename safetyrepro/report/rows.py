"""How rows of a table come about: one a cell, or fewer where all print the same, and never too many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Final, TypeAlias

from safetyrepro.data.results import Cell, ConfigurationInfo, Results
from safetyrepro.report.looks import Looks, configuration_words
from safetyrepro.report.notation import count
from safetyrepro.report.tree import Column, Entry, TableRow

MOST_ROWS: Final = 150
SHORTENED_ROWS: Final = 60

Writer: TypeAlias = Callable[[Cell], tuple[Entry, ...]]
"""What is printed of a cell, beside its names; called for printed rows only, so that notes are theirs."""


def capped(rows: Iterable[TableRow], *, total: int, what: str) -> tuple[tuple[TableRow, ...], str]:
    """All rows up to 150, else the first 60 and the sentence that says where the others are.

    Args:
        rows: the rows; only those printed are made.
        total: how many there would be.
        what: what they are, in the plural.
    """
    if total <= MOST_ROWS:
        return tuple(rows), ""
    return (
        tuple(islice(rows, SHORTENED_ROWS)),
        f"{count(SHORTENED_ROWS)} of {count(total)} {what} are printed; all of them are in the attached "
        "results.json.",
    )


def interval_columns(group: str, *, value: str) -> tuple[Column, Column, Column]:
    """Value, lower and upper end below one heading."""
    return (
        Column(value, align="number", group=group),
        Column("low", align="number", group=group),
        Column("high", align="number", group=group),
    )


def cell_heads(looks: Looks) -> tuple[Column, Column]:
    """The two columns that name a cell."""
    return Column(" · ".join(looks.factors), is_header=True), Column("system", is_header=True)


def cell_table_rows(
    results: Results, looks: Looks, *, write: Writer, what: str = "cells"
) -> tuple[tuple[TableRow, ...], str]:
    """A row a cell, configuration by configuration; the primary one first where not all are printed."""
    return capped(_rows(results, looks, write), total=len(results.cells), what=what)


def _rows(results: Results, looks: Looks, write: Writer) -> Iterator[TableRow]:
    for configuration in _printing_order(results):
        for index, model in enumerate(looks.order):
            yield TableRow(
                entries=(
                    Entry(configuration_words(configuration, looks.factors), is_repeat=index > 0),
                    Entry(looks.names[model]),
                    *write(looks.cells[(model, configuration.id)]),
                ),
                opens_group=index == 0,
                is_primary=configuration.primary,
            )


def _printing_order(results: Results) -> list[ConfigurationInfo]:
    order = list(results.configurations)
    if len(results.cells) > MOST_ROWS:
        order.sort(key=lambda one: not one.primary)
    return order


def collapsed_rows(
    results: Results, looks: Looks, *, write: Writer, what: str = "rows"
) -> tuple[tuple[TableRow, ...], str]:
    """One row a cell, or fewer where all configurations, all systems or both print the same."""
    configurations = list(results.configurations)
    models = list(looks.order)
    everywhere = f"all {len(configurations)} configurations"
    everyone = f"all {len(models)} systems"
    written = {key: write(cell) for key, cell in looks.cells.items()}
    if len(set(written.values())) == 1:
        only = next(iter(written.values()))
        return (TableRow(entries=(Entry(everywhere), Entry(everyone), *only)),), ""
    if all(len({written[(m, c.id)] for c in configurations}) == 1 for m in models):
        rows = [
            TableRow(
                entries=(
                    Entry(everywhere, is_repeat=index > 0),
                    Entry(looks.names[m]),
                    *written[(m, configurations[0].id)],
                )
            )
            for index, m in enumerate(models)
        ]
        return capped(rows, total=len(rows), what=what)
    if all(len({written[(m, c.id)] for m in models}) == 1 for c in configurations):
        rows = [
            TableRow(
                entries=(
                    Entry(configuration_words(one, looks.factors)),
                    Entry(everyone),
                    *written[(models[0], one.id)],
                ),
                is_primary=one.primary,
            )
            for one in configurations
        ]
        return capped(rows, total=len(rows), what=what)
    return cell_table_rows(results, looks, write=write, what=what)
