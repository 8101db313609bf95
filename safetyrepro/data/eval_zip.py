"""Members of an `.eval` file, which is a ZIP archive whose members may be compressed by Zstandard.

Python's `zipfile` lists such members and cannot read them (method 93 of the ZIP specification), so their
bytes are taken from the archive here and given to `zstandard`.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from safetyrepro.errors import InputError, missing_extra, must_be

MOST_BYTES: Final = 256 << 20
_ZSTANDARD: Final = 93
_LOCAL_HEADER: Final = struct.Struct("<4s5H3I2H")
_LOCAL_MAGIC: Final = b"PK\x03\x04"


class EvalArchive:
    """An open archive: its members by name, each read whole and checked."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self._path = path
        self._archive = archive
        self._members = {info.filename: info for info in archive.infolist()}

    @property
    def names(self) -> tuple[str, ...]:
        """The members' names, sorted."""
        return tuple(sorted(self._members))

    def read(self, name: str) -> bytes:
        """The bytes of a member.

        Raises:
            InputError: there is no such member, it is larger than 256 MiB, or not what was stored.
            MissingExtraError: it is compressed by Zstandard, and `zstandard` is not installed.
        """
        info = self._members.get(name)
        if info is None:
            raise InputError(f"{self._path}: must hold {name}; it does not")
        if info.file_size > MOST_BYTES:
            raise InputError(
                must_be(f"{self._path}: {name}", f"must be at most {MOST_BYTES} bytes", info.file_size)
            )
        try:
            data = self._inflate(info) if info.compress_type == _ZSTANDARD else self._archive.read(info)
        except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError) as error:
            raise InputError(f"{self._path}: {name} must be a whole member; {error}") from error
        if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
            raise InputError(f"{self._path}: {name} must be what was stored; its check sum differs")
        return data

    def _inflate(self, info: zipfile.ZipInfo) -> bytes:
        try:
            import zstandard
        except ImportError as error:
            raise missing_extra(f"{self._path}: reading current Inspect logs", "logs") from error
        with self._path.open("rb") as stream:
            stream.seek(info.header_offset)
            header = stream.read(_LOCAL_HEADER.size)
            if len(header) != _LOCAL_HEADER.size or header[:4] != _LOCAL_MAGIC:
                raise zipfile.BadZipFile("a member has no header")
            *_, name_bytes, extra_bytes = _LOCAL_HEADER.unpack(header)
            stream.seek(name_bytes + extra_bytes, 1)
            packed = stream.read(info.compress_size)
        try:
            return zstandard.ZstdDecompressor().decompressobj().decompress(packed)
        except zstandard.ZstdError as error:
            raise zipfile.BadZipFile(str(error)) from error


@contextmanager
def open_eval(path: Path) -> Iterator[EvalArchive]:
    """An `.eval` file, open for reading.

    Raises:
        InputError: it cannot be read, or is no ZIP archive.
    """
    try:
        archive = zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: must be an Inspect log (a ZIP archive); {error}") from error
    with archive:
        yield EvalArchive(path, archive)
