from __future__ import annotations

import errno
import gzip
import os
from pathlib import Path

import pytest

from safetyrepro.data.bundle import (
    Bundle,
    encode_rows,
    open_bundle,
    parse_document,
    parse_items,
    parse_rows,
    read_items,
    read_manifest,
    read_rows,
    remove_unfinished,
    storage_error,
    write_atomically,
    write_document,
    write_items,
    write_rows,
)
from safetyrepro.data.records import ItemRecord, Outcome, Row
from safetyrepro.data.results import FindingRecord
from safetyrepro.errors import InputError, IntegrityError, StorageError


def row(item: str, *, sum_nats: float | None = -1.5, outcome: Outcome = Outcome.SCORED) -> Row:
    return Row(
        pass_="m-0",
        item=item,
        item_digest="sha256:" + "0" * 64,
        answer="chosen",
        outcome=outcome,
        sum_nats=sum_nats,
        unconditional_nats=None,
        tokens=3,
        bytes_=9,
    )


ROWS = (row("a"), row("b", sum_nats=-0.1), row("c", sum_nats=None, outcome=Outcome.LIMIT))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_written_whole_and_nothing_stays_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file"
    write_atomically(path, b"first")
    write_atomically(path, b"second")
    assert path.read_bytes() == b"second"
    assert names(path.parent) == ["file"]
    assert path.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_is_broken_off_leaves_the_old_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def fail(_: int) -> None:
        raise error

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StorageError if isinstance(error, OSError) else KeyboardInterrupt):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_the_bytes_are_on_the_disk_before_they_have_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    fsync, replace = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda descriptor: (order.append("fsync"), fsync(descriptor))[1])
    monkeypatch.setattr(Path, "replace", lambda old, new: (order.append("rename"), replace(old, new))[1])
    write_atomically(tmp_path / "file", b"data")
    assert order == ["fsync", "rename"]


def test_a_path_below_a_plain_file_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("a file")
    with pytest.raises(StorageError, match=r"below/file: must be writable; got .*\(choose a folder; a"):
        write_atomically(tmp_path / "plain" / "below" / "file", b"data")


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "free some space and run the same command again; what is complete is kept"),
        (errno.EDQUOT, "free some of your quota"),
        (errno.EACCES, "choose a folder you may write to"),
        (errno.EROFS, "not read-only"),
        (errno.EIO, "check the path"),
    ],
)
def test_a_refused_write_says_what_to_do(number: int, advice: str) -> None:
    error = storage_error(Path("runs/x"), OSError(number, os.strerror(number)))
    assert str(error).startswith(f"runs/x: must be writable; got {os.strerror(number)} (")
    assert advice in str(error)


def test_what_a_killed_run_was_writing_is_taken_away_and_nothing_else(tmp_path: Path) -> None:
    bundle = Bundle(tmp_path)
    write_rows(bundle.shard("m-0-00000"), ROWS)
    for path in (tmp_path / ".results.json.k3.unfinished", tmp_path / "rows" / ".m.json.x.unfinished"):
        path.write_bytes(b"half")
    (tmp_path / ".lock").touch()
    remove_unfinished(bundle)
    assert names(tmp_path) == [".lock", "rows"]
    assert names(tmp_path / "rows") == ["m-0-00000.jsonl.gz"]


