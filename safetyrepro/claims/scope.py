"""Whether a claim stays inside what was tested: population, languages, tasks, conditions, exclusions."""

from __future__ import annotations

from collections.abc import Iterator

from safetyrepro.findings import Finding, finding
from safetyrepro.spec.evidence import Claim, Scope
from safetyrepro.spec.experiment import Experiment


def find_scope_defects(experiment: Experiment) -> Iterator[Finding]:
    """Claims that declare a scope beyond that of their evidence; one finding a claim."""
    for claim in experiment.evidence.claims:
        beyond = list(_beyond(claim, experiment.evidence.scope))
        if beyond:
            yield finding("SR206", f"claim {claim.id}", "; ".join(beyond))


def _beyond(claim: Claim, tested: Scope) -> Iterator[str]:
    scope = claim.scope
    if scope is None:
        return
    languages = [one for one in scope.languages or () if one not in tested.languages]
    if languages:
        yield f"languages {', '.join(languages)}, tested {', '.join(tested.languages)}"
    known = {_plain(task) for task in tested.tasks}
    tasks = [task for task in scope.tasks or () if _plain(task) not in known]
    if tasks:
        yield f"tasks not tested: {', '.join(tasks)}"
    for name, claimed, given in (
        ("population", scope.population, tested.population),
        ("conditions", scope.conditions, tested.conditions),
    ):
        if claimed is not None and _plain(claimed) != _plain(given):
            yield f"{name} “{claimed}”, tested “{given}”"
    named = {
        _plain(one) for one in (scope.population, scope.conditions, *(scope.tasks or ())) if one is not None
    }
    excluded = [one for one in tested.excluded if _plain(one) in named]
    if excluded:
        yield f"declared as not tested: {', '.join(excluded)}"


def _plain(text: str) -> str:
    """A text without case, doubled spaces and a final full stop: scopes are compared word by word."""
    return " ".join(text.casefold().split()).removesuffix(".")
