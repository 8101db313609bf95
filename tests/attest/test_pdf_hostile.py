"""PDFs that mean harm: refused, within bounds of memory and time, and nothing is written anywhere."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pikepdf
import pytest
from attest_examples import SIGNED_AT
from hostile_files import (
    BOMBS,
    MIB,
    deep_nesting,
    pdf_with,
    pdf_with_attachments,
    pdf_with_specification,
    plain_pdf,
)
from pikepdf import Array, Dictionary, Name, Stream, String

from safetyrepro.attest.keys import SigningIdentity
from safetyrepro.attest.pdf_attachments import check_attachment_name, read_attachments
from safetyrepro.attest.pdf_signature import sign_pdf, verify_pdf
from safetyrepro.errors import InputError

_PROBE = r"""
import json, re, sys, time
from pathlib import Path
from safetyrepro.attest.pdf_attachments import read_attachments
from safetyrepro.attest.pdf_signature import verify_pdf
from safetyrepro.errors import InputError
found = {}
for path in sorted(Path(sys.argv[1]).iterdir()):
    start, data = time.monotonic(), path.read_bytes()
    state, refusal = verify_pdf(data).state, ""
    try:
        read_attachments(data, where="PDF")
    except InputError as error:
        refusal = str(error)
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    mib = int(peak[1]) // 1024
    found[path.name] = [state, refusal, time.monotonic() - start, mib]
