"""One verdict on a report: genuine ones, and one test for every way to be something else."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from fakes import Finished
from sealed_reports import Genuine, edited_report, seal, signed_again, trust_entry, trust_store

from safetyrepro.attest.envelope import (
    Envelope,
    EnvelopeSignature,
    add_signature,
    envelope_bytes,
    parse_envelope,
)
from safetyrepro.attest.envelope import sign_payload as sign_envelope
from safetyrepro.attest.hostile import MAX_JSON_BYTES, MAX_JSON_VALUES
from safetyrepro.attest.keys import new_identity
from safetyrepro.attest.pdf_attachments import read_attachments
from safetyrepro.attest.pdf_signature import sign_pdf, verify_pdf
from safetyrepro.canonical import canonical_bytes, parse_json
from safetyrepro.claims.validity import parse_time
from safetyrepro.data.bundle import read_manifest
from safetyrepro.report.publish import ENVELOPE_FILE, Signing, make_publication
from safetyrepro.report.verdicts import Verdict, Verification, verification_document
from safetyrepro.report.verify import Beyond, verify_report_files, verify_report_pdf

TWO_REVIEWERS = [
    {
        "predicate_type": "report/v1",
        "signatures": [{"role": "author", "at_least": 1}, {"role": "reviewer", "at_least": 2}],
    }
]


@pytest.fixture(scope="module")
def genuine(finished: Finished) -> Genuine:
    bundle = finished.outcome.bundle
    issued_at = parse_time(read_manifest(bundle).collected_at, "manifest") + dt.timedelta(hours=1)
    alice, mallory = (new_identity(name, created_at=issued_at) for name in ("Alice", "Mallory"))
    pdf = make_publication(bundle, issued_at=issued_at, signing=Signing(alice)).files["report.pdf"]
    files = {one.name: one.data for one in read_attachments(pdf, where="report.pdf")}
    return Genuine(pdf=pdf, files=files, issued_at=issued_at, alice=alice, mallory=mallory)


def _verify(genuine: Genuine, pdf: bytes) -> Verification:
    return verify_report_pdf(pdf, trust=genuine.trust(), at=genuine.issued_at)


def _verify_files(genuine: Genuine, files: Mapping[str, bytes]) -> Verification:
    """As a sealed PDF around the files, whose seal is in order and whose pages are not asked about."""
    pdf = seal(files, by=genuine.alice, at=genuine.issued_at)
    beyond = Beyond(print_again=False)
    return verify_report_pdf(pdf, trust=genuine.trust(), at=genuine.issued_at, beyond=beyond)


def _failures(verification: Verification) -> dict[str, str]:
    return {check.name: check.detail for check in verification.checks if check.failed}


def test_a_published_report_is_current_and_every_check_that_was_made_passed(genuine: Genuine) -> None:
    found = _verify(genuine, genuine.pdf)
    assert (found.verdict, found.states) == (Verdict.CURRENT, (Verdict.CURRENT,))
    assert _failures(found) == {}
    assert [check.name for check in found.checks if check.outcome == "not checked"] == [
        "not revoked",
        "trigger model_weights",
        "trigger scorer",
        "time of signing",
        "content",
    ]
    assert found.report is not None
    assert found.seal is not None
    assert [standing.principal for standing in found.signers] == ["Alice"]


@pytest.mark.parametrize(
    ("offset", "verdict"),
    [
        (-1, Verdict.NOT_YET_VALID),
        (0, Verdict.CURRENT),
        (1, Verdict.CURRENT),
    ],
)
def test_a_report_is_in_force_from_the_second_it_was_issued(
    genuine: Genuine, offset: int, verdict: Verdict
) -> None:
    at = genuine.issued_at + dt.timedelta(seconds=offset)
    assert verify_report_pdf(genuine.pdf, trust=genuine.trust(), at=at).verdict is verdict


def test_a_report_is_in_force_until_the_second_it_expires(genuine: Genuine) -> None:
    report = _verify(genuine, genuine.pdf).report
    assert report is not None
    expires = parse_time(report.window.expires_at, "report")
    verdicts = [
        verify_report_pdf(
            genuine.pdf, trust=genuine.trust(), at=expires + dt.timedelta(seconds=offset)
        ).verdict
        for offset in (-1, 0)
    ]
    assert verdicts == [Verdict.CURRENT, Verdict.EXPIRED]


def test_an_unsigned_report_is_unsigned(finished: Finished, genuine: Genuine) -> None:
    unsigned = make_publication(finished.outcome.bundle, issued_at=genuine.issued_at, signing=None)
    found = _verify(genuine, unsigned.files["report.pdf"])
    assert found.states == (Verdict.UNSIGNED,)
    assert found.report is not None
    assert (found.seal, found.signers) == (None, ())


def test_without_a_trust_file_nobody_is_trusted(genuine: Genuine) -> None:
    found = verify_report_pdf(genuine.pdf, trust=None, at=genuine.issued_at)
    assert found.states == (Verdict.UNTRUSTED_SIGNER,)
    assert _failures(found) == {"trusted": "no trust file was given: nobody is trusted"}


def test_every_changed_byte_of_a_report_is_found(genuine: Genuine) -> None:
    """Every 499th byte (a prime, so that no structure is stepped over) and the whole end of the file."""
    size = len(genuine.pdf)
    states = set()
    for position in [*range(5, size - 2_500, 499), *range(size - 2_500, size, 3)]:
        changed = bytearray(genuine.pdf)
        changed[position] ^= 4
        states.add(_verify(genuine, bytes(changed)).states)
    assert states == {(Verdict.TAMPERED,)}


def test_a_report_whose_seal_was_cut_off_is_tampered(genuine: Genuine) -> None:
    found = _verify(genuine, genuine.unsealed)
    assert found.states == (Verdict.TAMPERED,)
    assert "the PDF has no seal: it was printed or written again" in _failures(found)["sealed by a signer"]


def test_a_report_that_was_printed_without_its_files_is_malformed(genuine: Genuine) -> None:
    found = _verify(genuine, seal({}, by=None, at=genuine.issued_at))
    assert found.verdict is Verdict.MALFORMED
    assert _failures(found)["report readable"] == "report: must hold report.json; it does not"


def test_other_pages_around_the_genuine_statement_are_tampered(genuine: Genuine) -> None:
    """Every subject's digest matches; the pages say something else and another key sealed them."""
    forged = seal(genuine.files, by=genuine.mallory, at=genuine.issued_at, text="Everything is safe.")
    found = _verify(genuine, forged)
    assert found.states == (Verdict.TAMPERED, Verdict.UNTRUSTED_SIGNER)
    assert "did not sign the statement inside" in _failures(found)["sealed by a signer"]


