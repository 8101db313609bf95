"""Memory: scoring holds one shard at a time, so the peak of a run barely grows with its items."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
PROGRAM = """
import sys
from pathlib import Path
from fakes import FakeLoader, load_job, spec_document, twin_rows, write_spec
from safetyrepro.run.engine import run_experiment
from safetyrepro.run.progress import Silent

folder, twins = Path(sys.argv[1]), int(sys.argv[2])
rows = twin_rows(twins)
for row in rows:
    row["prompt"] = row["prompt"] + " Say it." * 40
models = ("strong",)
claims = [{"id": "one", "statement": "It copies.", "type": "observation", "level": "model",
           "assertion": {"kind": "at_least", "model": "strong", "value": 0.5, "over": "primary"}}]
document = spec_document(
    models=models, templates=("plain",), rules=("sum",), claims=claims,
    changes={"device": {"name": "cpu", "shard_items": 32, "token_budget": 128},
             "analysis": {"resamples": 200, "joint_resamples": 200}},
)
job = load_job(write_spec(folder, document=document, rows=rows), out_dir=folder / "runs")
del rows
run_experiment(job, loader=FakeLoader(), progress=Silent())
lines = Path("/proc/self/status").read_text().splitlines()
print(next(line.split()[1] for line in lines if line.startswith("VmHWM:")))
"""
MOST_GROWTH_MIB = 16.0
"""For 1,900 more pairs; measured 11.5: their texts, and one pass's rows while the analysis reads them."""


def peak_mib(folder: Path, twins: int) -> float:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder), str(twins)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(TESTS), "OMP_NUM_THREADS": "1"},
    )
    return int(done.stdout.split()[-1]) / 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's count of peak memory")
def test_the_peak_of_a_2000_pair_run_is_that_of_a_100_pair_run(tmp_path: Path) -> None:
    small, large = peak_mib(tmp_path / "small", 50), peak_mib(tmp_path / "large", 1000)
    assert large - small < MOST_GROWTH_MIB
