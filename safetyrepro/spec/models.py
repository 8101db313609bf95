"""The `models` block: which systems are compared, and where their weights come from."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from safetyrepro.spec.base import Digest, Document, Identifier, Text

Dtype = Literal["float32", "bfloat16", "float16"]
RelativePath = Annotated[str, StringConstraints(min_length=1, max_length=4096)]


class HubModel(Document):
    """Weights from a model hub, at a pinned revision."""

    kind: Literal["hub"]
    repo: Text
    """The repository, such as `Qwen/Qwen2.5-0.5B-Instruct`."""
    revision: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
    """The commit, 40 hexadecimal digits: a branch name would change under the claim."""
    file: RelativePath | None = None
    """A file inside the repository, such as a GGUF; absent for a whole model folder."""
    trust_remote_code: Literal[False] = False
    """Code from the repository is never run."""


class PathModel(Document):
    """Weights in a local folder, or a local GGUF file."""

    kind: Literal["path"]
    path: RelativePath
    """The folder or file; relative paths are from the spec."""
    sha256: Digest | None = None
    """The expected digest (of a file, or of the folder's weights); a mismatch is refused."""


class PackageModel(Document):
    """A weights file inside an installed Python package; the package is found, never imported."""

    kind: Literal["package"]
    package: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
    """The importable name of the package."""
    file: RelativePath
    """The file inside the package, such as a GGUF."""
    sha256: Digest | None = None
    """The expected digest of the file; a mismatch is refused."""


ModelSource = Annotated[HubModel | PathModel | PackageModel, Field(discriminator="kind")]


class WeightRounding(Document):
    """Round-to-nearest quantisation of the linear layers, embeddings kept."""

    bits: int = Field(ge=2, le=8)
    """Bits a weight."""
    group: int = Field(ge=8, le=4096)
    """Weights along the input dimension that share one scale; must divide every layer's width."""


class Model(Document):
    """One system under comparison."""

    id: Identifier
    """A short name, unique in the spec; claims use it."""
    name: Text
    """The name printed in the report."""
    source: ModelSource
    """Where the weights come from."""
    dtype: Dtype | None = None
    """The computing precision; absent: float32, or what a `dtype` factor says."""
    weights: WeightRounding | None = None
    """Weight quantisation that makes this system what it is; absent: weights as stored."""
    reference: ModelSource | None = None
    """A reference model, for scorers that need one (implicit reward)."""
    developer: Text | None = None
    """Who made the model."""
    licence: Text | None = None
    """The licence of the weights."""
    note: Text | None = None
    """What a reader must know about this system."""
