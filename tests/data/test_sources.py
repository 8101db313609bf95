"""Pairs are read from every kind of source, and every bad row is told with its place."""

from __future__ import annotations

import csv
import gzip
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import pytest

from safetyrepro.canonical import digest_file
from safetyrepro.data.sources import ItemSet, draw_sample, read_declared, read_items
from safetyrepro.data.tables import package_file
from safetyrepro.errors import InputError, InputErrors, MissingExtraError
from safetyrepro.spec.items import FileItems, PairItems, Sample
from safetyrepro.spec.load import load_experiment, parse_experiment

Row = dict[str, object]
GOOD = (Path(__file__).parents[1] / "spec" / "good.yaml").read_text(encoding="utf-8")
SPECS = Path(__file__).resolve().parents[2] / "specs"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "preferences"


def _row(number: int, **changes: object) -> Row:
    """One side of a crossed twin: rows 1 and 2 are a twin, rows 3 and 4, and so on."""
    twin, side = divmod(number - 1, 2)
    answers = (f"answer a{twin}", f"answer b{twin}")
    row: Row = {
        "name": f"item-{number}",
        "prompt": f"question {number}",
        "chosen": answers[side],
        "rejected": answers[1 - side],
        "stratum": "even" if twin % 2 == 0 else "odd",
        "twin": twin,
    }
    return {key: value for key, value in {**row, **changes}.items() if value is not ...}


ROWS = tuple(_row(number) for number in range(1, 41))


def _items(source: object, **changes: object) -> PairItems:
    items = {
        "kind": "pair",
        "id": "trial",
        "name": "Trial pairs",
        "source": {"kind": "file", "path": source} if isinstance(source, str) else source,
        "fields": {
            "prompt": "prompt",
            "chosen": "chosen",
            "rejected": "rejected",
            "id": "name",
            "stratum": "stratum",
            "cluster": "twin",
        },
        "labels": {"by": "key", "note": "made by rule"},
        "texts": {"by": "program", "note": "made by rule"},
        **changes,
    }
    return PairItems.model_validate_json(json.dumps(items))


def _jsonl(path: Path, rows: Sequence[Row]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _jsonl_gz(path: Path, rows: Sequence[Row]) -> None:
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))


def _csv(path: Path, rows: Sequence[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def _csv_gz(path: Path, rows: Sequence[Row]) -> None:
    plain = path.with_name("plain.csv")
    _csv(plain, rows)
    path.write_bytes(gzip.compress(plain.read_bytes()))


def _parquet(path: Path, rows: Sequence[Row]) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow, which the extra models brings")
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(list(rows)), path)


def _read(tmp_path: Path, given: Sequence[Row], /, **changes: object) -> ItemSet:
    _jsonl(tmp_path / "items.jsonl", given)
    return read_declared(_items("items.jsonl", **changes), base_dir=tmp_path)


def _refused(tmp_path: Path, given: Sequence[Row], /, **changes: object) -> list[str]:
    with pytest.raises(InputError) as caught:
        _read(tmp_path, given, **changes)
    return str(caught.value).replace(f"{tmp_path}/", "").splitlines()


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("items.jsonl", _jsonl),
        ("items.jsonl.gz", _jsonl_gz),
        ("items.csv", _csv),
        ("items.csv.gz", _csv_gz),
        ("items.parquet", _parquet),
    ],
)
def test_every_format_gives_the_same_items(
    name: str, write: Callable[[Path, Sequence[Row]], None], tmp_path: Path
) -> None:
    write(tmp_path / name, ROWS)
    items = read_declared(_items(name, twins=True), base_dir=tmp_path)
    assert items.digest == _read(tmp_path, ROWS).digest
    assert items.source_digest == digest_file(tmp_path / name)
    assert items.source_rows == 40
    assert [pair.id for pair in items.items] == [f"item-{number}" for number in range(1, 41)]
    pair = items.items[2]
    assert (pair.prompt, pair.chosen, pair.rejected) == ("question 3", "answer a1", "answer b1")
    assert (pair.stratum, pair.cluster) == ("odd", "1")


