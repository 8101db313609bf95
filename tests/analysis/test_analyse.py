"""From rows to numbers: tables small enough to work out by hand, and what must not change a number."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from fakes import Finished
from table_examples import UNCHECKED, analysed, experiment_of, of_points, records, rows_of

from safetyrepro.analysis.analyse import analyse, check_analysis
from safetyrepro.canonical import canonical_bytes
from safetyrepro.data.bundle import read_items
from safetyrepro.data.records import Outcome, Row
from safetyrepro.data.results import Cell, Estimate, NoEstimate, PointOnly, Quantity, Results
from safetyrepro.errors import InputErrors, IntegrityError
from safetyrepro.run.engine import stored_rows
from safetyrepro.spec.envelope import passes

CELL = "template=plain,rule=sum"


def value(quantity: Quantity | None) -> float:
    assert isinstance(quantity, Estimate | PointOnly)
    return quantity.value


def as_bytes(results: Results) -> bytes:
    return canonical_bytes(results.model_dump(mode="json", by_alias=True))


# --- one cell, by hand ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hand(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Ten items: a wins 5, ties 2, loses 2 and misses one answer of the last; b always ties."""
    experiment = experiment_of(tmp_path_factory.mktemp("hand"))
    scores = {"a": of_points("+++++==--?"), "b": of_points("==========")}
    return analysed(experiment, records(10), scores, unconditional=[(-5.0, -4.0)] * 10, tokens=(3, 2))


def test_wins_ties_and_losses_become_a_share_of_the_scored_items(hand: Results) -> None:
    cell = hand.cell("a", CELL)
    assert cell.outcomes == {
        "scored": 7, "tie": 2, "refused": 0, "unparsed": 0, "truncated": 0, "limit": 0, "error": 1,
    }  # fmt: skip
    assert sum(cell.outcomes.values()) == hand.items.items == 10
    assert value(cell.half) == value(cell.headline) == pytest.approx((5 + 2 / 2) / 9)
    assert value(cell.strict) == pytest.approx(5 / 9)
    assert value(cell.margin) == pytest.approx((5 * 1.0 + 2 * 0.0 + 2 * -2.0) / 9)
    assert cell.unit == "nats"
    for quantity in (cell.headline, cell.half, cell.strict, cell.margin):
        assert isinstance(quantity, Estimate)
        assert (quantity.n, quantity.clusters) == (9, 9)
        assert quantity.low <= quantity.value <= quantity.high
    assert isinstance(cell.headline, Estimate)
    assert (cell.headline.method, cell.headline.confidence) == ("bca-bootstrap", 0.95)


def test_the_wilson_interval_is_that_of_the_strict_share(hand: Results) -> None:
    strict = hand.cell("a", CELL).strict
    assert isinstance(strict, Estimate)
    # Wilson 1927 for 5 of 9 at 95%, worked out by its formula.
    z, n, p = 1.959963984540054, 9, 5 / 9
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    radius = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    assert (strict.low, strict.high) == pytest.approx((centre - radius, centre + radius))


def test_the_hoeffding_radius_is_not_cut_at_the_ends_of_the_range(hand: Results) -> None:
    # sqrt(ln(2/.05) / (2 * 9)) = .4527; cut to [0, 1] around 1.0 or .0 it would be smaller.
    assert hand.cell("a", CELL).hoeffding_radius == pytest.approx(math.sqrt(math.log(40) / 18))
    assert hand.cell("b", CELL).hoeffding_radius == pytest.approx(math.sqrt(math.log(40) / 20))


def test_of_two_items_the_hoeffding_radius_is_wider_than_the_range_left(tmp_path: Path) -> None:
    results = analysed(experiment_of(tmp_path), records(2), {"a": of_points("+-"), "b": of_points("++")})
    assert results.cell("a", CELL).hoeffding_radius == pytest.approx(math.sqrt(math.log(40) / 4))
    assert math.sqrt(math.log(40) / 4) > 0.5


def test_the_hoeffding_radius_counts_clusters_by_their_scored_items(tmp_path: Path) -> None:
    items = records(6, clusters=["k", "k", "k", "l", "l", None])
    results = analysed(experiment_of(tmp_path), items, {"a": of_points("++-+?-"), "b": of_points("++-++-")})
    shares = np.array([3, 1, 1]) / 5
    expected = math.sqrt(math.log(40) * float((shares**2).sum()) / 2)
    assert results.cell("a", CELL).hoeffding_radius == pytest.approx(expected)


def test_what_has_no_spread_is_a_point_without_an_interval(hand: Results) -> None:
    headline = hand.cell("b", CELL).headline
    assert isinstance(headline, PointOnly)
    assert (headline.value, headline.n) == (0.5, 10)
    assert headline.reason == "every cluster has the same value: the data show no spread"


