"""Sequences to packs: the trie of their tokens, and an order of work that computes each prefix once.

All sequences of a shard share prefixes: the few-shot header, the system prompt, a pair's prompt. In their
trie every distinct prefix is one node, and the floor of the work is the number of nodes. Nodes are
numbered in depth-first order, so that

- node k is an ancestor of node q exactly when `k <= q <= last[k]`: the whole attention mask in one
  comparison, without a [T, T] array leaving the device;
- a pack is a range of numbers, and what it needs from earlier packs is one path from the root (the
  ancestors of its first node), so the key/value cache between packs is a single linear trunk.

Everything here is a pure function of (sequences, budget): same input, same packs, hence same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Trie:
    """The token trie of a set of sequences. Axes: T computed tokens, E scored edges.

    A token is computed when something after it is needed; the last token of a sequence is only predicted,
    so it is an edge and no computed token (unless it goes on in another sequence).
    """

    tokens: IntArray
    """Token of every computed node in depth-first order, (T,)."""
    parents: IntArray
    """The node before it, -1 at a root, (T,)."""
    depths: IntArray
    """Its position in the sequence, from 0, (T,)."""
    lasts: IntArray
    """The largest number among itself and its descendants, (T,)."""
    edge_sources: IntArray
    """The node whose logits give an edge's probability, ascending, (E,)."""
    edge_tokens: IntArray
    """The token that an edge predicts, (E,)."""
    sequence_edges: tuple[IntArray, ...]
    """For every sequence, the edges of its scored tokens in order."""
    distinct: int
    """Distinct prefixes of all sequences, whether computed or only predicted."""


@dataclass(frozen=True, slots=True)
class Step:
    """One forward pass: the nodes `start` to `stop`, after the path of earlier nodes they hang on.

    `edge_start` to `edge_stop` are the edges whose logits this step makes.
    """

    start: int
    stop: int
    past: IntArray
    edge_start: int
    edge_stop: int


@dataclass(frozen=True, slots=True)
class Schedule:
    """A trie and the forward passes that compute it, in order."""

    trie: Trie
    steps: tuple[Step, ...]
    budget: int


def build_trie(sequences: Sequence[tuple[tuple[int, ...], int]]) -> Trie:
    """The trie of `(ids, start)` sequences, of which the tokens `ids[start:]` are scored.

    No sequence gives an empty trie. Equal sequences share all their nodes and edges.

    Raises:
        ValueError: a sequence with nothing before its first scored token, or nothing scored.
    """
    children: list[dict[int, int]] = []
    tokens: list[int] = []
    parents: list[int] = []
    roots: dict[int, int] = {}
    scored: list[list[int]] = []
    for number, (ids, start) in enumerate(sequences):
        if not 1 <= start < len(ids):
            raise ValueError(f"sequences.{number}: start must be from 1 to {len(ids) - 1}; got {start}")
        path: list[int] = []
        node, level = -1, roots
        for token in ids:
            child = level.get(token)
            if child is None:
                child = len(tokens)
                level[token] = child
                tokens.append(token)
                parents.append(node)
                children.append({})
            node, level = child, children[child]
            path.append(node)
        scored.append(path[start:])
    return _numbered(tokens, parents=parents, children=children, roots=roots, scored=scored)


def _numbered(
    tokens: list[int],
    *,
    parents: list[int],
    children: list[dict[int, int]],
    roots: dict[int, int],
    scored: list[list[int]],
) -> Trie:
    """The trie with its computed nodes renumbered in depth-first order, children in order of arrival."""
    number = [-1] * len(tokens)
    order: list[int] = []
    stack = [node for node in reversed(roots.values()) if children[node]]
    while stack:
        node = stack.pop()
        number[node] = len(order)
        order.append(node)
        stack.extend(child for child in reversed(children[node].values()) if children[child])
    count = len(order)
    new_parents = np.full(count, -1, dtype=np.int64)
    depths = np.zeros(count, dtype=np.int64)
    lasts = np.arange(count, dtype=np.int64)
    for new, old in enumerate(order):
        if parents[old] >= 0:
            above = number[parents[old]]
            new_parents[new] = above
            depths[new] = depths[above] + 1
    for new in range(count - 1, -1, -1):
        above = new_parents[new]
        if above >= 0 and lasts[new] > lasts[above]:
            lasts[above] = lasts[new]
    targets = sorted(
        {node for path in scored for node in path}, key=lambda node: (number[parents[node]], node)
    )
    edge = {node: index for index, node in enumerate(targets)}
    return Trie(
        tokens=np.array([tokens[node] for node in order], dtype=np.int64),
        parents=new_parents,
        depths=depths,
        lasts=lasts,
        edge_sources=np.array([number[parents[node]] for node in targets], dtype=np.int64),
        edge_tokens=np.array([tokens[node] for node in targets], dtype=np.int64),
        sequence_edges=tuple(np.array([edge[node] for node in path], dtype=np.int64) for path in scored),
        distinct=len(tokens),
    )


def plan_schedule(trie: Trie, *, budget: int) -> Schedule:
    """The forward passes that compute every node of `trie` once, at most `budget` tokens each.

    In its second half, a pass ends at a branch where there is one, at the shallowest (between pairs rather
    than between a pair's answers), so that little of the past is carried on.

    Raises:
        ValueError: a budget below 1.
    """
    if budget < 1:
        raise ValueError(f"budget must be at least 1; got {budget}")
    count = len(trie.tokens)
    steps: list[Step] = []
    start = 0
    while start < count:
        stop = count if start + budget >= count else _cut(trie, start=start, budget=budget)
        low, high = np.searchsorted(trie.edge_sources, [start, stop])
        steps.append(Step(start, stop, _ancestors(trie.parents, start), int(low), int(high)))
        start = stop
    return Schedule(trie=trie, steps=tuple(steps), budget=budget)


def _cut(trie: Trie, *, start: int, budget: int) -> int:
    places = np.arange(start + max(1, budget // 2), start + budget + 1)
    branches = places[trie.parents[places] != places - 1]
    if len(branches) == 0:
        return start + budget
    depths = trie.depths[branches]
    return int(branches[np.flatnonzero(depths == depths.min())[-1]])


def _ancestors(parents: IntArray, node: int) -> IntArray:
    path: list[int] = []
    above = int(parents[node])
    while above >= 0:
        path.append(above)
        above = int(parents[above])
    return np.array(path[::-1], dtype=np.int64)
