"""The documents' JSON Schemas (2020-12), generated from the models: what editors complete specs with."""

from __future__ import annotations

import inspect
import json
from typing import TypeAlias, cast

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import CoreSchema

from safetyrepro.spec.base import Document
from safetyrepro.spec.kinds import KINDS, Kind

JsonSchema: TypeAlias = dict[str, object]


class _Generator(GenerateJsonSchema):
    """Schemas with their dialect, and without titles that only repeat a key."""

    def generate(self, schema: CoreSchema, mode: JsonSchemaMode = "validation") -> JsonSchemaValue:
        return {"$schema": self.schema_dialect, **super().generate(schema, mode)}

    def field_title_should_be_set(self, schema: object) -> bool:
        # `Prompt` above the description of the key `prompt` says nothing.
        return False


def json_schema(kind: Kind[Document]) -> JsonSchema:
    """The JSON Schema of one kind of document."""
    schema = kind.model.model_json_schema(by_alias=True, schema_generator=_Generator)
    head = {
        "$schema": schema.pop("$schema"),
        "$id": kind.file_name,
        "title": kind.schema,
        "description": inspect.getdoc(kind.model) or "",
    }
    return cast(JsonSchema, head | {key: value for key, value in schema.items() if key not in head})


def schema_texts() -> dict[str, str]:
    """The text of every schema file by its name, as it is written to `schemas/`."""
    return {
        kind.file_name: json.dumps(json_schema(kind), indent=2, ensure_ascii=False) + "\n"
        for kind in KINDS.values()
    }
