"""`safetyrepro check`: what may not be claimed, and what to do about it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from safetyrepro.cli.console import say
from safetyrepro.cli.exits import Exit
from safetyrepro.findings import Severity
from safetyrepro.report.findings import Checked, find_findings

_STYLES: dict[Severity, str | None] = {"error": "red", "warning": "yellow", "note": None}


def command(
    source: Annotated[
        Path, typer.Argument(help="A spec file, a bundle, or a report as PDF, HTML or report.json.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """List what may not be claimed: every finding of a spec, a bundle or a report, with its remedy.

    Of a spec alone it says, before anything runs, which claims lie above or below their evidence, outside
    its scope, or cannot be checked. Each finding has a stable code. Notes alone leave the exit code at 0.
    The form of a spec is looked at by `validate`, signatures by `verify`.

    Example: safetyrepro check specs/quickstart/experiment.yaml
    """
    found = find_findings(source)
    if as_json:
        say(json.dumps(_document(found, source=source), indent=2, ensure_ascii=False))
    else:
        _print(found, source=source)
    if not found.clean:
        raise typer.Exit(Exit.FINDINGS)


def _print(found: Checked, *, source: Path) -> None:
    for one in found.findings:
        kind = one.kind
        say(
            f"{one.code} {kind.severity}: {one.where}: {kind.title}: {one.detail}",
            style=_STYLES[kind.severity],
        )
        say(f"      why: {kind.explanation}")
        say(f"      do:  {kind.remedy}")
    for gap in found.gaps:
        say(f"claim {gap.claim}: what would close the distance")
        for step in gap.steps:
            say(f"      {step.start} -> {step.end}: {step.study}")
    counts = Counter(one.kind.severity for one in found.findings)
    words = ", ".join(f"{counts[name]} {name}{'' if counts[name] == 1 else 's'}" for name in _STYLES)
    say(f"{source} ({found.kind}): {words}")


def _document(found: Checked, *, source: Path) -> dict[str, object]:
    return {
        "schema": "safetyrepro/check/v1",
        "source": str(source),
        "kind": found.kind,
        "findings": [
            {
                "code": one.code,
                "severity": one.kind.severity,
                "title": one.kind.title,
                "where": one.where,
                "detail": one.detail,
                "explanation": one.kind.explanation,
                "remedy": one.kind.remedy,
            }
            for one in found.findings
        ],
        "gaps": [asdict(gap) for gap in found.gaps],
    }
