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
    remove_unfinished,
    storage_error,
    write_atomically,
    write_document,
    write_rows,
)
from safetyrepro.data.records import Row
from safetyrepro.data.results import FindingRecord
from safetyrepro.errors import InputError, IntegrityError, StorageError
from safetyrepro.spec.base import Document


class ShardRecord(Document):
    """What is known about a stored shard."""

    key: str
    """The digest of everything its scores depend on."""
    sha256: str
    """The digest of its uncompressed rows."""
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
        return self._write(name, _in_pass(rows, pass_id), _of_pass(cached, pass_id))

    def save(
        self, name: str, *, rows: tuple[Row, ...], record: ShardRecord, shared: bool = True
    ) -> ShardRecord:
        """Store a computed shard in the bundle, then in the cache; the record returns with its digest.

        Args:
            name: of the shard in the bundle.
            rows: in the order of the shard.
            record: what is known about it; its digest and number of rows are filled in.
            shared: whether other bundles may have it. Not where memory ran out: what was then computed
                with half the token budget is not what the key promises.

        Raises:
            StorageError: the disk refuses; a shard that only the cache refused is in the bundle.
        """
        stored = self._write(name, rows, record)
        if self.cache is not None and shared:
            rows_file, record_file = self._cached(record.key)
            try:
                write_rows(rows_file, rows)
                write_document(record_file, stored)
            except StorageError as error:
                raise StorageError(f"{error}; the cache can be left out with --no-cache") from error
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


def _of_pass(record: ShardRecord, pass_id: str) -> ShardRecord:
    """The record with its findings placed in this bundle's pass, which may have another name."""
    found = tuple(one.model_copy(update={"where": f"pass {pass_id}"}) for one in record.findings)
    return record.model_copy(update={"findings": found})


def _read_record(path: Path) -> ShardRecord | None:
    """The record at `path`; None where there is none to trust, and the shard is computed again."""
    try:
        return parse_document(path.read_bytes(), ShardRecord, where=str(path))
    except (OSError, InputError):
        return None


@contextlib.contextmanager
def only_run(bundle: Bundle) -> Iterator[None]:
    """Hold the bundle's lock, and take away what a killed run was writing.

    The operating system lets go of the lock when the process ends, however it ends.

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
        remove_unfinished(bundle)
        yield


def write_spec(bundle: Bundle, data: bytes) -> None:
    """Keep the spec as it was given."""
    write_atomically(bundle.spec, data)
