"""Pairwise reference alignment: definitions, denominators, strata, baselines, twins."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from safetyrepro.errors import InputError
from safetyrepro.stats.baselines import null_baselines, random_baseline
from safetyrepro.stats.estimates import Estimate
from safetyrepro.stats.intervals import Interval, hoeffding_radius, wilson_interval
from safetyrepro.stats.preference import (
    Alignment,
    Bounds,
    PairCounts,
    pair_outcomes,
    pairwise_alignment,
    pairwise_alignments,
    stratified_alignments,
    swapped_label_gap,
)
from safetyrepro.stats.twins import twin_summary
from safetyrepro.stats.undefined import Undefined

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"


def generator() -> np.random.Generator:
    return np.random.default_rng(17)


def align(chosen: object, rejected: object, **options: object) -> Alignment:
    return pairwise_alignment(chosen, rejected, rng=generator(), resamples=500, **options)  # type: ignore[arg-type]


def defined(estimate: Estimate | Undefined) -> Estimate:
    assert isinstance(estimate, Estimate), estimate
    return estimate


def between(interval: Interval | Undefined) -> Interval:
    assert isinstance(interval, Interval), interval
    return interval


# Three wins, two ties, one loss, one pair without a score; margins 1, 2, 3, 0, 0, -4.
CHOSEN = [1.0, 2.0, 3.0, 5.0, 7.0, 0.0, math.nan]
REJECTED = [0.0, 0.0, 0.0, 5.0, 7.0, 4.0, 1.0]


def test_strict_counts_a_tie_as_a_loss_and_half_credit_as_half_a_win() -> None:
    found = align(CHOSEN, REJECTED)
    assert defined(found.strict).value == pytest.approx(3 / 6)
    assert defined(found.half_credit).value == pytest.approx(4 / 6)
    assert defined(found.tie_rate).value == pytest.approx(2 / 6)
    assert defined(found.margin).value == pytest.approx((1 + 2 + 3 - 4) / 6)


def test_m_is_2a_minus_1_and_with_half_credit_wins_minus_losses() -> None:
    found = align(CHOSEN, REJECTED)
    assert defined(found.strict_m).value == pytest.approx(0.0)
    assert defined(found.half_credit_m).value == pytest.approx((3 - 1) / 6)


def test_every_estimate_carries_its_denominator() -> None:
    found = align(CHOSEN, REJECTED, clusters=[1, 1, 2, 2, 3, 3, 4])
    assert found.counts == PairCounts(pairs=7, wins=3, ties=2, losses=1, missing=1)
    assert found.counts.scored == 6
    for estimate in (found.strict, found.half_credit, found.margin, found.tie_rate):
        assert (defined(estimate).n, defined(estimate).clusters) == (6, 3)


def test_missing_pairs_bound_the_value_from_both_sides() -> None:
    assert align(CHOSEN, REJECTED).worst_case == Bounds(4 / 7, 5 / 7)


def test_a_cell_without_scores_is_undefined_and_still_has_denominators() -> None:
    found = align([math.nan, 1.0], [1.0, math.nan])
    assert found.strict == found.half_credit == found.margin == Undefined("no scored rows")
    assert found.strict_m == Undefined("no scored rows")
    assert found.counts.missing == found.counts.pairs == 2


def test_strict_of_independent_pairs_has_the_plain_wilson_and_hoeffding_intervals() -> None:
    found = defined(align(CHOSEN, REJECTED).strict)
    assert found.wilson == wilson_interval(3, 6)
    radius = hoeffding_radius(6, delta=0.05)
    assert between(found.hoeffding).high == pytest.approx(min(1.0, 0.5 + radius))


def test_clustered_strict_never_prints_a_plain_wilson() -> None:
    rng = np.random.default_rng(1)
    wins = np.repeat(rng.random(40) < 0.6, 3).astype(float)
    found = defined(align(wins, np.full(120, 0.5), clusters=np.repeat(np.arange(40), 3)).strict)
    wilson, plain = between(found.wilson), between(wilson_interval(int(wins.sum()), 120))
    assert wilson.method == "wilson-effective-n"
    assert wilson.high - wilson.low > 1.5 * (plain.high - plain.low)


def test_half_credit_and_margin_have_no_wilson_interval() -> None:
    found = align(CHOSEN, REJECTED)
    assert isinstance(defined(found.half_credit).wilson, Undefined)
    assert isinstance(defined(found.margin).wilson, Undefined)
    assert defined(found.margin).hoeffding == Undefined("the values have no bound")


def test_half_credit_has_variance_a_times_1_minus_a_minus_a_quarter_of_the_tie_rate() -> None:
    rng = np.random.default_rng(2)
    found = align(rng.integers(0, 3, size=300).astype(float), rng.integers(0, 2, size=300).astype(float))
    a, t = defined(found.half_credit).value, defined(found.tie_rate).value
    assert t > 0.2
    expected = math.sqrt((a * (1 - a) - t / 4) / 299)
    assert defined(found.half_credit).standard_error == pytest.approx(expected, rel=1e-10)


def test_the_interval_of_m_is_that_of_a_moved() -> None:
    found = align(CHOSEN, REJECTED)
    for a, m in ((found.strict, found.strict_m), (found.half_credit, found.half_credit_m)):
        for name in ("hoeffding", "t", "percentile", "bca"):
            of_a, of_m = between(getattr(a, name)), between(getattr(m, name))
            assert (of_m.low, of_m.high) == pytest.approx((2 * of_a.low - 1, 2 * of_a.high - 1))


@pytest.mark.parametrize("transform", [np.exp, np.arctan, lambda s: 3 * s - 100, lambda s: s**3])
def test_a_strictly_monotone_transformation_changes_nothing_but_the_margin(transform: object) -> None:
    assert callable(transform)
    rng = np.random.default_rng(3)
    chosen, rejected = rng.integers(-4, 5, size=(2, 80)) / 2.0
    before, after = align(chosen, rejected), align(transform(chosen), transform(rejected))
    assert (after.strict, after.half_credit, after.tie_rate) == (
        before.strict, before.half_credit, before.tie_rate,
    )  # fmt: skip
    assert after.margin != before.margin


def test_swapping_the_labels_maps_every_estimate_as_documented() -> None:
    forward, backward = align(CHOSEN, REJECTED), align(REJECTED, CHOSEN)
    strict, ties = defined(forward.strict).value, defined(forward.tie_rate).value
    assert strict + defined(backward.strict).value + ties == pytest.approx(1.0, abs=1e-15)
    half, swapped = defined(forward.half_credit).value, defined(backward.half_credit).value
    assert half + swapped == pytest.approx(1.0, abs=1e-15)
    assert defined(backward.margin).value == -defined(forward.margin).value
    assert swapped_label_gap(forward.counts, backward.counts) == 0


def test_a_score_that_depends_on_the_place_in_the_pair_leaves_a_gap() -> None:
    original = PairCounts(pairs=10, wins=7, ties=1, losses=2, missing=0)
    assert swapped_label_gap(original, PairCounts(pairs=10, wins=4, ties=1, losses=5, missing=0)) == 2


def test_an_infinite_score_is_refused() -> None:
    with pytest.raises(InputError, match="chosen scores must be finite, or NaN where missing; got inf"):
        pair_outcomes([-math.inf], [0.0])


def test_scores_of_two_shapes_are_refused() -> None:
    with pytest.raises(InputError, match=r"rejected must have the shape of chosen, \(2,\); got \(3,\)"):
        pair_outcomes([1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(InputError, match=r"scores must have shape \(C, N\), both at least 1; got \(2,\)"):
        pairwise_alignments([1.0, 2.0], [1.0, 2.0], rng=generator())


def test_a_cell_has_the_same_bits_alone_and_in_a_table_of_cells() -> None:
    rng = np.random.default_rng(4)
    chosen, rejected, clusters = rng.normal(size=(5, 60)), rng.normal(size=(5, 60)), np.arange(60) // 2
    chosen[1, :9] = math.nan
    table = pairwise_alignments(chosen, rejected, rng=generator(), clusters=clusters, resamples=500)
    assert [align(c, r, clusters=clusters) for c, r in zip(chosen, rejected, strict=True)] == list(table)


def strata_data() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(8)
    strata = np.repeat(["boundary", "control", "honesty"], [20, 60, 40])
    return rng.normal(0.4, 1, size=(2, 120)), rng.normal(size=(2, 120)), np.arange(120) // 2, strata


def test_the_weighted_estimate_is_the_declared_mixture_of_the_strata() -> None:
    chosen, rejected, clusters, strata = strata_data()
    weights = {"boundary": 2.0, "control": 1.0, "honesty": 1.0}
    found = stratified_alignments(
        chosen, rejected, strata=strata, weights=weights, clusters=clusters, rng=generator(), resamples=500
    )
    assert [stratum.label for stratum in found[0].strata] == ["boundary", "control", "honesty"]
    for cell in found:
        assert isinstance(cell.weighted, Alignment)
        parts = [defined(s.alignment.half_credit) for s in cell.strata]
        value = sum(w / 4 * p.value for w, p in zip((2, 1, 1), parts, strict=True))
        error = math.sqrt(
            sum((w / 4) ** 2 * float(p.standard_error) ** 2 for w, p in zip((2, 1, 1), parts, strict=True))  # type: ignore[arg-type]
        )
        weighted = defined(cell.weighted.half_credit)
        assert weighted.value == pytest.approx(value, rel=1e-12)
        assert weighted.standard_error == pytest.approx(error, rel=1e-12)
        assert weighted.degrees_of_freedom == 60 - 3
        assert between(defined(cell.weighted.strict).wilson).method == "wilson-effective-n"


def test_declaring_weights_changes_nothing_inside_the_strata() -> None:
    chosen, rejected, clusters, strata = strata_data()
    found = [
        stratified_alignments(
            chosen,
            rejected,
            strata=strata,
            weights=shares,
            clusters=clusters,
            rng=generator(),
            resamples=200,
        )
        for shares in (None, {"boundary": 1, "control": 1, "honesty": 1})
    ]
    assert found[0][1].strata == found[1][1].strata
    assert found[0][1].weighted == Undefined("no stratum weights were declared")


def test_weights_in_proportion_to_the_strata_give_the_pooled_estimate() -> None:
    chosen, rejected, clusters, strata = strata_data()
    weights = {"boundary": 20, "control": 60, "honesty": 40}
    found = stratified_alignments(
        chosen, rejected, strata=strata, weights=weights, clusters=clusters, rng=generator(), resamples=200
    )
    pooled = align(chosen[0], rejected[0], clusters=clusters)
    assert isinstance(found[0].weighted, Alignment)
    assert defined(found[0].weighted.margin).value == pytest.approx(defined(pooled.margin).value, rel=1e-12)


def test_a_stratum_without_scores_makes_the_weighted_estimate_undefined() -> None:
    chosen, rejected, clusters, strata = strata_data()
    chosen[0, strata == "boundary"] = math.nan
    weights = {"boundary": 1, "control": 1, "honesty": 1}
    found = stratified_alignments(
        chosen, rejected, strata=strata, weights=weights, clusters=clusters, rng=generator(), resamples=200
    )
    assert isinstance(found[0].weighted, Alignment)
    assert found[0].weighted.strict == Undefined("a stratum without scored rows")
    assert isinstance(found[1].weighted, Alignment)
    assert isinstance(found[1].weighted.strict, Estimate)


# Twins: [twin, prompt, answer].


def blind_twins(k: int) -> np.ndarray:
    """Scores that see the answer alone."""
    return np.repeat(np.random.default_rng(5).normal(size=(k, 1, 2)), 2, axis=1)


def pairs_of(twins: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    chosen = np.stack([twins[:, 0, 0], twins[:, 1, 1]], axis=1).ravel()
    rejected = np.stack([twins[:, 0, 1], twins[:, 1, 0]], axis=1).ravel()
    return chosen, rejected, np.repeat(np.arange(len(twins)), 2)


def test_a_prompt_blind_score_gets_exactly_one_half_on_twins_and_ties_the_crossed_ordering() -> None:
    twins = blind_twins(40)
    chosen, rejected, clusters = pairs_of(twins)
    lengths = np.random.default_rng(6).integers(5, 30, size=80)
    found = null_baselines(
        lengths, lengths[::-1], chosen_blind=chosen, rejected_blind=rejected, clusters=clusters,
        rng=generator(), resamples=200,
    )  # fmt: skip
    assert isinstance(found.prompt_blind, Alignment)
    assert defined(found.prompt_blind.half_credit).value == 0.5
    assert defined(found.prompt_blind.half_credit).t == Undefined(
        "every cluster has the same value: the data show no spread"
    )
    summary = twin_summary(twins)
    assert summary.crossed_ties == 40
    assert between(summary.crossed).estimate == 0.0
    assert between(summary.both_right).estimate == 0.0
    assert between(summary.same_answer).estimate == 1.0


def test_twins_count_crossed_ordering_and_both_right() -> None:
    right = [[2.0, 1.0], [1.0, 2.0]]
    crossed_only = [[5.0, 1.0], [4.0, 3.0]]
    wrong = [[1.0, 2.0], [2.0, 1.0]]
    missing = [[math.nan, 0.0], [0.0, 0.0]]
    found = twin_summary([right, crossed_only, wrong, wrong, missing])
    assert (found.twins, found.scored, found.missing) == (5, 4, 1)
    assert found.crossed == wilson_interval(2, 4)
    assert found.both_right == wilson_interval(1, 4)
    assert found.same_answer == wilson_interval(1, 4)


def test_the_crossed_ordering_is_blind_to_what_an_answer_gains_under_both_prompts() -> None:
    twins = np.random.default_rng(7).integers(-9, 9, size=(50, 2, 2)).astype(float)
    shifted = twins + np.random.default_rng(8).integers(-99, 99, size=(50, 1, 2))
    assert twin_summary(shifted).crossed == twin_summary(twins).crossed
    assert twin_summary(shifted).both_right != twin_summary(twins).both_right


def test_exchanging_the_two_prompts_and_answers_of_twins_changes_nothing() -> None:
    twins = np.random.default_rng(9).normal(size=(50, 2, 2))
    assert twin_summary(twins[:, ::-1, ::-1]) == twin_summary(twins)


def test_twins_of_another_shape_are_refused() -> None:
    with pytest.raises(InputError, match=r"scores must have shape \(K, 2, 2\), K >= 1; got \(3, 4\)"):
        twin_summary(np.zeros((3, 4)))


# Baselines.


def test_longer_and_shorter_wins_are_each_others_mirror() -> None:
    rng = np.random.default_rng(10)
    chosen, rejected = rng.integers(3, 20, size=60), rng.integers(3, 20, size=60)
    found = null_baselines(chosen, rejected, rng=generator(), resamples=200)
    assert found.longer.counts.ties > 0
    assert swapped_label_gap(found.longer.counts, found.shorter.counts) == 0
    assert found.longer.counts.wins == int((chosen > rejected).sum())
    assert found.prompt_blind == Undefined("no scores without the prompt were made")


def test_the_random_baseline_holds_the_level_and_no_narrower_range_does() -> None:
    found = between(random_baseline(120))
    assert found.estimate == 0.5
    low, high = round(found.low * 120), round(found.high * 120)
    inside = stats.binom.cdf(high, 120, 0.5) - stats.binom.cdf(low - 1, 120, 0.5)
    narrower = stats.binom.cdf(high - 1, 120, 0.5) - stats.binom.cdf(low, 120, 0.5)
    assert inside >= 0.95 > narrower
    assert random_baseline(0) == Undefined("no scored rows")


def test_a_blind_score_for_one_side_only_is_refused() -> None:
    with pytest.raises(InputError, match="rejected_blind must come with its counterpart"):
        null_baselines([1.0], [2.0], chosen_blind=[1.0], rng=generator())
    with pytest.raises(InputError, match=r"all arrays must have one shape \(N,\)"):
        null_baselines([1.0, 2.0], [2.0], rng=generator())


@pytest.mark.shared
def test_on_llmbar_natural_the_longer_answer_wins_as_often_as_counted_by_hand() -> None:
    path = SHARED / "preferences" / "llmbar" / "pairs.jsonl.gz"
    if not path.exists():
        pytest.skip(f"{path.name} of LLMBar is not here")
    pairs = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    natural = [pair for pair in pairs if pair["subset"] == "LLMBar/Natural"]
    chosen = [len(pair["chosen"].encode()) for pair in natural]
    rejected = [len(pair["rejected"].encode()) for pair in natural]
    found = null_baselines(chosen, rejected, rng=generator(), resamples=200)
    assert found.longer.counts.wins == sum(a > b for a, b in zip(chosen, rejected, strict=True))
    assert found.longer.counts.pairs == len(natural) == 100
