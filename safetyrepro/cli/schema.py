"""`safetyrepro schema`: the JSON Schemas that editors complete spec files with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from safetyrepro.cli.console import say
from safetyrepro.cli.exits import Exit
from safetyrepro.errors import StorageError
from safetyrepro.spec.schema import schema_texts


def command(
    folder: Annotated[Path, typer.Argument(help="The folder to write them to.")] = Path("schemas"),
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; end with 1 where a file differs or is missing.")
    ] = False,
) -> None:
    """Write the JSON Schemas that editors complete spec files with.

    A spec file names its schema in its first line:

    # yaml-language-server: $schema=schemas/experiment-v1.json

    Example: safetyrepro schema schemas/
    """
    different = False
    for name, text in schema_texts().items():
        path = folder / name
        same = path.is_file() and path.read_text(encoding="utf-8") == text
        if check:
            say(f"{path}: {'as generated' if same else 'differs from what is generated'}")
            different |= not same
        elif same:
            say(f"{path}: as it was")
        else:
            _write(path, text)
            say(f"{path}: written")
    if different:
        raise typer.Exit(Exit.FINDINGS)


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{path}: must be writable; got {error.strerror or error}") from error
