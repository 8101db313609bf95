"""The sentences of a verdict, to the letter."""

from __future__ import annotations

from typing import get_args

import pytest
from claim_examples import claim_test, contrast, estimate, results

from safetyrepro.claims.numbers import counted, fraction, listed, percent_level, quoted
from safetyrepro.claims.verdicts import Counts, envelope_verdict, is_equivalent, joint_counts
from safetyrepro.claims.wording import FACTOR_WORDS, VERDICT_MEANINGS, Limits, claim_sentences
from safetyrepro.data.report_record import VerdictName
from safetyrepro.data.results import ClaimTest, Results
from safetyrepro.spec.factors import Factor

LIMITS = Limits(items="[items and weights]", level="model", tier="F0", dated="D", expires="E")


def sentences(test: ClaimTest, given: Results | None = None) -> tuple[str, ...]:
    """What is said, with the verdict that the counts give."""
    counts = joint_counts(test)
    pair = len(test.contrasts) == 1 and test.contrasts[0].offset == 0.0
    verdict = envelope_verdict(
        counts, equivalent=pair and is_equivalent(test.contrasts[0], confidence=0.95)
    )
    shown = given or results(configurations=counts.envelope)
    return claim_sentences(test, results=shown, counts=counts, verdict=verdict, limits=LIMITS)


def test_the_example_of_the_measurement_decisions_is_written_to_the_letter() -> None:
    test = claim_test(contrast([1] * 31 + [-1] * 5 + [0] * 12))
    assert " ".join(sentences(test)) == (
        "In the primary configuration declared before the run, A scored .71 and B .66 (difference .05, 95% "
        "interval .01 to .09). Over the 48 configurations of envelope 3f2a, A was reliably ahead in 31, "
        "B in 5; 12 could not be decided. Verdict: REVERSED BY THE HARNESS: which system ranks higher "
        "depends on the configuration; changing the prompt template alone reversed it most often (4 of 6 "
        "matched changes). This concerns [items and weights], model level, F0; nothing outside the "
        "envelope or at deployment follows; evidence dated D, expires E."
    )


def test_a_margin_is_taken_off_again_before_a_difference_is_printed() -> None:
    test = claim_test(contrast([1, 0], offset=0.1, difference=estimate(0.06, 0.02, 0.1)))
    primary, envelope, *_ = sentences(test)
    assert primary.endswith("(difference −.04, 95% interval −.08 to .00).")
    assert envelope == (
        "Over the 2 configurations of envelope 3f2a, the claim with its margin of .10 was reliably met in "
        "1, reliably missed in 0; 1 could not be decided."
    )


def test_an_equivalence_names_both_its_sides_once() -> None:
    both = (
        contrast([1, 1], offset=0.1, difference=estimate(0.15, 0.11, 0.19)),
        contrast([1, 0], first="b", second="a", offset=0.1, difference=estimate(0.05, 0.01, 0.09)),
    )
    primary, envelope, *_ = sentences(claim_test(*both))
    assert primary.endswith("A scored .71 and B .66 (difference .05, 95% interval .01 to .09).")
    assert "the claim with its margin of .10 was reliably met in 1, reliably missed in 0; 1 " in envelope


def test_a_trend_lists_its_models_from_the_lowest_to_the_highest() -> None:
    given = results(
        names={"a": "A", "b": "B", "c": "C"}, scores={"c": estimate(0.5, 0.4, 0.6)}, configurations=2
    )
    rising = claim_test(contrast([1, -1], first="b", second="c"), contrast([1, 0], first="a", second="b"))
    primary, envelope, verdict, _ = sentences(rising, given)
    assert primary == (
        "In the primary configuration declared before the run, C scored .50, B .66 and A .71."
    )
    assert envelope == (
        "Over the 2 configurations of envelope 3f2a, every step of the order was reliably met in 1, at "
        "least one reliably reversed in 1; 0 could not be decided."
    )
    assert verdict.startswith(
        "Verdict: REVERSED BY THE HARNESS: whether what is claimed holds depends on the configuration; "
    )


def test_a_trend_of_two_is_a_pair() -> None:
    primary, *_ = sentences(claim_test(contrast([1], first="a", second="b")))
    assert "A scored .71 and B .66 (difference" in primary


def test_a_value_is_named_with_its_side() -> None:
    at_least = claim_test(contrast([1, 0], second=None, offset=-0.7, equivalence_p=None))
    primary, envelope, *_ = sentences(at_least)
    assert primary == "In the primary configuration declared before the run, A scored .71."
    assert envelope == (
        "Over the 2 configurations of envelope 3f2a, A was reliably on the claimed side of .70 in 1, on "
        "the other in 0; 1 could not be decided."
    )


