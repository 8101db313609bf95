"""Seeded random generators, one per purpose and unit.

A generator is named by (seed, purpose, unit). Adding another estimator, another thread or another
unit never changes the stream of an existing one (DESIGN 5, rule 9).
"""

from __future__ import annotations

import hashlib

import numpy as np


def generator(seed: int, purpose: str, unit: str = "") -> np.random.Generator:
    """A Philox generator that is a pure function of its three names.

    Args:
        seed: the spec's seed, a non-negative integer of any size.
        purpose: what the numbers are for, such as `bootstrap` or `null-random`.
        unit: which of several equal uses, such as a configuration's id.
    """
    if seed < 0:
        raise ValueError(f"seed must be non-negative; got {seed}")
    name = f"{seed}\x1f{purpose}\x1f{unit}".encode()
    key = int.from_bytes(hashlib.sha256(name).digest()[:16], "big")
    return np.random.Generator(np.random.Philox(key=key))
