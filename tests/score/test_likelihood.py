"""Scoring rules read off a row, and the float64 reference of the log-softmax."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax as scipy_log_softmax

from safetyrepro.data.records import Outcome, Row
from safetyrepro.score.likelihood import log_softmax, rule_score, sum_nats, token_log_probs
from safetyrepro.spec.factors import Rule

DIGEST = "sha256:" + "0" * 64


def row(
    *, outcome: Outcome = Outcome.SCORED, sum_: float | None = -12.0, alone: float | None = -20.0
) -> Row:
    return Row(
        pass_="p", item="i", item_digest=DIGEST, answer="chosen", outcome=outcome,
        sum_nats=sum_, unconditional_nats=alone, tokens=4, bytes_=24,
    )  # fmt: skip


@pytest.mark.parametrize(("rule", "score"), [("sum", -12.0), ("mean", -3.0), ("byte", -0.5), ("pmi", 8.0)])
def test_each_rule_divides_by_its_own_unit(rule: Rule, score: float) -> None:
    assert rule_score(rule, row()) == score


@pytest.mark.parametrize("outcome", [Outcome.LIMIT, Outcome.ERROR, Outcome.REFUSED, Outcome.UNPARSED])
def test_an_outcome_that_is_not_scored_is_never_a_number(outcome: Outcome) -> None:
    assert rule_score("sum", row(outcome=outcome, sum_=None)) is None


def test_pmi_without_an_unconditional_score_is_refused() -> None:
    with pytest.raises(ValueError, match="item i: pmi needs unconditional_nats"):
        rule_score("pmi", row(alone=None))


def test_log_softmax_is_scipys_and_ignores_a_shift() -> None:
    logits = np.random.default_rng(1).normal(scale=30, size=(7, 50))
    assert log_softmax(logits) == pytest.approx(scipy_log_softmax(logits, axis=-1), abs=1e-12)
    assert log_softmax(logits + 1e4) == pytest.approx(log_softmax(logits), abs=1e-9)


def test_an_impossible_token_has_no_probability() -> None:
    assert log_softmax(np.array([0.0, -np.inf])).tolist() == [0.0, -np.inf]


def test_row_t_of_the_logits_predicts_token_t_plus_one() -> None:
    logits = np.full((4, 3), -50.0)
    logits[[0, 1, 2], [2, 0, 1]] = 50.0  # after token t comes, surely, this one
    sure = token_log_probs(logits, ids=(1, 2, 0, 1), start=1)
    assert sure == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)


@pytest.mark.parametrize("start", [0, 4])
def test_a_first_token_has_no_probability(start: int) -> None:
    with pytest.raises(ValueError, match="start must be from 1 to 3"):
        token_log_probs(np.zeros((4, 3)), ids=(1, 2, 0, 1), start=start)


@given(st.lists(st.floats(-1e6, 0), min_size=1, max_size=60))
def test_a_sum_does_not_depend_on_the_order(values: list[float]) -> None:
    shuffled = sorted(values, key=lambda value: math.sin(value * 7))
    assert sum_nats(np.array(values)) == sum_nats(np.array(shuffled))