print(json.dumps(found))
"""


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd",
        "/etc/passwd",
        "rows/../../x",
        "./x",
        "a//b",
        "a/",
        "C:\\x",
        "C:x",
        "a\\..\\b",
        "",
        ".",
        "..",
        ".profile",
        "a\nb",
        "a\x00b",
        "naïve.json",
        "con",
        "rows/NUL.csv",
        "x.",
        "-rf",
        "a b",
        "x" * 201,
    ],
)
def test_a_name_that_could_lead_astray_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"^PDF: attachment name must be a plain relative path; got "):
        check_attachment_name(name, where="PDF")


@pytest.mark.parametrize(
    "name", ["report.json", "rows/strong-3f2a-00000.jsonl.gz", "a_b+c-1.csv", "console.csv"]
)
def test_the_names_of_our_own_files_are_taken(name: str) -> None:
    check_attachment_name(name, where="PDF")


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "rows/../x"])
def test_an_attachment_with_such_a_name_is_never_handed_out(name: str) -> None:
    with pytest.raises(InputError, match="attachment name must be a plain relative path"):
        read_attachments(pdf_with_attachments({name: b"x"}), where="PDF")


def test_names_that_differ_by_case_only_are_refused() -> None:
    data = pdf_with_attachments({"Report.json": b"1", "report.json": b"2"})
    with pytest.raises(
        InputError, match="attachment names must be unique, whatever their case; got 'report"
    ):
        read_attachments(data, where="PDF")


def _other_name(pdf: pikepdf.Pdf, specification: Dictionary) -> None:
    specification.F = String("other.json")


def _other_stream(pdf: pikepdf.Pdf, specification: Dictionary) -> None:
    specification.EF.F = pdf.make_indirect(Stream(pdf, b'{"other":1}'))


def _no_stream(pdf: pikepdf.Pdf, specification: Dictionary) -> None:
    reference = pdf.make_indirect(Dictionary())
    specification.EF = Dictionary(F=reference, UF=reference)


def _no_files(pdf: pikepdf.Pdf, specification: Dictionary) -> None:
    del specification.EF


def _cut_stream(pdf: pikepdf.Pdf, specification: Dictionary) -> None:
    stream = Stream(pdf, b"x\x9cKL")
    stream.Filter = Name.FlateDecode
    reference = pdf.make_indirect(stream)
    specification.EF = Dictionary(F=reference, UF=reference)


def _other_filter(pdf: pikepdf.Pdf, specification: Dictionary) -> None:
    stream = Stream(pdf, b"7b7d>")
    stream.Filter = Name.ASCIIHexDecode
    reference = pdf.make_indirect(stream)
    specification.EF = Dictionary(F=reference, UF=reference)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            _other_name,
            "an attachment must have one name for all readers; got ['other.json', 'report.json']",
        ),
        (_other_stream, "report.json: must be one file for all readers; got 2"),
        (_no_stream, "report.json: must be a stream; got 'DictionaryObject'"),
        (_no_files, "must be a PDF that can be read; '/EF'"),
        (_cut_stream, "report.json: must be whole; its deflated data end early"),
        (_other_filter, "report.json: must be stored plain or deflated once; got '/ASCIIHexDecode'"),
    ],
)
def test_an_attachment_that_two_readers_would_see_differently_is_refused(
    edit: Callable[[pikepdf.Pdf, Dictionary], None], message: str
) -> None:
    with pytest.raises(InputError) as found:
        read_attachments(pdf_with_specification(edit), where="PDF")
    assert message in str(found.value)


def test_a_pdf_without_attachments_has_none() -> None:
    assert read_attachments(pdf_with(lambda pdf: None), where="PDF") == ()


def test_more_than_a_thousand_attachments_are_refused() -> None:
    data = pdf_with_attachments({f"file-{number}": b"" for number in range(1001)})
    with pytest.raises(InputError, match=r"^PDF: must have at most 1000 attachments$"):
        read_attachments(data, where="PDF")


def test_an_encrypted_pdf_is_refused() -> None:
    from io import BytesIO

    pdf = pikepdf.new()
    pdf.add_blank_page()
    output = BytesIO()
    pdf.save(output, encryption=pikepdf.Encryption(owner="a", user=""))
    with pytest.raises(InputError, match=r"^PDF: must not be encrypted$"):
        read_attachments(output.getvalue(), where="PDF")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux to read the peak memory")
def test_bombs_are_refused_within_300_mib_and_30_seconds(tmp_path: Path) -> None:
    """None inflates to its 320 MiB; the promise to the reader is 512 MiB."""
    for name, make in BOMBS.items():
        (tmp_path / name).write_bytes(make())
    done = subprocess.run(
        [sys.executable, "-c", _PROBE, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert set(found) == set(BOMBS)
    for name, (state, refusal, seconds, mib) in found.items():
        assert state == "unsigned", name
        assert refusal, f"{name} was not refused"
        assert seconds < 30, name
        assert mib < 300, name


@pytest.mark.parametrize("name", ["one attachment of 320 MiB", "a tree of names that doubles"])
def test_a_bomb_that_somebody_sealed_is_genuine_and_still_not_opened(
    name: str, mallory: SigningIdentity
) -> None:
    sealed = sign_pdf(BOMBS[name](), identity=mallory, signed_at=SIGNED_AT)
    assert verify_pdf(sealed).state == "genuine"
    with pytest.raises(InputError, match="must have at most"):
        read_attachments(sealed, where="PDF")


def test_a_file_beyond_the_limit_is_not_even_looked_at() -> None:
    verdict = verify_pdf(b"%PDF-1.7\n" + bytes(64 * MIB))
    assert verdict.state == "malformed"
    assert verdict.checks[0].detail.endswith("have at most 67108864 bytes; has 67108873")


def test_deep_nesting_is_a_refusal_and_not_a_crash() -> None:
    with pytest.raises(InputError, match=r"^PDF: must be a PDF that can be read; maximum recursion depth"):
        read_attachments(deep_nesting(), where="PDF")


def _sealed_by_hand(fields: bytes, *, mallory: SigningIdentity) -> bytes:
    """A sealed file whose form was there before; the seal is added to it."""
    data = plain_pdf(
        {
            1: b"<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[" + fields + b"]>>>>",
            2: b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            3: b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>",
            4: b"<</FT/Tx/T(a)/V(b)>>",
        }
    )
    return sign_pdf(data, identity=mallory, signed_at=SIGNED_AT)


def test_a_sealed_file_with_other_form_fields_is_not_ours(mallory: SigningIdentity) -> None:
    verdict = verify_pdf(_sealed_by_hand(b"4 0 R", mallory=mallory))
    assert verdict.state == "malformed"
    (failure,) = (check for check in verdict.checks if check.failed)
    assert failure.name == "certified without changes"
    assert failure.detail == "PDF: must have one form field, its seal; got 2"
    assert verify_pdf(_sealed_by_hand(b"", mallory=mallory)).state == "genuine"


def test_the_signature_that_a_reader_shows_must_be_the_one_that_was_checked(
    mallory: SigningIdentity,
) -> None:
    """The raw bytes hold one genuine signature; the form points to another dictionary."""

    def build(pdf: pikepdf.Pdf) -> None:
        decoy = Dictionary(Type=Name.Sig, SubFilter=Name("/ETSI.CAdES.detached"), Contents=String("x"))
        field = pdf.make_indirect(Dictionary(FT=Name.Sig, T=String("safetyrepro"), V=decoy))
        pdf.Root.AcroForm = Dictionary(Fields=Array([field]), SigFlags=3)

    with pytest.raises(InputError, match=r"^PDF to sign: must not be signed already$"):
        sign_pdf(pdf_with(build), identity=mallory, signed_at=SIGNED_AT)
