"""The small marks: verdicts, series, and the strip of configurations. Shape first, colour second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from safetyrepro.report.figures.svg import (
    AHEAD,
    BEHIND,
    FAINT,
    INK,
    PAPER,
    RULE,
    SOFT,
    box,
    disc,
    drawing,
    label,
    line,
    path,
    polyline,
)
from safetyrepro.report.tree import Side

_STRIP_CELLS = 60
_SIDE_WORDS: dict[Side, str] = {
    "ahead": "reliably as claimed",
    "behind": "reliably the opposite",
    "open": "undecided",
    "none": "without a number",
}


_MARK_WORDS = {
    "for": "for the claim",
    "partly": "partly for the claim",
    "equal": "equal",
    "mixed": "both ways",
    "against": "against the claim",
    "open": "undecided",
    "absent": "no verdict",
}


@dataclass(frozen=True, slots=True)
class Series:
    """How one system is drawn everywhere in a report."""

    shape: str
    color: str
    dash: str
    filled: bool


_SERIES = (
    Series("disc", "#0b4f7d", "", True),
    Series("square", "#b3431c", "6 2.5", False),
    Series("triangle", "#3f6b2a", "1.5 2", True),
    Series("diamond", "#6a4a8c", "7 2 1.5 2", False),
    Series("cross", "#17212b", "3 2", False),
    Series("bar", "#80600f", "10 3", False),
)
_BACKGROUND = Series("dot", FAINT, "", True)


def series(index: int) -> Series:
    """The look of the index-th named system; from the seventh on all share a plain grey one."""
    return _SERIES[index] if index < len(_SERIES) else _BACKGROUND


def series_mark(look: Series, x: float, y: float, *, radius: float = 3.2) -> Markup:
    """A system's mark."""
    fill = look.color if look.filled else PAPER
    r = radius
    match look.shape:
        case "disc":
            return disc(x, y, r, fill=fill, stroke=look.color, width=1.2)
        case "square":
            side = r * 0.92
            return box(
                x - side, y - side, 2 * side, 2 * side, fill=fill, stroke=look.color, stroke_width=1.3
            )
        case "triangle":
            corners = [(x, y - 1.2 * r), (x + 1.1 * r, y + 0.8 * r), (x - 1.1 * r, y + 0.8 * r)]
            return path(polyline(corners) + " Z", fill=fill, stroke=look.color, width=1)
        case "diamond":
            corners = [(x, y - 1.25 * r), (x + 1.25 * r, y), (x, y + 1.25 * r), (x - 1.25 * r, y)]
            return path(polyline(corners) + " Z", fill=fill, stroke=look.color, width=1.3)
        case "cross":
            arms = [((x - r, y - r), (x + r, y + r)), ((x - r, y + r), (x + r, y - r))]
            return Markup("").join(line(*a, *b, stroke=look.color, width=1.6) for a, b in arms)
        case "bar":
            return box(x - r, y - 1.2, 2 * r, 2.4, fill=look.color)
        case _:
            return disc(x, y, r * 0.6, fill=look.color)


def verdict_mark(kind: str) -> Markup:
    """The mark of a verdict: full, half, equal, crossed arrows, struck, hollow, dotted."""
    c, r = 7.0, 5.6
    match kind:
        case "for":
            parts = [
                disc(c, c, r, fill=AHEAD),
                path("M4.2 7.2 L6.2 9.2 L9.9 5", stroke=PAPER, width=1.5),
            ]
        case "partly":
            parts = [
                disc(c, c, r, fill=PAPER, stroke=AHEAD, width=1.4),
                path("M7 1.4 A5.6 5.6 0 0 0 7 12.6 Z", fill=AHEAD),
            ]
        case "equal":
            parts = [
                disc(c, c, r, fill=PAPER, stroke=AHEAD, width=1.4),
                line(4.2, 5.6, 9.8, 5.6, stroke=AHEAD, width=1.5),
                line(4.2, 8.4, 9.8, 8.4, stroke=AHEAD, width=1.5),
            ]
        case "mixed":
            parts = [
                path("M1 4.6 H12 M9.4 2 L12 4.6 L9.4 7.2", stroke=BEHIND, width=1.5),
                path("M13 9.6 H2 M4.6 7 L2 9.6 L4.6 12.2", stroke=BEHIND, width=1.5),
            ]
        case "against":
            parts = [
                disc(c, c, r, fill=BEHIND),
                path("M4.7 4.7 L9.3 9.3 M9.3 4.7 L4.7 9.3", stroke=PAPER, width=1.5),
            ]
        case "open":
            parts = [disc(c, c, r, fill=PAPER, stroke=SOFT, width=1.4)]
        case _:
            parts = [
                path("M7 1.4 A5.6 5.6 0 1 1 6.99 1.4", stroke=SOFT, width=1.3, dash="1.5 2"),
            ]
    return drawing(parts, width=14, height=14, title=_MARK_WORDS[kind])


