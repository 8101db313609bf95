"""`safetyrepro validate`: the form of spec files, every error at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from safetyrepro.cli.console import say, say_messages
from safetyrepro.cli.exits import Exit
from safetyrepro.errors import InputError, InputErrors, must_be
from safetyrepro.spec.load import load_document


def command(
    paths: Annotated[
        list[Path], typer.Argument(help="Spec files, and folders that are searched for *.yaml and *.yml.")
    ],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object: the files, their digests, their errors.")
    ] = False,
) -> None:
    """Check the form of spec files: every error at once, with its place.

    Each error is a line `file:line:column: where must be what; got value`. What may be claimed from
    a spec is another question; this command looks at its form alone, and reads no items and no models.

    Example: safetyrepro validate specs/ my-study.yaml
    """
    files = list(dict.fromkeys(file for path in paths for file in _files(path)))
    results = {str(file): _check(file) for file in files}
    errors = [message for result in results.values() for message in result.errors]
    if as_json:
        listing = [
            {"file": name, "schema": result.schema, "digest": result.digest, "errors": result.errors}
            for name, result in results.items()
        ]
        say(json.dumps({"files": listing, "errors": len(errors)}, indent=2, ensure_ascii=False))
    else:
        say_messages(errors)
        refused = sum(bool(result.errors) for result in results.values())
        say(_summary(len(files), refused, len(errors)), style="red" if errors else "green")
    if errors:
        raise typer.Exit(Exit.REFUSED)


@dataclass(frozen=True, slots=True)
class _Checked:
    schema: str | None
    digest: str | None
    errors: tuple[str, ...]


def _check(file: Path) -> _Checked:
    try:
        document = load_document(file).document
    except InputErrors as error:
        return _Checked(None, None, error.messages)
    except InputError as error:
        return _Checked(None, None, (str(error),))
    return _Checked(str(document.model_dump(by_alias=True)["schema"]), document.content_digest(), ())


def _files(path: Path) -> Iterator[Path]:
    """The file itself, or the spec files below a folder by name; hidden folders are left out."""
    if not path.is_dir():
        yield path
        return
    found = sorted(
        file
        for file in path.rglob("*")
        if file.suffix in (".yaml", ".yml")
        and file.is_file()
        and not any(part.startswith(".") for part in file.relative_to(path).parts)
    )
    if not found:
        raise InputError(must_be(str(path), "a folder must hold at least one *.yaml or *.yml", "none"))
    yield from found


def _summary(files: int, refused: int, errors: int) -> str:
    counted = f"{files} file{'' if files == 1 else 's'}"
    if not errors:
        return f"{counted}: no errors of form"
    return f"{counted}: {errors} error{'' if errors == 1 else 's'} in {refused}"
