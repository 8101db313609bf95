"""How fast this machine multiplies matrices: what the time of a run is estimated from."""

from __future__ import annotations

import time

import torch

from safetyrepro.score.local.device import choose_device
from safetyrepro.spec.experiment import Device
from safetyrepro.spec.models import Dtype

_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
_ENOUGH_S = 0.3


def measure_matrix_rate(device: Device, *, width: int, rows: int, dtype: Dtype) -> float:
    """Floating-point operations a second of a (rows, width) x (width, 4 width) product, best of a few."""
    chosen = choose_device(device)
    left = torch.randn(rows, width, device=chosen).to(_DTYPES[dtype])
    right = torch.randn(width, 4 * width, device=chosen).to(_DTYPES[dtype])
    best = float("inf")
    began = time.perf_counter()
    while time.perf_counter() - began < _ENOUGH_S or best == float("inf"):
        start = time.perf_counter()
        left @ right
        if chosen.type == "cuda":
            torch.cuda.synchronize(chosen)
        best = min(best, time.perf_counter() - start)
    return 2.0 * rows * width * 4 * width / best
