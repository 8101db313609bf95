"""The table of formality tiers: a versioned file with its sources; a change of meaning is a new file."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from pydantic import Field

from safetyrepro.canonical import parse_json
from safetyrepro.data.report_record import Tier
from safetyrepro.spec.base import Document, Fraction, Text

TABLE_FILE = "formality-v1.json"


class TierMeaning(Document):
    """What one tier says."""

    tier: Tier
    """The tier."""
    meaning: Text
    """What it says of a chain of evidence."""
    source: Text
    """Where this comes from."""
    ours: bool
    """Whether it is this project's own choice."""


class AgreementRule(Document):
    """When people agree sufficiently."""

    minimum: Fraction
    """The least agreement."""
    bound: Text
    """Which end of the interval must reach it."""
    source: Text
    """Where this comes from, and what in it is this project's choice."""
    ours: bool
    """Whether all of it is this project's own choice."""


class FormalityTable(Document):
    """The tiers from the lowest to the highest, and the rule for people."""

    schema_: Text = Field(alias="schema")
    """The table's kind and version."""
    tiers: tuple[TierMeaning, ...]
    """The tiers, the lowest first."""
    agreement: AgreementRule
    """The rule for people."""


@cache
def formality_table() -> FormalityTable:
    """The table that ships with this program."""
    data = files("safetyrepro.claims").joinpath(TABLE_FILE).read_bytes()
    parse_json(data, TABLE_FILE)
    return FormalityTable.model_validate_json(data)
