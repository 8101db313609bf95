"""Ranks over configurations that stand in the order of their likeness: lines for few, a map for many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from safetyrepro.report.figures.marks import Series, series_mark
from safetyrepro.report.figures.svg import (
    GRID,
    INK,
    PAPER,
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

WIDTH = 640.0
MOST_LINES = 12
MOST_COLUMNS = 48
_TOP = 24.0
_LINE_LEFT, _MAP_LEFT = 92.0, 190.0
_MOST_RIGHT = 210.0
_SHADES = ("#0b4f7d", "#3f7497", "#7299b2", "#a5becd", "#d2dfe6", "#f2f6f8")
_LEVEL_SHADES = ("#c5d3dd", "#ffffff", "#8fa6b5", "#e4eaef", "#5d7787", "#f4f6f8")
_GRADIENT = ((0xF4, 0x2F), (0xF6, 0x47), (0xF8, 0x59))
_MOST_KEYS = 12


@dataclass(frozen=True, slots=True)
class Bumps:
    """Ranks with what they are called; columns are configurations, in the order in which they are drawn.

    Args:
        names, looks: one a system.
        ranks: (M, C) 1 is best; None without a rank.
        factors: names of the varied factors.
        levels: (C, F) the level of each of them.
        known: (F, L) all levels of each, in printing order.
        primary: the column of the primary configuration, where there is one.
    """

    names: tuple[str, ...]
    looks: tuple[Series, ...]
    ranks: tuple[tuple[float | None, ...], ...]
    factors: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    known: tuple[tuple[str, ...], ...]
    primary: int | None

    @property
    def as_lines(self) -> bool:
        """Whether lines can still be told apart."""
        return len(self.names) <= MOST_LINES and len(self.levels) <= MOST_COLUMNS


def bump_chart(bumps: Bumps) -> Markup:
    """The chart: a line a system, or, where those would be too many, a row a system shaded by rank."""
    return _lines(bumps) if bumps.as_lines else _map(bumps)


def bump_caption(bumps: Bumps) -> str:
    """How to read the chart."""
    what = (
        "One column a configuration, rank 1 on top"
        if bumps.as_lines
        else "One row a system, one column a configuration; the darker, the better the rank"
    )
    strip = ", with the levels of every factor below" if bumps.factors else ""
    primary = " The primary configuration is framed." if bumps.primary is not None else ""
    return (
        f"{what}; configurations that rank the systems alike stand side by side{strip}.{primary} Ranks are "
        "by point estimate: a crossing is no decision, the verdicts below are."
    )


def _lines(bumps: Bumps) -> Markup:
    systems, columns = len(bumps.names), len(bumps.levels)
    right = min(_MOST_RIGHT, 26 + max(text_width(name, size=8.5) for name in bumps.names))
    spacing = 24.0 if systems <= 6 else 17.0
    bottom = _TOP + spacing * max(1, systems - 1)
    step = (WIDTH - _LINE_LEFT - right) / columns
    xs = [_LINE_LEFT + step * (place + 0.5) for place in range(columns)]
    parts: list[Markup] = []
    if bumps.primary is not None:
        x = xs[bumps.primary]
        parts.append(box(x - step / 2, _TOP - 11, step, bottom - _TOP + 22, fill=TINT))
        parts.append(_frame(x, step, _TOP - 11, bottom + 11))
    for rank in range(1, systems + 1):
        y = _TOP + (rank - 1) * spacing
        parts.append(line(_LINE_LEFT, y, WIDTH - right, y, stroke=GRID, width=0.7))
        parts.append(label(_LINE_LEFT - 8, y + 3, str(rank), anchor="end", size=8.5, fill=SOFT))
    parts.append(label(_LINE_LEFT - 8, _TOP - 13, "rank", anchor="end", size=8, fill=SOFT))
    for look, ranks in zip(reversed(bumps.looks), reversed(bumps.ranks), strict=True):
        parts.append(_one_line(look, ranks, xs=xs, spacing=spacing, marks=columns <= 24))
    parts.append(_names(bumps, x=WIDTH - right + 8, spacing=spacing))
    strip, height = _strip(bumps, left=_LINE_LEFT, step=step, top=bottom + 18)
    parts.append(strip)
    return drawing(parts, width=WIDTH, height=bottom + 20 + height, title=_words(bumps))


def _one_line(
    look: Series, ranks: Sequence[float | None], *, xs: Sequence[float], spacing: float, marks: bool
) -> Markup:
    """A system's line, broken where it has no rank."""
    parts: list[Markup] = []
    for present, group in groupby(zip(xs, ranks, strict=True), key=lambda pair: pair[1] is not None):
        points = [(x, _TOP + ((rank or 1.0) - 1) * spacing) for x, rank in group]
        if present and len(points) > 1:
            width = 0.9 if look.shape == "dot" else 1.7
            parts.append(path(polyline(points), stroke=look.color, width=width, dash=look.dash))
        if present and (marks or len(points) == 1):
            parts += [series_mark(look, x, y) for x, y in points]
    return Markup("").join(parts)