def test_rows_are_read_as_they_were_written_and_the_same_rows_give_the_same_file(tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl.gz", tmp_path / "second.jsonl.gz"
    digest = write_rows(first, ROWS)
    assert write_rows(second, ROWS) == digest
    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes()[4:8] == bytes(4)  # no time in the file's header
    assert read_rows(first, sha256=digest) == ROWS


def test_a_stored_row_has_canonical_keys_and_no_text() -> None:
    (line,) = encode_rows((row("a"),)).splitlines()
    assert line == (
        b'{"answer":"chosen","bytes":9,"dropped_tokens":0,"item":"a","item_digest":"sha256:'
        + b"0" * 64
        + b'","outcome":"scored","pass":"m-0","spans_join":false,"sum_nats":-1.5,"tokens":3,'
        b'"unconditional_nats":null}'
    )


def test_every_cut_of_a_shard_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl.gz"
    digest = write_rows(path, ROWS)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(IntegrityError, match=r"rows\.jsonl\.gz: (must be a complete|rows must have)"):
            read_rows(path, sha256=digest)


def test_every_flipped_byte_of_a_shards_content_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl.gz"
    digest = write_rows(path, ROWS)
    whole = path.read_bytes()
    header = 10  # what it holds (a time, a system's name) is no part of the rows
    for place in range(header, len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(IntegrityError, match=r"rows\.jsonl\.gz: "):
            read_rows(path, sha256=digest)


def test_whole_rows_of_another_shard_are_refused_by_their_digest(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl.gz"
    digest = write_rows(path, ROWS)
    write_rows(path, ROWS[:2])
    with pytest.raises(IntegrityError, match=f"rows must have digest {digest}; got sha256:"):
        read_rows(path, sha256=digest)


def test_a_shard_that_inflates_without_end_is_refused() -> None:
    bomb = gzip.compress(b" " * 1001)
    with pytest.raises(IntegrityError, match="bomb: must inflate to at most 1000 bytes; got more"):
        parse_rows(bomb, where="bomb", most_bytes=1000)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ((b'"tokens":3', b'"tokens":"3"'), "row 1: tokens must be right"),
        ((b'"tokens":3', b'"tokens":3,"extra":1'), "row 1: extra must be right"),
        ((b'"outcome":"scored"', b'"outcome":"won"'), "row 1: outcome must be right"),
        ((b"-1.5", b"null"), "sum_nats must be given exactly where the outcome is scored"),
        ((b'"scored"', b'"error"'), "sum_nats must be given exactly where the outcome is scored"),
        ((b'"tokens":3', b'"tokens":0'), "tokens must be at least 1 where the outcome is scored; got 0"),
        ((b'"scored"', b'"tie"'), "sum_nats must be given exactly where"),
        ((b"-1.5", b"NaN"), "row 1: "),
    ],
)
def test_a_bad_line_is_refused_with_its_number(
    tmp_path: Path, change: tuple[bytes, bytes], reason: str
) -> None:
    path = tmp_path / "rows.jsonl.gz"
    lines = encode_rows(ROWS)
    assert change[0] in lines
    path.write_bytes(gzip.compress(lines.replace(*change, 1)))
    with pytest.raises(IntegrityError, match=reason):
        read_rows(path)


def test_a_document_is_written_as_canonical_json_and_read_as_the_same(tmp_path: Path) -> None:
    path = tmp_path / "document.json"
    document = FindingRecord(code="SR301", where="items", detail="3 clusters")
    digest = write_document(path, document)
    assert path.read_bytes() == b'{"code":"SR301","detail":"3 clusters","where":"items"}'
    assert digest.startswith("sha256:")
    assert parse_document(path.read_bytes(), FindingRecord, where="f") == document


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"code":"SR301","where":"items"}', "f: detail must be as the schema says; Field required"),
        (b'{"code":"SR301","code":"SR301"}', "f: object keys must be unique; got 'code' twice"),
        (b'{"code":1,"where":"a","detail":"b"}', "f: code must be as the schema says"),
        (b'{"code":"a","where":"a","detail":"b","more":1}', "f: more must be as the schema says"),
        (b"[]", "f: document must be as the schema says"),
        (b"{", "f: must be JSON"),
    ],
)
def test_a_document_that_is_not_as_its_schema_says_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(InputError, match=f"^{reason}"):
        parse_document(data, FindingRecord, where="f")


def test_items_are_stored_in_the_order_of_their_ids_whatever_their_file_had(tmp_path: Path) -> None:
    one, two = (
        ItemRecord(id=name, digest="sha256:" + "0" * 64, stratum=None, cluster=None) for name in "ab"
    )
    first, second = Bundle(tmp_path / "first"), Bundle(tmp_path / "second")
    assert write_items(first, (one, two)) == write_items(second, (two, one))
    assert read_items(second) == (one, two)


def test_a_missing_key_in_the_items_is_refused_with_its_place() -> None:
    with pytest.raises(InputError, match=r"^f: 0\.stratum must be as the schema says"):
        parse_items(b'[{"id":"a","digest":"d","cluster":null}]', where="f")


def test_a_folder_that_is_no_bundle_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing: must be a bundle, .* got no folder"):
        open_bundle(tmp_path / "nothing")
    with pytest.raises(InputError, match=r"spec\.yaml is missing \(run `safetyrepro run` on its spec"):
        open_bundle(tmp_path)
    with pytest.raises(InputError, match=r"manifest\.json: must be readable; got No such file"):
        read_manifest(Bundle(tmp_path))
