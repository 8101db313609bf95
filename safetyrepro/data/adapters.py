"""Pairs made from sources that store them otherwise; each adapter adds the columns that items have."""

from __future__ import annotations

from safetyrepro.data.tables import RowErrors, Table, TableRow
from safetyrepro.errors import did_you_mean
from safetyrepro.spec.items import Adapter, DialogueAdapter, LabelAdapter


def adapt(table: Table, adapter: Adapter | None) -> Table:
    """The table with the columns that its adapter makes; the table itself where there is none.

    Raises:
        InputErrors: a row that does not have the declared form; every such row at once.
    """
    if adapter is None:
        return table
    errors = RowErrors(table.place)
    rows: list[TableRow] = []
    for row in table.rows:
        match adapter:
            case DialogueAdapter():
                made = _split_dialogue(row, adapter, errors)
            case LabelAdapter():
                made = _order_by_label(row, adapter, errors)
        if made is not None:
            rows.append(TableRow(row.number, {**row.cells, **made}))
    errors.check()
    return Table(place=table.place, rows=tuple(rows), digest=table.digest)


def _text(row: TableRow, column: str, errors: RowErrors) -> str | None:
    value = row.cells.get(column)
    if isinstance(value, str):
        return value
    hint = "" if column in row.cells else did_you_mean(column, row.cells)
    errors.add(row.number, f"{column} must be text{hint}", value)
    return None


def _split_dialogue(row: TableRow, adapter: DialogueAdapter, errors: RowErrors) -> dict[str, str] | None:
    chosen, rejected = _text(row, adapter.chosen, errors), _text(row, adapter.rejected, errors)
    if chosen is None or rejected is None:
        return None
    # An answer may hold the marker itself (a model that plays both sides), so only what both dialogues
    # share counts as prompt.
    before, marker, _ = _shared_start(chosen, rejected).rpartition(adapter.marker)
    if not marker:
        what = f"{adapter.chosen} and {adapter.rejected} must begin alike, up to {adapter.marker!r}"
        errors.add(row.number, what, chosen)
        return None
    start = len(before) + len(marker)
    return {"prompt": chosen[:start], "chosen": chosen[start:], "rejected": rejected[start:]}


def _shared_start(one: str, other: str) -> str:
    pairs = enumerate(zip(one, other, strict=False))
    return one[: next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))]


def _order_by_label(row: TableRow, adapter: LabelAdapter, errors: RowErrors) -> dict[str, str] | None:
    first, second = _text(row, adapter.first, errors), _text(row, adapter.second, errors)
    label = row.cells.get(adapter.label)
    if str(label) not in (adapter.first_is, adapter.second_is):
        what = f"{adapter.label} must be {adapter.first_is!r} or {adapter.second_is!r}"
        errors.add(row.number, what, label)
        return None
    if first is None or second is None:
        return None
    if str(label) == adapter.first_is:
        return {"chosen": first, "rejected": second}
    return {"chosen": second, "rejected": first}