def side_cell(side: Side, x: float, y: float, size: float) -> Markup:
    """One configuration: filled as claimed, filled and crossed for the opposite, hollow undecided."""
    match side:
        case "ahead":
            return box(x, y, size, size, fill=AHEAD)
        case "behind":
            inner = size * 0.24
            return box(x, y, size, size, fill=BEHIND) + path(
                polyline([(x + inner, y + inner), (x + size - inner, y + size - inner)])
                + " "
                + polyline([(x + size - inner, y + inner), (x + inner, y + size - inner)]),
                stroke=PAPER,
                width=max(0.9, size * 0.13),
            )
        case "open":
            return box(x + 0.5, y + 0.5, size - 1, size - 1, fill=PAPER, stroke=SOFT, stroke_width=0.9)
        case "none":
            return line(x + size * 0.3, y + size / 2, x + size * 0.7, y + size / 2, stroke=SOFT, width=1)


def configuration_strip(sides: Sequence[Side], *, primary: int, width: float = 150) -> Markup:
    """The envelope as a strip: one cell a configuration, or shares of a bar beyond sixty of them.

    Args:
        sides: one a configuration, in the envelope's order.
        primary: the index of the primary configuration, underlined.
        width: the width to fill at most.
    """
    title = strip_words(sides)
    if len(sides) > _STRIP_CELLS:
        return _share_bar(sides, width=width, title=title)
    per_line = len(sides) if len(sides) <= 16 else 16 if len(sides) <= 32 else 20
    gap = 2.0
    size = min(11.0, (width - gap * (per_line - 1)) / per_line)
    parts: list[Markup] = []
    step = size + gap + 2
    for index, side in enumerate(sides):
        row, column = divmod(index, per_line)
        x, y = column * (size + gap), row * step
        parts.append(side_cell(side, x, y, size))
        if index == primary:
            parts.append(line(x, y + size + 1.6, x + size, y + size + 1.6, stroke=INK, width=1.3))
    lines = -(-len(sides) // per_line)
    return drawing(parts, width=per_line * (size + gap) - gap, height=lines * step, title=title)


def _share_bar(sides: Sequence[Side], *, width: float, title: str) -> Markup:
    parts: list[Markup] = []
    x = 0.0
    order: tuple[Side, ...] = ("ahead", "open", "behind", "none")
    for side in order:
        number = sum(one == side for one in sides)
        if not number:
            continue
        share = width * number / len(sides)
        fill = {"ahead": AHEAD, "behind": BEHIND, "open": PAPER, "none": RULE}[side]
        parts.append(box(x, 0.5, share, 11, fill=fill, stroke=SOFT, stroke_width=0.7))
        if share > 22:
            parts.append(
                label(
                    x + share / 2,
                    9,
                    str(number),
                    anchor="middle",
                    size=8,
                    bold=True,
                    fill=INK if side in ("open", "none") else PAPER,
                )
            )
        x += share
    return drawing(parts, width=width, height=12, title=title)


def strip_words(sides: Sequence[Side]) -> str:
    """The strip in words."""
    order: tuple[Side, ...] = ("ahead", "behind", "open", "none")
    parts = [
        f"{sum(one == side for one in sides)} {_SIDE_WORDS[side]}"
        for side in order
        if side in ("ahead", "behind", "open") or side in sides
    ]
    return f"Of {len(sides)} configurations: " + ", ".join(parts)
