"""What a reader was handed: a PDF, a page, a report record, or a bundle; told apart by what is in it.

Nothing here is verified. Files are read whole, up to a limit, and only under names that we wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from safetyrepro.data.bundle import REPORT_DIR, ROWS_DIR
from safetyrepro.errors import InputError, must_be
from safetyrepro.report.predicate import (
    ENVELOPE_FILE,
    ITEMS_FILE,
    MANIFEST_FILE,
    PREREGISTRATION_FILE,
    REPORT_FILE,
    RESULTS_FILE,
    SPEC_FILE,
    STATEMENT_FILE,
)
from safetyrepro.report.printed import HTML_FILE, PDF_FILE

MOST_BYTES = 256 << 20
"""The most that is read of one file, and of all rows of a bundle together."""

Form = Literal["PDF", "page", "files"]


@dataclass(frozen=True, slots=True)
class Handed:
    """A report as it was handed over."""

    form: Form
    data: bytes
    """The PDF or the page; empty for loose files."""
    files: Mapping[str, bytes]
    """Loose files by name; empty for a PDF or a page, whose files are inside."""
    beside: Mapping[str, bytes]
    """A bundle's printed forms, by name."""


def read_handed(path: Path) -> Handed:
    """The report at `path`: a PDF, an HTML page, a report.json, a bundle, or a bundle's folder `report`.

    A report.json is read with what lies beside it, as in a bundle; alone it is a record that nobody signed.

    Raises:
        InputError: nothing there that can be read, or a file that is too large.
    """
    if path.is_dir():
        inner = path / REPORT_DIR
        return _loose(inner if inner.is_dir() else path)
    data = read_bounded(path)
    if data.startswith(b"%PDF-"):
        return Handed(form="PDF", data=data, files={}, beside={})
    start = data[:256].lstrip().lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return Handed(form="page", data=data, files={}, beside={})
    if start.startswith(b"{"):
        return _loose(path.parent, record=data)
    return Handed(form="PDF", data=data, files={}, beside={})


def read_bounded(path: Path) -> bytes:
    """The bytes of a file of at most 256 MiB.

    Raises:
        InputError: it cannot be read, or is larger.
    """
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise InputError(must_be(str(path), f"a report must be at most {MOST_BYTES} bytes", size))
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: must be a readable file; {error.strerror or error}") from error


def _loose(folder: Path, *, record: bytes | None = None) -> Handed:
    root = folder.parent if folder.name == REPORT_DIR else folder
    files = {
        **dict(_present(folder, (REPORT_FILE, STATEMENT_FILE, ENVELOPE_FILE, PREREGISTRATION_FILE))),
        **dict(_present(root, (RESULTS_FILE, MANIFEST_FILE, ITEMS_FILE, SPEC_FILE))),
        **_rows(root),
    }
    if record is not None:
        files[REPORT_FILE] = record
    if REPORT_FILE not in files:
        raise InputError(
            f"{folder}: must hold a report; there is no {REPORT_FILE} (write one with `report`)"
        )
    beside = {} if record is not None else dict(_present(folder, (PDF_FILE, HTML_FILE)))
    return Handed(form="files", data=b"", files=files, beside=beside)


def _present(folder: Path, names: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    for name in names:
        if (folder / name).is_file():
            yield name, read_bounded(folder / name)


def _rows(root: Path) -> dict[str, bytes]:
    """All rows of a bundle, or none of them where they are too large to be read at once."""
    paths = sorted((root / ROWS_DIR).glob("*.jsonl.gz"))
    if sum(path.stat().st_size for path in paths) > MOST_BYTES:
        return {}
    return {f"{ROWS_DIR}/{path.name}": read_bounded(path) for path in paths}
