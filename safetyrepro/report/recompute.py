"""Every number and every verdict of a report, computed again from the stored rows.

The path from rows to numbers is the analysis alone: the runner is not imported, no model is loaded and
nothing is written. What is stored and what comes out are compared value by value, without a tolerance.
It says that the numbers follow from the rows; whether the rows are what a model scored is asked by
`reproduce`, and whose they are by `verify`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from safetyrepro.analysis.analyse import analyse
from safetyrepro.canonical import JsonValue, canonical_bytes, digest_bytes, parse_json
from safetyrepro.claims.validity import parse_time
from safetyrepro.data.bundle import ROWS_DIR, Bundle, parse_document, parse_items, parse_rows
from safetyrepro.data.manifest import Manifest
from safetyrepro.data.records import Row, items_digest
from safetyrepro.data.report_record import Materials, Report
from safetyrepro.data.results import Results
from safetyrepro.errors import InputError, IntegrityError
from safetyrepro.report.predicate import (
    ITEMS_FILE,
    MANIFEST_FILE,
    PREREGISTRATION_FILE,
    REPORT_FILE,
    RESULTS_FILE,
    SPEC_FILE,
)
from safetyrepro.report.preregistration import preregistration_findings
from safetyrepro.report.record import report_record
from safetyrepro.spec.load import parse_experiment

MOST_SHARD_BYTES = 64 << 20
"""The most that the rows of one shard may inflate to; a shard holds at most 10,000 items."""

RowFile = Callable[[str], bytes]
"""Gives the bytes of a file of rows by its path in the bundle."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where what is stored is not what the rows give."""

    path: str
    """The document and the path inside it, such as `results.json: cells.3.headline.value`."""
    stored: JsonValue
    """What is stored; absent values are none."""
    recomputed: JsonValue
    """What comes out."""


@dataclass(frozen=True, slots=True)
class Recomputation:
    """What was computed again, and every difference in the order of the documents."""

    numbers: int
    """Numbers of `results.json` that were compared."""
    rows: int
    """Stored rows that they were computed from."""
    claims: int | None
    """Verdicts of `report.json` that were compared; none where there is no report."""
    differences: tuple[Difference, ...]


def recompute(documents: Mapping[str, bytes], *, row_file: RowFile) -> Recomputation:
    """The results, and the report where there is one, computed again and compared.

    Args:
        documents: spec, items, results and manifest by name; the report record where there is one.
        row_file: gives the files of rows that the manifest names.

    Raises:
        InputError: a document is missing or not what it must be; rows cannot be had.
        IntegrityError: rows are not those that the manifest records.
    """
    for name in (SPEC_FILE, ITEMS_FILE, RESULTS_FILE, MANIFEST_FILE):
        if name not in documents:
            raise InputError(f"recompute: must have {name}; it is not there")
    experiment = parse_experiment(documents[SPEC_FILE], SPEC_FILE)
    items = parse_items(documents[ITEMS_FILE], where=ITEMS_FILE)
    manifest = parse_document(documents[MANIFEST_FILE], Manifest, where=MANIFEST_FILE)
    stored = parse_document(documents[RESULTS_FILE], Results, where=RESULTS_FILE)
    results = analyse(
        experiment,
        items=items,
        rows=lambda pass_id: _rows_of_pass(manifest, pass_id=pass_id, row_file=row_file),
    )
    kept, made = _json(stored), _json(results)
    differences = [*find_differences(kept, made, path=RESULTS_FILE)]
    claims = None
    if REPORT_FILE in documents:
        report = parse_document(documents[REPORT_FILE], Report, where=REPORT_FILE)
        again = report_record(
            experiment,
            results=results,
            manifest=manifest,
            materials=_materials(documents, manifest=manifest, row_file=row_file),
            issued_at=parse_time(report.window.issued_at, f"{REPORT_FILE}: window.issued_at"),
            generator=report.generator,
        )
        if PREREGISTRATION_FILE in documents:
            found_plan = preregistration_findings(
                documents[PREREGISTRATION_FILE], experiment=experiment, manifest=manifest
            )
            again = again.model_copy(update={"findings": (*again.findings, *found_plan)})
        differences += find_differences(_json(report), _json(again), path=REPORT_FILE)
        claims = len(report.claims)
    recorded: dict[str, JsonValue] = {
        "spec_file_digest": manifest.spec_file_digest,
        "items_digest": manifest.items_digest,
        "results_digest": manifest.results_digest,
    }
    found: dict[str, JsonValue] = {
        "spec_file_digest": digest_bytes(documents[SPEC_FILE]),
        "items_digest": items_digest(items),
        "results_digest": digest_bytes(documents[RESULTS_FILE]),
    }
    differences += find_differences(recorded, found, path=MANIFEST_FILE)
    return Recomputation(
        numbers=_numbers(made),
        rows=sum(shard.rows for shard in manifest.shards),
        claims=claims,
        differences=tuple(differences),
    )


