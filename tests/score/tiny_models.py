"""Tiny real tokenizers, and randomly initialised models of real families made from configurations."""

from __future__ import annotations

import copy
from typing import Literal

import torch
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors
from tokenizers import Tokenizer as FastTokenizer
from transformers import (
    AutoModelForCausalLM,
    BloomConfig,
    Gemma2Config,
    Gemma3TextConfig,
    GPT2Config,
    GPTNeoXConfig,
    LlamaConfig,
    MambaConfig,
    MistralConfig,
    MixtralConfig,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen3Config,
)

from safetyrepro.canonical import digest_bytes
from safetyrepro.score.local.model import LocalBackend
from safetyrepro.score.local.quiet import quiet_transformers
from safetyrepro.score.local.tokens import LocalTokenizer
from safetyrepro.spec.models import Dtype

_MERGES = (
    ("A", "n"), ("An", "s"), ("w", "e"), ("we", "r"), ("Ans", "wer"), ("Ġ", "B"), ("Ġ", "wer"),
    ("Ċ", "Ċ"), ("t", "h"), ("th", "e"), ("Ġ", "the"), ("ĊĊ", "Q"),
)  # fmt: skip
_CONTROLS = ("<|begin|>", "<|start|>", "<|end|>")

CHATML = (
    "{% for message in messages %}{{ '<|start|>' + message['role'] + '\n' + message['content'] + "
    "'<|end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|start|>assistant\n' }}{% endif %}"
)
"""One turn a message; nothing of its own."""
DEFAULT_SYSTEM = (
    "{% if messages[0]['role'] != 'system' %}{{ '<|start|>system\nYou are Tiny.<|end|>\n' }}{% endif %}"
    + CHATML
)
"""Inserts a system prompt where none is given."""
WRITES_BOS = "{{ bos_token }}" + CHATML
"""Writes the beginning-of-sequence token itself."""
TRIMS = CHATML.replace("message['content']", "message['content'] | trim")
"""Trims every message."""
NO_GENERATION_PROMPT = CHATML.split("{% if add_generation_prompt")[0]
"""Knows no generation prompt."""
THINKS = CHATML.replace(
    "message['role'] + '\n'",
    "message['role'] + '\n' + ('<think></think>\n' if message['role'] == 'assistant' else '')",
)
"""Writes a closed reasoning block before every answer, which its generation prompt lacks."""
NO_SYSTEM = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('system role not supported') }}{% endif %}"
    + CHATML
)
"""Refuses a system turn."""
DATED = "{{ '<|start|>system\nToday is ' + strftime_now('%d %b %Y') + '.<|end|>\n' }}" + CHATML
"""Writes the day."""

Kind = Literal["plain", "bos", "bos_and_eos", "metaspace", "nfc"]


def tiny_tokenizer(template: str | None = CHATML, *, kind: Kind = "plain") -> LocalTokenizer:
    """A byte-level BPE tokenizer of a few merges ('Ans' + 'wer', ' B', newlines), its offsets trimmed.

    Kinds: `bos` and `bos_and_eos` add control tokens around plain text; `nfc` normalises like Qwen's;
    `metaspace` is a SentencePiece-like tokenizer with byte fallback.
    """
    fast = _metaspace() if kind == "metaspace" else _byte_level(kind)
    fast.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in _CONTROLS])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=fast,
        bos_token=None if kind == "plain" else "<|begin|>",
        eos_token="<|end|>",
        chat_template=template,
    )
    return LocalTokenizer(tokenizer)


def _byte_level(kind: Kind) -> FastTokenizer:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = [*_CONTROLS, *alphabet, *("".join(merge) for merge in _MERGES)]
    fast = FastTokenizer(
        models.BPE(vocab={piece: at for at, piece in enumerate(pieces)}, merges=list(_MERGES))
    )
    fast.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    fast.decoder = decoders.ByteLevel()
    trimming = processors.ByteLevel(trim_offsets=True)
    around = {"bos": "<|begin|> $A", "bos_and_eos": "<|begin|> $A <|end|>"}.get(kind, "$A")
    template = processors.TemplateProcessing(
        single=around, special_tokens=[("<|begin|>", 0), ("<|end|>", 2)]
    )
    fast.post_processor = processors.Sequence([trimming, template])
    if kind == "nfc":
        fast.normalizer = normalizers.NFC()
    return fast


def _metaspace() -> FastTokenizer:
    letters = "▁ABQaenrstwhdog.,'\n"
    pieces = [*_CONTROLS, "<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), *letters, "▁B", "▁t"]
    vocabulary = {piece: at for at, piece in enumerate(pieces)}
    fast = FastTokenizer(
        models.BPE(vocab=vocabulary, merges=[("▁", "B"), ("▁", "t")], unk_token="<unk>", byte_fallback=True)
    )
    fast.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    fast.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    fast.post_processor = processors.TemplateProcessing(
        single="<|begin|> $A", special_tokens=[("<|begin|>", 0)]
    )
    return fast


_SIZES = {"vocab_size": 300, "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 3}
_GATED = {**_SIZES, "intermediate_size": 128, "num_key_value_heads": 2, "max_position_embeddings": 256}
FAMILIES: dict[str, PreTrainedConfig] = {
    "llama": LlamaConfig(**_GATED),
    "gpt2": GPT2Config(
        vocab_size=300, n_embd=64, n_layer=3, n_head=4, n_positions=256, bos_token_id=1, eos_token_id=2
    ),
    "gpt_neox": GPTNeoXConfig(**_SIZES, intermediate_size=128, max_position_embeddings=256),
    "qwen3": Qwen3Config(**_GATED, head_dim=16),
    "gemma3": Gemma3TextConfig(**{**_GATED, "num_hidden_layers": 6}, head_dim=16, sliding_window=16),
    "gemma2": Gemma2Config(**_GATED, head_dim=16, sliding_window=16, final_logit_softcapping=1.0),
    "mistral": MistralConfig(**_GATED, sliding_window=16),
    "mixtral": MixtralConfig(**_GATED, num_local_experts=4, experts_implementation="eager"),
    "bloom": BloomConfig(vocab_size=300, hidden_size=64, n_layer=3, n_head=4),
    "mamba": MambaConfig(vocab_size=300, hidden_size=64, num_hidden_layers=3, state_size=8),
}
PLAIN_ONLY = frozenset({"bloom", "mamba"})


def tiny_model(family: str = "llama", *, dtype: torch.dtype = torch.float32) -> PreTrainedModel:
    """A random model of `family` with sharpened weights, so that its probabilities are far from uniform."""
    torch.manual_seed(0)
    with quiet_transformers():
        model = AutoModelForCausalLM.from_config(copy.deepcopy(FAMILIES[family]))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(3.0)
    return model.to(dtype).eval()


def tiny_backend(
    family: str = "llama",
    *,
    tokenizer: LocalTokenizer | None = None,
    dtype: Dtype = "float32",
) -> LocalBackend:
    """The model above behind the local backend."""
    model = tiny_model(family, dtype={"float32": torch.float32, "bfloat16": torch.bfloat16}[dtype])
    return LocalBackend(
        model,
        tokenizer or tiny_tokenizer(),
        weights_digest=digest_bytes(family.encode()),
        dtype=dtype,
        rounding=None,
    )
