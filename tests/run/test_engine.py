"""The loop: same inputs, same bytes; what is stored is not computed again, and never served wrongly."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import re
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from fakes import (
    FakeBackend,
    FakeLoader,
    Finished,
    fake_model,
    load_job,
    spec_document,
    twin_rows,
    write_spec,
)

from safetyrepro.claims.validity import format_time
from safetyrepro.data.bundle import Bundle, read_rows
from safetyrepro.errors import InputError, InputErrors, StorageError
from safetyrepro.run.engine import Job, Outcome, bundle_digest, run_experiment
from safetyrepro.run.progress import Silent
from safetyrepro.run.store import only_run
from safetyrepro.spec.models import ModelSource

SELF_CHECK_PACKS = 3


def run(job: Job, loader: FakeLoader | None = None) -> Outcome:
    return run_experiment(job, loader=loader or FakeLoader(), progress=Silent())


def small(**changes: object) -> dict[str, object]:
    """Two models, two rules, one template: four passes fewer than the standing bundle."""
    return spec_document(
        models=("strong", "weak"), templates=("chat",), rules=("sum", "pmi"), claims=CLAIMS, changes=changes
    )


CLAIMS = [
    {
        "id": "first",
        "statement": "The strong machine ranks above the weak one.",
        "type": "observation",
        "level": "model",
        "assertion": {"kind": "ranks_above", "above": "strong", "below": "weak", "over": "every"},
    }
]


def content(bundle: Bundle) -> dict[str, bytes]:
    """Every file of a bundle that holds no time of day."""
    dated = ("manifest.json", ".lock")
    return {
        path.relative_to(bundle.root).as_posix(): path.read_bytes()
        for path in sorted(bundle.root.rglob("*"))
        if path.is_file()
        and path.name not in dated
        and not (path.parent.name == "rows" and path.suffix == ".json")
    }


def test_two_runs_into_two_folders_give_the_same_bytes(finished: Finished, tmp_path: Path) -> None:
    again = run(load_job(finished.spec, out_dir=tmp_path / "elsewhere"))
    assert again.bundle.root.name == finished.outcome.bundle.root.name
    assert content(again.bundle) == content(finished.outcome.bundle)
    assert again.computed_shards == len(again.manifest.shards) == 6 * 4


def test_the_order_of_the_item_file_changes_nothing(finished: Finished, tmp_path: Path) -> None:
    spec = write_spec(tmp_path / "spec", rows=twin_rows()[::-1])
    other = run(load_job(spec, out_dir=tmp_path / "runs"))
    assert content(other.bundle) == content(finished.outcome.bundle)


def test_a_bundle_is_named_by_spec_items_models_device_and_code(
    finished: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def name(spec: Path, loader: FakeLoader) -> str:
        job = load_job(spec, out_dir=tmp_path / "runs")
        return bundle_digest(job, loader=loader, device=loader.device_class(job.experiment.device))

    rows = [dict(row) for row in twin_rows()]
    rows[0]["prompt"] += " Say."
    other_items = write_spec(tmp_path / "items", rows=rows)
    other_spec = write_spec(tmp_path / "spec", document=spec_document(changes={"seed": 8}))
    found = [
        name(finished.spec, FakeLoader()),
        name(other_items, FakeLoader()),
        name(other_spec, FakeLoader()),
        name(finished.spec, FakeLoader(skills={"strong": 0.8, "middle": 0.4, "weak": 0.0})),
    ]
    monkeypatch.setattr(FakeLoader, "device_class", lambda self, device: "another device")
    found.append(name(finished.spec, FakeLoader()))
    monkeypatch.setattr("safetyrepro.run.engine.code_digest", lambda: "sha256:" + "0" * 64)
    found.append(name(finished.spec, FakeLoader()))
    assert found[0] == finished.outcome.manifest.bundle_digest
    assert len(set(found)) == len(found)


def test_weights_that_several_models_share_are_digested_once(tmp_path: Path) -> None:
    asked: list[str] = []

    class Counting(FakeLoader):
        def weights_digest(self, source: ModelSource, *, base_dir: Path) -> str:
            asked.append(source.kind)
            return FakeLoader.weights_digest(self, source, base_dir=base_dir)

    strong = fake_model("strong")
    models = (strong, {**strong, "id": "weak", "weights": {"bits": 4, "group": 64}})
    job = load_job(write_spec(tmp_path / "spec", document=small(models=models)), out_dir=tmp_path)
    bundle_digest(job, loader=Counting(), device="fake")
    assert asked == ["path"]


class Recorder:
    """Keeps what a run tells."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def start(self, *, shards: int, done: int) -> None:
        self.told.append(f"start {shards} {done}")

    def note(self, text: str) -> None:
        self.told.append(text)

    def shard(self, *, pass_id: str, items: int, tokens: int, seconds: float, reused: bool) -> None:
        assert tokens > 0
        assert seconds >= 0
        self.told.append(f"{pass_id.partition('-')[0]} {items} {'reused' if reused else 'computed'}")

    def finish(self) -> None:
        self.told.append("finish")