def test_a_cell_without_a_score_has_no_number_and_no_rank(tmp_path: Path) -> None:
    results = analysed(
        experiment_of(tmp_path), records(6), {"a": of_points("??????"), "b": of_points("+++---")}
    )
    cell = results.cell("a", CELL)
    assert cell.headline == NoEstimate(reason="no scored rows", n=6)
    assert cell.hoeffding_radius is None
    assert results.rankings[0].ranks == {"b": 1.0}
    (comparison,) = results.comparisons
    assert (comparison.n, comparison.k_ahead, comparison.k_behind) == (0, 0, 0)
    assert isinstance(comparison.differences[0].difference, NoEstimate)


def test_a_table_without_a_single_score_is_analysed_too(tmp_path: Path) -> None:
    claim = {
        **UNCHECKED,
        "id": "first",
        "assertion": {"kind": "ranks_above", "above": "a", "below": "b", "over": "every"},
    }
    experiment = experiment_of(tmp_path, claims=[claim])
    results = analysed(experiment, records(6), {"a": of_points("??????"), "b": of_points("??????")})
    assert results.claim_tests[0].p_holds is None
    assert results.comparisons[0].differences[0].difference == NoEstimate(reason="no scored rows", n=6)


def test_an_error_on_one_answer_takes_the_item_out_of_that_cell_alone(hand: Results) -> None:
    assert hand.cell("a", CELL).outcomes["error"] == 1
    assert hand.cell("b", CELL).outcomes["error"] == 0
    assert hand.cell("b", CELL).outcomes["tie"] == 10
    assert hand.comparisons[0].differences[0].difference.n == 9  # the items that both have


@pytest.mark.parametrize(
    ("first", "second", "counted"),
    [
        (Outcome.LIMIT, Outcome.ERROR, "error"),
        (Outcome.LIMIT, Outcome.REFUSED, "limit"),
        (Outcome.UNPARSED, Outcome.REFUSED, "unparsed"),
        (Outcome.TRUNCATED, Outcome.UNPARSED, "truncated"),
    ],
)
def test_of_two_failures_the_graver_is_counted(
    tmp_path: Path, first: Outcome, second: Outcome, counted: str
) -> None:
    experiment, items = experiment_of(tmp_path, models=("a",)), records(6)

    def rows(pass_id: str) -> list[Row]:
        found = rows_of(pass_id, items, of_points("+++++?"))
        chosen = found[10].model_copy(update={"outcome": first, "sum_nats": None})
        return [*found[:10], chosen, found[11].model_copy(update={"outcome": second})]

    for order in (items, items[::-1]):
        outcomes = analyse(experiment, items=order, rows=rows).cells[0].outcomes
        assert (outcomes["scored"], outcomes[counted]) == (5, 1)


def test_strict_swapped_strict_and_ties_add_up_to_one(hand: Results, finished: Finished) -> None:
    assert all(cell.swapped_identity for cell in (*hand.cells, *finished.outcome.results.cells))
    cell = hand.cell("a", CELL)
    losses, ties, scored = 2, cell.outcomes["tie"], 9
    assert value(cell.strict) + losses / scored + ties / scored == pytest.approx(1.0)


# --- rules, estimands, baselines -----------------------------------------------------------------


def test_a_rule_without_a_number_for_a_scored_item_counts_it_as_limited(tmp_path: Path) -> None:
    experiment = experiment_of(tmp_path, models=("a",), rules=("sum", "pmi"))
    results = analysed(experiment, records(6), {"a": of_points("+++---")})  # no unconditional scores
    with_sum, with_pmi = results.cells
    assert (with_sum.outcomes["scored"], with_pmi.outcomes["scored"], with_pmi.outcomes["limit"]) == (
        6,
        0,
        6,
    )
    assert isinstance(with_pmi.headline, NoEstimate)
    assert sum(with_pmi.outcomes.values()) == 6


def test_every_rule_reads_its_own_score_off_the_same_pass(tmp_path: Path) -> None:
    experiment = experiment_of(tmp_path, models=("a",), rules=("sum", "mean", "byte", "pmi"))
    scores: list[tuple[float | None, float | None]] = [(-6.0, -5.0)] * 5 + [(-6.0, -1.0)]
    results = analysed(
        experiment, records(6), {"a": scores}, tokens=(3, 2), unconditional=[(-9.0, -5.5)] * 6
    )
    margins = {cell.configuration.split("=")[-1]: value(cell.margin) for cell in results.cells}
    assert margins["sum"] == pytest.approx((5 * -1.0 - 5.0) / 6)
    assert margins["mean"] == pytest.approx((5 * (-2.0 + 2.5) + (-2.0 + 0.5)) / 6)
    assert margins["byte"] == pytest.approx((5 * (-1.0 + 1.25) + (-1.0 + 0.25)) / 6)
    assert margins["pmi"] == pytest.approx((5 * (3.0 - 0.5) + (3.0 - 4.5)) / 6)
    assert {cell.pass_ for cell in results.cells} == set(passes(experiment))


