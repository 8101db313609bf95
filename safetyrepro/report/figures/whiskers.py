"""Dots with whiskers: estimates with intervals, against the half line and the null baselines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from markupsafe import Markup

from safetyrepro.report.figures.axes import fraction_axis, fraction_scale, legend
from safetyrepro.report.figures.marks import Series, series_mark
from safetyrepro.report.figures.svg import (
    INK,
    RULE,
    SOFT,
    TINT,
    box,
    clip,
    drawing,
    label,
    line,
    path,
    polyline,
)

_WIDTH = 640.0
_RIGHT = 10.0


@dataclass(frozen=True, slots=True)
class Whisker:
    """One estimate with its interval; `value` is None where there is no number."""

    look: Series
    value: float | None
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Baselines:
    """What a score that reads nothing gets: points on the same scale."""

    longer: tuple[float, ...] = ()
    shorter: tuple[float, ...] = ()
    blind: tuple[float, ...] = ()

    @property
    def every(self) -> tuple[float, ...]:
        return self.longer + self.shorter + self.blind


@dataclass(frozen=True, slots=True)
class Block:
    """Lanes that belong together: one configuration, one stratum, or one system."""

    labels: tuple[str, ...]
    lanes: tuple[Whisker, ...]
    points: tuple[float, ...] = ()
    """Further point estimates, drawn as short strokes through the first lane."""
    baselines: Baselines | None = None
    is_primary: bool = False


@dataclass(frozen=True, slots=True)
class WhiskerChart:
    """A dot-and-whisker chart.

    Args:
        heads: headings of the label columns.
        blocks: from top to bottom.
        entries: the legend: look and name.
        coin: sampling interval of a fair coin, tinted; None where there is none.
        axis: the axis title.
        words: the text alternative.
        label_width: room for the labels.
        lane: height of a lane.
        chance: where the line of chance stands; one half for pairs.
    """

    heads: tuple[str, ...]
    blocks: tuple[Block, ...]
    entries: tuple[tuple[Series, str], ...]
    coin: tuple[float, float] | None
    axis: str
    words: str
    label_width: float = 150.0
    lane: float = 9.5
    chance: float = 0.5


def chart_height(blocks: int, *, lanes: int, lane: float = 9.5) -> float:
    """About how high a chart becomes."""
    return blocks * (lanes * lane + 7) + 80


def whisker_chart(chart: WhiskerChart) -> Markup:
    """The chart; values outside the axis stand at its edge."""
    values = [
        number
        for block in chart.blocks
        for number in (
            *(end for lane in block.lanes if lane.value is not None for end in (lane.low, lane.high)),
            *block.points,
            *(block.baselines.every if block.baselines else ()),
        )
    ]
    scale = fraction_scale(values, start=chart.label_width + 10, end=_WIDTH - _RIGHT)
    has_baselines = any(block.baselines and block.baselines.every for block in chart.blocks)
    key, key_height = legend(chart.entries, x=0, y=10, width=_WIDTH)
    parts: list[Markup] = [key]
    if has_baselines:
        parts.append(_baseline_legend(0, 10 + key_height))
        key_height += 14
    top = 10 + key_height + 12
    heights = [_block_height(block, lane=chart.lane) for block in chart.blocks]
    bottom = top + sum(heights)
    if chart.coin is not None:
        low, high = scale.at(chart.coin[0]), scale.at(chart.coin[1])
        parts.append(box(low, top, high - low, bottom - top, fill=TINT))
    parts.append(fraction_axis(scale, top=top, bottom=bottom, title=chart.axis))
    half = scale.at(chart.chance)
    parts.append(line(half, top - 4, half, bottom, stroke=INK, width=1))
    column_width = chart.label_width / max(1, len(chart.heads))
    for place, head in enumerate(chart.heads):
        parts.append(label(place * column_width, top - 5, head, size=8, fill=SOFT))
    y = top
    shown: tuple[str, ...] = ()
    for block, height in zip(chart.blocks, heights, strict=True):
        parts.append(line(0, y, _WIDTH - _RIGHT, y, stroke=RULE, width=0.5))
        parts += _labels(block, shown, y=y, column_width=column_width, heads=len(chart.heads))
        shown = block.labels
        lane_y = y + 4 + chart.lane / 2
        for lane in block.lanes:
            parts.append(_whisker(lane, y=lane_y, at=scale.at))
            lane_y += chart.lane
        for point in block.points:
            x = scale.at(point)
            first = y + 4 + chart.lane / 2
            parts.append(line(x, first + 4, x, first + 8, stroke=SOFT, width=0.8))
        if block.baselines:
            parts.append(_baselines(block.baselines, y=lane_y, at=scale.at))
        y += height
    parts.append(line(0, bottom, _WIDTH - _RIGHT, bottom, stroke=SOFT, width=0.8))
    return drawing(parts, width=_WIDTH, height=bottom + 32, title=chart.words)


def _block_height(block: Block, *, lane: float) -> float:
    lanes = len(block.lanes) + (1 if block.baselines and block.baselines.every else 0)
    return lanes * lane + 7 + (3 if block.points else 0)


def _labels(
    block: Block, shown: tuple[str, ...], *, y: float, column_width: float, heads: int
) -> list[Markup]:
    """The block's labels; a level that the block above has too is not repeated."""
    parts = []
    for place, text in enumerate(block.labels):
        if shown[: place + 1] == block.labels[: place + 1] and place < heads - 1:
            continue
        parts.append(
            label(
                place * column_width,
                y + 13,
                clip(text, width=column_width - 4, size=8.5),
                size=8.5,
                bold=block.is_primary,
            )
        )
    if block.is_primary:
        parts.append(label(heads * column_width - column_width, y + 24, "primary", size=7.5, fill=SOFT))
    return parts


