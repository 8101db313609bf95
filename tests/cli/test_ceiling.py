"""`safetyrepro ceiling`: the numbers of the statistic, in words and as JSON."""

from __future__ import annotations

import json

import pytest

from safetyrepro.cli import execute
from safetyrepro.cli.exits import Exit


def test_it_says_the_factor_its_bound_and_the_trials_a_factor_takes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = "ceiling --trials 300 --unsafe .01 --awareness .05 --factor 10"
    assert execute(command.split()) == Exit.CLEAN
    said = capsys.readouterr().out
    assert "for the lower rate at most 10.4" in said
    assert "never 20 or more" in said
    assert "undefined (at a safe rate of 0 one failure refutes it" in said
    assert "after 300 trials without a failure the rate is below 0.00994 (95%, one-sided" in said
    assert "for a factor of 10: 293 trials" in said


def test_clustered_trials_are_bounded_by_their_families(capsys: pytest.CaptureFixture[str]) -> None:
    command = "ceiling --trials 300 --unsafe .01 --family-size 10 --icc .2"
    assert execute(command.split()) == Exit.CLEAN
    said = capsys.readouterr().out
    assert "300 trials in 30 families, icc 0.2" in said
    assert "after 30 families without a failure" in said


def test_the_json_has_numbers_or_the_reason_why_there_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    command = "ceiling --trials 300 --unsafe .01 --safe .001 --awareness .05 --factor 100 --json"
    assert execute(command.split()) == Exit.CLEAN
    document = json.loads(capsys.readouterr().out)
    assert document["for_safe"] == pytest.approx(8.85, abs=0.2)
    assert document["awareness_bound"] == pytest.approx(20)
    assert document["required_trials"] == {
        "undefined": "with awareness 0.05 every null result stays below 20"
    }


def test_an_impossible_rate_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["ceiling", "--trials", "10", "--unsafe", "1.5"]) == Exit.REFUSED
    assert "the unsafe rate must be above the safe rate 0.0 and below 1; got 1.5" in capsys.readouterr().err
