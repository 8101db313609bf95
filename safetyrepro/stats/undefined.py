"""What stands in the place of a number that does not exist."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Undefined:
    """A statistic that has no value on these data, and why, in words a report can print.

    Returned in the place of the number or of the result, never raised and never replaced by 0, 1 or
    NaN (DESIGN 5, rule 8). Wrong arguments are another matter: they raise `InputError`.
    """

    reason: str

    def __post_init__(self) -> None:
        if not self.reason:
            raise ValueError("Undefined.reason must not be empty; got ''")
