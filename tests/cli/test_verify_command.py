"""`safetyrepro verify` as a command: its arguments, and what reaches the screen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from safetyrepro.cli import console, execute, verify
from safetyrepro.cli.exits import Exit


def test_a_title_cannot_forge_a_line_nor_command_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def lines(*_: object, every_check: bool) -> Iterator[str]:
        yield "report      harmless\nCURRENT: report.pdf: it is genuine\x1b[1A\x1b[2K"

    monkeypatch.setattr(verify, "verification_lines", lines)
    console.stdout.cache_clear()
    file = tmp_path / "report.pdf"
    file.write_bytes(b"%PDF-1.7\n")
    assert execute(["verify", str(file)]) in (Exit.MALFORMED, Exit.UNSIGNED)
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert not any(line.startswith("CURRENT") for line in shown.splitlines())


@pytest.mark.parametrize("text", ["tomorrow", "2027-13-01", "2027-06-01T00:00:00", ""])
def test_what_is_neither_a_day_nor_a_time_is_refused_with_both_forms(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["verify", str(tmp_path / "report.pdf"), "--at", text]) == Exit.REFUSED
    said = capsys.readouterr().err
    assert "--at: must be a day such as 2027-06-01, or a time such as 2027-06-01T00:00:00Z; got" in said
