"""What a scoring backend is: a tokenizer, a forward pass, and the digests of all that decides a score.

Nothing here imports torch; `score.local` is the one implementation that does, and tests bring a tiny
deterministic one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from safetyrepro.canonical import JsonValue, digest_json
from safetyrepro.errors import SafetyReproError
from safetyrepro.score.packing import Schedule
from safetyrepro.spec.models import Dtype, WeightRounding

SCORING_VERSION = "2"
"""Raised with every change that can move a score by a bit: part of every shard's key."""

MIN_TOKEN_BUDGET = 16
"""The smallest pack that is tried when memory runs out."""

ForwardPath = Literal["packed", "plain"]
"""`packed`: each distinct token prefix once, under a tree mask; `plain`: one sequence at a time."""


class OutOfMemory(SafetyReproError):
    """The device has no memory left for this pack; a smaller token budget may fit."""


class PackingUnsupported(SafetyReproError):
    """The model's family cannot be given positions and a mask; it must take the plain path."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Everything about a loaded model that decides the bits of a score.

    `weights` is the digest of the source's bytes (the GGUF file, or the folder's safetensors files and
    configuration); `rounding` is what was done to them after loading.
    """

    weights: str
    tokenizer: str
    template: str | None
    architecture: str
    dtype: Dtype
    rounding: WeightRounding | None
    device: str
    attention: str
    compiled: bool
    context_tokens: int
    versions: tuple[tuple[str, str], ...]

    def as_json(self) -> dict[str, JsonValue]:
        """The identity as the manifest stores it."""
        return {
            "weights": self.weights,
            "tokenizer": self.tokenizer,
            "template": self.template,
            "architecture": self.architecture,
            "dtype": self.dtype,
            "rounding": None if self.rounding is None else self.rounding.model_dump(mode="json"),
            "device": self.device,
            "attention": self.attention,
            "compiled": self.compiled,
            "context_tokens": self.context_tokens,
            "versions": dict(self.versions),
            "scoring": SCORING_VERSION,
        }

    def digest(self) -> str:
        return digest_json(self.as_json())


@dataclass(frozen=True, slots=True)
class Encoded:
    """A text's tokens with the characters each one covers.

    `starts[t]` and `ends[t]` are character positions in the text, whitespace included; both are -1 for a
    token that the tokenizer added on its own. `special[t]` marks the tokenizer's control tokens.
    """

    ids: tuple[int, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    special: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class Tokenizer(Protocol):
    """Text to tokens, and a conversation to text."""

    @property
    def digest(self) -> str:
        """The digest of vocabulary, merges, normalisation and special tokens."""

    @property
    def template_digest(self) -> str | None:
        """The digest of the chat template; None where the tokenizer has none."""

    @property
    def bos_id(self) -> int | None:
        """The beginning-of-sequence token, where there is one."""

    def encode(self, text: str, *, add_special: bool) -> Encoded:
        """The tokens of `text`; with `add_special`, those that the tokenizer defines around plain text."""

    def chat(self, turns: Sequence[Turn], *, generation_prompt: bool) -> str:
        """The conversation as the chat template writes it.

        Raises:
            InputError: there is no template, or the template refuses the conversation (with its message).
        """

    def reference_ids(self, turns: Sequence[Turn], *, generation_prompt: bool) -> tuple[int, ...]:
        """The conversation's tokens as the tokenizer's library has them: `encode(chat())` must equal it.

        Raises: as `chat`.
        """


class Backend(Protocol):
    """A loaded model: log-probabilities of given tokens."""

    @property
    def identity(self) -> Identity:
        """What decides its scores."""

    @property
    def tokenizer(self) -> Tokenizer:
        """Its tokenizer."""

    @property
    def context_tokens(self) -> int:
        """The most tokens it reads at once."""

    @property
    def window_tokens(self) -> int | None:
        """The width of its sliding attention window, where some layer has one."""

    @property
    def default_token_budget(self) -> int:
        """Tokens a pack when the spec does not say."""

    def packed(self, schedule: Schedule) -> NDArray[np.float64]:
        """Log-probability in nats of every edge of the schedule's trie, (E,), each prefix computed once.

        Raises:
            OutOfMemory: a step did not fit.
            PackingUnsupported: the family knows no explicit positions and mask (ALiBi, recurrence).
        """

    def plain(self, sequences: Sequence[tuple[tuple[int, ...], int]]) -> tuple[NDArray[np.float64], ...]:
        """Log-probability in nats of `ids[start:]` for every `(ids, start)`, as one right-padded batch.

        The model's own forward pass with its own mask and positions: what the packed path must equal.

        Raises:
            OutOfMemory: the batch did not fit.
        """
