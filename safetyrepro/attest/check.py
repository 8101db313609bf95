"""One check of a verification: what was asked, how it came out, and the particulars.

A check that could not be made is not a check that passed: it has its own outcome.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CheckOutcome = Literal["passed", "failed", "not checked"]


@dataclass(frozen=True, slots=True)
class Check:
    """A question, its outcome, and one sentence that says why."""

    name: str
    outcome: CheckOutcome
    detail: str

    @property
    def passed(self) -> bool:
        """Whether it was made and came out well."""
        return self.outcome == "passed"

    @property
    def failed(self) -> bool:
        """Whether it was made and came out badly."""
        return self.outcome == "failed"


def passed(name: str, detail: str) -> Check:
    """A check that was made and came out well."""
    return Check(name, "passed", detail)


def failed(name: str, detail: str) -> Check:
    """A check that was made and came out badly."""
    return Check(name, "failed", detail)


def not_checked(name: str, detail: str) -> Check:
    """A check that was not made, and why."""
    return Check(name, "not checked", detail)


def decide(name: str, holds: bool, *, good: str, bad: str) -> Check:
    """`good` or `bad` as the detail, by whether the condition holds."""
    return passed(name, good) if holds else failed(name, bad)
