"""The `items` block: what is asked, where it comes from, and who says what is right."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from safetyrepro.spec.base import Digest, Document, Fraction, Identifier, OpenFraction, Text
from safetyrepro.spec.models import RelativePath

FieldName = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class FileItems(Document):
    """Items in a local file: JSON lines, CSV or Parquet, optionally gzipped (JSON lines, CSV)."""

    kind: Literal["file"]
    path: RelativePath
    """The file; relative paths are from the spec, or from `--data-dir` where given."""


class HubItems(Document):
    """Items from a data set hub, at a pinned revision."""

    kind: Literal["hub"]
    repo: Text
    """The repository, such as `allenai/reward-bench`."""
    revision: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
    """The commit, 40 hexadecimal digits."""
    split: FieldName
    """The split, such as `raw`."""
    config: FieldName | None = None
    """The configuration of the data set, where it has several."""
    folder: RelativePath | None = None
    """The folder of the repository that the files are in, where it has several."""


class PackageItems(Document):
    """A file inside an installed Python package; the package is found, never imported."""

    kind: Literal["package"]
    package: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
    """The importable name of the package."""
    file: RelativePath
    """The file inside the package."""


class LinesFile(Document):
    """One text file of a source of lines."""

    path: RelativePath
    """The file; relative paths are from the spec, or from `--data-dir` where given."""
    sha256: Digest | None = None
    """The expected digest of the file; a mismatch is refused."""
    cells: dict[FieldName, Text] = Field(default_factory=dict)
    """What every line of this file has in further columns, such as its label."""


class LinesItems(Document):
    """Items that are lines of text files; a file's name says what its lines are. Empty lines are left out.

    Rows are numbered through all files, in the order given.
    """

    kind: Literal["lines"]
    column: FieldName
    """The column that a line becomes."""
    files: tuple[LinesFile, ...] = Field(min_length=1)
    """The files."""


ItemSource = Annotated[FileItems | HubItems | PackageItems | LinesItems, Field(discriminator="kind")]


class PairFields(Document):
    """Which column of the source holds what; `a.b` is the entry `b` of a column `a` of objects."""

    prompt: FieldName | None = None
    """The prompt's column."""
    prompt_text: Text | None = None
    """In the place of a column: one prompt for every item, for sources that have none."""
    chosen: FieldName
    """The preferred answer's column."""
    rejected: FieldName
    """The other answer's column."""
    id: FieldName | None = None
    """The item's name; absent: its row number."""
    stratum: FieldName | None = None
    """The column that names an item's stratum."""
    cluster: FieldName | None = None
    """The column that names which items belong together and are resampled together."""

    @model_validator(mode="after")
    def _there_is_one_prompt(self) -> PairFields:
        if (self.prompt is None) == (self.prompt_text is None):
            raise ValueError("prompt or prompt_text must be given, and not both")
        return self


class DialogueAdapter(Document):
    """Both answers are stored as whole dialogues: what they share, up to its last marker, is the prompt.

    The items' columns are then `prompt`, `chosen` and `rejected`, beside those of the source.
    """

    kind: Literal["dialogue"]
    chosen: FieldName
    """The column of the dialogue with the preferred ending."""
    rejected: FieldName
    """The column of the other dialogue."""
    marker: Text
    """What stands before an answer, such as `\\n\\nAssistant:`; the last both share ends the prompt."""


class LabelAdapter(Document):
    """Two answers are stored with a label that says which of them is preferred.

    The items' columns are then `chosen` and `rejected`, beside those of the source.
    """

    kind: Literal["label"]
    first: FieldName
    """The column of the first answer."""
    second: FieldName
    """The column of the second answer."""
    label: FieldName
    """The column of the label."""
    first_is: Annotated[str, StringConstraints(max_length=200)]
    """The label that prefers the first answer."""
    second_is: Annotated[str, StringConstraints(max_length=200)]
    """The label that prefers the second answer."""


Adapter = Annotated[DialogueAdapter | LabelAdapter, Field(discriminator="kind")]


class Exclusion(Document):
    """An item that is left out on purpose."""

    id: FieldName
    """The item's id (its row number where `fields.id` is absent)."""
    reason: Text
    """Why it is left out."""


