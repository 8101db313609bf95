"""The one loop: an experiment to a bundle, resumable at every shard.

Passes are grouped by what must be loaded once (source, dtype, rounding); every pass is cut into
shards of items; a shard that is stored with the same key is not computed again. Killed at any moment,
the same call goes on where it stopped and gives the same results to the byte.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

from safetyrepro.analysis.analyse import analyse
from safetyrepro.canonical import digest_bytes, digest_file, digest_json
from safetyrepro.claims.validity import format_time
from safetyrepro.data.bundle import (
    Bundle,
    open_bundle,
    read_items,
    read_manifest,
    read_results,
    read_rows,
    write_document,
    write_items,
)
from safetyrepro.data.manifest import Manifest, ShardInfo
from safetyrepro.data.records import Item, Row, item_record, items_digest
from safetyrepro.data.results import Results
from safetyrepro.data.sources import ItemSet
from safetyrepro.errors import InputError
from safetyrepro.run.code import code_digest
from safetyrepro.run.manifest import Collected, finding_records, run_manifest
from safetyrepro.run.progress import Progress
from safetyrepro.run.readiness import check_readiness
from safetyrepro.run.shards import Shard, shards
from safetyrepro.run.store import ShardRecord, ShardStore, only_run, write_spec
from safetyrepro.score.backend import Backend, ForwardPath
from safetyrepro.score.rendering import Renderer
from safetyrepro.score.reward import RewardBackend, reward_check, score_reward_shard
from safetyrepro.score.selfcheck import SelfCheck, self_check
from safetyrepro.score.shard import ShardScores, score_shard, shard_key
from safetyrepro.spec.envelope import Frame, Pass, passes
from safetyrepro.spec.experiment import Device, Experiment, RewardScorer
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

    def load_reward_model(
        self, source: ModelSource, *, dtype: Dtype, device: Device, base_dir: Path
    ) -> RewardBackend:
        """The reward model, ready to score."""


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


def run_experiment(job: Job, *, loader: Loader, progress: Progress) -> Outcome:
    """Score what is missing, analyse what is stored, and leave a complete bundle.

    Raises:
        InputErrors: the parts of the spec do not fit together, or do not fit the items.
        InputError: the input, a template or a model refuses; another run holds the bundle.
        StorageError: the disk refuses; what is complete is kept.
    """
    check_readiness(job.experiment, items=job.items)
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
        items = tuple(item_record(item) for item in job.items.items)
        write_items(bundle, items)
        collected = Collected()
        cache = None if job.cache_dir is None else job.cache_dir / "shards"
        slices = tuple(shards(job.experiment, items=job.items.items))
        store = ShardStore(bundle, cache=cache)
        _Scoring(job, loader, store, progress, slices, collected).run()
        progress.note("analysing")
        results = analyse(
            job.experiment,
            items=items,
            rows=lambda pass_id: stored_rows(bundle, collected.shards, pass_id=pass_id),
        )
        results_digest = write_document(bundle.results, results)
        manifest = run_manifest(
            job.experiment,
            collected,
            spec_bytes=job.spec_bytes,
            items=job.items,
            device=device,
            bundle_digest=digest,
            results_digest=results_digest,
        )
        write_document(bundle.manifest, manifest)
    progress.finish()
    return Outcome(bundle, results, manifest, collected.reused, collected.computed)


def bundle_digest(job: Job, *, loader: Loader, device: str) -> str:
    """What a bundle's name is made of: spec, data, models, device class and code."""
    digests: dict[ModelSource, str] = {}
    for source in _sources(job.experiment):
        if source not in digests:
            digests[source] = loader.weights_digest(source, base_dir=job.base_dir)
    return digest_json(
        {
            "spec": digest_bytes(job.spec_bytes),
            "items": job.items.digest,
            "weights": {one.model.id: digests[one.model.source] for one in passes(job.experiment).values()},
            "device": device,
            "code": code_digest(),
        }
    )


def _sources(experiment: Experiment) -> Iterator[ModelSource]:
    """Where the weights of every pass come from, references among them."""
    yield from (one.model.source for one in passes(experiment).values())


def stored_rows(bundle: Bundle, stored: Iterable[ShardInfo], *, pass_id: str) -> Iterator[Row]:
    """The rows of one pass, shard by shard, each checked against its digest."""
    for shard in stored:
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
            and manifest.spec_file_digest == digest_file(bundle.spec)
            and manifest.items_digest == items_digest(read_items(bundle))
            and manifest.results_digest == digest_file(bundle.results)
            and all(_intact(bundle, shard) for shard in manifest.shards)
        )
    except (InputError, OSError):
        return None
    return Outcome(bundle, results, manifest, len(manifest.shards), 0) if intact else None


