"""Whom a reader trusts to sign what, and whether a set of signatures is enough.

The trust file is the reader's own. It has the shape of SSH's `allowed_signers`: each entry names a
principal, its key, the roles and the kinds of statement it may sign, the window in which it signs,
and, where it was revoked, when and why.

Whether a signature is genuine is a question of arithmetic and is answered elsewhere (`envelope`,
`pdf_signature`). Here are three more questions, answered apart: may this key sign such a statement
in this role; was it signed within the key's window; is the key not revoked. The time of signing is
what the signer asserts. It is good enough against a window that simply ended; it does not rescue a
key revoked for compromise, since a thief can write any date.

Source: ssh-keygen(1), ALLOWED SIGNERS (the shape); DSSE protocol v1.0.0 (k of n over distinct keys).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, field_validator, model_validator

from safetyrepro.attest.check import Check, decide, failed, not_checked, passed
from safetyrepro.attest.document import (
    AttestedDocument,
    Instant,
    Principal,
    format_instant,
    utc_instant,
    validate_located,
)
from safetyrepro.attest.signature import PublicKey, key_id, parse_public_key
from safetyrepro.attest.statement import PredicateType, Role
from safetyrepro.errors import InputError
from safetyrepro.located import parse_located

PredicateName = Literal[
    "report/v1",
    "preregistration/v1",
    "revocation/v1",
    "supersession/v1",
    "contamination/v1",
    "reproduction/v1",
]
RevocationReason = Literal["compromised", "superseded", "retired"]
_MAX_SIGNERS = 1_000
_NAMES: Mapping[PredicateType, str] = {kind: kind.short_name for kind in PredicateType}


class TrustedSigner(AttestedDocument):
    """One key, whose it is, and what it may sign when."""

    principal: Principal
    """Whose key it is, as the reader knows them."""
    roles: Annotated[tuple[Role, ...], Field(min_length=1)]
    """The roles this key may sign in."""
    predicate_types: Annotated[tuple[PredicateName, ...], Field(min_length=1)]
    """The kinds of statement it may sign."""
    valid_from: Instant
    """The first moment it may sign."""
    valid_until: Instant
    """The first moment it may no longer sign."""
    revoked_at: Instant | None = None
    """When it was revoked, if it was."""
    revocation_reason: RevocationReason | None = None
    """Why: `compromised` voids every signature, whatever date it bears; the others, later ones."""
    note: Annotated[str, StringConstraints(max_length=2_000)] | None = None
    """Anything the reader wants to remember, such as how the fingerprint was compared."""
    key: str
    """The public key or certificate, in PEM: Ed25519 or ECDSA P-256."""

    @field_validator("key")
    @classmethod
    def _refuse_bad_key(cls, value: str) -> str:
        try:
            parse_public_key(value, where="key")
        except InputError as error:
            raise ValueError(str(error).removeprefix("key: ")) from error
        return value

    @model_validator(mode="after")
    def _refuse_contradictions(self) -> Self:
        if self.valid_until <= self.valid_from:
            raise ValueError("valid_until must be after valid_from")
        if (self.revoked_at is None) != (self.revocation_reason is None):
            raise ValueError("revoked_at and revocation_reason must be given together")
        return self

    @property
    def public_key(self) -> PublicKey:
        """The key."""
        return parse_public_key(self.key, where=self.principal)

    @property
    def keyid(self) -> str:
        """The key's id."""
        return key_id(self.public_key)


class Requirement(AttestedDocument):
    """So many people in a role must have signed."""

    role: Role
    """The role."""
    at_least: Annotated[int, Field(ge=1, le=64)]
    """How many different principals, each with a key of their own."""


class SigningPolicy(AttestedDocument):
    """Which signatures a kind of statement needs."""

    predicate_type: PredicateName
    """The kind of statement."""
    signatures: Annotated[tuple[Requirement, ...], Field(min_length=1)]
    """What must be there; all of it."""

    @model_validator(mode="after")
    def _refuse_repeated_roles(self) -> Self:
        roles = [requirement.role for requirement in self.signatures]
        if len(set(roles)) < len(roles):
            raise ValueError("each role must stand once")
        return self


class TrustStore(AttestedDocument):
    """A reader's trust file."""

    schema_: Literal["safetyrepro/trust/v1"] = Field(alias="schema")
    """The version of this document."""
    signers: Annotated[tuple[TrustedSigner, ...], Field(min_length=1, max_length=_MAX_SIGNERS)]
    """The keys; each stands once."""
    policies: tuple[SigningPolicy, ...] = ()
    """Which signatures are needed; where none is given for a kind, one author."""

    @model_validator(mode="after")
    def _refuse_repetitions(self) -> Self:
        keyids = [signer.keyid for signer in self.signers]
        if len(set(keyids)) < len(keyids):
            again = next(keyid for keyid in keyids if keyids.count(keyid) > 1)
            raise ValueError(f"each key must stand once, {again} stands again")
        kinds = [policy.predicate_type for policy in self.policies]
        if len(set(kinds)) < len(kinds):
            raise ValueError("each predicate type must have one policy")
        return self

    @property
    def public_keys(self) -> tuple[PublicKey, ...]:
        """Every key, revoked ones too: whether a signature is genuine is asked of all."""
        return tuple(signer.public_key for signer in self.signers)

    def find(self, keyid: str) -> TrustedSigner | None:
        """The entry of the key, if there is one."""
        return next((signer for signer in self.signers if signer.keyid == keyid), None)


