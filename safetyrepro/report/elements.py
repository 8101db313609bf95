"""What every printed tree is made of: figures, tables, terms, verdicts, findings, methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

Side = Literal["ahead", "behind", "open", "none"]
"""What the joint bounds say in one configuration: reliably on the claimed side, reliably on the other,
undecided, or no number."""

Align = Literal["text", "number", "mark", "code"]
"""How a column is set: text to the left, numbers to the right (with the same decimals, so that their
points stand below each other), marks in the centre, digests in the monospaced face."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing with the words that stand for it."""

    id: str
    """Its name in the document, unique."""
    title: str
    """What it shows, in a line above it."""
    svg: Markup
    """The drawing; its text alternative is its own `<title>`."""
    caption: str
    """How to read it, below it."""
    narrow: bool = False
    """Whether it still reads at the width of a phone."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    title: str
    """What stands in it."""
    align: Align = "text"
    """How it is set."""
    group: str = ""
    """A heading over this and the neighbouring columns of the same group."""
    is_header: bool = False
    """Whether its cells name their row."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One cell of a table."""

    text: str
    """What is printed."""
    note: str = ""
    """The letter of a note below the table, where there is one."""
    is_repeat: bool = False
    """Whether the row above says the same: it is printed fainter."""
    mark: Markup | None = None
    """A small drawing before the text."""


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row of a table."""

    entries: tuple[Entry, ...]
    """One a column."""
    heading: str = ""
    """A heading over the whole width above it, for this row and those that follow."""
    opens_group: bool = False
    """Whether a rule is drawn above it."""
    is_primary: bool = False
    """Whether it belongs to the configuration declared before the run."""


@dataclass(frozen=True, slots=True)
class Note:
    """A note below a table."""

    letter: str
    """What the cells refer to it by."""
    text: str
    """What it says."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table, ready to be set."""

    id: str
    """Its name in the document, unique."""
    caption: str
    """What it shows."""
    columns: tuple[Column, ...]
    """Its columns."""
    rows: tuple[TableRow, ...]
    """Its rows."""
    notes: tuple[Note, ...] = ()
    """Reasons for what is undefined."""
    remark: str = ""
    """How to read it, or which rows are left to the attachments."""

    @property
    def groups(self) -> tuple[tuple[str, int], ...]:
        """Runs of neighbouring columns with one heading, (heading, columns); an empty heading is none."""
        found: list[tuple[str, int]] = []
        for column in self.columns:
            if column.group and found and found[-1][0] == column.group:
                found[-1] = (column.group, found[-1][1] + 1)
            else:
                found.append((column.group, 1))
        return tuple(found)

    @property
    def starts(self) -> frozenset[int]:
        """The columns set apart from their left neighbour: another heading, or text after numbers."""
        return frozenset(
            place
            for place in range(1, len(self.columns))
            if self.columns[place].group != self.columns[place - 1].group
            or (self.columns[place].align != "number" and self.columns[place - 1].align == "number")
        )


@dataclass(frozen=True, slots=True)
class Term:
    """A word and what belongs to it."""

    term: str
    """The word."""
    text: str
    """What belongs to it."""
    is_code: bool = False
    """Whether the text is a digest, a path or a command."""


@dataclass(frozen=True, slots=True)
class VerdictView:
    """A verdict as it is printed."""

    name: str
    """The verdict, with its margin where it has one."""
    kind: Literal["for", "partly", "equal", "mixed", "against", "open", "absent"]
    """Which mark and tint it has: the marks differ in shape, so that they survive grey printing."""
    mark: Markup
    """The mark."""
    meaning: str
    """What the verdict means."""


@dataclass(frozen=True, slots=True)
class Method:
    """How something was computed, and where that comes from."""

    title: str
    """What was computed."""
    text: str
    """How."""
    source: str
    """Where that comes from."""


@dataclass(frozen=True, slots=True)
class FindingView:
    """A finding, with what to do."""

    code: str
    """Its stable code."""
    severity: str
    """note, warning or error."""
    title: str
    """What was found, in a few words."""
    places: tuple[tuple[str, str], ...]
    """(where, detail), one an occurrence."""
    explanation: str
    """What that means."""
    remedy: str
    """What to do."""
