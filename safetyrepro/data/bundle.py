"""The bundle: a run's folder, written so that a crash leaves either the old file or the new one.

<bundle>/spec.yaml             as given
<bundle>/items.json            ids, digests, strata and clusters of the items; no texts
<bundle>/rows/<pass>-<n>.jsonl.gz  canonical JSON lines, one per (item, answer)
<bundle>/results.json          canonical JSON, no clock in it
<bundle>/manifest.json         versions, digests, seeds, timings
<bundle>/report/               what is dated and signed
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import os
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from safetyrepro.canonical import canonical_bytes, digest_bytes, parse_json
from safetyrepro.data.manifest import Manifest
from safetyrepro.data.records import ItemRecord, Row
from safetyrepro.data.results import Results
from safetyrepro.errors import InputError, IntegrityError, StorageError

SPEC_FILE = "spec.yaml"
ITEMS_FILE = "items.json"
RESULTS_FILE = "results.json"
MANIFEST_FILE = "manifest.json"
ROWS_DIR = "rows"
REPORT_DIR = "report"

_MAX_SHARD_BYTES = 1 << 30
_UNFINISHED = ".unfinished"

DocumentT = TypeVar("DocumentT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Bundle:
    """The paths of one bundle."""

    root: Path

    @property
    def spec(self) -> Path:
        return self.root / SPEC_FILE

    @property
    def items(self) -> Path:
        return self.root / ITEMS_FILE

    @property
    def results(self) -> Path:
        return self.root / RESULTS_FILE

    @property
    def manifest(self) -> Path:
        return self.root / MANIFEST_FILE

    @property
    def report(self) -> Path:
        return self.root / REPORT_DIR

    def shard(self, name: str) -> Path:
        """The file of a shard; `name` is `<pass>-<number>`."""
        return self.root / ROWS_DIR / f"{name}.jsonl.gz"


def write_atomically(path: Path, data: bytes) -> None:
    """Write `data` beside `path`, flush it to the disk, and rename it into place.

    A process that is killed meanwhile leaves an unfinished file beside `path`; `remove_unfinished` takes
    it away.

    Raises:
        StorageError: no space, no permission, or a file where a folder must be; nothing is left over.
    """
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=_UNFINISHED, dir=path.parent)
        temporary = Path(name)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()
        if isinstance(error, OSError):
            raise storage_error(path, error) from error
        raise


def remove_unfinished(bundle: Bundle) -> None:
    """Take away what a killed run was writing; only for who holds the bundle's lock.

    Raises:
        StorageError: the folder cannot be written.
    """
    for folder in (bundle.root, bundle.root / ROWS_DIR):
        for path in sorted(folder.glob(f".*{_UNFINISHED}")):
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise storage_error(path, error) from error


def storage_error(path: Path, error: OSError) -> StorageError:
    """The error for a refused write, with what to do about it."""
    advice = {
        errno.ENOSPC: "free some space and run the same command again; what is complete is kept",
        errno.EDQUOT: "free some of your quota and run the same command again; what is complete is kept",
        errno.EACCES: "choose a folder you may write to",
        errno.EPERM: "choose a folder you may write to",
        errno.EROFS: "choose a folder on a file system that is not read-only",
        errno.ENOTDIR: "choose a folder; a part of this path is a file",
        errno.EEXIST: "choose a folder; a part of this path is a file",
    }.get(error.errno or 0, "check the path")
    return StorageError(f"{path}: must be writable; got {error.strerror or error} ({advice})")


def encode_rows(rows: tuple[Row, ...]) -> bytes:
    """Rows as canonical JSON lines, in the given order."""
    return b"".join(canonical_bytes(row.model_dump(mode="json", by_alias=True)) + b"\n" for row in rows)


def write_rows(path: Path, rows: tuple[Row, ...]) -> str:
    """Write a shard and return the digest of its uncompressed lines; the same rows give the same file."""
    lines = encode_rows(rows)
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=buffer, mode="wb", compresslevel=6, mtime=0) as stream:
        stream.write(lines)
    write_atomically(path, buffer.getvalue())
    return digest_bytes(lines)


def read_rows(path: Path, *, sha256: str | None = None) -> tuple[Row, ...]:
    """The rows of a shard.

    Raises:
        IntegrityError: the file is cut short, is not gzip, holds a bad line, or differs from `sha256`.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise IntegrityError(f"{path}: must be a complete gzip file; got {error}") from error
    return parse_rows(data, where=str(path), sha256=sha256)


