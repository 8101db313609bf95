"""The numbers that decide the declared claims: one joint family, one Holm correction."""

from __future__ import annotations

import itertools

import numpy as np

from safetyrepro.analysis.contrasts import Asked, claim_contrasts, compare
from safetyrepro.analysis.quantities import value_of
from safetyrepro.analysis.table import ScoreTable
from safetyrepro.data.results import ClaimTest, Contrast, Difference, FactorReversal
from safetyrepro.spec.envelope import Configuration, primary_configuration
from safetyrepro.spec.evidence import Assertion
from safetyrepro.spec.experiment import Experiment
from safetyrepro.stats.multiplicity import holm_adjust, partial_conjunction_p


def claim_tests(experiment: Experiment, *, table: ScoreTable) -> tuple[ClaimTest, ...]:
    """One test a claim with an assertion; p-values are Holm-adjusted over these claims."""
    names = {model.id: model.name for model in experiment.models}
    claims = [
        (claim, claim.assertion, claim_contrasts(claim.assertion, names=names))
        for claim in experiment.evidence.claims
        if claim.assertion is not None
    ]
    asked: tuple[Asked, ...] = tuple(itertools.chain.from_iterable(parts for _, _, parts in claims))
    contrasts = iter(compare(experiment, table=table, asked=asked, purpose="claims").contrasts)
    primary = primary_configuration(experiment).id
    tests: list[tuple[str, tuple[Contrast, ...], float | None, float | None]] = []
    for claim, assertion, parts in claims:
        own = tuple(itertools.islice(contrasts, len(parts)))
        holds, fails = _claim_p(assertion, own, primary=primary)
        tests.append((claim.id, own, holds, fails))
    adjusted_holds = _holm([holds for _, _, holds, _ in tests])
    adjusted_fails = _holm([fails for _, _, _, fails in tests])
    return tuple(
        ClaimTest(
            claim=name,
            contrasts=own,
            p_holds=holds,
            p_fails=fails,
            factors=factor_reversals(own, table.configurations),
        )
        for (name, own, _, _), holds, fails in zip(tests, adjusted_holds, adjusted_fails, strict=True)
    )


def _claim_p(
    assertion: Assertion, contrasts: tuple[Contrast, ...], *, primary: str
) -> tuple[float | None, float | None]:
    """One-sided p-values that the assertion holds over its configurations, and that it fails.

    In one configuration it holds when all its contrasts are ahead (the largest p-value) and fails when
    one is behind (Bonferroni over contrasts). "At least r of n" is a partial conjunction; it fails when
    at least n - r + 1 fail. An undefined configuration decides neither way.
    """
    holds: list[float | None] = []
    fails: list[float | None] = []
    for index, first in enumerate(contrasts[0].differences):
        if assertion.over == "primary" and first.configuration != primary:
            continue
        ahead = [contrast.differences[index].p_ahead for contrast in contrasts]
        behind = [contrast.differences[index].p_behind for contrast in contrasts]
        known_ahead = [p for p in ahead if p is not None]
        known_behind = [p for p in behind if p is not None]
        complete = len(known_ahead) == len(ahead)
        holds.append(max(known_ahead) if complete else None)
        fails.append(min(1.0, len(contrasts) * min(known_behind)) if known_behind else None)
    if all(p is None for p in holds):
        return None, None
    n = len(holds)
    needed = n if assertion.over != "at_least" else assertion.r or n
    return (
        partial_conjunction_p(_conservative(holds), at_least=needed),
        partial_conjunction_p(_conservative(fails), at_least=n - needed + 1),
    )


def _conservative(p_values: list[float | None]) -> list[float]:
    return [1.0 if p is None else p for p in p_values]


def _holm(p_values: list[float | None]) -> list[float | None]:
    known = [p for p in p_values if p is not None]
    adjusted = iter(holm_adjust(np.array(known, dtype=np.float64)).tolist())
    return [None if p is None else float(next(adjusted)) for p in p_values]


def factor_reversals(
    contrasts: tuple[Contrast, ...], grid: tuple[Configuration, ...]
) -> tuple[FactorReversal, ...]:
    """Matched changes of one factor, and how many of them reverse the sign of the point estimate.

    For a claim of several contrasts the sign is that of the smallest: above zero where all of it holds.
    A difference of exactly zero, or without a number, has no sign and reverses nothing.
    """
    signs = [_sign([contrast.differences[c] for contrast in contrasts]) for c in range(len(grid))]
    found: list[FactorReversal] = []
    for position, (factor, _) in enumerate(grid[0].levels):
        matched = turned = 0
        for a, b in itertools.combinations(range(len(grid)), 2):
            differing = [
                place
                for place, (one, two) in enumerate(zip(grid[a].levels, grid[b].levels, strict=True))
                if one != two
            ]
            if differing == [position]:
                matched += 1
                turned += signs[a] * signs[b] < 0
        if matched:
            found.append(
                FactorReversal.model_validate({"factor": factor, "matched": matched, "reversed": turned})
            )
    return tuple(found)


def _sign(differences: list[Difference]) -> int:
    values = [value_of(one.difference) for one in differences]
    known = [value for value in values if value is not None]
    return int(np.sign(min(known))) if len(known) == len(values) else 0
