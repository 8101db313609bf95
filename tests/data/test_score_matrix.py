"""Anybody's scores as one matrix: what is read, what is refused, whatever the order of rows."""

from __future__ import annotations

import gzip
import json
import random
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

from safetyrepro.data.harness_runs import Chosen, matrix_of_runs
from safetyrepro.data.inspect_logs import read_inspect
from safetyrepro.data.lm_eval_samples import read_lm_eval
from safetyrepro.data.score_matrix import ScoreMatrix, grid_digest, level_order
from safetyrepro.data.score_tables import (
    CountColumns,
    TableColumns,
    read_counts,
    read_scores,
    score_of,
)
from safetyrepro.errors import InputError, InputErrors

COLUMNS = TableColumns(model="model", factors=("template", "shots"), item="item", score="score")
HEADER = "model,template,shots,item,score"
ROWS = [
    f"{model},{template},{shots},q{item},{(item * 7 + len(model + template) + shots) % 3 / 2}"
    for model in ("alpha", "be")
    for template in ("chat", "plain")
    for shots in (0, 5, 10)
    for item in range(4)
]


def table(path: Path, rows: list[str], header: str = HEADER) -> Path:
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def same(one: ScoreMatrix, other: ScoreMatrix) -> bool:
    named = (one.models, one.factors, one.levels, one.items) == (
        other.models,
        other.factors,
        other.levels,
        other.items,
    )
    return named and np.array_equal(one.scores, other.scores, equal_nan=True)


def test_a_long_table_becomes_models_by_configurations_by_items(tmp_path: Path) -> None:
    matrix = read_scores([table(tmp_path / "s.csv", ROWS)], COLUMNS)
    assert matrix.models == ("alpha", "be")
    assert matrix.levels[:3] == (("chat", "0"), ("chat", "5"), ("chat", "10"))
    assert matrix.items == ("q0", "q1", "q2", "q3")
    assert matrix.scores.shape == (2, 6, 4)
    model, template, shots, item, score = ROWS[17].split(",")
    place = matrix.levels.index((template, shots))
    assert matrix.scores[matrix.models.index(model), place, matrix.items.index(item)] == float(score)


def test_levels_that_are_numbers_stand_in_the_order_of_their_values() -> None:
    assert level_order(["10", "2", "0.5"]) == ["0.5", "2", "10"]
    assert level_order(["b", "10", "2"]) == ["10", "2", "b"]


def test_the_order_of_rows_and_of_files_is_no_matter(tmp_path: Path) -> None:
    rows = ROWS.copy()
    random.Random(4).shuffle(rows)
    whole = read_scores([table(tmp_path / "a.csv", ROWS)], COLUMNS)
    one, two = table(tmp_path / "b.csv", rows[:20]), table(tmp_path / "c.csv", rows[20:])
    assert same(whole, read_scores([one, two], COLUMNS))
    assert same(whole, read_scores([two, one], COLUMNS))


@pytest.mark.parametrize("name", ["s.tsv", "s.csv.gz", "s.jsonl", "s.parquet"])
def test_every_format_gives_the_same_matrix(tmp_path: Path, name: str) -> None:
    expected = read_scores([table(tmp_path / "s.csv", ROWS)], COLUMNS)
    path = tmp_path / name
    cells = [dict(zip(HEADER.split(","), row.split(","), strict=True)) for row in ROWS]
    if name.endswith("tsv"):
        path.write_text("\n".join([HEADER, *ROWS]).replace(",", "\t"), encoding="utf-8")
    elif name.endswith("gz"):
        path.write_bytes(gzip.compress("\n".join([HEADER, *ROWS]).encode()))
    elif name.endswith("jsonl"):
        typed = [{**one, "score": float(one["score"]), "shots": int(one["shots"])} for one in cells]
        path.write_text("\n".join(json.dumps(one) for one in typed), encoding="utf-8")
    else:
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pyarrow.Table.from_pylist(cells), path)
    assert same(expected, read_scores([path], COLUMNS))


def test_without_item_and_score_every_other_column_is_an_item(tmp_path: Path) -> None:
    path = table(tmp_path / "wide.csv", ["a,1,0.5,x", "b,,0.25,y"], header="model,q1,q2,note")
    matrix = read_scores([path], TableColumns(model="model", ignored=("note",)))
    assert matrix.items == ("q1", "q2")
    assert matrix.configurations == ("all",)
    np.testing.assert_array_equal(matrix.scores[:, 0], [[1.0, 0.5], [np.nan, 0.25]])


