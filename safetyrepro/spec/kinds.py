"""The kinds of spec documents, in one table: a later kind is one more entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Generic, TypeVar

from safetyrepro.spec.base import Document
from safetyrepro.spec.consistency import Problem, find_problems
from safetyrepro.spec.experiment import EXPERIMENT_SCHEMA, Experiment

D_co = TypeVar("D_co", bound=Document, covariant=True)


@dataclass(frozen=True, slots=True)
class Kind(Generic[D_co]):
    """One kind of document: its `schema:` line, its model, and what must hold between its parts."""

    schema: str
    model: type[D_co]
    find_problems: Callable[[D_co], Iterable[Problem]]

    @property
    def file_name(self) -> str:
        """The name of its JSON Schema: `experiment-v1.json` for `safetyrepro/experiment/v1`."""
        _, name, version = self.schema.split("/")
        return f"{name}-{version}.json"


EXPERIMENT = Kind(schema=EXPERIMENT_SCHEMA, model=Experiment, find_problems=find_problems)

KINDS: Mapping[str, Kind[Document]] = MappingProxyType({kind.schema: kind for kind in (EXPERIMENT,)})
