"""The PDF is a tagged PDF/A-3a with its files inside, the same to the byte, and reads nothing else."""

from __future__ import annotations

import datetime as dt
import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pikepdf
import pytest
from report_examples import ISSUED_AT, document_bytes, example, fake_digest

from safetyrepro.errors import InputError
from safetyrepro.report.pages import SCHEME, render_html
from safetyrepro.report.pdf import Attachment, media_type, render_pdf
from safetyrepro.report.view import report_view, signer_view

BARE = (
    '<!DOCTYPE html><html lang="en"><head><title>Bare</title>'
    '<meta name="dcterms.created" content="2026-12-01T08:30:00Z">'
    '<meta name="dcterms.modified" content="2026-12-01T08:30:00Z">{head}</head>'
    "<body><h1>Bare</h1>{body}</body></html>"
)
FILES = (
    Attachment("spec.yaml", b"schema: x\n", "the spec", "Source"),
    Attachment("results.json", b'{"a":1}', "numbers"),
    Attachment("rows/p-0.jsonl.gz", b"\x1f\x8b", "rows"),
)


def bare(*, head: str = "", body: str = "", files: tuple[Attachment, ...] = ()) -> bytes:
    html = BARE.format(head=head, body=body)
    return render_pdf(html, attachments=files, issued_at=ISSUED_AT, identifier=b"report")


@pytest.fixture(scope="module")
def report_pdf() -> bytes:
    one = example()
    view = report_view(
        one.report,
        results=one.results,
        manifest=one.manifest,
        experiment=one.experiment,
        signers=[signer_view("A. Example", role="author", keyid=fake_digest("key"))],
    )
    return render_pdf(
        render_html(view, medium="pdf"),
        attachments=[Attachment("report.json", document_bytes(one.report), "the record")],
        issued_at=ISSUED_AT,
        identifier=b"report",
    )


@pytest.fixture
def opened(report_pdf: bytes) -> Iterator[pikepdf.Pdf]:
    with pikepdf.open(io.BytesIO(report_pdf)) as pdf:
        yield pdf


def test_the_report_is_tagged_has_a_language_a_title_and_bookmarks(opened: pikepdf.Pdf) -> None:
    root = opened.Root
    assert str(root.Lang) == "en"
    assert bool(root.MarkInfo.Marked)
    assert "/StructTreeRoot" in root
    assert str(opened.docinfo["/Title"]) == "Which compression of SmolLM2-135M may we ship?"
    with opened.open_outline() as outline:
        titles = [item.title for item in outline.root[0].children]
    assert titles[0] == "Claims in full"
    assert titles[-1] == "Signature and verification"


def test_the_report_declares_pdf_a_3a(opened: pikepdf.Pdf) -> None:
    with opened.open_metadata() as metadata:
        assert (metadata["pdfaid:part"], metadata["pdfaid:conformance"]) == ("3", "A")


def test_every_font_is_embedded_and_there_are_two_typefaces(opened: pikepdf.Pdf) -> None:
    names = set()
    for one in opened.objects:
        if isinstance(one, pikepdf.Dictionary) and one.get("/Type") == "/FontDescriptor":
            names.add(str(one.FontName).partition("+")[2])
            assert "/FontFile2" in one or "/FontFile3" in one
    assert names
    assert {"-".join(name.split("-")[:3]) for name in names} == {"IBM-Plex-Sans", "IBM-Plex-Mono"}


def test_every_drawing_has_its_text_alternative(opened: pikepdf.Pdf) -> None:
    figures = [
        one
        for one in opened.objects
        if isinstance(one, pikepdf.Dictionary) and one.get("/S") == pikepdf.Name("/Figure")
    ]
    assert len(figures) >= 4
    alternatives = [str(one.get("/Alt", "")) for one in figures]
    assert all(alternatives)
    assert any(text.startswith("Ladder of evidence levels") for text in alternatives)


def test_page_one_holds_everything_up_to_the_signature(report_pdf: bytes) -> None:
    with pikepdf.open(io.BytesIO(report_pdf)) as pdf, pdf.open_outline() as outline:
        first_chapter = outline.root[0].children[0]
        assert first_chapter.destination is not None
        page = pikepdf.Page(first_chapter.destination[0])  # type: ignore[index]
        assert pdf.pages.index(page) == 1, "claims in full begin on page two"