def test_what_has_no_interval_is_still_a_number_and_says_why_it_has_none() -> None:
    point = {"kind": "point", "value": 0.05, "reason": "no spread", "n": 120, "clusters": 60}
    none = {"kind": "undefined", "reason": "no scored rows", "n": 120}
    given = results(scores={"a": point}, configurations=1)
    primary, *_ = sentences(claim_test(contrast([0], difference=point)), given)
    assert primary.endswith("A scored .05 and B .66 (difference .05, interval undefined: no spread).")
    given = results(scores={"a": none}, configurations=1)
    primary, *_ = sentences(claim_test(contrast([0], difference=none)), given)
    assert primary.endswith("A scored an undefined value and B .66 (difference undefined: no scored rows).")


def test_a_refusal_gives_its_reason() -> None:
    _, envelope, verdict, _ = sentences(
        claim_test(contrast([None, None], reason="a was computed in float32"))
    )
    assert envelope.endswith("A was reliably ahead in 0, B in 0; 0 could not be decided, 2 gave no test.")
    assert verdict == "Verdict: REFUSED: no configuration gives a test (a was computed in float32)."


def test_an_undetermined_verdict_prints_the_gap_that_could_have_been_detected() -> None:
    _, _, verdict, _ = sentences(claim_test(contrast([0, 0])))
    assert verdict == (
        "Verdict: UNDETERMINED: the data decide in no configuration; a difference of .12 could have been "
        "detected."
    )


def test_an_equivalence_verdict_names_its_margin() -> None:
    _, _, verdict, _ = sentences(claim_test(contrast([0, 0], equivalence_p=0.01)))
    assert verdict == (
        "Verdict: EQUIVALENT WITHIN .05: the two differ by less than the margin in every configuration."
    )


def test_a_reversal_that_no_single_change_explains_says_so() -> None:
    _, _, verdict, _ = sentences(claim_test(contrast([1, -1]), factors=(("template", 1, 0),)))
    assert verdict.endswith("; no single factor change reverses the point estimate.")


def test_the_factor_with_the_largest_share_of_reversals_is_named() -> None:
    test = claim_test(contrast([1, -1]), factors=(("template", 20, 6), ("shots", 1, 1), ("rule", 4, 3)))
    assert (
        "changing the few-shot level alone reversed it most often (1 of 1 matched change)"
        in sentences(test)[2]
    )


def test_one_configuration_is_not_many() -> None:
    assert sentences(claim_test(contrast([1])))[1].startswith(
        "Over the 1 configuration of envelope 3f2a, A "
    )


def test_above_deployment_nothing_is_left_to_exclude() -> None:
    limits = Limits(items="x", level="deployment", tier="F1", dated="D", expires="E")
    test = claim_test(contrast([1]))
    said = claim_sentences(
        test,
        results=results(configurations=1),
        counts=Counts(ahead=1, behind=0, n=1, envelope=1),
        verdict="HOLDS THROUGHOUT",
        limits=limits,
    )
    assert "nothing outside the envelope or elsewhere follows" in said[3]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Llama 3 8B", "Llama 3 8B"),
        ("Llama, tuned", "“Llama, tuned”"),
        ("merged and tuned", "“merged and tuned”"),
        ("a; b", "“a; b”"),
        ("Brandy", "Brandy"),
    ],
)
def test_a_name_that_holds_what_lists_are_made_of_stands_in_quotation_marks(name: str, shown: str) -> None:
    assert quoted(name) == shown
    given = results(names={"a": name, "b": "B"}, configurations=1)
    primary, envelope, *_ = sentences(claim_test(contrast([1])), given)
    assert f"the run, {shown} scored .71 and B .66" in primary
    assert f"3f2a, {shown} was reliably ahead in 1, B in 0" in envelope


def test_every_verdict_has_a_meaning_and_none_promises_too_much() -> None:
    assert set(VERDICT_MEANINGS) == set(get_args(VerdictName))
    for words in (*VERDICT_MEANINGS, *VERDICT_MEANINGS.values()):
        for forbidden in ("invariant", "robust", "proved", "valid", "significant"):
            assert forbidden not in words.lower()


def test_every_factor_has_its_words() -> None:
    union = get_args(Factor)[0]
    kinds = {get_args(one.model_fields["kind"].annotation)[0] for one in get_args(union)}
    assert set(FACTOR_WORDS) == kinds


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.71, ".71"),
        (1.0, "1.00"),
        (-0.05, "−.05"),
        (-0.001, ".00"),
        (0.0, ".00"),
        (-1.5, "−1.50"),
        (0.999, "1.00"),
    ],
)
def test_a_fraction_has_no_leading_zero_a_true_minus_and_no_minus_zero(value: float, text: str) -> None:
    assert fraction(value) == text


def test_counts_lists_and_levels_in_words() -> None:
    assert [counted(1, "item"), counted(0, "item"), counted(2, "item")] == ["1 item", "0 items", "2 items"]
    assert [listed([]), listed(["A"]), listed(["A", "B"]), listed(["A", "B", "C"])] == [
        "", "A", "A and B", "A, B and C",
    ]  # fmt: skip
    assert [percent_level(0.95), percent_level(0.999), percent_level(0.9)] == ["95%", "99.9%", "90%"]
