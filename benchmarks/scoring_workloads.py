"""The four workloads of `scoring.py`: public items where `../shared` has them, else made text."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from safetyrepro.data.records import Pair
from safetyrepro.rng import generator
from safetyrepro.spec.envelope import Frame
from safetyrepro.spec.factors import ChatTemplate, Exemplar, PlainTemplate

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
SHOTS = 5
OPTIONS = 4
_FREQUENT = """
the of and a to in is you that it he was for on are as with his they at be this have from or one had by
word but not what all were we when your can said there use an each which she do how their if will up
other about out many then them these so some her would make like him into time has look two more write
go see number no way could people my than first water been call who oil its now find long down day did
get come made may part over new sound take only little work know place year live me back give most very
after thing our just name good sentence man think say great where help through much before line right
"""
_WORDS = _FREQUENT.split()


@dataclass(frozen=True)
class Workload:
    """Items under one frame; `groups` holds the pairs of each item (all with one prompt).

    Each of its `chunks` is one shard, scored by one side and then by the other; a header that all items
    share is computed once a shard.
    """

    name: str
    text: str
    frame: Frame
    groups: tuple[tuple[Pair, ...], ...]
    least_ratio: float
    chunks: int = 4


@dataclass(frozen=True)
class Maker:
    """A workload by name: how many items it has in full, in a quick run, and how they are made."""

    items: int
    quick: int
    make: Callable[[int], Workload]


def _pairs(item: str, prompt: str, answers: list[str]) -> tuple[Pair, ...]:
    """Answers two by two, as pairs of one prompt; an even number of answers."""
    return tuple(
        Pair(f"{item}-{at // 2}", prompt, answers[at], answers[at + 1], None, None)
        for at in range(0, len(answers), 2)
    )


def _text(rng: np.random.Generator, words: int) -> str:
    return " ".join(_WORDS[at] for at in rng.integers(0, len(_WORDS), max(1, words)))


def _plain(prompt: str = "{prompt}", join: str = "\n") -> PlainTemplate:
    return PlainTemplate(kind="plain", id="plain", prompt=prompt, answer_join=join)


def llmbar(items: int) -> Workload:
    """LLMBar Natural and Adversarial under the chat template."""
    path = SHARED / "preferences" / "llmbar" / "pairs.jsonl.gz"
    if path.is_file():
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            rows = [row for row in map(json.loads, stream) if row["subset"] == "LLMBar/Natural"]
        made = [(row["prompt"], row["chosen"], row["rejected"]) for row in rows[:items]]
    else:
        rng = generator(3, "llmbar-shape")
        made = [(_text(rng, 95), _text(rng, 70), _text(rng, 75)) for _ in range(items)]
    groups = tuple(_pairs(f"{at:04d}", prompt, [one, two]) for at, (prompt, one, two) in enumerate(made))
    frame = Frame(template=ChatTemplate(kind="chat", id="chat"), system=None, exemplars=())
    return Workload("llmbar", "LLMBar pairs, chat template", frame, groups, 1.8)


def shared_prompts(items: int) -> Workload:
    """Prompts of about 600 tokens with six answers of at most 40; always made here."""
    rng = generator(3, "shared-prompts")
    groups = tuple(
        _pairs(
            f"{at:04d}", _text(rng, 596), [_text(rng, int(length)) for length in rng.integers(20, 39, 6)]
        )
        for at in range(items)
    )
    frame = Frame(template=_plain(), system=None, exemplars=())
    return Workload("shared-prompts", "600-token prompts, 6 answers each", frame, groups, 3.0)


def rm_bench(items: int) -> Workload:
    """RM-Bench: three chosen against three rejected answers of one prompt, nine pairs an item."""
    path = SHARED / "preferences" / "rm_bench" / "sample60.jsonl"
    groups: list[tuple[Pair, ...]] = []
    if path.is_file():
        by_prompt: dict[str, list[Pair]] = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            pair = Pair(row["id"], row["prompt"], row["chosen"], row["rejected"], None, None)
            by_prompt.setdefault(pair.prompt, []).append(pair)
        groups = [tuple(pairs) for pairs in list(by_prompt.values())[:items]]
    else:
        rng = generator(3, "rm-bench-shape")
        for at in range(items):
            prompt, answers = _text(rng, 65), [_text(rng, 270) for _ in range(6)]
            groups.append(
                tuple(
                    Pair(f"{at:04d}-{one}{two}", prompt, answers[one], answers[3 + two], None, None)
                    for one in range(3)
                    for two in range(3)
                )
            )
    frame = Frame(template=ChatTemplate(kind="chat", id="chat"), system=None, exemplars=())
    return Workload("rm-bench", "RM-Bench, 3 chosen x 3 rejected", frame, tuple(groups), 1.2)


def multiple_choice(items: int) -> Workload:
    """TruthfulQA as a cloze with five worked examples and four options."""
    path = SHARED / "benchmarks" / "TruthfulQA.csv"
    asked: list[tuple[str, list[str]]] = []
    if path.is_file():
        with path.open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream):
                wrong = [one.strip() for one in row["Incorrect Answers"].split(";") if one.strip()]
                if len(wrong) >= OPTIONS - 1:
                    asked.append((row["Question"], [row["Best Answer"].strip(), *wrong[: OPTIONS - 1]]))
    else:
        rng = generator(3, "truthfulqa-shape")
        for _ in range(items + SHOTS):
            asked.append((_text(rng, 12) + "?", [_text(rng, 10) for _ in range(OPTIONS)]))
    shots, asked = asked[:SHOTS], asked[SHOTS : SHOTS + items]
    frame = Frame(
        template=_plain("Q: {prompt}", "\nA:"),
        system=None,
        exemplars=tuple(Exemplar(prompt=prompt, chosen=" " + options[0]) for prompt, options in shots),
    )
    groups = tuple(
        _pairs(f"{at:04d}", prompt, [" " + option for option in options])
        for at, (prompt, options) in enumerate(asked)
    )
    return Workload("multiple-choice", "5-shot cloze, 4 options (TruthfulQA)", frame, groups, 10.0, 2)


WORKLOADS: dict[str, Maker] = {
    "llmbar": Maker(items=100, quick=4, make=llmbar),
    "shared-prompts": Maker(items=60, quick=2, make=shared_prompts),
    "rm-bench": Maker(items=60, quick=1, make=rm_bench),
    "multiple-choice": Maker(items=200, quick=8, make=multiple_choice),
}
