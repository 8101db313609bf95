"""The rank of every system under every configuration, as lines from column to column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from safetyrepro.report.figures.marks import Series, series, series_mark
from safetyrepro.report.figures.nested import nested_labels
from safetyrepro.report.figures.svg import (
    GRID,
    INK,
    SOFT,
    TINT,
    box,
    clip,
    drawing,
    label,
    line,
    path,
    polyline,
    text_width,
)
from safetyrepro.report.notation import count

_WIDTH, _LEFT, _TOP = 640.0, 66.0, 22.0
_MOST_RIGHT = 220.0
_MOST_COLUMNS = 48
_MOST_ORDERINGS = 24
_NAMED = 6


@dataclass(frozen=True, slots=True)
class RankGrid:
    """Ranks by system and configuration, with what the columns are called.

    Args:
        names: one a system; the first six stand out, so put those first that claims speak about.
        factors: the factors' names, slowest first.
        levels: (C, factors) the level of every factor, one a configuration.
        ranks: (M, C) 1 is best; None where a system has no number.
        primary: the index of the primary configuration.
    """

    names: tuple[str, ...]
    factors: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    ranks: tuple[tuple[float | None, ...], ...]
    primary: int


@dataclass(frozen=True, slots=True)
class _Column:
    """One drawn column: a configuration, or all configurations with one ordering."""

    ranks: tuple[float | None, ...]
    count: int
    has_primary: bool


def orderings(grid: RankGrid) -> list[_Column]:
    """The distinct orderings over the envelope, the most frequent first."""
    columns = list(zip(*grid.ranks, strict=True))
    counts = Counter(columns)
    return [
        _Column(ranks=ranks, count=number, has_primary=columns[grid.primary] == ranks)
        for ranks, number in counts.most_common()
    ]


def rank_chart(grid: RankGrid) -> Markup:
    """Lines of rank over configurations; beyond 48 of these, over the distinct orderings.

    The first six systems have their own mark, dash and colour, the others are thin and grey.
    """
    if len(grid.levels) <= _MOST_COLUMNS:
        columns = [
            _Column(ranks=ranks, count=1, has_primary=index == grid.primary)
            for index, ranks in enumerate(zip(*grid.ranks, strict=True))
        ]
        return _draw(grid, columns, levels=grid.levels)
    return _draw(grid, orderings(grid)[:_MOST_ORDERINGS], levels=None)


def rank_caption(grid: RankGrid) -> str:
    """How to read the drawing, and what was left out of it on purpose."""
    total = len(grid.levels)
    if total <= _MOST_COLUMNS:
        text = "One column a configuration, rank 1 on top; the tinted column is the primary configuration."
    else:
        found = orderings(grid)
        shown = min(len(found), _MOST_ORDERINGS)
        text = (
            f"One column an ordering: {count(shown)} of the {count(len(found))} orderings that occur "
            f"over {count(total)} configurations, the most frequent first, with the number of "
            "configurations below; the tinted column holds the primary configuration."
        )
    if len(grid.names) > _NAMED:
        text += f" {_NAMED} of {len(grid.names)} systems stand out; the others are drawn thin."
    return text + " Ranks are by point estimate: a change of rank is no decision (see the comparisons)."


def _rank_words(grid: RankGrid) -> str:
    parts = []
    for name, ranks in list(zip(grid.names, grid.ranks, strict=True))[:_NAMED]:
        known = [rank for rank in ranks if rank is not None]
        if not known:
            parts.append(f"{name}: no rank")
        elif min(known) == max(known):
            parts.append(f"{name}: rank {min(known):g} throughout")
        else:
            parts.append(f"{name}: rank {min(known):g} to {max(known):g}")
    return f"Rank of each system over {len(grid.levels)} configurations. " + "; ".join(parts) + "."


def _draw(
    grid: RankGrid, columns: Sequence[_Column], *, levels: tuple[tuple[str, ...], ...] | None
) -> Markup:
    systems = len(grid.names)
    right = min(_MOST_RIGHT, 24 + max(text_width(name, size=8.5) for name in grid.names))
    spacing = 22.0 if systems <= 6 else 15.0 if systems <= 16 else 11.0
    bottom = _TOP + spacing * max(1, systems - 1)
    step = (_WIDTH - _LEFT - right) / max(1, len(columns))
    xs = [_LEFT + step * (index + 0.5) for index in range(len(columns))]
    parts: list[Markup] = []
    for x, column in zip(xs, columns, strict=True):
        if column.has_primary:
            band = min(step, 26.0)
            parts.append(box(x - band / 2, _TOP - 13, band, bottom - _TOP + 26, fill=TINT))
            parts.append(label(x, _TOP - 15, "primary", anchor="middle", size=7.5, fill=SOFT))
    for rank in range(1, systems + 1):
        if systems <= 12 or rank == 1 or rank % 5 == 0:
            y = _TOP + (rank - 1) * spacing
            parts.append(line(_LEFT, y, _WIDTH - right, y, stroke=GRID, width=0.7))
            parts.append(label(_LEFT - 8, y + 3, str(rank), anchor="end", size=8.5, fill=SOFT))
    parts.append(label(_LEFT - 8, _TOP - 12, "rank", anchor="end", size=8, fill=SOFT))
    order = [*range(_NAMED, systems), *range(min(_NAMED, systems))]
    for system in order:
        ranks = [column.ranks[system] for column in columns]
        own = [x + _aside(column, system, step) for x, column in zip(xs, columns, strict=True)]
        parts.append(_line_of(series(system), ranks, xs=own, spacing=spacing))
    parts.append(_names(grid, columns, x=_WIDTH - right + 6, spacing=spacing))
    if levels is not None:
        labels, height = nested_labels(grid.factors, levels, xs=xs, step=step, top=bottom + 16, left=_LEFT)
    else:
        labels, height = _count_labels(columns, xs=xs, top=bottom + 16)
    parts.append(labels)
    return drawing(parts, width=_WIDTH, height=bottom + 18 + height, title=_rank_words(grid))


def _aside(column: _Column, system: int, step: float) -> float:
    """How far a named system is moved from the middle of its column, where others share its rank."""
    sharing = [m for m in range(min(_NAMED, len(column.ranks))) if column.ranks[m] == column.ranks[system]]
    if system not in sharing or len(sharing) == 1:
        return 0.0
    return (sharing.index(system) - (len(sharing) - 1) / 2) * min(9.0, step / (len(sharing) + 1))


def _line_of(look: Series, ranks: Sequence[float | None], *, xs: Sequence[float], spacing: float) -> Markup:
    """A system's line, broken where it has no rank."""
    parts: list[Markup] = []
    piece: list[tuple[float, float]] = []
    pieces: list[list[tuple[float, float]]] = []
    for x, rank in zip(xs, ranks, strict=True):
        if rank is None:
            pieces.append(piece)
            piece = []
        else:
            piece.append((x, _TOP + (rank - 1) * spacing))
    pieces.append(piece)
    width = 0.8 if look.shape == "dot" else 1.6
    for one in pieces:
        if len(one) > 1:
            parts.append(path(polyline(one), stroke=look.color, width=width, dash=look.dash))
        if look.shape != "dot" and len(xs) <= 30:
            parts += [series_mark(look, x, y) for x, y in one]
    return Markup("").join(parts)


