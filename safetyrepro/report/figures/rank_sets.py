"""The ranks that each system can have, over the whole envelope, as whiskers."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from safetyrepro.report.figures.marks import Series, series_mark
from safetyrepro.report.figures.svg import (
    AHEAD,
    GRID,
    INK,
    SOFT,
    box,
    clip,
    drawing,
    label,
    line,
)

_WIDTH, _LEFT, _RIGHT = 640.0, 190.0, 14.0


@dataclass(frozen=True, slots=True)
class RankSet:
    """One system's ranks: possible under some configuration, sure under all, by estimate.

    possible: the smallest and largest rank that any configuration leaves possible.
    common: the smallest and largest rank that every configuration leaves possible; None where no rank is.
    mean: its mean rank by estimate; None without any.
    """

    name: str
    look: Series
    possible: tuple[int, int]
    common: tuple[int, int] | None
    mean: float | None


def rank_set_chart(sets: tuple[RankSet, ...]) -> Markup:
    """A row a system: thin whisker possible somewhere, bar possible everywhere, mark the mean estimate."""
    systems = len(sets)
    row = 19.0 if systems <= 12 else 13.0
    top, size = 30.0, 8.5 if systems <= 12 else 8.0
    bottom = top + row * systems
    step = (_WIDTH - _LEFT - _RIGHT) / systems

    def at(rank: float) -> float:
        return _LEFT + step * (rank - 0.5)

    parts: list[Markup] = [_legend()]
    every = 1 if systems <= 16 else 5
    for rank in range(1, systems + 1):
        if rank == 1 or rank % every == 0:
            parts.append(line(at(rank), top - 3, at(rank), bottom, stroke=GRID, width=0.7))
            parts.append(label(at(rank), bottom + 11, str(rank), anchor="middle", size=8.5, fill=SOFT))
    parts.append(
        label((_LEFT + _WIDTH - _RIGHT) / 2, bottom + 24, "rank", anchor="middle", size=8.5, fill=SOFT)
    )
    for place, one in enumerate(sets):
        y = top + row * (place + 0.5)
        parts.append(label(0, y + 3, clip(one.name, width=_LEFT - 14, size=size), size=size))
        low, high = at(one.possible[0]), at(one.possible[1])
        if one.common is not None:
            first, last = at(one.common[0]) - step * 0.3, at(one.common[1]) + step * 0.3
            parts.append(box(first, y - row * 0.27, last - first, row * 0.54, fill="#a5becd", radius=2))
        parts.append(line(low, y, high, y, stroke=INK, width=1.1))
        parts += [line(x, y - 3, x, y + 3, stroke=INK, width=1.1) for x in (low, high)]
        if one.mean is not None:
            parts.append(series_mark(one.look, at(one.mean), y))
    return drawing(parts, width=_WIDTH, height=bottom + 30, title=_words(sets))


def _legend() -> Markup:
    plain = Series("disc", AHEAD, "", True)
    return Markup("").join(
        [
            line(0, 8, 22, 8, stroke=INK, width=1.1),
            line(0, 5, 0, 11, stroke=INK, width=1.1),
            line(22, 5, 22, 11, stroke=INK, width=1.1),
            label(27, 11, "possible in some configuration", size=8.5, fill=SOFT),
            box(180, 3.5, 22, 9, fill="#a5becd", radius=2),
            label(207, 11, "possible in every configuration", size=8.5, fill=SOFT),
            series_mark(plain, 368, 8),
            label(376, 11, "mean rank by point estimate", size=8.5, fill=SOFT),
        ]
    )


def _words(sets: tuple[RankSet, ...]) -> str:
    parts = [f"{one.name} {one.possible[0]} to {one.possible[1]}" for one in sets[:8]]
    more = f"; and {len(sets) - 8} more systems" if len(sets) > 8 else ""
    return f"Ranks that the joint bounds leave possible over the envelope: {'; '.join(parts)}{more}."