def _names(bumps: Bumps, *, x: float, spacing: float) -> Markup:
    """The names at the right end of the lines, moved apart where ranks are equal."""
    last = [next((rank for rank in reversed(ranks) if rank is not None), None) for ranks in bumps.ranks]
    order = sorted(range(len(last)), key=lambda m: (last[m] is None, last[m] or 0.0, m))
    parts: list[Markup] = []
    y = _TOP - 100.0
    for m in order:
        rank = last[m]
        y = max(y + 11.0, _TOP + ((len(last) if rank is None else rank) - 1) * spacing)
        look = bumps.looks[m]
        parts.append(series_mark(look, x + 3, y, radius=3))
        text = clip(bumps.names[m], width=WIDTH - x - 12, size=8.5)
        fill = SOFT if look.shape == "dot" else INK
        parts.append(label(x + 12, y + 3, text, size=8.5, fill=fill))
    return Markup("").join(parts)


def _map(bumps: Bumps) -> Markup:
    systems, columns = len(bumps.names), len(bumps.levels)
    row = 13.0 if systems <= 40 else 9.0
    top = _TOP + 14
    step = (WIDTH - _MAP_LEFT - 62) / columns
    bottom = top + row * systems
    parts = [_legend(systems)]
    for head, x in (("best", WIDTH - 30), ("worst", WIDTH - 2)):
        parts.append(label(x, top - 5, head, anchor="end", size=7.5, fill=SOFT))
    parts.append(label(0, top - 5, "system, by mean rank", size=7.5, fill=SOFT))
    for place, (name, ranks) in enumerate(zip(bumps.names, bumps.ranks, strict=True)):
        y = top + place * row
        parts.append(label(0, y + row - 3.5, clip(name, width=_MAP_LEFT - 8, size=8), size=8))
        parts += _shaded(ranks, y=y, step=step, height=row, systems=systems)
        known = [rank for rank in ranks if rank is not None]
        for value, x in ((min(known, default=None), WIDTH - 30), (max(known, default=None), WIDTH - 2)):
            text = "–" if value is None else f"{value:g}"
            parts.append(label(x, y + row - 3.5, text, anchor="end", size=8))
    parts.append(box(_MAP_LEFT, top, step * columns, bottom - top, stroke=SOFT, stroke_width=0.7))
    if bumps.primary is not None:
        x = _MAP_LEFT + step * (bumps.primary + 0.5)
        parts.append(_frame(x, step, top - 3, bottom + 3))
    strip, height = _strip(bumps, left=_MAP_LEFT, step=step, top=bottom + 8)
    parts.append(strip)
    return drawing(parts, width=WIDTH, height=bottom + 10 + height, title=_words(bumps))


def _shaded(
    ranks: Sequence[float | None], *, y: float, step: float, height: float, systems: int
) -> list[Markup]:
    """A row of the map; neighbours of one shade are one rectangle."""
    parts: list[Markup] = []
    x = _MAP_LEFT
    for shade, group in groupby(_shade(rank, systems) for rank in ranks):
        width = step * len(list(group))
        parts.append(box(x, y + 0.3, width, height - 0.6, fill=shade))
        x += width
    return parts


def _shade(rank: float | None, systems: int) -> str:
    if rank is None:
        return PAPER
    share = (rank - 1) / max(1, systems - 1)
    return _SHADES[min(len(_SHADES) - 1, int(share * len(_SHADES)))]


def _frame(x: float, step: float, top: float, bottom: float) -> Markup:
    width = max(step, 3.0)
    return box(x - width / 2, top, width, bottom - top, stroke=INK)


