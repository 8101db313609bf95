"""The verdict table of this project's measurement decisions: exclusive, exhaustive, conservative."""

from __future__ import annotations

import pytest
from claim_examples import claim_test, contrast
from hypothesis import given
from hypothesis import strategies as st

from safetyrepro.claims.verdicts import (
    Counts,
    envelope_verdict,
    is_equivalent,
    joint_counts,
    one_sided_alpha,
    quantifier_words,
    standing,
)
from safetyrepro.spec.evidence import RanksAbove

COUNTS = st.integers(1, 60).flatmap(
    lambda envelope: st.integers(0, envelope).flatmap(
        lambda n: st.integers(0, n).flatmap(
            lambda ahead: st.integers(0, n - ahead).map(
                lambda behind: Counts(ahead=ahead, behind=behind, n=n, envelope=envelope)
            )
        )
    )
)


def table(counts: Counts, equivalent: bool) -> list[str]:
    """Every verdict whose own condition holds, each written out on its own."""
    conditions = {
        "REFUSED": counts.n == 0,
        "HOLDS THROUGHOUT": counts.n > 0 and counts.ahead == counts.envelope,
        "HOLDS WHERE DECIDABLE": 1 <= counts.ahead < counts.envelope and counts.behind == 0,
        "REVERSED BY THE HARNESS": counts.ahead >= 1 and counts.behind >= 1,
        "CONTRADICTED": counts.behind >= 1 and counts.ahead == 0,
        "EQUIVALENT WITHIN": counts.n > 0 and counts.ahead == counts.behind == 0 and equivalent,
        "UNDETERMINED": counts.n > 0 and counts.ahead == counts.behind == 0 and not equivalent,
    }
    return [verdict for verdict, holds in conditions.items() if holds]


@given(COUNTS, st.booleans())
def test_exactly_one_verdict_applies_and_it_is_the_one_that_is_given(
    counts: Counts, equivalent: bool
) -> None:
    assert table(counts, equivalent) == [envelope_verdict(counts, equivalent=equivalent)]


@pytest.mark.parametrize(
    ("ahead", "behind", "n", "equivalent", "verdict"),
    [
        (48, 0, 48, False, "HOLDS THROUGHOUT"),
        (47, 0, 48, False, "HOLDS WHERE DECIDABLE"),
        (47, 0, 47, False, "HOLDS WHERE DECIDABLE"),  # one configuration gave no test
        (31, 5, 48, False, "REVERSED BY THE HARNESS"),
        (31, 5, 48, True, "REVERSED BY THE HARNESS"),
        (0, 1, 48, False, "CONTRADICTED"),
        (0, 0, 48, True, "EQUIVALENT WITHIN"),
        (0, 0, 48, False, "UNDETERMINED"),
        (0, 0, 0, False, "REFUSED"),
    ],
)
def test_the_verdicts_of_an_envelope_of_48(
    ahead: int, behind: int, n: int, equivalent: bool, verdict: str
) -> None:
    counts = Counts(ahead=ahead, behind=behind, n=n, envelope=48)
    assert envelope_verdict(counts, equivalent=equivalent) == verdict


def test_a_configuration_is_ahead_where_every_contrast_is_and_behind_where_any_is() -> None:
    first = contrast([1, 1, 1, 0, -1, None, None, None])
    second = contrast([1, 0, -1, 0, -1, None, -1, 1])
    assert joint_counts(claim_test(first, second)) == Counts(ahead=1, behind=3, n=6, envelope=8)


def test_a_step_without_a_test_never_hides_one_that_is_reversed() -> None:
    counts = joint_counts(claim_test(contrast([None]), contrast([-1])))
    assert envelope_verdict(counts, equivalent=False) == "CONTRADICTED"
    counts = joint_counts(claim_test(contrast([None]), contrast([1])))
    assert envelope_verdict(counts, equivalent=False) == "REFUSED"


@pytest.mark.parametrize(
    ("p_holds", "p_fails", "expected"),
    [
        (0.025, 0.9, "supported"),
        (0.02501, 0.9, "undecided"),
        (0.9, 0.025, "contradicted"),
        (0.9, 0.02501, "undecided"),
        (1.0, 1.0, "undecided"),
        (None, None, "refused"),
    ],
)
def test_an_assertion_stands_or_falls_by_one_sided_tests_at_half_the_joint_level(
    p_holds: float | None, p_fails: float | None, expected: str
) -> None:
    test = claim_test(contrast([0]), p_holds=p_holds, p_fails=p_fails)
    assert standing(test, confidence=0.95) == expected


def test_a_one_sided_test_decides_where_the_two_sided_interval_does() -> None:
    assert one_sided_alpha(0.95) == pytest.approx(0.025)
    assert one_sided_alpha(0.9) == pytest.approx(0.05)


@pytest.mark.parametrize(("p", "expected"), [(0.025, True), (0.026, False), (None, False)])
def test_equivalence_needs_its_test_in_every_configuration(p: float | None, expected: bool) -> None:
    assert is_equivalent(contrast([0, 0], equivalence_p=p), confidence=0.95) is expected


@pytest.mark.parametrize(
    ("over", "r", "envelope", "words"),
    [
        ("primary", None, 48, "the primary configuration"),
        ("every", None, 48, "every one of the 48 configurations"),
        ("every", None, 1, "every one of the 1 configuration"),
        ("at_least", 5, 48, "at least 5 of the 48 configurations"),
    ],
)
def test_a_quantifier_says_which_configurations_are_meant(
    over: str, r: int | None, envelope: int, words: str
) -> None:
    assertion = RanksAbove.model_validate(
        {"kind": "ranks_above", "above": "a", "below": "b", "over": over, "r": r}
    )
    assert quantifier_words(assertion, envelope=envelope) == words
    assert quantifier_words(None, envelope=envelope) == "none"
