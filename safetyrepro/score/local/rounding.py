"""Round-to-nearest weight quantisation: the few lines that make a smaller system out of a model."""

from __future__ import annotations

import torch
from torch import nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from safetyrepro.errors import InputError
from safetyrepro.score.local.shape import output_head
from safetyrepro.spec.models import WeightRounding


def round_weights(weight: torch.Tensor, rounding: WeightRounding) -> torch.Tensor:
    """`weight` (out, in) with every group of `rounding.group` inputs on a grid of 2^bits even steps.

    A group's grid runs from its least to its greatest weight, and both stay as they are: a scale and a
    minimum a group, as GGUF's Q4_1 has them, kept in float32. A constant group stays constant. Computed in
    float32 and returned in the weight's own dtype.
    """
    rows, width = weight.shape
    groups = weight.float().reshape(rows, width // rounding.group, rounding.group)
    least = groups.amin(dim=-1, keepdim=True)
    scale = (groups.amax(dim=-1, keepdim=True) - least) / (2**rounding.bits - 1)
    steps = torch.round((groups - least) / torch.where(scale > 0, scale, torch.ones_like(scale)))
    rounded: torch.Tensor = steps * scale + least
    return rounded.reshape(rows, width).to(weight.dtype)


def round_model(model: PreTrainedModel, rounding: WeightRounding) -> None:
    """Rounds every linear layer in place; embeddings and the output head are kept.

    Raises:
        InputError: groups that do not divide a layer's input width, or weights outside linear layers that
            the rounding would miss (experts held in one tensor).
    """
    head = output_head(model)
    layers = [
        (name, module)
        for name, module in model.named_modules()
        if isinstance(module, (nn.Linear, Conv1D)) and module is not head
    ]
    stacked = [
        name for name, parameter in model.named_parameters() if parameter.ndim == 3 and "conv" not in name
    ]
    if stacked:
        raise InputError(
            f"weights: must be in linear layers to be rounded; {stacked[0]} holds several matrices"
        )
    for name, module in layers:
        width = module.weight.shape[0] if isinstance(module, Conv1D) else module.weight.shape[1]
        if width % rounding.group:
            raise InputError(
                f"weights.group: must divide every linear layer's input width; got {rounding.group}, and "
                f"{name} has {width}"
            )
    with torch.no_grad():
        for _, module in layers:
            if isinstance(module, Conv1D):
                module.weight.copy_(round_weights(module.weight.T, rounding).T)
            else:
                module.weight.copy_(round_weights(module.weight, rounding))
