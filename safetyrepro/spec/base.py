"""What every declared document shares: a frozen, strict model whose field docs reach the JSON Schema."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from safetyrepro.canonical import digest_json


class Document(BaseModel):
    """A frozen, strict model: an unknown key, a wrong type or a late change is refused."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        use_attribute_docstrings=True,
        allow_inf_nan=False,
        serialize_by_alias=True,
        validate_by_name=True,
        validate_by_alias=True,
    )

    def content_digest(self) -> str:
        """The digest of the fields that were set; a new optional field never changes an old digest."""
        return digest_json(self.model_dump(mode="json", by_alias=True, exclude_unset=True))


Identifier = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$"),
    Field(description="A short name of lower-case letters, digits, dot, dash, underscore; 64 at most."),
]
Text = Annotated[str, StringConstraints(min_length=1, max_length=20_000)]
Digest = Annotated[
    str,
    StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$"),
    Field(description="`sha256:` and 64 hexadecimal digits."),
]
Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
OpenFraction = Annotated[float, Field(gt=0.0, lt=1.0)]
Level = Literal["model", "response", "interaction", "deployment"]
LEVELS: tuple[Level, ...] = ("model", "response", "interaction", "deployment")
