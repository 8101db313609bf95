"""Which printer made a page: a page can be held against a second printing only by the same printer.

The printer is this program's code, its templates and fonts, and, for a PDF, the libraries that set the
text. Two printers may set the same report with other line ends or other bytes; that one of them differs
says nothing about the page.
"""

from __future__ import annotations

import zlib
from functools import cache
from importlib import metadata

from safetyrepro import __version__
from safetyrepro.canonical import digest_file, digest_json
from safetyrepro.resources import resource_dir
from safetyrepro.run.code import code_digest

_SHOWN_DIGITS = 12
_PDF_PACKAGES = ("weasyprint", "pydyf", "fonttools", "pyphen", "tinycss2", "pyhanko", "pillow")


@cache
def program() -> str:
    """The program by version and by 12 digits over its sources and templates, as a report names it."""
    root = resource_dir("reports")
    files = {
        path.relative_to(root).as_posix(): digest_file(path)
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }
    digest = digest_json({"code": code_digest(), "templates": files}).removeprefix("sha256:")
    return f"safetyrepro {__version__} ({digest[:_SHOWN_DIGITS]})"


@cache
def pdf_printer() -> str:
    """The program and everything else that decides the bytes of a PDF, as the PDF's own record names it."""
    from weasyprint.text.ffi import pango

    versions = [f"{name} {metadata.version(name)}" for name in _PDF_PACKAGES]
    return "; ".join(
        (program(), *versions, f"pango {pango.pango_version()}", f"zlib {zlib.ZLIB_RUNTIME_VERSION}")
    )