def test_a_file_can_be_a_level(tmp_path: Path) -> None:
    paths = [table(tmp_path / f"{name}.csv", ["a,1", "b,0"], header="model,q") for name in ("v1", "v2")]
    matrix = read_scores(paths, TableColumns(model="model", factors=("file",)))
    assert matrix.configurations == ("file=v1", "file=v2")


def test_repeats_are_averaged_and_kept(tmp_path: Path) -> None:
    path = table(tmp_path / "r.csv", ["a,q,1,1", "a,q,2,0", "a,p,1,1"], header="model,item,epoch,score")
    matrix = read_scores([path], TableColumns(model="model", item="item", score="score", run="epoch"))
    np.testing.assert_array_equal(matrix.scores[0, 0], [1.0, 0.5])
    assert matrix.runs is not None
    np.testing.assert_array_equal(matrix.runs[:, 0, 0], [[1.0, 1.0], [np.nan, 0.0]])


@pytest.mark.parametrize(
    ("cell", "score"),
    [
        ("0.5", 0.5),
        (" TRUE ", 1.0),
        (False, 0.0),
        ("1e-3", 0.001),
        (3, 3.0),
        ("-", None),
        ("inf", None),
        ("1_0", None),
        ([1], None),
        (float("inf"), None),
    ],
)
def test_a_cell_is_a_score_or_it_is_refused(cell: object, score: float | None) -> None:
    assert score_of(cell) == score


@pytest.mark.parametrize("cell", ["", "NaN", "n/a", "None", None, float("nan")])
def test_nothing_is_never_a_number(cell: object) -> None:
    value = score_of(cell)
    assert value is not None
    assert np.isnan(value)


def test_rows_without_a_score_are_counted_with_their_places(tmp_path: Path) -> None:
    path = table(tmp_path / "s.csv", [*ROWS[:-1], ROWS[-1].rsplit(",", 1)[0] + ",NaN"])
    blanks = read_scores([path], COLUMNS).blanks
    assert (blanks.count, blanks.first) == (1, (f"{path}: row {len(ROWS)}",))


def test_every_bad_row_is_told_with_its_file_and_number(tmp_path: Path) -> None:
    path = table(
        tmp_path / "s.csv", [*ROWS, "alpha,chat,0,q9,good", ",chat,0,q9,1", "alpha,chat,inf,q9,inf"]
    )
    with pytest.raises(InputErrors) as refused:
        read_scores([path], COLUMNS)
    n = len(ROWS)
    assert refused.value.messages == (
        f"{path}: row {n + 1}: score must be a finite number; got 'good'",
        f"{path}: row {n + 2}: model must not be empty; got ''",
        f"{path}: row {n + 3}: score must be a finite number; got 'inf'",
    )


def test_two_scores_for_one_cell_and_item_are_refused_with_both_places(tmp_path: Path) -> None:
    one, two = table(tmp_path / "a.csv", ROWS), table(tmp_path / "b.csv", [ROWS[5]])
    with pytest.raises(InputErrors) as refused:
        read_scores([one, two], COLUMNS)
    assert refused.value.messages == (
        f"{two}: row 1: a model must have one score an item, configuration and run (is a factor missing?); "
        f"got item 'q1' again, first at {one}: row 6",
    )


