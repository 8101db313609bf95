"""Reports to verify: one genuine publication, and sealed PDFs around whatever files a test wants."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from safetyrepro.attest.certificate import public_identity
from safetyrepro.attest.envelope import add_signature, envelope_bytes, sign_payload
from safetyrepro.attest.keys import SigningIdentity
from safetyrepro.attest.pdf_signature import sign_pdf
from safetyrepro.attest.statement import DeclaredSigner, Role, statement_bytes
from safetyrepro.attest.trust import TrustStore, parse_trust
from safetyrepro.canonical import JsonValue, canonical_bytes, digest_bytes, parse_json
from safetyrepro.data.bundle import parse_document
from safetyrepro.data.report_record import Report
from safetyrepro.report.pdf import Attachment, render_pdf
from safetyrepro.report.predicate import report_statement
from safetyrepro.report.publish import ENVELOPE_FILE, STATEMENT_FILE

PAGE = "<html lang='en'><head><title>A report</title></head><body><p>{text}</p></body></html>"


@dataclass(frozen=True, slots=True)
class Genuine:
    """What the publisher made, and what is inside its PDF."""

    pdf: bytes
    files: Mapping[str, bytes]
    issued_at: dt.datetime
    alice: SigningIdentity
    mallory: SigningIdentity

    @property
    def unsealed(self) -> bytes:
        """The PDF as it was before it was sealed; the signed statement is inside."""
        end = b"%%EOF\n"
        return self.pdf[: self.pdf.index(end) + len(end)]

    def trust(self, *, policies: Sequence[Mapping[str, object]] = (), **edits: object) -> TrustStore:
        """A trust file that trusts Alice as author, with `edits` to her entry."""
        return trust_store([trust_entry(self.alice, **edits)], policies=policies)


def trust_entry(identity: SigningIdentity, **edits: object) -> dict[str, object]:
    return {
        "principal": identity.principal,
        "roles": ["author"],
        "predicate_types": ["report/v1"],
        "valid_from": "2020-01-01T00:00:00Z",
        "valid_until": "2090-01-01T00:00:00Z",
        "key": public_identity(identity.certificate).certificate,
        **edits,
    }


def trust_store(
    entries: Sequence[Mapping[str, object]], *, policies: Sequence[Mapping[str, object]] = ()
) -> TrustStore:
    document = {"schema": "safetyrepro/trust/v1", "signers": list(entries), "policies": list(policies)}
    return parse_trust(json.dumps(document), name="trust.yaml")


def seal(
    files: Mapping[str, bytes], *, by: SigningIdentity | None, at: dt.datetime, text: str = "A page."
) -> bytes:
    """A small PDF around the files, sealed unless `by` is None."""
    pdf = render_pdf(
        PAGE.format(text=text),
        attachments=[Attachment(name=name, data=data, description=name) for name, data in files.items()],
        issued_at=at,
        identifier=b"a fixed identity",
    )
    return pdf if by is None else sign_pdf(pdf, identity=by, signed_at=at)


def edited_report(files: Mapping[str, bytes], **edits: JsonValue) -> bytes:
    """The report record with some of its fields changed."""
    fields = parse_json(files["report.json"], "report.json")
    assert isinstance(fields, dict)
    return canonical_bytes({**fields, **edits})


def signed_again(
    files: Mapping[str, bytes],
    signers: Sequence[tuple[SigningIdentity, Role]],
    *,
    report: bytes | None = None,
) -> dict[str, bytes]:
    """The files with a statement over them (or over another report) that these people declare and sign."""
    record = files["report.json"] if report is None else report
    statement = statement_bytes(
        report_statement(
            parse_document(record, Report, where="report.json"),
            report_digest=digest_bytes(record),
            signers=[
                DeclaredSigner(principal=one.principal, keyid=one.keyid, role=role) for one, role in signers
            ],
        )
    )
    envelope = sign_payload(statement, signers[0][0].private_key)
    for identity, _ in signers[1:]:
        envelope = add_signature(envelope, identity.private_key)
    return {
        **files,
        "report.json": record,
        STATEMENT_FILE: statement,
        ENVELOPE_FILE: envelope_bytes(envelope),
    }
