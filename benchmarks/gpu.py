"""Correctness and speed of the scoring engine on a GPU, with models that the script builds itself.

    python benchmarks/gpu.py [--device cuda|cpu] [--quick] [--json FILE]

One command, no download, under 8 minutes. Random models of several families are compared with their own
float64 forward pass; a model of a billion random weights in bfloat16 then scores made-up pairs and shared
prompts, beside lm-eval's HFLM where it is installed (pip install --no-deps lm-eval==0.4.13), and beside the
rate of its own feed-forward products.

The authors had no GPU: the script has been run on a CPU only (`--device cpu --quick`), and its GPU numbers
are not known yet. If you run it, please send us what it prints.
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import lm_eval_peer
import numpy as np
import torch
from bars import Bar, at_least, at_most, print_bars, shown, write_bars
from matrix_rate import model_rate
from tokenizers import Tokenizer, models
from transformers import (
    AutoModelForCausalLM,
    Gemma3TextConfig,
    GPT2Config,
    GPTNeoXConfig,
    LlamaConfig,
    MixtralConfig,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen3Config,
)

from safetyrepro.canonical import digest_bytes
from safetyrepro.rng import generator
from safetyrepro.score.likelihood import token_log_probs
from safetyrepro.score.local.model import LocalBackend
from safetyrepro.score.local.shape import shape_of
from safetyrepro.score.local.tokens import LocalTokenizer
from safetyrepro.score.packing import build_trie, plan_schedule
from safetyrepro.score.selfcheck import TOLERANCE_NATS
from safetyrepro.spec.models import Dtype

NOT_RUN = "note: no numbers of this script on a GPU are known to its authors yet"
VOCABULARY = 512
LEAST_RATIO = 1.0
_DTYPES: dict[Dtype, torch.dtype] = {"float32": torch.float32, "bfloat16": torch.bfloat16}
_SMALL = {
    "vocab_size": VOCABULARY,
    "hidden_size": 128,
    "num_attention_heads": 4,
    "num_hidden_layers": 4,
    "intermediate_size": 256,
    "max_position_embeddings": 1024,
}
FAMILIES: dict[str, PreTrainedConfig] = {
    "llama": LlamaConfig(**_SMALL, num_key_value_heads=2),
    "gpt2": GPT2Config(
        vocab_size=VOCABULARY,
        n_embd=128,
        n_layer=4,
        n_head=4,
        n_positions=1024,
        bos_token_id=1,
        eos_token_id=2,
    ),
    "gpt_neox": GPTNeoXConfig(**_SMALL),
    "qwen3": Qwen3Config(**_SMALL, num_key_value_heads=2, head_dim=32),
    "gemma3": Gemma3TextConfig(
        **{**_SMALL, "num_hidden_layers": 6}, num_key_value_heads=2, head_dim=32, sliding_window=64
    ),
    "mixtral": MixtralConfig(
        **_SMALL, num_key_value_heads=2, num_local_experts=4, experts_implementation="eager"
    ),
}
_Sequence = tuple[tuple[int, ...], int]


@dataclass(frozen=True)
class Size:
    """How large the timed model and its workloads are."""

    config: PreTrainedConfig
    dtype: Dtype
    items: int
    batch_sizes: tuple[int, ...]
    is_full: bool


def billion() -> LlamaConfig:
    """About 1.2 billion weights, in the proportions of small open models."""
    return LlamaConfig(
        vocab_size=128_256,
        hidden_size=2048,
        intermediate_size=8192,
        num_hidden_layers=16,
        num_attention_heads=32,
        num_key_value_heads=8,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
    )


def sizes(*, quick: bool) -> Size:
    if quick:
        small = LlamaConfig(**_SMALL, num_key_value_heads=2)
        return Size(small, "float32", items=4, batch_sizes=(4,), is_full=False)
    return Size(billion(), "bfloat16", items=256, batch_sizes=(8, 32, 64), is_full=True)


def made_tokenizer() -> PreTrainedTokenizerFast:
    """One word a token; the texts are never tokenised here, but a backend has a tokenizer."""
    words = {"<unk>": 0, **{f"w{at}": at for at in range(1, VOCABULARY)}}
    tokenizer = Tokenizer(models.WordLevel(vocab=words, unk_token="<unk>"))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", eos_token="<unk>")


def made_model(
    config: PreTrainedConfig, *, dtype: Dtype, device: str, scale: float = 1.0
) -> PreTrainedModel:
    """Random weights on the device; `scale` sharpens them, so that probabilities are far from uniform."""
    torch.manual_seed(0)
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(copy.deepcopy(config), dtype=_DTYPES[dtype])
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(scale)
    return model.to(device).eval()


def made_backend(model: PreTrainedModel, dtype: Dtype) -> LocalBackend:
    return LocalBackend(
        model,
        LocalTokenizer(made_tokenizer()),
        weights_digest=digest_bytes(b"random"),
        dtype=dtype,
        rounding=None,
    )


def made_sequences(items: int, *, prompt: int, answers: Sequence[int], vocabulary: int) -> list[_Sequence]:
    """Items of one prompt and several answers, all of random tokens."""
    rng = generator(3, f"gpu-{items}-{prompt}")
    found: list[_Sequence] = []
    for _ in range(items):
        before = tuple(rng.integers(1, vocabulary, prompt).tolist())
        found += [
            (before + tuple(rng.integers(1, vocabulary, length).tolist()), prompt) for length in answers
        ]
    return found


def packed(backend: LocalBackend, sequences: Sequence[_Sequence]) -> tuple[list[np.ndarray], int, int]:
    """Log-probabilities of every sequence's scored tokens; tokens computed; logit rows."""
    trie = build_trie(sequences)
    nats = backend.packed(plan_schedule(trie, budget=backend.default_token_budget))
    rows = len(set(trie.edge_sources.tolist()))
    return [nats[edges] for edges in trie.sequence_edges], len(trie.tokens), rows


