"""Statements other than a report's own: made and signed in one step, read, and held against trust."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from safetyrepro.attest.document import validate_document
from safetyrepro.attest.envelope import (
    Envelope,
    envelope_bytes,
    parse_envelope,
    sign_payload,
    verify_envelope,
)
from safetyrepro.attest.keys import SigningIdentity
from safetyrepro.attest.signature import fingerprint
from safetyrepro.attest.statement import (
    DeclaredSigner,
    PredicateType,
    Role,
    Statement,
    new_statement,
    parse_statement,
    statement_bytes,
)
from safetyrepro.attest.trust import TrustStore, assess_signer, judge_quorum
from safetyrepro.canonical import DIGEST_PREFIX
from safetyrepro.errors import InputError
from safetyrepro.report.statements import PREDICATES, SignedWord

WordT = TypeVar("WordT", bound=SignedWord)


@dataclass(frozen=True, slots=True)
class Signing:
    """With which identity and in which role somebody signs."""

    identity: SigningIdentity
    role: Role = "author"

    @property
    def declared(self) -> DeclaredSigner:
        """The signer as a statement declares them."""
        return DeclaredSigner(principal=self.identity.principal, keyid=self.identity.keyid, role=self.role)


@dataclass(frozen=True, slots=True)
class SignedStatement(Generic[WordT]):
    """A statement read from its envelope; whose signatures they are is not yet asked."""

    where: str
    kind: PredicateType
    word: WordT
    statement: Statement
    envelope: Envelope

    @property
    def subjects(self) -> Mapping[str, str]:
        """Name to digest of what it speaks about."""
        return {one.name: DIGEST_PREFIX + one.digest.sha256 for one in self.statement.subject}


@dataclass(frozen=True, slots=True)
class Backing:
    """Who stands behind a statement, as far as the reader trusts them."""

    trusted: bool
    principals: tuple[str, ...]
    """The reader's names for the trusted signers."""
    detail: str
    """Who, or why not, in one sentence."""


def sign_word(
    word: SignedWord, *, subjects: Mapping[str, str], kind: PredicateType, signing: Signing
) -> bytes:
    """The envelope of a statement over `subjects` (name to digest), signed by one person.

    Raises:
        InputError: a digest of another form.
    """
    statement = new_statement(
        subjects, predicate_type=kind, predicate=word.model_dump(mode="json", by_alias=True)
    )
    return envelope_bytes(sign_payload(statement_bytes(statement), signing.identity.private_key))


def read_word(
    data: bytes, *, kinds: Mapping[PredicateType, type[WordT]], where: str
) -> SignedStatement[WordT]:
    """The statement in an envelope, if it is of one of the kinds.

    Raises:
        InputError: no envelope, no statement, or one of another kind.
    """
    envelope = parse_envelope(data, where=where)
    statement = parse_statement(envelope.payload, where=where)
    model = kinds.get(statement.predicate_type)
    if model is None:
        wanted = " or ".join(kind.short_name for kind in kinds)
        raise InputError(
            f"{where}: must be a statement {wanted}; got {statement.predicate_type.short_name}"
        )
    assert issubclass(model, PREDICATES[statement.predicate_type])
    word = validate_document(statement.predicate, model, where=f"{where}: predicate")
    return SignedStatement(
        where=where, kind=statement.predicate_type, word=word, statement=statement, envelope=envelope
    )


def backing(signed: SignedStatement[WordT], *, trust: TrustStore | None) -> Backing:
    """Whether enough of those the reader trusts for this kind of statement signed it."""
    if trust is None:
        return Backing(False, (), "no trust file was given: nobody is trusted")
    found = verify_envelope(signed.envelope, public_keys=trust.public_keys)
    roles = {one.keyid: one.role for one in signed.word.signers}
    standings = tuple(
        assess_signer(
            trust,
            keyid,
            role=roles.get(keyid),
            predicate_type=signed.kind,
            signed_at=signed.word.issued_at,
        )
        for keyid in found.signers
    )
    principals = tuple(one.principal for one in standings if one.trusted and one.principal is not None)
    if judge_quorum(trust, standings, predicate_type=signed.kind).met:
        return Backing(True, principals, f"signed by {', '.join(principals)}")
    reasons = [check.detail for one in standings for check in one.checks if check.failed]
    if not reasons:
        hints = [fingerprint(one.keyid) for one in signed.word.signers]
        reasons = [f"no trusted key signed it; it names {', '.join(hints)}"]
    return Backing(False, principals, "; ".join(reasons))
