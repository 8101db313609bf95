"""Rows of a table as they come, one at a time: CSV, TSV, JSON lines, Parquet; each also where gzipped."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from safetyrepro.errors import InputError, InputErrors, did_you_mean, missing_extra, must_be

SUFFIXES: Final = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".jsonl", ".jsonl.gz", ".parquet")
_LONGEST_CELL: Final = 1 << 27

Cells: TypeAlias = Sequence[object]
"""The cells of one row, as they are stored: text in CSV, what JSON or Parquet says otherwise."""


@dataclass(frozen=True, slots=True)
class OpenTable:
    """A table's columns and its rows, each with its number (CSV and Parquet: from one, after the header).

    rows: can be read once.
    """

    place: str
    columns: tuple[str, ...]
    rows: Iterator[tuple[int, Cells]]

    def index(self, column: str) -> int:
        """Where a column stands.

        Raises:
            InputError: there is no such column.
        """
        if column not in self.columns:
            known = ", ".join(self.columns[:12]) + (", …" if len(self.columns) > 12 else "")
            hint = did_you_mean(column, self.columns)
            raise InputError(
                must_be(self.place, f"must have the column named{hint}; it has {known}", column)
            )
        return self.columns.index(column)


def open_table(path: Path) -> OpenTable:
    """A table, its first row read.

    Raises:
        InputError: a name that ends in no known suffix, a file that cannot be read or is not what its
            name says, two columns of one name. Rows that are cut or malformed are refused as they come.
        MissingExtraError: Parquet needs the extra `models`.
    """
    rows = _guarded(path, _reader_of(path))
    _, header = next(rows, (0, ()))
    columns = tuple(str(name) or f"column {place}" for place, name in enumerate(header, start=1))
    doubled = sorted({name for name in columns if columns.count(name) > 1}) if _has_doubles(columns) else []
    if doubled or not columns:
        raise InputError(must_be(f"{path}: header", "columns must have different names", doubled or "none"))
    return OpenTable(place=str(path), columns=columns, rows=rows)


def is_table(path: Path) -> bool:
    """Whether a name ends as a table's does."""
    return path.name.lower().endswith(SUFFIXES)


def _has_doubles(columns: tuple[str, ...]) -> bool:
    return len(set(columns)) != len(columns)


_Reader: TypeAlias = Callable[[Path], Iterator[tuple[int, Cells]]]


def _reader_of(path: Path) -> _Reader:
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(".csv"):
        return _comma_separated
    if name.endswith(".tsv"):
        return _tab_separated
    if name.endswith(".jsonl"):
        return _json_lines
    if path.name.lower().endswith(".parquet"):
        return _parquet
    raise InputError(
        must_be(str(path), f"the name of a table must end in {', '.join(SUFFIXES)}", path.name)
    )


def _guarded(path: Path, reader: _Reader) -> Iterator[tuple[int, Cells]]:
    """The reader's rows, with what the file system and the formats raise in our words."""
    try:
        yield from reader(path)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path}: must be a whole gzip file; {error}") from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: text must be UTF-8; got byte {error.object[error.start]:#04x}"
        ) from error
    except csv.Error as error:
        raise InputError(f"{path}: must be CSV (RFC 4180); {error}") from error
    except OSError as error:
        raise InputError(f"{path}: must be a readable file; got {error.strerror or error}") from error


def _open(path: Path) -> gzip.GzipFile | io.BufferedReader:
    return gzip.open(path, "rb") if path.name.lower().endswith(".gz") else path.open("rb")


def _comma_separated(path: Path) -> Iterator[tuple[int, Cells]]:
    return _separated(path, ",")


def _tab_separated(path: Path) -> Iterator[tuple[int, Cells]]:
    return _separated(path, "\t")


def _separated(path: Path, delimiter: str) -> Iterator[tuple[int, Cells]]:
    previous = csv.field_size_limit(_LONGEST_CELL)
    try:
        with _open(path) as stream, io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
            width = 0
            for number, cells in enumerate(csv.reader(text, delimiter=delimiter, strict=True)):
                if number == 0:
                    width = len(cells)
                elif len(cells) != width:
                    if not cells:
                        continue
                    what = f"a row must have {width} cells, as its header has"
                    raise InputErrors([must_be(f"{path}: row {number}", what, len(cells))])
                yield number, cells
    finally:
        csv.field_size_limit(previous)


def _json_lines(path: Path) -> Iterator[tuple[int, Cells]]:
    columns: tuple[str, ...] = ()
    with _open(path) as stream:
        for number, line in enumerate(stream, start=1):
            text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if not text.strip():
                continue
            try:
                value = json.loads(text)
            except ValueError as error:
                raise InputErrors([f"{path}: row {number}: must be JSON; {error}"]) from error
            if not isinstance(value, dict):
                raise InputErrors([must_be(f"{path}: row {number}", "a row must be a JSON object", value)])
            if not columns:
                columns = tuple(value)
                yield 0, columns
            elif not value.keys() <= set(columns):
                stray = next(name for name in value if name not in columns)
                what = "a row must have no column that the first row lacks"
                raise InputErrors([must_be(f"{path}: row {number}", what, stray)])
            yield number, [value.get(name) for name in columns]


def _parquet(path: Path) -> Iterator[tuple[int, Cells]]:
    try:
        from pyarrow import ArrowInvalid, parquet
    except ImportError as error:
        raise missing_extra(f"{path}: reading Parquet", "models") from error
    try:
        with parquet.ParquetFile(path) as file:
            yield 0, tuple(file.schema_arrow.names)
            number = 0
            for batch in file.iter_batches():
                for cells in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    number += 1
                    yield number, cells
    except ArrowInvalid as error:
        raise InputError(f"{path}: must be a Parquet file; {str(error).splitlines()[0]}") from error
