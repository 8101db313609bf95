"""Scales, ticks, the nested labels of configurations, and legends."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from safetyrepro.claims.numbers import fraction
from safetyrepro.report.figures.marks import Series, series_mark
from safetyrepro.report.figures.svg import GRID, INK, SOFT, label, line, text_width

_LEGEND_SIZE = 8.5


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear scale from values to coordinates."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """The coordinate of a value; a value outside the scale is drawn at its edge."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    @property
    def ticks(self) -> tuple[float, ...]:
        """Round values, about six to ten of them."""
        step = next(
            step for step in (0.02, 0.05, 0.1, 0.2) if (self.high - self.low) / step <= 10 or step == 0.2
        )
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return tuple(round(index * step, 10) for index in range(first, last + 1))


def fraction_scale(values: Iterable[float], *, start: float, end: float) -> Scale:
    """A scale over the values and one half, rounded outwards to twentieths, within zero and one."""
    every = [0.5, *values]
    low = max(0.0, math.floor((min(every) - 0.005) * 20) / 20)
    high = min(1.0, math.ceil((max(every) + 0.005) * 20) / 20)
    if high - low < 0.2:
        low, high = max(0.0, low - 0.1), min(1.0, high + 0.1)
    return Scale(low=low, high=high, start=start, end=end)


def fraction_axis(scale: Scale, *, top: float, bottom: float, title: str) -> Markup:
    """Grid lines, tick labels below, and the axis title."""
    parts: list[Markup] = []
    for tick in scale.ticks:
        x = scale.at(tick)
        parts.append(line(x, top, x, bottom, stroke=GRID, width=0.7))
        parts.append(label(x, bottom + 12, fraction(tick), anchor="middle", size=8.5, fill=SOFT))
    middle = (scale.start + scale.end) / 2
    parts.append(label(middle, bottom + 26, title, anchor="middle", size=8.5, fill=SOFT))
    return Markup("").join(parts)


def legend(
    entries: Sequence[tuple[Series, str]], *, x: float, y: float, width: float
) -> tuple[Markup, float]:
    """The series with their names, in lines of at most `width`; and the height that they take."""
    parts: list[Markup] = []
    cx, cy = x, y
    for look, name in entries:
        needed = 22 + text_width(name, size=_LEGEND_SIZE)
        if cx > x and cx + needed > x + width:
            cx, cy = x, cy + 14
        parts.append(line(cx, cy - 3, cx + 16, cy - 3, stroke=look.color, width=1.3, dash=look.dash))
        parts.append(series_mark(look, cx + 8, cy - 3))
        parts.append(label(cx + 21, cy, name, size=_LEGEND_SIZE, fill=INK))
        cx += needed + 14
    return Markup("").join(parts), cy - y + 14
