"""What the report's statement says about its subjects: which report, in force when, signed by whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field

from safetyrepro.attest.document import AttestedDocument, Instant, parse_instant
from safetyrepro.attest.statement import (
    DeclaredSigner,
    PredicateType,
    Statement,
    new_statement,
)
from safetyrepro.data.report_record import Report, Tier
from safetyrepro.spec.base import Level

REPORT_FILE = "report.json"
RESULTS_FILE = "results.json"
MANIFEST_FILE = "manifest.json"
ITEMS_FILE = "items.json"
SPEC_FILE = "spec.yaml"
STATEMENT_FILE = "statement.json"
ENVELOPE_FILE = "envelope.dsse.json"
PREREGISTRATION_FILE = "preregistration.dsse.json"


class ReportPredicate(AttestedDocument):
    """The predicate of a report's statement; its digests stand in the statement's subjects."""

    schema_: Literal["safetyrepro/report-predicate/v1"] = Field(alias="schema")
    """The document's kind and version."""
    report: str
    """The report's id."""
    level: Level
    """The level of the evidence."""
    tier: Tier
    """The formality tier."""
    collected_at: Instant
    """The time of the oldest evidence."""
    issued_at: Instant
    """From when the report is in force."""
    expires_at: Instant
    """Until when, counted from the oldest evidence."""
    signers: tuple[DeclaredSigner, ...]
    """Who is to sign, with which key, as what; empty for a report without a signature."""
    non_claims: tuple[str, ...]
    """What the signers do not say."""


def report_statement(
    report: Report,
    *,
    report_digest: str,
    signers: Sequence[DeclaredSigner],
    plans: Mapping[str, str] | None = None,
) -> Statement:
    """The statement over a report: its record, results, manifest, items, spec and every file of rows.

    Args:
        report: the report record.
        report_digest: the digest of the record's bytes.
        signers: who is to sign.
        plans: the digest of the signed plan by its name, where there is one.
    """
    materials = report.materials
    window = report.window
    predicate = ReportPredicate(
        schema_="safetyrepro/report-predicate/v1",
        report=report.id,
        level=report.level,
        tier=report.tier,
        collected_at=parse_instant(window.collected_at),
        issued_at=parse_instant(window.issued_at),
        expires_at=parse_instant(window.expires_at),
        signers=tuple(signers),
        non_claims=report.non_claims,
    )
    subjects = {
        REPORT_FILE: report_digest,
        RESULTS_FILE: materials.results,
        MANIFEST_FILE: materials.manifest,
        ITEMS_FILE: materials.items,
        SPEC_FILE: materials.spec,
        **materials.rows,
        **(plans or {}),
    }
    return new_statement(
        subjects,
        predicate_type=PredicateType.REPORT,
        predicate=predicate.model_dump(mode="json", by_alias=True),
    )
