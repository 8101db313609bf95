"""What the other statements say: a plan before a run, a report taken back or replaced, items that leaked,
a report run again. Each is a predicate of an in-toto statement and has its JSON Schema.

All of them state when they were signed. That time is the signer's word; no third party confirms it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, StringConstraints
from pydantic import JsonValue as PlainJson

from safetyrepro.attest.document import AttestedDocument, Instant
from safetyrepro.attest.statement import DeclaredSigner, PredicateType
from safetyrepro.data.report_record import VerdictName
from safetyrepro.report.predicate import ReportPredicate
from safetyrepro.spec.base import Digest

Reason = Annotated[str, StringConstraints(min_length=1, max_length=2_000)]
DecimalText = Annotated[str, StringConstraints(pattern=r"^[0-9]+(\.[0-9]+)?(e-?[0-9]+)?$")]
Outcome = Literal["identical", "within tolerance", "different"]
Stage = Literal["environment", "weights", "scores", "statistics", "claims"]

ITEMS_SUBJECT = "items"
"""The subject of a notice about items: their digest, whichever file they stand in."""


class SignedWord(AttestedDocument):
    """What every such predicate holds: when it was signed, by its own word, and by whom."""

    issued_at: Instant
    """When it was signed, as the signer asserts."""
    signers: Annotated[tuple[DeclaredSigner, ...], Field(min_length=1)]
    """Who is to sign, with which key, as what."""


class PreregistrationPredicate(SignedWord):
    """What will be run and claimed, signed before the run; the subject is the spec file."""

    schema_: Literal["safetyrepro/preregistration-predicate/v1"] = Field(alias="schema")
    """The document's kind and version."""
    spec: str
    """The spec's id."""
    version: int
    """The spec's version."""
    claims: tuple[dict[str, PlainJson], ...]
    """The claims as the spec declares them."""
    primary: dict[str, str]
    """The primary configuration: a level for every factor."""
    envelope: Digest
    """The digest of the factors with their levels."""
    analysis: dict[str, PlainJson]
    """What is estimated and how, as the spec declares it."""
    items: Digest
    """The digest of the items."""
    models: dict[str, Digest]
    """The digest of each model's entry in the spec: its source, precision and rounding."""


class RevocationPredicate(SignedWord):
    """The report named by the subjects no longer holds."""

    schema_: Literal["safetyrepro/revocation-predicate/v1"] = Field(alias="schema")
    """The document's kind and version."""
    report: str
    """The report's id."""
    reason: Reason
    """Why, for its readers."""


class SupersessionPredicate(SignedWord):
    """The report named by the subjects is replaced by another."""

    schema_: Literal["safetyrepro/supersession-predicate/v1"] = Field(alias="schema")
    """The document's kind and version."""
    report: str
    """The id of the report that is replaced."""
    replaced_by: str
    """The id of the report that replaces it."""
    replaced_by_statement: Digest
    """The digest of that report's statement."""
    reason: Reason
    """Why, for its readers."""


class ContaminationPredicate(SignedWord):
    """The items named by the subject are known to have been seen in training."""

    schema_: Literal["safetyrepro/contamination-predicate/v1"] = Field(alias="schema")
    """The document's kind and version."""
    name: str
    """What the items are called."""
    reason: Reason
    """What is known, for readers."""


class StageComparison(AttestedDocument):
    """One stage of a run, held against the original's."""

    stage: Stage
    """Which stage."""
    same: bool
    """Whether it came out the same."""
    detail: str
    """What differs, or that nothing does."""


class ClaimComparison(AttestedDocument):
    """One claim's verdict in the original and when run again."""

    claim: str
    """The claim's id."""
    original: VerdictName
    """The verdict in the original."""
    again: VerdictName
    """The verdict when run again."""
    assertion: str
    """Whether the assertion stands, in the original."""
    assertion_again: str
    """Whether it stands when run again."""


class ReproductionPredicate(SignedWord):
    """The report named by the subjects was run again, with this outcome."""

    schema_: Literal["safetyrepro/reproduction-predicate/v1"] = Field(alias="schema")
    """The document's kind and version."""
    report: str
    """The original report's id."""
    outcome: Outcome
    """All the same; the same within the tolerance, every claim's verdict too; or neither."""
    first_difference: Stage | None
    """The first stage that came out otherwise; none where all are the same."""
    tolerance: DecimalText
    """The most by which two estimates may differ, as a decimal; relative where an estimate is above 1."""
    largest_difference: DecimalText
    """The largest difference of two estimates, on that scale, as a decimal."""
    estimates: int
    """How many estimates were compared."""
    differing: int
    """How many of them differ by more than the tolerance."""
    stages: tuple[StageComparison, ...]
    """Every stage in its order."""
    claims: tuple[ClaimComparison, ...]
    """Every claim."""
    results: Digest
    """The digest of the results of the second run."""
    manifest: Digest
    """The digest of the manifest of the second run."""
    started_at: Instant
    """When the second run started, as its signer asserts."""


PREDICATES: Mapping[PredicateType, type[AttestedDocument]] = {
    PredicateType.REPORT: ReportPredicate,
    PredicateType.PREREGISTRATION: PreregistrationPredicate,
    PredicateType.REVOCATION: RevocationPredicate,
    PredicateType.SUPERSESSION: SupersessionPredicate,
    PredicateType.CONTAMINATION: ContaminationPredicate,
    PredicateType.REPRODUCTION: ReproductionPredicate,
}
