"""Items from a file, a hub or a package, checked against everything the spec declares."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from safetyrepro.data.adapters import adapt
from safetyrepro.data.cells import no_column
from safetyrepro.data.choices import make_choices
from safetyrepro.data.pairs import make_pairs
from safetyrepro.data.records import Item, Pair, item_record, items_digest
from safetyrepro.data.tables import RowErrors, Table, TableRow, read_table
from safetyrepro.errors import InputError, InputErrors, must_be
from safetyrepro.rng import generator
from safetyrepro.spec.experiment import Experiment, Items
from safetyrepro.spec.factors import Exemplar, ShotsFactor
from safetyrepro.spec.items import PairItems, Sample


@dataclass(frozen=True, slots=True)
class ItemSet:
    """The items that are asked, and what is known of where they come from."""

    items: tuple[Item, ...]
    """The items, in the order of the source."""
    digest: str
    """The digest of the items, whatever their order."""
    place: str
    """The source as messages call it."""
    source_digest: str | None
    """The digest of the source file; a hub's rows are pinned by their revision and have none."""
    source_rows: int
    """Rows in the source, before filter, exclusions and sample."""
    excluded: int
    """Items that the spec leaves out, each with its reason."""


def read_items(experiment: Experiment, *, base_dir: Path, data_dir: Path | None = None) -> ItemSet:
    """The items of an experiment; none of them is shown as an exemplar.

    Args:
        experiment: the spec.
        base_dir: the folder of the spec, which relative paths start from.
        data_dir: where given, the folder that relative paths of `file` sources start from instead.

    Raises:
        InputError: the source cannot be read, is not what was declared, or leaves no item.
        InputErrors: rows that are not what they must be; every such row at once.
        MissingExtraError: Parquet or a hub needs the extra `models`.
    """
    items = read_declared(experiment.items, base_dir=base_dir, data_dir=data_dir)
    exemplars = [
        one for factor in experiment.factors if isinstance(factor, ShotsFactor) for one in factor.exemplars
    ]
    shared = experiment.items.fields.prompt_text if isinstance(experiment.items, PairItems) else None
    check_exemplars(items.items, exemplars, shared_prompt=shared)
    return items


def read_declared(items: Items, *, base_dir: Path, data_dir: Path | None = None) -> ItemSet:
    """The items of an `items` block, in the order of the source.

    Raises:
        InputError: the source cannot be read, is not what was declared, or leaves no item.
        InputErrors: rows that are not what they must be; every such row at once.
        MissingExtraError: Parquet or a hub needs the extra `models`.
    """
    table = read_table(items.source, base_dir=base_dir, data_dir=data_dir)
    _check_source(items, table)
    rows = _filter(items, table)
    excluded = {exclusion.id for exclusion in items.exclude}
    left = Table(table.place, tuple(row for row in rows if _name(row, items) not in excluded), table.digest)
    _check_exclusions(items, rows, table.place)
    found: tuple[Item, ...]
    if isinstance(items, PairItems):
        pairs = make_pairs(adapt(left, items.adapter), items.fields)
        if items.twins:
            check_twins(pairs, table.place)
        found = pairs
    else:
        found = make_choices(left, items.fields)
    _check_names(found, table.place)
    _check_strata(items, found, table.place)
    if items.sample is not None:
        found = draw_sample(found, items.sample)
    if not found:
        raise InputError(must_be(table.place, "exclusions must leave at least one item", 0))
    return ItemSet(
        items=found,
        digest=items_digest(tuple(item_record(item) for item in found)),
        place=table.place,
        source_digest=table.digest,
        source_rows=len(table.rows),
        excluded=len(rows) - len(left.rows),
    )


def check_exemplars(
    items: Iterable[Item], exemplars: Sequence[Exemplar], *, shared_prompt: str | None = None
) -> None:
    """Refuse exemplars that are asked as items: the answer would stand in the context.

    An exemplar is an item whose prompt it has; where all items share one prompt, whose answer it has.

    Raises:
        InputErrors: each exemplar that is also an item.
    """
    asked: dict[str, str] = {}
    for item in items:
        texts = [item.prompt] if shared_prompt is None else [text for _, text in item.answers]
        asked.update({text.strip(): item.id for text in texts})
    messages = [
        must_be(f"exemplar {index}", f"an exemplar must not be an item (item {asked[text]})", text)
        for index, exemplar in enumerate(exemplars)
        if (text := (exemplar.prompt if shared_prompt is None else exemplar.chosen).strip()) in asked
    ]
    if messages:
        raise InputErrors(messages)


