"""The one loop: an experiment to a bundle, resumable at every shard.

Passes are grouped by what must be loaded once (source, dtype, rounding); every pass is cut into
shards of items; a shard that is stored with the same key is not computed again. Killed at any moment,
the same call goes on where it stopped and gives the same results to the byte.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from safetyrepro.analysis.analyse import analyse
from safetyrepro.canonical import digest_bytes, digest_json
from safetyrepro.claims.validity import format_time
from safetyrepro.data.bundle import (
    Bundle,
    open_bundle,
    read_manifest,
    read_results,
    read_rows,
    write_document,
    write_items,
)
from safetyrepro.data.manifest import Manifest, ModelDigests, PassInfo, ShardInfo
from safetyrepro.data.records import Pair, Row, item_record, items_digest
from safetyrepro.data.results import FindingRecord, Results
from safetyrepro.data.sources import ItemSet
from safetyrepro.errors import InputError, IntegrityError
from safetyrepro.findings import Finding
from safetyrepro.run.code import code_digest, current_versions
from safetyrepro.run.progress import Progress
from safetyrepro.run.store import ShardRecord, ShardStore, only_run, write_spec
from safetyrepro.score.backend import Backend
from safetyrepro.score.rendering import Renderer
from safetyrepro.score.selfcheck import SelfCheck, self_check
from safetyrepro.score.shard import score_shard, shard_key
from safetyrepro.spec.consistency import check_experiment
from safetyrepro.spec.envelope import Pass, passes
from safetyrepro.spec.experiment import Device, Experiment
from safetyrepro.spec.models import Dtype, ModelSource, WeightRounding


class Loader(Protocol):
    """Brings models to memory; `score.local` is the real one."""

    def device_class(self, device: Device) -> str:
        """What a run on this machine is called in a bundle's name, such as `cpu`."""

    def weights_digest(self, source: ModelSource, *, base_dir: Path) -> str:
        """The digest of the weights as stored, without loading them."""

    def load(
        self,
        source: ModelSource,
        *,
        dtype: Dtype,
        rounding: WeightRounding | None,
        device: Device,
        base_dir: Path,
    ) -> Backend:
        """The model, ready to score."""


@dataclass(frozen=True, slots=True)
class Job:
    """Everything a run is given."""

    experiment: Experiment
    spec_bytes: bytes
    base_dir: Path
    items: ItemSet
    out_dir: Path
    cache_dir: Path | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run leaves behind."""

    bundle: Bundle
    results: Results
    manifest: Manifest
    reused_shards: int
    computed_shards: int


@dataclass(frozen=True, slots=True)
class _Shard:
    name: str
    number: int
    pairs: tuple[Pair, ...]


@dataclass(slots=True)
class _Collected:
    """What the loop gathers for the manifest."""

    models: dict[str, ModelDigests] = field(default_factory=dict)
    passes: list[PassInfo] = field(default_factory=list)
    shards: list[ShardInfo] = field(default_factory=list)
    findings: list[FindingRecord] = field(default_factory=list)
    attention: str = ""
    token_budget: int = 0
    reused: int = 0
    computed: int = 0


def run_experiment(job: Job, *, loader: Loader, progress: Progress) -> Outcome:
    """Score what is missing, analyse what is stored, and leave a complete bundle.

    Raises:
        InputErrors: the parts of the spec do not fit together.
        InputError: the input, a template or a model refuses; another run holds the bundle.
        StorageError: the disk refuses; what is complete is kept.
    """
    check_experiment(job.experiment)
    if not job.items.pairs:
        raise InputError("items: must hold at least one pair; got none")
    device = loader.device_class(job.experiment.device)
    digest = bundle_digest(job, loader=loader, device=device)
    root = job.out_dir / f"{job.experiment.id}-{digest.removeprefix('sha256:')[:12]}"
    bundle = Bundle(root)
    with only_run(bundle):
        finished = _finished(bundle, digest)
        if finished is not None:
            progress.note(f"{root} is complete; nothing to compute")
            return finished
        write_spec(bundle, job.spec_bytes)
        write_items(bundle, tuple(item_record(pair) for pair in job.items.pairs))
        collected = _score(job, bundle=bundle, loader=loader, progress=progress)
        progress.note("analysing")
        results = analyse(
            job.experiment,
            items=[item_record(pair) for pair in job.items.pairs],
            rows=lambda pass_id: stored_rows(bundle, collected.shards, pass_id=pass_id),
        )
        results_digest = write_document(bundle.results, results)
        manifest = _manifest(
            job, collected, device=device, bundle_digest=digest, results_digest=results_digest
        )
        write_document(bundle.manifest, manifest)
    progress.finish()
    return Outcome(bundle, results, manifest, collected.reused, collected.computed)


def bundle_digest(job: Job, *, loader: Loader, device: str) -> str:
    """What a bundle's name is made of: spec, data, models, device class and code."""
    sources = {model.id: model.source for model in job.experiment.models}
    digests: dict[str, str] = {}
    weights = {
        name: digests.setdefault(
            digest_json(source.model_dump(mode="json")),
            loader.weights_digest(source, base_dir=job.base_dir),
        )
        for name, source in sources.items()
    }
    return digest_json(
        {
            "spec": digest_bytes(job.spec_bytes),
            "items": job.items.digest,
            "weights": weights,
            "device": device,
            "code": code_digest(),
        }
    )


