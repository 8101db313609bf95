"""The files inside a report, from a PDF or a page; nothing about them is verified."""

from __future__ import annotations

from pathlib import Path

from safetyrepro.errors import InputError, must_be

MOST_REPORT_BYTES = 256 << 20


def read_report(path: Path) -> bytes:
    """The bytes of a report's file.

    Raises:
        InputError: it cannot be read, or is larger than 256 MiB.
    """
    try:
        size = path.stat().st_size
        if size > MOST_REPORT_BYTES:
            raise InputError(
                must_be(str(path), f"a report must be at most {MOST_REPORT_BYTES} bytes", size)
            )
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: must be a readable file; {error.strerror or error}") from error


def files_inside(data: bytes, *, where: str) -> dict[str, bytes]:
    """The files that a PDF or a page holds, by name.

    Raises:
        InputError: it is neither, or what is inside is malformed or beyond the limits.
    """
    if data.startswith(b"%PDF-"):
        from safetyrepro.attest.pdf_attachments import read_attachments

        return {one.name: one.data for one in read_attachments(data, where=where)}
    if not data[:256].lstrip().lower().startswith((b"<!doctype html", b"<html")):
        raise InputError(must_be(where, "must be a report as PDF or HTML", data[:8]))
    from safetyrepro.report.printed import documents_in_page

    return documents_in_page(data, where=where)


def read_files(path: Path) -> dict[str, bytes]:
    """The files inside the report at `path`, by name.

    Raises:
        InputError: the file cannot be read, or is no report.
    """
    return files_inside(read_report(path), where=str(path))
