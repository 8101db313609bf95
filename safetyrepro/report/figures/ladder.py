"""The ladder: the four evidence levels, where the evidence stands, where the claims speak."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from safetyrepro.report.figures.svg import (
    BEHIND,
    INK,
    PAPER,
    RULE,
    SOFT,
    TINT,
    disc,
    drawing,
    label,
    path,
    polyline,
)
from safetyrepro.report.notation import listed
from safetyrepro.spec.base import LEVELS, Level

_WIDTH, _HEIGHT = 344.0, 158.0
_STEP, _RISE, _BASE, _FOOT = 86.0, 18.0, 98.0, 157.0
_DEFINITIONS: dict[Level, tuple[str, str]] = {
    "model": ("likelihood of", "given text"),
    "response": ("output to a", "fixed input"),
    "interaction": ("turns that depend", "on earlier output"),
    "deployment": ("the system in", "its real setting"),
}


def evidence_ladder(evidence: Level, *, claims: Sequence[tuple[int, Level]]) -> Markup:
    """Four steps, low to high: a disc for the evidence, a numbered diamond for every claim.

    A dashed line climbs the stairs from the evidence to the claims furthest from it, up and down; the
    distance of every level with claims stands at the foot of its step.

    Args:
        evidence: the level of the evidence.
        claims: (number, level) of every claim.
    """
    at = LEVELS.index(evidence)
    by_level = {level: [number for number, one in claims if one == level] for level in LEVELS}
    claimed = [index for index, level in enumerate(LEVELS) if by_level[level]]
    parts = [_step(index, level, reached=index <= at) for index, level in enumerate(LEVELS)]
    parts += [_climb(at, end) for end in sorted({min([at, *claimed]), max([at, *claimed])} - {at})]
    parts += [_distance(index, index - at) for index in claimed if index != at]
    parts.append(_evidence_mark(at))
    for index in claimed:
        parts += _claim_marks(index, by_level[LEVELS[index]], beside=index == at)
    # Only evidence on the top step has claims beside it that need the room above.
    top = 0.0 if at == len(LEVELS) - 1 else 16.0
    title = ladder_words(evidence, claims)
    return drawing(parts, width=_WIDTH, height=_HEIGHT - top, title=title, top=top)


def ladder_words(evidence: Level, claims: Sequence[tuple[int, Level]]) -> str:
    """The ladder in words."""
    at = LEVELS.index(evidence)
    parts = []
    for level in LEVELS:
        numbers = [str(number) for number, one in claims if one == level]
        if numbers:
            distance = LEVELS.index(level) - at
            apart = "no distance" if distance == 0 else f"distance {distance:+d}".replace("-", "−")
            noun = "claim" if len(numbers) == 1 else "claims"
            parts.append(f"{noun} {listed(numbers)} at {level} level ({apart})")
    return f"Ladder of evidence levels. Evidence at {evidence} level; " + "; ".join(parts) + "."


def _tread(index: int) -> tuple[float, float]:
    """The left end and the height of a step's tread."""
    return index * _STEP, _BASE - index * _RISE


def _step(index: int, level: Level, *, reached: bool) -> Markup:
    x, y = _tread(index)
    outline = [(x, _FOOT), (x, y), (x + _STEP - 2, y), (x + _STEP - 2, _FOOT)]
    first, second = _DEFINITIONS[level]
    return Markup("").join(
        [
            path(polyline(outline) + " Z", fill=TINT if reached else PAPER),
            path(
                polyline(outline),
                stroke=INK if reached else RULE,
                width=1.4 if reached else 1,
                dash="" if reached else "3 2",
            ),
            label(x + 6, y + 14, level, size=9.5, bold=True, fill=INK if reached else SOFT),
            label(x + 6, y + 26, first, size=7.8, fill=SOFT),
            label(x + 6, y + 36, second, size=7.8, fill=SOFT),
        ]
    )


def _evidence_mark(index: int) -> Markup:
    x, y = _tread(index)
    return disc(x + 14, y - 9, 5.5, fill=INK) + label(x + 23, y - 5.8, "evidence", size=8.5, bold=True)


def _claim_marks(index: int, numbers: list[int], *, beside: bool) -> list[Markup]:
    x, y = _tread(index)
    parts: list[Markup] = []
    middle = y - (27 if beside else 10)
    room = max(1, int((_STEP - 8) / 17))
    shown = numbers if len(numbers) <= room else numbers[: room - 1]
    for place, number in enumerate(shown):
        cx = x + 14 + 17 * place
        corners = [(cx, middle - 8), (cx + 8, middle), (cx, middle + 8), (cx - 8, middle)]
        parts.append(path(polyline(corners) + " Z", fill=PAPER, stroke=INK, width=1.2))
        parts.append(label(cx, middle + 2.9, str(number), anchor="middle", size=8, bold=True))
    if len(shown) < len(numbers):
        parts.append(
            label(x + 8 + 17 * len(shown), middle + 3, f"+{len(numbers) - len(shown)} more", size=8)
        )
    return parts


def _climb(start: int, end: int) -> Markup:
    """The way along the treads from the evidence's step to another, with an arrow where it arrives."""
    low, high = min(start, end), max(start, end)
    points: list[tuple[float, float]] = []
    for index in range(low, high + 1):
        x, y = _tread(index)
        points += [(x, y), (x + _STEP, y)]
    points = points[1:-1]
    if end < start:
        points.reverse()
    tip_x, tip_y = points[-1]
    side = 1.0 if end > start else -1.0
    tip = (tip_x + side * 9, tip_y)
    arrow = [(tip[0] - side * 5, tip_y - 3.2), tip, (tip[0] - side * 5, tip_y + 3.2)]
    return path(polyline([*points, tip]), stroke=BEHIND, width=1.6, dash="3 2") + path(
        polyline(arrow), stroke=BEHIND, width=1.4
    )


def _distance(index: int, distance: int) -> Markup:
    x, _ = _tread(index)
    words = f"distance {distance:+d}".replace("-", "−")
    return label(x + 6, _FOOT - 7, words, size=8.5, bold=True, fill=BEHIND)
