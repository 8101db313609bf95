"""The exception tree and the message builders.

Every message has one form, `where: what must be what; got value`, so that a reader finds the
place first, then the rule, then what was there. Library code raises; only `cli` prints and exits.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_MAX_VALUE_CHARS = 80


class SafetyReproError(Exception):
    """Anything this program refuses or cannot do; the command line turns it into an exit code."""


class InputError(SafetyReproError):
    """The input (a spec, an item file, an argument, a bundle) is not what it must be."""


class InputErrors(InputError):
    """Several input errors found in one pass, in the order of their places."""

    def __init__(self, messages: Iterable[str]) -> None:
        self.messages = tuple(messages)
        if not self.messages:
            raise ValueError("InputErrors needs at least one message")
        super().__init__("\n".join(self.messages))


class MissingExtraError(SafetyReproError):
    """An optional part of the program is not installed; the message names the extra to install."""


class StorageError(SafetyReproError):
    """The file system refused: no space, no permission, not a directory."""


class IntegrityError(SafetyReproError):
    """Stored bytes are not the bytes that were recorded: a digest differs, a file is cut short."""


def shorten(value: object) -> str:
    """`repr(value)` cut to one readable line of at most 80 characters."""
    text = repr(value)
    return text if len(text) <= _MAX_VALUE_CHARS else text[: _MAX_VALUE_CHARS - 1] + "…"


def must_be(where: str, what: str, value: object) -> str:
    """The message `where: what; got value`; `what` reads "x must be y"."""
    return f"{where}: {what}; got {shorten(value)}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """` (did you mean 'x'?)` for the closest of `known`, or an empty string."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" (did you mean {close[0]!r}?)" if close else ""


def missing_extra(feature: str, extra: str) -> MissingExtraError:
    """The error for a feature whose optional dependencies are absent."""
    return MissingExtraError(
        f"{feature} needs the extra '{extra}', which is not installed; "
        f"run: pip install 'safetyrepro[{extra}]'"
    )
