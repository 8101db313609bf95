from __future__ import annotations

import numpy as np
import pytest

from safetyrepro.rng import generator


def test_the_stream_of_a_name_never_changes() -> None:
    # Typed in from the first release: a change here changes every interval of every report.
    assert generator(20261130, "bootstrap", "a").integers(0, 1 << 32, size=3).tolist() == [
        3699216243,
        2766933645,
        3324370247,
    ]


def test_two_generators_of_one_name_give_the_same_numbers() -> None:
    first, second = (generator(7, "alignment", "x").random(100) for _ in range(2))
    assert np.array_equal(first, second)


@pytest.mark.parametrize(
    "other", [(8, "alignment", ""), (7, "strata", ""), (7, "alignment", "x"), (7, "alignmentx", "")]
)
def test_another_seed_purpose_or_unit_is_another_stream(other: tuple[int, str, str]) -> None:
    assert not np.array_equal(generator(7, "alignment").random(4), generator(*other).random(4))


def test_parts_of_a_name_do_not_run_together() -> None:
    assert not np.array_equal(generator(7, "ab", "c").random(4), generator(7, "a", "bc").random(4))


def test_streams_of_different_names_are_uncorrelated() -> None:
    draws = np.stack([generator(7, "purpose", str(unit)).standard_normal(2_000) for unit in range(8)])
    off = np.corrcoef(draws)[np.triu_indices(8, k=1)]
    assert np.abs(off).max() < 5 / np.sqrt(2_000)


def test_a_seed_of_any_size_is_taken_and_a_negative_one_refused() -> None:
    assert generator(2**200, "bootstrap").random() != generator(2**200 + 1, "bootstrap").random()
    with pytest.raises(ValueError, match="seed must be non-negative; got -1"):
        generator(-1, "bootstrap")
