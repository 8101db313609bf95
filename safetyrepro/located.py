"""YAML with positions: plain data, and for every key and value the line and column it stands at.

The reader follows the core schema of YAML 1.2 (`no`, `on` and `12:30` are text) and refuses what
makes a document mean something other than what it looks like: doubled keys, tags, merge keys,
numbers with leading zeros, several documents in one file, and aliases that grow beyond all bounds.
Its input is text a person wrote, so every refusal names the place.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import yaml

from safetyrepro.canonical import JsonValue
from safetyrepro.errors import InputError, InputErrors, must_be

DataPath: TypeAlias = tuple[str | int, ...]

MAX_BYTES = 4 << 20
MAX_NODES = 100_000
MAX_DEPTH = 60
_MAX_DIGITS = 40

_NULL = re.compile(r"(?:null|Null|NULL|~|)")
_TRUE = re.compile(r"(?:true|True|TRUE)")
_FALSE = re.compile(r"(?:false|False|FALSE)")
_INT = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]")
_REFUSED_IN_YAML = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A line and a column of a text, both counted from one, columns in characters."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Located:
    """Plain data with the place of every key and value.

    `keys` and `values` map a path, such as `("models", 0, "id")`, to where it stands. A value that
    comes from an alias has the place of the alias; what is inside it, the place of the original.
    """

    name: str
    data: JsonValue
    keys: Mapping[DataPath, Place]
    values: Mapping[DataPath, Place]

    def place_of_value(self, path: DataPath) -> Place:
        """Where the value at `path` stands, or else the innermost thing around it that is there."""
        for length in range(len(path), -1, -1):
            if (place := self.values.get(path[:length])) is not None:
                return place
        return Place(1, 1)

    def place_of_key(self, path: DataPath) -> Place:
        """Where the key at the end of `path` stands; for an element of a list, the element."""
        return self.keys.get(path) or self.place_of_value(path)


@dataclass(frozen=True, slots=True)
class _Scalar:
    place: Place
    value: bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class _List:
    place: Place
    children: list[_Node] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Map:
    place: Place
    children: dict[str, tuple[Place, _Node]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Alias:
    place: Place
    target: _Node


_Node: TypeAlias = _Scalar | _List | _Map | _Alias


def parse_located(text: str | bytes, name: str) -> Located:
    """The data of a YAML text, with positions; `name` stands before the line in messages.

    Raises:
        InputErrors: the text is not UTF-8, not YAML, or holds something that is refused; every such
            place at once where the text can be read at all, each as `name:line:column: ...`.
    """
    characters = _decode(text, name)
    root = _Reader(name).read(characters)
    if root is None:
        raise InputErrors([must_be(f"{name}:1:1", "the document must hold something", characters[:40])])
    keys: dict[DataPath, Place] = {}
    values: dict[DataPath, Place] = {}
    budget = _Budget(name, MAX_NODES)
    data = _flatten(root, (), keys, values, budget)
    return Located(name=name, data=data, keys=keys, values=values)


def _decode(data: str | bytes, name: str) -> str:
    if len(data) > MAX_BYTES:
        raise InputErrors(
            [must_be(f"{name}:1:1", f"the file must have at most {MAX_BYTES} bytes", len(data))]
        )
    text = data if isinstance(data, str) else _utf8(data, name)
    text = text.removeprefix("\ufeff")
    if bad := _REFUSED_IN_YAML.search(text):
        where = f"{name}:{_place_after(text[: bad.start()])}"
        raise InputErrors([must_be(where, "text must hold no control characters", bad.group())])
    return text


def _utf8(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        where = f"{name}:{_place_after(data[: error.start].decode('utf-8'))}"
        raise InputErrors([must_be(where, "text must be UTF-8", data[error.start : error.end])]) from error


def _place_after(before: str) -> Place:
    lines = before.split("\n")
    return Place(len(lines), len(lines[-1]) + 1)


class _Reader:
    """Builds the node tree from YAML events and collects everything it refuses on the way."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._messages: list[tuple[Place, str]] = []
        self._anchors: dict[str, _Node | None] = {}

    def read(self, text: str) -> _Node | None:
        root: _Node | None = None
        try:
            events = iter(yaml.parse(text, Loader=yaml.CSafeLoader))
            documents = 0
            for event in events:
                if not isinstance(event, yaml.DocumentStartEvent):
                    continue
                documents += 1
                if documents > 1:
                    self._refuse(_place(event), "a file must hold one document", "a second one")
                    break
                root = self._node(next(events), events, 0)
        except yaml.MarkedYAMLError as error:
            self._messages.append(self._syntax(error))
        except yaml.YAMLError as error:
            self._messages.append((Place(1, 1), f"{self._name}:1:1: must be YAML; {error}"))
        if self._messages:
            raise InputErrors(message for _, message in sorted(self._messages))
        return root

    def _refuse(self, place: Place, what: str, value: object) -> None:
        self._messages.append((place, must_be(f"{self._name}:{place}", what, value)))

    def _syntax(self, error: yaml.MarkedYAMLError) -> tuple[Place, str]:
        mark = error.problem_mark or error.context_mark
        place = Place(1, 1) if mark is None else Place(mark.line + 1, mark.column + 1)
        problem = error.problem or "cannot be read"
        if "cannot start any token" in problem or "tab character" in problem:
            problem += " (indent with spaces, not tabs; quote text that begins with @, ` or %)"
        context = f" {error.context}" if error.context else ""
        if error.context_mark is not None and error.context_mark.line + 1 != place.line:
            context += f" that begins at line {error.context_mark.line + 1}"
        return place, f"{self._name}:{place}: must be YAML; {problem}{context}"

    def _node(self, event: yaml.Event, events: Iterator[yaml.Event], depth: int) -> _Node:
        place = _place(event)
        if depth > MAX_DEPTH:
            raise InputErrors(
                [must_be(f"{self._name}:{place}", f"nesting must be at most {MAX_DEPTH} deep", depth)]
            )
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, place)
        if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            self._anchors[event.anchor] = None
        tag = getattr(event, "tag", None)
        if tag is not None:
            self._refuse(place, "a value must have no tag (such as !!str); quote text instead", tag)
        node = self._untagged(event, events, depth)
        if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _untagged(self, event: yaml.Event, events: Iterator[yaml.Event], depth: int) -> _Node:
        if isinstance(event, yaml.SequenceStartEvent):
            items = _List(_place(event))
            while not isinstance(following := next(events), yaml.SequenceEndEvent):
                items.children.append(self._node(following, events, depth + 1))
            return items
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(event, events, depth)
        assert isinstance(event, yaml.ScalarEvent)
        return self._scalar(event)

    def _alias(self, event: yaml.AliasEvent, place: Place) -> _Node:
        name = event.anchor or ""
        target = self._anchors.get(name)
        if target is None:
            what = (
                "must not contain itself" if name in self._anchors else "must refer to an anchor before it"
            )
            self._refuse(place, f"an alias {what}", f"*{name}")
            return _Scalar(place, None)
        return _Alias(place, target)

    def _mapping(self, event: yaml.MappingStartEvent, events: Iterator[yaml.Event], depth: int) -> _Node:
        mapping = _Map(_place(event))
        while not isinstance(following := next(events), yaml.MappingEndEvent):
            place = _place(following)
            key = self._key(following, events, depth)
            value = self._node(next(events), events, depth + 1)
            if key is None:
                continue
            if key in mapping.children:
                first = mapping.children[key][0]
                self._refuse(place, f"keys must be unique (first given in line {first.line})", key)
                continue
            mapping.children[key] = (place, value)
        return mapping

    def _key(self, event: yaml.Event, events: Iterator[yaml.Event], depth: int) -> str | None:
        """The key's text as it is written, or None where it was refused."""
        if not isinstance(event, yaml.ScalarEvent):
            self._node(event, events, depth + 1)
            self._refuse(_place(event), "a key must be text", "a list, a mapping or an alias")
            return None
        value: str = event.value
        if event.tag is not None:
            self._refuse(_place(event), "a key must have no tag", event.tag)
        elif event.implicit[0] and value == "<<":
            self._refuse(_place(event), "merge keys must not be used; write the keys out", value)
        elif event.implicit[0] and value == "":
            self._refuse(_place(event), "a key must be text", value)
        elif _CONTROL.search(value):
            self._refuse(_place(event), "text must hold no control characters", value)
        else:
            return value
        return None

    def _scalar(self, event: yaml.ScalarEvent) -> _Scalar:
        place, text = _place(event), str(event.value)
        # A plain scalar is told by `implicit`: its style is None or '' depending on the loader.
        if not event.implicit[0]:
            if _CONTROL.search(text):
                self._refuse(place, "text must hold no control characters", text)
            return _Scalar(place, text)
        try:
            return _Scalar(place, core_scalar(text))
        except InputError as error:
            self._messages.append((place, f"{self._name}:{place}: {error}"))
            return _Scalar(place, None)


