"""`safetyrepro ranks`: does the ranking in anybody's scores survive the harness?"""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Annotated

import typer

from safetyrepro.cli.console import say, say_error
from safetyrepro.cli.exits import Exit

_COLUMNS, _ANALYSIS, _OUTPUT = "Columns", "Analysis", "Output"


def command(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="Score tables (.csv, .tsv, .jsonl, each also .gz, or .parquet), lm-eval folders, or "
            "Inspect logs (.eval, .json); folders are searched."
        ),
    ],
    source: Annotated[
        str,
        typer.Option(
            "--from",
            help="table, counts, lm-eval or inspect; auto: by the files' names and contents.",
        ),
    ] = "auto",
    model: Annotated[
        str, typer.Option("--model", help="Column that names the model.", rich_help_panel=_COLUMNS)
    ] = "model",
    item: Annotated[
        str | None,
        typer.Option(
            "--item",
            help="Column that names the item; without item and score a row is a model and every other "
            "column an item.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    score: Annotated[
        str | None,
        typer.Option(
            "--score",
            help="Column of the score; of lm-eval and Inspect, the metric or scorer.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    factors: Annotated[
        list[str] | None,
        typer.Option(
            "--factor",
            help="A harness choice (repeat it, slowest first); `file` is the file's name.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster", help="Column of what items were sampled in together.", rich_help_panel=_COLUMNS
        ),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(
            "--run", help="Column that numbers repeated runs of one item.", rich_help_panel=_COLUMNS
        ),
    ] = None,
    ignored: Annotated[
        list[str] | None,
        typer.Option(
            "--ignore", help="Column that is no item (of a wide table).", rich_help_panel=_COLUMNS
        ),
    ] = None,
    missing: Annotated[
        list[str] | None,
        typer.Option(
            "--missing", help="A further spelling of no score, such as -1.", rich_help_panel=_COLUMNS
        ),
    ] = None,
    successes: Annotated[
        str | None,
        typer.Option("--successes", help="Column of a table of counts.", rich_help_panel=_COLUMNS),
    ] = None,
    trials: Annotated[
        str | None,
        typer.Option("--trials", help="Column of a table of counts.", rich_help_panel=_COLUMNS),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="Keep this model only (repeat it).", rich_help_panel=_COLUMNS),
    ] = None,
    better: Annotated[
        str,
        typer.Option("--better", help="What is better: higher or lower.", rich_help_panel=_ANALYSIS),
    ] = "higher",
    top: Annotated[
        int | None,
        typer.Option("--top", help="How many first places to follow.", rich_help_panel=_ANALYSIS),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(
            "--margin",
            help="The difference within which two models count as equal; absent: equivalence is not asked.",
            rich_help_panel=_ANALYSIS,
        ),
    ] = None,
    bounds: Annotated[
        str | None,
        typer.Option(
            "--range", help="The score's range, as 0:10, for missing scores.", rich_help_panel=_ANALYSIS
        ),
    ] = None,
    primary: Annotated[
        str | None,
        typer.Option(
            "--primary",
            help="The configuration that was declared first, as template=a,dtype=bf16.",
            rich_help_panel=_ANALYSIS,
        ),
    ] = None,
    weights: Annotated[
        list[str] | None,
        typer.Option(
            "--weights",
            help="Weights of a factor's levels, as template:a=2,b=1 (repeat it).",
            rich_help_panel=_ANALYSIS,
        ),
    ] = None,
    confidence: Annotated[
        float, typer.Option("--confidence", help="Joint confidence level.", rich_help_panel=_ANALYSIS)
    ] = 0.95,
    resamples: Annotated[
        int, typer.Option("--resamples", help="Joint resamples.", rich_help_panel=_ANALYSIS)
    ] = 2000,
    seed: Annotated[
        int, typer.Option("--seed", help="Seed of everything random.", rich_help_panel=_ANALYSIS)
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Folder for ranks.json, ranks.html and ranks.pdf.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print ranks.json instead of the summary.", rich_help_panel=_OUTPUT),
    ] = False,
) -> None:
    """Does a ranking survive the harness? From anybody's scores, without a spec and without a model.

    A table has one row a score: model, item, score, and a column for every harness choice. What is
    reliable is decided jointly over all pairs of models and all configurations. The page says nothing of
    level, tier and dates: these are somebody's scores, not a claim with its evidence.

    Example: safetyrepro ranks scores.csv --factor template --factor dtype --out ranks/
    """
    from safetyrepro.analysis.rank_counts import study_counts
    from safetyrepro.analysis.rank_input import RankOptions
    from safetyrepro.analysis.ranks import study_scores
    from safetyrepro.claims.rank_verdicts import pair_verdicts
    from safetyrepro.cli.rank_options import (
        checked_confidence,
        checked_seed,
        parse_direction,
        parse_levels,
        parse_range,
        parse_weights,
    )
    from safetyrepro.cli.rank_sources import Wanted, read_source
    from safetyrepro.cli.rank_summary import finding_lines, print_summary
    from safetyrepro.data.score_matrix import CountMatrix
    from safetyrepro.findings import KINDS

    found = read_source(
        paths,
        Wanted(
            source=source,
            model=model,
            item=item,
            score=score,
            factors=tuple(factors or ()),
            cluster=cluster,
            run=run,
            ignored=tuple(ignored or ()),
            missing=tuple(missing or ()),
            successes=successes,
            trials=trials,
            only=tuple(only or ()),
            better=better,
        ),
    )
    options = RankOptions(
        score=found.score,
        direction=parse_direction(better),
        confidence=checked_confidence(confidence),
        joint_resamples=resamples,
        seed=checked_seed(seed),
        margin=margin,
        top=top,
        bounds=None if bounds is None else parse_range(bounds),
        weights=parse_weights(weights or ()),
        primary=None if primary is None else parse_levels(primary, "--primary"),
    )
    matrix = found.matrix
    study = (
        study_counts(matrix, options) if isinstance(matrix, CountMatrix) else study_scores(matrix, options)
    )
    if as_json:
        from safetyrepro.report.rank_page import study_bytes

        say(study_bytes(study).decode())
    else:
        print_summary(study, pair_verdicts(study))
    for line in (*found.remarks, *finding_lines(study.findings)):
        say_error(line)
    if out is not None:
        from safetyrepro.report.rank_page import publish_ranks

        page = publish_ranks(study, out=out, made_at=dt.datetime.now(dt.UTC).replace(microsecond=0))
        if not as_json:
            say(str(page))
    if any(KINDS[one.code].severity == "error" for one in study.findings):
        raise typer.Exit(Exit.FINDINGS)
