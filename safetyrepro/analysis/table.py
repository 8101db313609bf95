"""Rows to arrays: every cell's scores, read off its pass by its rule, items in order of their ids."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from safetyrepro.data.records import ItemRecord, Outcome, Row
from safetyrepro.data.rules import prompt_blind_scores, rule_scores
from safetyrepro.errors import IntegrityError
from safetyrepro.spec.envelope import Configuration, Pass, configurations, pass_of, reference_pass, rule_of
from safetyrepro.spec.experiment import Experiment
from safetyrepro.stats.choices import tied_at_top

StoredRows: TypeAlias = Callable[[str], Iterable[Row]]
"""Gives the stored rows of a pass; called once a pass, so that only one pass is in memory."""


@dataclass(frozen=True, slots=True)
class PassTable:
    """One pass as arrays (A, N): answers in order of their labels, items. NaN where not scored."""

    sum_nats: NDArray[np.float64]
    unconditional_nats: NDArray[np.float64]
    tokens: NDArray[np.int64]
    utf8_bytes: NDArray[np.int64]
    spans_join: NDArray[np.bool_]
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """All cells, with N items in order of their ids; NaN where there is no score, or no such answer.

    scores, blind: (A, M, C, N), with the prompt and without it. A is the most answers that an item has: of
    pairs two, chosen and rejected. present: (A, N) which answers an item has.
    """

    items: tuple[ItemRecord, ...]
    configurations: tuple[Configuration, ...]
    pass_ids: tuple[tuple[str, ...], ...]
    passes: Mapping[str, PassTable]
    scores: NDArray[np.float64]
    blind: NDArray[np.float64]
    present: NDArray[np.bool_]

    @property
    def chosen(self) -> NDArray[np.float64]:
        """(M, C, N) of pairs, the chosen answer's score."""
        return np.asarray(self.scores[0])

    @property
    def rejected(self) -> NDArray[np.float64]:
        """(M, C, N) of pairs, the rejected answer's score."""
        return np.asarray(self.scores[1])

    def golds(self) -> NDArray[np.bool_]:
        """(A, N) of choices, which options are right."""
        found = np.zeros(self.present.shape, dtype=np.bool_)
        for n, item in enumerate(self.items):
            found[list(item.golds or ()), n] = True
        return found

    def token_lengths(self) -> NDArray[np.float64]:
        """(A, M, C, N) tokens of the answers; NaN where the item has no score in the cell."""
        lengths = np.stack(
            [
                np.stack([self.passes[name].tokens.astype(np.float64) for name in ids], axis=1)
                for ids in self.pass_ids
            ],
            axis=1,
        )
        whole = (~np.isnan(self.scores) | ~self.present[:, None, None, :]).all(axis=0)
        return np.where(whole, lengths, np.nan)

    def cluster_labels(self, *, declared: bool) -> NDArray[np.str_]:
        """(N,) what is resampled together: the declared clusters, or each item for itself.

        An item without a cluster is its own; the prefix keeps the two kinds of names apart.
        """
        return np.array(
            [
                f"cluster:{item.cluster}" if declared and item.cluster is not None else f"item:{item.id}"
                for item in self.items
            ]
        )

    def twin_places(self) -> tuple[tuple[int, int], ...]:
        """The places of the two items of every twin, in order of the items.

        Raises:
            IntegrityError: a cluster that is not two items.
        """
        members: dict[str | None, list[int]] = {}
        for index, item in enumerate(self.items):
            members.setdefault(item.cluster, []).append(index)
        for name, places in members.items():
            if name is None or len(places) != 2:
                raise IntegrityError(f"items: a twin must be two items; got {len(places)} of {name}")
        return tuple((first, second) for first, second in members.values())

    def outcome_counts(self, model: int, configuration: int) -> dict[str, int]:
        """How many items had which outcome in a cell; every kind is named, also those with none.

        An item that was scored, but whose truncated answer leaves this rule no number (no byte for `byte`,
        no unconditional score for `pmi`), met the context's limit.
        """
        counts = {str(outcome): 0 for outcome in Outcome}
        scores = self.scores[:, model, configuration]
        ties = tied_at_top(scores, present=self.present)
        missing = np.atleast_1d((np.isnan(scores) & self.present).any(axis=0))
        for index, outcome in enumerate(self.passes[self.pass_ids[model][configuration]].outcomes):
            kind = outcome
            if outcome is Outcome.SCORED and missing[index]:
                kind = Outcome.LIMIT
            elif outcome is Outcome.SCORED and ties[index]:
                kind = Outcome.TIE
            counts[kind] += 1
        return counts