def test_a_run_tells_its_caller_what_happens_in_order(tmp_path: Path) -> None:
    job = load_job(write_spec(tmp_path / "spec", document=small()), out_dir=tmp_path / "runs")
    first, second, third = Recorder(), Recorder(), Recorder()
    outcome = run_experiment(job, loader=FakeLoader(), progress=first)
    sizes = (7, 7, 7, 3)
    assert first.told == [
        "start 8 0",
        "loading Strong machine",
        *(f"strong {size} computed" for size in sizes),
        "loading Weak machine",
        *(f"weak {size} computed" for size in sizes),
        "analysing",
        "finish",
    ]
    run_experiment(job, loader=FakeLoader(), progress=second)
    assert second.told == [f"{outcome.bundle.root} is complete; nothing to compute"]
    outcome.bundle.manifest.unlink()
    run_experiment(job, loader=FakeLoader(), progress=third)
    assert third.told == [told.replace("computed", "reused") for told in first.told]


def test_a_finished_bundle_is_not_computed_again(tmp_path: Path) -> None:
    job = load_job(write_spec(tmp_path / "spec", document=small()), out_dir=tmp_path / "runs")
    first, loader = run(job), FakeLoader()
    again = run(job, loader)
    assert (loader.loads, loader.packs) == (0, 0)
    assert (again.computed_shards, again.reused_shards) == (0, len(first.manifest.shards))
    assert again.manifest == first.manifest
    assert again.results == first.results


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(bytes(data))


def edit(path: Path) -> None:
    """Another number in a whole, well-formed file."""
    lines = gzip.decompress(path.read_bytes())
    edited = re.sub(rb'"sum_nats":-(\d)', rb'"sum_nats":-1\1', lines, count=1)
    assert edited != lines
    path.write_bytes(gzip.compress(edited))


def other_key(path: Path) -> None:
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, "key": "sha256:" + "0" * 64}))


