"""Each prefix once, whatever the budget; and what each token sees are its ancestors and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from safetyrepro.score.packing import Schedule, Trie, build_trie, plan_schedule

Sequences = list[tuple[tuple[int, ...], int]]


@st.composite
def sequences(draw: st.DrawFn) -> Sequences:
    """Sequences over three tokens, so that prefixes are shared often."""
    found: Sequences = []
    for _ in range(draw(st.integers(0, 8))):
        ids = tuple(draw(st.lists(st.integers(0, 2), min_size=2, max_size=14)))
        found.append((ids, draw(st.integers(1, len(ids) - 1))))
    return found


def prefix_of(trie: Trie, node: int) -> tuple[int, ...]:
    tokens: list[int] = []
    while node >= 0:
        tokens.append(int(trie.tokens[node]))
        node = int(trie.parents[node])
    return tuple(reversed(tokens))


def seen_by(schedule: Schedule, query: int) -> set[int]:
    """The keys that the interval rule shows to `query`, among those that its step has at hand."""
    trie = schedule.trie
    step = next(step for step in schedule.steps if step.start <= query < step.stop)
    keys = [*step.past.tolist(), *range(step.start, step.stop)]
    return {key for key in keys if key <= query <= trie.lasts[key]}


@given(sequences())
def test_every_needed_prefix_is_one_node(given_sequences: Sequences) -> None:
    trie = build_trie(given_sequences)
    needed = {ids[:length] for ids, _ in given_sequences for length in range(1, len(ids))}
    nodes = [prefix_of(trie, node) for node in range(len(trie.tokens))]
    assert len(nodes) == len(set(nodes))
    assert set(nodes) == needed
    assert trie.distinct == len(
        {ids[:length] for ids, _ in given_sequences for length in range(1, len(ids) + 1)}
    )


@given(sequences())
def test_edges_are_the_scored_tokens_after_their_prefix(given_sequences: Sequences) -> None:
    trie = build_trie(given_sequences)
    for (ids, start), edges in zip(given_sequences, trie.sequence_edges, strict=True):
        assert trie.edge_tokens[edges].tolist() == list(ids[start:])
        sources = [prefix_of(trie, int(node)) for node in trie.edge_sources[edges]]
        assert sources == [ids[:length] for length in range(start, len(ids))]


@given(sequences(), st.integers(1, 20))
def test_a_token_sees_exactly_its_ancestors_and_itself(given_sequences: Sequences, budget: int) -> None:
    schedule = plan_schedule(build_trie(given_sequences), budget=budget)
    for query in range(len(schedule.trie.tokens)):
        ancestors = {query}
        while (node := int(schedule.trie.parents[min(ancestors)])) >= 0:
            ancestors.add(node)
        assert seen_by(schedule, query) == ancestors


@given(sequences(), st.integers(1, 20))
def test_steps_cover_every_token_and_edge_once_within_the_budget(
    given_sequences: Sequences, budget: int
) -> None:
    schedule = plan_schedule(build_trie(given_sequences), budget=budget)
    nodes = [node for step in schedule.steps for node in range(step.start, step.stop)]
    edges = [edge for step in schedule.steps for edge in range(step.edge_start, step.edge_stop)]
    assert nodes == list(range(len(schedule.trie.tokens)))
    assert edges == list(range(len(schedule.trie.edge_tokens)))
    assert all(step.stop - step.start <= budget for step in schedule.steps)
    for step in schedule.steps:
        sources = schedule.trie.edge_sources[step.edge_start : step.edge_stop]
        assert ((step.start <= sources) & (sources < step.stop)).all()


@given(sequences(), st.integers(1, 20))
def test_the_past_of_a_step_was_computed_or_carried_by_the_step_before(
    given_sequences: Sequences, budget: int
) -> None:
    at_hand: set[int] = set()
    for step in plan_schedule(build_trie(given_sequences), budget=budget).steps:
        assert set(step.past.tolist()) <= at_hand
        at_hand = {*step.past.tolist(), *range(step.start, step.stop)}


def test_a_shared_header_is_computed_once() -> None:
    header = tuple(range(100, 150))
    pairs = [((*header, item, answer, 7), 51) for item in range(10) for answer in (20, 30)]
    trie = build_trie(pairs)
    assert (
        len(trie.tokens) == 50 + 10 + 20
    )  # header, prompts, first answer tokens; the last are only predicted
    assert trie.distinct == 50 + 10 + 20 + 20


def test_equal_sequences_share_everything() -> None:
    one = ((1, 2, 3), 1)
    assert len(build_trie([one, one]).tokens) == len(build_trie([one]).tokens)
    assert len(build_trie([one, one]).edge_tokens) == 2


def test_an_answer_that_is_a_prefix_of_another_keeps_its_own_end() -> None:
    trie = build_trie([((1, 2, 3), 1), ((1, 2, 3, 4), 1)])
    assert [len(edges) for edges in trie.sequence_edges] == [2, 3]
    assert trie.sequence_edges[1][:2].tolist() == trie.sequence_edges[0].tolist()


def test_no_sequences_make_no_steps() -> None:
    schedule = plan_schedule(build_trie([]), budget=8)
    assert schedule.steps == ()
    assert schedule.trie.distinct == 0


def test_packs_end_between_items_rather_than_inside_an_answer() -> None:
    items = [((item, *range(10, 20)), 1) for item in range(1, 9)]
    starts = [step.start for step in plan_schedule(build_trie(items), budget=35).steps]
    assert starts == [0, 30, 60]
    assert all(len(step.past) == 0 for step in plan_schedule(build_trie(items), budget=35).steps)


def test_the_same_input_gives_the_same_packs() -> None:
    rng = np.random.default_rng(5)
    items = [(tuple(rng.integers(0, 4, 12).tolist()), 3) for _ in range(20)]
    first, second = (plan_schedule(build_trie(items), budget=16) for _ in range(2))
    assert first.trie.tokens.tolist() == second.trie.tokens.tolist()
    assert [(step.start, step.stop) for step in first.steps] == [
        (step.start, step.stop) for step in second.steps
    ]


@pytest.mark.parametrize(("ids", "start"), [((1, 2), 0), ((1, 2), 2), ((1,), 1), ((), 0)])
def test_a_sequence_must_score_something_after_something(ids: tuple[int, ...], start: int) -> None:
    with pytest.raises(ValueError, match=r"sequences\.0: start must be from 1 to"):
        build_trie([(ids, start)])


def test_a_budget_must_hold_a_token() -> None:
    with pytest.raises(ValueError, match="budget must be at least 1; got 0"):
        plan_schedule(build_trie([]), budget=0)