def test_a_report_sealed_again_by_another_key_is_tampered(genuine: Genuine) -> None:
    resealed = sign_pdf(genuine.unsealed, identity=genuine.mallory, signed_at=genuine.issued_at)
    assert _verify(genuine, resealed).states == (Verdict.TAMPERED, Verdict.UNTRUSTED_SIGNER)


def test_a_forger_with_a_key_of_their_own_is_an_untrusted_signer(genuine: Genuine) -> None:
    files = signed_again(genuine.files, [(genuine.mallory, "author")])
    found = _verify(genuine, seal(files, by=genuine.mallory, at=genuine.issued_at))
    assert found.states == (Verdict.UNTRUSTED_SIGNER,)
    assert found.seal is not None
    assert [standing.principal for standing in found.signers] == [None]


@pytest.mark.parametrize("name", ["results.json", "manifest.json", "items.json", "spec.yaml", "rows"])
def test_a_changed_byte_of_a_file_inside_is_tampered(genuine: Genuine, name: str) -> None:
    full = next(one for one in genuine.files if one.startswith(name))
    changed = bytearray(genuine.files[full])
    changed[len(changed) // 2] ^= 1
    found = _verify_files(genuine, {**genuine.files, full: bytes(changed)})
    assert Verdict.TAMPERED in found.states
    assert _failures(found)["files as stated"] == f"other bytes than the statement names: {full}"


def test_another_claim_in_the_report_record_is_tampered(genuine: Genuine) -> None:
    report = edited_report(genuine.files, answer="Everything is safe.")
    found = _verify_files(genuine, {**genuine.files, "report.json": report})
    assert found.states == (Verdict.TAMPERED,)
    assert set(_failures(found)) == {"files as stated"}


@pytest.mark.parametrize(
    ("edits", "field"),
    [
        ({"level": "deployment"}, "level"),
        ({"tier": "F3"}, "tier"),
        ({"id": "other-v1-000000000000"}, "id"),
        ({"non_claims": []}, "non_claims"),
    ],
)
def test_a_record_that_says_other_than_its_statement_is_tampered(
    genuine: Genuine, edits: dict[str, object], field: str
) -> None:
    report = edited_report(genuine.files, **edits)  # type: ignore[arg-type]
    found = _verify_files(genuine, {**genuine.files, "report.json": report})
    assert Verdict.TAMPERED in found.states
    assert _failures(found)["record as stated"].endswith(f"differ in: {field}")


def test_an_expiry_that_is_not_counted_from_the_evidence_is_tampered(genuine: Genuine) -> None:
    """Even the author cannot renew a report by signing a later day."""
    fields = parse_json(genuine.files["report.json"], "report.json")
    assert isinstance(fields, dict)
    window = fields["window"]
    assert isinstance(window, dict)
    report = edited_report(genuine.files, window={**window, "expires_at": "2090-01-01T00:00:00Z"})
    files = signed_again(genuine.files, [(genuine.alice, "author")], report=report)
    found = _verify_files(genuine, files)
    assert found.states == (Verdict.TAMPERED,)
    assert _failures(found)["expiry counted from the evidence"].endswith("got 2090-01-01T00:00:00Z")


def test_swapped_payloads_of_two_genuine_reports_are_tampered(genuine: Genuine) -> None:
    other = signed_again(
        genuine.files,
        [(genuine.alice, "author")],
        report=edited_report(genuine.files, title="Another report"),
    )
    swapped = {**genuine.files, ENVELOPE_FILE: other[ENVELOPE_FILE]}
    found = _verify_files(genuine, swapped)
    assert Verdict.TAMPERED in found.states
    assert _failures(found)["statement signed"] == "the envelope holds another statement"


def test_results_of_another_run_are_tampered(genuine: Genuine) -> None:
    files = {**genuine.files, "results.json": canonical_bytes({"another": "run"})}
    assert _verify_files(genuine, files).verdict is Verdict.TAMPERED


def test_a_file_that_no_subject_names_is_tampered(genuine: Genuine) -> None:
    found = _verify_files(genuine, {**genuine.files, "press-release.csv": b"all is well"})
    assert found.states == (Verdict.TAMPERED,)
    assert _failures(found)["files as stated"] == "the statement does not name: press-release.csv"


def test_rows_that_are_not_attached_are_said_to_be_unchecked(genuine: Genuine) -> None:
    files = {name: data for name, data in genuine.files.items() if not name.startswith("rows/")}
    found = _verify_files(genuine, files)
    assert found.verdict is Verdict.CURRENT
    detail = next(check.detail for check in found.checks if check.name == "files as stated")
    assert "not here, so not checked: 24 files of rows" in detail


@pytest.mark.parametrize(
    "name", ["report.json", "statement.json", "results.json", "manifest.json", "items.json", "spec.yaml"]
)
def test_a_missing_document_is_malformed(genuine: Genuine, name: str) -> None:
    files = {one: data for one, data in genuine.files.items() if one != name}
    found = _verify_files(genuine, files)
    assert found.verdict is Verdict.MALFORMED
    assert _failures(found)["report readable"] == f"report: must hold {name}; it does not"


def test_a_missing_envelope_in_a_sealed_report_is_tampered(genuine: Genuine) -> None:
    files = {name: data for name, data in genuine.files.items() if name != ENVELOPE_FILE}
    assert _verify_files(genuine, files).states == (Verdict.TAMPERED,)


@pytest.mark.parametrize(
    ("edits", "name", "reason"),
    [
        ({"valid_until": "2020-06-01T00:00:00Z"}, "Alice: in window", "outside 2020-01-01"),
        ({"valid_from": "2089-01-01T00:00:00Z"}, "Alice: in window", "outside 2089-01-01"),
        ({"roles": ["reviewer"]}, "Alice: authorised", "may sign as reviewer, not as author"),
        ({"predicate_types": ["revocation/v1"]}, "Alice: authorised", "not report/v1"),
        (
            {"revoked_at": "2089-01-01T00:00:00Z", "revocation_reason": "compromised"},
            "Alice: not revoked",
            "does not rescue it",
        ),
        (
            {"revoked_at": "2021-01-01T00:00:00Z", "revocation_reason": "retired"},
            "Alice: not revoked",
            "before the signature",
        ),
    ],
    ids=["expired key", "future key", "another role", "another statement", "compromised", "retired"],
)
def test_a_signer_whom_the_trust_file_does_not_let_sign_is_untrusted(
    genuine: Genuine, edits: dict[str, object], name: str, reason: str
) -> None:
    found = verify_report_pdf(genuine.pdf, trust=genuine.trust(**edits), at=genuine.issued_at)
    assert found.states == (Verdict.UNTRUSTED_SIGNER,)
    assert reason in _failures(found)[name]
    assert reason in _failures(found)["sealed by a trusted signer"]


def _reviewed(genuine: Genuine, count: int) -> tuple[dict[str, bytes], list[dict[str, object]]]:
    """The report declared and signed by Alice and so many reviewers, and the trust entries of all."""
    reviewers = [
        new_identity(f"Reviewer {number}", created_at=genuine.issued_at) for number in range(count)
    ]
    files = signed_again(
        genuine.files, [(genuine.alice, "author"), *((one, "reviewer") for one in reviewers)]
    )
    entries = [trust_entry(genuine.alice), *(trust_entry(one, roles=["reviewer"]) for one in reviewers)]
    return files, entries


def test_two_reviewers_are_enough_where_two_are_asked_for(genuine: Genuine) -> None:
    files, entries = _reviewed(genuine, 2)
    trust = trust_store(entries, policies=TWO_REVIEWERS)
    pdf = seal(files, by=genuine.alice, at=genuine.issued_at)
    # The pages were printed before the reviewers were named, so printing them again is not asked for.
    found = verify_report_pdf(pdf, trust=trust, at=genuine.issued_at, beyond=Beyond(print_again=False))
    assert found.states == (Verdict.CURRENT,)
    assert [standing.role for standing in found.signers] == ["author", "reviewer", "reviewer"]


def test_one_reviewer_under_two_ids_is_not_two(genuine: Genuine) -> None:
    files, entries = _reviewed(genuine, 1)
    envelope = parse_envelope(files[ENVELOPE_FILE], where="envelope")
    again = EnvelopeSignature(envelope.signatures[1].sig, "sha256:" + "0" * 64)
    twice = Envelope(envelope.payload, envelope.payload_type, (*envelope.signatures, again))
    pdf = seal({**files, ENVELOPE_FILE: envelope_bytes(twice)}, by=genuine.alice, at=genuine.issued_at)
    trust = trust_store(entries, policies=TWO_REVIEWERS)
    found = verify_report_pdf(pdf, trust=trust, at=genuine.issued_at)
    assert Verdict.UNTRUSTED_SIGNER in found.states
    assert _failures(found)["signed by reviewer"] == "1 of 2 trusted as reviewer: Reviewer 0"


def test_a_declared_reviewer_who_did_not_sign_is_told(genuine: Genuine) -> None:
    files, entries = _reviewed(genuine, 1)
    envelope = parse_envelope(files[ENVELOPE_FILE], where="envelope")
    lacking = Envelope(envelope.payload, envelope.payload_type, envelope.signatures[:1])
    pdf = seal({**files, ENVELOPE_FILE: envelope_bytes(lacking)}, by=genuine.alice, at=genuine.issued_at)
    found = verify_report_pdf(pdf, trust=trust_store(entries), at=genuine.issued_at)
    assert found.states == (Verdict.UNTRUSTED_SIGNER,)
    assert "no signature with" in _failures(found)["signed by Reviewer 0"]


def test_a_further_signature_by_an_unknown_key_counts_for_nothing(genuine: Genuine) -> None:
    envelope = parse_envelope(genuine.files[ENVELOPE_FILE], where="envelope")
    more = envelope_bytes(add_signature(envelope, genuine.mallory.private_key))
    found = _verify_files(genuine, {**genuine.files, ENVELOPE_FILE: more})
    assert found.verdict is Verdict.CURRENT
    unknown = next(check for check in found.checks if check.name == "signature 2")
    assert (unknown.outcome, unknown.detail) == (
        "not checked",
        f"by a key that is not at hand, {genuine.mallory.keyid}",
    )


def test_a_signature_that_does_not_fit_the_key_it_names_is_tampered(genuine: Genuine) -> None:
    envelope = parse_envelope(genuine.files[ENVELOPE_FILE], where="envelope")
    forged = sign_envelope(envelope.payload, genuine.mallory.private_key)
    lying = Envelope(
        envelope.payload,
        envelope.payload_type,
        (EnvelopeSignature(forged.signatures[0].sig, genuine.alice.keyid),),
    )
    found = _verify_files(genuine, {**genuine.files, ENVELOPE_FILE: envelope_bytes(lying)})
    assert Verdict.TAMPERED in found.states
    assert "does not fit the key it names" in _failures(found)["signature 1"]


def _confused(genuine: Genuine) -> bytes:
    payload = genuine.files["statement.json"]
    return envelope_bytes(
        sign_envelope(payload, genuine.alice.private_key, payload_type="application/vnd.other+json")
    )


def _doubled(data: bytes) -> bytes:
    return data.replace(b"{", b'{"id":"another",', 1)


_MALFORMED = {
    "payload type confusion": (
        lambda one: {ENVELOPE_FILE: _confused(one)},
        "payloadType must be 'application/vnd.in-toto+json'; got 'application/vnd.other+json'",
    ),
    "doubled key in the report": (
        lambda one: {"report.json": _doubled(one.files["report.json"])},
        "report.json: object keys must be unique; got 'id' twice",
    ),
    "doubled key in the envelope": (
        lambda one: {ENVELOPE_FILE: one.files[ENVELOPE_FILE].replace(b"{", b'{"payload":"",', 1)},
        "envelope.dsse.json: object keys must be unique; got 'payload' twice",
    ),
    "another spelling of the statement": (
        lambda one: {"statement.json": one.files["statement.json"] + b"\n"},
        "statement.json: must be canonical JSON",
    ),
    "another spelling of the report": (
        lambda one: {"report.json": one.files["report.json"] + b"\n"},
        "report.json: must be canonical JSON",
    ),
    "no JSON": (lambda one: {"report.json": b"hello"}, "report.json: must be JSON"),
    "deep JSON": (lambda one: {"report.json": b"[" * 100_000}, "report.json: must not be nested"),
    "huge JSON": (
        lambda one: {"report.json": b" " * (MAX_JSON_BYTES + 1)},
        f"report.json: must be at most {MAX_JSON_BYTES} bytes",
    ),
    "JSON that is all structure": (
        lambda one: {"report.json": b"[" + b"[]," * 200_000 + b"[]]"},
        f"report.json: must hold at most {MAX_JSON_VALUES} values",
    ),
    "an unknown field": (
        lambda one: {"report.json": edited_report(one.files, extra=1)},
        "report.json: extra",
    ),
}


@pytest.mark.parametrize("how", _MALFORMED)
def test_documents_that_two_readers_could_take_differently_are_malformed(
    genuine: Genuine, how: str
) -> None:
    edit, message = _MALFORMED[how]
    found = _verify_files(genuine, {**genuine.files, **edit(genuine)})
    assert found.verdict is Verdict.MALFORMED
    assert message in _failures(found)["report readable"]


@pytest.mark.parametrize("data", [b"", b"hello", b"%PDF-1.7\n", b"%PDF-1.7\n%%EOF\n"])
def test_what_is_no_report_is_malformed(genuine: Genuine, data: bytes) -> None:
    assert _verify(genuine, data).verdict is Verdict.MALFORMED


def test_the_files_of_a_report_are_verified_without_a_pdf(genuine: Genuine) -> None:
    found = verify_report_files(genuine.files, seal=None, trust=genuine.trust(), at=genuine.issued_at)
    assert found.states == (Verdict.CURRENT,)
    assert found.seal is None
    forged = {**genuine.files, "results.json": b"{}"}
    found = verify_report_files(forged, seal=None, trust=genuine.trust(), at=genuine.issued_at)
    assert Verdict.TAMPERED in found.states


def test_several_states_are_all_given_and_the_first_is_the_verdict(genuine: Genuine) -> None:
    late = genuine.issued_at + dt.timedelta(days=4000)
    found = verify_report_pdf(genuine.unsealed, trust=genuine.trust(), at=late)
    assert found.states == (Verdict.TAMPERED, Verdict.EXPIRED)
    assert found.verdict is Verdict.TAMPERED


def test_the_verification_is_plain_json_with_every_check(genuine: Genuine) -> None:
    found = _verify(genuine, genuine.pdf)
    document = json.loads(canonical_bytes(verification_document(found)))
    assert (document["verdict"], document["states"]) == ("CURRENT", ["CURRENT"])
    assert len(document["checks"]) == len(found.checks)
    assert document["signers"][0]["fingerprint"] == genuine.alice.fingerprint
    assert document["report"]["id"] == found.report.id if found.report else False


def test_every_verdict_has_a_meaning_in_words() -> None:
    from safetyrepro.report.verdicts import MEANINGS

    assert set(MEANINGS) == set(Verdict)


def test_the_pdf_and_its_seal_come_from_one_key(genuine: Genuine) -> None:
    signer = verify_pdf(genuine.pdf).signer
    assert signer is not None
    assert signer.keyid == genuine.alice.keyid
    assert signer.signed_at == genuine.issued_at


_PROBE = r"""
import datetime as dt, re, sys, time
from pathlib import Path
from safetyrepro.report.verify import verify_report_pdf
start = time.monotonic()
at = dt.datetime(2027, 1, 1, tzinfo=dt.UTC)
verdict = verify_report_pdf(Path(sys.argv[1]).read_bytes(), trust=None, at=at).verdict
peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
print(verdict.value, int(peak[1]) // 1024, int(time.monotonic() - start))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux to read the peak memory")
def test_the_largest_documents_that_are_read_stay_within_512_mib(genuine: Genuine, tmp_path: Path) -> None:
    """Sealed by somebody's own key, so that everything inside is opened: JSON that is all structure."""
    bomb = b"[" + b"[]," * (MAX_JSON_VALUES // 3 - 2) + b"[]]" + b" " * 7 * 2**20
    names = ["report.json", "statement.json", "manifest.json", "results.json", "items.json", "spec.yaml"]
    path = tmp_path / "report.pdf"
    path.write_bytes(
        seal(dict.fromkeys([*names, ENVELOPE_FILE], bomb), by=genuine.mallory, at=genuine.issued_at)
    )
    done = subprocess.run(
        [sys.executable, "-c", _PROBE, str(path)], capture_output=True, text=True, check=True
    )
    verdict, mib, seconds = done.stdout.split()
    assert (verdict, done.stderr) == ("MALFORMED", "")
    assert int(mib) < 512
    assert int(seconds) < 30
