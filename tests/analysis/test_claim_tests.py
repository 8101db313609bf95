"""Contrasts and claims on data whose truth is known, and the arithmetic of their p-values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from table_examples import UNCHECKED, Scores, analysed, experiment_of, of_points, records

from safetyrepro.analysis.claim_tests import factor_reversals
from safetyrepro.claims.verdicts import Standing, envelope_verdict, joint_counts, standing
from safetyrepro.data.results import ClaimTest, Contrast, Estimate, NoEstimate, PointOnly, Results
from safetyrepro.rng import generator
from safetyrepro.spec.envelope import Configuration
from safetyrepro.stats.joint_comparison import all_pairs, compare_pairs
from safetyrepro.stats.multiplicity import holm_adjust, partial_conjunction_p
from safetyrepro.stats.preference import pair_outcomes

ITEMS = 60
ANALYSIS = {"resamples": 400, "joint_resamples": 1000}


def wins(count: int, *, shift: int = 0) -> list[tuple[float | None, float | None]]:
    """Scores of 60 items with `count` wins, spread evenly, starting at `shift`."""
    won = {(shift + (index * ITEMS) // count) % ITEMS for index in range(count)}
    return of_points("".join("+" if index in won else "-" for index in range(ITEMS)))


TRUTH: Scores = {"a": wins(54), "b": wins(30, shift=1), "c": wins(9, shift=2)}
"""a wins .90, b .50, c .15."""


def results_of(
    folder: Path, assertions: Sequence[dict[str, object]], scores: Scores, *, both: bool = False
) -> Results:
    """The results of claims with these assertions, under the plain template or under both."""
    claims = [
        {**UNCHECKED, "id": f"claim-{index}", "assertion": assertion}
        for index, assertion in enumerate(assertions)
    ]
    experiment = experiment_of(
        folder,
        models=("a", "b", "c"),
        templates=("plain", "chat") if both else ("plain",),
        claims=claims or [UNCHECKED],
        changes={"analysis": ANALYSIS},
    )
    return analysed(experiment, records(ITEMS), scores)


def one(results: Results, index: int = 0) -> ClaimTest:
    return results.claim_tests[index]


KNOWN: list[tuple[dict[str, object], Standing]] = [
    ({"kind": "ranks_above", "above": "a", "below": "b"}, "supported"),
    ({"kind": "ranks_above", "above": "b", "below": "a"}, "contradicted"),
    ({"kind": "not_worse_by_more_than", "model": "a", "than": "b", "margin": 0.1}, "supported"),
    ({"kind": "not_worse_by_more_than", "model": "b", "than": "a", "margin": 0.1}, "contradicted"),
    ({"kind": "not_worse_by_more_than", "model": "b", "than": "a", "margin": 0.7}, "supported"),
    ({"kind": "equivalent", "model": "a", "to": "b", "margin": 0.1}, "contradicted"),
    ({"kind": "equivalent", "model": "b", "to": "a", "margin": 0.1}, "contradicted"),
    ({"kind": "equivalent", "model": "a", "to": "b", "margin": 0.8}, "supported"),
    ({"kind": "at_least", "model": "a", "value": 0.7}, "supported"),
    ({"kind": "at_least", "model": "b", "value": 0.7}, "contradicted"),
    ({"kind": "at_least", "model": "b", "value": 0.5}, "undecided"),
    ({"kind": "at_most", "model": "c", "value": 0.4}, "supported"),
    ({"kind": "at_most", "model": "a", "value": 0.4}, "contradicted"),
    ({"kind": "at_most", "model": "b", "value": 0.5}, "undecided"),
    ({"kind": "trend", "rising": ["c", "b", "a"]}, "supported"),
    ({"kind": "trend", "rising": ["a", "b", "c"]}, "contradicted"),
    ({"kind": "trend", "rising": ["b", "c", "a"]}, "contradicted"),
]


@pytest.mark.parametrize(("assertion", "expected"), KNOWN)
@pytest.mark.parametrize("over", ["primary", "every"])
def test_an_assertion_stands_exactly_where_the_data_say_so(
    tmp_path: Path, assertion: dict[str, object], expected: Standing, over: str
) -> None:
    test = one(results_of(tmp_path, [{**assertion, "over": over}], TRUTH))
    assert standing(test, confidence=0.95) == expected
    verdict = envelope_verdict(joint_counts(test), equivalent=False)
    agrees = {"supported": "HOLDS THROUGHOUT", "contradicted": "CONTRADICTED", "undecided": "UNDETERMINED"}
    assert verdict == agrees[expected]


SIGNS: list[tuple[dict[str, object], list[float]]] = [
    ({"kind": "ranks_above", "above": "a", "below": "b"}, [0.4]),
    ({"kind": "not_worse_by_more_than", "model": "b", "than": "a", "margin": 0.1}, [-0.3]),
    ({"kind": "equivalent", "model": "a", "to": "b", "margin": 0.1}, [0.5, -0.3]),
    ({"kind": "at_least", "model": "a", "value": 0.7}, [0.2]),
    ({"kind": "at_most", "model": "a", "value": 0.7}, [-0.2]),
    ({"kind": "at_least", "model": "a", "value": 0.0}, [0.9]),
    ({"kind": "trend", "rising": ["c", "b", "a"]}, [0.35, 0.4]),
]


@pytest.mark.parametrize(("assertion", "expected"), SIGNS)
def test_a_contrast_is_above_zero_where_its_claim_is_true(
    tmp_path: Path, assertion: dict[str, object], expected: list[float]
) -> None:
    test = one(results_of(tmp_path, [{**assertion, "over": "primary"}], TRUTH))
    found = [contrast.differences[0].difference for contrast in test.contrasts]
    assert [value.value for value in found if isinstance(value, Estimate)] == pytest.approx(expected)


def test_a_contrast_says_what_it_compares(tmp_path: Path) -> None:
    assertions = [{**assertion, "over": "primary"} for assertion, _ in SIGNS]
    tests = results_of(tmp_path, assertions, TRUTH).claim_tests
    assert [(c.name, c.first, c.second, c.offset) for test in tests for c in test.contrasts] == [
        ("A machine against B machine", "a", "b", 0.0),
        ("B machine against A machine", "b", "a", 0.1),
        ("A machine against B machine", "a", "b", 0.1),
        ("B machine against A machine", "b", "a", 0.1),
        ("A machine at least 0.7", "a", None, -0.7),
        ("A machine at most 0.7", "a", None, 0.7),
        ("A machine at least 0.0", "a", None, 0.0),
        ("B machine against C machine", "b", "c", 0.0),
        ("A machine against B machine", "a", "b", 0.0),
    ]


def test_comparisons_are_what_the_joint_step_down_decides(tmp_path: Path) -> None:
    scores = {**TRUTH, "b/chat": wins(50, shift=3), "c/chat": wins(40, shift=5)}
    results = results_of(tmp_path, [], scores, both=True)
    points = np.stack(
        [
            np.stack(
                [
                    pair_outcomes(*np.array(scores.get(f"{model}/{name}") or scores[model], dtype=float).T)
                    for name in ("plain", "chat")
                ]
            )
            for model in "abc"
        ]
    )
    expected = compare_pairs(
        points,
        np.arange(ITEMS),
        pairs=all_pairs(3),
        rng=generator(7, "comparisons"),
        level=0.95,
        resamples=1000,
        margin=0.05,
    )
    assert expected.margin is not None
    equivalence = holm_adjust(expected.margin.equivalent_everywhere_p())
    for index, contrast in enumerate(results.comparisons):
        envelope = expected.envelope(index)
        assert [one.ahead for one in contrast.differences] == envelope.decisions.tolist()
        assert (contrast.k_ahead, contrast.k_behind) == (envelope.reliably_ahead, envelope.reliably_behind)
        assert (contrast.raw_ahead, contrast.raw_behind) == (envelope.raw_ahead, envelope.raw_behind)
        assert [one.p_ahead for one in contrast.differences] == envelope.p_ahead.tolist()
        assert [one.joint_low for one in contrast.differences] == envelope.lower.tolist()
        assert contrast.equivalence_p == equivalence[index]
        assert (contrast.disagreement_low, contrast.disagreement_high) == envelope.disagreement_range
        assert contrast.n == 2
    assert [(c.first, c.second) for c in results.comparisons] == [("a", "b"), ("a", "c"), ("b", "c")]


def test_a_detectable_gap_is_the_joint_half_width_and_what_80_percent_power_asks(tmp_path: Path) -> None:
    contrast = results_of(tmp_path, [], TRUTH).comparisons[0]
    (difference,) = contrast.differences
    assert isinstance(difference.difference, Estimate)
    assert difference.joint_high is not None
    value = difference.difference.value
    t_59 = 2.0009953780882688  # scipy.stats.t.ppf(.975, 59)
    error = (difference.difference.high - value) / t_59
    expected = (difference.joint_high - value) + 0.8416212335729143 * error
    assert contrast.detectable_gap == pytest.approx(expected, rel=1e-9)


def test_of_one_configuration_there_is_no_disagreement_and_none_is_printed_as_zero(tmp_path: Path) -> None:
    contrast = results_of(tmp_path, [], TRUTH).comparisons[0]
    assert (contrast.disagreement_low, contrast.disagreement_high) == (None, None)


# --- p-values of claims --------------------------------------------------------------------------

MIXED: Scores = {
    **TRUTH,
    "a/plain": wins(36, shift=1),
    "b/plain": wins(30, shift=2),
    "a/chat": wins(35, shift=1),
    "b/chat": wins(28, shift=3),
    "c/plain": wins(20, shift=5),
}


def raw(contrast: Contrast) -> tuple[list[float], list[float]]:
    ahead = [one.p_ahead for one in contrast.differences if one.p_ahead is not None]
    behind = [one.p_behind for one in contrast.differences if one.p_behind is not None]
    assert len(ahead) == len(behind) == len(contrast.differences) == 2
    return ahead, behind


@pytest.mark.parametrize(
    ("over", "r"), [("primary", None), ("every", None), ("at_least", 1), ("at_least", 2)]
)
def test_a_quantifier_combines_the_p_values_of_its_configurations(
    tmp_path: Path, over: str, r: int | None
) -> None:
    assertion: dict[str, object] = {"kind": "ranks_above", "above": "a", "below": "b", "over": over}
    test = one(results_of(tmp_path, [{**assertion, **({} if r is None else {"r": r})}], MIXED, both=True))
    ahead, behind = raw(test.contrasts[0])
    small, large = sorted(ahead)
    assert small < large  # else the combinations could not be told apart
    holds = {"primary": ahead[0], "every": large, "at_least": large if r == 2 else min(1.0, 2 * small)}
    # It fails in the primary; somewhere; in at least n - r + 1 configurations.
    somewhere = min(1.0, 2 * min(behind))
    fails = {
        "primary": behind[0],
        "every": somewhere,
        "at_least": somewhere if r == 2 else max(behind),
    }
    assert test.p_holds == pytest.approx(holds[over])
    assert test.p_fails == pytest.approx(fails[over])


def test_claims_of_several_contrasts_need_all_of_them_and_fail_by_any(tmp_path: Path) -> None:
    rising = {"kind": "trend", "rising": ["c", "b", "a"], "over": "every"}
    test = one(results_of(tmp_path, [rising], MIXED, both=True))
    lower, upper = (raw(contrast) for contrast in test.contrasts)
    both = [max(pair) for pair in zip(lower[0], upper[0], strict=True)]
    either = [min(1.0, 2 * min(pair)) for pair in zip(lower[1], upper[1], strict=True)]
    assert test.p_holds == pytest.approx(max(both))
    assert test.p_fails == pytest.approx(partial_conjunction_p(either, at_least=1))


def test_a_claim_that_fails_by_one_of_its_contrasts_pays_for_having_several(tmp_path: Path) -> None:
    falling = {"kind": "trend", "rising": ["a", "b", "c"], "over": "primary"}
    test = one(results_of(tmp_path, [falling], TRUTH))
    smallest = 1 / (1 + 1000)  # no resample reaches what was observed
    assert [contrast.differences[0].p_behind for contrast in test.contrasts] == [smallest, smallest]
    assert test.p_fails == pytest.approx(2 * smallest)


def test_p_values_are_holm_adjusted_over_the_declared_claims_in_both_directions(tmp_path: Path) -> None:
    assertions: list[dict[str, object]] = [
        {"kind": "ranks_above", "above": "a", "below": "b", "over": "primary"},
        {"kind": "ranks_above", "above": "b", "below": "c", "over": "primary"},
        {"kind": "at_least", "model": "b", "value": 0.4, "over": "primary"},
    ]
    tests = results_of(tmp_path, assertions, MIXED).claim_tests
    ahead = [test.contrasts[0].differences[0].p_ahead for test in tests]
    behind = [test.contrasts[0].differences[0].p_behind for test in tests]
    assert len(set(ahead)) == 3
    assert [test.p_holds for test in tests] == pytest.approx(holm_adjust(np.array(ahead, float)).tolist())
    assert [test.p_fails for test in tests] == pytest.approx(holm_adjust(np.array(behind, float)).tolist())


def test_a_configuration_without_a_test_counts_against_the_claim_and_for_nothing(tmp_path: Path) -> None:
    scores = {**TRUTH, "b/chat": TRUTH["a"]}  # a and b agree on every item under chat
    above: dict[str, object] = {"kind": "ranks_above", "above": "a", "below": "b"}
    below: dict[str, object] = {"kind": "ranks_above", "above": "b", "below": "a"}
    assertions = [
        {**above, "over": "every"},
        {**above, "over": "at_least", "r": 1},
        {**above, "over": "at_least", "r": 2},
        {**below, "over": "at_least", "r": 1},
        {**below, "over": "every"},
    ]
    results = results_of(tmp_path, assertions, scores, both=True)
    tests = results.claim_tests
    undefined = tests[0].contrasts[0].differences[1]
    assert isinstance(undefined.difference, PointOnly)
    assert undefined.difference.value == 0.0
    assert (undefined.ahead, undefined.p_ahead, undefined.joint_low) == (None, None, None)
    assert [standing(test, confidence=0.95) for test in tests] == [
        "undecided", "supported", "undecided", "undecided", "contradicted",
    ]  # fmt: skip
    assert tests[0].p_holds == 1.0
    assert tests[0].contrasts[0].n == 1
    assert tests[0].contrasts[0].equivalence_p is None
    counts = joint_counts(tests[0])
    assert envelope_verdict(counts, equivalent=False) == "HOLDS WHERE DECIDABLE"


def test_a_claim_without_a_single_test_is_refused(tmp_path: Path) -> None:
    scores = {**TRUTH, "b": TRUTH["a"]}
    assertion = {"kind": "ranks_above", "above": "a", "below": "b", "over": "every"}
    test = one(results_of(tmp_path, [assertion], scores, both=True))
    assert (test.p_holds, test.p_fails) == (None, None)
    assert standing(test, confidence=0.95) == "refused"
    assert envelope_verdict(joint_counts(test), equivalent=False) == "REFUSED"


def test_few_clusters_give_no_test(tmp_path: Path) -> None:
    assertion = {
        **UNCHECKED,
        "assertion": {"kind": "at_least", "model": "a", "value": 0.1, "over": "every"},
    }
    experiment = experiment_of(tmp_path, claims=[assertion])
    results = analysed(experiment, records(4), {"a": of_points("+++-"), "b": of_points("-+--")})
    difference = results.claim_tests[0].contrasts[0].differences[0].difference
    assert isinstance(difference, PointOnly)
    assert difference.reason == "at least 5 clusters must have both scores; 4 have"


def test_equivalence_is_adjusted_over_the_pairs_that_are_asked_about(tmp_path: Path) -> None:
    scores: Scores = {"a": wins(30), "b": wins(31), "c": wins(29)}
    above: dict[str, object] = {"kind": "ranks_above", "above": "a", "over": "every"}
    alone, *_ = results_of(tmp_path / "one", [{**above, "below": "b"}], scores).claim_tests
    both = results_of(
        tmp_path / "two", [{**above, "below": "b"}, {**above, "below": "c"}], scores
    ).claim_tests
    raw_p = alone.contrasts[0].equivalence_p
    found = [test.contrasts[0].equivalence_p for test in both]
    assert raw_p is not None
    assert found[1] is not None
    assert found[0] == pytest.approx(min(1.0, 2 * raw_p)) or found[0] == pytest.approx(max(raw_p, found[1]))
    assert found[0] > raw_p


# --- models that differ in more than the model ----------------------------------------------------


def test_models_that_differ_in_more_than_the_model_are_not_ranked(tmp_path: Path) -> None:
    def model(name: str, dtype: str) -> dict[str, object]:
        return {"id": name, "name": name.upper(), "source": {"kind": "path", "path": name}, "dtype": dtype}

    assertions = (
        {"kind": "ranks_above", "above": "a", "below": "b", "over": "every"},
        {"kind": "ranks_above", "above": "a", "below": "c", "over": "every"},
        {"kind": "at_least", "model": "c", "value": 0.01, "over": "every"},
    )
    claims = [{**UNCHECKED, "id": f"c{index}", "assertion": each} for index, each in enumerate(assertions)]
    models = (model("a", "float32"), model("b", "float32"), model("c", "bfloat16"))
    mixed = experiment_of(tmp_path / "mixed", models=models, claims=claims, changes={"analysis": ANALYSIS})
    results = analysed(mixed, records(ITEMS), TRUTH)
    why = "a was computed in float32 and c in bfloat16: compared models must differ only in the model"
    refused = results.comparisons[1]
    assert (refused.first, refused.second, refused.n) == ("a", "c", 0)
    assert [one.difference for one in refused.differences] == [NoEstimate(reason=why, n=ITEMS)]
    assert [standing(test, confidence=0.95) for test in results.claim_tests] == [
        "supported", "refused", "supported",
    ]  # fmt: skip
    assert [ranking.ranks for ranking in results.rankings] == [{}]
    assert [(one.code, one.where, one.detail) for one in results.findings] == [
        ("SR304", "models", f"{why}; and 1 more pairs")
    ]
    # Each model on its own, and the pair that may be compared, are as they would be without the third.
    same = experiment_of(
        tmp_path / "same", models=models[:2], claims=claims[:1], changes={"analysis": ANALYSIS}
    )
    alone = analysed(same, records(ITEMS), TRUTH)
    assert results.comparisons[0] == alone.comparisons[0]
    assert [cell.headline for cell in results.cells[:2]] == [cell.headline for cell in alone.cells]


def test_a_difference_that_a_factor_makes_is_the_same_for_all_and_refuses_nothing(tmp_path: Path) -> None:
    factors = [
        {"kind": "template", "levels": [{"kind": "plain", "id": "plain"}]},
        {"kind": "rule", "levels": ["sum"]},
        {"kind": "dtype", "levels": ["float32", "bfloat16"]},
    ]
    primary = {"template": "plain", "rule": "sum", "dtype": "float32"}
    experiment = experiment_of(
        tmp_path, changes={"factors": factors, "primary": primary, "analysis": ANALYSIS}
    )
    results = analysed(experiment, records(ITEMS), TRUTH)
    assert [ranking.ranks for ranking in results.rankings] == [{"a": 1.0, "b": 2.0}] * 2
    assert results.findings == ()


# --- matched changes of one factor ----------------------------------------------------------------


def grid() -> tuple[Configuration, ...]:
    return tuple(
        Configuration((("template", template), ("rule", rule)))
        for template in ("plain", "chat")
        for rule in ("sum", "mean", "byte")
    )


def pair_of(values: Sequence[float | None]) -> Contrast:
    undefined: dict[str, object] = {"kind": "undefined", "reason": "none", "n": 1}
    return Contrast.model_validate(
        {
            "name": "a against b", "first": "a", "second": "b", "offset": 0.0,
            "differences": tuple(
                {
                    "configuration": configuration.id,
                    "difference": undefined if value is None else {
                        "kind": "point", "value": value, "reason": "none", "n": 1, "clusters": 1,
                    },
                    "joint_low": None, "joint_high": None, "ahead": None, "p_ahead": None, "p_behind": None,
                }
                for configuration, value in zip(grid(), values, strict=True)
            ),
            "raw_ahead": 0, "raw_behind": 0, "k_ahead": 0, "k_behind": 0, "n": 0,
            "disagreement_low": None, "disagreement_high": None, "detectable_gap": None,
            "equivalence_margin": 0.05, "equivalence_p": None,
        }
    )  # fmt: skip


def reversals(*contrasts: Contrast) -> list[tuple[str, int, int]]:
    return [(one.factor, one.matched, one.reversed_) for one in factor_reversals(contrasts, grid())]


def test_a_matched_change_is_one_factor_alone_and_reverses_by_the_sign() -> None:
    # plain: + + -, chat: - + 0; by template: sum turns; by rule: plain sum|byte, mean|byte, chat sum|mean.
    found = reversals(pair_of([0.1, 0.2, -0.1, -0.3, 0.1, 0.0]))
    assert found == [("template", 3, 1), ("rule", 6, 3)]


def test_no_number_has_no_sign_and_reverses_nothing() -> None:
    assert reversals(pair_of([None, 0.2, -0.1, -0.3, None, 0.0])) == [("template", 3, 0), ("rule", 6, 1)]


def test_a_claim_of_several_contrasts_turns_with_its_smallest() -> None:
    whole = pair_of([0.1] * 6)
    assert reversals(whole, pair_of([0.5, 0.5, 0.5, -0.5, -0.5, -0.5])) == [
        ("template", 3, 3),
        ("rule", 6, 0),
    ]
    assert reversals(whole, pair_of([None, 0.5, 0.5, -0.5, -0.5, -0.5])) == [
        ("template", 3, 2),
        ("rule", 6, 0),
    ]


def test_a_factor_of_one_level_has_no_matched_change() -> None:
    one_level = tuple(Configuration((("template", "plain"), *c.levels[1:])) for c in grid()[:3])
    contrast = pair_of([0.1] * 6)
    short = contrast.model_copy(update={"differences": contrast.differences[:3]})
    assert [one.factor for one in factor_reversals((short,), one_level)] == ["rule"]
