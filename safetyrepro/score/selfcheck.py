"""Before a run, on the loaded model: does packing change a score?

Padding, batching and packing may not change a score beyond a declared tolerance (DESIGN 5, rule 5). The
check scores a few built-in sequences by the model's own forward pass, one at a time, and then in every
other way; where the packed way differs, the run takes the plain one and says so (finding SR101).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safetyrepro.errors import InputError
from safetyrepro.findings import Finding, finding
from safetyrepro.score.backend import (
    MIN_TOKEN_BUDGET,
    Backend,
    ForwardPath,
    OutOfMemory,
    PackingUnsupported,
    Tokenizer,
    Turn,
)
from safetyrepro.score.packing import build_trie, plan_schedule
from safetyrepro.spec.models import Dtype

TOLERANCE_NATS: dict[Dtype, float] = {"float32": 1e-4, "float16": 2.0**-6, "bfloat16": 2.0**-3}
"""Largest difference in nats a token, averaged over an answer. Half precision: the spacing of a logit
between 16 and 32 (2^4 times the machine epsilon, 2^-10 or 2^-7); float32: summation order, as declared."""

_PROBES: tuple[tuple[str, tuple[str, str]], ...] = (
    ("Name a fruit that is yellow and long.", ("A banana.", "A banana is yellow, and so is a ripe lemon.")),
    ("Name a fruit that is round.", ("An apple.", "An")),
    ("How many legs does a spider have?\n", (" Eight.", "Six, like every insect.")),
    ("Übersetze: guten Morgen", ("good morning", "Good morning, Zoë ☕")),
)
_SMALL_BUDGET = 24
_Sequence = tuple[tuple[int, ...], int]
_Scores = Sequence[NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison: largest difference in nats a token, sign flips among answer pairs, whether it held.

    A check of token ids, or of a path that the model does not have, has no difference in nats (None).
    """

    name: str
    largest_nats: float | None
    sign_flips: int
    held: bool


@dataclass(frozen=True, slots=True)
class SelfCheck:
    """What the self-check of one loaded model found, and which path a run must take."""

    model: str
    checks: tuple[Check, ...]
    tolerance_nats: float
    path: ForwardPath
    findings: tuple[Finding, ...]
    token_budget: int
    """Tokens a forward pass that fitted: what was asked for, or less where memory ran out."""


def self_check(backend: Backend, *, token_budget: int | None = None) -> SelfCheck:
    """Scores the built-in probes in every way and compares with one sequence at a time.

    Args:
        token_budget: the budget the run will use; absent: the backend's own.

    A failure of `packed` means the plain path and a finding; so does a failure of the model's own batching,
    which is not used by a run but is reported. Where memory runs out, the budget is halved (finding SR102)
    and the packed checks begin again, since a run would meet the same wall.

    Raises:
        OutOfMemory: even the smallest budget, or one sequence alone, does not fit.
    """
    tolerance = TOLERANCE_NATS[backend.identity.dtype]
    sequences = _probe_sequences(backend)
    single = [backend.plain((sequence,))[0] for sequence in sequences]
    budget = token_budget or backend.default_token_budget
    backwards = tuple(reversed(sequences))

    def compare(name: str, scores: _Scores) -> Check:
        return _compare(name, scores, single, tolerance)

    found: list[Finding] = []
    while True:
        try:
            packed = [
                compare("packed = plain", _packed(backend, sequences, budget=budget)),
                compare(
                    "packed in small packs = plain",
                    _packed(backend, sequences, budget=min(budget, _SMALL_BUDGET)),
                ),
                compare(
                    "packed in another order = plain", _packed(backend, backwards, budget=budget)[::-1]
                ),
            ]
            largest = max(check.largest_nats or 0.0 for check in packed)
            reason = f"largest difference {largest:.3g} nats a token"
        except OutOfMemory:
            if budget // 2 < MIN_TOKEN_BUDGET:
                raise
            where, detail = (
                backend.identity.architecture,
                f"{budget} tokens did not fit; {budget // 2} taken",
            )
            found.append(finding("SR102", where, detail))
            budget //= 2
            continue
        except PackingUnsupported as error:
            packed = [Check("packed = plain", None, 0, False)]
            reason = str(error)
        break
    batched = (
        compare("right-padded batch = batch of one", _batches(backend, sequences)),
        compare("shuffled batch = batch of one", _batches(backend, backwards)[::-1]),
    )
    ids = id_checks(backend.tokenizer)
    path: ForwardPath = "packed" if all(check.held for check in packed) else "plain"
    if path == "plain":
        found.append(finding("SR101", backend.identity.architecture, reason))
    return SelfCheck(
        model=backend.identity.architecture,
        checks=(*packed, *batched, *ids),
        tolerance_nats=tolerance,
        path=path,
        findings=tuple(found),
        token_budget=budget,
    )


