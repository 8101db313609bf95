"""Score tables as people keep them: one row a score, or one column an item; and tables of counts.

Rows are turned into arrays as they come, so that a table of millions of rows fits. What is wrong is told
row by row, with the file and the row's number, and nothing is guessed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from safetyrepro.canonical import digest_file
from safetyrepro.data.columns import Cells, OpenTable, open_table
from safetyrepro.data.score_matrix import CountMatrix, MatrixBuilder, ScoreFile, ScoreMatrix
from safetyrepro.errors import InputError, did_you_mean, must_be

FILE_FACTOR: Final = "file"
"""A factor of this name that is no column is the name of the file, so that a file can be a level."""

_MISSING: Final = frozenset({"", "na", "n/a", "nan", "null", "none"})
_WORDS: Final = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True, slots=True)
class TableColumns:
    """Which column says what.

    With `item` and `score` a row is one score. Without both, a row is one model under one configuration,
    and every column that has no other use is an item.
    """

    model: str
    factors: tuple[str, ...] = ()
    item: str | None = None
    score: str | None = None
    cluster: str | None = None
    run: str | None = None
    ignored: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    """Further spellings of "no score", beside an empty cell, NA, NaN, null and None."""


@dataclass(frozen=True, slots=True)
class CountColumns:
    """Which column of a table of counts says what."""

    model: str
    factors: tuple[str, ...]
    successes: str
    trials: str


def read_scores(paths: Sequence[Path], columns: TableColumns, *, only: Sequence[str] = ()) -> ScoreMatrix:
    """The scores of one or more tables as one matrix.

    Args:
        paths: files that end in .csv, .tsv, .jsonl (each also .gz) or .parquet.
        columns: which column says what; the same in every file.
        only: the models to keep; all where empty.

    Raises:
        InputErrors: rows that are not what they must be, each with its file and number.
        InputError: no such file, column or model, or a file that is not what its name says.
        MissingExtraError: Parquet needs the extra `models`.
    """
    if (columns.item is None) != (columns.score is None):
        raise InputError("columns: item and score must be named both or neither; got one of them")
    builder = MatrixBuilder(columns.factors)
    kept = frozenset(only)
    files = []
    for path in dict.fromkeys(paths):
        builder.open(str(path))
        reader = _ScoreReader(path, columns=columns, kept=kept)
        files.append(ScoreFile(name=path.name, digest=digest_file(path), rows=reader.read_into(builder)))
    check_kept(kept, builder.models)
    return builder.build(files)


def read_counts(paths: Sequence[Path], columns: CountColumns, *, only: Sequence[str] = ()) -> CountMatrix:
    """A table of successes out of trials, one row a model and configuration.

    Raises:
        InputErrors: rows that are not what they must be, each with its file and number.
        InputError: no such file, column or model.
    """
    builders = MatrixBuilder(columns.factors), MatrixBuilder(columns.factors)
    kept = frozenset(only)
    files = []
    for path in dict.fromkeys(paths):
        for builder in builders:
            builder.open(str(path))
        rows = _read_count_rows(path, builders, columns=columns, kept=kept)
        files.append(ScoreFile(name=path.name, digest=digest_file(path), rows=rows))
    check_kept(kept, builders[0].models)
    won, asked = builders[0].build(files), builders[1].build()
    return CountMatrix(
        models=won.models,
        factors=won.factors,
        levels=won.levels,
        successes=_whole(won),
        trials=_whole(asked),
        files=won.files,
    )


def check_kept(kept: frozenset[str], models: Sequence[str]) -> None:
    """Refuse a chosen model that the scores do not have.

    Raises:
        InputError: such a model.
    """
    for name in sorted(kept - set(models)):
        hint = did_you_mean(name, models)
        raise InputError(must_be("--only", f"must name models of the scores{hint}", name))


def score_of(cell: object) -> float | None:
    """A cell as a finite score; NaN for a cell that says there is none; None for anything else."""
    if cell is None:
        return math.nan
    if isinstance(cell, str):
        word = cell.strip().lower()
        if word in _MISSING:
            return math.nan
        if word in _WORDS:
            return _WORDS[word]
        try:
            value = float(word)
        except ValueError:
            return None
        return None if math.isinf(value) or "_" in word else value
    if isinstance(cell, bool | int | float):
        value = float(cell)
        return None if math.isinf(value) else value
    return None


def _name_of(cell: object) -> str:
    """A cell as a name: numbers as they are written, nothing as the empty text."""
    if cell is None:
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()


class _ScoreReader:
    """One file of scores, long or wide, into a builder."""

    def __init__(self, path: Path, *, columns: TableColumns, kept: frozenset[str]) -> None:
        self._table = open_table(path)
        self._columns = columns
        self._kept = kept
        self._model = self._table.index(columns.model)
        self._levels = _level_reader(self._table, columns.factors, path)
        self._missing = frozenset(columns.missing)

    def read_into(self, builder: MatrixBuilder) -> int:
        """Adds every row's scores; the number of rows."""
        if self._columns.item is None or self._columns.score is None:
            return self._wide(builder)
        return self._long(builder, self._columns.item, self._columns.score)

    def _long(self, builder: MatrixBuilder, item_column: str, score_column: str) -> int:
        table = self._table
        item, score = table.index(item_column), table.index(score_column)
        cluster = None if self._columns.cluster is None else table.index(self._columns.cluster)
        run = None if self._columns.run is None else table.index(self._columns.run)
        rows = 0
        for number, cells in table.rows:
            model, levels, name = _name_of(cells[self._model]), self._levels(cells), _name_of(cells[item])
            if self._kept and model not in self._kept:
                continue
            rows += 1
            value = self._score(cells[score])
            if self._refused(builder, number, model=model, levels=levels, item=name):
                continue
            if value is None:
                where = f"{table.place}: row {number}"
                builder.refuse(must_be(where, f"{score_column} must be a finite number", cells[score]))
                continue
            builder.add(
                number,
                model=model,
                levels=levels,
                item=name,
                score=value,
                cluster=None if cluster is None else _name_of(cells[cluster]),
                run="" if run is None else _name_of(cells[run]),
            )
        return rows

    def _wide(self, builder: MatrixBuilder) -> int:
        table, columns = self._table, self._columns
        if columns.cluster is not None:
            raise InputError("columns: a cluster must come with item and score; got it without them")
        named = (columns.model, *columns.factors, *columns.ignored, columns.run)
        places = [place for place, name in enumerate(table.columns) if name not in named]
        if not places:
            raise InputError(must_be(table.place, "must have a column for every item", "none"))
        run = None if columns.run is None else table.index(columns.run)
        rows = 0
        for number, cells in table.rows:
            model, levels = _name_of(cells[self._model]), self._levels(cells)
            if self._kept and model not in self._kept:
                continue
            rows += 1
            if self._refused(builder, number, model=model, levels=levels, item="-"):
                continue
            which = "" if run is None else _name_of(cells[run])
            for place in places:
                value = self._score(cells[place])
                if value is None:
                    where = f"{table.place}: row {number}"
                    what = f"{table.columns[place]} must be a finite number, or be --ignore'd"
                    builder.refuse(must_be(where, what, cells[place]))
                    continue
                item = table.columns[place]
                builder.add(number, model=model, levels=levels, item=item, score=value, run=which)
        return rows

    def _score(self, cell: object) -> float | None:
        return math.nan if isinstance(cell, str) and cell in self._missing else score_of(cell)

    def _refused(
        self, builder: MatrixBuilder, number: int, *, model: str, levels: tuple[str, ...], item: str
    ) -> bool:
        named = {self._columns.model: model, self._columns.item or "item": item}
        named |= dict(zip(self._columns.factors, levels, strict=True))
        bare = next((column for column, name in named.items() if not name), None)
        if bare is not None:
            builder.refuse(must_be(f"{self._table.place}: row {number}", f"{bare} must not be empty", ""))
        return bare is not None