def test_text_comes_through_as_it_is(tmp_path: Path) -> None:
    odd = ' quoted "x", comma\nline two\t\u2028 é 😀 '
    for name, write in (("items.jsonl", _jsonl), ("items.csv", _csv), ("items.parquet", _parquet)):
        write(tmp_path / name, [_row(1, prompt=odd), _row(2)])
        assert read_declared(_items(name), base_dir=tmp_path).items[0].prompt == odd


def test_the_digest_of_the_items_does_not_depend_on_the_order_of_the_file(tmp_path: Path) -> None:
    assert _read(tmp_path, ROWS).digest == _read(tmp_path, ROWS[::-1]).digest
    assert _read(tmp_path, ROWS).digest != _read(tmp_path, ROWS[1:]).digest


def test_items_without_a_name_are_called_by_their_row(tmp_path: Path) -> None:
    fields = {"prompt": "prompt", "chosen": "chosen", "rejected": "rejected"}
    pairs = _read(tmp_path, ROWS[:3], fields=fields).items
    assert [pair.id for pair in pairs] == ["1", "2", "3"]
    assert {(pair.stratum, pair.cluster) for pair in pairs} == {(None, None)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"chosen": ...}, "items.jsonl: row 17: chosen must be a non-empty string; got None"),
        (
            {"chosen": ..., "chosn": "x"},
            "items.jsonl: row 17: chosen must be a non-empty string (did you mean",
        ),
        ({"chosen": ""}, "items.jsonl: row 17: chosen must be a non-empty string; got ''"),
        ({"rejected": " \n"}, r"items.jsonl: row 17: rejected must be a non-empty string; got ' \n'"),
        ({"prompt": 12}, "items.jsonl: row 17: prompt must be a non-empty string; got 12"),
        ({"prompt": None}, "items.jsonl: row 17: prompt must be a non-empty string; got None"),
        ({"prompt": "\ud83d"}, "items.jsonl: row 17: text must be Unicode; got"),
        (
            {"rejected": "answer a8"},
            "items.jsonl: row 17: chosen and rejected must differ; got 'answer a8'",
        ),
        ({"name": "item-3"}, "items.jsonl: ids must be unique; 2 rows have the same; got 'item-3'"),
        ({"name": True}, "items.jsonl: row 17: name must be a name or a whole number; got True"),
        ({"twin": None}, "items.jsonl: row 17: twin must be a name or a whole number; got None"),
        ({"stratum": 1.5}, "items.jsonl: row 17: stratum must be a name or a whole number; got 1.5"),
    ],
)
def test_a_bad_row_is_told_with_its_number(change: Row, message: str, tmp_path: Path) -> None:
    rows = [*ROWS[:16], _row(17, **change), *ROWS[17:]]
    (told,) = _refused(tmp_path, rows)
    assert told.startswith(message)


def test_all_bad_rows_are_told_at_once(tmp_path: Path) -> None:
    rows = [
        _row(number, chosen="" if number % 3 == 0 else "x", prompt="" if number == 3 else "q")
        for number in range(1, 10)
    ]
    assert [line.split(";")[0] for line in _refused(tmp_path, rows)] == [
        "items.jsonl: row 3: prompt must be a non-empty string",
        "items.jsonl: row 3: chosen must be a non-empty string",
        "items.jsonl: row 6: chosen must be a non-empty string",
        "items.jsonl: row 9: chosen must be a non-empty string",
    ]


