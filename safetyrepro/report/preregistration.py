"""A plan that is signed before the run, and what was run held against it.

The plan fixes what could be chosen after the fact: claims, primary configuration, envelope, analysis, items
and models. That it was signed before the run is its signer's word: without a trusted time the order of plan
and run is asserted, not proved, and every place that shows the comparison says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from safetyrepro.attest.check import Check, failed, not_checked, passed
from safetyrepro.attest.document import format_instant
from safetyrepro.attest.statement import PredicateType
from safetyrepro.attest.trust import TrustStore
from safetyrepro.canonical import digest_bytes, digest_json
from safetyrepro.claims.validity import parse_time
from safetyrepro.data.bundle import parse_document
from safetyrepro.data.manifest import Manifest
from safetyrepro.data.results import FindingRecord
from safetyrepro.errors import InputError
from safetyrepro.findings import finding
from safetyrepro.report.predicate import MANIFEST_FILE, PREREGISTRATION_FILE, SPEC_FILE
from safetyrepro.report.signed import SignedStatement, Signing, backing, read_word, sign_word
from safetyrepro.report.statements import PreregistrationPredicate
from safetyrepro.spec.envelope import envelope_digest
from safetyrepro.spec.experiment import Experiment
from safetyrepro.spec.load import parse_experiment
from safetyrepro.spec.models import Model

_ORDER = "that it was signed before the run is asserted by its signer, not proved"


@dataclass(frozen=True, slots=True)
class Planned:
    """The parts of a plan that a run can be held against."""

    claims: Mapping[str, object]
    parts: Mapping[str, object]


def preregistration(
    experiment: Experiment, *, spec: bytes, items_digest: str, issued_at: datetime, signing: Signing
) -> bytes:
    """The signed plan of an experiment as an envelope.

    Args:
        experiment: the document in `spec`.
        spec: the bytes of the spec file.
        items_digest: the digest of the items as they are now.
        issued_at: when it is signed.
        signing: who signs.
    """
    word = _word(experiment, items_digest=items_digest, issued_at=issued_at, signing=signing)
    subjects = {SPEC_FILE: digest_bytes(spec)}
    return sign_word(word, subjects=subjects, kind=PredicateType.PREREGISTRATION, signing=signing)


def read_preregistration(data: bytes, *, where: str) -> SignedStatement[PreregistrationPredicate]:
    """The plan in an envelope.

    Raises:
        InputError: it holds none.
    """
    kinds = {PredicateType.PREREGISTRATION: PreregistrationPredicate}
    return read_word(data, kinds=kinds, where=where)


def deviations(
    word: PreregistrationPredicate, *, experiment: Experiment, items_digest: str
) -> tuple[str, ...]:
    """In what the run differs from the plan, each in a few words; nothing where it does not."""
    planned, ran = _planned(word), _ran(experiment, items_digest=items_digest)
    return (*_claim_deviations(planned.claims, ran.claims), *_part_deviations(planned.parts, ran.parts))


def preregistration_findings(
    data: bytes, *, experiment: Experiment, manifest: Manifest
) -> tuple[FindingRecord, ...]:
    """What a report says about its plan: that there was one, and every deviation from it.

    Raises:
        InputError: the file holds no plan, or that of another spec.
    """
    word = read_preregistration(data, where=PREREGISTRATION_FILE).word
    if word.spec != experiment.id:
        raise InputError(f"{PREREGISTRATION_FILE}: must be of the spec {experiment.id}; got {word.spec}")
    who = ", ".join(one.principal for one in word.signers)
    told = f"signed by {who}, at {format_instant(word.issued_at)} by their word; {_ORDER}"
    found = [finding("SR401", PREREGISTRATION_FILE, told)]
    found += [
        finding("SR402", PREREGISTRATION_FILE, one)
        for one in deviations(word, experiment=experiment, items_digest=manifest.items_digest)
    ]
    if word.issued_at >= parse_time(manifest.collected_at, MANIFEST_FILE):
        late = f"signed at {format_instant(word.issued_at)}, evidence of {manifest.collected_at}"
        found.append(finding("SR403", PREREGISTRATION_FILE, late))
    return tuple(FindingRecord(code=one.code, where=one.where, detail=one.detail) for one in found)


def check_preregistration(files: Mapping[str, bytes], *, trust: TrustStore | None) -> Check:
    """The plan inside a report: whose it is, and whether the run is the one it describes."""
    name = "preregistered"
    try:
        signed = read_preregistration(files[PREREGISTRATION_FILE], where=PREREGISTRATION_FILE)
    except InputError as error:
        return failed(name, str(error))
    manifest = parse_document(files[MANIFEST_FILE], Manifest, where=MANIFEST_FILE)
    experiment = parse_experiment(files[SPEC_FILE], SPEC_FILE)
    found = deviations(signed.word, experiment=experiment, items_digest=manifest.items_digest)
    behind = backing(signed, trust=trust)
    outcome = f"deviates: {'; '.join(found)}" if found else "what ran is what was planned"
    detail = f"{outcome}; {behind.detail}; {_ORDER}"
    return passed(name, detail) if behind.trusted and not found else not_checked(name, detail)


def _word(
    experiment: Experiment, *, items_digest: str, issued_at: datetime, signing: Signing
) -> PreregistrationPredicate:
    return PreregistrationPredicate(
        schema_="safetyrepro/preregistration-predicate/v1",
        spec=experiment.id,
        version=experiment.version,
        claims=tuple(one.model_dump(mode="json", exclude_unset=True) for one in experiment.evidence.claims),
        primary=dict(experiment.primary),
        envelope=envelope_digest(experiment),
        analysis=experiment.analysis.model_dump(mode="json"),
        items=items_digest,
        models={one.id: _model_digest(one) for one in experiment.models},
        issued_at=issued_at,
        signers=(signing.declared,),
    )


def _model_digest(model: Model) -> str:
    """The digest of what decides a model's scores: not its name, licence or note."""
    return digest_json(model.model_dump(mode="json", include={"source", "dtype", "weights", "reference"}))


