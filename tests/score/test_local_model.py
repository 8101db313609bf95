"""Families of models: every way of scoring gives what the float64 forward pass gives, or is not taken."""

from __future__ import annotations

import copy
import functools

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tiny_models import FAMILIES, PLAIN_ONLY, tiny_backend, tiny_model

from safetyrepro.score.backend import OutOfMemory, PackingUnsupported
from safetyrepro.score.likelihood import token_log_probs
from safetyrepro.score.local.model import LocalBackend, _memory_errors
from safetyrepro.score.packing import build_trie, plan_schedule

Sequence_ = tuple[tuple[int, ...], int]
TOLERANCE_NATS = 1e-4  # a token, float32: the declared tolerance of DESIGN 5.5; measured below 1e-6


def sequences() -> list[Sequence_]:
    """A shared header, four prompts longer than the tiny sliding windows, answers that share tokens."""
    rng = np.random.default_rng(0)
    header = tuple(rng.integers(3, 300, 20).tolist())
    found: list[Sequence_] = []
    for length in (5, 9, 12, 30):
        prompt = header + tuple(rng.integers(3, 300, length).tolist())
        answer = tuple(rng.integers(3, 300, 12).tolist())
        other = tuple(rng.integers(3, 300, 7).tolist())
        found += [
            (prompt + answer, len(prompt)),
            (prompt + other, len(prompt)),
            (prompt + answer[:1], len(prompt)),
        ]
    return found


@functools.cache
def backend_of(family: str) -> LocalBackend:
    return tiny_backend(family)


@functools.cache
def reference(family: str) -> list[NDArray[np.float64]]:
    wide = copy.deepcopy(backend_of(family).model).double()
    scores = []
    with torch.inference_mode():
        for ids, start in sequences():
            logits = wide(torch.tensor([ids]), use_cache=False).logits[0].numpy()
            scores.append(token_log_probs(logits, ids=ids, start=start))
    return scores


def packed(backend: LocalBackend, given: list[Sequence_], budget: int) -> list[NDArray[np.float64]]:
    trie = build_trie(given)
    nats = backend.packed(plan_schedule(trie, budget=budget))
    return [nats[edges] for edges in trie.sequence_edges]


def largest(scores: list[NDArray[np.float64]], expected: list[NDArray[np.float64]]) -> float:
    return max(float(np.abs(one - other).max()) for one, other in zip(scores, expected, strict=True))


@pytest.mark.parametrize("family", sorted(set(FAMILIES) - PLAIN_ONLY))
@pytest.mark.parametrize("budget", [1000, 40, 7])
def test_the_packed_path_is_the_float64_reference(family: str, budget: int) -> None:
    scores = packed(backend_of(family), sequences(), budget)
    assert largest(scores, reference(family)) < TOLERANCE_NATS


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_the_plain_path_is_the_float64_reference_alone_and_in_a_batch(family: str) -> None:
    backend, given, expected = backend_of(family), sequences(), reference(family)
    assert largest([backend.plain((one,))[0] for one in given], expected) < TOLERANCE_NATS
    assert largest(list(backend.plain(given)), expected) < TOLERANCE_NATS


@pytest.mark.parametrize("family", sorted(PLAIN_ONLY))
def test_a_family_without_explicit_positions_says_that_it_cannot_pack(family: str) -> None:
    schedule = plan_schedule(build_trie(sequences()), budget=64)
    with pytest.raises(PackingUnsupported, match="takes no explicit positions"):
        backend_of(family).packed(schedule)


def test_the_models_read_their_context() -> None:
    """Else a wrong mask would hide: a model that ignores what it sees agrees with everything."""
    for family in sorted(set(FAMILIES) - PLAIN_ONLY):
        backend, (ids, start) = backend_of(family), sequences()[0]
        other = (*ids[: start - 3], (ids[start - 3] + 1) % 300, *ids[start - 2 :])
        scores, moved = backend.plain([(ids, start)])[0], backend.plain([(other, start)])[0]
        assert np.abs(scores - moved).max() > 0.01, family


def test_the_same_pack_gives_the_same_bits_on_any_number_of_threads() -> None:
    backend, given = backend_of("llama"), sequences()
    first = packed(backend, given, 64)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        second = packed(backend, given, 64)
    finally:
        torch.set_num_threads(threads)
    assert [one.tobytes() for one in first] == [one.tobytes() for one in second]


def test_logits_are_widened_before_the_softmax_so_that_bfloat16_ties_vanish() -> None:
    """Summed in bfloat16, log-probabilities near 200 nats are spaced by 1 and answers tie falsely."""
    backend, given = tiny_backend(dtype="bfloat16"), sequences()
    scores = [backend.plain((one,))[0] for one in given]
    logits = [backend.model(torch.tensor([ids])).logits[0].float().detach().numpy() for ids, _ in given]
    exact = [
        token_log_probs(one, ids=ids, start=start) for one, (ids, start) in zip(logits, given, strict=True)
    ]
    assert largest(scores, exact) < 1e-5
    long = [(tuple(range(5, 200)), 2), (tuple(range(6, 201)), 2)]
    sums = [float(one.sum()) for one in (backend.plain((ids,))[0] for ids in long)]
    narrow = [torch.tensor(one, dtype=torch.bfloat16).item() for one in sums]
    assert all(value != narrowed for value, narrowed in zip(sums, narrow, strict=True))


def test_no_logits_are_made_where_nothing_is_scored() -> None:
    backend = tiny_backend()
    rows: list[int] = []
    assert backend._head is not None
    backend._head.register_forward_pre_hook(lambda _, inputs: rows.append(inputs[0].shape[0]))
    given = sequences()
    packed(backend, given, 1000)
    assert sum(rows) == len({ids[:length] for ids, start in given for length in range(start, len(ids))})


def test_a_capped_head_takes_the_models_own_tail() -> None:
    assert backend_of("gemma2")._head is None
    assert backend_of("llama")._head is not None


def test_memory_errors_of_the_device_are_ours_and_other_errors_are_not() -> None:
    with pytest.raises(OutOfMemory, match="device memory: must hold one pack"), _memory_errors():
        raise torch.OutOfMemoryError("CUDA out of memory")
    with pytest.raises(OutOfMemory, match="memory: must hold one pack"), _memory_errors():
        raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried")
    with pytest.raises(RuntimeError, match="shape mismatch"), _memory_errors():
        raise RuntimeError("shape mismatch")


def test_identity_names_what_decides_a_score() -> None:
    identity = tiny_backend().identity
    assert identity.architecture == "LlamaForCausalLM"
    assert dict(identity.versions)["torch"] == torch.__version__
    assert identity.digest() != tiny_backend(dtype="bfloat16").identity.digest()
    assert tiny_model().dtype == torch.float32
