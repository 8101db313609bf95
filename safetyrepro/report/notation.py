"""How numbers, times and digests are set: one rounding, one minus sign, aligned decimals.

Fractions are written as the field writes them, `.71`, never as percent. All numbers of one column
have the same decimals, and the face's figures have one width, so set to the right they stand with
their points below each other.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field

from safetyrepro.claims.numbers import fraction
from safetyrepro.data.results import NoEstimate, PointOnly, Quantity
from safetyrepro.report.tree import Entry, Note

_MANY_CLUSTERS = 1000
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
FIGURE_SPACE = "\u2007"
_UNIT_DIGITS = {"nats": 2, "nats a token": 3, "nats a byte": 4}


def fraction_digits(clusters: int) -> int:
    """Decimals that a fraction over this many independent groups deserves: 2, from 1,000 on 3."""
    return 3 if clusters >= _MANY_CLUSTERS else 2


def unit_digits(unit: str) -> int:
    """Decimals of a margin in its unit."""
    return _UNIT_DIGITS.get(unit, 3)


def fixed(value: float, *, digits: int) -> str:
    """A number that may exceed one: `0.71`, `−12.30`; minus zero is zero."""
    text = f"{value:.{digits}f}"
    if float(text) == 0.0:
        text = text.removeprefix("-")
    return text.replace("-", "−")


def padded(text: str, *, digits: int) -> str:
    """A number filled up with figure spaces to `digits` decimals, so that points align over units.

    What is no number with decimals (a dash, "undefined") stays as it is.
    """
    if "." not in text:
        return text
    return text + FIGURE_SPACE * (digits - len(text.partition(".")[2]))


def count(value: int) -> str:
    """A count with thin spaces between thousands."""
    return f"{value:,}".replace(",", "\u202f")


def plural(value: int, noun: str) -> str:
    """`1 item`, `120 items`; `1 system`, `no systems` is written `0 systems`."""
    return f"{count(value)} {noun}" if value == 1 else f"{count(value)} {noun}s"


def size(byte_count: int) -> str:
    """A file's size in the decimal units of file managers."""
    if byte_count < 1000:
        return f"{byte_count} B"
    if byte_count < 1_000_000:
        return f"{byte_count / 1000:.1f} kB"
    return f"{byte_count / 1_000_000:.1f} MB"


def day(moment: str) -> str:
    """`2026-11-30T22:53:00Z` as `30 November 2026`."""
    date = dt.date.fromisoformat(moment[:10])
    return f"{date.day} {_MONTHS[date.month - 1]} {date.year}"


def period(duration: str) -> str:
    """An ISO 8601 duration in words where it is one unit (`P6M` is `6 months`), else as written."""
    units = {"Y": "year", "M": "month", "W": "week", "D": "day"}
    number, unit = duration[1:-1], duration[-1:]
    if number.isdigit() and unit in units and "T" not in duration:
        return plural(int(number), units[unit])
    return duration


def short_digest(digest: str, *, digits: int = 12) -> str:
    """The first digits of a digest, for the eye; the whole one stands in the chapter on digests."""
    return digest.removeprefix("sha256:")[:digits]


def listed(words: tuple[str, ...] | list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1] if words else "none"


@dataclass(slots=True)
class NoteBook:
    """The notes of one table: each distinct reason gets a letter, in order of appearance."""

    reasons: list[str] = field(default_factory=list)

    def letter(self, reason: str) -> str:
        """The letter of a reason."""
        if reason not in self.reasons:
            self.reasons.append(reason)
        index = self.reasons.index(reason)
        tail = _LETTERS[index % len(_LETTERS)]
        return tail if index < len(_LETTERS) else _LETTERS[index // len(_LETTERS) - 1] + tail

    @property
    def notes(self) -> tuple[Note, ...]:
        return tuple(Note(letter=self.letter(reason), text=reason) for reason in self.reasons)


def quantity_entries(
    quantity: Quantity | None, *, notes: NoteBook, digits: int, is_fraction: bool = True
) -> tuple[Entry, Entry, Entry]:
    """Value, lower and upper end as cells; `undefined` with its note where there is no value.

    A value without an interval has dashes and a note for its ends. A quantity that does not apply to
    the cell (None) is an en dash.
    """
    empty = Entry("")
    if quantity is None:
        return Entry("–"), empty, empty
    if isinstance(quantity, NoEstimate):
        return Entry("undefined", note=notes.letter(quantity.reason)), empty, empty
    write = fraction if is_fraction else fixed
    if isinstance(quantity, PointOnly):
        letter = notes.letter(f"no interval: {quantity.reason}")
        return Entry(write(quantity.value, digits=digits)), Entry("–", note=letter), Entry("–")
    return (
        Entry(write(quantity.value, digits=digits)),
        Entry(write(quantity.low, digits=digits)),
        Entry(write(quantity.high, digits=digits)),
    )
