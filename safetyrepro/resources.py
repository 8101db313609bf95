"""Where the files that ship with the program are: specs, rubrics, report templates, schemas.

In a checkout they are the folders beside the package; in a wheel they are inside it, under
`_files`. Nothing else in the program knows the difference.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def resource_dir(name: str) -> Path:
    """The folder `name` (such as `reports` or `schemas`) that ships with this program.

    Raises:
        FileNotFoundError: the installation lacks it.
    """
    for root in (_PACKAGE / "_files", _PACKAGE.parent):
        path = root / name
        if path.is_dir():
            return path
    raise FileNotFoundError(f"safetyrepro was installed without its folder {name!r}")
