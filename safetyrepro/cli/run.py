"""`safetyrepro run`: a spec to a bundle."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from safetyrepro.claims.validity import parse_time
from safetyrepro.cli.console import say, say_error
from safetyrepro.cli.exits import Exit
from safetyrepro.cli.progress import RunProgress
from safetyrepro.data.sources import read_items
from safetyrepro.run.engine import Job, Outcome, run_experiment
from safetyrepro.run.loader import LocalLoader
from safetyrepro.run.summary import summary_lines
from safetyrepro.score.local import default_cache_dir
from safetyrepro.spec.experiment import Experiment
from safetyrepro.spec.load import load_experiment


def command(
    spec: Annotated[Path, typer.Argument(help="The spec file.")],
    out: Annotated[Path, typer.Option("--out", help="The folder that bundles are written into.")] = Path(
        "runs"
    ),
    data_dir: Annotated[
        Path | None, typer.Option("--data-dir", help="Where item files are; absent: beside the spec.")
    ] = None,
    use_cache: Annotated[
        bool,
        typer.Option(
            "--cache/--no-cache", help="Take shards that another bundle computed with the same key."
        ),
    ] = True,
) -> None:
    """Run a spec: score what is missing, analyse, and leave a bundle.

    A run that was stopped, by Ctrl-C, a crash or a full disk, goes on where it stopped when the same
    command is given again, and ends with the same results to the byte. The last line is the bundle's path.

    Example: safetyrepro run specs/quickstart/experiment.yaml --out runs
    """
    loaded = load_experiment(spec)
    items = read_items(loaded.document, base_dir=spec.parent, data_dir=data_dir)
    cache = default_cache_dir()
    progress = RunProgress()
    job = Job(
        experiment=loaded.document,
        spec_bytes=loaded.data,
        base_dir=spec.parent,
        items=items,
        out_dir=out,
        cache_dir=cache if use_cache else None,
    )
    try:
        outcome = run_experiment(job, loader=LocalLoader(cache), progress=progress)
    except KeyboardInterrupt:
        progress.stop()
        say_error(f"interrupted; {progress.kept()}; the same command resumes the run")
        raise typer.Exit(Exit.INTERRUPTED) from None
    finally:
        progress.stop()
    _print_summary(outcome, loaded.document)


def _print_summary(outcome: Outcome, experiment: Experiment) -> None:
    collected_at = parse_time(outcome.manifest.collected_at, "manifest: collected_at")
    for line in summary_lines(experiment, results=outcome.results, collected_at=collected_at):
        say(line)
    say_error(f"{outcome.computed_shards} shards computed, {outcome.reused_shards} taken from storage")
    say(str(outcome.bundle.root))
