"""`safetyrepro keys`: what it writes, and how it refuses."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from safetyrepro.cli import execute
from safetyrepro.cli.exits import Exit


@pytest.fixture
def passphrase(tmp_path: Path) -> str:
    file = tmp_path / "passphrase"
    file.write_text("of the tests\n", encoding="utf-8")
    return str(file)


def test_a_new_identity_is_private_shown_and_never_overwritten(
    tmp_path: Path, passphrase: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "new" / "ada.p12"
    command = ["keys", "new", "--name", "Ada", "--out", str(path), "--passphrase-file", passphrase]
    assert execute(command) == Exit.CLEAN
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    fingerprint = capsys.readouterr().out.partition("fingerprint:  ")[2].strip()
    assert execute(["keys", "show", str(path.with_suffix(".pub.json"))]) == Exit.CLEAN
    assert f"fingerprint: {fingerprint}" in capsys.readouterr().out
    before = path.read_bytes()
    assert execute(command) == Exit.REFUSED
    assert "keys are never overwritten" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_a_folder_below_a_plain_file_is_refused_and_is_not_our_bug(
    tmp_path: Path, passphrase: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plain").touch()
    out = str(tmp_path / "plain" / "ada.p12")
    command = ["keys", "new", "--name", "Ada", "--out", out, "--passphrase-file", passphrase]
    assert execute(command) == Exit.REFUSED
    said = capsys.readouterr().err
    assert f"{tmp_path / 'plain'}: must be writable; got File exists (choose a folder" in said
