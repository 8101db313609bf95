"""One report in every form a reader may hold, and pages that say something else."""

from __future__ import annotations

import base64
import datetime as dt
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from report_examples import example, write_bundle
from sealed_reports import trust_entry, trust_store

from safetyrepro.attest.keys import SigningIdentity, new_identity
from safetyrepro.attest.pdf_attachments import read_attachments
from safetyrepro.attest.pdf_signature import sign_pdf
from safetyrepro.attest.trust import TrustStore
from safetyrepro.claims.validity import parse_time
from safetyrepro.data.bundle import Bundle, read_manifest
from safetyrepro.report import verify_printed
from safetyrepro.report.handed import read_handed
from safetyrepro.report.printed import printed_pdf
from safetyrepro.report.publish import publish
from safetyrepro.report.signed import Signing
from safetyrepro.report.verdicts import Verdict, Verification
from safetyrepro.report.verify import Beyond, verify_report, verify_report_page, verify_report_pdf

MADE = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
QUICK = Beyond(print_again=False)


@pytest.fixture(scope="module")
def alice() -> SigningIdentity:
    return new_identity("Alice", created_at=MADE)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory, alice: SigningIdentity) -> Bundle:
    found = write_bundle(
        example(models=2, templates=("plain",), twins=20), tmp_path_factory.mktemp("bundle")
    )
    publish(found, issued_at=issued_at(found), signing=Signing(alice))
    return found


@pytest.fixture(scope="module")
def trust(alice: SigningIdentity) -> TrustStore:
    return trust_store([trust_entry(alice)])


def issued_at(bundle: Bundle) -> dt.datetime:
    return parse_time(read_manifest(bundle).collected_at, "manifest") + dt.timedelta(hours=1)


def failures(found: Verification) -> dict[str, str]:
    return {check.name: check.detail for check in found.checks if check.failed}


def copied(bundle: Bundle, folder: Path) -> Path:
    return shutil.copytree(bundle.root, folder / "bundle")


def inside(bundle: Bundle) -> Mapping[str, bytes]:
    pdf = (bundle.report / "report.pdf").read_bytes()
    return {one.name: one.data for one in read_attachments(pdf, where="report.pdf")}


@pytest.mark.parametrize(
    "name", ["report/report.pdf", "report/report.html", "report/report.json", ".", "report"]
)
def test_every_form_of_a_published_report_is_current(bundle: Bundle, trust: TrustStore, name: str) -> None:
    found = verify_report(read_handed(bundle.root / name), trust=trust, at=issued_at(bundle))
    assert failures(found) == {}
    assert found.verdict is Verdict.CURRENT
    assert found.report is not None


def test_the_pages_of_a_published_report_are_printed_again(bundle: Bundle, trust: TrustStore) -> None:
    for name in ("report.pdf", "report.html"):
        found = verify_report(read_handed(bundle.report / name), trust=trust, at=issued_at(bundle))
        outcome = {check.name: check.outcome for check in found.checks}
        assert outcome["pages as printed"] == "passed"


