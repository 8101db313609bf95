"""Sealing a PDF, and finding every byte that was changed afterwards."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from io import BytesIO
from pathlib import Path

import pikepdf
import pytest
from asn1crypto import cms
from attest_examples import ATTACHED, SIGNED_AT
from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
from pyhanko.sign import PdfSignatureMetadata, SimpleSigner
from pyhanko.sign.signers import PdfSigner as OtherSigner
from pyhanko_certvalidator.registry import SimpleCertificateStore

from safetyrepro.attest.keys import SigningIdentity
from safetyrepro.attest.pdf_attachments import read_attachments
from safetyrepro.attest.pdf_container import (
    Container,
    container_bytes,
    is_container_genuine,
    read_container,
)
from safetyrepro.attest.pdf_signature import FIELD_NAME, sign_pdf, verify_pdf
from safetyrepro.attest.pdf_slot import find_slot
from safetyrepro.errors import InputError


def _first_failure(pdf: bytes) -> tuple[str, str, str]:
    verdict = verify_pdf(pdf)
    check = next(one for one in verdict.checks if one.failed)
    return verdict.state, check.name, check.detail


def test_a_sealed_pdf_is_genuine_and_says_who_sealed_it_when(
    sealed_pdf: bytes, alice: SigningIdentity
) -> None:
    verdict = verify_pdf(sealed_pdf)
    assert verdict.state == "genuine"
    assert all(check.passed for check in verdict.checks)
    assert verdict.signer is not None
    assert (verdict.signer.keyid, verdict.signer.principal) == (alice.keyid, alice.principal)
    assert verdict.signer.signed_at == SIGNED_AT
    assert verdict.signer.certificate == alice.certificate


def test_sealing_adds_to_the_file_and_changes_none_of_it(sealed_pdf: bytes, unsigned_pdf: bytes) -> None:
    assert sealed_pdf.startswith(unsigned_pdf)
    assert sealed_pdf.count(b"startxref") == unsigned_pdf.count(b"startxref") + 1


def test_the_same_inputs_give_the_same_bytes(
    sealed_pdf: bytes, unsigned_pdf: bytes, alice: SigningIdentity
) -> None:
    elsewhere = SIGNED_AT.astimezone(timezone(timedelta(hours=9)))
    assert sign_pdf(unsigned_pdf, identity=alice, signed_at=elsewhere) == sealed_pdf


def test_the_seal_is_invisible_and_allows_no_change(sealed_pdf: bytes) -> None:
    with pikepdf.open(BytesIO(sealed_pdf)) as pdf:
        (field,) = pdf.Root.AcroForm.Fields
        assert (str(field.T), str(field.FT)) == (FIELD_NAME, "/Sig")
        assert [int(edge) for edge in field.Rect] == [0, 0, 0, 0]
        assert field.V.SubFilter == "/ETSI.CAdES.detached"
        assert field.V.Reference[0].TransformParams.P == 1
        assert pdf.Root.Perms.DocMDP.objgen == field.V.objgen
        assert pdf.Root.MarkInfo.Marked


@pytest.mark.skipif(shutil.which("pdfsig") is None, reason="needs pdfsig (poppler-utils)")
def test_poppler_finds_the_seal_valid_and_total(sealed_pdf: bytes, tmp_path: Path) -> None:
    path = tmp_path / "sealed.pdf"
    path.write_bytes(sealed_pdf)
    seen = subprocess.run(["pdfsig", str(path)], capture_output=True, text=True, check=False).stdout
    assert "Signature Validation: Signature is Valid." in seen
    assert "Total document signed" in seen
    assert "Signer Certificate Common Name: Alice Example <alice@example.org>" in seen
    assert "Certificate Validation: Certificate issuer is unknown." in seen


@pytest.mark.skipif(shutil.which("qpdf") is None, reason="needs qpdf")
def test_qpdf_finds_no_error_in_a_sealed_pdf(sealed_pdf: bytes, tmp_path: Path) -> None:
    path = tmp_path / "sealed.pdf"
    path.write_bytes(sealed_pdf)
    seen = subprocess.run(["qpdf", "--check", str(path)], capture_output=True, text=True, check=False)
    assert (seen.returncode, "No syntax or stream encoding errors found" in seen.stdout) == (0, True)


def test_every_changed_byte_is_found(sealed_pdf: bytes) -> None:
    """All of the gap and of what the seal added, and every seventh byte of the rest."""
    slot = find_slot(sealed_pdf).slot
    assert slot is not None
    added = sealed_pdf.rindex(b"endstream", 0, slot.start)
    positions = [*range(0, added, 7), *range(added, len(sealed_pdf))]
    states: Counter[str] = Counter()
    for position in positions:
        changed = bytearray(sealed_pdf)
        changed[position] ^= 1
        state = verify_pdf(bytes(changed)).state
        states[state] += 1
        assert state == "tampered" or position < len("%PDF-"), f"byte {position}: {state}"
    assert states["tampered"] == len(positions) - states["malformed"]
    assert states["malformed"] == 1


@pytest.mark.parametrize("bit", [1, 2, 4, 8, 16, 32, 64, 128])
def test_no_bit_of_the_gap_can_change(sealed_pdf: bytes, bit: int) -> None:
    slot = find_slot(sealed_pdf).slot
    assert slot is not None
    for position in range(slot.start, slot.end):
        changed = bytearray(sealed_pdf)
        changed[position] ^= bit
        assert verify_pdf(bytes(changed)).state == "tampered", f"byte {position}"


@pytest.mark.parametrize(
    ("change", "name", "detail"),
    [
        (lambda pdf: pdf + b"\n", "whole file covered", "1 bytes follow what was signed"),
        (lambda pdf: pdf + b"%%EOF\n" * 9, "whole file covered", "54 bytes follow what was signed"),
        (lambda pdf: pdf[:-1], "whole file covered", "the last 1 bytes of what was signed are missing"),
        (lambda pdf: b"%PDF-1.7\n" + pdf, "whole file covered", "9 bytes follow what was signed"),
        (
            lambda pdf: pdf.replace(b"/ByteRange", b"/ByteRagne"),
            "signature present",
            "traces of a signature",
        ),
        (
            lambda pdf: pdf.replace(b"/ByteRange [0 ", b"/ByteRange [1 "),
            "whole file covered",
            "ranges must be",
        ),
    ],
    ids=["line break", "comments", "cut", "prefix", "no ranges", "other ranges"],
)
def test_what_was_done_to_a_file_is_said(sealed_pdf: bytes, change: object, name: str, detail: str) -> None:
    assert callable(change)
    state, failed_name, why = _first_failure(change(sealed_pdf))
    assert (state, failed_name) == ("tampered", name)
    assert detail in why


def test_lower_case_digits_and_other_padding_in_the_gap_are_found(sealed_pdf: bytes) -> None:
    slot = find_slot(sealed_pdf).slot
    assert slot is not None
    gap = sealed_pdf[slot.start : slot.end]
    for spelled in (gap.lower(), gap[:-2] + b" >"):
        changed = sealed_pdf[: slot.start] + spelled + sealed_pdf[slot.end :]
        assert _first_failure(changed)[:2] == ("tampered", "signature slot")


def test_an_incremental_update_is_found(sealed_pdf: bytes) -> None:
    writer = IncrementalPdfFileWriter(BytesIO(sealed_pdf))
    writer.root["/Lang"] = writer.root["/Lang"]
    writer.update_root()
    output = BytesIO()
    writer.write(output)
    assert output.getvalue().startswith(sealed_pdf)
    state, name, detail = _first_failure(output.getvalue())
    assert (state, name) == ("tampered", "whole file covered")
    assert "incremental update" in detail


@pytest.mark.skipif(shutil.which("qpdf") is None, reason="needs qpdf")
@pytest.mark.parametrize("mode", ["preserve", "disable", "generate"])
def test_a_file_that_qpdf_wrote_again_is_told_from_a_genuine_one(
    sealed_pdf: bytes, tmp_path: Path, mode: str
) -> None:
    path, again = tmp_path / "sealed.pdf", tmp_path / "again.pdf"
    path.write_bytes(sealed_pdf)
    subprocess.run(["qpdf", f"--object-streams={mode}", str(path), str(again)], check=True)
    assert verify_pdf(again.read_bytes()).state == "tampered"


def test_a_file_that_was_printed_again_is_unsigned(unsigned_pdf: bytes) -> None:
    verdict = verify_pdf(unsigned_pdf)
    assert verdict.state == "unsigned"
    assert verdict.signer is None
    assert [check.name for check in verdict.checks if check.failed] == ["signature present"]
    assert [check.outcome for check in verdict.checks[2:]] == ["not checked"] * 7


@pytest.mark.parametrize("data", [b"", b"hello", b"%PD", b"<html>", b"PK\x03\x04"])
def test_what_is_no_pdf_is_malformed(data: bytes) -> None:
    assert verify_pdf(data).state == "malformed"


def test_a_sealed_file_is_not_sealed_again(sealed_pdf: bytes, mallory: SigningIdentity) -> None:
    with pytest.raises(InputError, match=r"^PDF to sign: must not be signed already$"):
        sign_pdf(sealed_pdf, identity=mallory, signed_at=SIGNED_AT)


def test_what_is_no_pdf_is_not_sealed(alice: SigningIdentity) -> None:
    with pytest.raises(InputError, match=r"^PDF to sign: must begin with %PDF-; got b'hello'$"):
        sign_pdf(b"hello", identity=alice, signed_at=SIGNED_AT)
    with pytest.raises(InputError, match=r"^PDF to sign: must be a PDF that can be read; "):
        sign_pdf(b"%PDF-1.7\nhello", identity=alice, signed_at=SIGNED_AT)


def test_another_key_seals_another_file(
    unsigned_pdf: bytes, sealed_pdf: bytes, mallory: SigningIdentity
) -> None:
    signer = verify_pdf(sign_pdf(unsigned_pdf, identity=mallory, signed_at=SIGNED_AT)).signer
    assert signer is not None
    assert (signer.keyid, signer.principal) == (mallory.keyid, "Mallory")


def test_a_seal_moved_to_another_file_is_found(
    sealed_pdf: bytes, unsigned_pdf: bytes, alice: SigningIdentity
) -> None:
    later = sign_pdf(unsigned_pdf, identity=alice, signed_at=SIGNED_AT + timedelta(seconds=1))
    ours, theirs = find_slot(sealed_pdf).slot, find_slot(later).slot
    assert ours is not None
    assert theirs is not None
    gap = later[theirs.start : theirs.end]
    assert len(gap) == ours.end - ours.start
    moved = sealed_pdf[: ours.start] + gap + sealed_pdf[ours.end :]
    assert _first_failure(moved)[:2] == ("tampered", "content unchanged")


def test_a_time_before_the_key_was_made_is_refused(unsigned_pdf: bytes, alice: SigningIdentity) -> None:
    message = r"^PDF to sign: the time of the seal must be within 2026-.*; got '2020-01-01T00:00:00Z'$"
    with pytest.raises(InputError, match=message):
        sign_pdf(unsigned_pdf, identity=alice, signed_at=datetime(2020, 1, 1, tzinfo=UTC))


def test_a_signature_in_the_form_of_another_program_is_not_taken_for_ours(
    unsigned_pdf: bytes, alice: SigningIdentity
) -> None:
    """Genuine for other readers; here every byte of a container must be accounted for."""
    from pyhanko.keys.internal import (
        translate_pyca_cryptography_cert_to_asn1,
        translate_pyca_cryptography_key_to_asn1,
    )

    signer = SimpleSigner(
        translate_pyca_cryptography_cert_to_asn1(alice.certificate),
        translate_pyca_cryptography_key_to_asn1(alice.private_key),
        SimpleCertificateStore(),
    )
    metadata = PdfSignatureMetadata(field_name="Other", md_algorithm="sha256")
    output = asyncio.run(
        OtherSigner(metadata, signer).async_sign_pdf(IncrementalPdfFileWriter(BytesIO(unsigned_pdf)))
    )
    assert _first_failure(output.getvalue())[:2] == ("tampered", "signature container")


def test_a_container_comes_back_from_its_bytes_and_asn1crypto_reads_it(sealed_pdf: bytes) -> None:
    slot = find_slot(sealed_pdf).slot
    assert slot is not None
    container = read_container(slot.container)
    assert container_bytes(container) == slot.container
    assert is_container_genuine(container)
    content = cms.ContentInfo.load(slot.container, strict=True)
    assert content.dump(force=True) == slot.container
    signer = content["content"]["signer_infos"][0]
    assert [one["type"].native for one in signer["signed_attrs"]] == [
        "content_type",
        "message_digest",
        "signing_certificate_v2",
    ]
    assert signer["signed_attrs"][1]["values"][0].native == container.document_digest
    assert signer["signature_algorithm"]["algorithm"].native == "sha256_ecdsa"


def test_a_container_with_something_unsigned_in_it_is_refused(sealed_pdf: bytes) -> None:
    slot = find_slot(sealed_pdf).slot
    assert slot is not None
    content = cms.ContentInfo.load(slot.container)
    content["content"]["signer_infos"][0]["unsigned_attrs"] = cms.CMSAttributes(
        [cms.CMSAttribute({"type": "signing_time", "values": [cms.Time({"utc_time": SIGNED_AT})]})]
    )
    with pytest.raises(InputError, match=r"^signature container: must be "):
        read_container(content.dump(force=True))


def test_a_digest_that_was_not_signed_is_found(sealed_pdf: bytes) -> None:
    slot = find_slot(sealed_pdf).slot
    assert slot is not None
    genuine = read_container(slot.container)
    assert not is_container_genuine(Container(genuine.certificate, bytes(32), genuine.signature))


def test_the_attachments_come_out_as_they_went_in(sealed_pdf: bytes) -> None:
    found = {one.name: one.data for one in read_attachments(sealed_pdf, where="report.pdf")}
    assert found == ATTACHED
