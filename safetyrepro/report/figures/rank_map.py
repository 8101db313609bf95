"""Ranks of many systems: a row a system, a column a configuration, the darker the better."""

from __future__ import annotations

from markupsafe import Markup

from safetyrepro.report.figures.nested import nested_labels
from safetyrepro.report.figures.ranks import RankGrid
from safetyrepro.report.figures.svg import INK, PAPER, RULE, SOFT, box, clip, drawing, label, line
from safetyrepro.report.notation import count

_WIDTH, _LEFT, _RIGHT, _TOP = 640.0, 190.0, 92.0, 40.0
_MOST_COLUMNS = 48
_SHADES = ("#0b4f7d", "#3f7497", "#7299b2", "#a5becd", "#d2dfe6", "#f2f6f8")


def rank_map(grid: RankGrid) -> Markup:
    """The map; rows in the order of the primary configuration, at most 48 columns.

    Beside each row stand the rank in the primary configuration, and the best and worst over the whole
    envelope, drawn or not.
    """
    systems = len(grid.names)
    shown = _columns(grid)
    row = 13.0 if systems <= 40 else 9.0
    step = (_WIDTH - _LEFT - _RIGHT) / len(shown)
    bottom = _TOP + row * systems
    xs = [_LEFT + step * (place + 0.5) for place in range(len(shown))]
    parts = [_legend(systems)]
    for head, x in zip(("primary", "best", "worst"), _number_places(), strict=True):
        parts.append(label(x, _TOP - 5, head, anchor="end", size=7.5, fill=SOFT))
    parts.append(label(0, _TOP - 5, "system, by rank in the primary configuration", size=7.5, fill=SOFT))
    for place, system in enumerate(_order(grid)):
        y = _TOP + place * row
        parts.append(label(0, y + row - 3.5, clip(grid.names[system], width=_LEFT - 8, size=8), size=8))
        for x, column in zip(xs, shown, strict=True):
            parts.append(_cell(grid.ranks[system][column], x - step / 2, y, step, row, systems=systems))
        parts += _numbers(grid, system, y=y + row - 3.5)
    parts.append(box(_LEFT, _TOP, step * len(shown), bottom - _TOP, stroke=SOFT, stroke_width=0.7))
    if grid.primary in shown:
        x = _LEFT + step * shown.index(grid.primary)
        parts.append(box(x, _TOP - 2, step, bottom - _TOP + 4, stroke=INK, stroke_width=1.4))
    levels = tuple(grid.levels[column] for column in shown)
    labels, height = nested_labels(grid.factors, levels, xs=xs, step=step, top=bottom + 6, left=_LEFT)
    parts.append(labels)
    return drawing(parts, width=_WIDTH, height=bottom + 8 + height, title=_words(grid))


def rank_map_caption(grid: RankGrid) -> str:
    """How to read the map, and which columns it left out on purpose."""
    total, shown = len(grid.levels), len(_columns(grid))
    text = "One row a system, one column a configuration; the darker, the better the rank."
    if shown < total:
        text += (
            f" {count(shown)} of {count(total)} configurations are drawn, evenly spaced, the primary one "
            "among them; best and worst are over all of them."
        )
    return (
        text + " Framed: the primary configuration. Ranks are by point estimate: a change of rank is no "
        "decision (see the comparisons)."
    )


def _columns(grid: RankGrid) -> list[int]:
    """The drawn configurations: all of them, or evenly spaced ones and the primary."""
    total = len(grid.levels)
    if total <= _MOST_COLUMNS:
        return list(range(total))
    spaced = {round(place * (total - 1) / (_MOST_COLUMNS - 2)) for place in range(_MOST_COLUMNS - 1)}
    return sorted(spaced | {grid.primary})


def _order(grid: RankGrid) -> list[int]:
    worst = float(len(grid.names) + 1)

    def place(system: int) -> tuple[float, int]:
        rank = grid.ranks[system][grid.primary]
        return (worst if rank is None else rank, system)

    return sorted(range(len(grid.names)), key=place)


def _shade(rank: float, systems: int) -> str:
    share = (rank - 1) / max(1, systems - 1)
    return _SHADES[min(len(_SHADES) - 1, int(share * len(_SHADES)))]


def _cell(rank: float | None, x: float, y: float, width: float, height: float, *, systems: int) -> Markup:
    if rank is None:
        middle = y + height / 2
        return line(x + width * 0.3, middle, x + width * 0.7, middle, stroke=SOFT, width=0.8)
    return box(x, y, width, height, fill=_shade(rank, systems), stroke=PAPER, stroke_width=0.5)


def _number_places() -> tuple[float, float, float]:
    start = _WIDTH - _RIGHT
    return (start + 34, start + 60, start + 88)


def _numbers(grid: RankGrid, system: int, *, y: float) -> list[Markup]:
    ranks = grid.ranks[system]
    known = [rank for rank in ranks if rank is not None]
    numbers = (ranks[grid.primary], min(known, default=None), max(known, default=None))
    return [
        label(x, y, "–" if number is None else f"{number:g}", anchor="end", size=8, bold=place == 0)
        for place, (x, number) in enumerate(zip(_number_places(), numbers, strict=True))
    ]


def _legend(systems: int) -> Markup:
    parts = [label(_LEFT, 12, "rank", size=8, fill=SOFT)]
    x = _LEFT + 24
    parts.append(label(x, 12, "1", size=8, fill=SOFT))
    x += 8
    for shade in _SHADES:
        parts.append(box(x, 4, 16, 10, fill=shade, stroke=RULE, stroke_width=0.5))
        x += 16
    parts.append(label(x + 5, 12, str(systems), size=8, fill=SOFT))
    return Markup("").join(parts)


def _words(grid: RankGrid) -> str:
    first = grid.names[_order(grid)[0]]
    return (
        f"Map of the ranks of {len(grid.names)} systems over {len(grid.levels)} configurations. First "
        f"in the primary configuration: {first}. Rank in the primary configuration, best and worst rank "
        "stand beside each row."
    )