def check_twins(pairs: Iterable[Pair], place: str) -> None:
    """Refuse clusters that are not crossed twins: two prompts, two answers, each right for one prompt.

    Raises:
        InputErrors: every cluster that is not; beyond the first twenty they are counted.
    """
    clusters: defaultdict[str | None, list[Pair]] = defaultdict(list)
    for pair in pairs:
        clusters[pair.cluster].append(pair)
    errors = RowErrors(place)
    for name, members in clusters.items():
        where = f"{place}: twin {name}"
        if len(members) != 2:
            errors.add_text(must_be(where, "a twin must be two items", len(members)))
            continue
        one, other = members
        if one.prompt == other.prompt:
            errors.add_text(must_be(where, "a twin must have two prompts", one.prompt))
        elif (one.chosen, one.rejected) != (other.rejected, other.chosen):
            what = "what is chosen for one prompt must be rejected for the other"
            errors.add_text(must_be(where, what, (one.chosen, one.rejected, other.chosen, other.rejected)))
    errors.check()


def draw_sample(items: Sequence[Item], sample: Sample) -> tuple[Item, ...]:
    """At most `sample.rows` items, whole clusters drawn without replacement, in the order of the source.

    The draw depends on the seed and on the clusters' names, not on the order of the rows. An item
    without a cluster is a cluster of its own.

    Raises:
        InputError: the first cluster drawn is already larger than the sample.
    """
    clusters: defaultdict[str, list[Item]] = defaultdict(list)
    for item in items:
        clusters[f"item {item.id}" if item.cluster is None else f"cluster {item.cluster}"].append(item)
    names = sorted(clusters)
    drawn: set[str] = set()
    for index in generator(sample.seed, "sample").permutation(len(names)):
        members = clusters[names[int(index)]]
        if len(drawn) + len(members) > sample.rows:
            break
        drawn.update(item.id for item in members)
    if not drawn:
        raise InputError(must_be("items.sample.rows", "must have room for a whole cluster", sample.rows))
    return tuple(item for item in items if item.id in drawn)


def _check_source(items: Items, table: Table) -> None:
    if items.sha256 is not None and table.digest != items.sha256:
        raise InputError(f"{table.place}: sha256 must be {items.sha256}; got {table.digest}")
    if not table.rows:
        raise InputError(must_be(table.place, "a source must hold at least one item", 0))
    if items.rows is not None and len(table.rows) != items.rows:
        raise InputError(must_be(table.place, f"rows must be {items.rows}", len(table.rows)))


def _filter(items: Items, table: Table) -> tuple[TableRow, ...]:
    wanted: Mapping[str, tuple[str, ...]] = items.where or {}
    for column in wanted:
        if not table.has(column):
            raise InputError(no_column(table, f"where.{column}", column=column))
    kept = tuple(
        row for row in table.rows if all(str(row.cell(name)) in some for name, some in wanted.items())
    )
    if not kept:
        raise InputError(must_be(table.place, "where must leave at least one item", dict(wanted)))
    return kept


def _name(row: TableRow, items: Items) -> str:
    return str(row.number if items.fields.id is None else row.cell(items.fields.id))


def _check_exclusions(items: Items, rows: Iterable[TableRow], place: str) -> None:
    names = {_name(row, items) for row in rows}
    absent = [exclusion.id for exclusion in items.exclude if exclusion.id not in names]
    if absent:
        raise InputErrors(must_be(place, "exclude must name items", name) for name in absent)


def _check_names(items: Sequence[Item], place: str) -> None:
    counts = Counter(item.id for item in items)
    errors = RowErrors(place)
    for name, count in counts.items():
        if count > 1:
            errors.add_text(must_be(place, f"ids must be unique; {count} rows have the same", name))
    errors.check()


def _check_strata(items: Items, found: Iterable[Item], place: str) -> None:
    if items.weights is None:
        return
    declared = [stratum.name for stratum in items.weights]
    present = sorted({str(item.stratum) for item in found})
    if sorted(declared) != present:
        raise InputError(
            must_be(place, f"weights must name the strata {', '.join(present)}, once each", declared)
        )
