from __future__ import annotations

import datetime as dt

import pytest
from claim_examples import claim_test, contrast, estimate, results
from fakes import Finished

from safetyrepro.claims.assess import Assessment, assess
from safetyrepro.data.report_record import ClaimVerdict
from safetyrepro.data.results import Results
from safetyrepro.spec.experiment import Experiment

COLLECTED = dt.datetime(2026, 8, 31, 12, 0, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def experiment(finished: Finished) -> Experiment:
    return finished.job.experiment


@pytest.fixture(scope="module")
def assessment(finished: Finished) -> Assessment:
    return assess(finished.job.experiment, results=finished.outcome.results, collected_at=COLLECTED)


def verdict_of(assessment: Assessment, claim: str) -> ClaimVerdict:
    return next(one for one in assessment.claims if one.claim == claim)


def one_claim(experiment: Experiment, **changes: object) -> Experiment:
    """The experiment with the one claim `claim`."""
    claim = experiment.evidence.claims[0].model_copy(update={"id": "claim", **changes})
    return experiment.model_copy(
        update={"evidence": experiment.evidence.model_copy(update={"claims": (claim,)})}
    )


def test_every_claim_gets_a_verdict_and_the_wording_of_its_limits(
    experiment: Experiment, assessment: Assessment
) -> None:
    assert [one.claim for one in assessment.claims] == [one.id for one in experiment.evidence.claims]
    for one in assessment.claims:
        if one.verdict != "NOT CHECKED":
            assert len(one.sentences) == 4
            assert one.sentences[3] == (
                "This concerns 24 items in 12 twins of the tiny twins, equally weighted, model level, F1; "
                "nothing outside the envelope or at deployment follows; evidence dated 2026-08-31, expires "
                "2027-02-28."
            )


def test_a_claim_that_nothing_checks_is_printed_as_not_checked(assessment: Assessment) -> None:
    one = verdict_of(assessment, "unchecked")
    assert (one.verdict, one.assertion, one.quantifier) == ("NOT CHECKED", "not checked", "none")
    assert one.sentences == (
        "Verdict: NOT CHECKED: the claim has no assertion that a program could check.",
    )


def test_a_claim_above_its_evidence_is_printed_as_an_inference_with_its_distance(
    assessment: Assessment,
) -> None:
    one = verdict_of(assessment, "users")
    assert (one.type, one.printed_type, one.distance) == ("observation", "inference", 3)
    assert [(found.code, found.where) for found in assessment.findings] == [
        ("SR203", "claim unchecked"),
        ("SR201", "claim users"),
    ]


def test_margins_and_quantifiers_are_carried(assessment: Assessment) -> None:
    assert verdict_of(assessment, "middle-not-worse").margin == 0.3
    assert verdict_of(assessment, "same").margin == 0.4
    assert verdict_of(assessment, "same").quantifier == "at least 4 of the 8 configurations"
    assert verdict_of(assessment, "strong-first").margin is None


def test_expiry_counts_from_the_oldest_evidence(assessment: Assessment) -> None:
    assert assessment.expires_at == dt.datetime(2027, 2, 28, 12, 0, tzinfo=dt.UTC)


def test_what_was_not_varied_is_said(assessment: Assessment) -> None:
    assert "Not tested: anything else." in assessment.non_claims
    assert (
        "Nothing is said about configurations outside the envelope; not varied: system, shots, dtype, "
        "weights." in assessment.non_claims
    )


def test_declaring_a_higher_level_than_ran_changes_neither_level_nor_distance(
    experiment: Experiment, finished: Finished
) -> None:
    evidence = experiment.evidence.model_copy(update={"level": "deployment"})
    found = assess(
        experiment.model_copy(update={"evidence": evidence}),
        results=finished.outcome.results,
        collected_at=COLLECTED,
    )
    assert (found.level, found.level_ran) == ("model", "model")
    assert verdict_of(found, "users").distance == 3
    assert "SR205" in [one.code for one in found.findings]


def test_an_equivalence_within_the_margin_is_said_of_plain_pairs_only(experiment: Experiment) -> None:
    def verdict(given: Results) -> ClaimVerdict:
        return assess(one_claim(experiment), results=given, collected_at=COLLECTED).claims[0]

    plain = verdict(results(tests=[claim_test(contrast([0, 0], equivalence_p=0.01))]))
    assert (plain.verdict, plain.margin) == ("EQUIVALENT WITHIN", 0.05)
    shifted = verdict(results(tests=[claim_test(contrast([0, 0], offset=0.1, equivalence_p=0.01))]))
    assert shifted.verdict == "UNDETERMINED"
    ahead = verdict(results(tests=[claim_test(contrast([0, 1], equivalence_p=0.01))]))
    assert ahead.verdict == "HOLDS WHERE DECIDABLE"


ORDERS = [
    ([{"a": 1.0, "b": 2.0}] * 2, "By point estimate A ranks first in all 2 configurations"),
    (
        [{"a": 1.0, "b": 2.0}, {"a": 2.0, "b": 1.0}],
        "By point estimate the first place changes hands within the 2 configurations (A and B)",
    ),
    ([{"a": 1.5, "b": 1.5}] * 2, "By point estimate A and B share the first place in all 2 configurations"),
    (
        [{"a": 1.5, "b": 1.5}, {"a": 1.0, "b": 2.0}],
        "By point estimate the first place changes hands within the 2 configurations (A and B)",
    ),
    (
        [{"a": 1.0, "b": 2.0}, {}],
        "By point estimate A ranks first in 1 of 2 configurations, the others give none",
    ),
    ([{}, {}], "No ranking is given"),
]


@pytest.mark.parametrize(("ranks", "words"), ORDERS)
def test_the_answer_says_who_is_first_where(
    experiment: Experiment, ranks: list[dict[str, float]], words: str
) -> None:
    given = results(tests=[claim_test(contrast([1, 1]), p_holds=0.001)], ranks=ranks)
    found = assess(one_claim(experiment), results=given, collected_at=COLLECTED)
    assert found.answer == f"{words}; 1 of 1 checked claim supported."


def test_the_answer_counts_reversals_and_says_where_nothing_is_checked(experiment: Experiment) -> None:
    given = results(tests=[claim_test(contrast([1, -1]))])
    found = assess(one_claim(experiment), results=given, collected_at=COLLECTED)
    assert found.answer.endswith("; 0 of 1 checked claim supported, 1 reversed by the harness.")
    found = assess(one_claim(experiment, assertion=None), results=results(), collected_at=COLLECTED)
    assert found.answer.endswith("; no claim has an assertion that a program could check.")


def test_names_that_hold_commas_are_told_apart_in_the_answer(experiment: Experiment) -> None:
    given = results(
        names={"a": "A, tuned", "b": "B and C"},
        scores={"a": estimate(0.7, 0.6, 0.8)},
        ranks=[{"a": 1.0, "b": 2.0}, {"a": 2.0, "b": 1.0}],
    )
    found = assess(one_claim(experiment, assertion=None), results=given, collected_at=COLLECTED)
    assert "(“A, tuned” and “B and C”)" in found.answer


def test_one_system_alone_is_not_ranked(experiment: Experiment) -> None:
    alone = one_claim(experiment.model_copy(update={"models": experiment.models[:1]}), assertion=None)
    given = results(names={"a": "A"}, ranks=[{"a": 1.0}] * 2)
    found = assess(alone, results=given, collected_at=COLLECTED)
    assert found.answer == "No claim has an assertion that a program could check."


def test_the_weakest_links_are_named_where_the_tier_is_f0(experiment: Experiment) -> None:
    labels = experiment.items.labels.model_copy(update={"by": "model"})
    items = experiment.items.model_copy(update={"labels": labels})
    found = assess(
        one_claim(experiment.model_copy(update={"items": items}), assertion=None),
        results=results(),
        collected_at=COLLECTED,
    )
    assert found.tier == "F0"
    assert [(one.code, one.detail) for one in found.findings][-1] == (
        "SR204",
        "decided by a model or without agreement: label",
    )


def test_the_answer_names_at_most_three_systems_that_share_or_take_the_first_place(
    experiment: Experiment,
) -> None:
    names = {letter: letter.upper() for letter in "abcde"}
    scores = {name: estimate(0.7, 0.6, 0.8) for name in names}
    shared = results(names=names, scores=scores, ranks=[dict.fromkeys(names, 3.0)] * 2)
    answer = assess(experiment, results=shared, collected_at=COLLECTED).answer
    assert answer.startswith("By point estimate A, B, C and 2 others share the first place in all 2 conf")
