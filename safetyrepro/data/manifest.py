"""The manifest: what produced a bundle, with every digest, version, seed and time."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints

from safetyrepro.data.results import FindingRecord
from safetyrepro.spec.base import Document

MANIFEST_SCHEMA: Final = "safetyrepro/manifest/v1"


class ModelDigests(Document):
    """What identifies a loaded model."""

    model: str
    """The model's id in the spec."""
    weights: str
    """Digest of the weights file, or over the weights files of a folder."""
    tokenizer: str
    """Digest of the tokenizer's definition."""
    template: str | None
    """Digest of the chat template; none where there is no template."""
    architecture: str
    """The model's architecture, as its configuration names it."""
    context_tokens: int
    """The model's context."""


class PassInfo(Document):
    """One pass as it ran."""

    id: str
    """The pass."""
    model: str
    """Its model."""
    dtype: str
    """Its computing precision."""
    rounding: str | None
    """Its weight treatment in words; none: as stored."""
    frame_digest: str
    """The digest of its frame."""
    template: str
    """The template level."""
    template_default_system: str | None
    """The system prompt that the template inserted on its own, if any."""
    template_inserted: str | None
    """What the template put between its generation prompt and an answer, if anything."""
    end_of_turn: str | None
    """The text of the end-of-turn tokens that were scored with the answer, if any."""
    fast_path: bool
    """Whether the packed path was used."""


class ShardInfo(Document):
    """One shard as stored."""

    file: Annotated[str, StringConstraints(pattern=r"^rows/[A-Za-z0-9_-][A-Za-z0-9._-]*\.jsonl\.gz$")]
    """Its file, relative to the bundle."""
    pass_: str = Field(alias="pass")
    """Its pass."""
    shard: int
    """Its number within the pass, from 0."""
    key: str
    """The digest of everything its scores depend on."""
    sha256: str
    """The digest of its uncompressed rows."""
    rows: int
    """Rows in it."""
    scored_at: str
    """When it was computed, UTC."""
    seconds: float
    """How long it took."""
    tokens: int
    """Tokens computed."""


class Versions(Document):
    """The software that ran."""

    safetyrepro: str
    """This program."""
    code: str
    """Digest over this program's source files."""
    python: str
    """The Python version."""
    packages: dict[str, str]
    """Versions of the packages in the scoring and analysis path."""
    scoring: str | None = None
    """The version of the scoring rules; it changes when a score could. None in bundles of old."""


class Manifest(Document):
    """What produced a bundle."""

    schema_: Literal["safetyrepro/manifest/v1"] = Field(default=MANIFEST_SCHEMA, alias="schema")
    """The document's kind and version."""
    spec: str
    """The spec's id."""
    spec_digest: str
    """The digest of the spec's content."""
    spec_file_digest: str
    """The digest of the spec file's bytes."""
    bundle_digest: str
    """What the bundle's name is made of: spec, data, models, device class and code version."""
    items_digest: str
    """The digest of the items."""
    items_file_digest: str | None
    """The digest of the items' source file, where it is one."""
    scaffold_digest: str
    """The digest of all frames."""
    device: str
    """The device class, such as `cpu` or `cuda:NVIDIA H100`."""
    attention: str
    """The attention implementation."""
    compiled: bool
    """Whether the models were compiled."""
    token_budget: int
    """Tokens a forward pass."""
    models: tuple[ModelDigests, ...]
    """The loaded models."""
    passes: tuple[PassInfo, ...]
    """The passes."""
    shards: tuple[ShardInfo, ...]
    """The shards."""
    versions: Versions
    """The software that ran."""
    seed: int
    """The seed of everything random."""
    collected_at: str
    """The time of the oldest shard, UTC: evidence ages from here."""
    finished_at: str
    """The time of the newest shard, UTC."""
    results_digest: str
    """The digest of `results.json`."""
    findings: tuple[FindingRecord, ...]
    """What scoring found."""
