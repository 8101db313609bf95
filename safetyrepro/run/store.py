"""Shards on disk: in the bundle, and in a cache that other bundles share.

A shard is complete when its record is in place: rows are written first, the record last, both beside
and renamed. A shard whose key or digest differs is never served; it is computed again.
"""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from safetyrepro.data.bundle import (
    ROWS_DIR,
    Bundle,
    parse_document,
    read_rows,
    storage_error,
    write_atomically,
    write_document,
    write_rows,
)
from safetyrepro.data.records import Row
from safetyrepro.data.results import FindingRecord
from safetyrepro.errors import InputError, IntegrityError
from safetyrepro.spec.base import Document


class ShardRecord(Document):
    """What is known about a stored shard."""

    key: str
    """The digest of everything its scores depend on."""
    sha256: str
    """The digest of its uncompressed rows, in the pass they were computed for."""
    rows: int
    """Rows in it."""
    scored_at: str
    """When it was computed, UTC."""
    seconds: float
    """How long it took."""
    tokens: int
    """Tokens computed."""
    token_budget: int
    """Tokens a forward pass, as used in the end."""
    findings: tuple[FindingRecord, ...]
    """What scoring found."""


@dataclass(frozen=True, slots=True)
class ShardStore:
    """The shards of one bundle, with an optional cache behind them."""

    bundle: Bundle
    cache: Path | None

    def find(self, name: str, *, key: str, pass_id: str) -> ShardRecord | None:
        """The record of a complete shard with this key; one that only the cache has is brought over."""
        record = _read_record(self._record(name))
        if record is not None and record.key == key and self._rows_are(name, record):
            return record
        if self.cache is None:
            return None
        rows_file, record_file = self._cached(key)
        cached = _read_record(record_file)
        if cached is None or cached.key != key:
            return None
        try:
            rows = read_rows(rows_file, sha256=cached.sha256)
        except IntegrityError:
            return None
        return self._write(name, _in_pass(rows, pass_id), cached)

    def save(self, name: str, rows: tuple[Row, ...], record: ShardRecord) -> ShardRecord:
        """Store a computed shard in the bundle, then in the cache; the record returns with its digest."""
        stored = self._write(name, rows, record)
        if self.cache is not None:
            rows_file, record_file = self._cached(record.key)
            sha256 = write_rows(rows_file, rows)
            write_document(record_file, stored.model_copy(update={"sha256": sha256}))
        return stored

    def rows(self, name: str, record: ShardRecord) -> tuple[Row, ...]:
        """The rows of a stored shard, checked against its record."""
        return read_rows(self.bundle.shard(name), sha256=record.sha256)

    def _write(self, name: str, rows: tuple[Row, ...], record: ShardRecord) -> ShardRecord:
        sha256 = write_rows(self.bundle.shard(name), rows)
        stored = record.model_copy(update={"sha256": sha256, "rows": len(rows)})
        write_document(self._record(name), stored)
        return stored

    def _rows_are(self, name: str, record: ShardRecord) -> bool:
        try:
            self.rows(name, record)
        except IntegrityError:
            return False
        return True

    def _record(self, name: str) -> Path:
        return self.bundle.root / ROWS_DIR / f"{name}.json"

    def _cached(self, key: str) -> tuple[Path, Path]:
        if self.cache is None:
            raise ValueError("this store has no cache")
        digits = key.removeprefix("sha256:")
        folder = self.cache / digits[:2]
        return folder / f"{digits}.jsonl.gz", folder / f"{digits}.json"


def _in_pass(rows: tuple[Row, ...], pass_id: str) -> tuple[Row, ...]:
    return tuple(row.model_copy(update={"pass_": pass_id}) for row in rows)


def _read_record(path: Path) -> ShardRecord | None:
    """The record at `path`; None where there is none to trust, and the shard is computed again."""
    try:
        return parse_document(path.read_bytes(), ShardRecord, where=str(path))
    except (OSError, InputError):
        return None


@contextlib.contextmanager
def only_run(bundle: Bundle) -> Iterator[None]:
    """Hold the bundle's lock; the operating system lets go of it when the process ends, however it ends.

    Raises:
        InputError: another run is writing into this bundle.
        StorageError: the folder cannot be written.
    """
    path = bundle.root / ".lock"
    try:
        bundle.root.mkdir(parents=True, exist_ok=True)
        stream = path.open("a")
    except OSError as error:
        raise storage_error(bundle.root, error) from error
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                f"{bundle.root}: must not be written by two runs; another run holds it"
            ) from None
        yield


def write_spec(bundle: Bundle, data: bytes) -> None:
    """Keep the spec as it was given."""
    write_atomically(bundle.spec, data)
