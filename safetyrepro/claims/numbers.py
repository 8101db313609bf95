"""How numbers are worded: fractions without a leading zero, a true minus sign, never a bare NaN."""

from __future__ import annotations

from collections.abc import Sequence


def fraction(value: float, *, digits: int = 2) -> str:
    """A fraction as the field writes it: `.71`, `1.00`, `−.05`; minus zero is zero."""
    text = f"{value:.{digits}f}"
    if float(text) == 0.0:
        text = text.removeprefix("-")
    sign = "−" if text.startswith("-") else ""
    body = text.removeprefix("-")
    return sign + (body[1:] if body.startswith("0.") else body)


def percent_level(confidence: float) -> str:
    """A confidence level in words: 0.95 -> `95%`."""
    return f"{100 * confidence:g}%"


def of(count: int, total: int) -> str:
    """A count with its denominator."""
    return f"{count} of {total}"


def counted(count: int, noun: str) -> str:
    """A count with its noun: `1 configuration`, `48 configurations`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listed(names: Sequence[str]) -> str:
    """Names as a sentence lists them: `A`, `A and B`, `A, B and C`; no name is no text."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def quoted(name: str) -> str:
    """A name, in quotation marks where it holds what a sentence lists names with."""
    return f"“{name}”" if "," in name or ";" in name or " and " in name else name
