"""Killed, interrupted, out of space: what is complete stays, and the same call ends with the same bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes import FakeLoader, load_job, spec_document, twin_rows, write_spec

from safetyrepro.data.bundle import read_rows
from safetyrepro.errors import StorageError
from safetyrepro.run.engine import Job, Outcome, run_experiment
from safetyrepro.run.progress import Silent

TESTS = Path(__file__).resolve().parent.parent


def run(job: Job, loader: FakeLoader | None = None) -> Outcome:
    return run_experiment(job, loader=loader or FakeLoader(), progress=Silent())


def write_tiny(folder: Path) -> Path:
    """Two passes of two shards each."""
    document = spec_document(
        models=("strong", "weak"),
        templates=("chat",),
        rules=("sum", "pmi"),
        claims=[
            {
                "id": "first",
                "statement": "The strong machine ranks above the weak one.",
                "type": "observation",
                "level": "model",
                "assertion": {"kind": "ranks_above", "above": "strong", "below": "weak", "over": "every"},
            }
        ],
        changes={"device": {"name": "cpu", "shard_items": 8, "token_budget": 128}},
    )
    return write_spec(folder, document=document, rows=twin_rows(8))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    folder = tmp_path_factory.mktemp("undisturbed")
    return run(load_job(write_tiny(folder / "spec"), out_dir=folder / "runs"))


def lasting(root: Path) -> dict[str, bytes]:
    """Results, items and rows: what must be the same to the byte."""
    found = {path.name: path.read_bytes() for path in root.rglob("*.jsonl.gz")}
    return found | {
        name: (root / name).read_bytes() for name in ("spec.yaml", "items.json", "results.json")
    }


def unfinished(root: Path) -> list[Path]:
    return [path for path in root.rglob(".*") if path.name != ".lock"]


def killed(work: Callable[[], object]) -> bool:
    """Whether a child process that does `work` was killed by signal 9."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL


def kill_while_writing(name: str) -> None:
    """Kill this process once a file called `name` has its bytes beside the place, half of them perhaps."""
    fsync = os.fsync

    def fatal(descriptor: int) -> None:
        if name in Path(f"/proc/self/fd/{descriptor}").readlink().name:
            os.ftruncate(descriptor, os.fstat(descriptor).st_size // 2)
            os.kill(os.getpid(), signal.SIGKILL)
        fsync(descriptor)

    os.fsync = fatal


def kill_after_renaming(name: str) -> None:
    """Kill this process once a file called `name` is in its place."""
    replace = Path.replace

    def fatal(old: Path, new: Path) -> Path:
        moved = replace(old, new)
        if name in Path(new).name:
            os.kill(os.getpid(), signal.SIGKILL)
        return moved

    Path.replace = fatal  # type: ignore[method-assign]


MOMENTS = [
    (kill_while_writing, "spec.yaml"),
    (kill_while_writing, "items.json"),
    (kill_while_writing, "00000.jsonl.gz"),  # in the middle of a shard
    (kill_after_renaming, "00000.jsonl.gz"),  # between its rows and its record
    (kill_while_writing, "00001.json."),
    (kill_after_renaming, "00001.json"),
    (kill_while_writing, "results.json"),
    (kill_after_renaming, "results.json"),
    (kill_while_writing, "manifest.json"),
]


def test_a_run_that_is_killed_again_and_again_ends_with_the_bytes_of_an_undisturbed_one(
    tmp_path: Path, undisturbed: Outcome
) -> None:
    job = load_job(write_tiny(tmp_path / "spec"), out_dir=tmp_path / "runs", cache_dir=tmp_path / "cache")
    root = tmp_path / "runs" / undisturbed.bundle.root.name
    for arm, name in MOMENTS:

        def die(arm: Callable[[str], None] = arm, name: str = name) -> None:
            arm(name)
            run(job)

        assert killed(die), f"the run survived {arm.__name__}({name})"
        assert not (root / "manifest.json").exists()
    assert unfinished(root)  # what the last one was writing
    resumed = run(job)
    assert resumed.computed_shards == 0
    assert lasting(root) == lasting(undisturbed.bundle.root)
    assert unfinished(root) == []


@pytest.mark.parametrize("moment", MOMENTS[2:], ids=lambda moment: f"{moment[0].__name__} {moment[1]}")
def test_a_run_that_is_killed_once_ends_with_the_bytes_of_an_undisturbed_one(
    tmp_path: Path, undisturbed: Outcome, moment: tuple[Callable[[str], None], str]
) -> None:
    job = load_job(write_tiny(tmp_path / "spec"), out_dir=tmp_path / "runs")

    def die() -> None:
        moment[0](moment[1])
        run(job)

    assert killed(die)
    resumed = run(job)
    assert lasting(resumed.bundle.root) == lasting(undisturbed.bundle.root)
    assert unfinished(resumed.bundle.root) == []


SCRIPT = """
import os, signal, sys
from pathlib import Path
from fakes import FakeLoader, load_job
from safetyrepro.run.engine import run_experiment
from safetyrepro.run.progress import Silent

def before_pack(packs):
    if packs == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)

loader = FakeLoader(before_pack=before_pack)
run_experiment(load_job(Path(sys.argv[1]), out_dir=Path(sys.argv[2])), loader=loader, progress=Silent())
"""


def test_two_processes_killed_while_scoring_and_a_third_end_with_the_bytes_of_one(
    tmp_path: Path, undisturbed: Outcome
) -> None:
    spec, runs = write_tiny(tmp_path / "spec"), tmp_path / "runs"

    def process(fatal_pack: int) -> int:
        arguments = [sys.executable, "-c", SCRIPT, str(spec), str(runs), str(fatal_pack)]
        return subprocess.run(arguments, cwd=TESTS, check=False, timeout=120).returncode

    self_check = 3
    for stored in (1, 2):  # each of the two scores one shard and dies in the next
        assert process(self_check + 1) == -signal.SIGKILL
        assert len(list(runs.rglob("*.jsonl.gz"))) == stored
    assert process(-1) == 0
    (root,) = runs.iterdir()
    assert lasting(root) == lasting(undisturbed.bundle.root)


@pytest.mark.parametrize("threads", ["1", "2"])
def test_threads_and_hash_seed_change_no_byte(tmp_path: Path, undisturbed: Outcome, threads: str) -> None:
    spec = write_tiny(tmp_path / "spec")
    environment = {**os.environ, "PYTHONHASHSEED": threads}
    environment |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), threads)
    arguments = [sys.executable, "-c", SCRIPT, str(spec), str(tmp_path / "runs"), "-1"]
    subprocess.run(arguments, cwd=TESTS, check=True, timeout=120, env=environment)
    (root,) = (tmp_path / "runs").iterdir()
    assert lasting(root) == lasting(undisturbed.bundle.root)


