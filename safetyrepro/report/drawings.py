"""The drawings of the results, each with the words above and below it; thinned out on purpose."""

from __future__ import annotations

from collections.abc import Iterable

from safetyrepro.data.results import Cell, Estimate, NoEstimate, Quantity, Results
from safetyrepro.report.figures.marks import Series, series
from safetyrepro.report.figures.rank_map import rank_map, rank_map_caption
from safetyrepro.report.figures.ranks import RankGrid, rank_caption, rank_chart
from safetyrepro.report.figures.whiskers import (
    Baselines,
    Block,
    Whisker,
    WhiskerChart,
    chart_height,
    whisker_chart,
)
from safetyrepro.report.looks import Looks, configuration_levels, estimand_words
from safetyrepro.report.notation import listed, plural
from safetyrepro.report.tree import Figure

_TALLEST = 780.0
_MOST_LINES = 12
_PLAIN = series(0)


def rank_figure(results: Results, looks: Looks) -> Figure:
    """The rank of every system under every configuration."""
    by_configuration = {ranking.configuration: ranking.ranks for ranking in results.rankings}
    grid = RankGrid(
        names=tuple(looks.names[model] for model in looks.order),
        factors=looks.factors,
        levels=tuple(configuration_levels(one, looks.factors) for one in results.configurations),
        ranks=tuple(
            tuple(by_configuration.get(one.id, {}).get(model) for one in results.configurations)
            for model in looks.order
        ),
        primary=next(index for index, one in enumerate(results.configurations) if one.primary),
    )
    many = len(grid.names) > _MOST_LINES
    return Figure(
        id="ranks",
        title=f"Rank by point estimate over {plural(len(results.configurations), 'configuration')}",
        svg=rank_map(grid) if many else rank_chart(grid),
        caption=rank_map_caption(grid) if many else rank_caption(grid),
    )


def estimate_figure(results: Results, looks: Looks) -> Figure:
    """Every cell's estimate with its interval, or, where those are too many, one line a system."""
    lanes = len(looks.order) + 1
    if (
        len(looks.order) <= len(looks.named)
        and chart_height(len(results.configurations), lanes=lanes) <= _TALLEST
    ):
        return _every_cell(results, looks)
    return _every_system(results, looks)


def strata_figure(results: Results, looks: Looks) -> Figure | None:
    """The primary configuration by stratum; None where there are no strata or too many to draw."""
    strata = results.items.strata
    shown = looks.named
    if not strata or chart_height(len(strata), lanes=len(shown)) > _TALLEST:
        return None
    primary = results.primary.id
    cells = {model: looks.cells[(model, primary)] for model in shown}
    blocks = tuple(
        Block(
            labels=(stratum.name, plural(stratum.items, "item")),
            lanes=tuple(
                _whisker(cells[model].strata[index].headline, looks.series[model]) for model in shown
            ),
        )
        for index, stratum in enumerate(strata)
    )
    more = len(looks.order) - len(shown)
    left_out = f" {plural(more, 'further system')} stand in the table only." if more > 0 else ""
    return Figure(
        id="strata-drawing",
        title="By stratum, in the primary configuration",
        svg=whisker_chart(
            WhiskerChart(
                heads=("stratum", "items"),
                blocks=blocks,
                entries=tuple((looks.series[model], looks.names[model]) for model in shown),
                coin=None,
                chance=_chance(results),
                axis=estimand_words(results),
                words="Estimates with intervals by stratum and system: "
                + listed([stratum.name for stratum in strata])
                + ". All numbers stand in the table below.",
                label_width=170,
            )
        ),
        caption="Dot: estimate; whisker: interval at the report's confidence. Few items a stratum make "
        "wide intervals: a difference between strata is a claim of its own." + left_out,
    )


