"""The command line as a whole: what it imports, how it ends, what it lists."""

from __future__ import annotations

import ast
import json
import os
import re
import resource
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import typer

from safetyrepro import cli, errors
from safetyrepro.cli import COMMANDS, console, exits
from safetyrepro.cli.exits import Exit

ROOT = Path(__file__).resolve().parents[2]
HEAVY = (
    "torch",
    "transformers",
    "datasets",
    "weasyprint",
    "pyhanko",
    "inspect_ai",
    "numpy",
    "scipy",
    "pydantic",
    "yaml",
    "cryptography",
    "jinja2",
)


def _python(*arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from safetyrepro.cli import execute\n"
        "code = execute(['--help'])\n"
        f"print('IMPORTED', [name for name in {HEAVY!r} if name in sys.modules])\n"
        "sys.exit(code)\n"
    )
    done = _python("-c", code)
    assert done.returncode == 0, done.stderr
    assert "IMPORTED []" in done.stdout


def test_help_takes_less_than_four_tenths_of_a_second() -> None:
    def seconds() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert _python("-m", "safetyrepro", "--help").returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    # Processor time, the best of several: what else the machine does is not what is measured.
    assert min(seconds() for _ in range(5)) < 0.4


def test_help_lists_every_command_and_every_exit_code() -> None:
    text = _python("-m", "safetyrepro", "--help", env={"COLUMNS": "200"}).stdout
    for command in COMMANDS:
        assert f" {command.name} " in text
        assert command.summary in text
    for code in Exit:
        assert re.search(rf"\n +{code.value}  {re.escape(exits.MEANINGS[code])} *\n", text)


def _is_command(path: Path) -> bool:
    names = {
        name
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        for name in (
            [node.name]
            if isinstance(node, ast.FunctionDef)
            else [target.id for target in node.targets if isinstance(target, ast.Name)]
            if isinstance(node, ast.Assign)
            else []
        )
    }
    return bool(names & {"command", "app"})


def test_the_table_of_commands_is_what_is_in_the_folder() -> None:
    found = {path.stem for path in (ROOT / "safetyrepro" / "cli").glob("*.py") if _is_command(path)}
    assert {command.name for command in COMMANDS} == found


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_says_in_one_line_what_help_lists_and_gives_an_example(command: cli.Command) -> None:
    module = import_module(f"safetyrepro.cli.{command.name}")
    if hasattr(module, "app"):
        assert str(module.app.info.help).splitlines()[0] == command.summary
        inner = {f"{command.name} {one.name}": one.callback for one in module.app.registered_commands}
        assert inner
    else:
        assert str(module.command.__doc__).splitlines()[0] == command.summary
        inner = {command.name: module.command}
    for name, function in inner.items():
        assert f"Example: safetyrepro {name} " in " ".join(str(function.__doc__).split()), name


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_a_module_of_a_command_is_short_and_parses(command: cli.Command) -> None:
    source = (ROOT / "safetyrepro" / "cli" / f"{command.name}.py").read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(source))
    assert len(source.splitlines()) <= 400


def test_an_unknown_command_is_refused_with_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.execute(["validat", "x"]) == Exit.REFUSED
    assert "Did you mean 'validate'?" in capsys.readouterr().err


def test_no_arguments_print_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.execute([]) == Exit.REFUSED
    text = capsys.readouterr()
    assert "Usage: safetyrepro" in text.out + text.err


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.execute(["--version"]) == Exit.CLEAN
    assert capsys.readouterr().out.startswith("safetyrepro ")


