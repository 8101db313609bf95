"""What happened since a report was signed: notices about it, changes under it, runs that repeat it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from safetyrepro.attest.statement import PredicateType
from safetyrepro.attest.trust import SignerStanding, TrustStore
from safetyrepro.data.bundle import parse_document
from safetyrepro.data.manifest import Manifest
from safetyrepro.errors import InputError
from safetyrepro.report.currency import Against, TriggerState, find_changes, trigger_checks
from safetyrepro.report.notices import (
    contamination_states,
    judge_notices,
    parse_notices,
    report_subjects,
)
from safetyrepro.report.predicate import MANIFEST_FILE, PREREGISTRATION_FILE, SPEC_FILE
from safetyrepro.report.preregistration import check_preregistration
from safetyrepro.report.signed import backing, read_word
from safetyrepro.report.statements import ReproductionPredicate
from safetyrepro.report.verdicts import ShownReproduction, Verdict
from safetyrepro.report.verify_content import Content
from safetyrepro.report.verify_signers import Judged
from safetyrepro.spec.load import parse_experiment


@dataclass(frozen=True, slots=True)
class Later:
    """Checks with the state that a failure means, and the reproductions at hand."""

    judged: tuple[Judged, ...]
    reproductions: tuple[ShownReproduction, ...]


def judge_later(
    content: Content,
    *,
    files: Mapping[str, bytes],
    trust: TrustStore | None,
    signers: Sequence[SignerStanding],
    against: Sequence[Against],
    notices: Sequence[tuple[str, bytes]],
    reproductions: Sequence[tuple[str, bytes]],
) -> Later:
    """Everything that is asked only of a genuine report.

    Raises:
        InputError: a file of notices, or something to hold the report against, that cannot be read.
    """
    known = tuple(one for name, data in notices for one in parse_notices(data, name=name))
    subjects = report_subjects(files)
    people = frozenset(one.principal for one in signers if one.trusted and one.principal is not None)
    states: list[TriggerState] = []
    if MANIFEST_FILE in files and SPEC_FILE in files:
        manifest = parse_document(files[MANIFEST_FILE], Manifest, where=MANIFEST_FILE)
        experiment = parse_experiment(files[SPEC_FILE], SPEC_FILE)
        for one in against:
            states += find_changes(one, experiment=experiment, manifest=manifest)
        states += contamination_states(known, items_digest=manifest.items_digest, trust=trust)
    triggers = trigger_checks(content.report.window.triggers, states, asked=bool(against))
    return Later(
        judged=(
            *_preregistration(files, trust=trust),
            *judge_notices(known, subjects=subjects, signers=people, trust=trust),
            *((check, Verdict.STALE) for check in triggers),
        ),
        reproductions=tuple(
            _reproduction(name, data=data, subjects=subjects, trust=trust) for name, data in reproductions
        ),
    )


def _preregistration(files: Mapping[str, bytes], *, trust: TrustStore | None) -> Iterator[Judged]:
    if PREREGISTRATION_FILE in files and SPEC_FILE in files and MANIFEST_FILE in files:
        yield check_preregistration(files, trust=trust), Verdict.TAMPERED


def _reproduction(
    name: str, *, data: bytes, subjects: Mapping[str, str], trust: TrustStore | None
) -> ShownReproduction:
    kinds = {PredicateType.REPRODUCTION: ReproductionPredicate}
    try:
        signed = read_word(data, kinds=kinds, where=name)
    except InputError as error:
        return ShownReproduction(name, None, False, None, str(error))
    word = signed.word
    if any(signed.subjects.get(one) != digest for one, digest in subjects.items()):
        return ShownReproduction(name, None, False, None, f"is of another report, {word.report}")
    behind = backing(signed, trust=trust)
    by = ", ".join(behind.principals) or None
    first = "" if word.first_difference is None else f"; first difference: {word.first_difference}"
    compared = f"{word.estimates} estimates, {word.differing} beyond {word.tolerance}{first}"
    detail = f"{compared}; {behind.detail}"
    return ShownReproduction(name, by, behind.trusted, word.outcome, detail)
