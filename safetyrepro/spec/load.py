"""A spec file to its document, or every one of its errors at once, each with line and column."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

from pydantic import ValidationError

from safetyrepro.errors import InputError, InputErrors, did_you_mean
from safetyrepro.located import Located, parse_located
from safetyrepro.spec.base import Document
from safetyrepro.spec.experiment import Experiment
from safetyrepro.spec.kinds import EXPERIMENT, KINDS, D_co, Kind
from safetyrepro.spec.wording import Complaint, complaint, find_complaints, got


@dataclass(frozen=True, slots=True)
class Loaded(Generic[D_co]):
    """A document with the file it came from and that file's bytes, as they were given."""

    document: D_co
    data: bytes
    path: Path


def load_document(path: Path) -> Loaded[Document]:
    """The document in a spec file, of whichever kind its `schema:` line says.

    Raises:
        InputError: the file cannot be read.
        InputErrors: every error of the file at once, as `file:line:column: where must be what; got value`.
    """
    data = _read(path)
    return Loaded(document=_parse(data, str(path), KINDS), data=data, path=path)


def load_experiment(path: Path) -> Loaded[Experiment]:
    """The experiment in a spec file.

    Raises:
        InputError: the file cannot be read.
        InputErrors: every error of the file at once, as `file:line:column: where must be what; got value`.
    """
    data = _read(path)
    return Loaded(document=parse_experiment(data, str(path)), data=data, path=path)


def parse_document(text: str | bytes, name: str) -> Document:
    """The document in a YAML text; `name` stands for the file in messages.

    Raises:
        InputErrors: every error of the text at once.
    """
    return _parse(text, name, KINDS)


def parse_experiment(text: str | bytes, name: str) -> Experiment:
    """The experiment in a YAML text; `name` stands for the file in messages.

    Raises:
        InputErrors: every error of the text at once.
    """
    return _parse(text, name, {EXPERIMENT.schema: EXPERIMENT})


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: must be a readable file; got {error.strerror or error}") from error


def _parse(text: str | bytes, name: str, kinds: Mapping[str, Kind[D_co]]) -> D_co:
    located = parse_located(text, name)
    kind = _kind_of(located, kinds)
    try:
        # Strict mode takes a list for a tuple from JSON only, and JSON is what a spec's digest is made of.
        document = kind.model.model_validate_json(json.dumps(located.data))
    except ValidationError as error:
        _refuse(located, find_complaints(error, model=kind.model, data=located.data))
        raise AssertionError(f"{name}: a refused document without a complaint") from error
    # What must hold between parts is asked only of parts that have their form.
    _refuse(located, [complaint(problem) for problem in kind.find_problems(document)])
    return document


def _kind_of(located: Located, kinds: Mapping[str, Kind[D_co]]) -> Kind[D_co]:
    if not isinstance(located.data, dict):
        _refuse(located, [Complaint((), f"must be a mapping of keys to values; got {got(located.data)}")])
    assert isinstance(located.data, dict)
    known = " or ".join(kinds)
    if "schema" not in located.data:
        _refuse(located, [Complaint(("schema",), f"must be given: {known}; got nothing")])
    schema = located.data["schema"]
    if not isinstance(schema, str) or schema not in kinds:
        hint = did_you_mean(schema, kinds) if isinstance(schema, str) and len(kinds) > 1 else ""
        _refuse(located, [Complaint(("schema",), f"must be {known}{hint}; got {got(schema)}")])
    return kinds[str(schema)]


def _refuse(located: Located, complaints: list[Complaint]) -> None:
    """Raise all complaints in the order of their places; return where there are none."""
    placed = sorted((located.place_of_key(one.path), one.path_text, one.text) for one in complaints)
    if placed:
        raise InputErrors(
            dict.fromkeys(f"{located.name}:{place}: {where} {text}" for place, where, text in placed)
        )
