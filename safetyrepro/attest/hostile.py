"""Parsing bytes that may mean harm: bounded before, and whatever the parser makes of them, one refusal."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from safetyrepro.errors import InputError, SafetyReproError, must_be

MAX_JSON_BYTES = 8 * 2**20
MAX_JSON_VALUES = 400_000
_MAX_REASON_CHARS = 200


def check_json_bounds(data: bytes, *, where: str) -> None:
    """Refuses JSON that would take far more memory than its bytes, before anybody parses it.

    Three bytes of JSON can become a list of 64. Every value but the first of a container follows a
    comma, and every container begins with a bracket, so counting those bounds the values from above.

    Raises:
        InputError: more than 8 MiB, or more than 400,000 values.
    """
    if len(data) > MAX_JSON_BYTES:
        raise InputError(must_be(where, f"must be at most {MAX_JSON_BYTES} bytes", len(data)))
    values = 1 + sum(2 * data.count(mark) for mark in (b"[", b"{")) + data.count(b",")
    if values > MAX_JSON_VALUES:
        raise InputError(must_be(where, f"must hold at most {MAX_JSON_VALUES} values", values))


@contextmanager
def hostile_input(where: str, what: str) -> Iterator[None]:
    """Turns every exception of a parser into `where: what; reason`; our own errors pass unchanged.

    What a parser would warn about is not worth a line on anybody's screen: it is refused or it is not.

    Only the parsing of foreign bytes belongs inside: an exception there says something about the
    bytes, elsewhere it is our bug and must be seen as one.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except SafetyReproError:
        raise
    except Exception as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise InputError(f"{where}: {what}; {reason[:_MAX_REASON_CHARS]}") from error
