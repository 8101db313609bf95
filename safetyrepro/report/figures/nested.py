"""The labels of configurations, nested: each factor a line, equal neighbours under one label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from safetyrepro.report.figures.svg import SOFT, clip, label, line, text_width


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring configurations with the same level of a factor."""

    first: int
    last: int
    level: str


def runs(levels: Sequence[tuple[str, ...]], *, depth: int) -> list[Run]:
    """The runs of the factor at `depth`: a run ends where it or a slower factor changes its level."""
    found: list[Run] = []
    for index, one in enumerate(levels):
        same = index > 0 and levels[index - 1][: depth + 1] == one[: depth + 1]
        if same:
            found[-1] = Run(first=found[-1].first, last=index, level=one[depth])
        else:
            found.append(Run(first=index, last=index, level=one[depth]))
    return found


def nested_labels(
    factors: tuple[str, ...],
    levels: tuple[tuple[str, ...], ...],
    *,
    xs: Sequence[float],
    step: float,
    top: float,
    left: float,
) -> tuple[Markup, float]:
    """The levels below the columns, the fastest factor first; equal neighbours share one label."""
    parts: list[Markup] = []
    y = top
    for depth in reversed(range(len(factors))):
        found = runs(levels, depth=depth)
        widths = [step * (run.last - run.first + 1) for run in found]
        needed = max(text_width(run.level, size=8) for run in found)
        turned = any(
            text_width(run.level, size=8) > width + 2 for run, width in zip(found, widths, strict=True)
        )
        height = min(needed, 70.0) + 8 if turned else 15.0
        parts.append(
            label(left - 8, y + (10 if not turned else 8), factors[depth], anchor="end", size=8, fill=SOFT)
        )
        for run in found:
            start, end = xs[run.first] - step / 2 + 1.5, xs[run.last] + step / 2 - 1.5
            middle = (start + end) / 2
            if run.last > run.first:
                parts.append(line(start, y, end, y, stroke=SOFT, width=0.8))
            if turned:
                text = clip(run.level, width=70, size=8)
                parts.append(label(middle + 3, y + 4, text, anchor="end", size=8, turn=-90))
            else:
                parts.append(label(middle, y + 10, run.level, anchor="middle", size=8))
        y += height
    return Markup("").join(parts), y - top
