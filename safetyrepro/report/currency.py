"""Has anything that a report depends on changed since? The recorded digests against what is there now.

Held against a spec, a model or an item file, each trigger of the report's window comes out as changed, as
unchanged, or as not known, with the reason: a trigger that could not be looked at is not one that did not
fire. File digests need nothing but the file; a tokenizer must be loaded, which needs the extra `models`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from safetyrepro.attest.check import Check, failed, not_checked, passed
from safetyrepro.canonical import digest_file, digest_json
from safetyrepro.data.manifest import Manifest, ModelDigests
from safetyrepro.data.sources import read_items
from safetyrepro.errors import InputError, MissingExtraError, StorageError
from safetyrepro.run.readiness import scaffold_digest
from safetyrepro.score import local
from safetyrepro.score.backend import SCORING_VERSION
from safetyrepro.score.local.files import find_weights
from safetyrepro.spec.envelope import passes
from safetyrepro.spec.evidence import Trigger
from safetyrepro.spec.experiment import Experiment
from safetyrepro.spec.load import load_experiment
from safetyrepro.spec.models import HubModel, ModelSource, PathModel

Change = Literal["changed", "unchanged", "not known"]
_SPEC_SUFFIXES = (".yaml", ".yml")
_RANK: dict[Change, int] = {"changed": 0, "not known": 1, "unchanged": 2}


@dataclass(frozen=True, slots=True)
class TriggerState:
    """What became of one trigger, and how that is known."""

    trigger: Trigger
    change: Change
    detail: str


@dataclass(frozen=True, slots=True)
class Against:
    """What a report is held against: a spec, a model (folder or GGUF file) or an item file."""

    path: Path
    data_dir: Path | None = None
    """For a spec: where its item files are; absent: beside it."""


def find_changes(
    against: Against, *, experiment: Experiment, manifest: Manifest
) -> tuple[TriggerState, ...]:
    """What changed between the recorded run and what `against` names.

    Args:
        against: what there is now.
        experiment: the report's own spec.
        manifest: the report's manifest.

    Raises:
        InputError: nothing there, or a spec that cannot be read.
    """
    path = against.path
    if path.is_dir() or path.suffix.lower() == ".gguf":
        return tuple(_model(path, manifest=manifest))
    if path.suffix.lower() in _SPEC_SUFFIXES:
        now = load_experiment(path).document
        return tuple(_spec(now, against=against, experiment=experiment, manifest=manifest))
    return (_item_file(path, manifest=manifest),)


def trigger_checks(
    declared: Iterable[str], states: Sequence[TriggerState], *, asked: bool
) -> Iterator[Check]:
    """One check a declared trigger, then what changed although no trigger names it.

    Args:
        declared: the triggers of the report's window.
        states: what was found, by all that the report was held against.
        asked: whether it was held against anything.
    """
    named = tuple(declared)
    for trigger in named:
        found = sorted((one for one in states if one.trigger == trigger), key=lambda one: _RANK[one.change])
        name = f"trigger {trigger}"
        if not found:
            reason = "not among what it was held against" if asked else "not asked: give --against"
            yield not_checked(name, reason)
        elif found[0].change == "changed":
            yield failed(name, found[0].detail)
        elif found[0].change == "not known":
            yield not_checked(name, found[0].detail)
        else:
            yield passed(name, "; ".join(dict.fromkeys(one.detail for one in found)))
    for one in states:
        if one.trigger not in named and one.change == "changed":
            yield not_checked(f"change of {one.trigger}", f"{one.detail}; the report names no such trigger")


def _state(trigger: Trigger, same: bool, detail: str) -> TriggerState:
    return TriggerState(trigger, "unchanged" if same else "changed", detail)


def _against_digest(trigger: Trigger, what: str, *, recorded: str | None, now: str | None) -> TriggerState:
    same = recorded == now
    detail = f"{what}: as recorded" if same else f"{what}: recorded {_short(recorded)}, now {_short(now)}"
    return _state(trigger, same, detail)


def _short(digest: str | None) -> str:
    return "none" if digest is None else digest[:19]


def _model(path: Path, *, manifest: Manifest) -> Iterator[TriggerState]:
    """A model without a name: it is one of the report's if it has one's weights."""
    source = PathModel(kind="path", path=str(path))
    _, weights = find_weights(source, base_dir=Path())
    known = [one for one in manifest.models if one.weights == weights]
    names = ", ".join(one.model for one in known)
    yield _state(
        "model_weights",
        bool(known),
        f"{path.name}: the weights of {names}"
        if known
        else f"{path.name}: {_short(weights)}, which no model of the report had",
    )
    tokenizers = known or list(manifest.models)
    yield from _tokenizer(source, path.name, recorded=tokenizers, base_dir=Path())


def _tokenizer(
    source: ModelSource, name: str, *, recorded: Sequence[ModelDigests], base_dir: Path
) -> Iterator[TriggerState]:
    try:
        found = local.load_tokenizer(source, base_dir=base_dir)
    except (MissingExtraError, InputError, StorageError) as error:
        yield TriggerState("tokenizer", "not known", f"{name}: {error}")
        yield TriggerState("template", "not known", f"{name}: {error}")
        return
    same = any(one.tokenizer == found.digest for one in recorded)
    yield _state("tokenizer", same, f"{name}: tokenizer {'as recorded' if same else 'is another'}")
    same = any(one.template == found.template_digest for one in recorded)
    yield _state("template", same, f"{name}: chat template {'as recorded' if same else 'is another'}")


def _item_file(path: Path, *, manifest: Manifest) -> TriggerState:
    try:
        now = digest_file(path)
    except OSError as error:
        raise InputError(f"{path}: must be a readable file; {error.strerror or error}") from error
    if manifest.items_file_digest is None:
        return TriggerState(
            "data_revision", "not known", f"{path.name}: the report's items were not a file"
        )
    return _against_digest("data_revision", path.name, recorded=manifest.items_file_digest, now=now)


def _spec(
    now: Experiment, *, against: Against, experiment: Experiment, manifest: Manifest
) -> Iterator[TriggerState]:
    base_dir = against.path.parent
    yield _templates(now, experiment=experiment)
    yield _against_digest(
        "scaffold", "prompt frames", recorded=manifest.scaffold_digest, now=scaffold_digest(now)
    )
    yield from _scorer(now, experiment=experiment, manifest=manifest)
    yield TriggerState("rubric", "not known", "an experiment has no rubric")
    yield _items(now, against=against, manifest=manifest)
    models = {one.id: one for one in now.models}
    done: set[str] = set()
    for recorded in manifest.models:
        model = models.get(recorded.model)
        if model is None:
            yield _state("model_weights", False, f"{recorded.model}: the spec has no such model any more")
            continue
        key = digest_json([model.source.model_dump(mode="json"), recorded.weights, recorded.tokenizer])
        if key in done:
            continue
        done.add(key)
        yield _weights(model.source, recorded=recorded, base_dir=base_dir)
        yield from _tokenizer(model.source, recorded.model, recorded=[recorded], base_dir=base_dir)


def _templates(now: Experiment, *, experiment: Experiment) -> TriggerState:
    def levels(one: Experiment) -> list[str]:
        dumps = (part.frame.template.model_dump(mode="json") for part in passes(one).values())
        return sorted({digest_json(dump) for dump in dumps})

    same = levels(now) == levels(experiment)
    return _state("template", same, f"the spec's templates {'are as recorded' if same else 'are others'}")


def _scorer(now: Experiment, *, experiment: Experiment, manifest: Manifest) -> Iterator[TriggerState]:
    same = now.scorer == experiment.scorer
    yield _state("scorer", same, f"the spec's scorer {'is as recorded' if same else 'is another'}")
    recorded = manifest.versions.scoring
    if recorded is None:
        yield TriggerState("scorer", "not known", "the report does not record the version of its scoring")
    else:
        yield _state(
            "scorer", recorded == SCORING_VERSION, f"scoring version {recorded}, here {SCORING_VERSION}"
        )


def _items(now: Experiment, *, against: Against, manifest: Manifest) -> TriggerState:
    try:
        found = read_items(now, base_dir=against.path.parent, data_dir=against.data_dir)
    except (MissingExtraError, InputError) as error:
        return TriggerState("data_revision", "not known", f"the items cannot be read: {error}")
    return _against_digest("data_revision", "items", recorded=manifest.items_digest, now=found.digest)


def _weights(source: ModelSource, *, recorded: ModelDigests, base_dir: Path) -> TriggerState:
    try:
        if isinstance(source, HubModel):
            now = local.weights_digest(source, base_dir=base_dir)
        else:
            _, now = find_weights(source, base_dir=base_dir)
    except (MissingExtraError, InputError, StorageError) as error:
        return TriggerState("model_weights", "not known", f"{recorded.model}: {error}")
    return _against_digest(
        "model_weights", f"{recorded.model}: weights", recorded=recorded.weights, now=now
    )
