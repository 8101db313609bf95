"""Everything that is wrong with a spec, a bundle or a report, as one list, worst first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from safetyrepro.claims.assess import find_claim_defects
from safetyrepro.claims.levels import ClosingStep, closing_steps, level_ran, lower_level
from safetyrepro.data.bundle import open_bundle, parse_document, read_manifest, read_results
from safetyrepro.data.report_record import Report
from safetyrepro.data.results import FindingRecord
from safetyrepro.errors import InputError, must_be
from safetyrepro.findings import KINDS, Finding, finding
from safetyrepro.report.documents import files_inside, read_report
from safetyrepro.report.predicate import REPORT_FILE
from safetyrepro.spec.base import Level
from safetyrepro.spec.load import load_experiment

_ORDER = ("error", "warning", "note")


@dataclass(frozen=True, slots=True)
class ClaimGap:
    """A claim away from its evidence's level, and what would close the distance."""

    claim: str
    steps: tuple[ClosingStep, ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found."""

    kind: str
    """`spec`, `bundle` or `report`."""
    findings: tuple[Finding, ...]
    """Errors first, then warnings, then notes; within each in the order they were found."""
    gaps: tuple[ClaimGap, ...]
    """Claims away from their evidence's level."""

    @property
    def clean(self) -> bool:
        """Whether there is nothing but notes."""
        return all(one.kind.severity == "note" for one in self.findings)


def find_findings(path: Path) -> Checked:
    """The findings of the spec, the bundle or the report at `path`; signatures are not looked at.

    Raises:
        InputError: it is none of them, or cannot be read.
    """
    if path.is_dir():
        return _of_bundle(path)
    if path.suffix in (".yaml", ".yml"):
        return _of_spec(path)
    return _of_report(path)


def _of_spec(path: Path) -> Checked:
    experiment = load_experiment(path).document
    level = lower_level(level_ran(experiment), experiment.evidence.level)
    claims = ((claim.id, claim.level) for claim in experiment.evidence.claims)
    return _checked("spec", find_claim_defects(experiment), claims=claims, level=level)


def _of_bundle(path: Path) -> Checked:
    bundle = open_bundle(path)
    experiment = load_experiment(bundle.spec).document
    level = lower_level(level_ran(experiment), experiment.evidence.level)
    found = (
        *find_claim_defects(experiment),
        *_records(read_results(bundle).findings, where=str(bundle.results)),
        *_records(read_manifest(bundle).findings, where=str(bundle.manifest)),
    )
    claims = ((claim.id, claim.level) for claim in experiment.evidence.claims)
    return _checked("bundle", found, claims=claims, level=level)


def _of_report(path: Path) -> Checked:
    data = read_report(path)
    record = data
    if not data.lstrip().startswith(b"{"):
        files = files_inside(data, where=str(path))
        if REPORT_FILE not in files:
            raise InputError(f"{path}: must hold {REPORT_FILE}; it does not")
        record = files[REPORT_FILE]
    report = parse_document(record, Report, where=f"{path}: {REPORT_FILE}")
    claims = ((claim.claim, claim.level) for claim in report.claims)
    return _checked("report", _records(report.findings, where=str(path)), claims=claims, level=report.level)


def _records(records: Iterable[FindingRecord], *, where: str) -> Iterator[Finding]:
    for one in records:
        if one.code not in KINDS:
            what = "findings must have codes that this version knows"
            raise InputError(must_be(where, what, one.code))
        yield finding(one.code, one.where, one.detail)


def _checked(
    kind: str, found: Iterable[Finding], *, claims: Iterable[tuple[str, Level]], level: Level
) -> Checked:
    gaps = (ClaimGap(claim, closing_steps(claimed, level)) for claim, claimed in claims)
    return Checked(
        kind=kind,
        findings=tuple(sorted(found, key=lambda one: _ORDER.index(one.kind.severity))),
        gaps=tuple(gap for gap in gaps if gap.steps),
    )
