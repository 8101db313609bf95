"""A model's sizes, read from its configuration and modules."""

from __future__ import annotations

from typing import cast

import torch
from torch import nn
from transformers import AutoModelForCausalLM, PreTrainedConfig, PreTrainedModel

from safetyrepro.score.cost import ModelShape

_UNLIMITED_CONTEXT = 1_000_000


def shape_of(model: PreTrainedModel) -> ModelShape:
    """The sizes of a model, with or without its weights."""
    config = model.config.get_text_config()
    heads = int(config.num_attention_heads) if hasattr(config, "num_attention_heads") else 1
    width = int(config.hidden_size)
    key_heads = int(getattr(config, "num_key_value_heads", None) or heads)
    head_width = int(getattr(config, "head_dim", None) or width // heads)
    embedding = model.get_input_embeddings().get_parameter("weight")
    head = output_head(model)
    total = sum(parameter.numel() for parameter in model.parameters())
    tied = head is None or bool(getattr(config, "tie_word_embeddings", False))
    return ModelShape(
        parameters=total,
        linear_parameters=total - embedding.numel() * (1 if tied else 2),
        layers=int(config.num_hidden_layers),
        width=width,
        vocabulary=int(embedding.shape[0]),
        key_value_width=key_heads * head_width,
        context_tokens=context_tokens_of(config),
    )


def output_head(model: PreTrainedModel) -> nn.Module | None:
    """The layer from states to logits, where the family has one."""
    head = model.get_output_embeddings()  # type: ignore[no-untyped-call]
    return head if isinstance(head, nn.Module) else None


def fresh_model(config: PreTrainedConfig) -> PreTrainedModel:
    """A causal language model of this configuration in float32, its weights not yet set."""
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)  # type: ignore[no-untyped-call]
    return cast(PreTrainedModel, model)


def context_tokens_of(config: PreTrainedConfig) -> int:
    """The most positions a model reads; a recurrent or ALiBi model without a limit gives a million."""
    for name in ("max_position_embeddings", "n_positions", "seq_length"):
        value = getattr(config, name, None)
        if isinstance(value, int) and value > 0:
            return value
    return _UNLIMITED_CONTEXT