DAMAGES: Mapping[str, tuple[str, Callable[[Path], None]]] = {
    "rows cut short": ("jsonl.gz", truncate),
    "a flipped byte in the rows": ("jsonl.gz", flip),
    "an edited number": ("jsonl.gz", edit),
    "no rows": ("jsonl.gz", Path.unlink),
    "no record": ("json", Path.unlink),
    "a record cut short": ("json", truncate),
    "a record of another key": ("json", other_key),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("finished_before", [True, False])
def test_a_damaged_shard_is_computed_again_and_never_served(
    tmp_path: Path, damage: str, finished_before: bool
) -> None:
    job = load_job(write_spec(tmp_path / "spec", document=small()), out_dir=tmp_path / "runs")
    first = run(job)
    before = content(first.bundle)
    suffix, harm = DAMAGES[damage]
    harm(first.bundle.root / "rows" / f"{first.manifest.shards[2].pass_}-00002.{suffix}")
    if not finished_before:
        first.bundle.manifest.unlink()
    again = run(job)
    assert (again.computed_shards, again.reused_shards) == (1, len(first.manifest.shards) - 1)
    assert content(again.bundle) == before


@pytest.mark.parametrize("name", ["items.json", "results.json", "spec.yaml", "manifest.json"])
@pytest.mark.parametrize("harm", [truncate, Path.unlink])
def test_a_damaged_document_of_a_finished_bundle_is_made_again(
    tmp_path: Path, name: str, harm: Callable[[Path], None]
) -> None:
    job = load_job(write_spec(tmp_path / "spec", document=small()), out_dir=tmp_path / "runs")
    first = run(job)
    before = content(first.bundle)
    harm(first.bundle.root / name)
    again = run(job)
    assert again.computed_shards == 0
    assert content(again.bundle) == before
    assert again.manifest.collected_at == first.manifest.collected_at


def test_another_bundle_takes_its_shards_from_the_cache_and_renews_nothing(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    old = write_spec(tmp_path / "old", document=small())
    new = write_spec(
        tmp_path / "new", document=spec_document(
            models=("strong", "weak"), templates=("chat",), rules=("sum", "pmi"),
            claims=[{**CLAIMS[0], "statement": "Another statement."}],
        )
    )  # fmt: skip
    first = run(load_job(old, out_dir=tmp_path / "runs", cache_dir=cache))
    for record in cache.rglob("*.json"):  # as if it had been scored long ago
        known = json.loads(record.read_text())
        record.write_text(json.dumps({**known, "scored_at": "2026-01-02T03:04:05Z"}))
    loader = FakeLoader()
    second = run(load_job(new, out_dir=tmp_path / "runs", cache_dir=cache), loader)
    assert second.bundle.root != first.bundle.root
    assert (second.computed_shards, second.reused_shards) == (0, len(first.manifest.shards))
    assert loader.packs == SELF_CHECK_PACKS * loader.loads
    assert {shard.scored_at for shard in second.manifest.shards} == {"2026-01-02T03:04:05Z"}
    assert second.manifest.collected_at == "2026-01-02T03:04:05Z"
    assert [shard.key for shard in second.manifest.shards] == [shard.key for shard in first.manifest.shards]
    assert second.results.cells == first.results.cells


def padded_rows() -> list[dict[str, str]]:
    """Answers with spaces around them, which the fake template takes away: finding SR106."""
    return [
        {**row, "chosen": f" {row['chosen']} ", "rejected": f" {row['rejected']} "} for row in twin_rows()
    ]


def test_a_cached_shard_is_served_under_the_pass_that_asks_for_it(tmp_path: Path) -> None:
    cache, rows = tmp_path / "cache", padded_rows()
    first = write_spec(tmp_path / "a", document=small(), rows=rows)
    run(load_job(first, out_dir=tmp_path / "r", cache_dir=cache))
    claims = json.loads(json.dumps(CLAIMS).replace('"strong"', '"renamed"'))
    document = spec_document(
        models=({**fake_model("strong"), "id": "renamed"}, "weak"),
        templates=("chat",),
        rules=("sum", "pmi"),
        claims=claims,
    )
    second = write_spec(tmp_path / "b", document=document, rows=rows)
    other = run(load_job(second, out_dir=tmp_path / "r", cache_dir=cache))
    assert other.computed_shards == 0
    for shard in other.manifest.shards:
        assert {row.pass_ for row in read_rows(other.bundle.root / shard.file)} == {shard.pass_}
    found = {one.where for one in other.manifest.findings if one.code == "SR106"}
    assert found == {f"pass {one.id}" for one in other.manifest.passes}


@pytest.mark.parametrize(
    "damage",
    ["rows cut short", "a flipped byte in the rows", "an edited number", "a record of another key"],
)
def test_a_damaged_shard_in_the_cache_is_not_served(tmp_path: Path, damage: str) -> None:
    cache, spec = tmp_path / "cache", write_spec(tmp_path / "spec", document=small())
    first = run(load_job(spec, out_dir=tmp_path / "first", cache_dir=cache))
    suffix, harm = DAMAGES[damage]
    harm(sorted(cache.rglob(f"*.{suffix}"))[0])
    again = run(load_job(spec, out_dir=tmp_path / "second", cache_dir=cache))
    assert again.computed_shards == 1
    assert content(again.bundle) == content(first.bundle)


def test_without_a_cache_everything_is_computed_and_nothing_is_left_elsewhere(tmp_path: Path) -> None:
    spec = write_spec(tmp_path / "spec", document=small())
    for folder in ("first", "second"):
        outcome = run(load_job(spec, out_dir=tmp_path / folder))
        assert outcome.reused_shards == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first", "second", "spec"]


OTHER_KEYS: Mapping[str, dict[str, object]] = {
    "token budget": {"device": {"name": "cpu", "shard_items": 7, "token_budget": 64}},
    "shard size": {"device": {"name": "cpu", "shard_items": 12, "token_budget": 128}},
    "boundary": {"scorer": {"kind": "loglik", "boundary": "refuse"}},
    "truncation": {"scorer": {"kind": "loglik", "truncation": "per_answer"}},
    "context": {"scorer": {"kind": "loglik", "context": {"kind": "text", "text": "Answer:"}}},
    "compilation": {"device": {"name": "cpu", "shard_items": 7, "token_budget": 128, "compile": True}},
    "frame": {
        "factors": [
            {"kind": "template", "levels": [{"kind": "chat", "id": "chat", "end_of_turn": False}]},
            {"kind": "rule", "levels": ["sum", "pmi"]},
        ]
    },
    "dtype": {
        "models": [
            {**fake_model("strong"), "dtype": "bfloat16"},
            {**fake_model("weak"), "dtype": "bfloat16"},
        ]
    },
    "rounding": {
        "models": [
            {**fake_model("strong"), "weights": {"bits": 4, "group": 64}},
            {**fake_model("weak"), "weights": {"bits": 4, "group": 64}},
        ]
    },
}


@pytest.mark.parametrize("change", OTHER_KEYS)
def test_a_shard_is_not_served_where_something_that_its_scores_depend_on_changed(
    tmp_path: Path, change: str
) -> None:
    cache = tmp_path / "cache"
    run(load_job(write_spec(tmp_path / "a", document=small()), out_dir=tmp_path / "r", cache_dir=cache))
    spec = write_spec(tmp_path / "b", document=small(**OTHER_KEYS[change]))
    assert run(load_job(spec, out_dir=tmp_path / "r", cache_dir=cache)).reused_shards == 0


def test_other_weights_are_not_served_and_of_other_items_only_those(tmp_path: Path) -> None:
    cache, spec = tmp_path / "cache", write_spec(tmp_path / "a", document=small())
    run(load_job(spec, out_dir=tmp_path / "r", cache_dir=cache))
    stronger = FakeLoader(skills={"strong": 0.95, "weak": 0.0})
    assert run(load_job(spec, out_dir=tmp_path / "r", cache_dir=cache), stronger).reused_shards == 4
    rows = [dict(row) for row in twin_rows()]
    rows[10]["prompt"] += " Say."  # in the second of four shards
    changed = write_spec(tmp_path / "b", document=small(), rows=rows)
    other = run(load_job(changed, out_dir=tmp_path / "r", cache_dir=cache))
    assert (other.computed_shards, other.reused_shards) == (2, 6)


def test_memory_that_runs_out_is_recorded_and_what_it_left_is_not_shared(tmp_path: Path) -> None:
    cache, spec = tmp_path / "cache", write_spec(tmp_path / "spec", document=small())
    plenty = run(load_job(spec, out_dir=tmp_path / "first"))
    short = run(load_job(spec, out_dir=tmp_path / "second", cache_dir=cache), FakeLoader(memory_tokens=75))
    found = {one.where: one.detail for one in short.manifest.findings if one.code == "SR102"}
    assert set(found) == {f"pass {one.id}" for one in short.manifest.passes}
    assert all("128 tokens did not fit; computed again with 64" in detail for detail in found.values())
    assert short.results == plenty.results  # the fake's scores do not depend on the pack; a real model's do
    again = run(load_job(spec, out_dir=tmp_path / "third", cache_dir=cache))
    assert again.computed_shards >= 1
    assert not [one for one in again.manifest.findings if one.code == "SR102"]


def test_findings_of_one_kind_and_place_are_one_finding(tmp_path: Path) -> None:
    rows = padded_rows()
    spec = write_spec(tmp_path / "spec", document=small(), rows=rows)
    found = run(load_job(spec, out_dir=tmp_path / "runs")).manifest.findings
    assert len({(one.code, one.where) for one in found}) == len(found)
    assert any("; and 3 more like it" in one.detail for one in found)


def test_a_run_that_another_run_holds_is_refused(tmp_path: Path) -> None:
    job = load_job(write_spec(tmp_path / "spec", document=small()), out_dir=tmp_path / "runs")
    bundle = run(job).bundle
    bundle.manifest.unlink()
    with (
        only_run(bundle),
        pytest.raises(InputError, match="must not be written by two runs; another run holds it"),
    ):
        run(job)
    assert run(job).computed_shards == 0


def test_an_unwritable_folder_is_refused_before_anything_is_scored(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("a file")
    spec, loader = write_spec(tmp_path / "spec", document=small()), FakeLoader()
    with pytest.raises(
        StorageError, match=r"plain/runs/tiny-.*must be writable; got .*choose a folder; a part"
    ):
        run(load_job(spec, out_dir=tmp_path / "plain" / "runs"), loader)
    assert loader.loads == 0


def test_an_unwritable_cache_is_refused_with_what_to_do_and_the_shard_is_kept(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("a file")
    spec = write_spec(tmp_path / "spec", document=small())
    with pytest.raises(StorageError, match="the cache can be left out with --no-cache"):
        run(load_job(spec, out_dir=tmp_path / "runs", cache_dir=tmp_path / "plain"))
    assert run(load_job(spec, out_dir=tmp_path / "runs")).reused_shards == 1


def test_a_model_is_let_go_of_before_the_next_is_loaded(tmp_path: Path) -> None:
    held: list[weakref.ref[FakeBackend]] = []

    class Watching(FakeLoader):
        def load(self, *arguments: object, **named: object) -> FakeBackend:  # type: ignore[override]
            assert [one() for one in held] == [None] * len(held)
            backend = super().load(*arguments, **named)  # type: ignore[arg-type]
            held.append(weakref.ref(backend))
            return backend

    run(load_job(write_spec(tmp_path / "spec", document=small()), out_dir=tmp_path / "runs"), Watching())
    assert len(held) == 2


def test_the_manifest_says_what_ran(finished: Finished) -> None:
    manifest, job = finished.outcome.manifest, finished.job
    assert manifest.spec == "tiny"
    assert [one.model for one in manifest.models] == ["strong", "middle", "weak"]
    assert len({one.weights for one in manifest.models}) == 3
    assert [one.template for one in manifest.passes] == ["plain", "chat"] * 3
    assert {one.end_of_turn for one in manifest.passes} == {None, "<|end|>"}
    assert all(one.fast_path for one in manifest.passes)
    assert manifest.token_budget == 128
    assert manifest.items_digest == job.items.digest
    assert manifest.items_file_digest == job.items.source_digest
    assert manifest.collected_at == min(shard.scored_at for shard in manifest.shards)
    assert manifest.finished_at == max(shard.scored_at for shard in manifest.shards)
    assert sum(shard.rows for shard in manifest.shards) == 6 * 24 * 2


def test_evidence_is_dated_by_the_clock_when_it_was_scored(tmp_path: Path) -> None:
    job = load_job(write_spec(tmp_path / "spec", document=small()), out_dir=tmp_path / "runs")
    before = format_time(dt.datetime.now(dt.UTC))
    manifest = run(job).manifest
    after = format_time(dt.datetime.now(dt.UTC))
    assert before <= manifest.collected_at <= manifest.finished_at <= after


def test_parts_that_do_not_fit_are_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    job = load_job(write_spec(tmp_path / "spec", document=small()), out_dir=tmp_path / "runs")
    wrong = Job(
        experiment=job.experiment.model_copy(update={"primary": {"template": "chat", "rule": "mean"}}),
        spec_bytes=job.spec_bytes,
        base_dir=job.base_dir,
        items=job.items,
        out_dir=job.out_dir,
        cache_dir=None,
    )
    with pytest.raises(InputErrors, match=r"primary\.rule: must be one of sum, pmi; got 'mean'"):
        run(wrong)
    assert not (tmp_path / "runs").exists()


def test_a_template_that_refuses_an_item_stops_the_run_with_its_place_and_keeps_the_rest(
    tmp_path: Path,
) -> None:
    rows = [dict(row) for row in twin_rows()]
    rows[-1]["prompt"] = "REFUSE this"
    spec = write_spec(tmp_path / "spec", document=small(), rows=rows)
    with pytest.raises(InputError, match="the chat template refuses"):
        run(load_job(spec, out_dir=tmp_path / "runs"))
    assert len(list((tmp_path / "runs").rglob("*.jsonl.gz"))) == 3