def score_table(experiment: Experiment, *, items: Sequence[ItemRecord], rows: StoredRows) -> ScoreTable:
    """The scores of every cell.

    Args:
        experiment: the spec that ran.
        items: the item records, in any order.
        rows: gives the stored rows of a pass, in any order.

    Raises:
        IntegrityError: a row is missing, doubled, or belongs to another item set or pass; an item is there
            twice.
    """
    ordered = tuple(sorted(items, key=lambda item: item.id))
    for one, following in itertools.pairwise(ordered):
        if one.id == following.id:
            raise IntegrityError(f"items: ids must be unique; got {one.id} twice")
    grid = configurations(experiment)
    tables: dict[str, PassTable] = {}
    pass_ids: list[tuple[str, ...]] = []
    present = _present(ordered)
    shape = (present.shape[0], len(experiment.models), len(grid), len(ordered))
    all_scores, all_blind = np.full(shape, np.nan), np.full(shape, np.nan)
    for m, model in enumerate(experiment.models):
        ids: list[str] = []
        for c, configuration in enumerate(grid):
            scored = pass_of(experiment, model=model, configuration=configuration)
            name = scored.id()
            ids.append(name)
            if name not in tables:
                tables[name] = _scored_table(experiment, scored, ordered, rows)
            table, rule = tables[name], rule_of(configuration)
            scores = rule_scores(
                rule,
                sum_nats=table.sum_nats,
                unconditional_nats=table.unconditional_nats,
                tokens=table.tokens,
                utf8_bytes=table.utf8_bytes,
            )
            blind = prompt_blind_scores(
                rule,
                unconditional_nats=table.unconditional_nats,
                tokens=table.tokens,
                utf8_bytes=table.utf8_bytes,
            )
            all_scores[:, m, c], all_blind[:, m, c] = scores, blind
        pass_ids.append(tuple(ids))
    return ScoreTable(
        items=ordered,
        configurations=grid,
        pass_ids=tuple(pass_ids),
        passes=tables,
        scores=all_scores,
        blind=all_blind,
        present=present,
    )


def _present(items: Sequence[ItemRecord]) -> NDArray[np.bool_]:
    """(A, N) which answers every item has; at least two rows, also without items."""
    sizes = np.array([len(item.answers) for item in items], dtype=np.int64)
    return np.asarray(np.arange(max(2, sizes.max(initial=0)))[:, None] < sizes[None, :])


def _scored_table(
    experiment: Experiment, one: Pass, items: Sequence[ItemRecord], rows: StoredRows
) -> PassTable:
    """What the scorer makes of a pass: its own log-likelihoods, or those above its reference's."""
    name = one.id()
    policy = _pass_table(name, items, rows(name))
    reference = reference_pass(one) if experiment.scorer.kind == "implicit_reward" else None
    if reference is None:
        return policy
    return _above(policy, _pass_table(reference.id(), items, rows(reference.id())), name=name)


def _above(policy: PassTable, reference: PassTable, *, name: str) -> PassTable:
    """The policy's log-likelihoods minus the reference's; NaN where one of them is.

    Raises:
        IntegrityError: the two have other tokens, so that their difference rewards a tokenizer.
    """
    both = ~np.isnan(policy.sum_nats + reference.sum_nats)
    if (policy.tokens != reference.tokens)[both].any():
        raise IntegrityError(
            f"pass {name}: a model and its reference must read the same tokens; their numbers differ"
        )
    pairs = zip(policy.outcomes, reference.outcomes, strict=True)
    return PassTable(
        sum_nats=policy.sum_nats - reference.sum_nats,
        unconditional_nats=policy.unconditional_nats - reference.unconditional_nats,
        tokens=policy.tokens,
        utf8_bytes=policy.utf8_bytes,
        spans_join=policy.spans_join,
        outcomes=tuple(_worst(first, second) for first, second in pairs),
    )


def _pass_table(name: str, items: Sequence[ItemRecord], rows: Iterable[Row]) -> PassTable:
    found: dict[tuple[str, str], Row] = {}
    for row in rows:
        if row.pass_ != name:
            raise IntegrityError(f"pass {name}: rows must be of this pass; got one of {row.pass_}")
        key = (row.item, row.answer)
        if key in found:
            raise IntegrityError(f"pass {name}: rows must be unique; got {row.item} {row.answer} twice")
        found[key] = row
    shape = _present(items).shape
    sums, unconditional = np.full(shape, np.nan), np.full(shape, np.nan)
    tokens, utf8_bytes = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    spans = np.zeros(len(items), dtype=np.bool_)
    outcomes: list[Outcome] = []
    for n, item in enumerate(items):
        answers = [_row_of(found, name, item, answer) for answer in item.answers]
        outcome = _worst(*(row.outcome for row in answers))
        outcomes.append(outcome)
        spans[n] = any(row.spans_join for row in answers)
        for a, row in enumerate(answers):
            tokens[a, n], utf8_bytes[a, n] = row.tokens, row.bytes_
            if outcome is Outcome.SCORED and row.sum_nats is not None:
                sums[a, n] = row.sum_nats
                if row.unconditional_nats is not None:
                    unconditional[a, n] = row.unconditional_nats
    if len(found) != sum(len(item.answers) for item in items):
        known = {(item.id, answer) for item in items for answer in item.answers}
        stray = sorted(item for item, answer in found if (item, answer) not in known)
        raise IntegrityError(f"pass {name}: rows must be of the declared items; got {stray[:3]}")
    return PassTable(
        sum_nats=sums,
        unconditional_nats=unconditional,
        tokens=tokens,
        utf8_bytes=utf8_bytes,
        spans_join=spans,
        outcomes=tuple(outcomes),
    )


def _row_of(found: Mapping[tuple[str, str], Row], name: str, item: ItemRecord, answer: str) -> Row:
    row = found.get((item.id, answer))
    if row is None:
        raise IntegrityError(f"pass {name}: must have a row for {item.id} {answer}; it has none")
    if row.item_digest != item.digest:
        raise IntegrityError(
            f"pass {name}: the row of {item.id} must be of digest {item.digest}; got {row.item_digest}"
        )
    return row


_SEVERITY: tuple[Outcome, ...] = (
    Outcome.ERROR,
    Outcome.LIMIT,
    Outcome.TRUNCATED,
    Outcome.UNPARSED,
    Outcome.REFUSED,
)


def _worst(*outcomes: Outcome) -> Outcome:
    for outcome in _SEVERITY:
        if outcome in outcomes:
            return outcome
    return Outcome.SCORED
