"""A GGUF file to a model folder: weights dequantised to float32, tokenizer and template beside them."""

from __future__ import annotations

import struct
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from safetyrepro.errors import InputError
from safetyrepro.score.local.quiet import quiet_transformers
from safetyrepro.score.local.shape import fresh_model


def convert_gguf(file: Path, folder: Path) -> None:
    """Writes `file`'s model to `folder` as safetensors in float32 (bfloat16 would alter its weights).

    transformers refuses to save a model that it loaded from GGUF, so the state is copied into a fresh one.

    Raises:
        InputError: not a GGUF file, or of a family that transformers cannot read.
        OSError: the folder cannot be written.
    """
    try:
        with quiet_transformers():
            tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
            loaded = AutoModelForCausalLM.from_pretrained(
                file.parent, gguf_file=file.name, dtype=torch.float32
            )
            fresh = fresh_model(AutoConfig.from_pretrained(file.parent, gguf_file=file.name))
            fresh.load_state_dict(loaded.state_dict())
    except (OSError, ValueError, LookupError, RuntimeError, struct.error) as error:
        raise InputError(f"{file}: must be a GGUF model that transformers can read; {error}") from error
    with quiet_transformers():
        fresh.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