def test_a_strict_headline_counts_a_tie_as_no_win_in_every_number_that_follows_it(tmp_path: Path) -> None:
    strict = experiment_of(
        tmp_path,
        changes={"analysis": {"resamples": 400, "joint_resamples": 400, "estimand": "alignment_strict"}},
    )
    results = analysed(strict, records(10), {"a": of_points("++++====--"), "b": of_points("+++=======")})
    assert value(results.cell("a", CELL).headline) == pytest.approx(0.4)
    assert value(results.cell("b", CELL).headline) == pytest.approx(0.3)
    assert results.rankings[0].ranks == {"a": 1.0, "b": 2.0}
    assert value(results.comparisons[0].differences[0].difference) == pytest.approx(0.1)
    assert value(results.cell("a", CELL).half) == pytest.approx(0.6)


def test_length_baselines_leave_out_what_has_no_score_and_mirror_each_other(hand: Results) -> None:
    cell = hand.cell("a", CELL)
    assert (value(cell.longer_wins), value(cell.shorter_wins)) == (1.0, 0.0)
    assert cell.longer_wins.n == 9
    assert (value(cell.prompt_blind), cell.prompt_blind and cell.prompt_blind.n) == (0.0, 9)


def test_the_random_baseline_is_the_binomial_of_the_items(hand: Results) -> None:
    assert hand.random is not None
    # scipy.stats.binom.interval(.95, 10, .5) = (2, 8)
    assert (hand.random.expected, hand.random.low, hand.random.high) == (0.5, 0.2, 0.8)


def test_without_a_prompt_crossed_twins_are_at_exactly_one_half(finished: Finished) -> None:
    for cell in finished.outcome.results.cells:
        for baseline in (cell.prompt_blind, cell.longer_wins, cell.shorter_wins):
            assert value(baseline) == 0.5


def test_twins_are_read_as_two_prompts_and_two_answers(tmp_path: Path) -> None:
    experiment = experiment_of(tmp_path, models=("a",), items={"twins": True})
    clusters = [f"k{index // 2}" for index in range(12)]
    # S(a|x1), S(b|x1) of a twin, then S(b|x2), S(a|x2): both right; one answer; only crossed.
    both = [(-1.0, -2.0), (-1.0, -2.0)]
    same_answer = [(-1.0, -5.0), (-6.0, -2.0)]
    crossed = [(-1.0, -5.0), (-3.0, -2.0)]
    scores: list[tuple[float | None, float | None]] = [
        *both,
        *both,
        *same_answer,
        *crossed,
        *crossed,
        *crossed,
    ]
    twins = analysed(experiment, records(12, clusters=clusters), {"a": scores}).cells[0].twins
    assert twins is not None
    assert value(twins.both_right) == pytest.approx(2 / 6)
    # crossed: S(a|x1) + S(b|x2) > S(a|x2) + S(b|x1); -1-6 against -2-5 is a tie, -1-3 against -2-5 is not
    assert value(twins.crossed) == pytest.approx(5 / 6)
    assert (twins.both_right.n, twins.crossed.n) == (6, 6)


def test_strata_are_estimated_apart_and_weighted_where_weights_are_declared(tmp_path: Path) -> None:
    weights = [{"name": "x", "weight": 0.75}, {"name": "y", "weight": 0.25}]
    strata = ["x"] * 6 + ["y"] * 4
    scores = {"a": of_points("+++++-" + "+---"), "b": of_points("+-+-+-" + "+-+-")}
    plain = experiment_of(tmp_path / "plain")
    declared = plain.items.model_dump(mode="python") | {"weights": tuple(weights)}
    weighted = plain.model_copy(update={"items": plain.items.model_validate(declared)})
    without = analysed(plain, records(10, strata=strata), scores).cell("a", CELL)
    found = analysed(weighted, records(10, strata=strata), scores).cell("a", CELL)
    assert [(one.stratum, value(one.headline)) for one in found.strata] == [
        ("x", pytest.approx(5 / 6)),
        ("y", pytest.approx(1 / 4)),
    ]
    assert value(found.weighted) == pytest.approx(0.75 * 5 / 6 + 0.25 * 1 / 4)
    assert without.weighted is None
    assert without.strata == found.strata
    assert value(found.headline) == pytest.approx(6 / 10)


