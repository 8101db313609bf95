"""How numbers are worded: fractions without a leading zero, a true minus sign, never a bare NaN."""

from __future__ import annotations


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
