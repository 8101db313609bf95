"""Time and memory of the joint rank analysis at its declared size, beside a plain loop.

    python benchmarks/ranks.py [--quick] [--json FILE]

The bar is 30 models x 48 configurations x 5,000 items x 2,000 joint resamples, all 435 pairs: under
20 s and under 2 GiB. The loop does the same on a small share of the same resamples; its time for all of
them is that share's, scaled, and is labelled so. Both must give the same maxima.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from safetyrepro.rng import generator
from safetyrepro.stats.joint import cluster_scores, resample_counts
from safetyrepro.stats.joint_comparison import all_pairs, compare_pairs
from safetyrepro.stats.noise_floor import label_swap_test, split_half_floor
from safetyrepro.stats.pair_columns import estimate_columns, resample_statistics
from safetyrepro.stats.ranking import rank_sets, top_k_inclusion
from safetyrepro.stats.variance import variance_shares

MAX_SECONDS = 20.0
MAX_GIB = 2.0


@dataclass(frozen=True)
class Bar:
    """One requirement: what it measures, the value here, the target, and whether it is met."""

    name: str
    value: float
    unit: str
    target: str
    met: bool


@dataclass(frozen=True)
class Size:
    models: int
    levels: tuple[int, ...]
    items: int
    resamples: int
    looped: int

    @property
    def configurations(self) -> int:
        return int(np.prod(self.levels))


FULL = Size(models=30, levels=(4, 3, 2, 2), items=5000, resamples=2000, looped=10)
QUICK = Size(models=12, levels=(3, 2, 2), items=1000, resamples=500, looped=10)


def made_scores(size: Size) -> NDArray[np.float64]:
    """Binary scores with item difficulty, ability, and a model x configuration interaction."""
    rng = generator(4, "benchmark-ranks")
    shape = (size.models, size.configurations, size.items)
    latent = rng.standard_normal(shape, dtype=np.float32)
    latent += 0.3 * rng.standard_normal((size.models, 1, 1), dtype=np.float32)
    latent += 0.2 * rng.standard_normal((size.models, size.configurations, 1), dtype=np.float32)
    latent += rng.standard_normal((1, 1, size.items), dtype=np.float32)
    return (latent > 0).astype(np.float64)


def plain_loop(
    scores: NDArray[np.float64], pairs: NDArray[np.int64], counts: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """The largest |t*| of each resample by the obvious loop, and the seconds it took per resample."""
    first, second = scores[pairs[:, 0]].mean(axis=2), scores[pairs[:, 1]].mean(axis=2)
    observed = first - second
    spread = np.empty_like(observed)
    for row, (a, b) in enumerate(pairs):
        spread[row] = (scores[a] - scores[b]).std(axis=1, ddof=1) / np.sqrt(scores.shape[2])
    maxima = np.empty(len(counts))
    started = time.perf_counter()
    for row, drawn in enumerate(counts):
        chosen = np.repeat(np.arange(scores.shape[2]), drawn.astype(int))
        means = scores[:, :, chosen].mean(axis=2)
        t = (means[pairs[:, 0]] - means[pairs[:, 1]] - observed) / spread
        maxima[row] = np.abs(t).max()
    return maxima, (time.perf_counter() - started) / len(counts)


def peak_gib() -> float:
    """Largest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def measure(size: Size) -> list[Bar]:
    """Run the analysis, then the loop, then what else a report's chapter needs."""
    scores = made_scores(size)
    clusters = np.arange(size.items)
    pairs = all_pairs(size.models)
    started = time.perf_counter()
    result = compare_pairs(
        scores, clusters, pairs=pairs, rng=generator(1, "joint"), resamples=size.resamples
    )
    rank_sets(result, models=size.models)
    seconds = time.perf_counter() - started
    memory = peak_gib()

    (counts,) = resample_counts(
        generator(1, "joint"), clusters=size.items, resamples=size.looped, block=size.looped
    )
    looped, each = plain_loop(scores, pairs, counts)
    data = cluster_scores(scores, clusters)
    estimates = estimate_columns(data, pairs)
    fast = np.concatenate(
        [
            np.abs(block).max(axis=(1, 2))
            for block in resample_statistics(
                data, pairs, estimates=estimates, rng=generator(1, "joint"), resamples=size.looped
            )
        ]
    )
    apart = float(np.abs(fast / looped - 1).max())

    started = time.perf_counter()
    levels = np.array(list(np.ndindex(*size.levels)))
    top_k_inclusion(scores, clusters, k=3, rng=generator(1, "top"), resamples=size.resamples)
    split_half_floor(scores, clusters, rng=generator(1, "halves"), top_k=3)
    label_swap_test(scores, clusters, rng=generator(1, "swap"))
    variance_shares(scores, clusters, levels=levels, rng=generator(1, "shares"))
    rest = time.perf_counter() - started
    return [
        Bar("joint ranks, all pairs", seconds, "s", f"< {MAX_SECONDS:g}", seconds < MAX_SECONDS),
        Bar("peak memory of the joint ranks", memory, "GiB", f"< {MAX_GIB:g}", memory < MAX_GIB),
        Bar(
            f"plain loop, extrapolated from {size.looped} of {size.resamples} resamples",
            each * size.resamples,
            "s",
            "none, for comparison",
            True,
        ),
        Bar("largest relative difference from the loop", apart, "", "< 1e-06", apart < 1e-6),
        Bar("top-k, floors, label swaps and shares", rest, "s", "none, for comparison", True),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="a small size, to see that it runs")
    parser.add_argument("--json", type=Path, help="also write the bars to this file")
    arguments = parser.parse_args()
    size = QUICK if arguments.quick else FULL
    bars = measure(size)
    print(
        f"{size.models} models x {size.configurations} configurations x {size.items} items x "
        f"{size.resamples} joint resamples, {os.cpu_count()} cores"
    )
    for bar in bars:
        print(f"  {'ok ' if bar.met else 'NO '} {bar.name}: {bar.value:.4g} {bar.unit} ({bar.target})")
    if arguments.json is not None:
        document = {
            "benchmark": "ranks",
            "size": asdict(size),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "cores": os.cpu_count(),
            "bars": [asdict(bar) for bar in bars],
        }
        arguments.json.write_text(json.dumps(document, indent=2) + "\n")
    return 0 if all(bar.met for bar in bars) else 1


if __name__ == "__main__":
    raise SystemExit(main())
