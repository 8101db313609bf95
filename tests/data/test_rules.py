from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from safetyrepro.data.records import Outcome, Row
from safetyrepro.data.rules import RULE_UNITS, prompt_blind_scores, rule_scores
from safetyrepro.score.likelihood import rule_score
from safetyrepro.spec.factors import Rule

SUMS = np.array([-6.0, -4.0, np.nan, -2.0])
BLIND = np.array([-9.0, -3.0, np.nan, np.nan])
TOKENS = np.array([3, 1, 0, 2])
BYTES = np.array([12, 4, 0, 0])


def scores(rule: Rule) -> list[float]:
    return rule_scores(
        rule, sum_nats=SUMS, unconditional_nats=BLIND, tokens=TOKENS, utf8_bytes=BYTES
    ).tolist()


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("sum", [-6.0, -4.0, np.nan, -2.0]),
        ("mean", [-2.0, -4.0, np.nan, -1.0]),
        ("byte", [-0.5, -1.0, np.nan, np.nan]),
        ("pmi", [3.0, -1.0, np.nan, np.nan]),
    ],
)
def test_a_rule_reads_its_score_off_a_pass_and_gives_nothing_where_there_is_none(
    rule: Rule, expected: list[float]
) -> None:
    np.testing.assert_array_equal(scores(rule), expected)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("sum", [-9.0, -3.0, np.nan, np.nan]),
        ("mean", [-3.0, -3.0, np.nan, np.nan]),
        ("byte", [-0.75, -0.75, np.nan, np.nan]),
        ("pmi", [-9.0, -3.0, np.nan, np.nan]),
    ],
)
def test_a_prompt_blind_score_is_the_rule_without_the_prompt_and_under_pmi_the_plain_sum(
    rule: Rule, expected: list[float]
) -> None:
    found = prompt_blind_scores(rule, unconditional_nats=BLIND, tokens=TOKENS, utf8_bytes=BYTES)
    np.testing.assert_array_equal(found, expected)


def test_every_rule_has_a_unit_and_none_changes_what_it_reads() -> None:
    assert set(RULE_UNITS) == set(get_args(Rule))
    before = SUMS.copy()
    for rule in RULE_UNITS:
        rule_scores(rule, sum_nats=SUMS, unconditional_nats=BLIND, tokens=TOKENS, utf8_bytes=BYTES)[0] = 7.0
    np.testing.assert_array_equal(SUMS, before)


@pytest.mark.parametrize("rule", get_args(Rule))
def test_rows_and_arrays_give_the_same_score(rule: Rule) -> None:
    one = Row(
        pass_="m-0",
        item="a",
        item_digest="sha256:" + "0" * 64,
        answer="chosen",
        outcome=Outcome.SCORED,
        sum_nats=-1.5,
        unconditional_nats=-2.25,
        tokens=3,
        bytes_=9,
    )
    (found,) = rule_scores(
        rule,
        sum_nats=np.array([one.sum_nats], dtype=np.float64),
        unconditional_nats=np.array([one.unconditional_nats], dtype=np.float64),
        tokens=np.array([one.tokens]),
        utf8_bytes=np.array([one.bytes_]),
    )
    assert found == rule_score(rule, one)