def core_scalar(text: str) -> bool | int | float | str | None:
    """The value of a plain (unquoted) scalar under YAML 1.2's core schema.

    Raises:
        InputError: a number with leading zeros, not finite, or longer than 40 digits.
    """
    if _NULL.fullmatch(text):
        return None
    if _TRUE.fullmatch(text) or _FALSE.fullmatch(text):
        return text.lower() == "true"
    if _NOT_FINITE.fullmatch(text):
        raise InputError(f"a number must be finite; got {text}")
    if _OCTAL.fullmatch(text) or _HEX.fullmatch(text):
        return int(_short(text), 8 if text[1] == "o" else 16)
    if not _FLOAT.fullmatch(text):
        return text
    if _LEADING_ZERO.match(text):
        raise InputError(f"a number must have no leading zeros (quote it if it is text); got {text}")
    if _INT.fullmatch(text):
        return int(_short(text))
    number = float(_short(text))
    if not math.isfinite(number):
        raise InputError(f"a number must be finite; got {text}")
    return number


def _short(text: str) -> str:
    if len(text) > _MAX_DIGITS:
        raise InputError(f"a number must have at most {_MAX_DIGITS} digits; got {len(text)} characters")
    # `int` and `float` would also take digits of other scripts; the patterns above did not.
    return text.removeprefix("0o").removeprefix("0x")


