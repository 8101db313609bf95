"""What pydantic found, in the words of this program: the path inside the document, the rule, the value."""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from safetyrepro.canonical import JsonValue
from safetyrepro.errors import did_you_mean, shorten
from safetyrepro.located import DataPath
from safetyrepro.spec.consistency import Problem

# What a pattern asks for, in words. A test fails on a pattern of the models that is not here.
PATTERNS: Mapping[str, str] = {
    r"^[a-z0-9][a-z0-9._-]{0,63}$": (
        "a short name (lower-case letters, digits, dot, dash, underscore; begins with a letter or digit; "
        "at most 64 characters)"
    ),
    r"^sha256:[0-9a-f]{64}$": "a digest (sha256: and 64 lower-case hexadecimal digits)",
    r"^[0-9a-f]{40}$": "a commit (40 lower-case hexadecimal digits; a branch or tag may change later)",
    r"^[A-Za-z_][A-Za-z0-9_]*$": "the name of a Python package, as it is imported",
    r"^P[0-9YMWDTHS]+$": "an ISO 8601 duration such as P6M (six months) or P90D (ninety days)",
}


@dataclass(frozen=True, slots=True)
class Complaint:
    """One error: the path to its place, and `must be what; got value`."""

    path: DataPath
    text: str

    @property
    def path_text(self) -> str:
        """The path as a reader sees it: `factors.0.levels`, or `the document`."""
        return ".".join(str(part) for part in self.path) or "the document"


def complaint(problem: Problem) -> Complaint:
    """A problem between the parts of a document, as a complaint."""
    return Complaint(problem.path, f"{problem.what}; got {got(problem.value)}")