def test_beyond_twenty_bad_rows_are_counted(tmp_path: Path) -> None:
    lines = _refused(tmp_path, [_row(number, chosen="") for number in range(1, 101)])
    assert len(lines) == 21
    assert lines[-1] == "items.jsonl: and 80 more rows like these"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{}\n[1]\n", "items.jsonl: row 2: a row must be a JSON object; got [1]"),
        (b'{"a": 1, "a": 2}\n', "items.jsonl: row 1: object keys must be unique; got 'a' twice"),
        (b'{"a": NaN}\n', "items.jsonl: row 1: numbers must be finite; got 'NaN'"),
        (b'{"a": 1}\n{"a": \n', "items.jsonl: row 2: must be JSON; Expecting value"),
        (b'{"a": "\xff"}\n', "items.jsonl: row 1: must be JSON; 'utf-8' codec can't decode byte 0xff"),
        (b"", "items.jsonl: a source must hold at least one item; got 0"),
        (b"\n\n", "items.jsonl: a source must hold at least one item; got 0"),
    ],
)
def test_broken_json_lines_are_refused(text: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_bytes(text)
    with pytest.raises(InputError) as caught:
        read_declared(_items("items.jsonl"), base_dir=tmp_path)
    assert str(caught.value).replace(f"{tmp_path}/", "").startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a,b\n1,2\n1,2,3\n1\n",
            r"row 2: a row must have 2 cells, as its header has; got 3\n.*row 3: .*; got 1",
        ),
        ("a,a\n1,2\n", r"header: columns must have different names; got \['a', 'a'\]"),
        ('a,b\n"x"y,2\n', "must be CSV"),
    ],
)
def test_broken_csv_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_declared(_items("items.csv"), base_dir=tmp_path)


def test_csv_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_bytes(b"a,b\nx,\xe9\n")
    with pytest.raises(InputError, match=r"items\.csv: text must be UTF-8; got byte 0xe9"):
        read_declared(_items("items.csv"), base_dir=tmp_path)


def test_a_gzip_file_cut_short_is_refused(tmp_path: Path) -> None:
    _jsonl_gz(tmp_path / "items.jsonl.gz", ROWS)
    whole = (tmp_path / "items.jsonl.gz").read_bytes()
    for bad in (whole[:-20], b"not gzip", whole[:-8] + b"\0" * 8):
        (tmp_path / "items.jsonl.gz").write_bytes(bad)
        with pytest.raises(InputError, match="must be a whole gzip file"):
            read_declared(_items("items.jsonl.gz"), base_dir=tmp_path)


def test_parquet_that_is_none_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow, which the extra models brings")
    (tmp_path / "items.parquet").write_bytes(b"PAR0 and nothing else")
    with pytest.raises(InputError, match="must be a Parquet file"):
        read_declared(_items("items.parquet"), base_dir=tmp_path)


def test_parquet_without_its_library_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "items.parquet").write_bytes(b"PAR1")
    with pytest.raises(MissingExtraError, match=r"pip install 'safetyrepro\[models\]'"):
        read_declared(_items("items.parquet"), base_dir=tmp_path)


def test_a_file_that_is_not_there_or_of_no_known_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"none\.jsonl: must be a readable file; got No such file or directory"
    ):
        read_declared(_items("none.jsonl"), base_dir=tmp_path)
    with pytest.raises(InputError, match=r"must end in \.jsonl, \.jsonl\.gz, \.csv, \.csv\.gz, \.parquet"):
        read_declared(_items("items.txt"), base_dir=tmp_path)


def test_relative_paths_start_from_the_spec_or_from_the_data_folder(tmp_path: Path) -> None:
    data = tmp_path / "elsewhere"
    data.mkdir()
    _jsonl(data / "items.jsonl", ROWS)
    assert len(read_declared(_items("items.jsonl"), base_dir=tmp_path / "no", data_dir=data).items) == 40
    assert len(read_declared(_items("elsewhere/items.jsonl"), base_dir=tmp_path).items) == 40
    assert len(read_declared(_items(str(data / "items.jsonl")), base_dir=tmp_path / "no").items) == 40


def test_a_missing_column_is_told_once_with_the_ones_there_are(tmp_path: Path) -> None:
    rows = [{("prmopt" if key == "prompt" else key): value for key, value in row.items()} for row in ROWS]
    assert _refused(tmp_path, rows) == [
        "items.jsonl: fields.prompt must be one of the columns name, prmopt, chosen, rejected, stratum, "
        "twin (did you mean 'prmopt'?); got 'prompt'"
    ]


def test_another_number_of_rows_or_another_digest_is_refused(tmp_path: Path) -> None:
    assert _refused(tmp_path, ROWS, rows=41) == ["items.jsonl: rows must be 41; got 40"]
    digest = digest_file(tmp_path / "items.jsonl")
    wrong = "sha256:" + "0" * 64
    assert _refused(tmp_path, ROWS, sha256=wrong) == [f"items.jsonl: sha256 must be {wrong}; got {digest}"]
    assert _read(tmp_path, ROWS, rows=40, sha256=digest).source_digest == digest


