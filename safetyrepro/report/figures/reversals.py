"""Who is reliably ahead of whom, in what share of the envelope: a matrix of systems by systems."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from safetyrepro.report.figures.svg import (
    AHEAD,
    BEHIND,
    INK,
    PAPER,
    RULE,
    SOFT,
    box,
    clip,
    drawing,
    label,
    line,
    path,
    polyline,
)

_WIDTH = 640.0
_NUMBERS_UP_TO = 16
_SHADES = ("#e8eff3", "#c9d9e3", "#9bb8c9", "#6391ac", "#2f6a90", AHEAD)


@dataclass(frozen=True, slots=True)
class Reversals:
    """Counts of decisions by pair.

    Args:
        names: one a system, in drawing order.
        ahead: (M, M) configurations in which the row's system is reliably ahead of the column's.
        total: configurations of the envelope.
    """

    names: tuple[str, ...]
    ahead: tuple[tuple[int, ...], ...]
    total: int

    def is_reversed(self, one: int, other: int) -> bool:
        """Whether each is reliably ahead of the other somewhere."""
        return self.ahead[one][other] > 0 and self.ahead[other][one] > 0


def reversal_matrix(reversals: Reversals) -> Markup:
    """The matrix: the darker a cell, the larger the share in which its row is ahead of its column."""
    systems = len(reversals.names)
    numbers = systems <= _NUMBERS_UP_TO
    left = 190.0 if systems > 6 else 150.0
    room = _WIDTH - left - 10
    cell = min(34.0 if numbers else 15.0, room / systems)
    top = 16.0 + (24 if numbers else 14)
    parts = [_legend(left, reversals.total)]
    for place in range(systems):
        x, y = left + cell * (place + 0.5), top + cell * (place + 0.5)
        parts.append(
            label(x, top - 5, str(place + 1), anchor="middle", size=8 if numbers else 6.5, fill=SOFT)
        )
        name = clip(reversals.names[place], width=left - 30, size=8.5)
        parts.append(label(left - 22, y + 3, name, anchor="end", size=8.5 if numbers else 8))
        parts.append(label(left - 5, y + 3, str(place + 1), anchor="end", size=8, fill=SOFT))
    for row in range(systems):
        for column in range(systems):
            x, y = left + cell * column, top + cell * row
            parts.append(_cell(reversals, row, column, x=x, y=y, size=cell, numbers=numbers))
    bottom = top + cell * systems
    return drawing(parts, width=_WIDTH, height=bottom + 6, title=_words(reversals))


def reversal_caption(reversals: Reversals) -> str:
    """How to read the matrix."""
    inside = " with their number" if len(reversals.names) <= _NUMBERS_UP_TO else ""
    return (
        f"A cell shows{inside} the configurations in which the system of its row is reliably ahead of "
        "that of its column. Rust corner: reversed by the harness, each is reliably ahead of the other "
        "somewhere. Rows are ordered by mean rank: cells below the diagonal are against that order."
    )


def _cell(
    reversals: Reversals, row: int, column: int, *, x: float, y: float, size: float, numbers: bool
) -> Markup:
    if row == column:
        return line(x + size * 0.3, y + size / 2, x + size * 0.7, y + size / 2, stroke=RULE, width=1)
    count = reversals.ahead[row][column]
    fill = PAPER if count == 0 else _SHADES[min(5, int(6 * count / (reversals.total + 1e-9)))]
    parts = [box(x + 0.6, y + 0.6, size - 1.2, size - 1.2, fill=fill, stroke=RULE, stroke_width=0.5)]
    if numbers and count:
        ink = PAPER if fill in _SHADES[3:] else INK
        parts.append(label(x + size / 2, y + size / 2 + 3, str(count), anchor="middle", size=8.5, fill=ink))
    if reversals.is_reversed(row, column):
        edge = size * 0.38
        corner = [
            (x + size - 0.6 - edge, y + 0.6),
            (x + size - 0.6, y + 0.6),
            (x + size - 0.6, y + 0.6 + edge),
        ]
        parts.append(path(polyline(corner) + " Z", fill=BEHIND))
    return Markup("").join(parts)


def _legend(left: float, total: int) -> Markup:
    parts = [label(left, 9, "share of configurations reliably ahead: 0", size=8, fill=SOFT)]
    x = left + 172.0
    for shade in (PAPER, *_SHADES):
        parts.append(box(x, 1, 15, 10, fill=shade, stroke=SOFT, stroke_width=0.4))
        x += 15
    parts.append(label(x + 5, 9, f"all {total}", size=8, fill=SOFT))
    return Markup("").join(parts)


def _words(reversals: Reversals) -> str:
    systems = len(reversals.names)
    turned = [
        f"{reversals.names[a]} and {reversals.names[b]}"
        for a in range(systems)
        for b in range(a + 1, systems)
        if reversals.is_reversed(a, b)
    ]
    named = "; ".join(turned[:8]) + (f"; and {len(turned) - 8} more" if len(turned) > 8 else "")
    pairs = systems * (systems - 1) // 2
    tail = f": {named}" if turned else ""
    return f"Matrix of {systems} systems. {len(turned)} of {pairs} pairs are reversed by the harness{tail}."