def _every_cell(results: Results, looks: Looks) -> Figure:
    blocks = []
    for configuration in results.configurations:
        cells = [looks.cells[(model, configuration.id)] for model in looks.order]
        blocks.append(
            Block(
                labels=configuration_levels(configuration, looks.factors),
                lanes=tuple(_whisker(cell.headline, looks.series[cell.model]) for cell in cells),
                baselines=_baselines(cells),
                is_primary=configuration.primary,
            )
        )
    heads = looks.factors
    return Figure(
        id="estimates-drawing",
        title="Estimates with intervals, by configuration and system",
        svg=whisker_chart(
            WhiskerChart(
                heads=heads,
                blocks=tuple(blocks),
                entries=tuple((looks.series[model], looks.names[model]) for model in looks.order),
                coin=_coin(results),
                chance=_chance(results),
                axis=estimand_words(results),
                words=_range_words(results, looks),
                label_width=max(110.0, min(220.0, 66.0 * len(heads))),
            )
        ),
        caption="Dot: estimate; whisker: its own interval at the report's confidence. Vertical line: "
        f"{_chance_words(results)}, with its sampling interval tinted. Overlapping whiskers decide nothing "
        "about a difference: the comparisons do.",
    )


def _every_system(results: Results, looks: Looks) -> Figure:
    primary = results.primary.id
    blocks = []
    for model in looks.order:
        own = [looks.cells[(model, one.id)] for one in results.configurations]
        points = tuple(cell.headline.value for cell in own if not isinstance(cell.headline, NoEstimate))
        blocks.append(
            Block(
                labels=(looks.names[model],),
                lanes=(_whisker(looks.cells[(model, primary)].headline, _PLAIN),),
                points=points,
            )
        )
    return Figure(
        id="estimates-drawing",
        title="Estimates with intervals, by system",
        svg=whisker_chart(
            WhiskerChart(
                heads=("system",),
                blocks=tuple(blocks),
                entries=((_PLAIN, "primary configuration, with its interval"),),
                coin=_coin(results),
                chance=_chance(results),
                axis=estimand_words(results),
                words=_range_words(results, looks),
                label_width=190,
                lane=14 if len(looks.order) <= 12 else 9,
            )
        ),
        caption="Dot and whisker: the primary configuration with its interval. Short strokes below it: the "
        "point estimate under every configuration of the envelope. Vertical line: "
        f"{_chance_words(results)}, with its sampling interval tinted.",
    )


def _whisker(quantity: Quantity, look: Series) -> Whisker:
    if isinstance(quantity, Estimate):
        return Whisker(look=look, value=quantity.value, low=quantity.low, high=quantity.high)
    if isinstance(quantity, NoEstimate):
        return Whisker(look=look, value=None, low=0.0, high=0.0)
    return Whisker(look=look, value=quantity.value, low=quantity.value, high=quantity.value)


def _coin(results: Results) -> tuple[float, float] | None:
    return None if results.random is None else (results.random.low, results.random.high)


def _chance(results: Results) -> float:
    """One half for pairs; for choices what an option drawn at random gets."""
    return 0.5 if results.random is None else results.random.expected


def _chance_words(results: Results) -> str:
    if results.items.kind == "pair":
        return "one half, what a coin gets"
    return f"{_chance(results):.2f}, what an option drawn at random gets"


def _baselines(cells: Iterable[Cell]) -> Baselines:
    """The distinct baseline points of a configuration's cells, to three decimals."""
    longer: dict[float, None] = {}
    shorter: dict[float, None] = {}
    blind: dict[float, None] = {}
    for cell in cells:
        for quantity, found in (
            (cell.longer_wins, longer),
            (cell.shorter_wins, shorter),
            (cell.prompt_blind, blind),
        ):
            if quantity is not None and not isinstance(quantity, NoEstimate):
                found.setdefault(round(quantity.value, 3))
    return Baselines(longer=tuple(longer), shorter=tuple(shorter), blind=tuple(blind))


def _range_words(results: Results, looks: Looks) -> str:
    parts = []
    for model in looks.named:
        values = [
            cell.headline.value
            for cell in results.cells
            if cell.model == model and not isinstance(cell.headline, NoEstimate)
        ]
        name = looks.names[model]
        parts.append(
            f"{name} {min(values):.2f} to {max(values):.2f}" if values else f"{name} without a number"
        )
    return (
        f"Estimates with intervals over {plural(len(results.configurations), 'configuration')}. Range "
        "of the estimates: " + "; ".join(parts) + ". All numbers stand in the table below."
    )
