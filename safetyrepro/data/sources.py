"""Preference pairs from a file, a hub or a package, checked against everything the spec declares."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from safetyrepro.data.adapters import adapt
from safetyrepro.data.records import Pair, item_record, items_digest
from safetyrepro.data.tables import RowErrors, Table, TableRow, read_table
from safetyrepro.errors import InputError, InputErrors, did_you_mean, must_be
from safetyrepro.rng import generator
from safetyrepro.spec.experiment import Experiment
from safetyrepro.spec.factors import Exemplar, ShotsFactor
from safetyrepro.spec.items import PairFields, PairItems, Sample


@dataclass(frozen=True, slots=True)
class ItemSet:
    """The pairs that are asked, and what is known of where they come from."""

    pairs: tuple[Pair, ...]
    """The pairs, in the order of the source."""
    digest: str
    """The digest of the pairs, whatever their order."""
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
    items = read_pairs(experiment.items, base_dir=base_dir, data_dir=data_dir)
    exemplars = [
        one for factor in experiment.factors if isinstance(factor, ShotsFactor) for one in factor.exemplars
    ]
    check_exemplars(items.pairs, exemplars)
    return items


def read_pairs(items: PairItems, *, base_dir: Path, data_dir: Path | None = None) -> ItemSet:
    """The pairs of an `items` block, in the order of the source.

    Raises:
        InputError: the source cannot be read, is not what was declared, or leaves no item.
        InputErrors: rows that are not what they must be; every such row at once.
        MissingExtraError: Parquet or a hub needs the extra `models`.
    """
    table = read_table(items.source, base_dir=base_dir, data_dir=data_dir)
    _check_source(items, table)
    rows = _filter(items, table)
    excluded = {exclusion.id for exclusion in items.exclude}
    left = tuple(row for row in rows if _name(row, items.fields) not in excluded)
    _check_exclusions(items, rows, table.place)
    pairs = _pairs(items.fields, adapt(Table(table.place, left, table.digest), items.adapter))
    if items.twins:
        check_twins(pairs, table.place)
    _check_strata(items, pairs, table.place)
    if items.sample is not None:
        pairs = draw_sample(pairs, items.sample)
    if not pairs:
        raise InputError(must_be(table.place, "exclusions must leave at least one item", 0))
    return ItemSet(
        pairs=pairs,
        digest=items_digest(tuple(item_record(pair) for pair in pairs)),
        place=table.place,
        source_digest=table.digest,
        source_rows=len(table.rows),
        excluded=len(rows) - len(left),
    )


def check_exemplars(pairs: Iterable[Pair], exemplars: Sequence[Exemplar]) -> None:
    """Refuse exemplars whose prompt is asked as an item: the answer would stand in the context.

    Raises:
        InputErrors: each exemplar that is also an item.
    """
    asked = {pair.prompt.strip(): pair.id for pair in pairs}
    messages = [
        must_be(f"exemplar {index}", f"an exemplar must not be an item (item {asked[prompt]})", prompt)
        for index, exemplar in enumerate(exemplars)
        if (prompt := exemplar.prompt.strip()) in asked
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


def draw_sample(pairs: Sequence[Pair], sample: Sample) -> tuple[Pair, ...]:
    """At most `sample.rows` pairs, whole clusters drawn without replacement, in the order of the source.

    The draw depends on the seed and on the clusters' names, not on the order of the rows. An item
    without a cluster is a cluster of its own.

    Raises:
        InputError: the first cluster drawn is already larger than the sample.
    """
    clusters: defaultdict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        clusters[f"item {pair.id}" if pair.cluster is None else f"cluster {pair.cluster}"].append(pair)
    names = sorted(clusters)
    drawn: set[str] = set()
    for index in generator(sample.seed, "sample").permutation(len(names)):
        members = clusters[names[int(index)]]
        if len(drawn) + len(members) > sample.rows:
            break
        drawn.update(pair.id for pair in members)
    if not drawn:
        raise InputError(must_be("items.sample.rows", "must have room for a whole cluster", sample.rows))
    return tuple(pair for pair in pairs if pair.id in drawn)


def _check_source(items: PairItems, table: Table) -> None:
    if items.sha256 is not None and table.digest != items.sha256:
        raise InputError(f"{table.place}: sha256 must be {items.sha256}; got {table.digest}")
    if not table.rows:
        raise InputError(must_be(table.place, "a source must hold at least one item", 0))
    if items.rows is not None and len(table.rows) != items.rows:
        raise InputError(must_be(table.place, f"rows must be {items.rows}", len(table.rows)))


def _filter(items: PairItems, table: Table) -> tuple[TableRow, ...]:
    wanted: Mapping[str, tuple[str, ...]] = items.where or {}
    columns = table.columns()
    for column in wanted:
        if column not in columns:
            raise InputError(_no_column(table.place, f"where.{column}", column, columns))
    kept = tuple(
        row for row in table.rows if all(str(row.cells.get(name)) in some for name, some in wanted.items())
    )
    if not kept:
        raise InputError(must_be(table.place, "where must leave at least one item", dict(wanted)))
    return kept


def _no_column(place: str, field: str, column: str, columns: Sequence[str]) -> str:
    what = f"{field} must be one of the columns {', '.join(columns)}{did_you_mean(column, columns)}"
    return must_be(place, what, column)


def _name(row: TableRow, fields: PairFields) -> str:
    return str(row.number if fields.id is None else row.cells.get(fields.id))


def _check_exclusions(items: PairItems, rows: Iterable[TableRow], place: str) -> None:
    names = {_name(row, items.fields) for row in rows}
    absent = [exclusion.id for exclusion in items.exclude if exclusion.id not in names]
    if absent:
        raise InputErrors(must_be(place, "exclude must name items", name) for name in absent)


def _check_strata(items: PairItems, pairs: Iterable[Pair], place: str) -> None:
    if items.weights is None:
        return
    declared = [stratum.name for stratum in items.weights]
    present = sorted({str(pair.stratum) for pair in pairs})
    if sorted(declared) != present:
        raise InputError(
            must_be(place, f"weights must name the strata {', '.join(present)}, once each", declared)
        )


def _pairs(fields: PairFields, table: Table) -> tuple[Pair, ...]:
    columns = table.columns()
    missing = [
        _no_column(table.place, f"fields.{field}", column, columns)
        for field, column in fields.model_dump().items()
        if column is not None and column not in columns and table.rows
    ]
    if missing:
        raise InputErrors(missing)
    errors = RowErrors(table.place)
    pairs = [pair for row in table.rows if (pair := _pair(row, fields, errors)) is not None]
    if len({pair.id for pair in pairs}) != len(pairs):
        for name, count in Counter(pair.id for pair in pairs).items():
            if count > 1:
                errors.add_text(
                    must_be(table.place, f"ids must be unique; {count} rows have the same", name)
                )
    errors.check()
    return tuple(pairs)


def _pair(row: TableRow, fields: PairFields, errors: RowErrors) -> Pair | None:
    prompt = _text(row, fields.prompt, errors)
    chosen = _text(row, fields.chosen, errors)
    rejected = _text(row, fields.rejected, errors)
    name = str(row.number) if fields.id is None else _label(row, fields.id, errors)
    stratum = None if fields.stratum is None else _label(row, fields.stratum, errors)
    cluster = None if fields.cluster is None else _label(row, fields.cluster, errors)
    if chosen is not None and chosen == rejected:
        errors.add(row.number, f"{fields.chosen} and {fields.rejected} must differ", chosen)
        return None
    if prompt is None or chosen is None or rejected is None or name is None:
        return None
    return Pair(id=name, prompt=prompt, chosen=chosen, rejected=rejected, stratum=stratum, cluster=cluster)


def _text(row: TableRow, column: str, errors: RowErrors) -> str | None:
    """A text that a model can be asked: a string that is not blank."""
    value = row.cells.get(column)
    if isinstance(value, str) and value.strip():
        return value
    what = f"{column} must be a non-empty string"
    if column not in row.cells:
        errors.add(row.number, f"{what}{did_you_mean(column, row.cells)}", None)
    else:
        errors.add(row.number, what, value)
    return None


def _label(row: TableRow, column: str, errors: RowErrors) -> str | None:
    """A name of an item, stratum or cluster: text, or a whole number as text."""
    value = row.cells.get(column)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and value.strip():
        return value
    errors.add(row.number, f"{column} must be a name or a whole number", value)
    return None
