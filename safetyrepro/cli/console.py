"""Where commands write: results to standard output, everything about the work to standard error.

Lines that hold a place (`file:line:column`) are never wrapped, so that a terminal or an editor can
jump to them; text from files is never read as markup.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache

from rich.console import Console


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


@cache
def stdout() -> Console:
    """The console of results; without colour where the terminal or NO_COLOR says so."""
    return _Console(highlight=False, emoji=False)


@cache
def stderr() -> Console:
    """The console of messages and progress."""
    return _Console(stderr=True, highlight=False, emoji=False)


def say(text: str, *, style: str | None = None) -> None:
    """One line of result on standard output, as it is, unwrapped."""
    stdout().print(text, style=style, markup=False, soft_wrap=True)


def say_error(text: str, *, style: str | None = None) -> None:
    """One line about the work on standard error, as it is, unwrapped."""
    stderr().print(text, style=style, markup=False, soft_wrap=True)


def say_messages(messages: Iterable[str]) -> None:
    """Error messages on standard error, one a line, the place in front made to stand out."""
    for message in messages:
        say_error(message)


def is_interactive() -> bool:
    """Whether a person can be asked: both ends are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def is_live() -> bool:
    """Whether messages go to a terminal that can redraw a line."""
    return stderr().is_terminal
