"""What must hold before the first forward pass: hours of scoring must not end in a refusal."""

from __future__ import annotations

from collections.abc import Iterator

from safetyrepro.analysis.analyse import check_analysis
from safetyrepro.canonical import digest_json
from safetyrepro.data.records import item_record
from safetyrepro.data.sources import ItemSet
from safetyrepro.errors import InputErrors, must_be
from safetyrepro.spec.consistency import check_experiment
from safetyrepro.spec.envelope import passes
from safetyrepro.spec.experiment import Experiment


def scaffold_digest(experiment: Experiment) -> str:
    """The digest of every prompt frame of the envelope: templates, system prompts, exemplars."""
    return digest_json(sorted({one.frame.digest() for one in passes(experiment).values()}))


def check_readiness(experiment: Experiment, *, items: ItemSet) -> None:
    """Refuse what could not be analysed once it is scored.

    Raises:
        InputErrors: the parts of the spec do not fit together, or do not fit the items; there are no
            items; the scaffold is not the one that the spec expects.
    """
    check_experiment(experiment)
    messages = list(_messages(experiment, items))
    if messages:
        raise InputErrors(messages)
    check_analysis(experiment, items=[item_record(item) for item in items.items])


def _messages(experiment: Experiment, items: ItemSet) -> Iterator[str]:
    if not items.items:
        yield must_be("items", "there must be at least one item", 0)
    expected, found = experiment.scaffold.sha256, scaffold_digest(experiment)
    if expected is not None and expected != found:
        yield f"scaffold.sha256: must be the digest of the frames, {found}; got {expected}"
