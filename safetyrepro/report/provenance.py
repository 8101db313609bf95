"""What the numbers were made from: systems, items, every digest, the software, and the run."""

from __future__ import annotations

from collections.abc import Iterator

from safetyrepro.data.manifest import Manifest
from safetyrepro.data.report_record import Report
from safetyrepro.data.results import Results
from safetyrepro.report.notation import count, fixed, listed, plural
from safetyrepro.report.rows import capped
from safetyrepro.report.tree import Column, Entry, Provenance, Table, TableRow, Term
from safetyrepro.spec.experiment import Experiment
from safetyrepro.spec.items import FileItems, HubItems, ItemSource, LinesItems, Origin
from safetyrepro.spec.models import HubModel, Model, ModelSource, PathModel


def provenance_view(
    report: Report, *, results: Results, manifest: Manifest, experiment: Experiment
) -> Provenance:
    """Where everything comes from."""
    return Provenance(
        systems=_systems(experiment, manifest),
        items=tuple(_items(experiment, results)),
        digests=tuple(_digests(report, results=results, manifest=manifest)),
        rows=_rows(report, manifest),
        software=tuple(_software(manifest)),
        run=tuple(_run(manifest)),
    )


def _systems(experiment: Experiment, manifest: Manifest) -> Table:
    rows = []
    for model in experiment.models:
        facts = next(one for one in manifest.models if one.model == model.id)
        rows.append(
            TableRow(
                entries=(
                    Entry(model.name),
                    Entry(source_words(model.source)),
                    Entry(_treatment(model)),
                    Entry(facts.architecture),
                    Entry(count(facts.context_tokens)),
                    Entry(", ".join(word for word in (model.developer, model.licence) if word) or "–"),
                )
            )
        )
    printed, remark = capped(rows, total=len(rows), what="systems")
    return Table(
        id="systems",
        caption="Systems under comparison",
        columns=(
            Column("system", is_header=True),
            Column("source"),
            Column("weights"),
            Column("architecture"),
            Column("context", align="number"),
            Column("developer, licence"),
        ),
        rows=printed,
        remark=remark,
    )


def source_words(source: ModelSource) -> str:
    """Where weights come from, in words."""
    if isinstance(source, HubModel):
        file = f", {source.file}" if source.file else ""
        return f"hub {source.repo}{file} at {source.revision[:12]}"
    if isinstance(source, PathModel):
        return f"local {source.path}"
    return f"package {source.package}, {source.file}"


def items_source_words(source: ItemSource) -> str:
    """Where items come from, in words."""
    if isinstance(source, FileItems):
        return f"file {source.path}"
    if isinstance(source, HubItems):
        config = f" ({source.config})" if source.config else ""
        return f"hub {source.repo}{config}, split {source.split}, at {source.revision[:12]}"
    if isinstance(source, LinesItems):
        return f"lines of {plural(len(source.files), 'file')}: {listed([one.path for one in source.files])}"
    return f"package {source.package}, {source.file}"


def _treatment(model: Model) -> str:
    if model.weights is None:
        return "as stored"
    return f"{model.weights.bits} bits, groups of {model.weights.group}, round to nearest"


def _items(experiment: Experiment, results: Results) -> Iterator[Term]:
    items = experiment.items
    kind = "choices" if items.kind == "choice" else "crossed twins" if items.twins else "preference pairs"
    grouped = f", in {plural(results.items.clusters, 'cluster')}" if results.items.clustered else ""
    yield Term("items", f"{items.name}: {count(results.items.items)} {kind}{grouped}")
    yield Term("source", items_source_words(items.source))
    if items.sample is not None:
        yield Term("sample", f"{count(items.sample.rows)} at most, seed {items.sample.seed}")
    if items.where:
        yield Term("rows kept", ", ".join(f"{key} = {value}" for key, value in items.where.items()))
    yield Term("labels", _origin(items.labels))
    yield Term("texts", _origin(items.texts))
    if items.weights is not None:
        yield Term(
            "stratum weights",
            ", ".join(f"{one.name} {fixed(one.weight, digits=3)}" for one in items.weights),
        )
    if items.licence:
        yield Term("licence", items.licence)
    if items.note:
        yield Term("note", items.note)


