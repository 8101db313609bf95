"""Where commands write: results to standard output, everything about the work to standard error.

Lines that hold a place (`file:line:column`) are never wrapped, so that a terminal or an editor can
jump to them; text from files is never read as markup, and never reaches the terminal as a command:
control characters are printed as their escapes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from functools import cache

from rich.console import Console

# C0 (without tab and line feed), DEL and C1; separators of lines; what turns the direction of writing.
_COMMANDS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)


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


def harmless(text: str) -> str:
    """The text with every character that could command a terminal, or reorder a line, as its escape.

    A title can otherwise clear the screen, or print `CURRENT` over another verdict. Tabs and line feeds
    stay; where a text must keep to its line, the caller asks for `one_line`. The escapes are those of
    JSON, so a JSON document stays one, with the same values.
    """
    return _COMMANDS.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def one_line(text: str) -> str:
    """`harmless`, with line feeds and tabs escaped too: no text of a file can begin a line of ours."""
    return harmless(text).replace("\n", "\\n").replace("\t", "\\t")


def say(text: str, *, style: str | None = None) -> None:
    """A result on standard output, unwrapped, as it is but for control characters."""
    stdout().print(harmless(text), style=style, markup=False, soft_wrap=True)


def say_error(text: str, *, style: str | None = None) -> None:
    """A message about the work on standard error, unwrapped, as it is but for control characters."""
    stderr().print(harmless(text), style=style, markup=False, soft_wrap=True)


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
