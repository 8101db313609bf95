"""Which device a model runs on, and what of it decides the bits of a score."""

from __future__ import annotations

import platform

import torch

from safetyrepro.errors import InputError
from safetyrepro.spec.experiment import Device


def choose_device(device: Device, *, index: int = 0) -> torch.device:
    """The device that the spec asks for; `auto` is the GPU number `index` where there is one.

    Raises:
        InputError: a GPU is asked for and there is none.
    """
    if device.name == "cuda" and not torch.cuda.is_available():
        raise InputError("device.name: must be auto or cpu where no GPU can be used; got 'cuda'")
    if device.name == "cpu" or not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", index)


def device_class(device: torch.device) -> str:
    """The kind of device, as far as it decides the last bits: instruction set, or GPU model."""
    if device.type == "cuda":
        return f"cuda {torch.cuda.get_device_name(device)}"
    return f"cpu {platform.machine()} {torch.backends.cpu.get_cpu_capability()}"


def default_token_budget(device: torch.device) -> int:
    """Tokens a pack when the spec does not say; small on a CPU, where wide attention costs more."""
    return 8192 if device.type == "cuda" else 512