def test_a_filter_keeps_the_rows_with_one_of_its_values(tmp_path: Path) -> None:
    assert len(_read(tmp_path, ROWS, where={"stratum": ["odd"]}).items) == 20
    assert len(_read(tmp_path, ROWS, where={"twin": ["3", "4"], "stratum": ["odd"]}).items) == 2
    (told,) = _refused(tmp_path, ROWS, where={"stratum": ["none"]})
    assert told == "items.jsonl: where must leave at least one item; got {'stratum': ('none',)}"
    (told,) = _refused(tmp_path, ROWS, where={"strat": ["odd"]})
    assert "where.strat must be one of the columns" in told
    assert "(did you mean 'stratum'?)" in told


def test_exclusions_are_counted_and_must_be_there(tmp_path: Path) -> None:
    rows = [*ROWS, _row(41, chosen=" ")]
    items = _read(tmp_path, rows, exclude=[{"id": "item-41", "reason": "one answer is blank"}])
    assert (len(items.items), items.excluded, items.source_rows) == (40, 1, 41)
    (told,) = _refused(tmp_path, ROWS, exclude=[{"id": "item-99", "reason": "it is not there"}])
    assert told == "items.jsonl: exclude must name items; got 'item-99'"
    everything = [{"id": row["name"], "reason": "all"} for row in ROWS]
    (told,) = _refused(tmp_path, ROWS, exclude=everything)
    assert told == "items.jsonl: exclusions must leave at least one item; got 0"


def test_a_sample_is_a_function_of_seed_and_clusters_and_keeps_clusters_whole(tmp_path: Path) -> None:
    pairs = _read(tmp_path, ROWS).items
    drawn = draw_sample(pairs, Sample(rows=11, seed=7))
    assert len(drawn) == 10
    assert all(sum(pair.cluster == other.cluster for other in drawn) == 2 for pair in drawn)
    assert {pair.id for pair in draw_sample(pairs[::-1], Sample(rows=11, seed=7))} == {
        pair.id for pair in drawn
    }
    assert draw_sample(pairs, Sample(rows=11, seed=8)) != drawn
    assert draw_sample(pairs, Sample(rows=40, seed=7)) == pairs
    with pytest.raises(InputError, match=r"items\.sample\.rows: must have room for a whole cluster; got 1"):
        draw_sample(pairs, Sample(rows=1, seed=7))


def test_a_larger_sample_holds_the_smaller_one(tmp_path: Path) -> None:
    pairs = _read(tmp_path, ROWS).items
    small = draw_sample(pairs, Sample(rows=10, seed=3))
    assert set(small) < set(draw_sample(pairs, Sample(rows=20, seed=3)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            _row(2, prompt="question 1"),
            "items.jsonl: twin 0: a twin must have two prompts; got 'question 1'",
        ),
        (
            _row(2, chosen="another"),
            "items.jsonl: twin 0: what is chosen for one prompt must be rejected for",
        ),
        (
            _row(2, chosen="answer a0", rejected="answer b0"),
            "items.jsonl: twin 0: what is chosen for one prompt",
        ),
        (_row(2, twin=1), "items.jsonl: twin 0: a twin must be two items; got 1"),
    ],
)
def test_twins_that_are_not_crossed_are_refused(change: Row, message: str, tmp_path: Path) -> None:
    rows = [ROWS[0], change, *ROWS[2:]]
    assert _refused(tmp_path, rows, twins=True)[0].startswith(message)
    assert len(_read(tmp_path, rows).items) == 40


def test_weights_name_exactly_the_strata_there_are(tmp_path: Path) -> None:
    weights = [{"name": "even", "weight": 0.5}, {"name": "odd", "weight": 0.5}]
    assert len(_read(tmp_path, ROWS, weights=weights).items) == 40
    wrong = [{"name": "even", "weight": 1.0}]
    assert _refused(tmp_path, ROWS, weights=wrong) == [
        "items.jsonl: weights must name the strata even, odd, once each; got ['even']"
    ]


