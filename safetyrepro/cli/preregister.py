"""`safetyrepro preregister`: sign a plan before the run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from safetyrepro.cli.console import say, say_error
from safetyrepro.cli.signing import (
    IssuedAtOption,
    KeyOption,
    PassphraseFdOption,
    PassphraseFileOption,
    read_issued_at,
    read_signing,
)
from safetyrepro.data.bundle import write_atomically
from safetyrepro.data.sources import read_items
from safetyrepro.errors import InputError
from safetyrepro.report.preregistration import preregistration
from safetyrepro.spec.load import load_experiment


def command(
    spec: Annotated[Path, typer.Argument(help="The spec file, as it will be run.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="The plan's file; absent: beside the spec.")
    ] = None,
    data_dir: Annotated[
        Path | None, typer.Option("--data-dir", help="Where item files are; absent: beside the spec.")
    ] = None,
    role: Annotated[str, typer.Option("--role", help="As what you sign.")] = "author",
    key: KeyOption = None,
    passphrase_file: PassphraseFileOption = None,
    passphrase_fd: PassphraseFdOption = None,
    issued_at: IssuedAtOption = None,
) -> None:
    """Sign a plan before the run: claims, primary configuration, analysis, items and models.

    `report --preregistration FILE` holds what ran against it: every deviation becomes a finding, and the
    plan travels inside the report. That it was signed before the run is your word; publish the file where
    others can see its date.

    Example: safetyrepro preregister my-study.yaml --out plan.dsse.json
    """
    loaded = load_experiment(spec)
    path = out or spec.with_suffix(".preregistration.dsse.json")
    if path.exists():
        raise InputError(f"{path}: must not exist yet, a plan is never overwritten")
    items = read_items(loaded.document, base_dir=spec.parent, data_dir=data_dir)
    signing = read_signing(key, role=role, file=passphrase_file, descriptor=passphrase_fd)
    made = preregistration(
        loaded.document,
        spec=loaded.data,
        items_digest=items.digest,
        issued_at=read_issued_at(issued_at),
        signing=signing,
    )
    write_atomically(path, made)
    claims = len(loaded.document.evidence.claims)
    say_error(f"{claims} claims planned, signed by {signing.identity.principal}; publish it before the run")
    say(str(path))