def parse_rows(
    data: bytes, *, where: str, sha256: str | None = None, most_bytes: int = _MAX_SHARD_BYTES
) -> tuple[Row, ...]:
    """The rows in the bytes of a shard's file.

    Raises:
        IntegrityError: the bytes are cut short, are not gzip, inflate beyond `most_bytes`, hold a bad line,
            or differ from `sha256`.
    """
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            lines = stream.read(most_bytes + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise IntegrityError(f"{where}: must be a complete gzip file; got {error}") from error
    if len(lines) > most_bytes:
        raise IntegrityError(f"{where}: must inflate to at most {most_bytes} bytes; got more")
    if sha256 is not None and digest_bytes(lines) != sha256:
        raise IntegrityError(f"{where}: rows must have digest {sha256}; got {digest_bytes(lines)}")
    return tuple(_parse_rows(lines, where))


def _parse_rows(lines: bytes, where: str) -> Iterator[Row]:
    for number, line in enumerate(lines.splitlines(), start=1):
        try:
            yield Row.model_validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            raise IntegrityError(
                f"{where}: row {number}: {place} must be right; got {first['msg']}"
            ) from None


def write_document(path: Path, document: BaseModel) -> str:
    """Write a document as canonical JSON and return its digest."""
    data = canonical_bytes(document.model_dump(mode="json", by_alias=True))
    write_atomically(path, data)
    return digest_bytes(data)


def parse_document(data: bytes, kind: type[DocumentT], *, where: str) -> DocumentT:
    """A document from its JSON bytes; duplicate keys, unknown keys and wrong types are refused.

    Raises:
        InputError: with the path inside the document.
    """
    parse_json(data, where)
    try:
        return kind.model_validate_json(data)
    except ValidationError as error:
        raise _refused(error, where) from None


def _refused(error: ValidationError, where: str) -> InputError:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"]) or "document"
    return InputError(f"{where}: {place} must be as the schema says; {first['msg']}")


def write_items(bundle: Bundle, items: tuple[ItemRecord, ...]) -> str:
    """Write the item records, in order of their ids, and return the digest of what was written."""
    ordered = sorted(items, key=lambda item: item.id)
    data = canonical_bytes([item.model_dump(mode="json", exclude_unset=True) for item in ordered])
    write_atomically(bundle.items, data)
    return digest_bytes(data)


_ITEMS = TypeAdapter(tuple[ItemRecord, ...])


def parse_items(data: bytes, *, where: str) -> tuple[ItemRecord, ...]:
    """The item records in their JSON bytes.

    Raises:
        InputError: with the path inside the document.
    """
    parse_json(data, where)
    try:
        return _ITEMS.validate_json(data)
    except ValidationError as error:
        raise _refused(error, where) from None


def read_items(bundle: Bundle) -> tuple[ItemRecord, ...]:
    """The item records of a bundle."""
    return parse_items(_read(bundle.items), where=str(bundle.items))


def read_results(bundle: Bundle) -> Results:
    """The results of a bundle."""
    return parse_document(_read(bundle.results), Results, where=str(bundle.results))


def read_manifest(bundle: Bundle) -> Manifest:
    """The manifest of a bundle."""
    return parse_document(_read(bundle.manifest), Manifest, where=str(bundle.manifest))


def open_bundle(path: Path) -> Bundle:
    """The finished bundle at `path`.

    Raises:
        InputError: there is no bundle, or its run has not finished.
    """
    if not path.is_dir():
        raise InputError(f"{path}: must be a bundle, a folder that `safetyrepro run` wrote; got no folder")
    bundle = Bundle(path)
    for needed in (bundle.spec, bundle.items, bundle.results, bundle.manifest):
        if not needed.is_file():
            raise InputError(
                f"{path}: must be a finished bundle; {needed.name} is missing "
                "(run `safetyrepro run` on its spec again: it resumes where it stopped)"
            )
    return bundle


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: must be readable; got {error.strerror or error}") from error