def _planned(word: PreregistrationPredicate) -> Planned:
    return Planned(
        claims={str(one["id"]): one for one in word.claims},
        parts={
            "primary configuration": word.primary,
            "envelope": word.envelope,
            "analysis": word.analysis,
            "items": word.items,
            "models": word.models,
        },
    )


def _ran(experiment: Experiment, *, items_digest: str) -> Planned:
    claims = [one.model_dump(mode="json", exclude_unset=True) for one in experiment.evidence.claims]
    return Planned(
        claims={str(one["id"]): one for one in claims},
        parts={
            "primary configuration": dict(experiment.primary),
            "envelope": envelope_digest(experiment),
            "analysis": experiment.analysis.model_dump(mode="json"),
            "items": items_digest,
            "models": {one.id: _model_digest(one) for one in experiment.models},
        },
    )


def _claim_deviations(planned: Mapping[str, object], ran: Mapping[str, object]) -> Iterator[str]:
    for name in planned:
        if name not in ran:
            yield f"the claim {name} was planned and is not made"
        elif planned[name] != ran[name]:
            yield f"the claim {name} is not the one that was planned"
    for name in ran:
        if name not in planned:
            yield f"the claim {name} was not planned"


def _part_deviations(planned: Mapping[str, object], ran: Mapping[str, object]) -> Iterator[str]:
    for name, value in planned.items():
        other = ran[name]
        if value == other:
            continue
        if isinstance(value, dict) and isinstance(other, dict):
            keys = sorted(key for key in value.keys() | other.keys() if value.get(key) != other.get(key))
            yield f"{name}: differs from the plan in {', '.join(keys)}"
        else:
            yield f"{name}: differs from the plan"
