"""Results built by hand, for what is said about them: contrasts of given signs, cells of given scores."""

from __future__ import annotations

from collections.abc import Sequence

from safetyrepro.data.results import ClaimTest, Contrast, FactorReversal, Results

Sign = int | None
ENVELOPE = "sha256:3f2a" + "0" * 60


def estimate(value: float, low: float, high: float) -> dict[str, object]:
    return {
        "kind": "estimate",
        "value": value,
        "low": low,
        "high": high,
        "confidence": 0.95,
        "method": "cluster-t",
        "n": 120,
        "clusters": 60,
    }


def contrast(
    signs: Sequence[Sign],
    *,
    first: str = "a",
    second: str | None = "b",
    offset: float = 0.0,
    difference: dict[str, object] | None = None,
    equivalence_p: float | None = 0.5,
    detectable_gap: float | None = 0.12,
    reason: str = "the two agree in each of the 60 clusters, so their difference has no spread",
) -> Contrast:
    """A contrast over `c0, c1, ...` with one decision each; None is a configuration without a test."""
    undefined = {"kind": "undefined", "reason": reason, "n": 120}
    given = estimate(0.05, 0.01, 0.09) if difference is None else difference
    return Contrast.model_validate(
        {
            "name": f"{first} against {second}",
            "first": first,
            "second": second,
            "offset": offset,
            "differences": tuple(
                {
                    "configuration": f"c{index}",
                    "difference": undefined if sign is None else given,
                    "joint_low": None if sign is None else -0.1,
                    "joint_high": None if sign is None else 0.1,
                    "ahead": sign,
                    "p_ahead": None if sign is None else 0.5,
                    "p_behind": None if sign is None else 0.5,
                }
                for index, sign in enumerate(signs)
            ),
            "raw_ahead": 0,
            "raw_behind": 0,
            "k_ahead": sum(sign == 1 for sign in signs),
            "k_behind": sum(sign == -1 for sign in signs),
            "n": sum(sign is not None for sign in signs),
            "disagreement_low": 0.0,
            "disagreement_high": 0.5,
            "detectable_gap": detectable_gap,
            "equivalence_margin": 0.05,
            "equivalence_p": equivalence_p,
        }
    )


def claim_test(
    *contrasts: Contrast,
    p_holds: float | None = 0.5,
    p_fails: float | None = 0.5,
    factors: Sequence[tuple[str, int, int]] = (("template", 6, 4), ("rule", 24, 5)),
) -> ClaimTest:
    """A test of the claim `claim`; factors are (name, matched changes, reversals)."""
    return ClaimTest(
        claim="claim",
        contrasts=contrasts,
        p_holds=p_holds,
        p_fails=p_fails,
        factors=tuple(
            FactorReversal.model_validate({"factor": name, "matched": matched, "reversed": turned})
            for name, matched, turned in factors
        ),
    )


def results(
    *,
    names: dict[str, str] | None = None,
    scores: dict[str, dict[str, object]] | None = None,
    configurations: int = 2,
    tests: Sequence[ClaimTest] = (),
    ranks: Sequence[dict[str, float]] | None = None,
) -> Results:
    """Results of models a, b, c over `c0, c1, ...` with c0 primary."""
    named = names or {"a": "A", "b": "B"}
    scored = {"a": estimate(0.71, 0.6, 0.8), "b": estimate(0.66, 0.6, 0.7)} | (scores or {})
    given = ranks or [{model: 1.0 + index for index, model in enumerate(named)}] * configurations
    return Results.model_validate(
        {
            "spec": "example",
            "spec_version": 1,
            "spec_digest": "sha256:" + "1" * 64,
            "envelope_digest": ENVELOPE,
            "estimand": "alignment_half",
            "confidence": 0.95,
            "resamples": 400,
            "joint_resamples": 400,
            "seed": 7,
            "models": tuple({"id": model, "name": name} for model, name in named.items()),
            "configurations": tuple(
                {"id": f"c{index}", "levels": {"template": "plain"}, "primary": index == 0}
                for index in range(configurations)
            ),
            "items": {
                "id": "twins",
                "name": "the example twins",
                "digest": "sha256:" + "2" * 64,
                "items": 120,
                "clusters": 60,
                "clustered": True,
                "twins": True,
                "strata": (),
            },
            "cells": tuple(
                cell(model, f"c{index}", scored[model])
                for model in named
                for index in range(configurations)
            ),
            "random": None,
            "rankings": tuple(
                {"configuration": f"c{index}", "ranks": given[index]} for index in range(configurations)
            ),
            "comparisons": (),
            "claim_tests": tuple(tests),
            "findings": (),
        }
    )


def cell(model: str, configuration: str, headline: dict[str, object]) -> dict[str, object]:
    return {
        "model": model,
        "configuration": configuration,
        "pass": f"{model}-0",
        "outcomes": {"scored": 120, "tie": 0},
        "spans_join": 0,
        "headline": headline,
        "half": headline,
        "strict": headline,
        "hoeffding_radius": 0.1,
        "margin": headline,
        "unit": "nats",
        "strata": (),
        "weighted": None,
        "twins": None,
        "prompt_blind": None,
        "longer_wins": headline,
        "shorter_wins": headline,
        "swapped_identity": True,
    }
