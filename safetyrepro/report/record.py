"""The report record as a pure function of its documents, so that anyone can make it again."""

from __future__ import annotations

import datetime as dt

from safetyrepro.claims.assess import assess
from safetyrepro.claims.validity import format_time, parse_time
from safetyrepro.data.manifest import Manifest
from safetyrepro.data.report_record import Materials, Report, Window
from safetyrepro.data.results import FindingRecord, Results
from safetyrepro.errors import InputError
from safetyrepro.spec.experiment import Experiment


def report_record(
    experiment: Experiment,
    *,
    results: Results,
    manifest: Manifest,
    materials: Materials,
    issued_at: dt.datetime,
    generator: str,
) -> Report:
    """All that a report states.

    Args:
        experiment: the spec that ran.
        results: every number.
        manifest: what produced them.
        materials: the digests of the documents and the rows.
        issued_at: when the report is issued; the expiry does not depend on it.
        generator: the program and version that made it.

    Raises:
        InputError: it would be issued before its evidence was collected.
    """
    collected_at = parse_time(manifest.collected_at, "manifest: collected_at")
    if issued_at < collected_at:
        raise InputError(
            f"{experiment.id}: a report must be issued after its evidence was collected "
            f"({manifest.collected_at}); got {format_time(issued_at)}"
        )
    assessment = assess(experiment, results=results, collected_at=collected_at)
    return Report(
        id=f"{experiment.id}-v{experiment.version}-{manifest.bundle_digest.removeprefix('sha256:')[:12]}",
        title=experiment.title,
        question=experiment.question,
        answer=assessment.answer,
        caveat=experiment.evidence.caveat,
        level=assessment.level,
        level_ran=assessment.level_ran,
        tier=assessment.tier,
        tier_links=assessment.links,
        scope=experiment.evidence.scope,
        window=Window(
            collected_at=manifest.collected_at,
            issued_at=format_time(issued_at),
            expires_at=format_time(assessment.expires_at),
            period=experiment.evidence.validity.period,
            triggers=experiment.evidence.validity.triggers,
        ),
        evaluator=experiment.evaluator,
        claims=assessment.claims,
        non_claims=assessment.non_claims,
        findings=(
            *(
                FindingRecord(code=one.code, where=one.where, detail=one.detail)
                for one in assessment.findings
            ),
            *results.findings,
            *manifest.findings,
        ),
        materials=materials,
        generator=generator,
    )
