"""`safetyrepro report`: signed with a key, or openly unsigned; refusals say what to do."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from report_examples import example, write_bundle

from safetyrepro.attest.keys import new_identity, write_identity
from safetyrepro.attest.pdf_signature import verify_pdf
from safetyrepro.cli import execute
from safetyrepro.cli.exits import Exit
from safetyrepro.data.bundle import Bundle

PASSPHRASE = b"correct horse"
ISSUED = "2026-12-01T08:30:00Z"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    small = example(models=2, templates=("plain",), twins=20)
    return write_bundle(small, tmp_path_factory.mktemp("bundle"))


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    identity = new_identity("Ada Example", created_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    write_identity(identity, folder / "identity.p12", passphrase=PASSPHRASE)
    (folder / "passphrase").write_bytes(PASSPHRASE + b"\n")
    return folder / "identity.p12"


@pytest.fixture(autouse=True)
def no_identity_of_mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAFETYREPRO_CONFIG", str(tmp_path / "config"))


def test_a_bundle_becomes_a_signed_report_and_the_last_line_is_its_path(
    bundle: Bundle, key: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["report", str(bundle.root), "--key", str(key), "--issued-at", ISSUED]
    assert execute([*command, "--passphrase-file", str(key.parent / "passphrase")]) == Exit.CLEAN
    said = capsys.readouterr()
    path = Path(said.out.splitlines()[-1])
    assert path == bundle.report / "report.pdf"
    assert verify_pdf(path.read_bytes()).state == "genuine"
    assert "signed by Ada Example as author" in said.err
    assert f"in force from {ISSUED} to 2027-05-30T21:04:12Z" in said.err


def test_an_unsigned_report_is_said_to_be_unsigned(
    bundle: Bundle, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["report", str(bundle.root), "--unsigned", "--issued-at", ISSUED]) == Exit.CLEAN
    assert "UNSIGNED: nobody vouches for this report" in capsys.readouterr().err
    assert not (bundle.report / "envelope.dsse.json").exists()


def refusal(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert execute(["report", *arguments]) == Exit.REFUSED
    return capsys.readouterr().err


def test_without_an_identity_it_says_how_to_make_one(
    bundle: Bundle, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refusal([str(bundle.root)], capsys)
    assert "identity.p12: must be a signing identity; there is none" in said
    assert "safetyrepro keys new" in said
    assert "--unsigned" in said


def test_a_key_beside_unsigned_is_refused(
    bundle: Bundle, key: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refusal([str(bundle.root), "--unsigned", "--key", str(key)], capsys)
    assert "--unsigned must stand alone" in said


def test_an_unknown_role_is_refused_with_a_hint(
    bundle: Bundle, key: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refusal([str(bundle.root), "--key", str(key), "--role", "autor"], capsys)
    assert "--role: must be one of author, second_coder, reviewer (did you mean 'author'?)" in said


def test_a_wrong_passphrase_is_refused(
    bundle: Bundle, key: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "wrong").write_bytes(b"another horse")
    said = refusal(
        [str(bundle.root), "--key", str(key), "--passphrase-file", str(tmp_path / "wrong")], capsys
    )
    assert "the passphrase must open the key file" in said


def test_another_spelling_of_the_time_is_refused(
    bundle: Bundle, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refusal([str(bundle.root), "--unsigned", "--issued-at", "yesterday"], capsys)
    assert "--issued-at: must be a time such as 2026-08-31T12:00:00Z; got 'yesterday'" in said


def test_a_folder_that_is_no_finished_bundle_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "half").mkdir()
    said = refusal([str(tmp_path / "half"), "--unsigned"], capsys)
    assert "must be a finished bundle; spec.yaml is missing" in said