def _place(event: yaml.Event) -> Place:
    mark = event.start_mark
    assert mark is not None  # every event of a parsed text has its mark
    return Place(mark.line + 1, mark.column + 1)


class _Budget:
    """Counts nodes as aliases are written out, so that a small file cannot become a huge one."""

    def __init__(self, name: str, nodes: int) -> None:
        self._name = name
        self._left = nodes

    def spend(self, place: Place) -> None:
        self._left -= 1
        if self._left < 0:
            raise InputErrors(
                [
                    f"{self._name}:{place}: the document must have at most {MAX_NODES} values "
                    "once its aliases are written out; got more"
                ]
            )


def _flatten(
    node: _Node,
    path: DataPath,
    keys: dict[DataPath, Place],
    values: dict[DataPath, Place],
    budget: _Budget,
) -> JsonValue:
    budget.spend(node.place)
    values[path] = node.place
    while isinstance(node, _Alias):
        node = node.target
    match node:
        case _Scalar():
            return node.value
        case _List():
            return [
                _flatten(child, (*path, index), keys, values, budget)
                for index, child in enumerate(node.children)
            ]
        case _Map():
            mapped: dict[str, JsonValue] = {}
            for key, (key_place, child) in node.children.items():
                keys[(*path, key)] = key_place
                mapped[key] = _flatten(child, (*path, key), keys, values, budget)
            return mapped
    raise AssertionError(f"a node of an unknown type: {node!r}")