def got(value: object) -> str:
    """A value as it is shown after `got`: one line, `nothing` for an empty place, YAML's true and false."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    return shorten(value)


def find_complaints(error: ValidationError, *, model: type[BaseModel], data: JsonValue) -> list[Complaint]:
    """Every error of a refused document, without those that only follow from another."""
    found: list[Complaint] = []
    renamed: set[DataPath] = set()
    missing: list[DataPath] = []
    for details in error.errors(include_url=False):
        spot = _locate(model, details["loc"])
        if details["type"] == "missing":
            missing.append(spot.path)
        elif details["type"] == "extra_forbidden":
            one, meant = _unknown_key(spot, data)
            found.append(one)
            renamed.update(meant)
        elif details["type"] in _LENGTHS and _long_enough(details, spot, data):
            continue
        else:
            found.append(_complaint_of(details, spot, data))
    # A misspelt key is one error, although a key is unknown there and another one missing.
    found += [Complaint(path, "must be given; got nothing") for path in missing if path not in renamed]
    return found


@dataclass(frozen=True, slots=True)
class _Form:
    """What a place of the document holds: a model, one of several by tag, a list, a mapping, or a value."""

    models: Mapping[str, type[BaseModel]]
    """The model under the empty tag, or every alternative by its tag."""
    discriminator: str | None
    inner: object
    """The annotation of a list's elements or of a mapping's values."""


@dataclass(frozen=True, slots=True)
class _Spot:
    """A pydantic location as a path of the document, with the form of what is there and around it."""

    path: DataPath
    form: _Form
    owner: type[BaseModel] | None
    at_key: bool


def _locate(model: type[BaseModel], loc: tuple[str | int, ...]) -> _Spot:
    """Follow a location through the annotations, leaving out the tags that pydantic puts between."""
    form = _Form({"": model}, None, None)
    path: list[str | int] = []
    owner: type[BaseModel] | None = None
    at_key = False
    for part in loc:
        if form.discriminator is not None and "" not in form.models:
            form = _Form({"": form.models[str(part)]}, None, None)
        elif "" in form.models:
            owner = form.models[""]
            path.append(part)
            field = _field_named(owner, str(part))
            form = _NOTHING if field is None else _form_of(field.annotation, field.discriminator)
        elif part == "[key]":
            at_key = True
        else:
            owner = None
            path.append(part)
            form = _form_of(form.inner, None)
    return _Spot(tuple(path), form, owner, at_key)


_NOTHING = _Form({}, None, None)


def _form_of(annotation: object, discriminator: object) -> _Form:
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *extras = get_args(annotation)
        tags = [extra.discriminator for extra in extras if isinstance(extra, FieldInfo)]
        return _form_of(inner, next((tag for tag in tags if tag is not None), discriminator))
    if origin is Union or origin is types.UnionType:
        members = [member for member in get_args(annotation) if member is not types.NoneType]
        if len(members) == 1:
            return _form_of(members[0], discriminator)
        if isinstance(discriminator, str):
            return _Form(_by_tag(members, discriminator), discriminator, None)
        return _NOTHING
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _Form({"": annotation}, None, None)
    if origin is tuple:
        return _Form({}, None, get_args(annotation)[0])
    if origin is dict:
        return _Form({}, None, get_args(annotation)[1])
    return _NOTHING


def _by_tag(members: Iterable[type[BaseModel]], discriminator: str) -> dict[str, type[BaseModel]]:
    return {
        str(tag): member
        for member in members
        for tag in get_args(member.model_fields[discriminator].annotation)
    }


def _field_named(model: type[BaseModel], name: str) -> FieldInfo | None:
    for own, field in model.model_fields.items():
        if name in (field.alias, own):
            return field
    return None


def _keys_of(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _value_at(data: JsonValue, path: DataPath) -> object:
    value: object = data
    for part in path:
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return None
    return value


def _unknown_key(spot: _Spot, data: JsonValue) -> tuple[Complaint, list[DataPath]]:
    """The complaint about an unknown key, and the path of the missing key that was probably meant."""
    name, owner = str(spot.path[-1]), spot.owner
    assert owner is not None  # only a model refuses extra keys
    around = _value_at(data, spot.path[:-1])
    given = set(around) if isinstance(around, dict) else set()
    known = _keys_of(owner)
    missing = [key for key in known if key not in given]
    hint = did_you_mean(name, missing)
    meant = [(*spot.path[:-1], key) for key in missing if hint and f"{key!r}?" in hint]
    text = f"must be a known key{hint}"
    if not hint:
        text += f"; known here: {', '.join(known)}"
    return Complaint(spot.path, f"{text}; got {name!r}"), meant


_LENGTHS = ("too_short", "too_long")


def _long_enough(details: ErrorDetails, spot: _Spot, data: JsonValue) -> bool:
    """Whether a list is short only because its elements were refused, each with its own error."""
    value = _value_at(data, spot.path)
    least = details.get("ctx", {}).get("min_length", 0)
    return details["type"] == "too_short" and isinstance(value, list | dict) and len(value) >= least


def _complaint_of(details: ErrorDetails, spot: _Spot, data: JsonValue) -> Complaint:
    kind, context = details["type"], details.get("ctx", {})
    value = spot.path[-1] if spot.at_key else _value_at(data, spot.path)
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        tag = spot.form.discriminator or "kind"
        given = _value_at(data, (*spot.path, tag))
        known = list(spot.form.models)
        return Complaint((*spot.path, tag), f"must be {_one_of(known, given)}; got {got(given)}")
    if kind == "value_error":
        return _own_words(spot, str(context["error"]), value, data)
    words = _WORDS.get(kind)
    what = f"must be right ({details['msg']})" if words is None else words(context)
    if spot.at_key:
        what = f"must have a key that {what.replace('must not be', 'is not').replace('must be', 'is')}"
    elif kind == "literal_error" and spot.path:
        what = f"must be {_one_of(_quoted(str(context['expected'])), value)}"
    elif kind == "string_type" and isinstance(value, bool | int | float):
        what += " (put quotes around it)"
    return Complaint(spot.path, f"{what}; got {got(value)}")


def _own_words(spot: _Spot, message: str, value: object, data: JsonValue) -> Complaint:
    """A validator of ours says `part must be what`, part being below its model, or just `must be what`."""
    part, _, what = message.partition("must ")
    names = [name for name in part.strip().split(".") if name]
    path = (*spot.path, *(int(name) if name.isdigit() else name for name in names))
    if "; got " in what:
        return Complaint(path, f"must {what}")
    given = _value_at(data, path) if names else value
    return Complaint(path, f"must {what}; got {got(given)}")


def _quoted(text: str) -> list[str]:
    return re.findall(r"'([^']*)'", text) or [text]


def _one_of(known: list[str], given: object) -> str:
    hint = did_you_mean(given, known) if isinstance(given, str) else ""
    return f"{known[0] if len(known) == 1 else 'one of ' + ', '.join(known)}{hint}"


def _pattern(context: Mapping[str, object]) -> str:
    pattern = str(context["pattern"])
    return f"must be {PATTERNS[pattern]}" if pattern in PATTERNS else f"must match {pattern}"


def _at_least(context: Mapping[str, object]) -> str:
    least = context["min_length"]
    return "must not be empty" if least == 1 else f"must have at least {least} elements"


def _number(bound: object) -> str:
    return str(bound).removesuffix(".0")


_Words = Callable[[Mapping[str, object]], str]

# One entry for every error type that the constraints of the models can raise; a test keeps it complete.
_WORDS: Mapping[str, _Words] = {
    "bool_type": lambda context: "must be true or false",
    "dict_type": lambda context: "must be a mapping of keys to values",
    "finite_number": lambda context: "must be a finite number",
    "float_type": lambda context: "must be a number",
    "greater_than": lambda context: f"must be more than {_number(context['gt'])}",
    "greater_than_equal": lambda context: f"must be at least {_number(context['ge'])}",
    "int_type": lambda context: "must be a whole number",
    "less_than": lambda context: f"must be less than {_number(context['lt'])}",
    "less_than_equal": lambda context: f"must be at most {_number(context['le'])}",
    "literal_error": lambda context: f"must be {context['expected']}",
    "model_type": lambda context: "must be a mapping of keys to values",
    "string_pattern_mismatch": _pattern,
    "string_too_long": lambda context: f"must have at most {context['max_length']} characters",
    "string_too_short": lambda context: (
        "must not be empty"
        if context["min_length"] == 1
        else f"must have at least {context['min_length']} characters"
    ),
    "string_type": lambda context: "must be text",
    "too_long": lambda context: f"must have at most {context['max_length']} elements",
    "too_short": _at_least,
    "tuple_type": lambda context: "must be a list",
}