def test_a_genuine_seal_over_altered_pages_is_tampered(
    bundle: Bundle, trust: TrustStore, alice: SigningIdentity, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The author prints a better number, attaches the true documents, and seals both."""
    from safetyrepro.report import printed

    genuine = printed.render_html
    monkeypatch.setattr(
        printed,
        "render_html",
        lambda *given, **named: genuine(*given, **named).replace("NOT CHECKED", "HOLDS"),
    )
    forged = printed_pdf(inside(bundle))
    monkeypatch.undo()
    pdf = sign_pdf(forged, identity=alice, signed_at=issued_at(bundle))
    found = verify_report_pdf(pdf, trust=trust, at=issued_at(bundle))
    assert found.states == (Verdict.TAMPERED,)
    assert "printed again, they come out otherwise" in failures(found)["pages as printed"]
    assert (
        verify_report_pdf(pdf, trust=trust, at=issued_at(bundle), beyond=QUICK).verdict is Verdict.CURRENT
    )


def test_pages_of_another_printer_are_not_checked_and_the_reason_is_given(
    bundle: Bundle, trust: TrustStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify_printed, "pdf_printer", lambda: "another printer")
    monkeypatch.setattr(verify_printed, "program", lambda: "another program")
    for name, here in (
        ("report.pdf", "here is another printer"),
        ("report.html", "here is another program"),
    ):
        found = verify_report(read_handed(bundle.report / name), trust=trust, at=issued_at(bundle))
        check = next(check for check in found.checks if check.name == "pages as printed")
        assert (check.outcome, found.verdict) == ("not checked", Verdict.CURRENT)
        assert here in check.detail


def test_pages_of_a_signer_who_is_not_trusted_are_not_printed_again(bundle: Bundle) -> None:
    found = verify_report(read_handed(bundle.report / "report.pdf"), trust=None, at=issued_at(bundle))
    check = next(check for check in found.checks if check.name == "pages as printed")
    assert (found.verdict, check.outcome) == (Verdict.UNTRUSTED_SIGNER, "not checked")


@pytest.mark.parametrize(
    ("old", "new"),
    [(b"NOT CHECKED", b"HOLDS"), (b"</body>", b"<p>Safe.</p></body>"), (b"<title>", b"<title>Not ")],
)
def test_an_edited_page_is_tampered(bundle: Bundle, trust: TrustStore, old: bytes, new: bytes) -> None:
    page = (bundle.report / "report.html").read_bytes()
    assert old in page
    found = verify_report_page(page.replace(old, new), trust=trust, at=issued_at(bundle))
    assert found.states == (Verdict.TAMPERED,)


def test_a_page_whose_record_was_edited_is_tampered(bundle: Bundle, trust: TrustStore) -> None:
    page = (bundle.report / "report.html").read_bytes()
    record = (bundle.report / "report.json").read_bytes()
    edited = record.replace(b'"level":"model"', b'"level":"response"')
    assert edited != record
    forged = page.replace(base64.b64encode(record), base64.b64encode(edited))
    assert forged != page
    found = verify_report_page(forged, trust=trust, at=issued_at(bundle))
    assert found.verdict is Verdict.TAMPERED
    assert "other bytes than the statement names: report.json" in failures(found)["files as stated"]


@pytest.mark.parametrize("page", [b"<!doctype html><p>No documents.", b"<html>\xff"])
def test_a_page_without_documents_is_malformed(trust: TrustStore, page: bytes) -> None:
    assert verify_report_page(page, trust=trust, at=MADE).verdict is Verdict.MALFORMED


def test_a_record_alone_is_unsigned_and_says_what_to_ask_for(
    bundle: Bundle, trust: TrustStore, tmp_path: Path
) -> None:
    alone = tmp_path / "report.json"
    alone.write_bytes((bundle.report / "report.json").read_bytes())
    found = verify_report(read_handed(alone), trust=trust, at=issued_at(bundle))
    assert found.states == (Verdict.UNSIGNED,)
    assert "ask for the PDF, the page or the bundle" in failures(found)["statement signed"]
    alone.write_bytes(b'{"schema": 1}')
    assert verify_report(read_handed(alone), trust=trust, at=MADE).verdict is Verdict.MALFORMED


def test_a_record_with_its_statement_and_envelope_is_genuine_and_says_what_it_lacks(
    bundle: Bundle, trust: TrustStore, tmp_path: Path
) -> None:
    for name in ("report.json", "statement.json", "envelope.dsse.json"):
        (tmp_path / name).write_bytes((bundle.report / name).read_bytes())
    found = verify_report(read_handed(tmp_path / "report.json"), trust=trust, at=issued_at(bundle))
    assert found.verdict is Verdict.CURRENT
    detail = next(check.detail for check in found.checks if check.name == "files as stated")
    assert "not here, so not checked: items.json, manifest.json, results.json, spec.yaml" in detail


@pytest.mark.parametrize("name", ["results.json", "spec.yaml", "report/report.json", "rows"])
def test_a_changed_file_of_a_bundle_is_tampered(
    bundle: Bundle, trust: TrustStore, tmp_path: Path, name: str
) -> None:
    root = copied(bundle, tmp_path)
    path = next((root / name).iterdir()) if name == "rows" else root / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    found = verify_report(read_handed(root), trust=trust, at=issued_at(bundle), beyond=QUICK)
    assert found.verdict in (Verdict.TAMPERED, Verdict.MALFORMED)


def test_a_bundle_beside_another_reports_pdf_is_tampered(
    bundle: Bundle, trust: TrustStore, tmp_path: Path, alice: SigningIdentity
) -> None:
    root = copied(bundle, tmp_path)
    genuine = (root / "report" / "report.pdf").read_bytes()
    later = issued_at(bundle) + dt.timedelta(hours=1)
    other = publish(Bundle(copied(bundle, tmp_path / "other")), issued_at=later, signing=Signing(alice))
    (root / "report" / "report.pdf").write_bytes(other.files["report.pdf"])
    found = verify_report(read_handed(root), trust=trust, at=later, beyond=QUICK)
    assert found.verdict is Verdict.TAMPERED
    assert failures(found) == {"report.pdf beside it": "of another report"}
    (root / "report" / "report.pdf").write_bytes(genuine[:-9] + b"x" + genuine[-8:])
    found = verify_report(read_handed(root), trust=trust, at=later, beyond=QUICK)
    assert found.verdict is Verdict.TAMPERED
