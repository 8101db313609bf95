"""Parsing bytes that may mean harm: whatever the parser makes of them, one refusal comes out."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from safetyrepro.errors import InputError, SafetyReproError

_MAX_REASON_CHARS = 200


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
