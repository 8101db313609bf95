"""`safetyrepro recompute`: every number of a report again, from its stored rows."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from safetyrepro.cli.console import say
from safetyrepro.cli.exits import Exit
from safetyrepro.data.bundle import open_bundle
from safetyrepro.errors import InputError, shorten
from safetyrepro.report.documents import read_files
from safetyrepro.report.recompute import Recomputation, recompute_bundle, recompute_files

_SHOWN = 10


def command(
    source: Annotated[Path, typer.Argument(help="A bundle, or a report as PDF or HTML.")],
    bundle: Annotated[
        Path | None,
        typer.Option("--bundle", help="Where the rows are, for a report that does not hold them."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compute every number and verdict of a report again from its stored rows, and compare.

    No model is loaded and nothing is written. A single value that differs is a finding, named with its
    path, what is stored and what comes out. It says that the numbers follow from the rows; `verify` says
    whose they are, and `reproduce` scores them again.

    Example: safetyrepro recompute report.pdf
    """
    if source.is_dir():
        if bundle is not None:
            raise InputError("--bundle must go with a report; got a bundle as the source too")
        found = recompute_bundle(open_bundle(source))
    else:
        found = recompute_files(read_files(source), bundle=bundle, where=str(source))
    if as_json:
        say(json.dumps({"schema": "safetyrepro/recomputation/v1", **asdict(found)}, indent=2))
    else:
        _print(found, source=source)
    if found.differences:
        raise typer.Exit(Exit.FINDINGS)


def _print(found: Recomputation, *, source: Path) -> None:
    what = f"{found.numbers} numbers"
    if found.claims is not None:
        what += f" and what is said of {found.claims} claims"
    if not found.differences:
        say(f"{source}: {what} follow from {found.rows} stored rows, to the last digit", style="green")
        return
    first = found.differences[0]
    say(
        f"DIFFERENT: {source}: {first.path} is stored as {shorten(first.stored)}; "
        f"the rows give {shorten(first.recomputed)}",
        style="red",
    )
    for one in found.differences[1:_SHOWN]:
        say(f"  {one.path}: stored {shorten(one.stored)}, recomputed {shorten(one.recomputed)}")
    if len(found.differences) > _SHOWN:
        say(f"  and {len(found.differences) - _SHOWN} more")