def test_attachments_keep_their_bytes_names_media_types_and_dates() -> None:
    with pikepdf.open(io.BytesIO(bare(files=FILES))) as pdf:
        assert sorted(pdf.attachments) == ["results.json", "rows/p-0.jsonl.gz", "spec.yaml"]
        for one in FILES:
            stored = pdf.attachments[one.name].get_file()
            assert stored.read_bytes() == one.data
            assert stored.mime_type == media_type(one.name)
            assert stored.creation_date == dt.datetime(2026, 12, 1, 8, 30, tzinfo=dt.UTC)


def test_every_attachment_is_associated_once_with_its_relationship() -> None:
    with pikepdf.open(io.BytesIO(bare(files=FILES))) as pdf:
        listed = [one.objgen for one in pdf.Root.AF]
        assert len(listed) == len(set(listed)) == len(FILES)
        relationships = {str(one.UF): str(one.AFRelationship) for one in pdf.Root.AF}
    assert relationships == {
        "spec.yaml": "/Source",
        "results.json": "/Data",
        "rows/p-0.jsonl.gz": "/Data",
    }


def test_the_tree_of_attachments_is_sorted_whatever_their_order() -> None:
    with pikepdf.open(io.BytesIO(bare(files=FILES))) as pdf:
        names = [str(one) for one in list(pdf.Root.Names.EmbeddedFiles.Names)[0::2]]
    assert names == sorted(names)
    assert bare(files=FILES) == bare(files=tuple(reversed(FILES)))


def test_two_attachments_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="attachments must have distinct names"):
        bare(files=(FILES[0], FILES[0]))


def test_the_same_document_gives_the_same_bytes() -> None:
    assert bare(files=FILES) == bare(files=FILES)


def test_another_report_gives_another_identifier() -> None:
    html = BARE.format(head="", body="")
    one, other = (
        render_pdf(html, attachments=(), issued_at=ISSUED_AT, identifier=identifier)
        for identifier in (b"one", b"other")
    )
    assert one != other


@pytest.mark.parametrize(
    ("head", "body"),
    [
        pytest.param('<link rel="attachment" href="file:///etc/passwd">', "", id="attached file"),
        pytest.param("", '<img src="file:///etc/passwd" alt="x">', id="image from a file"),
        pytest.param("", '<img src="http://localhost/x.png" alt="x">', id="image from the network"),
        pytest.param("<style>@import url(http://localhost/x.css);</style>", "", id="imported style"),
        pytest.param(
            '<style>@font-face{font-family:x;src:url("file:///x.woff2")} h1{font-family:x}</style>',
            "",
            id="font from a file",
        ),
        pytest.param("", f'<img src="{SCHEME}:../spec.yaml" alt="x">', id="our scheme, another file"),
        pytest.param("", '<img src="report.css" alt="x">', id="a relative address"),
        pytest.param("", '<img src="data:image/png;base64,AAAA" alt="x">', id="inline data"),
        pytest.param("", '<a rel="attachment" href="file:///etc/passwd">x</a>', id="attached by a link"),
    ],
)
def test_a_template_that_asks_for_anything_but_our_fonts_is_refused(head: str, body: str) -> None:
    with pytest.raises(InputError, match="report template: must use the report's own files alone"):
        bare(head=head, body=body)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("report.json", "application/json"),
        ("spec.yaml", "application/yaml"),
        ("rows/a-0.jsonl.gz", "application/gzip"),
        ("cells.csv", "text/csv"),
        ("unknown", "application/octet-stream"),
    ],
)
def test_media_types_do_not_depend_on_the_machine(name: str, expected: str) -> None:
    assert media_type(name) == expected


def test_rendering_reads_no_file_but_fonts(monkeypatch: pytest.MonkeyPatch, report_pdf: bytes) -> None:
    read: list[str] = []
    original = Path.read_bytes

    def watched(path: Path) -> bytes:
        read.append(path.suffix)
        return original(path)

    monkeypatch.setattr(Path, "read_bytes", watched)
    bare(head='<style>h1{font-family:"IBM Plex Sans"}</style>')
    assert set(read) <= {".woff2"}


def test_weasyprint_is_imported_only_to_render() -> None:
    code = "import sys, safetyrepro.report.pdf; sys.exit('weasyprint' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