def _origin(origin: Origin) -> str:
    text = f"by {'a ' if origin.by in ('program', 'key', 'model') else ''}{origin.by}: {origin.note}"
    agreement = origin.agreement
    if agreement is None:
        return f"{text}; agreement not measured" if origin.by == "people" else text
    return (
        f"{text}; {agreement.statistic} {fixed(agreement.estimate, digits=3)}, lower bound "
        f"{fixed(agreement.low, digits=3)}, {agreement.coders} coders ({agreement.source})"
    )


def _digests(report: Report, *, results: Results, manifest: Manifest) -> Iterator[Term]:
    materials = report.materials
    yield Term("spec file", materials.spec, is_code=True)
    yield Term("results", materials.results, is_code=True)
    yield Term("manifest", materials.manifest, is_code=True)
    yield Term("items", materials.items, is_code=True)
    if manifest.items_file_digest is not None:
        yield Term("items' file", manifest.items_file_digest, is_code=True)
    yield Term("envelope", results.envelope_digest, is_code=True)
    yield Term("scaffold", manifest.scaffold_digest, is_code=True)
    yield Term("program code", manifest.versions.code, is_code=True)
    yield Term("bundle", manifest.bundle_digest, is_code=True)
    for what in ("weights", "tokenizer", "template"):
        yield from _model_digests(manifest, what)


def _model_digests(manifest: Manifest, what: str) -> Iterator[Term]:
    """One line a distinct digest, with the systems that share it."""
    shared: dict[str, list[str]] = {}
    for one in manifest.models:
        digest = {"weights": one.weights, "tokenizer": one.tokenizer, "template": one.template}[what]
        shared.setdefault(digest or "none", []).append(one.model)
    for digest, models in shared.items():
        owners = "all systems" if len(models) == len(manifest.models) else ", ".join(models)
        yield Term(f"{what} of {owners}", digest, is_code=True)


def _rows(report: Report, manifest: Manifest) -> Table:
    rows = [
        TableRow(
            entries=(
                Entry(shard.file),
                Entry(count(shard.rows)),
                Entry(report.materials.rows.get(shard.file, "not in the report record")),
            )
        )
        for shard in manifest.shards
    ]
    printed, remark = capped(rows, total=len(rows), what="files of rows")
    return Table(
        id="rows",
        caption="Stored rows: the scores that every number is made from",
        columns=(
            Column("file", align="code", is_header=True),
            Column("rows", align="number"),
            Column("digest of the file", align="code"),
        ),
        rows=printed,
        remark=remark,
    )


def _software(manifest: Manifest) -> Iterator[Term]:
    yield Term("safetyrepro", manifest.versions.safetyrepro)
    yield Term("Python", manifest.versions.python)
    for name in sorted(manifest.versions.packages):
        yield Term(name, manifest.versions.packages[name])


def _run(manifest: Manifest) -> Iterator[Term]:
    seconds = sum(shard.seconds for shard in manifest.shards)
    tokens = sum(shard.tokens for shard in manifest.shards)
    yield Term("oldest evidence", manifest.collected_at)
    yield Term("newest evidence", manifest.finished_at)
    yield Term("passes, shards", f"{count(len(manifest.passes))}, {count(len(manifest.shards))}")
    yield Term("tokens computed", count(tokens))
    yield Term("computing time", f"{count(round(seconds))} s")
    slow = sum(not one.fast_path for one in manifest.passes)
    packed = "packed" if not slow else f"plain path in {slow} of {len(manifest.passes)} passes"
    yield Term("path", packed)
