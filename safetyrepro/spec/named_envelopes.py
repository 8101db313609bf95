"""Envelopes that people can cite by name: fixed factors and levels, with a digest that never changes."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Final

from safetyrepro.canonical import digest_json


@dataclass(frozen=True, slots=True)
class NamedEnvelope:
    """Factors with their levels by name; a released one never changes, a change is a new name.

    The digest is that of a score table with these factors and levels, so a table that was made over
    the whole envelope carries it.
    """

    name: str
    factors: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def configurations(self) -> tuple[tuple[str, ...], ...]:
        """Every combination of levels, the last factor changing fastest."""
        return tuple(itertools.product(*(levels for _, levels in self.factors)))

    @property
    def digest(self) -> str:
        """What the envelope is cited by."""
        names = [name for name, _ in self.factors]
        grid = sorted(list(one) for one in self.configurations)
        return digest_json({"factors": names, "configurations": grid})


DEFAULT_12: Final = NamedEnvelope(
    name="default-12",
    factors=(
        ("template", ("bare", "question-answer", "chat")),
        ("shots", ("0", "2")),
        ("rule", ("sum", "mean")),
    ),
)
"""Three templates, two few-shot levels, two scoring rules: the choices that harnesses differ in by default,
none of which needs another model or device. Twelve is few enough to be run in every study."""
