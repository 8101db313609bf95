"""A tiny deterministic model, and everything around it that lets the whole pipe run in under a second.

Fakes, not mocks: the tokenizer tokenises, the template renders, the backend gives log-probabilities that
depend on the whole prefix. The model is a copying machine: a token that the prefix already holds costs
less, by its `skill`, and everything else costs what a hash of (weights, prefix, token) says. So an answer
that repeats a word of its prompt scores higher, a more skilled model prefers it more often, and without
the prompt nothing is preferred.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import yaml
from numpy.typing import NDArray

from safetyrepro.canonical import digest_bytes, digest_json
from safetyrepro.data.sources import read_items
from safetyrepro.errors import InputError
from safetyrepro.run.engine import Job, Outcome
from safetyrepro.score.backend import Encoded, Identity, OutOfMemory, Turn
from safetyrepro.score.cost import ModelShape
from safetyrepro.score.packing import Schedule
from safetyrepro.spec.experiment import Device
from safetyrepro.spec.load import load_experiment
from safetyrepro.spec.models import Dtype, ModelSource, WeightRounding

SKILLS: Mapping[str, float] = {"strong": 0.9, "middle": 0.45, "weak": 0.0}
"""The fake weights, by the name of their file."""

CONTEXT_TOKENS = 512
_BOS = "<|bos|>"
_END = "<|end|>"
_SPECIAL = re.compile(r"<\|[a-z]+\|>")
_TOKEN = re.compile(r"<\|[a-z]+\|>| ?\w+|\s|[^\w\s]")
_MASK = (1 << 64) - 1
_Sequence = tuple[tuple[int, ...], int]

NOUNS = (
    "apple", "bridge", "candle", "desert", "engine", "forest", "garden", "hammer", "island", "jacket",
    "kettle", "ladder", "mirror", "needle", "orange", "pencil", "quiver", "ribbon", "saddle", "tunnel",
    "urchin", "violin", "window", "yogurt", "zipper", "anchor", "basket", "copper", "donkey", "eraser",
)  # fmt: skip


class FakeTokenizer:
    """Words with their leading space, single characters of everything else, control tokens whole."""

    digest = digest_bytes(b"fake tokenizer")
    template_digest: str | None = digest_bytes(b"fake template")

    @property
    def bos_id(self) -> int | None:
        return _token_id(_BOS)

    def encode(self, text: str, *, add_special: bool) -> Encoded:
        found = list(_TOKEN.finditer(text))
        lead = [_token_id(_BOS)] if add_special else []
        return Encoded(
            ids=(*lead, *(_token_id(one.group()) for one in found)),
            starts=(*(-1 for _ in lead), *(one.start() for one in found)),
            ends=(*(-1 for _ in lead), *(one.end() for one in found)),
            special=(*(True for _ in lead), *(bool(_SPECIAL.fullmatch(one.group())) for one in found)),
        )

    def chat(self, turns: Sequence[Turn], *, generation_prompt: bool) -> str:
        if any("REFUSE" in turn.content for turn in turns):
            raise InputError("the chat template refuses: a turn must not hold REFUSE")
        text = "".join(f"<|{turn.role}|>{turn.content.strip()}{_END}\n" for turn in turns)
        return text + ("<|assistant|>" if generation_prompt else "")

    def reference_ids(self, turns: Sequence[Turn], *, generation_prompt: bool) -> tuple[int, ...]:
        return self.encode(self.chat(turns, generation_prompt=generation_prompt), add_special=False).ids


@dataclass(slots=True, weakref_slot=True)
class FakeBackend:
    """The copying machine. `before_pack` is called before every pack."""

    identity: Identity
    skill: float
    seed: int
    memory_tokens: int | None
    before_pack: Callable[[], None]
    tokenizer: FakeTokenizer = field(default_factory=FakeTokenizer)
    context_tokens: int = CONTEXT_TOKENS
    window_tokens: int | None = None
    default_token_budget: int = 256

    def packed(self, schedule: Schedule) -> NDArray[np.float64]:
        self.before_pack()
        trie = schedule.trie
        largest = max((step.stop - step.start for step in schedule.steps), default=0)
        if self.memory_tokens is not None and largest > self.memory_tokens:
            raise OutOfMemory(f"{largest} tokens do not fit")
        states: list[tuple[int, frozenset[int]]] = []
        for token, parent in zip(trie.tokens.tolist(), trie.parents.tolist(), strict=True):
            states.append(_read(self._empty() if parent < 0 else states[parent], token))
        edges = zip(trie.edge_sources.tolist(), trie.edge_tokens.tolist(), strict=True)
        return np.array([self._nats(states[source], token) for source, token in edges])

    def plain(self, sequences: Sequence[_Sequence]) -> tuple[NDArray[np.float64], ...]:
        return tuple(self._one(ids, start) for ids, start in sequences)

    def _one(self, ids: tuple[int, ...], start: int) -> NDArray[np.float64]:
        state, found = self._empty(), []
        for at, token in enumerate(ids):
            if at >= start:
                found.append(self._nats(state, token))
            state = _read(state, token)
        return np.array(found)

    def _empty(self) -> tuple[int, frozenset[int]]:
        return self.seed, frozenset()

    def _nats(self, state: tuple[int, frozenset[int]], token: int) -> float:
        mixed = (state[0] ^ (token * 0x9E3779B97F4A7C15)) & _MASK
        mixed = ((mixed ^ (mixed >> 29)) * 0xBF58476D1CE4E5B9) & _MASK
        uniform = ((mixed ^ (mixed >> 32)) >> 11) / 2**53
        return -(1.0 + 2.0 * uniform) * (1.0 - self.skill if token in state[1] else 1.0)


@dataclass(slots=True)
class FakeLoader:
    """Loads fake weights; what happens to the machine while it runs is given as hooks.

    `before_load` is called with the source's file name and `before_pack` with the number of packs that
    this loader's models have scored: either may raise or kill the process.
    """

    skills: Mapping[str, float] = field(default_factory=lambda: dict(SKILLS))
    memory_tokens: int | None = None
    before_load: Callable[[str], None] = lambda _: None
    before_pack: Callable[[int], None] = lambda _: None
    packs: int = 0
    loads: int = 0

    def device_class(self, device: Device) -> str:
        return "fake"

    def weights_digest(self, source: ModelSource, *, base_dir: Path) -> str:
        return digest_json({"weights": _weights_name(source), "skill": self._skill(source)})

    def load(
        self,
        source: ModelSource,
        *,
        dtype: Dtype,
        rounding: WeightRounding | None,
        device: Device,
        base_dir: Path,
    ) -> FakeBackend:
        self.before_load(_weights_name(source))
        self.loads += 1
        weights = self.weights_digest(source, base_dir=base_dir)
        kept = 1.0 if rounding is None else rounding.bits / 8
        identity = Identity(
            weights=weights,
            tokenizer=FakeTokenizer.digest,
            template=FakeTokenizer.template_digest,
            architecture="CopyingMachine",
            dtype=dtype,
            rounding=rounding,
            device="fake",
            attention="none",
            compiled=device.compile,
            context_tokens=CONTEXT_TOKENS,
            versions=(("fakes", "1"),),
        )
        return FakeBackend(
            identity=identity,
            skill=self._skill(source) * kept,
            seed=int(digest_json({"weights": weights, "kept": kept})[-16:], 16),
            memory_tokens=self.memory_tokens,
            before_pack=self._count,
        )

    def _count(self) -> None:
        self.before_pack(self.packs)
        self.packs += 1

    def _skill(self, source: ModelSource) -> float:
        name = _weights_name(source)
        if name not in self.skills:
            raise InputError(f"{name}: must be fake weights ({', '.join(self.skills)})")
        return self.skills[name]


class FakeSurveyor:
    """What a plan asks: sizes of a small model on a machine of one gigaflop a second."""

    def tokenizer(self, source: ModelSource, *, base_dir: Path) -> FakeTokenizer:
        return FakeTokenizer()

    def shape(self, source: ModelSource, *, base_dir: Path) -> ModelShape:
        return ModelShape(
            parameters=1_000_000,
            linear_parameters=900_000,
            layers=4,
            width=64,
            vocabulary=1_000,
            key_value_width=32,
            context_tokens=CONTEXT_TOKENS,
        )

    def token_budget(self, device: Device) -> int:
        return 256

    def matrix_rate(self, device: Device, *, width: int, rows: int, dtype: Dtype) -> float:
        return 1e9


def _weights_name(source: ModelSource) -> str:
    if source.kind != "path":
        raise InputError(f"fake weights must have a source of kind path; got {source.kind}")
    return Path(source.path).stem


def _token_id(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.strip(" ").encode(), digest_size=4).digest(), "big")


def _read(state: tuple[int, frozenset[int]], token: int) -> tuple[int, frozenset[int]]:
    return (state[0] * 0x100000001B3 + token + 1) & _MASK, state[1] | {token}


def twin_rows(twins: int = 12) -> list[dict[str, str]]:
    """Crossed twins for the copying machine: each prompt names the answer that is right for it."""
    rows: list[dict[str, str]] = []
    for index in range(twins):
        first, second = NOUNS[index % len(NOUNS)], NOUNS[(index + 7) % len(NOUNS)]
        stratum = ("control", "honesty", "boundary")[index % 3]
        answers = (f"The {first}", f"The old {second}")
        for member, (noun, other) in enumerate(((first, second), (second, first))):
            chosen, rejected = answers if member == 0 else answers[::-1]
            rows.append(
                {
                    "id": f"t{index:02d}{'ab'[member]}",
                    "twin": f"t{index:02d}",
                    "stratum": stratum,
                    "prompt": f"Case {index}: we want the {noun}, nobody wants a {other[::-1]}. What?",
                    "chosen": chosen,
                    "rejected": rejected,
                }
            )
    return rows


def default_claims() -> list[dict[str, object]]:
    """One claim of every kind of assertion, one without, and one above its evidence."""

    def claim(name: str, statement: str, assertion: dict[str, object] | None) -> dict[str, object]:
        found: dict[str, object] = {
            "id": name,
            "statement": statement,
            "type": "observation",
            "level": "model",
        }
        return found if assertion is None else {**found, "assertion": assertion}

    return [
        claim(
            "strong-first",
            "The strong machine ranks above the weak one in every configuration.",
            {"kind": "ranks_above", "above": "strong", "below": "weak", "over": "every"},
        ),
        claim(
            "middle-not-worse",
            "The middle machine loses at most .3 against the strong one.",
            {
                "kind": "not_worse_by_more_than",
                "model": "middle",
                "than": "strong",
                "margin": 0.3,
                "over": "primary",
            },
        ),
        claim(
            "same",
            "Strong and middle differ by less than .4.",
            {
                "kind": "equivalent",
                "model": "middle",
                "to": "strong",
                "margin": 0.4,
                "over": "at_least",
                "r": 4,
            },
        ),
        claim(
            "at-least",
            "The strong machine scores at least .5.",
            {"kind": "at_least", "model": "strong", "value": 0.5, "over": "every"},
        ),
        claim(
            "at-most",
            "The weak machine scores at most .9.",
            {"kind": "at_most", "model": "weak", "value": 0.9, "over": "primary"},
        ),
        claim(
            "rising",
            "More skill, more alignment.",
            {"kind": "trend", "rising": ["weak", "middle", "strong"], "over": "at_least", "r": 2},
        ),
        claim("unchecked", "It is good.", None),
        {
            **claim(
                "users",
                "Users are served better by the strong machine.",
                {"kind": "ranks_above", "above": "strong", "below": "weak", "over": "primary"},
            ),
            "level": "deployment",
        },
    ]


def fake_model(name: str) -> dict[str, object]:
    """A model entry for fake weights."""
    return {
        "id": name,
        "name": f"{name.capitalize()} machine",
        "source": {"kind": "path", "path": f"{name}.bin"},
    }


def spec_document(
    *,
    models: Sequence[str | dict[str, object]] = ("strong", "middle", "weak"),
    templates: Sequence[str] = ("plain", "chat"),
    rules: Sequence[str] = ("sum", "mean", "byte", "pmi"),
    claims: Sequence[dict[str, object]] | None = None,
    changes: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """An experiment's spec as plain data; `changes` replaces whole top-level blocks."""
    document: dict[str, object] = {
        "schema": "safetyrepro/experiment/v1",
        "id": "tiny",
        "version": 1,
        "title": "Which copying machine copies best?",
        "question": "Does more skill mean more alignment?",
        "seed": 7,
        "evaluator": {
            "name": "The test suite",
            "relation": "other",
            "access": "Everything.",
            "funding": "None",
            "elicitation": "None. Given answers are scored.",
        },
        "models": [fake_model(one) if isinstance(one, str) else one for one in models],
        "items": {
            "kind": "pair",
            "id": "tiny-twins",
            "name": "the tiny twins",
            "source": {"kind": "file", "path": "twins.jsonl"},
            "fields": {
                "id": "id",
                "prompt": "prompt",
                "chosen": "chosen",
                "rejected": "rejected",
                "stratum": "stratum",
                "cluster": "twin",
            },
            "twins": True,
            "labels": {"by": "program", "note": "the right answer repeats a word of its prompt"},
            "texts": {"by": "program", "note": "made from a list of nouns"},
            "licence": "CC0-1.0",
        },
        "scaffold": {"kind": "frame", "id": "prompt-and-answer"},
        "factors": [
            {"kind": "template", "levels": [{"kind": one, "id": one} for one in templates]},
            {"kind": "rule", "levels": list(rules)},
        ],
        "primary": {"template": templates[0], "rule": rules[0]},
        "scorer": {"kind": "loglik"},
        "device": {"name": "cpu", "shard_items": 7, "token_budget": 128},
        "analysis": {"resamples": 400, "joint_resamples": 400},
        "evidence": {
            "level": "model",
            "scope": {
                "population": "Sentences about nouns",
                "languages": ["en"],
                "tasks": ["choosing between two given answers"],
                "conditions": "Single turn, given answers",
                "excluded": ["anything else"],
            },
            "validity": {"period": "P6M", "triggers": ["model_weights", "scorer"]},
            "claims": list(default_claims() if claims is None else claims),
        },
    }
    return {**document, **(changes or {})}


def spec_text(document: Mapping[str, object]) -> str:
    """The spec as a YAML file's text."""
    return yaml.safe_dump(dict(document), sort_keys=False, allow_unicode=True)


def write_spec(
    folder: Path,
    *,
    document: Mapping[str, object] | None = None,
    rows: Sequence[Mapping[str, str]] | None = None,
) -> Path:
    """A folder with a spec and its items; the spec's path."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(row, ensure_ascii=False) for row in (twin_rows() if rows is None else rows)]
    (folder / "twins.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    path = folder / "experiment.yaml"
    path.write_text(spec_text(spec_document() if document is None else document), encoding="utf-8")
    return path


def load_job(spec: Path, *, out_dir: Path, cache_dir: Path | None = None) -> Job:
    """What `safetyrepro run` gives the engine."""
    loaded = load_experiment(spec)
    return Job(
        experiment=loaded.document,
        spec_bytes=loaded.data,
        base_dir=spec.parent,
        items=read_items(loaded.document, base_dir=spec.parent),
        out_dir=out_dir,
        cache_dir=cache_dir,
    )


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that is over: the spec's path, what the engine was given, and what it left behind."""

    spec: Path
    job: Job
    outcome: Outcome
