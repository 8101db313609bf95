"""Rows of a source as they are stored: JSON lines, CSV, Parquet, or a data set from a hub."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TypeAlias, cast

from safetyrepro.canonical import digest_bytes, digest_file, digest_json, parse_json
from safetyrepro.errors import InputError, InputErrors, missing_extra, must_be
from safetyrepro.spec.items import FileItems, HubItems, ItemSource, LinesItems, PackageItems

Cell: TypeAlias = object
"""A stored value, before anything is asked of it."""

SUFFIXES = (".jsonl", ".jsonl.gz", ".csv", ".csv.gz", ".parquet")
_LONGEST_CELL = 1 << 27


SHOWN_ERRORS = 20


class RowErrors:
    """The errors of a source's rows, told together; beyond the first twenty they are counted."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._messages: list[str] = []
        self._found = 0

    def add(self, row: int, what: str, value: object) -> None:
        """Note that a row is not what it must be."""
        self.add_text(must_be(f"{self._place}: row {row}", what, value))

    def add_text(self, message: str) -> None:
        """Note a whole message, which begins with its place."""
        self._found += 1
        if self._found <= SHOWN_ERRORS:
            self._messages.append(message)

    def check(self) -> None:
        """Refuse the source where any of its rows was refused.

        Raises:
            InputErrors: the noted errors in the order of their rows.
        """
        if self._found > SHOWN_ERRORS:
            self._messages.append(f"{self._place}: and {self._found - SHOWN_ERRORS} more rows like these")
        if self._messages:
            raise InputErrors(self._messages)


@dataclass(frozen=True, slots=True)
class TableRow:
    """One stored row and its number, counted from one (in JSON lines: the line)."""

    number: int
    cells: Mapping[str, Cell]

    def cell(self, column: str) -> Cell:
        """What is stored in a column, or under `a.b` in entry `b` of a column `a` of objects; or None."""
        if column in self.cells:
            return self.cells[column]
        outer, dot, inner = column.partition(".")
        within = self.cells.get(outer) if dot else None
        return within.get(inner) if isinstance(within, Mapping) else None


