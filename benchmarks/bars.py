"""What a benchmark requires, and the file that it leaves: for each bar its name, value, target, met."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Bar:
    """One requirement: what it measures, the value here, the target, and whether it is met."""

    name: str
    value: float
    target: str
    met: bool


def at_least(name: str, value: float, least: float) -> Bar:
    return Bar(name, value, f">= {least:g}", value >= least)


def at_most(name: str, value: float, most: float) -> Bar:
    return Bar(name, value, f"<= {most:g}", value <= most)


def shown(name: str, value: float) -> Bar:
    """A number that is printed beside the others; nothing is required of it."""
    return Bar(name, value, "none, for comparison", True)


def print_bars(bars: Sequence[Bar]) -> None:
    for bar in bars:
        print(f"  {'ok ' if bar.met else 'NO '} {bar.name}: {bar.value:.4g} ({bar.target})")


def write_bars(path: Path, *, benchmark: str, bars: Sequence[Bar], facts: Mapping[str, object]) -> None:
    """The bars as JSON, with what is known about the run."""
    document = {
        "benchmark": benchmark,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        **facts,
        "bars": [asdict(bar) for bar in bars],
    }
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
