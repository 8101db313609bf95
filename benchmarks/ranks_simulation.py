"""Do the rank statements hold what they promise? Simulated studies with known truth, fixed seeds.

    python benchmarks/ranks_simulation.py [--quick] [--json FILE]

Every model answers all items under all configurations. A latent score is the cell's mean plus an item
effect, an effect of the item on the model, and noise, in equal parts: differences between two models
correlate .5 between configurations. Coverage and floors use binary scores (latent score above zero), the
reversals the latent scores themselves.

- coverage: the share of studies in which every rank set and every range [k+, n - k-] holds the truth;
  at least nominal (.95).
- reversal: one true effect, all others nought, the least favourable null; the share of studies that
  find a reversal, by the decisions, by the reversal test, and by unadjusted tests for comparison. Beside
  it, how often the raw signs of a truly tied pair show both directions.
- floor: mean tau between configurations and its split-half floor, without and with an interaction.

A share counts as "at least" or "at most" its target within three of its own standard errors, since
some hundred shares are looked at.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from safetyrepro.rng import generator
from safetyrepro.stats.envelope import JointComparison
from safetyrepro.stats.joint_comparison import all_pairs, compare_pairs
from safetyrepro.stats.noise_floor import split_half_floor
from safetyrepro.stats.ranking import rank_sets
from safetyrepro.stats.undefined import Undefined

LEVEL = 0.95
SEED = 4
RESAMPLES = 499


@dataclass(frozen=True)
class Bar:
    """One requirement: what it measures, the value here, the target, and whether it is met."""

    name: str
    value: float
    unit: str
    target: str
    met: bool


def study(effects: NDArray[np.float64], *, items: int, unit: str) -> NDArray[np.float64]:
    """Latent scores (M, C, N) of one simulated study with means `effects` (M, C), each of variance 1."""
    rng = generator(SEED, "study", unit)
    models = effects.shape[0]
    noise = rng.standard_normal((1, 1, items)) + rng.standard_normal((models, 1, items))
    noise = noise + rng.standard_normal((*effects.shape, items))
    return effects[:, :, None] + noise / math.sqrt(3)


def binary_study(effects: NDArray[np.float64], *, items: int, unit: str) -> NDArray[np.float64]:
    """The same, right (1) where the latent score is above zero."""
    return (study(effects, items=items, unit=unit) > 0).astype(np.float64)


def at_least(share: float, target: float, studies: int) -> bool:
    """The share is not below the target by more than three standard errors of a share at the target."""
    return share >= target - 3 * math.sqrt(target * (1 - target) / studies)


def at_most(share: float, target: float, studies: int) -> bool:
    """The share is not above the target by more than three standard errors of a share at the target."""
    return share <= target + 3 * math.sqrt(target * (1 - target) / studies)


def holds(result: JointComparison, truth: NDArray[np.float64]) -> tuple[bool, bool]:
    """Whether all rank sets, and all ranges [k+, n - k-], hold the truth of latent means (M, C)."""
    models, configurations = truth.shape
    sets = rank_sets(result, models=models)
    rank = 1 + (truth[None, :, :] > truth[:, None, :]).sum(axis=1)
    ranks = bool(((sets.lowest <= rank) & (rank <= sets.highest)).all())
    first, second = truth[result.pairs[:, 0]], truth[result.pairs[:, 1]]
    ahead, behind = (first > second).sum(axis=1), (first < second).sum(axis=1)
    surely = (result.decisions > 0).sum(axis=1)
    surely_behind = (result.decisions < 0).sum(axis=1)
    within = (surely <= ahead) & (ahead <= configurations - surely_behind) & (surely_behind <= behind)
    return ranks, bool(within.all())


def true_effects(kind: str, models: int, configurations: int) -> NDArray[np.float64]:
    """Latent means (M, C): all tied, or models apart and reordered by configurations."""
    if kind == "all tied":
        return np.zeros((models, configurations))
    rng = generator(SEED, "truth", f"{models}x{configurations}")
    apart = 0.3 * rng.standard_normal((models, 1))
    return apart + 0.2 * rng.standard_normal((models, configurations))


def coverage(*, quick: bool) -> Iterator[Bar]:
    """Coverage of rank sets and of true counts, 3 to 20 models and 50 to 5,000 items."""
    configurations = 12
    models = (3, 8) if quick else (3, 5, 10, 20)
    items = (50, 250) if quick else (50, 150, 250, 1000, 5000)
    for m in models:
        for n in items:
            studies = 60 if quick else (200 if n == 5000 else 400)
            for kind in ("all tied", "apart"):
                truth = true_effects(kind, m, configurations)
                ranks = counts = 0
                for number in range(studies):
                    unit = f"coverage {kind} {m} {n} {number}"
                    result = compare_pairs(
                        binary_study(truth, items=n, unit=unit),
                        np.arange(n),
                        pairs=all_pairs(m),
                        rng=generator(SEED, "resample", unit),
                        resamples=RESAMPLES,
                        level=LEVEL,
                    )
                    rank, count = holds(result, truth)
                    ranks, counts = ranks + rank, counts + count
                for name, found in (("rank sets", ranks), ("[k+, n - k-]", counts)):
                    share = found / studies
                    yield Bar(
                        f"coverage of {name}, {kind}, {m} models, {n} items ({studies} studies)",
                        share,
                        "",
                        f">= {LEVEL}",
                        at_least(share, LEVEL, studies),
                    )


def reversals(*, quick: bool) -> Iterator[Bar]:
    """False reversals of one pair whose one true effect is large and whose others are nought."""
    alpha = 1 - LEVEL
    for configurations in (12,) if quick else (12, 48):
        for n in (50, 250) if quick else (50, 150, 250, 1000):
            studies = 200 if quick else 1000
            truth = np.zeros((2, configurations))
            truth[0, 0] = 8.0 / math.sqrt(n)
            decided = tested = unadjusted = raw = 0
            for number in range(studies):
                unit = f"reversal {configurations} {n} {number}"
                envelope = compare_pairs(
                    study(truth, items=n, unit=unit),
                    np.arange(n),
                    pairs=all_pairs(2),
                    rng=generator(SEED, "resample", unit),
                    resamples=RESAMPLES,
                    level=LEVEL,
                ).envelope(0)
                p = envelope.reversal_p()
                decided += envelope.reliably_ahead > 0 and envelope.reliably_behind > 0
                tested += not isinstance(p, Undefined) and p <= alpha
                t = envelope.differences / envelope.standard_errors
                reach = norm.ppf(1 - alpha)
                tied = study(0 * truth, items=n, unit=f"tied {unit}").mean(axis=2)
                raw += np.unique(np.sign(tied[0] - tied[1])).size > 1
                unadjusted += bool((t > reach).any() and (t < -reach).any())
            where = f"{configurations} configurations, {n} items ({studies} studies)"
            for name, found in (("decisions", decided), ("reversal test", tested)):
                share = found / studies
                met = at_most(share, alpha, studies)
                yield Bar(f"false reversals by {name}, {where}", share, "", f"<= {alpha:.2f}", met)
            yield Bar(
                f"raw signs of a tied pair both ways, {where}", raw / studies, "", "description", True
            )
            yield Bar(
                f"false reversals by unadjusted tests, {where}",
                unadjusted / studies,
                "",
                "description",
                True,
            )


def floors(*, quick: bool) -> Iterator[Bar]:
    """Tau between configurations beside its split-half floor, without and with an interaction."""
    models, configurations = 8, 6
    studies = 20 if quick else 150
    for n in (200,) if quick else (100, 400, 1600):
        for interaction in (0.0, 0.25):
            between, floor, gaps = [], [], []
            for number in range(studies):
                unit = f"floor {n} {interaction} {number}"
                rng = generator(SEED, "truth", unit)
                truth = 0.3 * rng.standard_normal((models, 1)) + 0.2 * rng.standard_normal(configurations)
                truth = truth + interaction * rng.standard_normal((models, configurations))
                halves = split_half_floor(
                    binary_study(truth, items=n, unit=unit),
                    np.arange(n),
                    rng=generator(SEED, "halves", unit),
                    splits=20,
                )
                if isinstance(halves, Undefined) or isinstance(halves.tau, Undefined):
                    raise RuntimeError(f"{unit}: the floor must exist")
                one, other = halves.tau.mean_between(), halves.tau.mean_floor()
                if isinstance(one, Undefined) or isinstance(other, Undefined):
                    raise RuntimeError(f"{unit}: the floor must exist")
                between.append(one)
                floor.append(other)
                gaps.append(other - one)
            where = f"{n} items ({studies} studies)"
            label = "with an interaction" if interaction else "no interaction"
            yield Bar(
                f"mean tau between, {label}, {where}", float(np.mean(between)), "", "description", True
            )
            yield Bar(f"mean tau floor, {label}, {where}", float(np.mean(floor)), "", "description", True)
            gap, error = float(np.mean(gaps)), float(np.std(gaps, ddof=1) / math.sqrt(studies))
            if interaction:
                met, target = gap > 3 * error, "> 0 by 3 standard errors"
            else:
                met, target = abs(gap) <= 3 * error + 0.002, "0 within 3 standard errors"
            yield Bar(f"floor minus between, {label}, {where}", gap, "", target, met)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="few and small studies, to see that it runs")
    parser.add_argument("--json", type=Path, help="also write the bars to this file")
    arguments = parser.parse_args()
    started = time.perf_counter()
    bars = []
    for part in (reversals, floors, coverage):
        for bar in part(quick=arguments.quick):
            bars.append(bar)
            print(f"  {'ok ' if bar.met else 'NO '} {bar.name}: {bar.value:.4f} ({bar.target})", flush=True)
    seconds = time.perf_counter() - started
    print(f"{sum(bar.met for bar in bars)} of {len(bars)} as they must be; {seconds:.0f} s")
    if arguments.json is not None:
        document = {
            "benchmark": "ranks_simulation",
            "quick": arguments.quick,
            "seed": SEED,
            "resamples": RESAMPLES,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "seconds": round(seconds, 1),
            "bars": [asdict(bar) for bar in bars],
        }
        arguments.json.write_text(json.dumps(document, indent=2) + "\n")
    return 0 if all(bar.met for bar in bars) else 1


if __name__ == "__main__":
    raise SystemExit(main())
