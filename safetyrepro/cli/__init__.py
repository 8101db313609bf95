"""The command line: each command is one module, imported only when it is called.

A command module `cli/<name>.py` holds either a function `command` or, for a command with
commands of its own, a `typer.Typer` named `app`. Its one line in the table below is what
`--help` lists, so that listing imports nothing.
"""

from __future__ import annotations

import inspect
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, NoReturn

import typer

from safetyrepro import __version__
from safetyrepro.cli.exits import MEANINGS, Exit
from safetyrepro.errors import InputErrors, SafetyReproError


@dataclass(frozen=True, slots=True)
class Command:
    """A command as `--help` lists it."""

    name: str
    summary: str
    panel: str


_SPEC, _RUN, _REPORT = "Write a spec", "Run it", "Report and verify"

COMMANDS: tuple[Command, ...] = (
    Command("init", "Write a commented spec file to start from.", _SPEC),
    Command("validate", "Check the form of spec files: every error at once, with its place.", _SPEC),
    Command(
        "plan",
        "Count what a run will cost: cells, passes, tokens, about how long, how much memory. Runs nothing.",
        _RUN,
    ),
    Command(
        "check",
        "List what may not be claimed: every finding of a spec, a bundle or a report, with its remedy.",
        _SPEC,
    ),
    Command(
        "ceiling",
        "Say how far a run without a failure can move belief, at most: the ceiling of a null result.",
        _SPEC,
    ),
    Command(
        "selfcheck",
        "Score a few built-in texts in every way, and print how far each is from one sequence at a time.",
        _RUN,
    ),
    Command("run", "Run a spec: score what is missing, analyse, and leave a bundle.", _RUN),
    Command(
        "ranks",
        "Does a ranking survive the harness? From anybody's scores, without a spec and without a model.",
        _RUN,
    ),
    Command(
        "report",
        "Write the report of a bundle: report.pdf, report.html, report.json, and their signatures.",
        _REPORT,
    ),
    Command(
        "verify",
        "Say whether a report is genuine and in force, from the file and your trust file alone, offline.",
        _REPORT,
    ),
    Command(
        "recompute",
        "Compute every number and verdict of a report again from its stored rows, and compare.",
        _REPORT,
    ),
    Command(
        "preregister",
        "Sign a plan before the run: claims, primary configuration, analysis, items and models.",
        _REPORT,
    ),
    Command("revoke", "Take a report back: append a signed notice to a file that you publish.", _REPORT),
    Command(
        "supersede",
        "Replace a report by another: append a signed notice to a file that you publish.",
        _REPORT,
    ),
    Command("keys", "Signing identities, and whom to trust.", _REPORT),
    Command("schema", "Write the JSON Schemas that editors complete spec files with.", _SPEC),
)

_EPILOG = "\n".join(["Exit codes", *(f"{code.value:>3}  {meaning}" for code, meaning in MEANINGS.items())])

_BUG = (
    "This is a bug in safetyrepro, not in your input. Please report it with the lines above, the command, "
    f"and these versions: safetyrepro {__version__}, Python {sys.version.split()[0]}."
)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and end the process with its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    code = execute(given)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = Exit.PIPE_CLOSED
    if code == Exit.PIPE_CLOSED:
        # What is still buffered has no reader; without this the interpreter complains while it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(int(code))


def execute(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; every exception becomes one."""
    try:
        _application(arguments)(args=list(arguments), prog_name="safetyrepro", standalone_mode=True)
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else int(Exit.CLEAN)
    except InputErrors as error:
        _print_errors(error.messages)
        return Exit.REFUSED
    except SafetyReproError as error:
        _print_errors([str(error)])
        return Exit.REFUSED
    except BrokenPipeError:
        return Exit.PIPE_CLOSED
    except KeyboardInterrupt:
        _print_errors(["interrupted"])
        return Exit.INTERRUPTED
    except Exception:  # noqa: BLE001  the last resort: say that it is our bug, with everything known
        traceback.print_exc()
        _print_errors([_BUG])
        return Exit.BUG
    return Exit.CLEAN


def _print_errors(messages: Sequence[str]) -> None:
    from safetyrepro.cli.console import say_messages

    say_messages(messages)


def _application(arguments: Sequence[str]) -> typer.Typer:
    """All commands by name and summary, and in full only the one that is called."""
    application = typer.Typer(
        name="safetyrepro",
        help="Evaluation claims that carry their evidence: write a spec, run it, sign a report, verify it.",
        epilog=_EPILOG,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    application.callback()(_options)
    wanted = next((argument for argument in arguments if not argument.startswith("-")), None)
    for command in COMMANDS:
        if command.name == wanted:
            _add(application, command)
        else:
            application.command(command.name, help=command.summary, rich_help_panel=command.panel)(
                _not_called
            )
    return application


def _add(application: typer.Typer, command: Command) -> None:
    module = import_module(f"safetyrepro.cli.{command.name}")
    inner: typer.Typer | None = getattr(module, "app", None)
    if inner is not None:
        for registered in inner.registered_commands:
            registered.help = _reflowed(registered.callback)
        application.add_typer(inner, name=command.name, rich_help_panel=command.panel)
    else:
        function: Callable[..., None] = module.command
        application.command(command.name, help=_reflowed(function), rich_help_panel=command.panel)(function)


def _reflowed(function: Callable[..., object] | None) -> str:
    """A docstring with one line a paragraph, so that help is broken where the terminal ends."""
    paragraphs = (inspect.getdoc(function) or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _not_called() -> None:
    raise AssertionError("only the command that was named is ever called")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"safetyrepro {__version__}")
        raise typer.Exit()


def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and end."
        ),
    ] = False,
) -> None:
    pass