def test_an_exemplar_is_never_an_item(tmp_path: Path) -> None:
    _jsonl(tmp_path / "items.jsonl", ROWS)
    experiment = parse_experiment(GOOD, "s.yaml")
    assert len(read_items(experiment, base_dir=tmp_path).items) == 40
    shown = parse_experiment(GOOD.replace("What is the colour of snow?", "question 5"), "s.yaml")
    with pytest.raises(
        InputErrors, match=r"exemplar 0: an exemplar must not be an item \(item 5\); got 'question 5'"
    ):
        read_items(shown, base_dir=tmp_path)


def test_dialogues_are_split_at_their_last_marker(tmp_path: Path) -> None:
    start = "\n\nHuman: hi\n\nAssistant: hello\n\nHuman: and?\n\nAssistant:"
    adapter = {"kind": "dialogue", "chosen": "good", "rejected": "bad", "marker": "\n\nAssistant:"}
    fields = {"prompt": "prompt", "chosen": "chosen", "rejected": "rejected"}
    rows: list[Row] = [{"good": start + " yes", "bad": start + " no"}]
    (pair,) = _read(tmp_path, rows, adapter=adapter, fields=fields).items
    assert (pair.prompt, pair.chosen, pair.rejected) == (start, " yes", " no")
    bad: list[Row] = [
        *rows,
        {"good": "no marker", "bad": "x"},
        {"good": start + " a", "bad": "b"},
        {"good": 1},
    ]
    alike = r"good and bad must begin alike, up to '\n\nAssistant:'"
    assert [line.split(";")[0] for line in _refused(tmp_path, bad, adapter=adapter, fields=fields)] == [
        f"items.jsonl: row 2: {alike}",
        f"items.jsonl: row 3: {alike}",
        "items.jsonl: row 4: good must be text",
        "items.jsonl: row 4: bad must be text",
    ]


def test_an_answer_that_holds_the_marker_stays_an_answer(tmp_path: Path) -> None:
    start = "\n\nHuman: hi\n\nAssistant:"
    adapter = {"kind": "dialogue", "chosen": "good", "rejected": "bad", "marker": "\n\nAssistant:"}
    fields = {"prompt": "prompt", "chosen": "chosen", "rejected": "rejected"}
    both_sides = " Hello.\n\nHuman: bye\n\nAssistant: Bye."
    rows: list[Row] = [{"good": start + both_sides, "bad": start + " no"}]
    (pair,) = _read(tmp_path, rows, adapter=adapter, fields=fields).items
    assert (pair.prompt, pair.chosen, pair.rejected) == (start, both_sides, " no")


@pytest.mark.shared
def test_real_dialogues_come_apart_as_they_were_put_together(tmp_path: Path) -> None:
    """Joins each prompt of the public file with its answers, and takes them apart as the spec says."""
    path = SHARED / "hh_rlhf" / "pairs.jsonl.gz"
    if not path.is_file():
        pytest.skip("the public data files of ../shared are not here")
    stored = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    dialogues = [{side: row["prompt"] + row[side] for side in ("chosen", "rejected")} for row in stored]
    _jsonl(tmp_path / "dialogues.jsonl", dialogues)
    items = load_experiment(SPECS / "hh-rlhf.yaml").document.items
    here = items.model_copy(update={"source": FileItems(kind="file", path="dialogues.jsonl")})
    read = read_declared(here, base_dir=tmp_path)
    assert (len(read.items), read.excluded) == (2308, 4)
    for pair in read.items:
        row = stored[int(pair.id) - 1]
        assert (pair.prompt, pair.chosen, pair.rejected) == (row["prompt"], row["chosen"], row["rejected"])


def test_a_label_says_which_answer_is_chosen(tmp_path: Path) -> None:
    adapter = {
        "kind": "label",
        "first": "output_1",
        "second": "output_2",
        "label": "label",
        "first_is": "1",
        "second_is": "2",
    }
    fields = {"prompt": "input", "chosen": "chosen", "rejected": "rejected"}
    rows: list[Row] = [
        {"input": "q", "output_1": "a", "output_2": "b", "label": 1},
        {"input": "q", "output_1": "a", "output_2": "b", "label": "2"},
    ]
    pairs = _read(tmp_path, rows, adapter=adapter, fields=fields).items
    assert [(pair.chosen, pair.rejected) for pair in pairs] == [("a", "b"), ("b", "a")]
    (told,) = _refused(tmp_path, [*rows, {**rows[0], "label": 3}], adapter=adapter, fields=fields)
    assert told == "items.jsonl: row 3: label must be '1' or '2'; got 3"


