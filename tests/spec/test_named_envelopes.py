"""Named envelopes do not change once people cite them."""

from __future__ import annotations

from safetyrepro.data.score_matrix import grid_digest
from safetyrepro.spec.named_envelopes import DEFAULT_12


def test_the_default_envelope_has_twelve_configurations() -> None:
    assert len(set(DEFAULT_12.configurations)) == 12


def test_a_table_over_the_default_envelope_carries_its_digest() -> None:
    names = [name for name, _ in DEFAULT_12.factors]
    assert DEFAULT_12.digest == grid_digest(names, DEFAULT_12.configurations)


def test_the_digest_of_the_default_envelope_never_changes() -> None:
    assert DEFAULT_12.digest == "sha256:298c335288482f0dbf6294d56c92f36b0c5173f886a2274c868d73acb3ed9ccc"
