"""Trust files, how a signer stands, and when signatures are enough."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from safetyrepro.attest.envelope import add_signature, sign_payload, verify_envelope
from safetyrepro.attest.keys import SigningIdentity, new_identity
from safetyrepro.attest.signature import public_key_pem
from safetyrepro.attest.statement import PredicateType, Role
from safetyrepro.attest.trust import SignerStanding, TrustStore, assess_signer, judge_quorum, parse_trust
from safetyrepro.errors import InputErrors

SIGNED_AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
REPORT = PredicateType.REPORT


def _entry(identity: SigningIdentity, *, principal: str, extra: str = "", roles: str = "[author]") -> str:
    pem = public_key_pem(identity.private_key.public_key()).replace("\n", "\n      ").rstrip()
    return f"""\
  - principal: {principal}
    roles: {roles}
    predicate_types: [report/v1]
    valid_from: 2026-01-01T00:00:00Z
    valid_until: 2027-01-01T00:00:00Z
{extra}    key: |
      {pem}
"""


def _trust(*entries: str, policies: str = "") -> TrustStore:
    return parse_trust(_text(*entries, policies=policies), name="trust.yaml")


def _text(*entries: str, policies: str = "") -> str:
    return f"schema: safetyrepro/trust/v1\nsigners:\n{''.join(entries)}{policies}"


def _revoked(reason: str, at: str) -> str:
    return f"    revoked_at: {at}\n    revocation_reason: {reason}\n"


def _stand(
    trust: TrustStore,
    identity: SigningIdentity,
    *,
    role: Role | None = "author",
    signed_at: datetime = SIGNED_AT,
) -> SignerStanding:
    return assess_signer(trust, identity.keyid, role=role, predicate_type=REPORT, signed_at=signed_at)


def _failures(standing: SignerStanding) -> dict[str, str]:
    return {check.name: check.detail for check in standing.checks if not check.passed}


def test_a_known_signer_in_role_and_window_is_trusted(alice: SigningIdentity) -> None:
    standing = _stand(_trust(_entry(alice, principal="alice")), alice)
    assert standing.trusted
    assert standing.principal == "alice"
    assert [check.name for check in standing.checks] == ["known", "authorised", "in window", "not revoked"]


def test_an_unknown_key_is_not_trusted_and_nothing_more_is_asked(
    alice: SigningIdentity, mallory: SigningIdentity
) -> None:
    standing = _stand(_trust(_entry(alice, principal="alice")), mallory)
    assert not standing.trusted
    assert [check.outcome for check in standing.checks] == ["failed", *["not checked"] * 3]


def test_each_question_is_answered_apart(alice: SigningIdentity) -> None:
    trust = _trust(_entry(alice, principal="alice", extra=_revoked("compromised", "2026-06-01T00:00:00Z")))
    late = datetime(2027, 1, 1, tzinfo=UTC)
    failures = _failures(_stand(trust, alice, role="reviewer", signed_at=late))
    assert set(failures) == {"authorised", "in window", "not revoked"}
    assert failures["authorised"] == "alice may sign as author, not as reviewer"


def test_a_kind_of_statement_that_is_not_listed_is_not_authorised(alice: SigningIdentity) -> None:
    trust = _trust(_entry(alice, principal="alice"))
    standing = assess_signer(
        trust, alice.keyid, role="author", predicate_type=PredicateType.REVOCATION, signed_at=SIGNED_AT
    )
    assert _failures(standing) == {"authorised": "alice may sign report/v1, not revocation/v1"}


def test_a_signer_to_whom_the_statement_gives_no_role_is_not_authorised(alice: SigningIdentity) -> None:
    standing = _stand(_trust(_entry(alice, principal="alice")), alice, role=None)
    assert _failures(standing) == {"authorised": "the statement gives alice no role"}


@pytest.mark.parametrize(
    ("signed_at", "inside"),
    [
        (datetime(2025, 12, 31, 23, 59, 59, tzinfo=UTC), False),
        (datetime(2026, 1, 1, tzinfo=UTC), True),
        (datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC), True),
        (datetime(2027, 1, 1, tzinfo=UTC), False),
    ],
)
def test_the_window_holds_its_first_moment_and_not_its_last(
    alice: SigningIdentity, signed_at: datetime, inside: bool
) -> None:
    standing = _stand(_trust(_entry(alice, principal="alice")), alice, signed_at=signed_at)
    assert standing.in_window.passed == inside


@pytest.mark.parametrize("signed_at", [SIGNED_AT - timedelta(days=300), SIGNED_AT])
def test_an_asserted_earlier_time_does_not_rescue_a_compromised_key(
    alice: SigningIdentity, signed_at: datetime
) -> None:
    trust = _trust(_entry(alice, principal="alice", extra=_revoked("compromised", "2026-12-01T00:00:00Z")))
    failures = _failures(_stand(trust, alice, signed_at=signed_at))
    assert failures == {
        "not revoked": "revoked at 2026-12-01T00:00:00Z (compromised); "
        "a date the signer asserts does not rescue it"
    }


@pytest.mark.parametrize("reason", ["superseded", "retired"])
def test_a_key_that_was_put_away_keeps_its_earlier_signatures(alice: SigningIdentity, reason: str) -> None:
    before = _trust(_entry(alice, principal="alice", extra=_revoked(reason, "2026-12-01T00:00:00Z")))
    assert _stand(before, alice).trusted
    after = _trust(_entry(alice, principal="alice", extra=_revoked(reason, "2026-11-30T12:00:00Z")))
    assert set(_failures(_stand(after, alice))) == {"not revoked"}


_POLICY = """\
policies:
  - predicate_type: report/v1
    signatures: [{role: author, at_least: 1}, {role: reviewer, at_least: 2}]