def test_a_file_inside_a_package_is_found_without_importing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "trial_package_with_items"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')\n", encoding="utf-8")
    _jsonl(package / "items.jsonl", ROWS)
    monkeypatch.syspath_prepend(tmp_path)
    source = {"kind": "package", "package": "trial_package_with_items", "file": "items.jsonl"}
    assert len(read_declared(_items(source), base_dir=tmp_path).items) == 40
    assert "trial_package_with_items" not in sys.modules
    with pytest.raises(InputError, match=r"must hold the file other\.jsonl"):
        package_file("trial_package_with_items", "other.jsonl")
    with pytest.raises(InputError, match="the file must be inside the package"):
        package_file("trial_package_with_items", "../escape.jsonl")
    with pytest.raises(
        InputError, match="package not_installed_anywhere: must be an installed Python package"
    ):
        package_file("not_installed_anywhere", "items.jsonl")


HUB = {
    "kind": "hub",
    "repo": "someone/some-set",
    "revision": "0123456789abcdef0123456789abcdef01234567",
    "split": "raw",
    "folder": "part",
}


def _hub(monkeypatch: pytest.MonkeyPatch, load: Callable[..., Sequence[Row]]) -> None:
    module = ModuleType("datasets")
    module.load_dataset = load  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", module)


def test_rows_come_from_a_hub_at_the_pinned_revision(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[object] = []

    def load(
        repo: str, *, name: str | None, data_dir: str | None, split: str, revision: str
    ) -> Sequence[Row]:
        asked.append((repo, name, data_dir, split, revision))
        return ROWS

    _hub(monkeypatch, load)
    items = read_declared(_items(HUB, rows=40), base_dir=tmp_path)
    assert asked == [("someone/some-set", None, "part", "raw", HUB["revision"])]
    assert items.digest == _read(tmp_path, ROWS).digest
    assert items.source_digest is None
    assert items.place == "someone/some-set@0123456789ab raw"


def test_a_hub_that_cannot_be_reached_is_told_plainly(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def load(repo: str, **_: object) -> Sequence[Row]:
        raise ConnectionError(f"Couldn't reach {repo!r} on the Hub (LocalEntryNotFoundError)\nmore lines")

    _hub(monkeypatch, load)
    with pytest.raises(InputError) as caught:
        read_declared(_items(HUB), base_dir=tmp_path)
    assert str(caught.value) == (
        "someone/some-set@0123456789ab raw: must be a data set that can be reached or is in the local "
        "cache; got Couldn't reach 'someone/some-set' on the Hub (LocalEntryNotFoundError)"
    )


def test_a_hub_without_its_library_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"items from a hub needs the extra 'models'"):
        read_declared(_items(HUB), base_dir=tmp_path)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "rows", "blank"),
    # Rows with a blank answer, counted by an independent loop over the files.
    [("hh_rlhf", 2312, 4), ("llmbar", 1200, 1), ("pandalm", 888, None)],
)
def test_real_files_are_read_or_their_blank_answers_told(name: str, rows: int, blank: int | None) -> None:
    path = SHARED / name / "pairs.jsonl.gz"
    if not path.is_file():
        pytest.skip("the public data files of ../shared are not here")
    fields = {
        "prompt": "prompt",
        "chosen": "chosen",
        "rejected": "rejected",
        "id": "id",
        "stratum": "subset",
    }
    source = {"kind": "file", "path": str(path)}
    with pytest.raises(InputErrors) as caught:
        read_declared(_items(source, rows=rows, fields=fields), base_dir=path.parent)
    told = caught.value.messages
    assert all("must be a non-empty string" in line or "must differ" in line for line in told[:20])
    if blank is not None:
        assert len(told) == blank + (name == "llmbar")
