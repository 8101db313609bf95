"""`safetyrepro plan`: what a run will cost."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from safetyrepro.cli.console import say, stdout
from safetyrepro.data.sources import read_items
from safetyrepro.run.loader import LocalSurveyor
from safetyrepro.run.plan import Plan, plan_run
from safetyrepro.score.local import default_cache_dir
from safetyrepro.spec.load import load_experiment

_GIB = 1 << 30


def command(
    spec: Annotated[Path, typer.Argument(help="The spec file.")],
    data_dir: Annotated[
        Path | None, typer.Option("--data-dir", help="Where item files are; absent: beside the spec.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the plan as one JSON object.")] = False,
) -> None:
    """Count what a run will cost: cells, passes, tokens, about how long, how much memory. Runs nothing.

    Items are read and tokenised, weights are not loaded. Times come from this machine's matrix-product
    rate, measured for a third of a second; they are rough.

    Example: safetyrepro plan specs/quickstart/experiment.yaml
    """
    loaded = load_experiment(spec)
    items = read_items(loaded.document, base_dir=spec.parent, data_dir=data_dir)
    plan = plan_run(
        loaded.document, items=items, base_dir=spec.parent, surveyor=LocalSurveyor(default_cache_dir())
    )
    if as_json:
        say(
            json.dumps(
                {**asdict(plan), "seconds": plan.seconds, "memory_bytes": plan.memory_bytes}, indent=2
            )
        )
        return
    stdout().print(_table(plan))
    say(
        f"{plan.cells} cells ({plan.configurations} configurations), {plan.items} items, "
        f"{len(plan.passes)} passes, {plan.computed_tokens:,} tokens; "
        f"about {_duration(plan.seconds)}, {plan.memory_bytes / _GIB:.1f} GiB"
    )


def _table(plan: Plan) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("model", "template"):
        table.add_column(title)
    for title in ("shards", "forward passes", "tokens", "unshared", "longest", "about"):
        table.add_column(title, justify="right")
    for one in plan.passes:
        over = "!" if one.longest_tokens > one.context_tokens + 1 else ""
        table.add_row(
            one.model,
            one.template,
            str(one.shards),
            str(one.forward_passes),
            f"{one.computed_tokens:,}",
            f"{one.unshared_tokens:,}",
            f"{one.longest_tokens}{over}",
            _duration(one.seconds),
        )
    return table


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