def stored_rows(bundle: Bundle, shards: Iterable[ShardInfo], *, pass_id: str) -> Iterator[Row]:
    """The rows of one pass, shard by shard, each checked against its digest."""
    for shard in shards:
        if shard.pass_ == pass_id:
            yield from read_rows(bundle.root / shard.file, sha256=shard.sha256)


def _finished(bundle: Bundle, digest: str) -> Outcome | None:
    """The bundle's outcome if it is complete and nothing in it has changed."""
    if not bundle.manifest.is_file():
        return None
    try:
        manifest = read_manifest(open_bundle(bundle.root))
        results = read_results(bundle)
        intact = (
            manifest.bundle_digest == digest
            and manifest.results_digest == digest_bytes(bundle.results.read_bytes())
            and all(_intact(bundle, shard) for shard in manifest.shards)
        )
    except InputError:
        return None
    return Outcome(bundle, results, manifest, len(manifest.shards), 0) if intact else None


def _intact(bundle: Bundle, shard: ShardInfo) -> bool:
    store = ShardStore(bundle, cache=None)
    name = Path(shard.file).name.removesuffix(".jsonl.gz")
    return store.find(name, key=shard.key, pass_id=shard.pass_) is not None


def _score(job: Job, *, bundle: Bundle, loader: Loader, progress: Progress) -> _Collected:
    collected = _Collected()
    cache = None if job.cache_dir is None else job.cache_dir / "shards"
    store = ShardStore(bundle, cache=cache)
    todo = passes(job.experiment)
    size = job.experiment.device.shard_items
    shards_per_pass = -(-len(job.items.pairs) // size)
    progress.start(shards=shards_per_pass * len(todo), done=0)
    for group in _groups(todo):
        first = next(iter(group.values()))
        progress.note(f"loading {first.model.name}")
        backend = loader.load(
            first.model.source,
            dtype=first.dtype,
            rounding=first.rounding,
            device=job.experiment.device,
            base_dir=job.base_dir,
        )
        budget = job.experiment.device.token_budget or backend.default_token_budget
        check = self_check(backend, token_budget=budget)
        collected.attention, collected.token_budget = backend.identity.attention, budget
        _collect_findings(collected, check.findings)
        for pass_id, one in group.items():
            _score_pass(
                job,
                one,
                pass_id=pass_id,
                backend=backend,
                check=check,
                budget=budget,
                store=store,
                progress=progress,
                collected=collected,
            )
    return collected


def _groups(todo: Mapping[str, Pass]) -> Iterator[dict[str, Pass]]:
    """Passes that one loaded model serves, in the order in which they are first needed."""
    grouped: dict[str, dict[str, Pass]] = {}
    for name, one in todo.items():
        key = digest_json(
            {
                "source": one.model.source.model_dump(mode="json"),
                "dtype": one.dtype,
                "rounding": None if one.rounding is None else one.rounding.model_dump(mode="json"),
            }
        )
        grouped.setdefault(key, {})[name] = one
    yield from grouped.values()


def _score_pass(
    job: Job,
    one: Pass,
    *,
    pass_id: str,
    backend: Backend,
    check: SelfCheck,
    budget: int,
    store: ShardStore,
    progress: Progress,
    collected: _Collected,
) -> None:
    scorer = job.experiment.scorer
    renderer = Renderer(backend.tokenizer, one.frame)
    collected.models.setdefault(one.model.id, _model_digests(one.model.id, backend))
    collected.passes.append(_pass_info(one, pass_id, backend=backend, renderer=renderer, check=check))
    _collect_findings(collected, renderer.findings(where=f"pass {pass_id}"))
    for shard in _shards(job, pass_id):
        key = shard_key(
            backend.identity,
            shard.pairs,
            frame=one.frame,
            scorer=scorer,
            context=scorer.context,
            token_budget=budget,
            path=check.path,
        )
        record = store.find(shard.name, key=key, pass_id=pass_id)
        reused = record is not None
        if record is None:
            started, clock = dt.datetime.now(dt.UTC), time.perf_counter()
            scores = score_shard(
                backend,
                shard.pairs,
                renderer=renderer,
                pass_id=pass_id,
                scorer=scorer,
                context=scorer.context,
                token_budget=budget,
                path=check.path,
            )
            record = store.save(
                shard.name,
                scores.rows,
                ShardRecord(
                    key=key,
                    sha256="",
                    rows=len(scores.rows),
                    scored_at=format_time(started),
                    seconds=round(time.perf_counter() - clock, 3),
                    tokens=scores.computed_tokens,
                    token_budget=scores.token_budget,
                    findings=_records(scores.findings),
                ),
            )
        collected.shards.append(_shard_info(shard, record, pass_id))
        collected.findings.extend(record.findings)
        collected.reused += reused
        collected.computed += not reused
        progress.shard(
            pass_id=pass_id,
            items=len(shard.pairs),
            tokens=record.tokens,
            seconds=record.seconds,
            reused=reused,
        )


def _shards(job: Job, pass_id: str) -> Iterator[_Shard]:
    size = job.experiment.device.shard_items
    for number, start in enumerate(range(0, len(job.items.pairs), size)):
        yield _Shard(f"{pass_id}-{number:05d}", number, job.items.pairs[start : start + size])


def _shard_info(shard: _Shard, record: ShardRecord, pass_id: str) -> ShardInfo:
    return ShardInfo(
        file=f"rows/{shard.name}.jsonl.gz",
        pass_=pass_id,
        shard=shard.number,
        key=record.key,
        sha256=record.sha256,
        rows=record.rows,
        scored_at=record.scored_at,
        seconds=record.seconds,
        tokens=record.tokens,
    )


def _model_digests(model: str, backend: Backend) -> ModelDigests:
    identity = backend.identity
    return ModelDigests(
        model=model,
        weights=identity.weights,
        tokenizer=identity.tokenizer,
        template=identity.template,
        architecture=identity.architecture,
        context_tokens=identity.context_tokens,
    )


def _pass_info(
    one: Pass, pass_id: str, *, backend: Backend, renderer: Renderer, check: SelfCheck
) -> PassInfo:
    rounding = one.rounding
    return PassInfo(
        id=pass_id,
        model=one.model.id,
        dtype=one.dtype,
        rounding=None if rounding is None else f"{rounding.bits} bits, groups of {rounding.group}",
        frame_digest=one.frame.digest(),
        template=one.frame.template.id,
        template_default_system=renderer.facts.default_system,
        template_inserted=renderer.facts.inserted,
        end_of_turn=renderer.facts.end_of_turn,
        fast_path=check.path == "packed",
    )


def _collect_findings(collected: _Collected, findings: tuple[Finding, ...]) -> None:
    collected.findings.extend(_records(findings))


def _records(findings: tuple[Finding, ...]) -> tuple[FindingRecord, ...]:
    return tuple(FindingRecord(code=one.code, where=one.where, detail=one.detail) for one in findings)


def _manifest(
    job: Job, collected: _Collected, *, device: str, bundle_digest: str, results_digest: str
) -> Manifest:
    if not collected.shards:
        raise IntegrityError("a run must have scored at least one shard; it has none")
    times = [shard.scored_at for shard in collected.shards]
    return Manifest(
        spec=job.experiment.id,
        spec_digest=job.experiment.content_digest(),
        spec_file_digest=digest_bytes(job.spec_bytes),
        bundle_digest=bundle_digest,
        items_digest=items_digest(tuple(item_record(pair) for pair in job.items.pairs)),
        items_file_digest=job.items.file_digest,
        scaffold_digest=digest_json(sorted({one.frame_digest for one in collected.passes})),
        device=device,
        attention=collected.attention,
        compiled=job.experiment.device.compile,
        token_budget=collected.token_budget,
        models=tuple(collected.models.values()),
        passes=tuple(collected.passes),
        shards=tuple(collected.shards),
        versions=current_versions(),
        seed=job.experiment.seed,
        collected_at=min(times),
        finished_at=max(times),
        results_digest=results_digest,
        findings=tuple(collected.findings),
    )