def _legend(systems: int) -> Markup:
    parts = [
        label(_MAP_LEFT, 12, "rank", size=8, fill=SOFT),
        label(_MAP_LEFT + 24, 12, "1", size=8, fill=SOFT),
    ]
    x = _MAP_LEFT + 32
    for shade in _SHADES:
        parts.append(box(x, 4, 16, 10, fill=shade, stroke=SOFT, stroke_width=0.4))
        x += 16
    parts.append(label(x + 5, 12, str(systems), size=8, fill=SOFT))
    return Markup("").join(parts)


def _strip(bumps: Bumps, *, left: float, step: float, top: float) -> tuple[Markup, float]:
    """A row a factor: the level of each column as a shade, with its name where there is room."""
    parts: list[Markup] = []
    y = top
    for f, factor in enumerate(bumps.factors):
        known = bumps.known[f]
        name = clip(factor, width=left - 12, size=8)
        parts.append(label(left - 8, y + 9, name, anchor="end", size=8, fill=SOFT))
        x, is_named = left, True
        for level, group in groupby(one[f] for one in bumps.levels):
            width = step * len(list(group))
            shade = _level_shade(known.index(level), len(known))
            stroke = SOFT if step >= 4 else "none"
            parts.append(box(x, y, width, 12, fill=shade.fill, stroke=stroke, stroke_width=0.4))
            if text_width(level, size=7.5) < width - 3:
                parts.append(
                    label(x + width / 2, y + 8.8, level, anchor="middle", size=7.5, fill=shade.ink)
                )
            else:
                is_named = False
            x += width
        parts.append(box(left, y, x - left, 12, stroke=SOFT, stroke_width=0.5))
        y += 15
        if not is_named:
            key, height = _level_key(known, left=left, y=y)
            parts.append(key)
            y += height
    return Markup("").join(parts), y - top


@dataclass(frozen=True, slots=True)
class _Shade:
    fill: str
    ink: str


def _level_shade(place: int, levels: int) -> _Shade:
    """Up to six levels contrast with their neighbours; more run from light to dark in printing order."""
    if levels <= len(_LEVEL_SHADES):
        fill = _LEVEL_SHADES[place]
        return _Shade(fill, PAPER if fill == "#5d7787" else INK)
    share = place / (levels - 1)
    red, green, blue = (round(end + (1 - share) * (start - end)) for start, end in _GRADIENT)
    return _Shade(f"#{red:02x}{green:02x}{blue:02x}", PAPER if share > 0.6 else INK)


def _level_key(levels: Sequence[str], *, left: float, y: float) -> tuple[Markup, float]:
    """Which shade is which level; of more than twelve, evenly spaced ones."""
    total = len(levels)
    most = min(total, _MOST_KEYS)
    places = sorted({round(k * (total - 1) / max(1, most - 1)) for k in range(most)})
    parts: list[Markup] = []
    x, line_y = left, y
    for place in places:
        text = clip(levels[place], width=120, size=7.5)
        needed = 16 + text_width(text, size=7.5)
        if x > left and x + needed > WIDTH:
            x, line_y = left, line_y + 11
        fill = _level_shade(place, total).fill
        parts.append(box(x, line_y, 9, 8, fill=fill, stroke=SOFT, stroke_width=0.4))
        parts.append(label(x + 12, line_y + 7, text, size=7.5, fill=SOFT))
        x += needed
    if most < total:
        parts.append(label(x, line_y + 7, f"of {total}", size=7.5, fill=SOFT))
    return Markup("").join(parts), line_y - y + 14


def _words(bumps: Bumps) -> str:
    parts = []
    for name, ranks in list(zip(bumps.names, bumps.ranks, strict=True))[:6]:
        known = [rank for rank in ranks if rank is not None]
        if not known:
            parts.append(f"{name}: no rank")
        elif min(known) == max(known):
            parts.append(f"{name}: rank {min(known):g} throughout")
        else:
            parts.append(f"{name}: rank {min(known):g} to {max(known):g}")
    more = f"; and {len(bumps.names) - 6} more systems" if len(bumps.names) > 6 else ""
    return f"Rank of each system over {len(bumps.levels)} configurations. {'; '.join(parts)}{more}."
