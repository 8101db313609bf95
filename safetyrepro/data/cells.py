"""What a stored cell must be to become part of an item, and the error where it is not."""

from __future__ import annotations

from collections.abc import Iterable

from safetyrepro.data.tables import RowErrors, Table, TableRow
from safetyrepro.errors import InputErrors, did_you_mean, must_be


def read_text(row: TableRow, column: str, *, errors: RowErrors) -> str | None:
    """A text that a model can be asked: a string that is not blank."""
    value = row.cell(column)
    if isinstance(value, str) and value.strip():
        return value
    what = f"{column} must be a non-empty string"
    hint = did_you_mean(column, row.cells) if value is None and column not in row.cells else ""
    errors.add(row.number, what + hint, value)
    return None


def read_label(row: TableRow, column: str, *, errors: RowErrors) -> str | None:
    """A name of an item, stratum or cluster: text, or a whole number as text."""
    value = row.cell(column)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and value.strip():
        return value
    errors.add(row.number, f"{column} must be a name or a whole number", value)
    return None


def check_columns(table: Table, columns: Iterable[tuple[str, str | None]]) -> None:
    """Refuse fields that name a column which no row has.

    Args:
        columns: (field, column), None where the field is not declared.

    Raises:
        InputErrors: every such field.
    """
    missing = [
        no_column(table, f"fields.{field}", column=column)
        for field, column in columns
        if column is not None and table.rows and not table.has(column)
    ]
    if missing:
        raise InputErrors(missing)


def no_column(table: Table, field: str, *, column: str) -> str:
    """The error for a field that names a column which is not there."""
    known = table.columns()
    what = f"{field} must be one of the columns {', '.join(known)}{did_you_mean(column, known)}"
    return must_be(table.place, what, column)
