"""`safetyrepro selfcheck`: does packing change a score of this model, on this machine?"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.table import Table

from safetyrepro.cli.console import say, stdout
from safetyrepro.cli.exits import Exit
from safetyrepro.errors import InputError
from safetyrepro.run.loader import LocalLoader
from safetyrepro.score.local import default_cache_dir
from safetyrepro.score.selfcheck import SelfCheck, self_check
from safetyrepro.spec.envelope import passes
from safetyrepro.spec.experiment import Device
from safetyrepro.spec.load import load_experiment
from safetyrepro.spec.models import Dtype, ModelSource, PackageModel, PathModel, WeightRounding

_SPEC_SUFFIXES = (".yaml", ".yml")


def command(
    model: Annotated[
        str,
        typer.Argument(
            help="A spec file, a model folder, a .gguf file, or PACKAGE:FILE.", show_default=False
        ),
    ],
    dtype: Annotated[
        str, typer.Option("--dtype", help="float32, bfloat16 or float16; a spec's models bring their own.")
    ] = "float32",
    token_budget: Annotated[
        int | None,
        typer.Option("--token-budget", min=16, help="Tokens a forward pass; absent: the device's."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the checks as one JSON object.")] = False,
) -> None:
    """Score a few built-in texts in every way, and print how far each is from one sequence at a time.

    A run does this by itself before it scores, and takes the plain path where the packed one does not hold.
    Differences are in nats a token; a sign flip is a pair of answers that changes its order. Ends with exit
    code 1 if packing does not hold, or another check fails.

    Example: safetyrepro selfcheck specs/quickstart/experiment.yaml
    """
    checks = _spec_checks(Path(model), token_budget) if model.endswith(_SPEC_SUFFIXES) else {}
    if not checks:
        source, device = _source(model), Device(name="auto", token_budget=token_budget)
        checks = {
            model: _check(source, dtype=_dtype(dtype), rounding=None, device=device, base_dir=Path.cwd())
        }
    if as_json:
        say(json.dumps({name: asdict(check) for name, check in checks.items()}, indent=2))
    else:
        for name, check in checks.items():
            _print(name, check)
    held = all(one.held for check in checks.values() for one in check.checks)
    raise typer.Exit(Exit.CLEAN if held else Exit.FINDINGS)


def _spec_checks(spec: Path, token_budget: int | None) -> dict[str, SelfCheck]:
    """Every distinct loading (source, dtype, rounding) that a run of the spec would do."""
    experiment = load_experiment(spec).document
    device = experiment.device
    if token_budget is not None:
        device = device.model_copy(update={"token_budget": token_budget})
    checks: dict[str, SelfCheck] = {}
    seen: set[tuple[str, str]] = set()
    for one in passes(experiment).values():
        name = f"{one.model.name}, {one.dtype}"
        if one.rounding is not None:
            name += f", rounded to {one.rounding.bits} bits in groups of {one.rounding.group}"
        key = (one.model.source.model_dump_json(), name.removeprefix(one.model.name))
        if key not in seen:
            seen.add(key)
            checks[name] = _check(
                one.model.source,
                dtype=one.dtype,
                rounding=one.rounding,
                device=device,
                base_dir=spec.parent,
            )
    return checks


def _check(
    source: ModelSource, *, dtype: Dtype, rounding: WeightRounding | None, device: Device, base_dir: Path
) -> SelfCheck:
    backend = LocalLoader(default_cache_dir()).load(
        source, dtype=dtype, rounding=rounding, device=device, base_dir=base_dir
    )
    return self_check(backend, token_budget=device.token_budget)


def _source(model: str) -> ModelSource:
    """The source that an argument names: an existing path, or else a package and a file in it."""
    package, colon, file = model.partition(":")
    if colon and not Path(model).exists():
        if not package.isidentifier() or not file:
            raise InputError(
                f"MODEL: must be PACKAGE:FILE, a folder, a .gguf file or a spec; got {model!r}"
            )
        return PackageModel(kind="package", package=package, file=file)
    return PathModel(kind="path", path=str(Path(model).absolute()))


def _dtype(name: str) -> Dtype:
    known: tuple[Literal["float32", "bfloat16", "float16"], ...] = ("float32", "bfloat16", "float16")
    for one in known:
        if name == one:
            return one
    raise InputError(f"--dtype: must be one of {', '.join(known)}; got {name!r}")


def _print(name: str, check: SelfCheck) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("check")
    for title in ("nats a token", "sign flips", "held"):
        table.add_column(title, justify="right")
    for one in check.checks:
        difference = "" if one.largest_nats is None else f"{one.largest_nats:.2g}"
        flips = "" if one.largest_nats is None else str(one.sign_flips)
        table.add_row(one.name, difference, flips, "yes" if one.held else "NO")
    say(f"{name} ({check.model}, tolerance {check.tolerance_nats:.2g} nats a token)")
    stdout().print(table)
    say(f"a run takes the {check.path} path")
    for found in check.findings:
        say(f"{found.code}: {found.detail}")