def _names(grid: RankGrid, columns: Sequence[_Column], *, x: float, spacing: float) -> Markup:
    """The names at the right end, moved apart where ranks are equal."""
    last = [
        next((column.ranks[m] for column in reversed(columns) if column.ranks[m] is not None), None)
        for m in range(len(grid.names))
    ]
    order = sorted(
        (m for m in range(len(grid.names)) if last[m] is not None), key=lambda m: (last[m] or 0.0, m)
    )
    parts: list[Markup] = []
    least = 11.0 if len(grid.names) <= 16 else 9.5
    size = 8.5 if len(grid.names) <= 16 else 7.5
    y = _TOP - 100.0
    for m in order:
        want = _TOP + ((last[m] or 1.0) - 1) * spacing
        y = max(want, y + least)
        look = series(m)
        parts.append(series_mark(look, x + 3, y, radius=2.8))
        text = clip(grid.names[m], width=_WIDTH - x - 10, size=size)
        fill = INK if look.shape != "dot" else SOFT
        parts.append(label(x + 11, y + 3, text, size=size, fill=fill))
    return Markup("").join(parts)


def _count_labels(columns: Sequence[_Column], *, xs: Sequence[float], top: float) -> tuple[Markup, float]:
    parts = [label(_LEFT - 8, top + 8, "configurations", anchor="end", size=7.5, fill=SOFT)]
    parts += [
        label(x, top + 8, count(column.count), anchor="middle", size=7.5)
        for x, column in zip(xs, columns, strict=True)
    ]
    return Markup("").join(parts), 14.0
