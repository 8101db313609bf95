"""What must hold in the whole repository, whoever changes it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from safetyrepro.cli import COMMANDS, Command
from safetyrepro.resources import resource_dir
from safetyrepro.spec.load import load_document

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "safetyrepro"
MODULES = sorted(PACKAGE.rglob("*.py"))
SPECS = sorted((ROOT / "specs").rglob("*.yaml"))
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MOST_LINES = 400


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _committed() -> Iterator[Path]:
    """Every file that git knows or would take; in an export without git, every file of ours."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode == 0:
        yield from (ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file())
    else:
        folders = ("safetyrepro", "tests", "specs", "schemas", "reports", "docs", "benchmarks")
        yield from (path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file())


def _texts() -> Iterator[tuple[Path, str]]:
    for path in _committed():
        data = path.read_bytes()
        if b"\0" not in data[:8192]:
            yield path, data.decode("utf-8", errors="replace")


@pytest.mark.parametrize("path", SPECS, ids=_name)
def test_every_spec_is_valid(path: Path) -> None:
    assert load_document(path).path == path


def test_there_are_specs_of_the_worked_example_and_of_public_sets() -> None:
    assert {_name(path) for path in SPECS} >= {
        "specs/quickstart/experiment.yaml",
        "specs/pairwise-reference-alignment.yaml",
        "specs/llmbar.yaml",
        "specs/hh-rlhf.yaml",
    }


def test_the_import_contracts_hold() -> None:
    done = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-logo"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_is_in_the_readme(command: Command) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.search(rf"\bsafetyrepro {re.escape(command.name)}\b", readme)


def test_no_module_is_too_long_to_hold_one_idea() -> None:
    long = {
        _name(path): lines
        for path in MODULES
        if (lines := len(path.read_text("utf-8").splitlines())) > MOST_LINES
    }
    assert long == {}


def test_every_module_says_what_it_is_for() -> None:
    bare = [
        _name(path)
        for path in MODULES
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert bare == []


def test_no_module_is_a_drawer_for_odds_and_ends() -> None:
    names = {"utils", "util", "common", "helpers", "helper", "manager", "misc"}
    assert [_name(path) for path in MODULES if path.stem in names or path.parent.name in names] == []


def test_nothing_is_left_undone() -> None:
    marks = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X|raise NotImpl" + r"ementedError)\b")
    places = [
        f"{_name(path)}:{number}"
        for path, text in _texts()
        if path.suffix in (".py", ".md", ".yaml", ".toml", ".j2", ".css", ".js") or path.name == "Makefile"
        for number, line in enumerate(text.splitlines(), start=1)
        if marks.search(line)
    ]
    assert places == []


def test_no_file_knows_the_machine_it_was_written_on() -> None:
    folders = ("/ro" + "ot/", "/ho" + "me/", "/Us" + "ers/", "/wo" + "rk/", f"{ROOT}/")
    places = [f"{_name(path)}: {folder}" for path, text in _texts() for folder in folders if folder in text]
    assert places == []


def test_no_file_names_where_packages_or_models_are_kept() -> None:
    hosts = ("pypi" + ".org", "pythonhosted" + ".org", "download.pytorch" + ".org", "huggingface" + ".co")
    places = [f"{_name(path)}: {host}" for path, text in _texts() for host in hosts if host in text]
    assert places == []


def test_what_ships_is_named_in_the_build_and_found_at_run_time() -> None:
    wheel = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["packages"] == ["safetyrepro"]
    for folder, place in wheel["force-include"].items():
        assert (ROOT / folder).is_dir()
        assert place == f"safetyrepro/_files/{folder}"
        assert resource_dir(folder) == ROOT / folder
        assert any(path.is_file() for path in (ROOT / folder).rglob("*"))


def test_a_folder_that_does_not_ship_is_missed_loudly() -> None:
    with pytest.raises(FileNotFoundError, match="without its folder 'nowhere'"):
        resource_dir("nowhere")


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node


LIBRARY = [path for path in MODULES if "cli" not in path.relative_to(PACKAGE).parts]


# Whose parameters have one natural order: a message's parts, a drawing's coordinates, a generator's names.
IN_ORDER = {
    "safetyrepro/errors.py": {"must_be"},
    "safetyrepro/findings.py": {"finding"},
    "safetyrepro/rng.py": {"generator"},
    "safetyrepro/data/tables.py": {"add"},
    "safetyrepro/report/figures/marks.py": {"series_mark", "side_cell"},
    "safetyrepro/report/figures/svg.py": {"box", "disc", "element", "label", "line"},
}


def test_public_functions_take_at_most_two_positional_parameters_and_no_kwargs() -> None:
    places = []
    for path in LIBRARY:
        for function in _functions(ast.parse(path.read_text(encoding="utf-8"))):
            positional = {one.arg for one in function.args.posonlyargs + function.args.args} - {
                "self",
                "cls",
            }
            in_order = function.name in IN_ORDER.get(_name(path), ())
            if function.args.kwarg is not None or (len(positional) > 2 and not in_order):
                places.append(f"{_name(path)}:{function.lineno} {function.name}")
    assert places == []


def test_public_signatures_say_their_types() -> None:
    places = []
    for path in LIBRARY:
        for function in _functions(ast.parse(path.read_text(encoding="utf-8"))):
            arguments = function.args.posonlyargs + function.args.args + function.args.kwonlyargs
            hints = [one.annotation for one in arguments] + [function.returns]
            if any(
                isinstance(part, ast.Name) and part.id == "Any"
                for hint in hints
                if hint
                for part in ast.walk(hint)
            ):
                places.append(f"{_name(path)}:{function.lineno} {function.name}")
    assert places == []


def test_library_code_neither_exits_nor_warns() -> None:
    calls = {("sys", "exit"), ("os", "_exit"), ("warnings", "warn")}
    places = [
        f"{_name(path)}:{node.lineno}"
        for path in LIBRARY
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and (node.func.value.id, node.func.attr) in calls
    ]
    assert places == []


def test_a_core_install_runs_every_command_that_needs_no_model() -> None:
    """Hides what only the extra `models` brings, then imports all commands and validates all specs."""
    code = """
import sys
from importlib import import_module

MODELS = ("torch", "transformers", "accelerate", "gguf", "safetensors", "datasets", "pyarrow")


class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in MODELS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Hidden())
from safetyrepro.cli import COMMANDS, execute

for command in COMMANDS:
    import_module(f"safetyrepro.cli.{command.name}")
assert not set(MODELS) & set(sys.modules)
sys.exit(execute(["validate", "specs"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
