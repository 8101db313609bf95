"""From a finished bundle to the report record: dated by the oldest evidence, tied to every byte."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes import Finished

from safetyrepro.canonical import digest_file
from safetyrepro.data.bundle import Bundle
from safetyrepro.errors import InputError, IntegrityError
from safetyrepro.report.assemble import assemble

ISSUED = dt.datetime(2040, 1, 1, tzinfo=dt.UTC)


@pytest.fixture
def bundle(finished: Finished, tmp_path: Path) -> Bundle:
    """A copy that a test may harm."""
    root = tmp_path / "bundle"
    shutil.copytree(finished.outcome.bundle.root, root)
    return Bundle(root)


def rewrite(path: Path, change: Callable[[dict[str, object]], dict[str, object]]) -> None:
    path.write_text(json.dumps(change(json.loads(path.read_text()))))


def test_a_report_is_tied_to_every_file_of_its_bundle(finished: Finished) -> None:
    root, manifest = finished.outcome.bundle.root, finished.outcome.manifest
    materials = assemble(finished.outcome.bundle, issued_at=ISSUED).report.materials
    assert materials.spec == digest_file(root / "spec.yaml")
    assert materials.results == digest_file(root / "results.json")
    assert materials.manifest == digest_file(root / "manifest.json")
    assert materials.items == digest_file(root / "items.json")
    assert materials.rows == {shard.file: digest_file(root / shard.file) for shard in manifest.shards}


def test_a_report_says_what_was_assessed_and_carries_every_finding(finished: Finished) -> None:
    assembled = assemble(finished.outcome.bundle, issued_at=ISSUED)
    report, manifest = assembled.report, finished.outcome.manifest
    assert report.id == f"tiny-v1-{manifest.bundle_digest.removeprefix('sha256:')[:12]}"
    assert finished.outcome.bundle.root.name == f"tiny-{report.id.rpartition('-')[2]}"
    assert (report.level, report.level_ran, report.tier) == ("model", "model", "F1")
    assert [one.claim for one in report.claims] == [one.id for one in assembled.experiment.evidence.claims]
    codes = [one.code for one in report.findings]
    assert codes[:3] == ["SR203", "SR201", "SR301"]
    assert len(codes) == 2 + len(assembled.results.findings) + len(manifest.findings)


def test_issuing_again_renews_nothing(bundle: Bundle) -> None:
    rewrite(bundle.manifest, lambda old: {**old, "collected_at": "2026-08-31T12:00:00Z"})
    windows = [
        assemble(bundle, issued_at=dt.datetime(2026 + years, 9, 1, tzinfo=dt.UTC)).report.window
        for years in (0, 5)
    ]
    assert {window.expires_at for window in windows} == {"2027-02-28T12:00:00Z"}
    assert [window.issued_at for window in windows] == ["2026-09-01T00:00:00Z", "2031-09-01T00:00:00Z"]


def test_a_report_is_not_issued_before_its_evidence(bundle: Bundle) -> None:
    rewrite(bundle.manifest, lambda old: {**old, "collected_at": "2039-12-31T12:00:00Z"})
    with pytest.raises(
        InputError, match=r"issued after its evidence was collected \(2039-12-31T12:00:00Z\)"
    ):
        assemble(bundle, issued_at=dt.datetime(2039, 12, 31, 11, 59, 59, tzinfo=dt.UTC))
    assert assemble(bundle, issued_at=ISSUED).report.window.collected_at == "2039-12-31T12:00:00Z"


def harm_spec(bundle: Bundle) -> None:
    bundle.spec.write_text(bundle.spec.read_text() + "# a remark\n")


def harm_results(bundle: Bundle) -> None:
    rewrite(bundle.results, lambda old: {**old, "seed": 8})


def harm_items(bundle: Bundle) -> None:
    bundle.items.write_text(bundle.items.read_text().replace('"digest":"sha256:', '"digest":"sha256:0', 1))


def other_results(bundle: Bundle) -> None:
    rewrite(bundle.manifest, lambda old: {**old, "spec_digest": "sha256:" + "0" * 64})


def harm_rows(bundle: Bundle) -> None:
    rows = sorted((bundle.root / "rows").glob("*.jsonl.gz"))
    shutil.copy(rows[1], rows[0])


def lose_rows(bundle: Bundle) -> None:
    sorted((bundle.root / "rows").glob("*.jsonl.gz"))[0].unlink()


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (harm_spec, r"spec\.yaml must have digest sha256:"),
        (harm_results, r"results\.json must have digest sha256:"),
        (harm_items, r"items\.json must have digest sha256:"),
        (other_results, r"results\.json: spec must have digest sha256:0"),
        (harm_rows, r"jsonl\.gz: rows must have digest sha256:"),
        (lose_rows, r"jsonl\.gz: must be a complete gzip file; got .*No such file"),
    ],
)
def test_parts_that_do_not_belong_together_are_not_reported(
    bundle: Bundle, harm: Callable[[Bundle], None], message: str
) -> None:
    harm(bundle)
    with pytest.raises(IntegrityError, match=message):
        assemble(bundle, issued_at=ISSUED)


def test_a_manifest_does_not_lead_out_of_its_bundle(bundle: Bundle) -> None:
    def lead_away(old: dict[str, object]) -> dict[str, object]:
        shards = old["shards"]
        assert isinstance(shards, list)
        return {**old, "shards": [{**shards[0], "file": "rows/../../secret.jsonl.gz"}, *shards[1:]]}

    rewrite(bundle.manifest, lead_away)
    with pytest.raises(InputError, match=r"manifest\.json: shards\.0\.file must be as the schema says"):
        assemble(bundle, issued_at=ISSUED)
