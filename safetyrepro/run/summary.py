"""What a run found, as lines of plain text: one table, one sentence a claim."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from safetyrepro.claims.assess import assess
from safetyrepro.claims.numbers import fraction
from safetyrepro.data.results import Cell, Estimate, NoEstimate, PointOnly, Quantity, Results
from safetyrepro.spec.experiment import Experiment


def summary_lines(experiment: Experiment, *, results: Results, collected_at: dt.datetime) -> Iterator[str]:
    """The headline estimate of every cell with interval and denominator, then every claim's verdict."""
    yield ""
    yield f"{results.estimand}, {results.items.items} items in {results.items.clusters} clusters"
    names = {model.id: model.name for model in results.models}
    width = max(len(name) for name in names.values())
    for configuration in results.configurations:
        mark = "  (primary)" if configuration.primary else ""
        yield f"  {configuration.id}{mark}"
        for model in results.models:
            cell = results.cell(model.id, configuration.id)
            yield f"    {model.name:<{width}}  {quantity_text(cell.headline)}{_missing(cell, results)}"
    assessment = assess(experiment, results=results, collected_at=collected_at)
    yield f"Claims ({assessment.level} level, {assessment.tier})"
    for claim in assessment.claims:
        distance = f", {claim.distance:+d} levels from the evidence" if claim.distance else ""
        yield f"  {claim.claim}: {claim.verdict}; over {claim.quantifier}: {claim.assertion}{distance}"
    yield assessment.answer


def quantity_text(quantity: Quantity) -> str:
    """A number with its interval and denominator, or the reason why there is none."""
    match quantity:
        case Estimate():
            interval = f"{fraction(quantity.low)} to {fraction(quantity.high)}"
            return f"{fraction(quantity.value)}  [{interval}]  n={quantity.n}"
        case PointOnly():
            return f"{fraction(quantity.value)}  [interval undefined: {quantity.reason}]  n={quantity.n}"
        case NoEstimate():
            return f"undefined: {quantity.reason}"


def _missing(cell: Cell, results: Results) -> str:
    scored = cell.outcomes["scored"] + cell.outcomes["tie"]
    return "" if scored == results.items.items else f"  ({results.items.items - scored} without a score)"
