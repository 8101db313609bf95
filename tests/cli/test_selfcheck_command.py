"""`safetyrepro selfcheck`: the table of a model's checks, and an exit code that says whether they held."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from fakes import FakeBackend, FakeLoader, spec_document, write_spec
from numpy.typing import NDArray

from safetyrepro.cli import execute, selfcheck
from safetyrepro.cli.exits import Exit
from safetyrepro.score.packing import Schedule


@pytest.fixture(autouse=True)
def loader(monkeypatch: pytest.MonkeyPatch) -> FakeLoader:
    """The copying machines stand in for real models."""
    fake = FakeLoader()
    monkeypatch.setattr(selfcheck, "LocalLoader", lambda _: fake)
    return fake


def lean(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packed scores that are a little wrong."""
    right = FakeBackend.packed

    def wrong(self: FakeBackend, schedule: Schedule) -> NDArray[np.float64]:
        return np.asarray(right(self, schedule) - 3e-4)

    monkeypatch.setattr(FakeBackend, "packed", wrong)


def test_a_model_file_is_checked_and_its_table_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["selfcheck", "strong.bin"]) == Exit.CLEAN
    printed = capsys.readouterr().out
    assert "strong.bin (CopyingMachine, tolerance 0.0001 nats a token)" in printed
    assert "nats a token" in printed
    assert "sign flips" in printed
    assert "packed = plain" in printed
    assert "a run takes the packed path" in printed


def test_a_path_that_does_not_hold_ends_with_findings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lean(monkeypatch)
    assert execute(["selfcheck", "strong.bin"]) == Exit.FINDINGS
    printed = capsys.readouterr().out
    assert "0.0003" in printed
    assert "a run takes the plain path" in printed
    assert "SR101: largest difference 0.0003 nats a token" in printed


def test_a_spec_is_checked_once_for_every_loading(
    tmp_path: Path, loader: FakeLoader, capsys: pytest.CaptureFixture[str]
) -> None:
    document = spec_document()
    factors = [*document["factors"], {"kind": "dtype", "levels": ["float32", "bfloat16"]}]
    primary = {**document["primary"], "dtype": "float32"}
    spec = write_spec(tmp_path, document={**document, "factors": factors, "primary": primary})
    assert execute(["selfcheck", str(spec), "--json"]) == Exit.CLEAN
    names = list(json.loads(capsys.readouterr().out))
    assert names == [
        f"{name} machine, {dtype}"
        for name in ("Strong", "Middle", "Weak")
        for dtype in ("float32", "bfloat16")
    ]
    assert loader.loads == 6


def test_the_json_has_every_check_with_its_difference(capsys: pytest.CaptureFixture[str]) -> None:
    execute(["selfcheck", "weak.bin", "--json", "--token-budget", "32"])
    check = json.loads(capsys.readouterr().out)["weak.bin"]
    assert check["path"] == "packed"
    assert {one["name"] for one in check["checks"]} >= {
        "packed = plain",
        "right-padded batch = batch of one",
    }
    assert all(one["held"] for one in check["checks"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["not a package:file"], "MODEL: must be PACKAGE:FILE, a folder, a .gguf file or a spec"),
        (
            ["strong.bin", "--dtype", "int4"],
            "--dtype: must be one of float32, bfloat16, float16; got 'int4'",
        ),
        (["unknown.bin"], "unknown: must be fake weights"),
    ],
)
def test_what_cannot_be_checked_is_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["selfcheck", *arguments]) == Exit.REFUSED
    assert message in capsys.readouterr().err
