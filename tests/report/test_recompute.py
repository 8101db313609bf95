"""Numbers follow from rows: every edit of a document or a row is found, and the runner is not needed."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes import Finished

from safetyrepro.canonical import canonical_bytes
from safetyrepro.cli import execute
from safetyrepro.cli.exits import Exit
from safetyrepro.data.bundle import Bundle, open_bundle, parse_rows
from safetyrepro.errors import InputError, IntegrityError
from safetyrepro.report import recompute as recompute_module
from safetyrepro.report.documents import read_files
from safetyrepro.report.publish import publish
from safetyrepro.report.recompute import find_differences, recompute_bundle, recompute_files

ISSUED = dt.datetime(2090, 1, 1, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def published(finished: Finished, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """A copy of the finished bundle with an unsigned report. Read it, never write into it."""
    root = tmp_path_factory.mktemp("recompute") / "bundle"
    shutil.copytree(finished.outcome.bundle.root, root)
    bundle = open_bundle(root)
    publish(bundle, issued_at=ISSUED, signing=None)
    return bundle


@pytest.fixture
def copy(published: Bundle, tmp_path: Path) -> Bundle:
    shutil.copytree(published.root, tmp_path / "copy")
    return Bundle(tmp_path / "copy")


def edit(path: Path, change: Callable[[dict[str, object]], None]) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    path.write_bytes(canonical_bytes(document))


def test_the_numbers_and_verdicts_of_a_bundle_follow_from_its_rows(published: Bundle) -> None:
    found = recompute_bundle(published)
    assert found.differences == ()
    assert found.numbers > 500
    assert found.rows == sum(
        len(parse_rows(path.read_bytes(), where=path.name))
        for path in (published.root / "rows").glob("*.jsonl.gz")
    )
    assert found.claims == len(json.loads((published.report / "report.json").read_bytes())["claims"])


def test_a_pdf_holds_all_that_is_needed(published: Bundle) -> None:
    path = published.report / "report.pdf"
    assert recompute_files(read_files(path), bundle=None, where="report.pdf").differences == ()


def test_a_page_has_no_rows_and_says_what_is_needed(published: Bundle) -> None:
    files = read_files(published.report / "report.html")
    with pytest.raises(InputError, match=r"must hold the rows.*add --bundle FOLDER"):
        recompute_files(files, bundle=None, where="report.html")
    assert recompute_files(files, bundle=published.root, where="report.html").differences == ()


def test_an_edited_number_is_the_first_difference_with_its_path(copy: Bundle) -> None:
    def change(document: dict[str, object]) -> None:
        document["cells"][3]["half"]["value"] = 0.123  # type: ignore[index]

    edit(copy.results, change)
    first = recompute_bundle(copy).differences[0]
    assert first.path == "results.json: cells.3.half.value"
    assert first.stored == 0.123
    assert isinstance(first.recomputed, float)


def test_the_last_digit_of_a_number_is_not_forgiven(copy: Bundle) -> None:
    def change(document: dict[str, object]) -> None:
        half = document["cells"][0]["margin"]  # type: ignore[index]
        half["value"] = half["value"] * (1 + 2**-52)

    edit(copy.results, change)
    assert recompute_bundle(copy).differences[0].path == "results.json: cells.0.margin.value"


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("claims.0.verdict", lambda d: d["claims"][0].update(verdict="REFUSED")),
        ("claims.0.sentences.1", lambda d: d["claims"][0]["sentences"].__setitem__(1, "All is well.")),
        ("claims.length", lambda d: d["claims"].pop()),
        ("answer", lambda d: d.update(answer="A is safe.")),
        ("window.expires_at", lambda d: d["window"].update(expires_at="2099-01-01T00:00:00Z")),
        ("tier", lambda d: d.update(tier="F3")),
        ("level", lambda d: d.update(level="deployment")),
        ("findings.length", lambda d: d.update(findings=[])),
        ("materials.items", lambda d: d["materials"].update(items="sha256:" + "0" * 64)),
    ],
)
def test_an_edited_statement_of_the_report_is_found(
    copy: Bundle, path: str, change: Callable[[dict[str, object]], None]
) -> None:
    edit(copy.report / "report.json", change)
    assert f"report.json: {path}" in [one.path for one in recompute_bundle(copy).differences]


def test_an_edited_row_is_refused_because_the_manifest_names_its_digest(copy: Bundle) -> None:
    path = next((copy.root / "rows").glob("*.jsonl.gz"))
    lines = gzip.decompress(path.read_bytes()).replace(b'"tokens":', b'"tokens":1', 1)
    path.write_bytes(gzip.compress(lines))
    with pytest.raises(IntegrityError, match="rows must have digest"):
        recompute_bundle(copy)


def test_rows_from_another_place_than_the_folder_of_rows_are_not_read(copy: Bundle) -> None:
    edit(copy.manifest, lambda d: d["shards"][0].update(file="rows/../../secret.jsonl.gz"))  # type: ignore[index]
    with pytest.raises(InputError, match=r"shards\.0\.file must be as the schema says"):
        recompute_bundle(copy)


def test_rows_that_inflate_without_end_are_refused(copy: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recompute_module, "MOST_SHARD_BYTES", 1 << 16)
    for path in (copy.root / "rows").glob("*.jsonl.gz"):
        path.write_bytes(gzip.compress(b"\n" * (1 << 20)))
    with pytest.raises(IntegrityError, match="must inflate to at most 65536 bytes"):
        recompute_bundle(copy)


def test_a_document_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match=r"must have spec\.yaml; it is not there"):
        recompute_files({}, bundle=None, where="x.pdf")


@pytest.mark.parametrize(
    ("stored", "recomputed", "paths"),
    [
        ({"a": 1}, {"a": 1.0}, []),
        ({"a": 1}, {"a": True}, ["d: a"]),
        ({"a": None}, {}, ["d: a"]),
        ({}, {"a": 2}, ["d: a"]),
        ([1, [2, 3]], [1, [2, 4]], ["d: 1.1"]),
        ([1], [1, 2], ["d: length"]),
        ({"a": [1]}, {"a": {"0": 1}}, ["d: a"]),
        ("x", "x", []),
    ],
)
def test_every_difference_has_its_path(stored: object, recomputed: object, paths: list[str]) -> None:
    found = find_differences(stored, recomputed, path="d")  # type: ignore[arg-type]
    assert [one.path for one in found] == paths


def test_the_command_says_that_all_follows_and_needs_neither_runner_nor_scorer(published: Bundle) -> None:
    code = (
        "import sys\n"
        "from safetyrepro.cli import execute\n"
        f"code = execute(['recompute', {str(published.report / 'report.pdf')!r}])\n"
        "unwanted = ('safetyrepro.run', 'safetyrepro.score', 'torch')\n"
        "bad = [name for name in sys.modules if name.startswith(unwanted)]\n"
        "print('IMPORTED', bad)\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "follow from 288 stored rows, to the last digit" in done.stdout.replace("\n", " ")
    assert "IMPORTED []" in done.stdout


def test_the_command_ends_with_findings_and_names_the_first_difference(
    copy: Bundle, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(copy.report / "report.json", lambda d: d.update(answer="A is safe."))
    assert execute(["recompute", str(copy.root)]) == Exit.FINDINGS
    assert "report.json: answer is stored as 'A is safe.'; the rows give" in capsys.readouterr().out
    assert execute(["recompute", str(copy.root), "--json"]) == Exit.FINDINGS
    listed = json.loads(capsys.readouterr().out)["differences"]
    assert listed[0]["path"] == "report.json: answer"


def test_a_file_that_is_no_report_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.txt").write_text("hello")
    assert execute(["recompute", str(tmp_path / "x.txt")]) == Exit.REFUSED
    assert "must be a report as PDF or HTML" in capsys.readouterr().err
