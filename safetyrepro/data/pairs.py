"""Rows of a source to preference pairs."""

from __future__ import annotations

from safetyrepro.data.cells import check_columns, read_label, read_text
from safetyrepro.data.records import Pair
from safetyrepro.data.tables import RowErrors, Table, TableRow
from safetyrepro.spec.items import PairFields


def make_pairs(table: Table, fields: PairFields) -> tuple[Pair, ...]:
    """One pair a row.

    Raises:
        InputErrors: fields that name no column; every row that is not a pair.
    """
    names = {name: column for name, column in fields.model_dump().items() if name != "prompt_text"}
    check_columns(table, names.items())
    errors = RowErrors(table.place)
    pairs = [pair for row in table.rows if (pair := _pair(row, fields, errors)) is not None]
    errors.check()
    return tuple(pairs)


def _pair(row: TableRow, fields: PairFields, errors: RowErrors) -> Pair | None:
    prompt = fields.prompt_text
    if fields.prompt is not None:
        prompt = read_text(row, fields.prompt, errors=errors)
    chosen = read_text(row, fields.chosen, errors=errors)
    rejected = read_text(row, fields.rejected, errors=errors)
    name = str(row.number) if fields.id is None else read_label(row, fields.id, errors=errors)
    stratum = None if fields.stratum is None else read_label(row, fields.stratum, errors=errors)
    cluster = None if fields.cluster is None else read_label(row, fields.cluster, errors=errors)
    if chosen is not None and chosen == rejected:
        errors.add(row.number, f"{fields.chosen} and {fields.rejected} must differ", chosen)
        return None
    if prompt is None or chosen is None or rejected is None or name is None:
        return None
    return Pair(id=name, prompt=prompt, chosen=chosen, rejected=rejected, stratum=stratum, cluster=cluster)