def _whisker(lane: Whisker, *, y: float, at: Callable[[float], float]) -> Markup:
    if lane.value is None:
        return label(at(0.5) + 4, y + 3, "undefined", size=7.5, fill=SOFT)
    low, high = at(lane.low), at(lane.high)
    color = lane.look.color
    ends = [line(x, y - 2.2, x, y + 2.2, stroke=color, width=1) for x in (low, high)]
    return Markup("").join(
        [line(low, y, high, y, stroke=color, width=1.2), *ends, series_mark(lane.look, at(lane.value), y)]
    )


def _baselines(baselines: Baselines, *, y: float, at: Callable[[float], float]) -> Markup:
    parts = [_chevron(at(value), y, turn=1) for value in baselines.longer]
    parts += [_chevron(at(value), y, turn=-1) for value in baselines.shorter]
    parts += [_blind(at(value), y) for value in baselines.blind]
    return Markup("").join(parts)


def _chevron(x: float, y: float, *, turn: int) -> Markup:
    """A chevron beside the value it stands at: its point touches the value."""
    back = x - turn * 4.5
    return path(polyline([(back, y - 3.2), (x, y), (back, y + 3.2)]), stroke=INK, width=1.2)


def _blind(x: float, y: float) -> Markup:
    return line(x, y - 4, x, y + 4, stroke=INK, width=2)


def _baseline_legend(x: float, y: float) -> Markup:
    return Markup("").join(
        [
            label(x, y, "baselines:", size=8.5, fill=SOFT),
            _chevron(x + 57, y - 3, turn=1),
            label(x + 62, y, "longer wins", size=8.5, fill=SOFT),
            _chevron(x + 119, y - 3, turn=-1),
            label(x + 129, y, "shorter wins", size=8.5, fill=SOFT),
            _blind(x + 194, y - 3),
            label(x + 201, y, "prompt-blind", size=8.5, fill=SOFT),
            line(x + 269, y - 8, x + 269, y + 2, stroke=INK, width=1),
            box(x + 262, y - 8, 14, 10, fill=TINT, stroke=RULE, stroke_width=0.6),
            line(x + 269, y - 8, x + 269, y + 2, stroke=INK, width=1),
            label(x + 279, y, "chance, with its sampling interval", size=8.5, fill=SOFT),
        ]
    )
