"""A bundle becomes a report folder: everything named by digest, signed, attached, whole or not at all."""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import pytest
from report_examples import ISSUED_AT, example, write_bundle

from safetyrepro.attest.envelope import parse_envelope, verify_envelope
from safetyrepro.attest.keys import SigningIdentity, new_identity
from safetyrepro.attest.pdf_attachments import read_attachments
from safetyrepro.attest.pdf_signature import verify_pdf
from safetyrepro.attest.statement import PredicateType, match_subjects, parse_statement
from safetyrepro.data.bundle import Bundle, parse_document
from safetyrepro.data.report_record import Report
from safetyrepro.errors import InputError, IntegrityError, StorageError
from safetyrepro.report import publish as module
from safetyrepro.report.pages import content_policy, render_html
from safetyrepro.report.predicate import ReportPredicate
from safetyrepro.report.printed import documents_in_page, printed_html
from safetyrepro.report.publish import Publication, Signing, make_publication, publish
from safetyrepro.report.view import report_view
from safetyrepro.resources import resource_dir

DOCUMENTS = {"report.json", "results.json", "manifest.json", "items.json", "spec.yaml"}


class Page(HTMLParser):
    """What a page asks for, what it lets a reader save, and its style."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.downloads: dict[str, bytes] = {}
        self.policy = ""
        self.style = ""
        self.headings: list[int] = []
        self.unscoped = 0
        self.language = ""
        self._in_style = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        self._in_style = tag == "style"
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag == "html":
            self.language = given["lang"]
        if tag == "th" and "scope" not in given:
            self.unscoped += 1
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"]
        if "download" in given:
            self.downloads[given["download"]] = base64.b64decode(given["href"].partition(",")[2])
        else:
            self.addresses += [given[name] for name in ("href", "src") if name in given]
        assert "style" not in given, "the policy forbids inline styles"

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.style += data
            self._in_style = False


@dataclass
class QuickPdf:
    """Stands for the renderer where its pages do not matter: keeps what it was given to attach."""

    attached: dict[str, bytes] = field(default_factory=dict)

    def __call__(self, documents: Mapping[str, bytes]) -> bytes:
        self.attached = dict(documents)
        return b"%PDF of " + documents["report.json"]


@pytest.fixture
def quick_pdf(monkeypatch: pytest.MonkeyPatch) -> QuickPdf:
    quick = QuickPdf()
    monkeypatch.setattr(module, "printed_pdf", quick)
    return quick


@pytest.fixture(scope="module")
def identity() -> SigningIdentity:
    return new_identity("A. Example", created_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC))


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return write_bundle(example(), tmp_path_factory.mktemp("signed"))


@pytest.fixture(scope="module")
def signed(bundle: Bundle, identity: SigningIdentity) -> Publication:
    return publish(bundle, issued_at=ISSUED_AT, signing=Signing(identity))


def test_the_report_folder_holds_every_file(bundle: Bundle, signed: Publication) -> None:
    assert {path.name: path.read_bytes() for path in bundle.report.iterdir()} == dict(signed.files)
    assert set(signed.files) == {
        "report.json",
        "statement.json",
        "envelope.dsse.json",
        "report.html",
        "report.pdf",
    }


def test_the_record_can_be_read_back(signed: Publication) -> None:
    assert parse_document(signed.files["report.json"], Report, where="report.json") == signed.report


def test_the_statement_names_every_file_with_its_digest(bundle: Bundle, signed: Publication) -> None:
    statement = parse_statement(signed.files["statement.json"], where="statement.json")
    stored = {name: (bundle.root / name).read_bytes() for name in signed.report.materials.rows}
    for name in DOCUMENTS - {"report.json"}:
        stored[name] = (bundle.root / name).read_bytes()
    stored["report.json"] = signed.files["report.json"]
    match = match_subjects(statement, files=stored)
    assert set(match.matched) == set(stored)
    assert (match.differing, match.absent, match.unnamed) == ((), (), ())
    assert statement.predicate_type == PredicateType.REPORT


def test_the_statement_says_who_signs_in_which_role_and_until_when(
    signed: Publication, identity: SigningIdentity
) -> None:
    statement = parse_statement(signed.files["statement.json"], where="statement.json")
    predicate = ReportPredicate.model_validate(statement.predicate, strict=False)
    assert [(one.principal, one.keyid, one.role) for one in predicate.signers] == [
        ("A. Example", identity.keyid, "author")
    ]
    assert predicate.expires_at == dt.datetime(2027, 5, 30, 21, 4, 12, tzinfo=dt.UTC)
    assert predicate.non_claims == signed.report.non_claims


def test_the_envelope_is_signed_and_holds_the_statement(
    signed: Publication, identity: SigningIdentity
) -> None:
    envelope = parse_envelope(signed.files["envelope.dsse.json"], where="envelope")
    assert envelope.payload == signed.files["statement.json"]
    verdict = verify_envelope(envelope, public_keys=[identity.private_key.public_key()])
    assert verdict.signers == (identity.keyid,)


def test_the_pdf_is_sealed_and_holds_everything_that_the_statement_names(
    bundle: Bundle, signed: Publication, identity: SigningIdentity
) -> None:
    pdf = signed.files["report.pdf"]
    verdict = verify_pdf(pdf)
    assert verdict.state == "genuine"
    assert verdict.signer is not None
    assert (verdict.signer.keyid, verdict.signer.signed_at) == (identity.keyid, ISSUED_AT)
    attached = {one.name: one.data for one in read_attachments(pdf, where="report.pdf")}
    assert set(attached) == DOCUMENTS | {"statement.json", "envelope.dsse.json"} | set(
        signed.report.materials.rows
    )
    statement = parse_statement(attached["statement.json"], where="statement.json")
    match = match_subjects(statement, files=attached)
    assert (match.differing, match.absent) == ((), ())
    assert attached["results.json"] == bundle.results.read_bytes()


def test_the_same_bundle_day_and_identity_give_the_same_bytes(
    bundle: Bundle, signed: Publication, identity: SigningIdentity
) -> None:
    again = make_publication(bundle, issued_at=ISSUED_AT, signing=Signing(identity))
    assert again.files == signed.files


def test_printing_again_later_renews_nothing(bundle: Bundle, signed: Publication) -> None:
    later = module.assemble(bundle, issued_at=ISSUED_AT + dt.timedelta(days=30)).report
    assert later.window.expires_at == signed.report.window.expires_at
    assert later.window.issued_at != signed.report.window.issued_at


def test_the_page_asks_the_network_for_nothing_and_runs_nothing(signed: Publication) -> None:
    page = Page(signed.files["report.html"].decode())
    assert not {"script", "iframe", "object", "embed", "form", "img", "base"} & set(page.tags)
    assert all(address.startswith("#") for address in page.addresses)
    assert "default-src 'none'" in page.policy
    assert page.policy == content_policy(page.style)
    assert re.findall(r"url\(\"(data:font/woff2;base64,)?", page.style) == ["data:font/woff2;base64,"] * 4


def test_the_page_lets_a_reader_save_the_documents_byte_by_byte(
    bundle: Bundle, signed: Publication
) -> None:
    page = Page(signed.files["report.html"].decode())
    assert set(page.downloads) == DOCUMENTS | {"statement.json", "envelope.dsse.json"}
    assert page.downloads["report.json"] == signed.files["report.json"]
    assert page.downloads["spec.yaml"] == bundle.spec.read_bytes()


def test_the_page_can_be_printed_again_from_what_it_holds(signed: Publication) -> None:
    page = signed.files["report.html"]
    documents = documents_in_page(page, where="report.html")
    assert printed_html(documents) == page
    changed = page.replace(b"HOLDS THROUGHOUT", b"HOLDS WHEREVER", 1)
    assert printed_html(documents_in_page(changed, where="report.html")) != changed


@pytest.mark.parametrize(
    ("page", "message"),
    [
        pytest.param(b"\xff", "must be UTF-8", id="not text"),
        pytest.param(
            b'<a download="report.json" href="https://example.org/report.json">x</a>',
            "report.json must be inside the page; got 'https://example.org/report.json'",
            id="elsewhere",
        ),
        pytest.param(
            b'<a download="report.json" href="data:application/octet-stream;base64,e3!">x</a>',
            "report.json must be base64",
            id="not base64",
        ),
        pytest.param(
            b'<a download="a" href="data:application/octet-stream;base64,e30=">x</a>' * 2,
            "must hold each document once; got a twice",
            id="twice",
        ),
    ],
)
def test_a_page_that_holds_its_documents_in_another_way_is_refused(page: bytes, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        documents_in_page(page, where="report.html")


def test_a_page_without_a_document_cannot_be_printed_again(signed: Publication) -> None:
    documents = documents_in_page(signed.files["report.html"], where="report.html")
    del documents["manifest.json"]
    with pytest.raises(InputError, match=r"report: must hold manifest\.json"):
        printed_html(documents)


def test_the_page_has_a_language_one_title_and_headings_that_skip_no_level(signed: Publication) -> None:
    page = Page(signed.files["report.html"].decode())
    assert page.language == "en"
    assert page.headings.count(1) == 1
    assert all(b - a <= 1 for a, b in zip(page.headings, page.headings[1:], strict=False))
    assert page.unscoped == 0


def test_page_and_pdf_name_the_signer_and_the_command_to_verify(
    signed: Publication, identity: SigningIdentity
) -> None:
    text = signed.files["report.html"].decode()
    assert identity.fingerprint in text
    assert "safetyrepro verify report.pdf" in text
    assert "UNSIGNED" not in text


def test_an_unsigned_report_says_so_and_removes_the_envelope_of_an_earlier_one(
    tmp_path: Path,
) -> None:
    bundle = write_bundle(example(), tmp_path)
    stale = bundle.report / "envelope.dsse.json"
    stale.parent.mkdir()
    stale.write_bytes(b"{}")
    published = publish(bundle, issued_at=ISSUED_AT, signing=None)
    assert not published.is_signed
    assert not stale.exists()
    assert "UNSIGNED." in published.files["report.html"].decode()
    assert verify_pdf(published.files["report.pdf"]).state == "unsigned"
    predicate = parse_statement(published.files["statement.json"], where="statement").predicate
    assert predicate["signers"] == []


def test_rows_that_are_too_large_stay_outside_and_are_named_by_digest(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch, quick_pdf: QuickPdf
) -> None:
    monkeypatch.setattr(module, "MOST_ROW_BYTES", 100)
    published = make_publication(bundle, issued_at=ISSUED_AT, signing=None)
    assert not published.rows_attached
    assert set(quick_pdf.attached) == DOCUMENTS | {"statement.json"}
    statement = parse_statement(published.files["statement.json"], where="statement.json")
    named = {subject.name for subject in statement.subject}
    assert set(published.report.materials.rows) <= named


def test_a_changed_results_file_is_refused(tmp_path: Path) -> None:
    bundle = write_bundle(example(), tmp_path)
    data = bytearray(bundle.results.read_bytes())
    data[data.index(b"0.6")] = ord("1")
    bundle.results.write_bytes(bytes(data))
    with pytest.raises(IntegrityError, match=r"results\.json must have digest sha256:"):
        publish(bundle, issued_at=ISSUED_AT, signing=None)
    assert not bundle.report.exists()


def test_a_report_issued_before_its_evidence_is_refused(bundle: Bundle) -> None:
    with pytest.raises(InputError, match="a report must be issued after its evidence was collected"):
        make_publication(bundle, issued_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC), signing=None)


def test_a_report_folder_that_cannot_be_written_is_refused_with_its_place(
    tmp_path: Path, quick_pdf: QuickPdf
) -> None:
    bundle = write_bundle(example(), tmp_path)
    bundle.report.write_text("a file where the folder must be")
    with pytest.raises(StorageError, match=r"report/.*choose a folder"):
        publish(bundle, issued_at=ISSUED_AT, signing=None)


def test_a_failed_write_leaves_the_earlier_pdf_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick_pdf: QuickPdf
) -> None:
    bundle = write_bundle(example(), tmp_path)
    first = publish(bundle, issued_at=ISSUED_AT, signing=None)
    write = module.write_atomically

    def full_disk(path: Path, data: bytes) -> None:
        if path.name == "report.html":
            raise StorageError(f"{path}: must be writable; got No space left on device")
        write(path, data)

    monkeypatch.setattr(module, "write_atomically", full_disk)
    with pytest.raises(StorageError, match="No space left on device"):
        publish(bundle, issued_at=ISSUED_AT + dt.timedelta(days=1), signing=None)
    assert (bundle.report / "report.pdf").read_bytes() == first.files["report.pdf"]
    assert not [path for path in bundle.report.iterdir() if path.name.startswith(".")]


def test_texts_from_the_spec_are_escaped_on_the_page() -> None:
    one = example()
    report = one.report.model_copy(
        update={"title": '<script>alert("x")</script>', "answer": "{{ 7 * 7 }} & <b>bold</b>"}
    )
    view = report_view(report, results=one.results, manifest=one.manifest, experiment=one.experiment)
    text = render_html(view, medium="html")
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "{{ 7 * 7 }} &amp; &lt;b&gt;bold&lt;/b&gt;" in text


def test_the_fonts_are_those_that_were_released_with_their_licence() -> None:
    folder = resource_dir("reports") / "fonts"
    assert "SIL OPEN FONT LICENSE Version 1.1" in (folder / "OFL.txt").read_text("utf-8")
    for path in folder.glob("*.woff2"):
        assert path.read_bytes()[:4] == b"wOF2"
    assert len({hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.woff2")}) == 4
