"""A finished bundle to the report record: all that a report states, before it is drawn or signed."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from safetyrepro.canonical import digest_bytes, digest_file
from safetyrepro.data.bundle import Bundle, read_items, read_manifest, read_results, read_rows
from safetyrepro.data.manifest import Manifest
from safetyrepro.data.records import items_digest
from safetyrepro.data.report_record import Materials, Report
from safetyrepro.data.results import Results
from safetyrepro.errors import IntegrityError
from safetyrepro.report.printer import program
from safetyrepro.report.record import report_record
from safetyrepro.spec.experiment import Experiment
from safetyrepro.spec.load import load_experiment


@dataclass(frozen=True, slots=True)
class Assembled:
    """A report record with the documents it was made from."""

    report: Report
    experiment: Experiment
    results: Results
    manifest: Manifest


def assemble(bundle: Bundle, *, issued_at: dt.datetime) -> Assembled:
    """The report of a finished bundle.

    Args:
        bundle: a finished bundle, as `open_bundle` gives it.
        issued_at: when the report is issued; the expiry does not depend on it.

    Raises:
        IntegrityError: the parts of the bundle do not belong together, or its rows are not what was scored.
        InputError: a part cannot be read, or the report would be issued before its evidence was collected.
    """
    loaded = load_experiment(bundle.spec)
    results, manifest = read_results(bundle), read_manifest(bundle)
    _check_belonging(bundle, loaded.data, results=results, manifest=manifest)
    materials = Materials(
        spec=digest_bytes(loaded.data),
        results=manifest.results_digest,
        manifest=digest_bytes(bundle.manifest.read_bytes()),
        items=digest_bytes(bundle.items.read_bytes()),
        rows={shard.file: digest_file(bundle.root / shard.file) for shard in manifest.shards},
    )
    report = report_record(
        loaded.document,
        results=results,
        manifest=manifest,
        materials=materials,
        issued_at=issued_at,
        generator=program(),
    )
    return Assembled(report, loaded.document, results, manifest)


def _check_belonging(bundle: Bundle, spec: bytes, *, results: Results, manifest: Manifest) -> None:
    recorded = {
        "spec.yaml": (digest_bytes(spec), manifest.spec_file_digest),
        "results.json": (digest_bytes(bundle.results.read_bytes()), manifest.results_digest),
        "items.json": (items_digest(read_items(bundle)), manifest.items_digest),
        "results.json: spec": (results.spec_digest, manifest.spec_digest),
    }
    for name, (found, expected) in recorded.items():
        if found != expected:
            raise IntegrityError(f"{bundle.root}: {name} must have digest {expected}; got {found}")
    for shard in manifest.shards:
        read_rows(bundle.root / shard.file, sha256=shard.sha256)
