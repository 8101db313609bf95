"""One thread for the tiny models: they are too small to share, and waiting threads would only spin."""

from __future__ import annotations

import torch

torch.set_num_threads(1)
