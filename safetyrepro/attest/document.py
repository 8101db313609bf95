"""What every attested document shares: a strict model, times in one spelling, located errors.

The model refuses what it does not know, because a field that one reader ignores and another obeys
is how a signed document comes to mean two things.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    StringConstraints,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import ErrorDetails

from safetyrepro.canonical import JsonValue, canonical_bytes, parse_json
from safetyrepro.errors import InputError, InputErrors, did_you_mean, must_be, shorten
from safetyrepro.located import Located, Place

_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z", re.ASCII)
_INSTANT_PATTERN = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$"

ModelT = TypeVar("ModelT", bound=BaseModel)


class AttestedDocument(BaseModel):
    """A frozen, strict model whose bytes are canonical JSON."""

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


def utc_instant(moment: datetime) -> datetime:
    """`moment` in UTC, without its fraction of a second.

    Raises:
        ValueError: the datetime has no zone: it would name a different instant on every machine.
    """
    if moment.tzinfo is None:
        raise ValueError(f"a time must have a zone; got {moment.isoformat()}")
    return moment.astimezone(UTC).replace(microsecond=0)


def format_instant(moment: datetime) -> str:
    """The one spelling of a time in our documents: `2026-11-30T22:53:00Z`."""
    return utc_instant(moment).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_instant(text: str) -> datetime:
    """The UTC datetime that `2026-11-30T22:53:00Z` spells.

    Raises:
        ValueError: another spelling, or a day or second that does not exist.
    """
    if not _INSTANT.fullmatch(text):
        raise ValueError("must be a UTC time such as 2026-11-30T22:53:00Z")
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def _coerce_instant(value: object) -> datetime:
    if isinstance(value, str):
        return parse_instant(value)
    if isinstance(value, datetime):
        return utc_instant(value)
    raise ValueError("must be a UTC time such as 2026-11-30T22:53:00Z")


Instant = Annotated[
    datetime,
    BeforeValidator(_coerce_instant),
    PlainSerializer(format_instant, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time", "pattern": _INSTANT_PATTERN}),
]
HexDigest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
KeyId = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
# Control characters and those that turn the direction of writing could make a name look like another.
_UNPRINTABLE = r"\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069"
Principal = Annotated[
    str,
    StringConstraints(pattern=rf"^[^\s{_UNPRINTABLE}]([^{_UNPRINTABLE}]{{0,62}}[^\s{_UNPRINTABLE}])?$"),
]


def document_bytes(document: BaseModel) -> bytes:
    """The canonical JSON of the fields that were set; a new optional field never changes old bytes."""
    return canonical_bytes(document.model_dump(mode="json", by_alias=True, exclude_unset=True))


def _defects(error: ValidationError) -> list[ErrorDetails]:
    """The errors but for "too short" about a list whose items were refused: it only counts them."""
    found = error.errors(include_url=False)
    places = [item["loc"] for item in found]

    def is_consequence(item: ErrorDetails) -> bool:
        size = len(item["loc"])
        return item["type"] == "too_short" and any(
            len(place) > size and place[:size] == item["loc"] for place in places
        )

    return [item for item in found if not is_consequence(item)]


def _field_names(model: type[BaseModel]) -> list[str]:
    """The names of all fields of the model and of the models inside it."""
    schema = model.model_json_schema()
    parts = [schema, *schema.get("$defs", {}).values()]
    return sorted({name for part in parts for name in part.get("properties", {})})


def _message(item: ErrorDetails, *, prefix: str, model: type[BaseModel]) -> str:
    location = ".".join(str(part) for part in item["loc"])
    place = f"{prefix}: {location}" if location else prefix
    if item["type"] == "extra_forbidden":
        return f"{place} is not a known field{did_you_mean(str(item['loc'][-1]), _field_names(model))}"
    if item["type"] == "missing":
        return f"{place} must be given"
    reason = item["msg"].removeprefix("Value error, ")
    return f"{place}: {reason[:1].lower()}{reason[1:]}; got {shorten(item['input'])}"


def validate_document(value: JsonValue, model: type[ModelT], *, where: str) -> ModelT:
    """`value` as the model, or every reason why not.

    Raises:
        InputErrors: one message a defect, each with `where` and the path to the place.
    """
    try:
        return model.model_validate_json(canonical_bytes(value))
    except ValidationError as error:
        raise InputErrors(_message(item, prefix=where, model=model) for item in _defects(error)) from error


def validate_located(located: Located, model: type[ModelT]) -> ModelT:
    """A YAML text as the model, or every reason why not, each with its line and column.

    Raises:
        InputErrors: one message a defect, as `name:line:column: path: ...`, in the text's order.
    """
    try:
        return model.model_validate_json(canonical_bytes(located.data))
    except ValidationError as error:
        found = sorted(
            ((_place(located, item), item) for item in _defects(error)),
            key=lambda pair: pair[0],
        )
        raise InputErrors(
            _message(item, prefix=f"{located.name}:{place}", model=model) for place, item in found
        ) from error


def _place(located: Located, item: ErrorDetails) -> Place:
    if item["type"] == "extra_forbidden":
        return located.place_of_key(item["loc"])
    return located.place_of_value(item["loc"])


def parse_canonical(data: bytes, model: type[ModelT], *, where: str) -> ModelT:
    """The model that `data` spells in canonical JSON.

    A document that is parsed must be the document that was hashed, so any other spelling of the
    same value (a space, another key order, `1.0` for `1`) is refused as well.

    Raises:
        InputError: not JSON, a duplicate key, another spelling than RFC 8785's.
        InputErrors: not the model.
    """
    value = parse_json(data, where)
    if canonical_bytes(value) != data:
        raise InputError(must_be(where, "must be canonical JSON (RFC 8785)", data[:60]))
    return validate_document(value, model, where=where)