def test_more_than_twenty_bad_rows_are_counted(tmp_path: Path) -> None:
    path = table(tmp_path / "s.csv", ["a,c,0,q,x"] * 25)
    with pytest.raises(InputErrors, match=r"and 5 more rows like these$"):
        read_scores([path], COLUMNS)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (TableColumns(model="modle", item="item", score="score"), r"did you mean 'model'\?"),
        (TableColumns(model="model", item="item"), "item and score must be named both or neither"),
        (TableColumns(model="model", cluster="shots"), "a cluster must come with item and score"),
    ],
)
def test_columns_that_do_not_fit_are_refused(tmp_path: Path, columns: TableColumns, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_scores([table(tmp_path / "s.csv", ROWS)], columns)


def test_an_item_has_one_cluster(tmp_path: Path) -> None:
    header = "model,item,score,topic"
    columns = TableColumns(model="model", item="item", score="score", cluster="topic")
    good = read_scores([table(tmp_path / "g.csv", ["a,q,1,x", "b,q,0,x"], header)], columns)
    assert good.clusters == ("x",)
    with pytest.raises(InputErrors, match=r"row 2: the cluster of item 'q' must be 'x', as at .*; got 'y'"):
        read_scores([table(tmp_path / "b.csv", ["a,q,1,x", "b,q,0,y"], header)], columns)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("s.txt", b"x", "the name of a table must end in"),
        ("s.csv", b"", "header: columns must have different names"),
        ("s.csv", b"a,a\n1,2\n", r"different names; got \['a'\]"),
        ("s.csv", b"model,q\na\n", "row 1: a row must have 2 cells"),
        ("s.csv", b"model,q\n\xff,1\n", "text must be UTF-8; got byte 0xff"),
        ("s.csv.gz", b"no gzip", "must be a whole gzip file"),
        (
            "s.jsonl",
            b'{"model": 1, "q": 1}\n{"other": 2}\n',
            "row 2: a row must have no column that the first row",
        ),
        ("s.jsonl", b"[1]\n", "row 1: a row must be a JSON object"),
        ("s.csv", b"model,q\n", "must hold at least one score"),
    ],
)
def test_files_that_are_no_tables_are_refused(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(InputError, match=message):
        read_scores([path], TableColumns(model="model"))


def test_counts_are_whole_and_within_their_trials(tmp_path: Path) -> None:
    columns = CountColumns(model="model", factors=("config",), successes="safe", trials="total")
    header = "model,config,safe,total"
    counts = read_counts([table(tmp_path / "c.csv", ["a,x,3,4", "a,y,1,9", "b,x,0,4"], header)], columns)
    np.testing.assert_array_equal(counts.successes, [[3, 1], [0, 0]])
    np.testing.assert_array_equal(counts.trials, [[4, 9], [4, 0]])
    with pytest.raises(InputErrors) as refused:
        read_counts([table(tmp_path / "d.csv", ["a,x,5,4", "b,x,1.5,4"], header)], columns)
    assert [one.split(": ", 1)[1] for one in refused.value.messages] == [
        "row 1: safe must lie in 0..total = 4; got 5.0",
        "row 2: safe, total must be whole; got ['1.5', '4']",
    ]


def test_an_envelope_is_cited_by_its_configurations_whatever_their_order() -> None:
    assert grid_digest(["f"], [["a"], ["b"]]) == grid_digest(["f"], [["b"], ["a"]])
    assert grid_digest(["f"], [["a"]]) != grid_digest(["g"], [["a"]])


# --- logs of harnesses ---------------------------------------------------------------------------

CHOSEN = Chosen(factors=(), run=None, only=())


def write_lm_eval(folder: Path, *, model: str, shots: int, scores: list[int], hashes: str = "h") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    stamp = f"2026-01-0{shots + 1}T00-00-00"
    rows = [
        {"doc_id": n, "doc_hash": f"{hashes}{n}", "filter": "none", "metrics": ["acc", "acc_norm"]}
        | {"acc": score, "acc_norm": 1 - score}
        for n, score in enumerate(scores)
    ]
    (folder / f"samples_task_{stamp}.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    results = {
        "model_name": model,
        "n-shot": {"task": shots},
        "config": {"model_dtype": "torch.float32"},
        "higher_is_better": {"task": {"acc": True, "acc_norm": False}},
    }
    (folder / f"results_{stamp}.json").write_text(json.dumps(results))


def test_lm_eval_runs_vary_in_what_their_results_say(tmp_path: Path) -> None:
    for model in ("a", "b"):
        for shots in (0, 5):
            write_lm_eval(tmp_path / model, model=model, shots=shots, scores=[1, 0, shots % 2])
    found = read_lm_eval([tmp_path], metric="acc", factors=())
    matrix = matrix_of_runs(found.runs, CHOSEN)
    assert matrix.configurations == ("num_fewshot=0", "num_fewshot=5")
    assert matrix.items == ("task/0", "task/1", "task/2")
    np.testing.assert_array_equal(matrix.scores[0], [[1, 0, 0], [1, 0, 1]])
    assert found.lower_is_better == {"acc_norm"}


def test_metrics_are_a_choice_or_a_factor(tmp_path: Path) -> None:
    write_lm_eval(tmp_path, model="a", shots=0, scores=[1, 0])
    with pytest.raises(InputError, match="must be one metric: choose it with --score, or take all with"):
        read_lm_eval([tmp_path], metric=None, factors=())
    found = read_lm_eval([tmp_path], metric=None, factors=("metric",))
    matrix = matrix_of_runs(found.runs, Chosen(factors=("metric",), run=None, only=()))
    assert matrix.configurations == ("metric=acc", "metric=acc_norm")


def test_an_item_that_is_another_one_in_another_run_is_refused(tmp_path: Path) -> None:
    write_lm_eval(tmp_path / "a", model="a", shots=0, scores=[1])
    write_lm_eval(tmp_path / "b", model="b", shots=0, scores=[1], hashes="other")
    found = read_lm_eval([tmp_path], metric="acc", factors=())
    with pytest.raises(InputErrors, match="item 'task/0' must be the same item as at"):
        matrix_of_runs(found.runs, CHOSEN)


def inspect_log(model: str, temperature: float, grades: list[object]) -> dict[str, object]:
    return {
        "version": 2,
        "status": "success",
        "eval": {"model": model, "task": "t", "task_args": {}},
        "plan": {"steps": [{"solver": "generate", "params": {}}], "config": {"temperature": temperature}},
        "samples": [
            {"id": n, "epoch": 1, "input": f"q{n}", "scores": {"match": {"value": grade}}}
            for n, grade in enumerate(grades)
        ],
    }


def write_eval_with_zstandard(path: Path, log: dict[str, object]) -> None:
    """A current `.eval`: members of method 93, which the standard library cannot write."""
    zstandard = pytest.importorskip("zstandard")
    samples = log.pop("samples")
    assert isinstance(samples, list)
    members = {"header.json": log} | {f"samples/{s['id']}_epoch_1.json": s for s in samples}
    body, directory = b"", b""
    for name, value in members.items():
        data = json.dumps(value).encode()
        packed = zstandard.ZstdCompressor().compress(data)
        sizes = (zlib.crc32(data), len(packed), len(data), len(name), 0)
        common = struct.pack("<5H3I2H", 63, 0, 93, 0, 33, *sizes)
        offset = len(body)
        body += b"PK\x03\x04" + common + name.encode() + packed
        tail = struct.pack("<3H2I", 0, 0, 0, 0, offset)
        directory += b"PK\x01\x02" + struct.pack("<H", 63) + common + tail + name.encode()
    count = len(members)
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, count, count, len(directory), len(body), 0)
    path.write_bytes(body + directory + end)