class Agreement(Document):
    """Measured agreement of the people who gave the labels."""

    statistic: Literal["cohen_kappa", "krippendorff_alpha", "gwet_ac1", "fleiss_kappa"]
    """Which coefficient."""
    estimate: float = Field(ge=-1.0, le=1.0)
    """Its value."""
    low: float = Field(ge=-1.0, le=1.0)
    """The lower bound of its interval: the tier is decided by this, not by the value."""
    coders: int = Field(ge=2)
    """How many people coded independently."""
    source: Text
    """Where this was measured."""


class Origin(Document):
    """Who decided something: a program, a documented key, people, or a model."""

    by: Literal["program", "key", "people", "model"]
    """Who decided."""
    note: Text
    """How, in a sentence."""
    agreement: Agreement | None = None
    """Measured agreement, where people decided."""
    controls_passed: bool = False
    """Whether gold units and deletion controls were part of the coding and passed."""


class Stratum(Document):
    """One stratum with the weight it has in a weighted estimate."""

    name: FieldName
    """The stratum, as the items' column spells it."""
    weight: Fraction
    """Its share; the shares of all strata sum to one."""


class Sample(Document):
    """A seeded subset, drawn without replacement after the filter; whole clusters stay together."""

    rows: int = Field(ge=1)
    """How many items at most."""
    seed: int = Field(ge=0, le=2**53 - 1)
    """The seed of the draw."""


class AskedItems(Document):
    """What all kinds of item sets declare: where they come from, who says what is right, what is better."""

    id: Identifier
    """A name for the item set."""
    name: Text
    """The name printed in the report."""
    source: ItemSource
    """Where the items come from."""
    sha256: Digest | None = None
    """The expected digest of the source file; a mismatch is refused. A hub's rows have their revision."""
    rows: int | None = Field(default=None, ge=1)
    """The expected number of rows in the source; a mismatch is refused."""
    where: dict[FieldName, tuple[str, ...]] | None = None
    """Keep only rows whose columns have one of these values."""
    exclude: tuple[Exclusion, ...] = ()
    """Items that are left out, each with its reason; one that is not there is refused."""
    sample: Sample | None = None
    """A seeded subset."""
    better: Literal["higher", "lower", "near"] = "higher"
    """Which values of the headline estimate are better: the higher, the lower, or those near a target."""
    near: OpenFraction | None = None
    """The target, where `better` is `near`: the estimate closer to it is ahead."""
    labels: Origin
    """Who decided which answer is right."""
    texts: Origin
    """Who wrote the prompts and answers that are scored."""
    weights: tuple[Stratum, ...] | None = None
    """Declared stratum weights; absent: every item weighs the same."""
    licence: Text | None = None
    """The licence of the items."""
    note: Text | None = None
    """What a reader must know about the items."""

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        if self.sha256 is not None and self.source.kind == "hub":
            raise ValueError("sha256 must be absent for a hub, whose rows are pinned by source.revision")
        if self.sha256 is not None and self.source.kind == "lines":
            raise ValueError("sha256 must be absent for lines, whose files have their own")
        if (self.near is not None) != (self.better == "near"):
            raise ValueError("near must be given exactly where better is near")
        if self.weights is not None:
            total = sum(stratum.weight for stratum in self.weights)
            if abs(total - 1.0) > 1e-9:
                raise ValueError(f"weights must sum to 1; got {total}")
        return self


class PairItems(AskedItems):
    """Preference pairs: a prompt with a chosen and a rejected answer."""

    kind: Literal["pair"]
    fields: PairFields
    """Which column holds what."""
    adapter: Adapter | None = None
    """How pairs are made from a source that stores them otherwise; absent: its columns are the items'."""
    twins: bool = False
    """Whether each cluster is a crossed twin: two prompts and two answers, each right for one prompt."""

    @model_validator(mode="after")
    def _columns_exist_for_what_is_declared(self) -> PairItems:
        if self.twins and self.fields.cluster is None:
            raise ValueError("fields.cluster must name the twin's column where twins is true")
        if self.weights is not None and self.fields.stratum is None:
            raise ValueError("fields.stratum must name the column that weights refer to")
        return self
