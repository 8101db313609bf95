"""An in-toto Statement v1: these files, named by digest, are what the predicate speaks about.

A predicate type is a URI. In-toto asks that it be collision-resistant, lower-case in scheme and
authority, and versioned; it need not resolve. We own no domain, a `tag:` URI needs one too, and a
`urn:` needs a registered namespace: so ours are the registered `urn:uuid:` with one UUID drawn for
this project, and the kind and version as the fragment. Types are compared as whole strings.

Source: in-toto attestation framework, Statement layer v1.1 and field types v1 (TypeURI,
ResourceDescriptor, DigestSet); RFC 8141 and RFC 9562 for the URN.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final, Literal, Self

from pydantic import Field, StringConstraints, model_validator
from pydantic import JsonValue as PredicateValue

from safetyrepro.attest.document import (
    AttestedDocument,
    HexDigest,
    KeyId,
    Principal,
    document_bytes,
    parse_canonical,
)
from safetyrepro.canonical import DIGEST_PREFIX, digest_bytes
from safetyrepro.errors import InputError

STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
_NAMESPACE = "urn:uuid:b9de98f0-9ba2-4bcd-acc6-f8fcbb026dd8"
_MAX_SUBJECTS = 10_000


class PredicateType(StrEnum):
    """What a statement says about its subjects."""

    REPORT = f"{_NAMESPACE}#safetyrepro-report-v1"
    """These files are the report that the signers stand by."""
    PREREGISTRATION = f"{_NAMESPACE}#safetyrepro-preregistration-v1"
    """This is what will be run and claimed; signed before the run."""
    REVOCATION = f"{_NAMESPACE}#safetyrepro-revocation-v1"
    """The statement named by the subject no longer holds."""
    SUPERSESSION = f"{_NAMESPACE}#safetyrepro-supersession-v1"
    """The statement named by the subject is replaced by another."""
    CONTAMINATION = f"{_NAMESPACE}#safetyrepro-contamination-v1"
    """The items named by the subject are known to have been seen in training."""
    REPRODUCTION = f"{_NAMESPACE}#safetyrepro-reproduction-v1"
    """The report named by the subject was run again, with this outcome."""

    @property
    def short_name(self) -> str:
        """`report/v1`: the name a person writes in a trust file."""
        kind, _, version = self.value.partition("#safetyrepro-")[2].rpartition("-")
        return f"{kind}/{version}"


Role = Literal["author", "second_coder", "reviewer"]


class DeclaredSigner(AttestedDocument):
    """A person who is to sign a statement, and as what; part of the predicate, so that it is signed.

    A DSSE signature has no room for a role of its own. The statement names its signers before the
    first of them signs, and a signature by a key it does not name plays no role.
    """

    principal: Principal
    """Who, in the words of the statement's author."""
    keyid: KeyId
    """With which key."""
    role: Role
    """As what."""


class DigestSet(AttestedDocument):
    """The digests of one file; SHA-256 is the only one."""

    sha256: HexDigest
    """64 lower-case hexadecimal digits."""


class Subject(AttestedDocument):
    """One file the statement is about."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=512)]
    """What the file is called; unique within the statement. Files are matched by digest."""
    digest: DigestSet
    """What the file is."""


class Statement(AttestedDocument):
    """An in-toto Statement v1."""

    type_: Literal["https://in-toto.io/Statement/v1"] = Field(alias="_type")
    """The version of the Statement layer."""
    subject: Annotated[tuple[Subject, ...], Field(min_length=1, max_length=_MAX_SUBJECTS)]
    """The files."""
    predicate_type: PredicateType = Field(alias="predicateType")
    """What is said about them."""
    predicate: dict[str, PredicateValue]
    """The particulars, in the model of the predicate type."""

    @model_validator(mode="after")
    def _refuse_repeated_names(self) -> Self:
        counts = Counter(subject.name for subject in self.subject)
        name, count = counts.most_common(1)[0]
        if count > 1:
            raise ValueError(f"subject names must be unique, {name!r} stands {count} times")
        return self


@dataclass(frozen=True, slots=True)
class SubjectMatch:
    """The subjects of a statement held against the files at hand.

    A file that the statement does not name is not vouched for by it; a subject whose file is not
    at hand was not checked.
    """

    matched: tuple[str, ...]
    """Subjects whose file is here and has the digest."""
    differing: tuple[str, ...]
    """Subjects whose file is here and has another digest."""
    absent: tuple[str, ...]
    """Subjects whose file is not here: not checked."""
    unnamed: tuple[str, ...]
    """Files that are here and that no subject names: not vouched for."""


def new_statement(
    files: Mapping[str, str],
    *,
    predicate_type: PredicateType,
    predicate: Mapping[str, PredicateValue],
) -> Statement:
    """A statement about `files` (name to `sha256:<hex>`), its subjects in the order of their names.

    Raises:
        InputError: a digest of another form.
    """
    subjects = []
    for name in sorted(files):
        digest = files[name]
        if not digest.startswith(DIGEST_PREFIX):
            raise InputError(f"subject {name}: digest must begin with {DIGEST_PREFIX!r}; got {digest!r}")
        subjects.append(Subject(name=name, digest=DigestSet(sha256=digest.removeprefix(DIGEST_PREFIX))))
    return Statement(
        type_=STATEMENT_TYPE,
        subject=tuple(subjects),
        predicate_type=predicate_type,
        predicate=dict(predicate),
    )


def statement_bytes(statement: Statement) -> bytes:
    """The canonical JSON of the statement: the bytes that are signed."""
    return document_bytes(statement)


def parse_statement(data: bytes, *, where: str) -> Statement:
    """The statement in `data`.

    Raises:
        InputError: not canonical JSON, a duplicate key.
        InputErrors: not a Statement v1 with a predicate type of ours.
    """
    return parse_canonical(data, Statement, where=where)


def match_subjects(statement: Statement, *, files: Mapping[str, bytes]) -> SubjectMatch:
    """Each subject against the file of its name among `files`."""
    expected = {subject.name: DIGEST_PREFIX + subject.digest.sha256 for subject in statement.subject}
    found = {name: digest_bytes(files[name]) for name in expected if name in files}
    return SubjectMatch(
        matched=_sorted(name for name, digest in found.items() if digest == expected[name]),
        differing=_sorted(name for name, digest in found.items() if digest != expected[name]),
        absent=_sorted(name for name in expected if name not in files),
        unnamed=_sorted(name for name in files if name not in expected),
    )


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names))
