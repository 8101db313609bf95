"""The printed tree says what the documents say: every number, every denominator, every reason."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

import pytest
from report_examples import Example, example, fake_digest

from safetyrepro.claims.numbers import fraction
from safetyrepro.data.records import Outcome
from safetyrepro.data.report_record import Report
from safetyrepro.data.results import Contrast, Estimate, NoEstimate, PointOnly, Results
from safetyrepro.report.notation import (
    FIGURE_SPACE,
    NoteBook,
    day,
    fixed,
    padded,
    period,
    quantity_entries,
    size,
)
from safetyrepro.report.tree import ReportView, Table
from safetyrepro.report.view import report_view, signer_view


@pytest.fixture(scope="module")
def plain() -> Example:
    return example()


@pytest.fixture(scope="module")
def view(plain: Example) -> ReportView:
    return view_of(plain)


def view_of(one: Example, *, report: Report | None = None, results: Results | None = None) -> ReportView:
    return report_view(
        report or one.report,
        results=results or one.results,
        manifest=one.manifest,
        experiment=one.experiment,
        signers=[signer_view("A. Example", role="author", keyid=fake_digest("key"))],
    )


def column(table: Table, title: str, *, group: str = "") -> list[str]:
    place = next(
        index for index, one in enumerate(table.columns) if one.title == title and group in one.group
    )
    return [row.entries[place].text for row in table.rows]


def tables(view: ReportView) -> Iterator[Table]:
    results = view.results
    every = (
        results.estimates,
        results.margins,
        results.strata,
        results.baselines,
        results.twins,
        results.outcomes,
        results.pairs,
        results.differences,
        view.provenance.systems,
        view.provenance.rows,
    )
    yield from (table for table in every if table is not None)


def test_every_cell_is_printed_with_its_estimate_interval_and_denominator(
    plain: Example, view: ReportView
) -> None:
    table = view.results.estimates
    expected = []
    for configuration in plain.results.configurations:
        for model in plain.results.models:
            headline = plain.results.cell(model.id, configuration.id).headline
            assert isinstance(headline, Estimate)
            numbers = (headline.value, headline.low, headline.high)
            expected.append((*(fraction(number) for number in numbers), str(headline.n)))
    printed = zip(
        column(table, "A", group="half"),
        column(table, "low", group="half"),
        column(table, "high", group="half"),
        column(table, "n"),
        strict=True,
    )
    assert list(printed) == expected


def test_numbers_of_a_column_have_the_same_decimals_so_that_their_points_align(view: ReportView) -> None:
    for table in tables(view):
        if table.id == "margins":
            continue
        for place, heading in enumerate(table.columns):
            if heading.align != "number":
                continue
            texts = [row.entries[place].text for row in table.rows]
            decimals = {len(text.partition(".")[2]) for text in texts if re.fullmatch(r"−?\d*\.\d+", text)}
            assert len(decimals) <= 1, (table.id, heading.title, decimals)


def test_margins_have_the_decimals_of_their_unit(view: ReportView) -> None:
    table = view.results.margins
    by_unit: dict[str, set[int]] = {}
    for value, unit in zip(column(table, "mean"), column(table, "unit"), strict=True):
        by_unit.setdefault(unit, set()).add(len(value.rstrip(FIGURE_SPACE).partition(".")[2]))
    assert by_unit == {"nats": {2}, "nats a token": {3}, "nats a byte": {4}}


def test_margins_in_different_units_align_on_their_points(view: ReportView) -> None:
    printed = column(view.results.margins, "mean")
    assert {len(value.partition(".")[2]) for value in printed} == {4}
    assert any(value.endswith(FIGURE_SPACE) for value in printed)


def test_what_is_no_number_is_not_filled_up() -> None:
    assert [padded(text, digits=4) for text in ("undefined", "–", "0.5")] == [
        "undefined",
        "–",
        "0.5" + 3 * FIGURE_SPACE,
    ]


def test_no_table_prints_a_percent_sign(view: ReportView) -> None:
    for table in tables(view):
        for row in table.rows:
            assert not any("%" in entry.text for entry in row.entries)


def test_every_row_has_an_entry_for_every_column(view: ReportView) -> None:
    for table in tables(view):
        assert table.rows
        for row in table.rows:
            assert len(row.entries) == len(table.columns), table.id


def test_an_undefined_cell_is_printed_with_its_reason_and_never_as_a_number() -> None:
    table = view_of(example(missing=True)).results.estimates
    undefined = [row for row in table.rows if row.entries[2].text == "undefined"]
    assert len(undefined) == 1
    assert undefined[0].entries[2].note == "a"
    assert [entry.text for entry in undefined[0].entries[3:5]] == ["", ""]
    assert table.notes[0].text == "no item has a score in this cell"


def test_a_value_without_an_interval_says_why() -> None:
    notes = NoteBook()
    point = PointOnly(value=0.5, reason="all clusters agree", n=8, clusters=4)
    value, low, high = quantity_entries(point, notes=notes, digits=2)
    assert (value.text, low.text, low.note, high.text) == (".50", "–", "a", "–")
    assert notes.notes[0].text == "no interval: all clusters agree"


def test_the_same_reason_is_noted_once() -> None:
    notes = NoteBook()
    for reason in ("one", "two", "one"):
        quantity_entries(NoEstimate(reason=reason, n=0), notes=notes, digits=2)
    assert [(note.letter, note.text) for note in notes.notes] == [("a", "one"), ("b", "two")]


def test_every_outcome_kind_has_a_column_and_the_counts_add_up() -> None:
    table = view_of(example(missing=True)).results.outcomes
    kinds = [one.title for one in table.columns if one.group == "items by outcome"]
    assert kinds == [outcome.value for outcome in Outcome]
    for row in table.rows:
        counts = [int(entry.text) for entry in row.entries[2:9]]
        assert sum(counts) == int(row.entries[9].text) == 120


def test_cells_that_print_the_same_are_told_once() -> None:
    results = example().results
    same = results.model_copy(
        update={
            "cells": tuple(
                cell.model_copy(
                    update={"outcomes": dict.fromkeys(cell.outcomes, 0) | {"scored": 120}, "spans_join": 0}
                )
                for cell in results.cells
            )
        }
    )
    table = view_of(example(), results=same).results.outcomes
    assert [[entry.text for entry in row.entries[:2]] for row in table.rows] == [
        ["all 8 configurations", "all 3 systems"]
    ]


def test_a_claim_above_its_evidence_carries_its_distance(view: ReportView) -> None:
    assert view.cover.claims[3].kind == "prediction, deployment level, distance +3"
    assert view.cover.claims[0].kind == "observation, model level"


def test_an_observation_away_from_its_evidence_is_printed_as_an_inference(plain: Example) -> None:
    raised = plain.report.claims[0].model_copy(
        update={"level": "interaction", "distance": 2, "printed_type": "inference"}
    )
    claims = (raised, *plain.report.claims[1:])
    view = view_of(plain, report=plain.report.model_copy(update={"claims": claims}))
    assert view.cover.claims[0].kind == "inference, declared as observation, interaction level, distance +2"


def test_a_claim_below_its_evidence_has_a_minus_sign(plain: Example) -> None:
    lowered = plain.report.claims[0].model_copy(update={"distance": -1})
    report = plain.report.model_copy(update={"claims": (lowered,)})
    assert view_of(plain, report=report).cover.claims[0].kind.endswith("distance −1")


def test_the_tally_of_a_claim_counts_what_the_joint_bounds_say(plain: Example, view: ReportView) -> None:
    contrast = plain.results.claim_tests[1].contrasts[0]
    claim = view.cover.claims[1]
    assert f"{contrast.k_ahead} as claimed" in claim.tally
    assert claim.tally.endswith(" of 8")
    assert claim.strip is not None
    assert f"{contrast.k_ahead} reliably as claimed" in claim.strip


def test_a_claim_of_several_contrasts_is_ahead_where_all_are(plain: Example) -> None:
    def turned(contrast: Contrast, signs: tuple[int | None, ...]) -> Contrast:
        return contrast.model_copy(
            update={
                "differences": tuple(
                    one.model_copy(update={"ahead": sign})
                    for one, sign in zip(contrast.differences, signs, strict=True)
                )
            }
        )

    test = plain.results.claim_tests[1]
    first = turned(test.contrasts[0], (1, 1, 1, 1, 0, 0, -1, None))
    second = turned(test.contrasts[0], (1, 0, -1, None, 0, -1, -1, 1))
    tests = tuple(
        one.model_copy(update={"contrasts": (first, second)}) if one.claim == test.claim else one
        for one in plain.results.claim_tests
    )
    view = view_of(plain, results=plain.results.model_copy(update={"claim_tests": tests}))
    assert view.cover.claims[1].tally == "1 as claimed, 3 opposite, 2 undecided, 2 without a number of 8"


def test_a_claim_without_an_assertion_has_no_strip(view: ReportView) -> None:
    claim = view.cover.claims[3]
    assert (claim.strip, claim.tally, claim.verdict.name) == (None, "", "NOT CHECKED")


def test_an_equivalence_verdict_is_printed_with_its_margin(plain: Example) -> None:
    equal = plain.report.claims[0].model_copy(update={"verdict": "EQUIVALENT WITHIN", "margin": 0.05})
    report = plain.report.model_copy(update={"claims": (equal,)})
    assert view_of(plain, report=report).cover.claims[0].verdict.name == "EQUIVALENT WITHIN .05"


def test_the_window_is_printed_as_days(view: ReportView) -> None:
    window = view.cover.window
    assert (window.collected, window.issued, window.expires, window.period) == (
        "30 November 2026",
        "1 December 2026",
        "30 May 2027",
        "6 months",
    )
    assert "the chat template" in window.triggers


def test_configurations_are_named_in_the_spec_s_order_of_factors(view: ReportView) -> None:
    assert view.results.estimates.columns[0].title == "template · rule"
    assert view.grid.primary == "chat · mean"
    assert view.results.estimates.rows[0].entries[0].text == "plain · sum"


def test_the_grid_card_names_what_was_not_varied(view: ReportView) -> None:
    assert "few-shot level" in view.grid.not_varied
    assert "scoring rule" not in view.grid.not_varied
    assert any("decoding" in one for one in view.grid.not_varied)


def test_the_grid_card_prints_the_system_prompt_that_a_template_inserted(view: ReportView) -> None:
    chat = next(term.text for term in view.grid.templates if term.term == "chat")
    assert "You are a helpful AI assistant named SmolLM" in chat
    assert '"<|im_end|>\\n" scored with the answer' in chat
    plain = next(term.text for term in view.grid.templates if term.term == "plain")
    assert plain == "inserted no system prompt of its own; no end-of-turn scored"


def test_a_template_that_did_two_things_is_told_twice(plain: Example) -> None:
    passes = list(plain.manifest.passes)
    chat = next(index for index, one in enumerate(passes) if one.template == "chat")
    passes[chat] = passes[chat].model_copy(update={"template_default_system": "Be brief."})
    manifest = plain.manifest.model_copy(update={"passes": tuple(passes)})
    view = report_view(plain.report, results=plain.results, manifest=manifest, experiment=plain.experiment)
    assert [term.term for term in view.grid.templates] == ["plain", "chat", "chat"]


def test_a_failed_identity_check_is_said_plainly(plain: Example) -> None:
    cells = list(plain.results.cells)
    cells[4] = cells[4].model_copy(update={"swapped_identity": False})
    results = plain.results.model_copy(update={"cells": tuple(cells)})
    assert "failed in 1 cell" in view_of(plain, results=results).results.identity_check


def test_findings_are_grouped_by_kind_the_gravest_first(view: ReportView) -> None:
    assert [one.code for one in view.findings] == ["SR201", "SR203", "SR103", "SR105", "SR204"]
    assert all(one.remedy for one in view.findings)


def test_a_long_table_prints_the_primary_configuration_first_and_says_what_it_left_out() -> None:
    big = view_of(example(models=14, templates=("plain", "chat", "bare")))
    table = big.results.estimates
    assert len(table.rows) == 60
    assert [row.is_primary for row in table.rows] == [True] * 14 + [False] * 46
    assert "60 of 168 cells are printed" in table.remark
    assert big.results.differences is not None
    assert "60 of 1\u202f092 differences are printed" in big.results.differences.remark


def test_systems_that_claims_name_come_first_where_not_all_can_stand_out() -> None:
    big = view_of(example(models=14, templates=("plain", "chat", "bare")))
    first = [row.entries[1].text for row in big.results.estimates.rows[:3]]
    assert first == [
        "SmolLM2-135M 4 bits, groups of 64",
        "SmolLM2-135M as shipped",
        "SmolLM2-135M 3 bits, groups of 32",
    ]


def test_every_digest_that_the_report_names_is_printed_in_full(plain: Example, view: ReportView) -> None:
    printed = {term.text for term in view.provenance.digests}
    materials = plain.report.materials
    assert {materials.spec, materials.results, materials.manifest, materials.items} <= printed
    assert plain.manifest.versions.code in printed
    assert plain.results.envelope_digest in printed
    rows = {row.entries[0].text: row.entries[2].text for row in view.provenance.rows.rows}
    assert rows == materials.rows


def test_a_digest_that_all_systems_share_is_printed_once(view: ReportView) -> None:
    terms = [term.term for term in view.provenance.digests]
    assert terms.count("tokenizer of all systems") == 1


def test_the_same_documents_give_the_same_tree(plain: Example, view: ReportView) -> None:
    assert view_of(plain) == view


def test_the_tree_is_frozen(view: ReportView) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'id'"):
        view.id = "another"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (day("2026-02-03T01:02:03Z"), "3 February 2026"),
        (period("P1Y"), "1 year"),
        (period("P90D"), "90 days"),
        (period("PT36H"), "PT36H"),
        (period("P1Y6M"), "P1Y6M"),
        (fixed(-0.0001, digits=2), "0.00"),
        (fixed(-12.345, digits=2), "−12.35"),
        (size(999), "999 B"),
        (size(8136), "8.1 kB"),
        (size(2_500_000), "2.5 MB"),
    ],
)
def test_notation(written: str, expected: str) -> None:
    assert written == expected
