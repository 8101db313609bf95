from __future__ import annotations

import pytest
from fakes import Finished

from safetyrepro.claims.levels import (
    LEVEL_MEANINGS,
    find_level_defects,
    inferential_distance,
    level_ran,
    lower_level,
    printed_type,
)
from safetyrepro.findings import KINDS
from safetyrepro.spec.base import LEVELS, Level
from safetyrepro.spec.evidence import Claim
from safetyrepro.spec.experiment import Experiment


def claim(level: Level, kind: str = "observation") -> Claim:
    return Claim.model_validate({"id": "c", "statement": "It is so.", "type": kind, "level": level})


def declared(experiment: Experiment, *, level: Level, claims: tuple[Claim, ...]) -> Experiment:
    evidence = experiment.evidence.model_copy(update={"level": level, "claims": claims})
    return experiment.model_copy(update={"evidence": evidence})


def test_the_log_likelihood_of_given_text_is_evidence_about_the_model(finished: Finished) -> None:
    assert level_ran(finished.job.experiment) == "model"


def test_levels_are_ordered_and_distance_is_signed() -> None:
    assert tuple(LEVEL_MEANINGS) == LEVELS == ("model", "response", "interaction", "deployment")
    assert inferential_distance("deployment", "model") == 3
    assert inferential_distance("model", "interaction") == -2
    assert inferential_distance("response", "response") == 0
    for first in LEVELS:
        for second in LEVELS:
            assert inferential_distance(first, second) == -inferential_distance(second, first)
            assert lower_level(first, second) == LEVELS[min(LEVELS.index(first), LEVELS.index(second))]


@pytest.mark.parametrize("distance", [-3, -1, 1, 3])
@pytest.mark.parametrize(
    ("kind", "printed"),
    [
        ("observation", "inference"),
        ("inference", "inference"),
        ("prediction", "prediction"),
        ("normative", "normative"),
    ],
)
def test_away_from_its_evidence_nothing_is_observed(kind: str, printed: str, distance: int) -> None:
    assert printed_type(claim("model", kind), distance) == printed
    assert printed_type(claim("model", kind), 0) == kind


@pytest.mark.parametrize("level", ["response", "interaction", "deployment"])
def test_evidence_declared_above_what_ran_is_an_error(finished: Finished, level: Level) -> None:
    experiment = declared(finished.job.experiment, level=level, claims=(claim("model"),))
    found = [one for one in find_level_defects(experiment) if one.code == "SR205"]
    assert [(one.where, one.detail) for one in found] == [
        ("evidence.level", f"declared {level}, what ran allows model")
    ]
    assert KINDS["SR205"].severity == "error"


def test_declaring_too_much_does_not_bring_a_claim_nearer_to_its_evidence(finished: Finished) -> None:
    experiment = declared(finished.job.experiment, level="deployment", claims=(claim("deployment"),))
    found = {one.code: one.detail for one in find_level_defects(experiment)}
    assert found["SR201"] == "speaks of deployment, the evidence is model (distance +3)"


@pytest.mark.parametrize(
    ("level", "codes"),
    [("model", ["SR203"]), ("response", ["SR201", "SR203"]), ("deployment", ["SR201", "SR203"])],
)
def test_a_claim_above_its_evidence_is_a_finding_and_so_is_one_that_nothing_checks(
    finished: Finished, level: Level, codes: list[str]
) -> None:
    experiment = declared(finished.job.experiment, level="model", claims=(claim(level),))
    assert [one.code for one in find_level_defects(experiment)] == codes
    assert {one.where for one in find_level_defects(experiment)} == {"claim c"}


def test_a_claim_below_its_evidence_is_a_finding(
    finished: Finished, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No scorer of this version collects evidence above the model, so what ran is put in its place.
    monkeypatch.setattr("safetyrepro.claims.levels.level_ran", lambda _: "interaction")
    experiment = declared(finished.job.experiment, level="interaction", claims=(claim("model"),))
    found = [(one.code, one.detail) for one in find_level_defects(experiment)]
    assert found[0] == ("SR202", "speaks of model, the evidence is interaction (distance -2)")
