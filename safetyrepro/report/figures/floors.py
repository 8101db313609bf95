"""Agreement between configurations beside the floor that noise alone leaves; and bars of counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from safetyrepro.claims.numbers import fraction
from safetyrepro.report.figures.svg import (
    AHEAD,
    BEHIND,
    GRID,
    INK,
    PAPER,
    RULE,
    SOFT,
    TINT,
    box,
    clip,
    disc,
    drawing,
    label,
    line,
)

_WIDTH, _LEFT, _RIGHT = 640.0, 190.0, 70.0


@dataclass(frozen=True, slots=True)
class Agreement:
    """One statistic: its name, its value between configurations, and its floor within one."""

    name: str
    between: float
    floor: float


def floor_chart(rows: Sequence[Agreement]) -> Markup:
    """A row a statistic: a disc between configurations, a bar for the floor, the gap tinted."""
    low = min(0.0, *(value for row in rows for value in (row.between, row.floor)))
    low = -1.0 if low < -0.5 else -0.5 if low < 0 else 0.0
    end = _WIDTH - _RIGHT
    top, height = 26.0, 24.0
    bottom = top + height * len(rows)

    def at(value: float) -> float:
        return _LEFT + (value - low) / (1.0 - low) * (end - _LEFT)

    parts: list[Markup] = [_legend()]
    ticks = (
        [low + (1.0 - low) * step / 5 for step in range(6)] if low == 0.0 else [low, low / 2, 0.0, 0.5, 1.0]
    )
    for tick in ticks:
        parts.append(line(at(tick), top, at(tick), bottom, stroke=GRID, width=0.7))
        parts.append(
            label(at(tick), bottom + 12, fraction(tick, digits=1), anchor="middle", size=8.5, fill=SOFT)
        )
    for place, row in enumerate(rows):
        y = top + height * (place + 0.5)
        parts.append(label(0, y + 3, clip(row.name, width=_LEFT - 8, size=8.5), size=8.5))
        x, floor = at(row.between), at(row.floor)
        parts.append(box(min(x, floor), y - 5, abs(floor - x), 10, fill=TINT))
        parts.append(line(floor, y - 8, floor, y + 8, stroke=INK, width=2.2))
        parts.append(disc(x, y, 4, fill=BEHIND if row.between < row.floor else AHEAD))
        text = f"{fraction(row.between)} / {fraction(row.floor)}"
        parts.append(label(_WIDTH, y + 3, text, anchor="end", size=8.5))
    words = "; ".join(f"{row.name}: {fraction(row.between)}, floor {fraction(row.floor)}" for row in rows)
    title = f"Agreement between configurations, and the floor within one. {words}."
    return drawing(parts, width=_WIDTH, height=bottom + 18, title=title)


def _legend() -> Markup:
    return Markup("").join(
        [
            disc(5, 8, 4, fill=BEHIND),
            label(
                13, 11, "between two configurations (below the floor; blue: not below)", size=8.5, fill=SOFT
            ),
            line(330, 2, 330, 14, stroke=INK, width=2.2),
            label(
                336,
                11,
                "one configuration with itself on other items: the noise floor",
                size=8.5,
                fill=SOFT,
            ),
        ]
    )


@dataclass(frozen=True, slots=True)
class FactorBar:
    """Matched changes of one factor, all counted over pairs of systems."""

    name: str
    matched: int
    decided: int
    reversed: int


def factor_chart(bars: Sequence[FactorBar]) -> Markup:
    """A bar a factor: all matched changes, those decided on both sides, those that reverse."""
    most = max((bar.matched for bar in bars), default=0)
    end = _WIDTH - 150.0
    top, height = 26.0, 22.0
    bottom = top + height * len(bars)
    parts: list[Markup] = [_bar_legend()]
    for place, bar in enumerate(bars):
        y = top + height * place + 4
        scale = (end - _LEFT) / max(1, most)
        parts.append(label(0, y + 10, clip(bar.name, width=_LEFT - 8, size=8.5), size=8.5))
        parts.append(box(_LEFT, y, bar.matched * scale, 13, fill=PAPER, stroke=RULE, stroke_width=0.8))
        parts.append(box(_LEFT, y, bar.decided * scale, 13, fill="#c5d3dd"))
        parts.append(box(_LEFT, y + 2.5, bar.reversed * scale, 8, fill=BEHIND))
        text = f"{bar.reversed} of {bar.decided} decided, {bar.matched} matched"
        parts.append(label(_WIDTH, y + 10, text, anchor="end", size=8.5))
    words = "; ".join(
        f"{b.name}: {b.reversed} of {b.decided} decided and {b.matched} matched" for b in bars
    )
    title = f"Changes of one factor alone that reverse a reliable decision. {words}."
    return drawing(parts, width=_WIDTH, height=bottom + 6, title=title)


def _bar_legend() -> Markup:
    parts: list[Markup] = []
    x = 0.0
    for fill, stroke, text in (
        (BEHIND, "none", "reverses the decision"),
        ("#c5d3dd", "none", "decided on both sides"),
        (PAPER, RULE, "all matched changes"),
    ):
        parts.append(box(x, 3, 14, 9, fill=fill, stroke=stroke, stroke_width=0.8))
        parts.append(label(x + 19, 11, text, size=8.5, fill=SOFT))
        x += 132
    return Markup("").join(parts)