"""


def _reviewers(count: int) -> list[SigningIdentity]:
    return [new_identity(f"Reviewer {number}", created_at=SIGNED_AT) for number in range(count)]


def test_without_a_policy_one_trusted_author_is_enough(alice: SigningIdentity) -> None:
    trust = _trust(_entry(alice, principal="alice"))
    assert judge_quorum(trust, [_stand(trust, alice)], predicate_type=REPORT).met
    assert not judge_quorum(trust, [], predicate_type=REPORT).met


def test_two_of_two_reviewers_are_needed_where_the_policy_says_so(alice: SigningIdentity) -> None:
    first, second = _reviewers(2)
    trust = _trust(
        _entry(alice, principal="alice"),
        _entry(first, principal="bob", roles="[reviewer]"),
        _entry(second, principal="carol", roles="[reviewer]"),
        policies=_POLICY,
    )
    author, bob, carol = (
        _stand(trust, alice),
        _stand(trust, first, role="reviewer"),
        _stand(trust, second, role="reviewer"),
    )
    assert judge_quorum(trust, [author, bob, carol], predicate_type=REPORT).met
    lacking = judge_quorum(trust, [author, bob, bob], predicate_type=REPORT)
    assert not lacking.met
    assert [check.detail for check in lacking.requirements] == [
        "1 of 1 trusted as author: alice",
        "1 of 2 trusted as reviewer: bob",
    ]


def test_two_keys_of_one_person_are_one_person(alice: SigningIdentity) -> None:
    first, second = _reviewers(2)
    trust = _trust(
        _entry(alice, principal="alice"),
        _entry(first, principal="bob", roles="[reviewer]"),
        _entry(second, principal="bob", roles="[reviewer]"),
        policies=_POLICY,
    )
    standings = [_stand(trust, alice), *(_stand(trust, one, role="reviewer") for one in (first, second))]
    assert all(standing.trusted for standing in standings)
    assert not judge_quorum(trust, standings, predicate_type=REPORT).met


def test_one_person_does_not_count_in_two_roles() -> None:
    first, second = _reviewers(2)
    trust = _trust(
        _entry(first, principal="bob"),
        _entry(second, principal="bob", roles="[reviewer]"),
        policies=_POLICY.replace("at_least: 2", "at_least: 1"),
    )
    standings = [_stand(trust, first), _stand(trust, second, role="reviewer")]
    assert not judge_quorum(trust, standings, predicate_type=REPORT).met


def test_a_signer_who_is_not_trusted_does_not_count(alice: SigningIdentity) -> None:
    trust = _trust(_entry(alice, principal="alice", extra=_revoked("compromised", "2026-12-01T00:00:00Z")))
    assert not judge_quorum(trust, [_stand(trust, alice)], predicate_type=REPORT).met


def test_one_key_under_two_ids_does_not_make_two_of_two(alice: SigningIdentity) -> None:
    (first,) = _reviewers(1)
    trust = _trust(
        _entry(alice, principal="alice"),
        _entry(first, principal="bob", roles="[reviewer]"),
        policies=_POLICY,
    )
    envelope = add_signature(sign_payload(b"{}", alice.private_key), first.private_key)
    again = type(envelope)(
        envelope.payload, envelope.payload_type, (*envelope.signatures, envelope.signatures[1])
    )
    signers = verify_envelope(again, public_keys=trust.public_keys).signers
    roles: dict[str, Role] = {alice.keyid: "author", first.keyid: "reviewer"}
    standings = [
        assess_signer(trust, keyid, role=roles[keyid], predicate_type=REPORT, signed_at=SIGNED_AT)
        for keyid in signers
    ]
    assert len(standings) == 2
    assert not judge_quorum(trust, standings, predicate_type=REPORT).met


def test_every_defect_of_a_trust_file_is_told_with_its_line(alice: SigningIdentity) -> None:
    text = _text(_entry(alice, principal="alice", roles="[autor]", extra="    rol: x\n"))
    with pytest.raises(InputErrors) as found:
        parse_trust(text.replace("2027-01-01T00:00:00Z", "2027-01-01"), name="trust.yaml")
    assert len(found.value.messages) == 3
    role, until, unknown = found.value.messages
    assert role.startswith("trust.yaml:4:13: signers.0.roles.0: input should be 'author', 'second_coder'")
    assert until.startswith("trust.yaml:7:18: signers.0.valid_until: must be a UTC time such as 2026-")
    assert unknown == "trust.yaml:8:5: signers.0.rol is not a known field (did you mean 'role'?)"


_BAD = {
    "window turned round": (
        lambda text: text.replace("2027-01-01", "2025-01-01"),
        "signers.0: valid_until must be after valid_from",
    ),
    "reason without a date": (
        lambda text: text.replace("    key:", "    revocation_reason: retired\n    key:"),
        "revoked_at and revocation_reason must be given together",
    ),
    "not a key": (
        lambda text: text.replace("BEGIN PUBLIC KEY", "BEGIN NOTHING"),
        "signers.0.key: must be a PEM public key or certificate",
    ),
    "no roles": (lambda text: text.replace("[author]", "[]"), "signers.0.roles: "),
    "no signers": (lambda text: text[: text.index("signers:")] + "signers: []\n", "signers: "),
    "another schema": (
        lambda text: text.replace("trust/v1", "trust/v2"),
        "schema: input should be 'safety",
    ),
    "a key twice": (
        lambda text: text + text[text.index("  - principal") :].replace("alice", "bob"),
        "each key must stand once, sha256:",
    ),
    "an empty policy": (
        lambda text: text + "policies: [{predicate_type: report/v1, signatures: []}]\n",
        "policies.0.signatures: ",
    ),
    "a role twice in a policy": (
        lambda text: text + _POLICY.replace("role: reviewer", "role: author"),
        "policies.0: each role must stand once",
    ),
    "two policies of one kind": (
        lambda text: text + _POLICY + _POLICY.partition("\n")[2],
        "each predicate type must have one policy",
    ),
}


@pytest.mark.parametrize("how", _BAD)
def test_a_trust_file_that_contradicts_itself_is_refused(alice: SigningIdentity, how: str) -> None:
    edit, message = _BAD[how]
    with pytest.raises(InputErrors) as found:
        parse_trust(edit(_text(_entry(alice, principal="alice"))), name="trust.yaml")
    assert message in str(found.value)
    assert str(found.value).startswith("trust.yaml:")