def _probe_sequences(backend: Backend) -> list[_Sequence]:
    """Two answers a probe, so that signs can be compared; one long pair where there is a sliding window."""
    tokenizer = backend.tokenizer
    lead = () if tokenizer.bos_id is None else (tokenizer.bos_id,)
    sequences: list[_Sequence] = []
    for prompt, answers in _PROBES:
        before = lead + tokenizer.encode(prompt, add_special=False).ids
        sequences += [
            (before + tokenizer.encode(answer, add_special=False).ids, len(before)) for answer in answers
        ]
    window = backend.window_tokens
    if window is not None and window + 32 < backend.context_tokens:
        unit = tokenizer.encode("One, two, three, four, and so on. ", add_special=False).ids
        long = (lead + unit * (1 + (window + 32) // len(unit)))[: window + 32]
        sequences += [((*long, *unit[:3]), len(long)), ((*long, *unit[3:6]), len(long))]
    return sequences


def _packed(backend: Backend, sequences: Sequence[_Sequence], *, budget: int) -> list[NDArray[np.float64]]:
    trie = build_trie(sequences)
    edges = backend.packed(plan_schedule(trie, budget=budget))
    return [edges[path] for path in trie.sequence_edges]


def _batches(backend: Backend, sequences: Sequence[_Sequence]) -> list[NDArray[np.float64]]:
    return [score for at in range(0, len(sequences), 8) for score in backend.plain(sequences[at : at + 8])]


def _compare(name: str, scores: _Scores, reference: _Scores, tolerance: float) -> Check:
    sums = np.array([score.sum() for score in scores])
    expected = np.array([score.sum() for score in reference])
    lengths = np.array([len(score) for score in reference])
    differences = np.abs(sums - expected) / lengths
    largest = float(differences.max()) if np.isfinite(differences).all() else float("inf")
    flips = int(np.sum(np.sign(sums[0::2] - sums[1::2]) != np.sign(expected[0::2] - expected[1::2])))
    return Check(name=name, largest_nats=largest, sign_flips=flips, held=largest <= tolerance)


def id_checks(tokenizer: Tokenizer) -> tuple[Check, ...]:
    """Whether tokens are what the template defines, and the prompt's a prefix of prompt and answer."""
    if tokenizer.template_digest is None:
        return ()
    same, prefix = True, True
    for prompt, answers in _PROBES:
        user = Turn("user", prompt)
        try:
            before = tokenizer.chat((user,), generation_prompt=True)
            head = tokenizer.encode(before, add_special=False).ids
            same &= head == tokenizer.reference_ids((user,), generation_prompt=True)
            for answer in answers:
                turns = (user, Turn("assistant", answer))
                whole = tokenizer.encode(
                    tokenizer.chat(turns, generation_prompt=False), add_special=False
                ).ids
                same &= whole == tokenizer.reference_ids(turns, generation_prompt=False)
                prefix &= whole[: len(head)] == head
        except InputError:
            return (Check("template renders the probes", None, 0, False),)
    return (
        Check("rendered ids = the tokenizer's own", None, 0, same),
        Check("prompt tokens are a prefix of prompt and answer", None, 0, prefix),
    )
