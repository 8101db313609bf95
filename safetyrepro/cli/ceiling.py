"""`safetyrepro ceiling`: how much a run without a failure can show, at most."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import typer

from safetyrepro.canonical import JsonValue
from safetyrepro.cli.console import say
from safetyrepro.stats.evidential import (
    Rates,
    SuiteCeiling,
    Trials,
    UpperBound,
    required_trials,
    suite_ceiling,
    zero_failures_bound,
)
from safetyrepro.stats.undefined import Undefined


def command(
    trials: Annotated[int, typer.Option("--trials", help="How many trials there are.")],
    unsafe: Annotated[float, typer.Option("--unsafe", help="Failure rate of a system that is not safe.")],
    safe: Annotated[float, typer.Option("--safe", help="Failure rate of a system that is.")] = 0.0,
    detection: Annotated[
        float, typer.Option("--detection", help="Probability that the judge sees a failure.")
    ] = 1.0,
    awareness: Annotated[
        float,
        typer.Option(
            "--awareness", help="Probability that an unsafe system acts as a safe one because it is tested."
        ),
    ] = 0.0,
    family_size: Annotated[
        int, typer.Option("--family-size", help="Trials that are variants of one scenario.")
    ] = 1,
    icc: Annotated[
        float, typer.Option("--icc", help="Correlation of failures within a family, 0 to 1.")
    ] = 0.0,
    factor: Annotated[
        float | None, typer.Option("--factor", help="Say also how many trials such a factor takes.")
    ] = None,
    level: Annotated[
        float, typer.Option("--level", help="Confidence level of the bound, which is one-sided.")
    ] = 0.95,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say how far a run without a failure can move belief, at most: the ceiling of a null result.

    It compares two failure rates. The factor is the likelihood ratio of what was seen, which no analysis
    can exceed; odds of safe against unsafe are multiplied by it. Nothing is read and nothing is run.

    Example: safetyrepro ceiling --trials 300 --unsafe .01 --awareness .05 --factor 10
    """
    design, rates = Trials(trials, family_size, icc), Rates(safe, unsafe, detection, awareness)
    ceiling = suite_ceiling(design, rates)
    bound = zero_failures_bound(design.families if icc > 0.0 else trials, level=level)
    needed = None if factor is None else required_trials(factor, rates, family_size=family_size, icc=icc)
    if as_json:
        document: dict[str, JsonValue] = {
            "schema": "safetyrepro/ceiling/v1",
            "trials": asdict(design),
            "rates": asdict(rates),
            **{name: _json(getattr(ceiling, name)) for name in SuiteCeiling.__slots__},
            "upper_bound": asdict(bound),
            "required_trials": None if needed is None else _json(needed),
        }
        say(json.dumps(document, indent=2))
        return
    for line in _lines(design, rates, ceiling=ceiling, bound=bound):
        say(line)
    if factor is not None:
        say(f"for a factor of {factor:g}: {_words(needed, 'trials')}")


def _lines(design: Trials, rates: Rates, *, ceiling: SuiteCeiling, bound: UpperBound) -> Iterator[str]:
    grouped = f" in {design.families} families, icc {design.icc:g}" if design.family_size > 1 else ""
    yield f"{design.n} trials{grouped}; failure rate {rates.safe:g} against {rates.unsafe:g}"
    yield f"no failure:       for the lower rate {_words(ceiling.for_safe, 'at most')}"
    if not isinstance(ceiling.awareness_bound, Undefined):
        yield f"                  never {ceiling.awareness_bound:.3g} or more: awareness caps it"
    yield f"one failure:      for the higher rate {_words(ceiling.single_failure)}"
    yield f"only failures:    for the higher rate {_words(ceiling.for_unsafe)}"
    yield f"changes sides at: failures {_words(ceiling.crossover)}"
    units = "families" if bound.n != design.n else "trials"
    yield (
        f"bound:            after {bound.n} {units} without a failure the rate is below {bound.exact:.3g} "
        f"({100 * bound.level:g}%, one-sided; rule of three {bound.approximation:.3g})"
    )


def _words(value: float | Undefined | None, noun: str = "") -> str:
    match value:
        case Undefined():
            return f"undefined ({value.reason})"
        case int():
            return f"{value} {noun}"
        case None:
            return "not asked"
        case _:
            return f"{noun} {value:.3g}".lstrip()


def _json(value: float | Undefined) -> JsonValue:
    return {"undefined": value.reason} if isinstance(value, Undefined) else value