def _level_reader(
    table: OpenTable, factors: Sequence[str], path: Path
) -> Callable[[Cells], tuple[str, ...]]:
    """Reads a row's levels; a factor `file` that is no column is the file's name without its suffixes."""
    stem = path.name.split(".")[0]
    places = [
        None if factor == FILE_FACTOR and factor not in table.columns else table.index(factor)
        for factor in factors
    ]

    def levels(cells: Cells) -> tuple[str, ...]:
        return tuple(stem if place is None else _name_of(cells[place]) for place in places)

    return levels


def _read_count_rows(
    path: Path,
    builders: tuple[MatrixBuilder, MatrixBuilder],
    *,
    columns: CountColumns,
    kept: frozenset[str],
) -> int:
    table = open_table(path)
    model_at = table.index(columns.model)
    levels_of = _level_reader(table, columns.factors, path)
    places = table.index(columns.successes), table.index(columns.trials)
    rows = 0
    for number, cells in table.rows:
        model, levels = _name_of(cells[model_at]), levels_of(cells)
        if kept and model not in kept:
            continue
        rows += 1
        won, asked = (score_of(cells[place]) for place in places)
        where = f"{table.place}: row {number}"
        if not model or "" in levels:
            builders[0].refuse(must_be(where, "model and every factor must not be empty", [model, *levels]))
        elif won is None or asked is None or not (won.is_integer() and asked.is_integer()):
            given = [cells[place] for place in places]
            builders[0].refuse(
                must_be(where, f"{columns.successes}, {columns.trials} must be whole", given)
            )
        elif not 0 <= won <= asked:
            what = f"{columns.successes} must lie in 0..{columns.trials} = {asked:g}"
            builders[0].refuse(must_be(where, what, won))
        else:
            for builder, count in zip(builders, (won, asked), strict=True):
                builder.add(number, model=model, levels=levels, item="count", score=count)
    return rows


def _whole(matrix: ScoreMatrix) -> NDArray[np.int64]:
    counts = matrix.scores[:, :, 0]
    return np.where(np.isnan(counts), 0.0, counts).astype(np.int64)