def test_inspect_logs_of_both_formats_are_read_alike(tmp_path: Path) -> None:
    grades: list[object] = ["C", "I", "P", "N", 0.25]
    (tmp_path / "a.json").write_text(json.dumps(inspect_log("a", 0.0, grades)))
    write_eval_with_zstandard(tmp_path / "b.eval", inspect_log("a", 1.0, grades))
    with zipfile.ZipFile(tmp_path / "b.eval") as archive:
        assert {info.compress_type for info in archive.infolist()} == {93}
    matrix = matrix_of_runs(read_inspect([tmp_path], scorer=None, factors=()), CHOSEN)
    assert matrix.configurations == ("temperature=0.0", "temperature=1.0")
    for c in range(2):
        np.testing.assert_array_equal(matrix.scores[0, c], [1.0, 0.0, 0.5, np.nan, 0.25])
    assert matrix.blanks.count == 2


def test_a_changed_byte_of_an_eval_file_is_found(tmp_path: Path) -> None:
    path = tmp_path / "b.eval"
    write_eval_with_zstandard(path, inspect_log("a", 1.0, ["C"]))
    data = bytearray(path.read_bytes())
    data[data.index(b"samples/") + 40] ^= 0xFF
    path.write_bytes(bytes(data))
    with pytest.raises(InputError, match=r"samples/0_epoch_1.json must be"):
        read_inspect([path], scorer=None, factors=())


def test_a_log_that_did_not_end_leaves_a_remark(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(inspect_log("a", 0.0, ["C"]) | {"status": "cancelled"}))
    matrix = matrix_of_runs(read_inspect([tmp_path], scorer=None, factors=()), CHOSEN)
    assert matrix.remarks == ("a.json: the log's status is cancelled",)


def test_samples_whose_score_is_no_grade_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(inspect_log("a", 0.0, ["C", "maybe"])))
    with pytest.raises(InputErrors, match="sample 2: match must be a number or a grade; got 'maybe'"):
        read_inspect([tmp_path / "a.json"], scorer=None, factors=())


SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "transcripts"


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason="the public data files are not here")
def test_real_logs_are_read() -> None:
    folder = SHARED / "inspect_logs"
    logs = [next(folder.glob("2025-05-12*popularity.json")), folder / "log_formats.eval"]
    matrix = matrix_of_runs(read_inspect(logs, scorer=None, factors=()), CHOSEN)
    assert matrix.models == ("ollama/llama3.1", "openai/gpt-4o-mini")
    known = matrix.scores[:, 0][~np.isnan(matrix.scores[:, 0])]
    assert sorted(known.tolist()) == [0.0, 0.0, 1.0, 1.0]
    found = read_lm_eval([SHARED / "eee/lm_eval_samples.jsonl"], metric=None, factors=())
    assert [len(run.scores) for run in found.runs] == [10]
