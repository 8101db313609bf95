"""Anybody's scores as one array: models by configurations by items, whatever harness gave them.

Everything is put in order of its name (levels that are numbers by their value), so that a matrix, and
all that is computed from it, does not depend on the order in which rows or files came.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from safetyrepro.canonical import digest_json
from safetyrepro.errors import InputErrors, must_be, shorten

SHOWN_ERRORS = 20
_MOST_SCORES = 1 << 28


@dataclass(frozen=True, slots=True)
class ScoreFile:
    """A file that scores were read from: its name, its digest, its rows, with a score or without."""

    name: str
    digest: str
    rows: int


@dataclass(frozen=True, slots=True)
class Blanks:
    """Rows without a number in the place of their score: how many, and the places of the first ones."""

    count: int
    first: tuple[str, ...]


NO_BLANKS: Final = Blanks(0, ())


@dataclass(frozen=True, slots=True)
class ScoreMatrix:
    """Item scores of M models under C configurations, as given: what is better is not decided here.

    levels: (C, F) the level of every factor in every configuration.
    clusters: (N,) the name of each item's independent unit; None where none was named.
    scores: (M, C, N); NaN where there is no score; the mean over the runs where items were repeated.
    runs: (R, M, C, N) the scores of every run; None where nothing was repeated.
    """

    models: tuple[str, ...]
    factors: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    items: tuple[str, ...]
    clusters: tuple[str, ...] | None
    scores: NDArray[np.float64]
    runs: NDArray[np.float64] | None = None
    files: tuple[ScoreFile, ...] = ()
    blanks: Blanks = NO_BLANKS
    remarks: tuple[str, ...] = ()
    """What a reader must know about the files, such as that a run did not end."""

    def with_remarks(self, remarks: tuple[str, ...]) -> ScoreMatrix:
        """The same scores with these remarks."""
        return replace(self, remarks=remarks)

    @property
    def configurations(self) -> tuple[str, ...]:
        """(C,) ids: factor=level pairs joined by commas; an envelope without factors is called `all`."""
        return tuple(configuration_id(self.factors, levels) for levels in self.levels)

    def cluster_codes(self) -> NDArray[np.int64]:
        """(N,) integer codes of the independent units; each item is its own where none was named."""
        if self.clusters is None:
            return np.arange(len(self.items), dtype=np.int64)
        return np.unique(np.array(self.clusters), return_inverse=True)[1].astype(np.int64)


@dataclass(frozen=True, slots=True)
class CountMatrix:
    """Successes out of trials, (M, C); a cell that no row speaks of has no trials."""

    models: tuple[str, ...]
    factors: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    successes: NDArray[np.int64]
    trials: NDArray[np.int64]
    files: tuple[ScoreFile, ...] = ()

    @property
    def configurations(self) -> tuple[str, ...]:
        """(C,) ids, as `ScoreMatrix.configurations`."""
        return tuple(configuration_id(self.factors, levels) for levels in self.levels)


def configuration_id(factors: Sequence[str], levels: Sequence[str]) -> str:
    """The name of a configuration; without factors there is one, called `all`."""
    return ",".join(f"{f}={level}" for f, level in zip(factors, levels, strict=True)) or "all"


def grid_digest(factors: Sequence[str], levels: Sequence[Sequence[str]]) -> str:
    """What an envelope that was found in a table is cited by: its factors and its configurations."""
    return digest_json({"factors": list(factors), "configurations": sorted(list(one) for one in levels)})


def level_order(names: Sequence[str]) -> list[str]:
    """Levels in printing order: by value where all are numbers, else by name."""
    distinct = sorted(set(names))
    try:
        return sorted(distinct, key=float)
    except ValueError:
        return distinct


@dataclass(slots=True)
class _Codes:
    """Names to codes in the order in which they come; and back, in the order of the names."""

    codes: dict[str, int] = field(default_factory=dict)

    def of(self, name: str) -> int:
        return self.codes.setdefault(name, len(self.codes))

    def ordered(self, names: list[str]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
        """The names in the given order, and the place of each code in it."""
        places = np.empty(len(names), dtype=np.int64)
        for place, name in enumerate(names):
            places[self.codes[name]] = place
        return tuple(names), places


class MatrixBuilder:
    """Takes scores one by one and gives the matrix, or every row that keeps it from being one.

    Args:
        factors: the factors' names, slowest first.
    """

    def __init__(self, factors: Sequence[str]) -> None:
        self._factors = tuple(factors)
        self._models, self._items, self._runs = _Codes(), _Codes(), _Codes()
        self._grid: dict[tuple[str, ...], int] = {}
        self._cells = array("q")  # model, configuration, item, run, file, row: six numbers a score
        self._scores = array("d")
        self._clusters: dict[int, tuple[str, str]] = {}
        self._files: list[str] = []
        self._errors: list[str] = []
        self._found = 0
        self._blanks: list[str] = []
        self._blank_count = 0

    @property
    def models(self) -> tuple[str, ...]:
        """The models met so far, by name."""
        return tuple(sorted(self._models.codes))

    def open(self, name: str) -> None:
        """The rows that follow are of this file."""
        self._files.append(name)

    def add(
        self,
        row: int,
        *,
        model: str,
        levels: tuple[str, ...],
        item: str,
        score: float,
        cluster: str | None = None,
        run: str = "",
    ) -> None:
        """One score; NaN where the row has none. `row` is its number in the open file."""
        file = len(self._files) - 1
        code = self._items.of(item)
        self._cells.extend(
            (
                self._models.of(model),
                self._grid.setdefault(levels, len(self._grid)),
                code,
                self._runs.of(run),
                file,
                row,
            )
        )
        self._scores.append(score)
        if score != score:
            self._blank_count += 1
            if len(self._blanks) < SHOWN_ERRORS:
                self._blanks.append(self._place(file, row))
        if cluster is not None:
            place = self._place(file, row)
            known, first = self._clusters.setdefault(code, (cluster, place))
            if known != cluster:
                self.refuse(
                    f"{place}: the cluster of item {shorten(item)} must be {known!r}, as at {first}; "
                    f"got {cluster!r}"
                )

    def refuse(self, message: str) -> None:
        """Note a row that is not what it must be; beyond the first twenty they are counted."""
        self._found += 1
        if self._found <= SHOWN_ERRORS:
            self._errors.append(message)

    def build(self, files: Sequence[ScoreFile] = ()) -> ScoreMatrix:
        """The matrix of everything that was added.

        Raises:
            InputErrors: rows noted as refused, two rows for one score, no row at all, an item whose
                cluster is named in some rows only, or a grid too large to hold.
        """
        cells = np.frombuffer(self._cells, dtype=np.int64).reshape(-1, 6)
        if not self._found and not cells.shape[0]:
            self.refuse(f"{', '.join(self._files) or 'scores'}: must hold at least one score; got none")
        self._check_clusters()
        self.check()
        models, model_places = self._models.ordered(sorted(self._models.codes))
        items, item_places = self._items.ordered(sorted(self._items.codes))
        runs, run_places = self._runs.ordered(sorted(self._runs.codes))
        levels, grid_places = self._ordered_grid()
        shape = (len(runs), len(models), len(levels), len(items))
        if np.prod(shape, dtype=np.float64) > _MOST_SCORES:
            what = f"runs x models x configurations x items must be at most {_MOST_SCORES:,}"
            self.refuse(must_be("scores", what, shape))
            self.check()
        places = np.ravel_multi_index(
            (
                run_places[cells[:, 3]],
                model_places[cells[:, 0]],
                grid_places[cells[:, 1]],
                item_places[cells[:, 2]],
            ),
            shape,
        )
        self._check_unique(places, cells, items=np.array(items)[item_places])
        filled = np.full(int(np.prod(shape)), np.nan)
        filled[places] = np.frombuffer(self._scores, dtype=np.float64)
        scores = filled.reshape(shape)
        return ScoreMatrix(
            models=models,
            factors=self._factors,
            levels=levels,
            items=items,
            clusters=self._cluster_names(items),
            scores=scores[0] if len(runs) == 1 else _mean_over_runs(scores),
            runs=scores if len(runs) > 1 else None,
            files=tuple(files),
            blanks=Blanks(self._blank_count, tuple(self._blanks)),
        )

    def check(self) -> None:
        """Refuse where any row was refused.

        Raises:
            InputErrors: what was noted, in the order in which it was found.
        """
        if self._found > SHOWN_ERRORS:
            self._errors.append(f"and {self._found - SHOWN_ERRORS} more rows like these")
        if self._errors:
            raise InputErrors(self._errors)

    def _place(self, file: int, row: int) -> str:
        return f"{self._files[file]}: row {row}"

    def _ordered_grid(self) -> tuple[tuple[tuple[str, ...], ...], NDArray[np.int64]]:
        ranks = [
            {level: rank for rank, level in enumerate(level_order([one[f] for one in self._grid]))}
            for f in range(len(self._factors))
        ]
        ordered = sorted(
            self._grid, key=lambda one: [rank[level] for rank, level in zip(ranks, one, strict=True)]
        )
        places = np.empty(len(ordered), dtype=np.int64)
        for place, one in enumerate(ordered):
            places[self._grid[one]] = place
        return tuple(ordered), places

    def _check_unique(
        self, places: NDArray[np.int64], cells: NDArray[np.int64], *, items: NDArray[np.str_]
    ) -> None:
        order = np.argsort(places, kind="stable")
        again = np.flatnonzero(places[order][1:] == places[order][:-1]) + 1
        for place in np.sort(order[again]).tolist():
            first = int(np.flatnonzero(places == places[place])[0]) if self._found < SHOWN_ERRORS else 0
            _, _, item, _, file, row = cells[place].tolist()
            _, _, _, _, other_file, other_row = cells[first].tolist()
            self.refuse(
                f"{self._place(file, row)}: a model must have one score an item, configuration and run "
                f"(is a factor missing?); got item {shorten(str(items[item]))} again, first at "
                f"{self._place(other_file, other_row)}"
            )
        self.check()

    def _check_clusters(self) -> None:
        if self._clusters and len(self._clusters) < len(self._items.codes):
            bare = next(name for name, code in self._items.codes.items() if code not in self._clusters)
            self.refuse(f"item {shorten(bare)}: must have a cluster, as other items have; got none")

    def _cluster_names(self, items: tuple[str, ...]) -> tuple[str, ...] | None:
        if not self._clusters:
            return None
        return tuple(self._clusters[self._items.codes[item]][0] for item in items)


def _mean_over_runs(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """(M, C, N) the mean over the runs that have a score; NaN where none has."""
    known = ~np.isnan(scores)
    count = known.sum(axis=0)
    total = np.where(known, scores, 0.0).sum(axis=0)
    mean: NDArray[np.float64] = np.full(count.shape, np.nan)
    np.divide(total, count, out=mean, where=count > 0)
    return mean