@pytest.mark.parametrize(
    ("raised", "code", "text"),
    [
        (errors.InputError("x must be y; got z"), Exit.REFUSED, "x must be y; got z"),
        (errors.InputErrors(["one", "two"]), Exit.REFUSED, "one\ntwo\n"),
        (errors.missing_extra("scoring", "models"), Exit.REFUSED, "pip install 'safetyrepro[models]'"),
        (errors.StorageError("no space"), Exit.REFUSED, "no space"),
        (errors.IntegrityError("cut short"), Exit.REFUSED, "cut short"),
        (KeyboardInterrupt(), Exit.INTERRUPTED, ""),
        (BrokenPipeError(), Exit.PIPE_CLOSED, ""),
        (ZeroDivisionError("oops"), Exit.BUG, "This is a bug in safetyrepro"),
        (typer.Exit(Exit.TAMPERED), Exit.TAMPERED, ""),
        (None, Exit.CLEAN, ""),
    ],
)
def test_every_way_a_command_ends_has_its_exit_code(
    raised: BaseException | None,
    code: Exit,
    text: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def command() -> None:
        """Do nothing but end."""
        if raised is not None:
            raise raised

    module = import_module("safetyrepro.cli.schema")
    monkeypatch.setattr(module, "command", command)
    assert cli.execute(["schema"]) == code
    assert text in capsys.readouterr().err


def test_a_message_from_a_file_is_not_read_as_markup(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def command() -> None:
        """Refuse."""
        raise errors.InputError("x must be y; got '[red]no[/red]' " + "long " * 60)

    monkeypatch.setattr(import_module("safetyrepro.cli.schema"), "command", command)
    monkeypatch.setenv("COLUMNS", "40")
    cli.execute(["schema"])
    text = capsys.readouterr().err
    assert "'[red]no[/red]'" in text
    assert text.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "printed", "line"),
    [
        ("plain ü – “text”", "plain ü – “text”", "plain ü – “text”"),
        ("\x1b[2Jclear\x07\r", "\\u001b[2Jclear\\u0007\\u000d", "\\u001b[2Jclear\\u0007\\u000d"),
        ("\x9b31m \x7f", "\\u009b31m \\u007f", "\\u009b31m \\u007f"),
        ("\u202eTNERRUC\u2028", "\\u202eTNERRUC\\u2028", "\\u202eTNERRUC\\u2028"),
        ("a\n\tCURRENT", "a\n\tCURRENT", "a\\n\\tCURRENT"),
    ],
)
def test_text_from_a_file_commands_no_terminal(
    text: str, printed: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (console.harmless(text), console.one_line(text)) == (printed, line)
    console.stdout.cache_clear()
    console.stderr.cache_clear()
    console.say(text.replace("\t", ""))
    console.say_error(text.replace("\t", ""))
    shown = capsys.readouterr()
    assert shown.out == shown.err == printed.replace("\t", "") + "\n"


def test_a_json_document_keeps_its_values_on_the_way_to_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    value = {"title": "".join(map(chr, range(256))) + "\u202e\u2028"}
    console.stdout.cache_clear()
    console.say(json.dumps(value, indent=2, ensure_ascii=False))
    assert json.loads(capsys.readouterr().out) == value


def test_help_is_broken_where_the_terminal_ends_and_not_where_the_source_does() -> None:
    done = _python(
        "-m", "safetyrepro", "keys", "new", "--help", env={"COLUMNS": "200", "TERMINAL_WIDTH": "200"}
    )
    assert (
        "to your readers, and the fingerprint by another way, so that they can compare it." in done.stdout
    )


def test_a_reader_that_goes_away_ends_the_program_quietly() -> None:
    command = f"{sys.executable} -m safetyrepro validate --json tests/spec/good.yaml"
    script = command + " | true; echo ${PIPESTATUS[0]}"
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.strip() in (str(Exit.PIPE_CLOSED.value), str(Exit.CLEAN.value))
    assert done.stderr == ""


def test_no_colour_is_written_where_it_is_not_wanted() -> None:
    done = _python("-m", "safetyrepro", "validate", "tests/spec", env={"NO_COLOR": "1", "FORCE_COLOR": "1"})
    assert done.returncode == 0
    assert "\x1b[3" not in done.stdout


def test_a_narrow_terminal_shows_the_whole_help() -> None:
    done = _python("-m", "safetyrepro", "--help", env={"COLUMNS": "40", "TERMINAL_WIDTH": "40"})
    assert done.returncode == 0
    for command in COMMANDS:
        assert command.name in done.stdout