# --- rankings ------------------------------------------------------------------------------------


def test_equal_estimates_share_their_mean_rank(tmp_path: Path) -> None:
    experiment = experiment_of(tmp_path, models=("a", "b", "c", "d"))
    scores = {
        "a": of_points("++++------"),
        "b": of_points("+++++++---"),
        "c": of_points("------++++"),
        "d": of_points("++========"),  # 2 + 8/2 = 6 of 10
    }
    results = analysed(experiment, records(10), scores)
    assert results.rankings[0].ranks == {"b": 1.0, "d": 2.0, "a": 3.5, "c": 3.5}


def test_a_tie_that_is_reached_by_other_outcomes_is_still_a_tie(tmp_path: Path) -> None:
    scores = {"a": of_points("=========="), "b": of_points("+++++-----")}
    results = analysed(experiment_of(tmp_path), records(10), scores)
    assert results.rankings[0].ranks == {"a": 1.5, "b": 1.5}


# --- what must not change a number ---------------------------------------------------------------


def test_the_order_of_items_and_rows_changes_no_byte(finished: Finished) -> None:
    outcome, experiment = finished.outcome, finished.job.experiment
    items = read_items(outcome.bundle)
    stored = {
        name: list(stored_rows(outcome.bundle, outcome.manifest.shards, pass_id=name))
        for name in passes(experiment)
    }
    expected = outcome.bundle.results.read_bytes()
    assert as_bytes(outcome.results) == expected
    rng = np.random.default_rng(5)
    for _ in range(2):
        shuffled = [items[at] for at in rng.permutation(len(items))]
        mixed = {name: [rows[at] for at in rng.permutation(len(rows))] for name, rows in stored.items()}
        again = analyse(experiment, items=shuffled, rows=lambda name, mixed=mixed: mixed[name])
        assert as_bytes(again) == expected


def test_renaming_clusters_in_another_order_keeps_every_point_estimate(tmp_path: Path) -> None:
    scores = {"a": of_points("++++--+-=-+-"), "b": of_points("+-+---++=-+-")}
    names = [f"k{index // 3}" for index in range(12)]
    experiment = experiment_of(tmp_path)
    first = analysed(experiment, records(12, clusters=names), scores)
    second = analysed(experiment, records(12, clusters=[f"z{9 - int(name[1])}" for name in names]), scores)
    for one, other in zip(first.cells, second.cells, strict=True):
        assert value(one.headline) == value(other.headline)
        assert one.hoeffding_radius == other.hoeffding_radius


def cells_of(results: Results, model: str) -> list[Cell]:
    return [cell for cell in results.cells if cell.model == model]