def test_ctrl_c_keeps_the_complete_shards_and_the_same_call_goes_on(
    tmp_path: Path, undisturbed: Outcome
) -> None:
    job = load_job(write_tiny(tmp_path / "spec"), out_dir=tmp_path / "runs")

    def press(name: str) -> None:
        if name == "weak":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(job, FakeLoader(before_load=press))
    stored = sorted((tmp_path / "runs").rglob("*.jsonl.gz"))
    assert [read_rows(path)[0].pass_.split("-")[0] for path in stored] == ["strong", "strong"]
    resumed = run(job)
    assert (resumed.reused_shards, resumed.computed_shards) == (2, 2)
    assert lasting(resumed.bundle.root) == lasting(undisturbed.bundle.root)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 40 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=40k", "tmpfs", str(disk)]
    try:
        done = subprocess.run(mount, check=False, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no mount command here")
    if done.returncode:
        pytest.skip(f"a tmpfs cannot be mounted here: {done.stderr.strip()}")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_loses_nothing_and_the_same_call_goes_on_when_there_is_space(
    small_disk: Path, tmp_path: Path, undisturbed: Outcome
) -> None:
    job = load_job(write_tiny(tmp_path / "spec"), out_dir=small_disk / "runs")
    with pytest.raises(
        StorageError,
        match=r"must be writable; got No space left on device \(free some space and run the same",
    ):
        run(job)
    kept = {path.name: read_rows(path) for path in small_disk.rglob("*.jsonl.gz")}
    assert 1 <= len(kept) < 5
    root = small_disk / "runs" / undisturbed.bundle.root.name
    assert unfinished(root) == []
    with pytest.raises(StorageError, match="No space left on device"):
        run(job)  # still full: still nothing lost
    assert {path.name: read_rows(path) for path in small_disk.rglob("*.jsonl.gz")} == kept
    subprocess.run(["mount", "-o", "remount,size=4m", str(small_disk)], check=True)
    resumed = run(job)
    assert resumed.reused_shards >= len(kept) - 1
    assert lasting(root) == lasting(undisturbed.bundle.root)
