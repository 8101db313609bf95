"""Minimum in series, not in parallel; and the table that both are read from."""

from __future__ import annotations

import itertools
import json
from importlib.resources import files

import pytest

from safetyrepro.canonical import digest_bytes
from safetyrepro.claims.formality import MINIMUM_AGREEMENT, TIER_MEANINGS, TIERS, Line, best_line
from safetyrepro.claims.formality_table import TABLE_FILE, formality_table
from safetyrepro.data.report_record import Tier, TierLink


def line(name: str, *tiers: Tier, sufficient: bool = True) -> Line:
    links = tuple(TierLink(link="label", tier=tier, reason="r") for tier in tiers)
    return Line(name=name, links=links, sufficient=sufficient)


def test_of_parallel_lines_the_best_sufficient_one_counts_and_the_others_are_listed() -> None:
    judged, programmed = line("judge", "F0", "F3"), line("program", "F1", "F2")
    aside = line("proof", "F3", sufficient=False)
    standing = best_line([judged, programmed, aside])
    assert standing is not None
    assert (standing.line, standing.tier) == (programmed, "F1")
    assert standing.others == (judged, aside)


@pytest.mark.parametrize(("first", "second"), [*itertools.product(TIERS, TIERS)])
def test_corroboration_never_lowers_a_tier(first: Tier, second: Tier) -> None:
    alone, both = best_line([line("a", first)]), best_line([line("a", first), line("b", second)])
    assert alone is not None
    assert both is not None
    assert TIERS.index(both.tier) >= TIERS.index(alone.tier)


def test_equal_lines_leave_the_first_and_no_sufficient_line_leaves_none() -> None:
    equal = best_line([line("a", "F1"), line("b", "F1")])
    assert equal is not None
    assert equal.line.name == "a"
    assert best_line([line("a", "F3", sufficient=False)]) is None
    assert best_line([]) is None
    assert best_line([line("a")]) is None, "a chain without a link shows nothing"


def test_the_table_names_its_sources_and_labels_our_choices() -> None:
    table = formality_table()
    assert tuple(TIER_MEANINGS) == TIERS == ("F0", "F1", "F2", "F3")
    assert MINIMUM_AGREEMENT == 0.667
    for row in (*table.tiers, table.agreement):
        assert row.source
        assert row.ours == (row.source == "this project's choice")


def test_the_released_table_does_not_change() -> None:
    """A change of meaning is a new version in a new file; its digest then stands here beside this one."""
    data = files("safetyrepro.claims").joinpath(TABLE_FILE).read_bytes()
    assert json.loads(data)["schema"] == "safetyrepro/formality/v1"
    assert digest_bytes(data) == "sha256:5088448596ff9ed11eaebbd332f4827462121555f6cf1a207725cb49181dc5c3"
