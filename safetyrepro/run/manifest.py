"""What a run gathers while it works, and the manifest that it leaves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from safetyrepro.canonical import digest_bytes
from safetyrepro.data.manifest import Manifest, ModelDigests, PassInfo, ShardInfo
from safetyrepro.data.results import FindingRecord
from safetyrepro.data.sources import ItemSet
from safetyrepro.errors import IntegrityError
from safetyrepro.findings import Finding
from safetyrepro.run.code import current_versions
from safetyrepro.run.readiness import scaffold_digest
from safetyrepro.run.shards import Shard
from safetyrepro.run.store import ShardRecord
from safetyrepro.score.backend import Backend
from safetyrepro.score.rendering import Renderer
from safetyrepro.score.reward import RewardBackend
from safetyrepro.score.selfcheck import SelfCheck
from safetyrepro.spec.envelope import Pass
from safetyrepro.spec.experiment import Experiment


@dataclass(slots=True)
class Collected:
    """What the loop gathers for the manifest, in the order in which it happens."""

    models: dict[str, ModelDigests] = field(default_factory=dict)
    passes: list[PassInfo] = field(default_factory=list)
    shards: list[ShardInfo] = field(default_factory=list)
    findings: list[FindingRecord] = field(default_factory=list)
    attention: str = ""
    token_budget: int = 0
    reused: int = 0
    computed: int = 0

    def add_backend(self, backend: Backend | RewardBackend, *, check: SelfCheck, token_budget: int) -> None:
        """A model was loaded and its packed path checked."""
        self.attention, self.token_budget = backend.identity.attention, token_budget
        self.findings.extend(finding_records(check.findings))

    def add_pass(
        self,
        one: Pass,
        pass_id: str,
        *,
        backend: Backend | RewardBackend,
        renderer: Renderer,
        check: SelfCheck,
    ) -> None:
        """A pass begins."""
        identity, rounding = backend.identity, one.rounding
        digests = ModelDigests(
            model=one.model.id,
            weights=identity.weights,
            tokenizer=identity.tokenizer,
            template=identity.template,
            architecture=identity.architecture,
            context_tokens=identity.context_tokens,
        )
        self.models.setdefault(one.model.id, digests)
        self.passes.append(
            PassInfo(
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
        )
        self.findings.extend(finding_records(renderer.findings(where=f"pass {pass_id}")))

    def add_shard(self, shard: Shard, record: ShardRecord, *, pass_id: str, reused: bool) -> None:
        """A shard is stored."""
        self.shards.append(
            ShardInfo(
                file=f"rows/{shard.name(pass_id)}.jsonl.gz",
                pass_=pass_id,
                shard=shard.number,
                key=record.key,
                sha256=record.sha256,
                rows=record.rows,
                scored_at=record.scored_at,
                seconds=record.seconds,
                tokens=record.tokens,
            )
        )
        self.findings.extend(record.findings)
        self.reused += reused
        self.computed += not reused


def run_manifest(
    experiment: Experiment,
    collected: Collected,
    *,
    spec_bytes: bytes,
    items: ItemSet,
    device: str,
    bundle_digest: str,
    results_digest: str,
) -> Manifest:
    """The manifest of a run whose shards are all stored.

    Raises:
        IntegrityError: not one shard was stored.
    """
    if not collected.shards:
        raise IntegrityError("a run must have scored at least one shard; it has none")
    times = [shard.scored_at for shard in collected.shards]
    return Manifest(
        spec=experiment.id,
        spec_digest=experiment.content_digest(),
        spec_file_digest=digest_bytes(spec_bytes),
        bundle_digest=bundle_digest,
        items_digest=items.digest,
        items_file_digest=items.source_digest,
        scaffold_digest=scaffold_digest(experiment),
        device=device,
        attention=collected.attention,
        compiled=experiment.device.compile,
        token_budget=collected.token_budget,
        models=tuple(collected.models.values()),
        passes=tuple(collected.passes),
        shards=tuple(collected.shards),
        versions=current_versions(),
        seed=experiment.seed,
        collected_at=min(times),
        finished_at=max(times),
        results_digest=results_digest,
        findings=merged_findings(collected.findings),
    )


def finding_records(findings: Iterable[Finding]) -> tuple[FindingRecord, ...]:
    """Findings as a bundle stores them."""
    return tuple(FindingRecord(code=one.code, where=one.where, detail=one.detail) for one in findings)


def merged_findings(findings: Iterable[FindingRecord]) -> tuple[FindingRecord, ...]:
    """One finding a code and place: the first one's particulars, and how many more there are like it."""
    grouped: dict[tuple[str, str], list[FindingRecord]] = {}
    for one in findings:
        grouped.setdefault((one.code, one.where), []).append(one)
    return tuple(
        same[0]
        if len(same) == 1
        else same[0].model_copy(update={"detail": f"{same[0].detail}; and {len(same) - 1} more like it"})
        for same in grouped.values()
    )
