"""The matrix-product rate of a model's own feed-forward layers: what a forward pass could reach at most."""

from __future__ import annotations

import statistics
import time

import torch
from torch import nn
from transformers import PreTrainedModel

_ROUNDS = 3


@torch.inference_mode()
def model_rate(model: PreTrainedModel, *, rows: int) -> float:
    """Floating-point operations a second of all feed-forward products in turn, for `rows` tokens.

    The layers are walked with the model's own weights, so that each comes from memory as it does in a
    forward pass; nothing else (attention, norms, activations) is computed.

    Raises:
        ValueError: the model has no feed-forward layers of the usual name.
    """
    layers = [
        module
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear) and ".mlp." in f".{name}."
    ]
    if not layers:
        raise ValueError("model must have linear layers in modules called mlp; it has none")
    first = layers[0].weight
    inputs = {
        width: torch.randn(rows, width, device=first.device).to(first.dtype)
        for width in {layer.in_features for layer in layers}
    }
    flop = sum(2.0 * rows * layer.in_features * layer.out_features for layer in layers)
    rates: list[float] = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        for layer in layers:
            nn.functional.linear(inputs[layer.in_features], layer.weight)
        if first.device.type == "cuda":
            torch.cuda.synchronize(first.device)
        rates.append(flop / (time.perf_counter() - began))
    return statistics.median(rates[1:])