@dataclass(frozen=True, slots=True)
class SignerStanding:
    """How one key that signed stands with the reader.

    Checked: what the trust file says of this key. Not checked: the time of signing, which the
    signer asserts, and whether what was signed is right.
    """

    keyid: str
    principal: str | None
    """The reader's name for the owner; None where the key is unknown."""
    role: Role | None
    """The role the statement gives this key; None where it gives none."""
    known: Check
    authorised: Check
    in_window: Check
    not_revoked: Check

    @property
    def checks(self) -> tuple[Check, ...]:
        """The four, in order."""
        return (self.known, self.authorised, self.in_window, self.not_revoked)

    @property
    def trusted(self) -> bool:
        """Whether all four passed."""
        return all(check.passed for check in self.checks)


@dataclass(frozen=True, slots=True)
class QuorumVerdict:
    """Whether the trusted signatures are enough, one check for each role that must have signed."""

    requirements: tuple[Check, ...]

    @property
    def met(self) -> bool:
        """Whether every requirement passed; none at all is not enough."""
        return bool(self.requirements) and all(check.passed for check in self.requirements)


def parse_trust(text: bytes | str, *, name: str) -> TrustStore:
    """The trust store in a YAML (or JSON) text.

    Raises:
        InputErrors: every defect at once, as `name:line:column: path: ...`.
    """
    return validate_located(parse_located(text, name), TrustStore)


def assess_signer(
    trust: TrustStore, keyid: str, *, role: Role | None, predicate_type: PredicateType, signed_at: datetime
) -> SignerStanding:
    """How the key stands for a statement of this kind, signed in this role at the asserted time.

    Args:
        keyid: the id of a key whose signature was found genuine.
        role: what the statement says this key signs as.
        signed_at: the time the signer asserts.
    """
    signer = trust.find(keyid)
    if signer is None:
        reason = "the key is not in the trust file"
        return SignerStanding(
            keyid=keyid,
            principal=None,
            role=role,
            known=failed("known", f"{keyid} is not in the trust file"),
            authorised=not_checked("authorised", reason),
            in_window=not_checked("in window", reason),
            not_revoked=not_checked("not revoked", reason),
        )
    return SignerStanding(
        keyid=keyid,
        principal=signer.principal,
        role=role,
        known=passed("known", f"{keyid} is {signer.principal}'s"),
        authorised=_authorised(signer, role=role, kind=_NAMES[predicate_type]),
        in_window=_in_window(signer, signed_at=utc_instant(signed_at)),
        not_revoked=_not_revoked(signer, signed_at=utc_instant(signed_at)),
    )


def judge_quorum(
    trust: TrustStore, standings: Sequence[SignerStanding], *, predicate_type: PredicateType
) -> QuorumVerdict:
    """Whether the trusted ones among `standings` are enough for a statement of this kind.

    Counted are principals: one key under two ids is one, two keys of one principal are one, and a
    principal who signed in two roles counts in the first.
    """
    kind = _NAMES[predicate_type]
    roles: dict[str, Role] = {}
    for standing in standings:
        if standing.trusted and standing.principal is not None and standing.role is not None:
            roles.setdefault(standing.principal, standing.role)
    return QuorumVerdict(
        tuple(_met(requirement, roles=roles) for requirement in _requirements(trust, kind))
    )


def _requirements(trust: TrustStore, kind: str) -> tuple[Requirement, ...]:
    for policy in trust.policies:
        if policy.predicate_type == kind:
            return policy.signatures
    return (Requirement(role="author", at_least=1),)


def _met(requirement: Requirement, *, roles: Mapping[str, Role]) -> Check:
    signed = sorted(principal for principal, role in roles.items() if role == requirement.role)
    found = f"{len(signed)} of {requirement.at_least} trusted as {requirement.role}"
    names = f": {', '.join(signed)}" if signed else ""
    return decide(
        f"signed by {requirement.role}",
        len(signed) >= requirement.at_least,
        good=found + names,
        bad=found + names,
    )


def _authorised(signer: TrustedSigner, *, role: Role | None, kind: str) -> Check:
    if kind not in signer.predicate_types:
        return failed(
            "authorised", f"{signer.principal} may sign {_list(signer.predicate_types)}, not {kind}"
        )
    if role is None:
        return failed("authorised", f"the statement gives {signer.principal} no role")
    if role not in signer.roles:
        return failed("authorised", f"{signer.principal} may sign as {_list(signer.roles)}, not as {role}")
    return passed("authorised", f"{signer.principal} may sign {kind} as {role}")


def _in_window(signer: TrustedSigner, *, signed_at: datetime) -> Check:
    window = f"{format_instant(signer.valid_from)} to {format_instant(signer.valid_until)}"
    asserted = f"signed at {format_instant(signed_at)} (asserted by the signer)"
    return decide(
        "in window",
        signer.valid_from <= signed_at < signer.valid_until,
        good=f"{asserted}, within {window}",
        bad=f"{asserted}, outside {window}",
    )


def _not_revoked(signer: TrustedSigner, *, signed_at: datetime) -> Check:
    if signer.revoked_at is None:
        return passed("not revoked", "the trust file has no revocation of this key")
    revoked = f"revoked at {format_instant(signer.revoked_at)} ({signer.revocation_reason})"
    if signer.revocation_reason == "compromised":
        return failed("not revoked", f"{revoked}; a date the signer asserts does not rescue it")
    return decide(
        "not revoked",
        signed_at < signer.revoked_at,
        good=f"{revoked}, after the signature",
        bad=f"{revoked}, before the signature",
    )


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)
