"""The scoring benchmarks run from end to end on tiny models, and say for each bar whether it is met."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the extra models")
BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
HAS_PEER = importlib.util.find_spec("lm_eval") is not None


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(BENCHMARKS / script), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with a chat template, long enough a context for the workloads."""
    sys.path.insert(0, str(Path(__file__).parent / "score"))
    try:
        from tiny_models import FAMILIES, tiny_tokenizer
    finally:
        sys.path.pop(0)
    from transformers import AutoModelForCausalLM

    path = tmp_path_factory.mktemp("model") / "tiny"
    config = type(FAMILIES["llama"])(**{**FAMILIES["llama"].to_dict(), "max_position_embeddings": 8192})
    AutoModelForCausalLM.from_config(config).save_pretrained(path)
    tiny_tokenizer().library_tokenizer.save_pretrained(path)
    return path


def test_the_gpu_script_runs_on_a_cpu_and_every_family_is_its_float64_self(tmp_path: Path) -> None:
    done = run("gpu.py", "--device", "cpu", "--quick", "--json", str(tmp_path / "gpu.json"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no numbers of this script on a GPU are known" in done.stdout
    bars = json.loads((tmp_path / "gpu.json").read_text())["bars"]
    assert sum("against float64" in bar["name"] for bar in bars) == 6
    assert all(set(bar) == {"name", "value", "target", "met"} and bar["met"] for bar in bars)


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_the_gpu_script_without_a_gpu_says_so() -> None:
    done = run("gpu.py")
    assert done.returncode == 2
    assert "no GPU can be used here" in done.stdout


@pytest.mark.skipif(not HAS_PEER, reason="needs lm-eval, which no extra installs")
def test_the_scoring_script_compares_both_sides_on_every_answer(folder: Path, tmp_path: Path) -> None:
    file, workload = tmp_path / "bars.json", "multiple-choice"
    done = run("scoring.py", "--only", workload, "--quick", "--model", str(folder), "--json", str(file))
    assert done.returncode in (0, 1), done.stdout + done.stderr
    bars = {bar["name"].removeprefix(f"{workload}: "): bar for bar in json.loads(file.read_text())["bars"]}
    assert bars["largest difference, nats a token"]["met"]
    assert set(bars) == {
        "times faster than lm-eval, wall",
        "tokens computed / distinct trie tokens",
        "peak resident memory / lm-eval's",
        "largest difference, nats a token",
    }


def test_without_lm_eval_the_scoring_script_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.metadata as m\n"
        "real = m.version\n"
        "def version(name):\n"
        "    if name == 'lm-eval':\n"
        "        raise m.PackageNotFoundError(name)\n"
        "    return real(name)\n"
        "m.version = version\n"
    )
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "scoring.py"), "--quick"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert done.returncode != 0
    assert "pip install --no-deps lm-eval==0.4.13" in done.stderr
