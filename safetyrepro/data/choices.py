"""Rows of a source to choices: the options in every declared form, and which of them are right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from safetyrepro.canonical import parse_json
from safetyrepro.data.cells import check_columns, read_label, read_text
from safetyrepro.data.records import Choice
from safetyrepro.data.tables import Cell, RowErrors, Table, TableRow
from safetyrepro.errors import InputError
from safetyrepro.spec.choices import (
    ChoiceFields,
    ColumnOptions,
    GoldColumn,
    ListOptions,
    SplitOptions,
    TextOptions,
    TruthOptions,
)

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def make_choices(table: Table, fields: ChoiceFields) -> tuple[Choice, ...]:
    """One choice a row.

    Raises:
        InputErrors: fields that name no column; every row that is not a choice: fewer than two options,
            two alike, a blank one, no right option, every option right, or a gold that names none.
    """
    check_columns(table, _columns(fields))
    errors = RowErrors(table.place)
    choices = [choice for row in table.rows if (choice := _choice(row, fields, errors)) is not None]
    errors.check()
    return tuple(choices)


@dataclass(frozen=True, slots=True)
class _Answers:
    options: tuple[str, ...]
    golds: tuple[int, ...]


class _RowRefused(Exception):
    """A row is not what it must be: the rule, and what was there."""

    def __init__(self, what: str, value: object) -> None:
        super().__init__(what)
        self.what, self.value = what, value


def _columns(fields: ChoiceFields) -> Iterator[tuple[str, str | None]]:
    yield from (("prompt", column) for column in fields.prompt)
    match fields.options:
        case ColumnOptions():
            yield from (("options.columns", column) for column in fields.options.columns)
        case ListOptions() | SplitOptions():
            yield "options.column", fields.options.column
        case TruthOptions():
            yield "options.correct", fields.options.correct
            yield "options.incorrect", fields.options.incorrect
        case TextOptions():
            pass
    yield "gold.column", None if fields.gold is None else fields.gold.column
    yield from (("id", fields.id), ("stratum", fields.stratum), ("cluster", fields.cluster))


def _choice(row: TableRow, fields: ChoiceFields, errors: RowErrors) -> Choice | None:
    parts = [read_text(row, column, errors=errors) for column in fields.prompt]
    name = str(row.number) if fields.id is None else read_label(row, fields.id, errors=errors)
    stratum = None if fields.stratum is None else read_label(row, fields.stratum, errors=errors)
    cluster = None if fields.cluster is None else read_label(row, fields.cluster, errors=errors)
    try:
        answers = _answers(row, fields)
    except _RowRefused as refused:
        errors.add(row.number, refused.what, refused.value)
        return None
    prompt = [part for part in parts if part is not None]
    if len(prompt) < len(parts) or name is None:
        return None
    return Choice(
        id=name,
        prompt=fields.prompt_join.join(prompt),
        options=answers.options,
        golds=answers.golds,
        stratum=stratum,
        cluster=cluster,
    )


def _answers(row: TableRow, fields: ChoiceFields) -> _Answers:
    if isinstance(fields.options, TruthOptions):
        found = _truths(row, fields.options)
    else:
        options = _options(row, fields.options)
        if fields.gold is None:
            raise ValueError("fields without truths must declare gold")
        found = _Answers(options, _golds(row, fields.gold, options=options))
    if len(found.options) < 2:
        raise _RowRefused("there must be at least two options", list(found.options))
    for place, option in enumerate(found.options):
        if option in found.options[:place]:
            raise _RowRefused("options must differ", option)
    if not found.golds:
        raise _RowRefused("at least one option must be right", list(found.options))
    if len(found.golds) == len(found.options):
        raise _RowRefused("at least one option must be wrong", list(found.options))
    return found


def _options(
    row: TableRow, options: ColumnOptions | ListOptions | SplitOptions | TextOptions
) -> tuple[str, ...]:
    match options:
        case ColumnOptions():
            return tuple(_option(row.cell(column), column) for column in options.columns)
        case ListOptions():
            values = _list(row.cell(options.column), options.column)
            return tuple(_option(value, options.column) for value in values)
        case SplitOptions():
            return _split(row, options.column, separator=options.separator)
        case TextOptions():
            return options.texts


def _truths(row: TableRow, options: TruthOptions) -> _Answers:
    right = set(_split(row, options.correct, separator=options.separator))
    wrong = set(_split(row, options.incorrect, separator=options.separator))
    if right & wrong:
        what = f"{options.correct} and {options.incorrect} must not share an answer"
        raise _RowRefused(what, sorted(right & wrong)[0])
    texts = tuple(sorted(right | wrong))
    return _Answers(texts, tuple(place for place, text in enumerate(texts) if text in right))


def _golds(row: TableRow, gold: GoldColumn, *, options: tuple[str, ...]) -> tuple[int, ...]:
    value = row.cell(gold.column)
    if gold.form == "flags":
        return _flagged(_list(value, gold.column), gold.column, options=len(options))
    several = value if isinstance(value, (list, tuple)) else [value]
    places = [_place(one, gold, options=options) for one in several]
    return tuple(sorted(set(places)))


def _flagged(flags: list[Cell], column: str, *, options: int) -> tuple[int, ...]:
    if len(flags) != options:
        raise _RowRefused(f"{column} must have a flag for each of {options} options", len(flags))
    for flag in flags:
        if isinstance(flag, bool) or flag not in (0, 1):
            raise _RowRefused(f"{column} must hold flags, 0 or 1", flag)
    return tuple(place for place, flag in enumerate(flags) if flag == 1)


def _place(value: Cell, gold: GoldColumn, *, options: tuple[str, ...]) -> int:
    if gold.form == "text":
        if value not in options:
            raise _RowRefused(f"{gold.column} must be one of the options", value)
        return options.index(str(value))
    place: int | None = None
    if gold.form == "letter" and isinstance(value, str):
        letter = value.strip().upper()
        place = _LETTERS.index(letter) if len(letter) == 1 and letter in _LETTERS else None
    elif gold.form == "index" and isinstance(value, int) and not isinstance(value, bool):
        place = value
    elif gold.form == "index" and isinstance(value, str) and value.strip().isdecimal():
        place = int(value)
    if place is None or not 0 <= place < len(options):
        last = _LETTERS[len(options) - 1] if gold.form == "letter" else str(len(options) - 1)
        first = "A" if gold.form == "letter" else "0"
        raise _RowRefused(f"{gold.column} must be the {gold.form} of an option, {first} to {last}", value)
    return place


def _option(value: Cell, column: str) -> str:
    if isinstance(value, str) and value.strip():
        return value
    raise _RowRefused(f"{column}: an option must be a non-empty string", value)


def _split(row: TableRow, column: str, *, separator: str) -> tuple[str, ...]:
    """The parts of a text; what stands after its last separator may be empty, nothing else may."""
    value = row.cell(column)
    if not isinstance(value, str) or not value.strip():
        raise _RowRefused(f"{column} must be a non-empty string", value)
    parts = [part.strip() for part in value.split(separator)]
    if len(parts) > 1 and parts[-1] == "":
        parts.pop()
    return tuple(_option(part, column) for part in parts)


def _list(value: Cell, column: str) -> list[Cell]:
    """A list, or the text of a JSON list."""
    found: Cell = value
    if isinstance(value, str):
        try:
            found = parse_json(value.encode(), column)
        except InputError as error:
            raise _RowRefused(f"{column} must be a list, or the text of a JSON list", value) from error
    if isinstance(found, (list, tuple)):
        return list(found)
    raise _RowRefused(f"{column} must be a list, or the text of a JSON list", value)
