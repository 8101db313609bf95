"""Which code ran: a digest over this program's sources, and the versions it stood on."""

from __future__ import annotations

import platform
from functools import cache
from importlib import metadata
from pathlib import Path

from safetyrepro import __version__
from safetyrepro.canonical import digest_file, digest_json
from safetyrepro.data.manifest import Versions
from safetyrepro.score.backend import SCORING_VERSION

_PACKAGES = ("numpy", "scipy", "pydantic", "rfc8785", "torch", "transformers", "tokenizers", "gguf")


@cache
def code_digest() -> str:
    """One digest over the path and content of every source file of this package."""
    root = Path(__file__).resolve().parent.parent
    return digest_json(
        {path.relative_to(root).as_posix(): digest_file(path) for path in sorted(root.rglob("*.py"))}
    )


def current_versions() -> Versions:
    """The software that runs now; packages that are not installed are absent."""
    packages: dict[str, str] = {}
    for name in _PACKAGES:
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return Versions(
        safetyrepro=__version__,
        code=code_digest(),
        python=platform.python_version(),
        packages=packages,
        scoring=SCORING_VERSION,
    )