def _intact(bundle: Bundle, shard: ShardInfo) -> bool:
    store = ShardStore(bundle, cache=None)
    name = Path(shard.file).name.removesuffix(".jsonl.gz")
    return store.find(name, key=shard.key, pass_id=shard.pass_) is not None


@dataclass(frozen=True, slots=True)
class _Scoring:
    """The loop's inner part: one loaded model after another, pass by pass, shard by shard."""

    job: Job
    loader: Loader
    store: ShardStore
    progress: Progress
    slices: tuple[Shard, ...]
    collected: Collected

    def run(self) -> None:
        todo = passes(self.job.experiment)
        self.progress.start(shards=len(self.slices) * len(todo), done=0)
        for group in _groups(todo):
            self._group(group)  # a model is let go of before the next is loaded

    def _group(self, group: Mapping[str, Pass]) -> None:
        first = next(iter(group.values()))
        self.progress.note(f"loading {first.model.name}")
        backend, check = self._load(first)
        budget = check.token_budget  # less than asked for where memory ran out
        self.collected.add_backend(backend, check=check, token_budget=budget)
        for pass_id, one in group.items():
            renderer = Renderer(backend.tokenizer, one.frame)
            self.collected.add_pass(one, pass_id, backend=backend, renderer=renderer, check=check)
            for shard in self.slices:
                self._shard(
                    shard,
                    backend,
                    pass_id=pass_id,
                    frame=one.frame,
                    renderer=renderer,
                    budget=budget,
                    path=check.path,
                )

    def _load(self, one: Pass) -> tuple[Backend | RewardBackend, SelfCheck]:
        """The model of a pass, of the kind that the scorer needs, and what its self-check found."""
        device, source, base_dir = self.job.experiment.device, one.model.source, self.job.base_dir
        if self.job.experiment.scorer.kind == "reward":
            rewards = self.loader.load_reward_model(
                source, dtype=one.dtype, device=device, base_dir=base_dir
            )
            return rewards, reward_check(
                rewards, token_budget=device.token_budget or rewards.context_tokens
            )
        backend = self.loader.load(
            source, dtype=one.dtype, rounding=one.rounding, device=device, base_dir=base_dir
        )
        return backend, self_check(backend, token_budget=device.token_budget)

    def _score(
        self,
        backend: Backend | RewardBackend,
        items: tuple[Item, ...],
        *,
        renderer: Renderer,
        pass_id: str,
        budget: int,
        path: ForwardPath,
    ) -> ShardScores:
        scorer = self.job.experiment.scorer
        if isinstance(scorer, RewardScorer):
            return score_reward_shard(
                cast(RewardBackend, backend),
                items,
                renderer=renderer,
                pass_id=pass_id,
                scorer=scorer,
                token_budget=budget,
            )
        return score_shard(
            cast(Backend, backend),
            items,
            renderer=renderer,
            pass_id=pass_id,
            scorer=scorer,
            context=scorer.context,
            token_budget=budget,
            path=path,
        )

    def _shard(
        self,
        shard: Shard,
        backend: Backend | RewardBackend,
        *,
        pass_id: str,
        frame: Frame,
        renderer: Renderer,
        budget: int,
        path: ForwardPath,
    ) -> None:
        scorer, name = self.job.experiment.scorer, shard.name(pass_id)
        key = shard_key(
            backend.identity,
            shard.items,
            frame=frame,
            scorer=scorer,
            context=scorer.context,
            token_budget=budget,
            path=path,
        )
        record = self.store.find(name, key=key, pass_id=pass_id)
        reused = record is not None
        if record is None:
            started, clock = dt.datetime.now(dt.UTC), time.perf_counter()
            scores = self._score(
                backend, shard.items, renderer=renderer, pass_id=pass_id, budget=budget, path=path
            )
            record = self.store.save(
                name,
                rows=scores.rows,
                record=ShardRecord(
                    key=key,
                    sha256="",
                    rows=len(scores.rows),
                    scored_at=format_time(started),
                    seconds=round(time.perf_counter() - clock, 3),
                    tokens=scores.computed_tokens,
                    token_budget=scores.token_budget,
                    findings=finding_records(scores.findings),
                ),
                shared=scores.token_budget == budget,
            )
        self.collected.add_shard(shard, record, pass_id=pass_id, reused=reused)
        self.progress.shard(
            pass_id=pass_id,
            items=len(shard.items),
            tokens=record.tokens,
            seconds=record.seconds,
            reused=reused,
        )


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