@dataclass(frozen=True, slots=True)
class Table:
    """All rows of a source. `place` is what messages call it; a hub's rows are pinned by their revision
    and have no file digest."""

    place: str
    rows: tuple[TableRow, ...]
    digest: str | None

    def columns(self) -> tuple[str, ...]:
        """Every column that any row has, in the order of first appearance."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.cells))

    def has(self, column: str) -> bool:
        """Whether any row has the column, or, as `a.b`, an object with the entry b in the column a."""
        outer, _, inner = column.partition(".")
        return any(
            column in row.cells or (isinstance(cell := row.cells.get(outer), Mapping) and inner in cell)
            for row in self.rows
        )


def read_table(source: ItemSource, *, base_dir: Path, data_dir: Path | None = None) -> Table:
    """The rows of an item source.

    Args:
        source: the spec's `items.source`.
        base_dir: the folder of the spec, which relative paths start from.
        data_dir: where given, the folder that relative paths of `file` sources start from instead.

    Raises:
        InputError: there is no such file, package or data set, or it is not what its name says.
        MissingExtraError: Parquet or a hub needs the extra `models`.
    """
    match source:
        case FileItems():
            return _read_file((data_dir or base_dir) / source.path)
        case PackageItems():
            return _read_file(package_file(source.package, source.file))
        case HubItems():
            return _read_hub(source)
        case LinesItems():
            return _read_lines(source, data_dir or base_dir)


def package_file(package: str, file: str) -> Path:
    """The path of a file inside an installed package, which is found and never imported.

    Raises:
        InputError: the package is not installed, or the file is not inside it.
    """
    found = find_spec(package)
    folders = [] if found is None else list(found.submodule_search_locations or ())
    if not folders:
        raise InputError(must_be(f"package {package}", "must be an installed Python package", "none"))
    for folder in folders:
        path = (Path(folder) / file).resolve()
        if not path.is_relative_to(Path(folder).resolve()):
            raise InputError(must_be(f"package {package}", "the file must be inside the package", file))
        if path.is_file():
            return path
    raise InputError(must_be(f"package {package}", f"must hold the file {file}", "none"))


def _read_file(path: Path) -> Table:
    reader = _reader_of(path)
    errors = RowErrors(str(path))
    try:
        digest = digest_file(path)
        rows = tuple(reader(path, errors))
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path}: must be a whole gzip file; {error}") from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: text must be UTF-8; got byte {error.object[error.start]:#04x}"
        ) from error
    except OSError as error:
        raise InputError(f"{path}: must be a readable file; got {error.strerror or error}") from error
    errors.check()
    return Table(place=str(path), rows=rows, digest=digest)


_Reader: TypeAlias = Callable[[Path, RowErrors], Iterable[TableRow]]


def _reader_of(path: Path) -> _Reader:
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(".jsonl"):
        return _json_lines
    if name.endswith(".csv"):
        return _csv
    if path.name.lower().endswith(".parquet"):
        return _parquet
    raise InputError(
        must_be(str(path), f"the name of an item file must end in {', '.join(SUFFIXES)}", path.name)
    )


def _open(path: Path) -> IO[bytes]:
    if path.name.lower().endswith(".gz"):
        return cast(IO[bytes], gzip.open(path, "rb"))
    return path.open("rb")


def _json_lines(path: Path, errors: RowErrors) -> Iterator[TableRow]:
    with _open(path) as stream:
        for number, line in enumerate(stream, start=1):
            text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if not text.strip():
                continue
            try:
                value = parse_json(text, f"{path}: row {number}")
            except InputError as error:
                errors.add_text(str(error))
                continue
            if isinstance(value, dict):
                yield TableRow(number, value)
            else:
                errors.add(number, "a row must be a JSON object", value)


def _csv(path: Path, errors: RowErrors) -> Iterator[TableRow]:
    previous = csv.field_size_limit(_LONGEST_CELL)  # the module's default refuses cells over 128 KiB
    try:
        with _open(path) as stream, io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
            lines = csv.reader(text, strict=True)
            # A column without a name, as tools write for row numbers, is called by its place.
            header = [name or f"column {place}" for place, name in enumerate(next(lines, []), start=1)]
            if len(set(header)) != len(header):
                raise InputError(must_be(f"{path}: header", "columns must have different names", header))
            for number, cells in enumerate(lines, start=1):
                if len(cells) == len(header):
                    yield TableRow(number, dict(zip(header, cells, strict=True)))
                elif cells:
                    errors.add(
                        number, f"a row must have {len(header)} cells, as its header has", len(cells)
                    )
    except csv.Error as error:
        raise InputError(f"{path}: must be CSV (RFC 4180); {error}") from error
    finally:
        csv.field_size_limit(previous)


def _parquet(path: Path, errors: RowErrors) -> Iterator[TableRow]:
    try:
        from pyarrow import ArrowInvalid, parquet
    except ImportError as error:
        raise missing_extra(f"{path}: reading Parquet", "models") from error
    try:
        with parquet.ParquetFile(path) as file:
            number = 0
            for batch in file.iter_batches():
                for cells in batch.to_pylist():
                    number += 1
                    yield TableRow(number, cells)
    except ArrowInvalid as error:
        raise InputError(f"{path}: must be a Parquet file; {str(error).splitlines()[0]}") from error


def _read_lines(source: LinesItems, folder: Path) -> Table:
    """One row a line that is not blank; the digest is that of the files' digests, in their order."""
    rows: list[TableRow] = []
    digests: list[str] = []
    for file in source.files:
        path = folder / file.path
        try:
            data = path.read_bytes()
            lines = data.decode("utf-8-sig").split("\n")
        except UnicodeDecodeError as error:
            raise InputError(
                f"{path}: text must be UTF-8; got byte {error.object[error.start]:#04x}"
            ) from error
        except OSError as error:
            raise InputError(f"{path}: must be a readable file; got {error.strerror or error}") from error
        digests.append(digest_bytes(data))
        if file.sha256 is not None and digests[-1] != file.sha256:
            raise InputError(f"{path}: sha256 must be {file.sha256}; got {digests[-1]}")
        for line in lines:
            if line.strip():
                cells = {**file.cells, source.column: line.removesuffix("\r")}
                rows.append(TableRow(len(rows) + 1, cells))
    place = ", ".join(str(folder / file.path) for file in source.files)
    return Table(place=place, rows=tuple(rows), digest=digest_json(list(digests)))


def _read_hub(source: HubItems) -> Table:
    place = f"{source.repo}@{source.revision[:12]} {source.split}"
    try:
        import datasets
    except ImportError as error:
        raise missing_extra(f"{place}: items from a hub", "models") from error
    try:
        loaded = datasets.load_dataset(
            source.repo,
            name=source.config,
            data_dir=source.folder,
            split=source.split,
            revision=source.revision,
        )
        rows = tuple(TableRow(number, dict(cells)) for number, cells in enumerate(loaded, start=1))
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"{place}: must be a data set that can be reached or is in the local cache; got {reason}"
        ) from error
    return Table(place=place, rows=rows, digest=None)
