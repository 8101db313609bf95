"""A pass cut into shards: fixed slices of the items, the units of packing, resume and cache."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from safetyrepro.data.records import Item
from safetyrepro.spec.experiment import Experiment


@dataclass(frozen=True, slots=True)
class Shard:
    """One slice of a pass, by its number from 0."""

    number: int
    items: tuple[Item, ...]

    def name(self, pass_id: str) -> str:
        """What its file is called in a pass."""
        return f"{pass_id}-{self.number:05d}"


def shards(experiment: Experiment, *, items: tuple[Item, ...]) -> Iterator[Shard]:
    """The shards of every pass: the items in order of their ids, `device.shard_items` at a time.

    The order of the item file changes nothing: the last bits of a score depend on what it was packed with.
    """
    ordered = tuple(sorted(items, key=lambda item: item.id))
    size = experiment.device.shard_items
    for number, start in enumerate(range(0, len(ordered), size)):
        yield Shard(number, ordered[start : start + size])
