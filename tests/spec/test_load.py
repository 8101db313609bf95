"""A spec file becomes its document, or every one of its errors is told with its place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from safetyrepro.errors import InputError, InputErrors
from safetyrepro.spec.base import Document
from safetyrepro.spec.experiment import Experiment
from safetyrepro.spec.kinds import KINDS, Kind
from safetyrepro.spec.load import load_document, load_experiment, parse_document, parse_experiment
from safetyrepro.spec.wording import _WORDS, PATTERNS

GOOD = (Path(__file__).parent / "good.yaml").read_text(encoding="utf-8")
SHORT_NAME = (
    "a short name (lower-case letters, digits, dot, dash, underscore; begins with a letter or digit; "
    "at most 64 characters)"
)
DURATION = "an ISO 8601 duration such as P6M (six months) or P90D (ninety days)"
RULES = "one of sum, mean, byte, pmi"


def _messages(*changes: tuple[str, str]) -> list[str]:
    """The messages about the good spec after each change of one place."""
    text = GOOD
    for old, new in changes:
        assert text.count(old) >= 1, old
        text = text.replace(old, new, 1)
    with pytest.raises(InputErrors) as caught:
        parse_experiment(text, "s.yaml")
    return list(caught.value.messages)


def test_a_good_spec_becomes_its_document() -> None:
    experiment = parse_experiment(GOOD, "s.yaml")
    assert [model.id for model in experiment.models] == ["full", "rounded"]
    assert experiment.models[1].weights is not None
    assert experiment.models[1].weights.group == 64
    assert experiment.primary == {"template": "chat", "shots": "none", "rule": "mean"}
    assert experiment.evidence.claims[1].assertion is not None
    assert experiment.evidence.claims[1].assertion.r == 8


def test_the_digest_of_a_spec_covers_what_it_says_and_not_how_it_is_laid_out() -> None:
    digest = parse_experiment(GOOD, "s.yaml").content_digest()
    other_layout = GOOD.replace("languages: [en]", "languages:\n      - 'en'   # English")
    assert parse_experiment(other_layout, "t.yaml").content_digest() == digest
    assert parse_experiment(GOOD.replace("seed: 20261130", "seed: 1"), "t.yaml").content_digest() != digest


def test_a_file_comes_with_its_bytes_as_given(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_bytes(GOOD.encode().replace(b"\n", b"\r\n"))
    loaded = load_experiment(path)
    assert loaded.data == path.read_bytes()
    assert loaded.path == path
    assert loaded.document == parse_experiment(GOOD, "s.yaml")
    assert load_document(path).document == loaded.document


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("title:", "titel:", "s.yaml:5:1: titel must be a known key (did you mean 'title'?); got 'titel'"),
        (
            "bits: 4,",
            "bits: 4, granularity: fine,",
            "s.yaml:22:24: models.1.weights.granularity must be a known key; known here: bits, group; "
            "got 'granularity'",
        ),
        ("version: 1\n", "", "s.yaml:2:1: version must be given; got nothing"),
        ("bits: 4, ", "", "s.yaml:22:14: models.1.weights.bits must be given; got nothing"),
        ("version: 1", "version: '1'", "s.yaml:4:1: version must be a whole number; got '1'"),
        ("version: 1", "version: 1.0", "s.yaml:4:1: version must be a whole number; got 1.0"),
        ("version: 1", "version: true", "s.yaml:4:1: version must be a whole number; got true"),
        ("version: 1", "version:", "s.yaml:4:1: version must be a whole number; got nothing"),
        ("version: 1", "version: 0", "s.yaml:4:1: version must be at least 1; got 0"),
        (
            "seed: 20261130",
            "seed: 9007199254740992",
            "s.yaml:6:1: seed must be at most 9007199254740991; got",
        ),
        ("small-study", "Small study", f"s.yaml:3:1: id must be {SHORT_NAME}; got 'Small study'"),
        ("small-study", "12", "s.yaml:3:1: id must be text (put quotes around it); got 12"),
        ("The maintainers", "''", "s.yaml:9:3: evaluator.name must not be empty; got ''"),
        ("weights\n", "[weights]\n", "s.yaml:11:3: evaluator.access must be text; got ['weights']"),
        (
            "independent",
            "indipendent",
            "s.yaml:10:3: evaluator.relation must be one of independent, contracted, developer, "
            "same_organisation, other (did you mean 'independent'?); got 'indipendent'",
        ),
        (
            "kind: path",
            "kind: pth",
            "s.yaml:18:14: models.0.source.kind must be one of hub, path, package (did you mean 'path'?); "
            "got 'pth'",
        ),
        (
            "{kind: path, path: model}",
            "{path: model}",
            "s.yaml:18:13: models.0.source.kind must be one of hub, path, package; got nothing",
        ),
        (
            "{kind: path, path: model}",
            "{kind: hub, repo: a/b, revision: main}",
            "s.yaml:18:36: models.0.source.revision must be a commit (40 lower-case hexadecimal digits; "
            "a branch or tag may change later); got 'main'",
        ),
        (
            "{kind: path, path: model}",
            "model",
            "s.yaml:18:5: models.0.source must be a mapping of keys to values; got 'model'",
        ),
        ("bits: 4", "bits: 9", "s.yaml:22:15: models.1.weights.bits must be at most 8; got 9"),
        ("twins: true", "twins: yes", "s.yaml:32:3: items.twins must be true or false; got 'yes'"),
        (
            ", cluster: twin",
            "",
            "s.yaml:29:11: items.fields.cluster must name the twin's column where twins is true; got",
        ),
        (
            "count: 1",
            "count: 3",
            "s.yaml:45:5: factors.1.exemplars must be at least 3, the largest count; got 1",
        ),
        (
            "id: plain}",
            "id: plain, prompt: hello}",
            "s.yaml:39:34: factors.0.levels.0.prompt must hold {prompt} exactly once; got 'hello'",
        ),
        ("[sum, mean, byte, pmi]", "[]", "s.yaml:48:5: factors.2.levels must not be empty; got []"),
        ("[sum, mean, byte, pmi]", "sum", "s.yaml:48:5: factors.2.levels must be a list; got 'sum'"),
        (
            "[sum, mean, byte",
            "[sum, mena, byte",
            f"s.yaml:48:19: factors.2.levels.1 must be {RULES} (did you mean 'mean'?); got 'mena'",
        ),
        (
            "primary: {template",
            "primary: {Template",
            f"s.yaml:50:11: primary.Template must have a key that is {SHORT_NAME}; got 'Template'",
        ),
        ("primary: {", "primary: [] #", "s.yaml:50:1: primary must be a mapping of keys to values; got []"),
        ("P6M", "6 months", f"s.yaml:65:5: evidence.validity.period must be {DURATION}; got '6 months'"),
        (
            "P6M",
            "P6",
            "s.yaml:65:5: evidence.validity.period must be an ISO 8601 duration such as P6M or P90D;",
        ),
        (
            "P6M",
            "P0D",
            "s.yaml:65:5: evidence.validity.period must be longer than nothing, such as P6M or P90D; got",
        ),
        ("0.05", "1.5", "s.yaml:77:77: evidence.claims.1.assertion.margin must be at most 1; got 1.5"),
        ("0.05", "small", "s.yaml:77:77: evidence.claims.1.assertion.margin must be a number; got 'small'"),
        (
            ", r: 8",
            "",
            "s.yaml:77:18: evidence.claims.1.assertion.r must be given with over: at_least, and only there",
        ),
        (
            "- id: order",
            "- id: loss",
            "s.yaml:67:3: evidence.claims must have unique ids; got ['loss', 'loss']",
        ),
        (
            "evaluator:\n",
            "analysis: {confidence: 1.0}\nevaluator:\n",
            "s.yaml:8:12: analysis.confidence must be less than 1; got 1.0",
        ),
        (
            "evaluator:\n",
            "analysis: {confidence: 0}\nevaluator:\n",
            "s.yaml:8:12: analysis.confidence must be more than 0; got 0",
        ),
        # What must hold between the parts:
        (
            "above: full",
            "above: ful",
            "s.yaml:72:7: evidence.claims.0.assertion must name declared models (did you mean 'full'?)",
        ),
        (
            "- id: rounded",
            "- id: full",
            "s.yaml:19:5: models.1.id must be unique within models; got 'full'",
        ),
        (
            "rule: mean}",
            "rule: meen}",
            f"s.yaml:50:40: primary.rule must be {RULES} (did you mean 'mean'?)",
        ),
        (
            "r: 8}",
            "r: 17}",
            "s.yaml:77:107: evidence.claims.1.assertion.r must be at most 16, the size of the",
        ),
    ],
)
def test_one_error_is_told_with_its_place(old: str, new: str, message: str) -> None:
    messages = _messages((old, new))
    assert messages[0].startswith(message)


def test_a_misspelt_key_is_one_error_and_not_also_a_missing_one() -> None:
    assert _messages(("title:", "titel:")) == [
        "s.yaml:5:1: titel must be a known key (did you mean 'title'?); got 'titel'"
    ]


def test_a_list_whose_only_element_is_wrong_is_not_also_called_empty() -> None:
    assert _messages(("languages: [en]", "languages: [EN]")) == [
        f"s.yaml:60:17: evidence.scope.languages.0 must be {SHORT_NAME}; got 'EN'"
    ]


def test_all_errors_come_at_once_in_the_order_of_their_places() -> None:
    messages = _messages(("version: 1", "version: x"), ("bits: 4", "bits: 1"), ("title:", "titel:"))
    assert [message.split(" ")[0] for message in messages] == [
        "s.yaml:4:1:",
        "s.yaml:5:1:",
        "s.yaml:22:15:",
    ]


def test_parts_are_compared_only_when_each_has_its_form() -> None:
    messages = _messages(("version: 1", "version: x"), ("rule: mean}", "rule: meen}"))
    assert messages == ["s.yaml:4:1: version must be a whole number; got 'x'"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id: x\n", "s.yaml:1:1: schema must be given: safetyrepro/experiment/v1; got nothing"),
        ("- a\n", "s.yaml:1:1: the document must be a mapping of keys to values; got ['a']"),
        (
            "schema: safetyrepro/experiment/v9\n",
            "s.yaml:1:1: schema must be safetyrepro/experiment/v1; got",
        ),
        ("schema: 3\n", "s.yaml:1:1: schema must be safetyrepro/experiment/v1; got 3"),
    ],
)
def test_a_document_says_its_kind_first(text: str, message: str) -> None:
    with pytest.raises(InputErrors) as caught:
        parse_document(text, "s.yaml")
    assert caught.value.messages[0].startswith(message)
    assert len(caught.value.messages) == 1


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"none\.yaml: must be a readable file; got No such file or directory"
    ):
        load_experiment(tmp_path / "none.yaml")
    with pytest.raises(InputError, match="must be a readable file; got Is a directory"):
        load_document(tmp_path)


def test_messages_hold_no_words_of_the_library_that_checks() -> None:
    messages = "\n".join(
        _messages(
            ("version: 1", "version: x"),
            ("kind: path, path: model", "kind: x"),
            ("[sum, mean, byte, pmi]", "[1]"),
            ("twins: true", "twins: 3"),
            ("languages: [en]", "languages: {}"),
        )
    ).lower()
    for word in ("pydantic", "input should", "valid", "tuple", "dict", "http", "discriminator"):
        assert word not in messages


def _schemas(node: object) -> Iterator[dict[str, object]]:
    if isinstance(node, dict):
        if isinstance(node.get("type"), str):
            yield node
        for inner in node.values():
            yield from _schemas(inner)
    elif isinstance(node, list | tuple):
        for inner in node:
            yield from _schemas(inner)


_ERRORS_OF: dict[str, tuple[str, ...]] = {
    "bool": ("bool_type",),
    "dict": ("dict_type",),
    "float": ("float_type", "finite_number"),
    "int": ("int_type",),
    "literal": ("literal_error",),
    "model": ("model_type",),
    "str": ("string_type",),
    "tuple": ("tuple_type",),
}
_ERRORS_BY_CONSTRAINT: dict[tuple[str, str], str] = {
    ("str", "pattern"): "string_pattern_mismatch",
    ("str", "min_length"): "string_too_short",
    ("str", "max_length"): "string_too_long",
    ("tuple", "min_length"): "too_short",
    ("tuple", "max_length"): "too_long",
    ("dict", "min_length"): "too_short",
    **{
        (number, bound): error
        for number in ("int", "float")
        for bound, error in {
            "ge": "greater_than_equal",
            "gt": "greater_than",
            "le": "less_than_equal",
            "lt": "less_than",
        }.items()
    },
}
_NO_ERRORS_OF_THEIR_OWN = {
    "default",
    "definition-ref",
    "definitions",
    "function-after",
    "no-info",
    "model-field",
    "model-fields",
    "nullable",
    "tagged-union",
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.schema)
def test_every_error_the_models_can_raise_has_words_of_ours(kind: Kind[Document]) -> None:
    for schema in _schemas(kind.model.__pydantic_core_schema__):
        name = str(schema["type"])
        if name in _NO_ERRORS_OF_THEIR_OWN:
            continue
        assert set(_ERRORS_OF[name]) <= set(_WORDS), name
        for constraint in ("pattern", "min_length", "max_length", "ge", "gt", "le", "lt"):
            if constraint in schema:
                assert _ERRORS_BY_CONSTRAINT[name, constraint] in _WORDS
        if "pattern" in schema:
            assert schema["pattern"] in PATTERNS


def test_the_model_of_a_kind_is_what_its_schema_line_says() -> None:
    assert KINDS["safetyrepro/experiment/v1"].model is Experiment
    assert [kind.file_name for kind in KINDS.values()] == ["experiment-v1.json"]
