"""A claim outside what was tested is a finding; one without a scope has that of the evidence."""

from __future__ import annotations

import pytest
from fakes import Finished

from safetyrepro.claims.assess import find_claim_defects
from safetyrepro.claims.scope import find_scope_defects
from safetyrepro.spec.evidence import ClaimScope, Scope
from safetyrepro.spec.experiment import Experiment

TESTED = Scope(
    population="People who ask about plants.",
    languages=("en", "de"),
    tasks=("Give advice.", "Refuse."),
    conditions="One turn, no tools",
    excluded=("Medical advice", "Spanish"),
)


def with_scope(finished: Finished, scope: ClaimScope | None) -> Experiment:
    experiment = finished.job.experiment
    claim = experiment.evidence.claims[0].model_copy(update={"scope": scope})
    evidence = experiment.evidence.model_copy(update={"scope": TESTED, "claims": (claim,)})
    return experiment.model_copy(update={"evidence": evidence})


@pytest.mark.parametrize(
    ("scope", "detail"),
    [
        (ClaimScope(languages=("en", "fr", "es")), "languages fr, es, tested en, de"),
        (ClaimScope(tasks=("Give advice.", "Write code")), "tasks not tested: Write code"),
        (ClaimScope(population="Everyone"), "population “Everyone”, tested “People who ask about plants.”"),
        (ClaimScope(conditions="With tools"), "conditions “With tools”, tested “One turn, no tools”"),
        (
            ClaimScope(tasks=("medical advice.",)),
            "tasks not tested: medical advice.; declared as not tested: Medical advice",
        ),
    ],
)
def test_a_claim_outside_what_was_tested_is_one_finding(
    finished: Finished, scope: ClaimScope, detail: str
) -> None:
    experiment = with_scope(finished, scope)
    found = list(find_scope_defects(experiment))
    assert [one.code for one in found] == ["SR206"]
    assert found[0].where == f"claim {experiment.evidence.claims[0].id}"
    assert found[0].detail == detail
    assert found[0] in list(find_claim_defects(experiment))


@pytest.mark.parametrize(
    "scope",
    [
        None,
        ClaimScope(),
        ClaimScope(languages=("de",)),
        ClaimScope(tasks=("give  ADVICE",), population="people who ask about plants"),
        ClaimScope(conditions="one turn, no tools."),
    ],
)
def test_a_claim_inside_what_was_tested_is_none(finished: Finished, scope: ClaimScope | None) -> None:
    assert list(find_scope_defects(with_scope(finished, scope))) == []


def test_a_claim_without_a_scope_keeps_the_digest_of_its_spec(finished: Finished) -> None:
    assert "scope" not in finished.job.experiment.evidence.claims[0].model_fields_set