def recompute_bundle(bundle: Bundle) -> Recomputation:
    """A finished bundle computed again, with its report where one was written."""
    paths = {
        SPEC_FILE: bundle.spec,
        ITEMS_FILE: bundle.items,
        RESULTS_FILE: bundle.results,
        MANIFEST_FILE: bundle.manifest,
        REPORT_FILE: bundle.report / REPORT_FILE,
        PREREGISTRATION_FILE: bundle.report / PREREGISTRATION_FILE,
    }
    documents = {name: _read(path) for name, path in paths.items() if path.is_file()}
    return recompute(documents, row_file=rows_in_folder(bundle.root))


def recompute_files(files: Mapping[str, bytes], *, bundle: Path | None, where: str) -> Recomputation:
    """A report's files computed again; its rows are among them, or in the bundle they came from.

    Raises:
        InputError: the rows are neither inside nor in a bundle.
    """
    if bundle is not None:
        return recompute(files, row_file=rows_in_folder(bundle))

    def attached(name: str) -> bytes:
        if name not in files:
            raise InputError(
                f"{where}: must hold the rows, or be given with their bundle; {name} is not inside "
                "(rows too large to be attached are named by digest only: add --bundle FOLDER)"
            )
        return files[name]

    return recompute(files, row_file=attached)


def rows_in_folder(root: Path) -> RowFile:
    """The files of rows in a bundle's folder; a manifest's schema keeps their names inside `rows/`."""

    def read(name: str) -> bytes:
        if not name.startswith(f"{ROWS_DIR}/") or "/" in name.removeprefix(f"{ROWS_DIR}/"):
            raise InputError(f"{root}: rows must be inside {ROWS_DIR}/; got {name!r}")
        return _read(root / name)

    return read


def find_differences(stored: JsonValue, recomputed: JsonValue, *, path: str) -> Iterator[Difference]:
    """Every place where two JSON values differ, in their order; true is not 1, and absent is not null."""
    separator = "." if ": " in path else ": "
    if isinstance(stored, Mapping) and isinstance(recomputed, Mapping):
        for key in (*stored, *(key for key in recomputed if key not in stored)):
            place = f"{path}{separator}{key}"
            if key in stored and key in recomputed:
                yield from find_differences(stored[key], recomputed[key], path=place)
            else:
                yield Difference(place, stored.get(key), recomputed.get(key))
    elif isinstance(stored, list | tuple) and isinstance(recomputed, list | tuple):
        for index, (one, other) in enumerate(zip(stored, recomputed, strict=False)):
            yield from find_differences(one, other, path=f"{path}{separator}{index}")
        if len(stored) != len(recomputed):
            yield Difference(f"{path}{separator}length", len(stored), len(recomputed))
    elif isinstance(stored, bool) != isinstance(recomputed, bool) or stored != recomputed:
        yield Difference(path, stored, recomputed)


def _rows_of_pass(manifest: Manifest, *, pass_id: str, row_file: RowFile) -> Iterator[Row]:
    for shard in manifest.shards:
        if shard.pass_ == pass_id:
            yield from parse_rows(
                row_file(shard.file), where=shard.file, sha256=shard.sha256, most_bytes=MOST_SHARD_BYTES
            )


def _materials(documents: Mapping[str, bytes], *, manifest: Manifest, row_file: RowFile) -> Materials:
    return Materials(
        spec=digest_bytes(documents[SPEC_FILE]),
        results=digest_bytes(documents[RESULTS_FILE]),
        manifest=digest_bytes(documents[MANIFEST_FILE]),
        items=digest_bytes(documents[ITEMS_FILE]),
        rows={shard.file: digest_bytes(row_file(shard.file)) for shard in manifest.shards},
    )


def _json(document: Results | Report) -> JsonValue:
    """A document as its canonical JSON says it, so that -0 and 0, tuples and lists are the same."""
    return parse_json(canonical_bytes(document.model_dump(mode="json", by_alias=True)), "document")


def _numbers(value: JsonValue) -> int:
    if isinstance(value, Mapping):
        return sum(_numbers(one) for one in value.values())
    if isinstance(value, list | tuple):
        return sum(_numbers(one) for one in value)
    return int(isinstance(value, int | float) and not isinstance(value, bool))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise IntegrityError(f"{path}: must be readable; got {error.strerror or error}") from error