def test_another_model_changes_no_number_of_the_cells_that_are_there(tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    scores = {name: [tuple(-rng.integers(2, 60, size=2) / 7) for _ in range(30)] for name in "abc"}
    clusters = [f"k{index // 2}" for index in range(30)]
    items = records(30, clusters=clusters, strata=["x", "y", "y"] * 10)
    two = analysed(experiment_of(tmp_path / "two"), items, scores)
    three = analysed(experiment_of(tmp_path / "three", models=("c", "a", "b")), items, scores)
    for model in ("a", "b"):
        old = [cell.model_copy(update={"pass_": ""}) for cell in cells_of(two, model)]
        new = [cell.model_copy(update={"pass_": ""}) for cell in cells_of(three, model)]
        assert old == new
    # The family is larger, so joint bounds may widen; a pair's own interval and p-values stay.
    pair = two.comparisons[0].differences[0]
    same = next(one for one in three.comparisons if (one.first, one.second) == ("a", "b")).differences[0]
    assert same.difference == pair.difference
    assert (same.p_ahead, same.p_behind) == (pair.p_ahead, pair.p_behind)


def test_another_claim_changes_neither_cells_nor_comparisons_nor_the_other_claims_raw_numbers(
    tmp_path: Path,
) -> None:
    assertions = (
        {"kind": "ranks_above", "above": "a", "below": "b", "over": "every"},
        {"kind": "at_least", "model": "b", "value": 0.3, "over": "primary"},
    )
    claims = [{**UNCHECKED, "id": str(one["kind"]), "assertion": one} for one in assertions]
    rng = np.random.default_rng(3)
    scores = {name: [tuple(-rng.integers(2, 60, size=2) / 7) for _ in range(24)] for name in "ab"}
    one = analysed(experiment_of(tmp_path / "one", claims=claims[:1]), records(24), scores)
    two = analysed(experiment_of(tmp_path / "two", claims=claims), records(24), scores)
    assert one.cells == two.cells
    assert one.comparisons == two.comparisons
    assert one.rankings == two.rankings
    first, second = (results.claim_tests[0].contrasts[0].differences[0] for results in (one, two))
    assert first.difference == second.difference
    assert (first.p_ahead, first.p_behind) == (second.p_ahead, second.p_behind)


def test_the_seed_moves_resampled_bounds_and_nothing_else(tmp_path: Path) -> None:
    scores = {"a": of_points("++++--+-=-+-"), "b": of_points("+-+---++=-+-")}
    first = analysed(experiment_of(tmp_path / "7"), records(12), scores)
    again = analysed(experiment_of(tmp_path / "7b"), records(12), scores)
    other = analysed(experiment_of(tmp_path / "8", changes={"seed": 8}), records(12), scores)
    assert as_bytes(first) == as_bytes(again)
    assert first.cells[0].headline != other.cells[0].headline
    assert first.cells[0].strict == other.cells[0].strict
    assert first.comparisons[0].differences[0].difference == other.comparisons[0].differences[0].difference


# --- integrity -----------------------------------------------------------------------------------


def test_rows_that_do_not_belong_are_refused(tmp_path: Path) -> None:
    experiment, items = experiment_of(tmp_path, models=("a",)), records(6)
    (name,) = passes(experiment)
    good = rows_of(name, items, of_points("+++---"))
    stray = rows_of(name, records(7), of_points("+++---+"))[-2:]
    cases = {
        "must have a row for i05 rejected; it has none": good[:-1],
        "rows must be unique; got i00 chosen twice": [*good, good[0]],
        r"rows must be of the declared items; got \['i06', 'i06'\]": [*good, *stray],
        "the row of i00 must be of digest sha256:0": [
            good[0].model_copy(update={"item_digest": "sha256:" + "f" * 64}), *good[1:],
        ],
        "rows must be of this pass; got one of other": [
            good[0].model_copy(update={"pass_": "other"}), *good[1:],
        ],
    }  # fmt: skip
    for message, rows in cases.items():
        with pytest.raises(IntegrityError, match=f"^pass {name}: {message}"):
            analyse(experiment, items=items, rows=lambda _, rows=rows: rows)
    with pytest.raises(IntegrityError, match=r"^items: ids must be unique; got i00 twice"):
        analyse(experiment, items=[*items, items[0]], rows=lambda _: good)


def test_twins_that_are_not_two_items_are_refused(tmp_path: Path) -> None:
    experiment = experiment_of(tmp_path, models=("a",), items={"twins": True})
    with pytest.raises(InputErrors, match="items: twin k02: must be two items; got 1"):
        check_analysis(experiment, items=records(4, clusters=["k00", "k00", "k02", "k03"]))


def test_weights_that_do_not_name_every_stratum_once_are_refused(tmp_path: Path) -> None:
    plain = experiment_of(tmp_path)
    weights = ({"name": "x", "weight": 1.0}, {"name": "z", "weight": 0.0})
    items = plain.items.model_validate({**plain.items.model_dump(mode="python"), "weights": weights})
    with pytest.raises(InputErrors) as refused:
        check_analysis(plain.model_copy(update={"items": items}), items=records(2, strata=["x", "y"]))
    assert refused.value.messages == (
        "items.weights: must name the strata x, y, once each; got ['x', 'z']",
        "items.weights: the weight of z must be above 0; got 0.0",
    )


# --- findings ------------------------------------------------------------------------------------


def test_findings_of_many_cells_are_one_finding_with_its_count_and_first_place(tmp_path: Path) -> None:
    experiment = experiment_of(tmp_path, templates=("plain", "chat"))
    results = analysed(experiment, records(12), {"a": of_points("+++++==--??+"), "b": of_points("=" * 12)})
    assert [(one.code, one.where, one.detail) for one in results.findings] == [
        ("SR301", "items", "12 clusters, fewer than 20"),
        (
            "SR302",
            "cells",
            "2 of 4 cells, first b, template=plain,rule=sum: every cluster has the same value: the data "
            "show no spread",
        ),
        ("SR303", "cells", "2 of 4 cells, first a, template=plain,rule=sum: 10 of 12 items have a score"),
    ]


def test_where_nothing_is_wrong_nothing_is_found(tmp_path: Path) -> None:
    scores = {"a": of_points("+-" * 12), "b": of_points("++-" * 8)}
    experiment = experiment_of(tmp_path, templates=("plain", "chat"))
    assert analysed(experiment, records(24), scores).findings == ()
