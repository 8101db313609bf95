"""Items with any number of options, some of them right: `items` of kind `choice`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from safetyrepro.spec.base import Document, Text
from safetyrepro.spec.items import AskedItems, FieldName

Separator = Annotated[str, StringConstraints(min_length=1, max_length=20)]


class ColumnOptions(Document):
    """Every option has a column of its own."""

    kind: Literal["columns"]
    columns: tuple[FieldName, ...] = Field(min_length=2)
    """The options' columns, in order."""


class ListOptions(Document):
    """One column holds all options as a list, or as the text of a JSON list."""

    kind: Literal["list"]
    column: FieldName
    """The column."""


class SplitOptions(Document):
    """One column holds all options as one text, a separator between them."""

    kind: Literal["split"]
    column: FieldName
    """The column."""
    separator: Separator
    """What stands between two options; white space around an option is not part of it."""


class TextOptions(Document):
    """All items have the same options."""

    kind: Literal["texts"]
    texts: tuple[Text, ...] = Field(min_length=2)
    """The options, in order."""


class TruthOptions(Document):
    """Right and wrong answers stand in two columns, each one answer or several with a separator between.

    The options are all of them, the right ones gold, in alphabetical order, so that an option's place says
    nothing. An answer that stands there twice is one option; one that is called both is refused.
    """

    kind: Literal["truths"]
    correct: FieldName
    """The column of the right answer, or of all right answers."""
    incorrect: FieldName
    """The column of the wrong answers."""
    separator: Separator
    """What stands between two answers; white space around an answer is not part of it."""


Options = Annotated[
    ColumnOptions | ListOptions | SplitOptions | TextOptions | TruthOptions, Field(discriminator="kind")
]


class GoldColumn(Document):
    """The column that says which options are right: one of them, or a list of several."""

    column: FieldName
    """The column."""
    form: Literal["index", "letter", "text", "flags"]
    """index: the option's place from 0. letter: A, B, .... text: the option itself. flags: a list with 1
    for every right option and 0 for every other."""


class ChoiceFields(Document):
    """Which column of the source holds what; `a.b` is the entry `b` of a column `a` of objects."""

    prompt: tuple[FieldName, ...] = Field(min_length=1)
    """The prompt's column; of several columns the texts are joined in order."""
    prompt_join: Annotated[str, StringConstraints(max_length=40)] = "\n"
    """What stands between the texts of two prompt columns."""
    options: Options
    """Where the options are."""
    gold: GoldColumn | None = None
    """Which options are right; absent for `truths`, whose columns say it."""
    id: FieldName | None = None
    """The item's name; absent: its row number."""
    stratum: FieldName | None = None
    """The column that names an item's stratum."""
    cluster: FieldName | None = None
    """The column that names which items belong together and are resampled together."""

    @model_validator(mode="after")
    def _right_options_are_named_once(self) -> ChoiceFields:
        if (self.gold is None) != (self.options.kind == "truths"):
            raise ValueError("gold must be given, except where options is truths")
        return self


Measure = Literal["accuracy", "gold_mass"]


class ChoiceItems(AskedItems):
    """Choices: a prompt with any number of options, one or several of them right."""

    kind: Literal["choice"]
    fields: ChoiceFields
    """Which column holds what."""
    measure: Measure = "accuracy"
    """accuracy: whether the option with the highest score is right (options tied for it share the credit);
    gold_mass: the softmax of the options' scores, summed over the right ones."""

    @property
    def twins(self) -> bool:
        """Choices are never crossed twins."""
        return False

    @model_validator(mode="after")
    def _columns_exist_for_what_is_declared(self) -> ChoiceItems:
        if self.weights is not None and self.fields.stratum is None:
            raise ValueError("fields.stratum must name the column that weights refer to")
        return self