def correctness(device: str) -> list[Bar]:
    """Every family packed, in float32, against its own forward pass in float64 on the same device."""
    sequences = made_sequences(6, prompt=90, answers=(20, 7, 1), vocabulary=VOCABULARY)
    bars: list[Bar] = []
    for family, config in FAMILIES.items():
        model = made_model(config, dtype="float32", device=device, scale=3.0)
        scores, _, _ = packed(made_backend(model, "float32"), sequences)
        wide = model.double()
        largest = 0.0
        with torch.inference_mode():
            for (ids, start), score in zip(sequences, scores, strict=True):
                logits = wide(torch.tensor([ids], device=device), use_cache=False).logits[0].cpu().numpy()
                exact = token_log_probs(logits, ids=ids, start=start)
                largest = max(largest, float(np.abs(score - exact).max()))
        bars.append(
            at_most(
                f"{family}: packed float32 against float64, nats a token",
                largest,
                TOLERANCE_NATS["float32"],
            )
        )
    return bars


def speed(size: Size, device: str) -> list[Bar]:
    """Two workloads on one model: tokens a second, against lm-eval, and against the matrix-product rate."""
    model = made_model(size.config, dtype=size.dtype, device=device)
    backend, shape = made_backend(model, size.dtype), shape_of(model)
    print(f"{shape.parameters / 1e9:.2f} billion weights, {size.dtype}, {backend.identity.device}")
    workloads = {
        "pairs": made_sequences(size.items, prompt=120, answers=(90, 80), vocabulary=VOCABULARY),
        "shared prompts": made_sequences(
            max(1, size.items // 4), prompt=600, answers=(40, 35, 30, 25, 38, 20), vocabulary=VOCABULARY
        ),
    }
    bars: list[Bar] = []
    for name, sequences in workloads.items():
        packed(backend, sequences[: len(sequences) // 4 or 1])  # warms kernels and the allocator
        began = time.perf_counter()
        scores, computed, rows = packed(backend, sequences)
        seconds = time.perf_counter() - began
        rate = model_rate(model, rows=min(computed, backend.default_token_budget))
        flop = 2.0 * shape.linear_parameters * computed + 2.0 * shape.width * shape.vocabulary * rows
        given = sum(len(ids) for ids, _ in sequences)
        bars += [
            shown(f"{name}: tokens computed a second", computed / seconds),
            shown(f"{name}: tokens given a second", given / seconds),
            shown(f"{name}: fraction of the matrix-product rate", flop / seconds / rate),
            check_plain(backend, sequences[:8], scores, name=name, dtype=size.dtype),
        ]
        if lm_eval_peer.installed():
            theirs = peer_seconds(model, sequences, size.batch_sizes)
            ratio, label = theirs / seconds, f"{name}: times faster than lm-eval"
            bars.append(at_least(label, ratio, LEAST_RATIO) if size.is_full else shown(label, ratio))
    return bars


def check_plain(
    backend: LocalBackend,
    sequences: Sequence[_Sequence],
    scores: list[np.ndarray],
    *,
    name: str,
    dtype: Dtype,
) -> Bar:
    """Packed against one sequence at a time, averaged over an answer, as the self-check does."""
    plain = [backend.plain((sequence,))[0] for sequence in sequences]
    pairs = zip(scores, plain, strict=False)
    largest = max(abs(float(score.sum() - one.sum())) / len(one) for score, one in pairs)
    return at_most(f"{name}: packed against plain, nats a token", largest, TOLERANCE_NATS[dtype])


def peer_seconds(
    model: PreTrainedModel, sequences: Sequence[_Sequence], batch_sizes: Sequence[int]
) -> float:
    """Seconds of lm-eval at its fastest batch size."""
    peer = lm_eval_peer.Peer(model, made_tokenizer())
    peer.score_tokens(sequences[:4], batch_size=batch_sizes[0])
    best = float("inf")
    for batch_size in batch_sizes:
        began = time.perf_counter()
        peer.score_tokens(sequences, batch_size=batch_size)
        best = min(best, time.perf_counter() - began)
    return best


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--quick", action="store_true", help="a tiny model, to see that it runs")
    parser.add_argument("--json", type=Path, help="also write the bars to this file")
    arguments = parser.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        print("no GPU can be used here; --device cpu --quick only shows that the script runs")
        return 2
    print(NOT_RUN)
    bars = correctness(arguments.device)
    bars += speed(sizes(quick=arguments.quick), arguments.device)
    print_bars(bars)
    if arguments.json is not None:
        facts = {"device": arguments.device, "quick": arguments.quick, "torch": torch.__version__}
        write_bars(arguments.json, benchmark="gpu", bars=bars, facts=facts)
    return 0 if all(bar.met for bar in bars) else 1


if __name__ == "__main__":
    raise SystemExit(main())
