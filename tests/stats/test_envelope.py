"""The range of the true count and of the disagreement, worked by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from safetyrepro.errors import InputError
from safetyrepro.stats.envelope import disagreement_range
from safetyrepro.stats.undefined import Undefined


@pytest.mark.parametrize(
    ("ahead", "n", "low", "high"),
    [
        # 31 reliably ahead, 5 behind, 12 undecided of 48: x (48 - x) / 1128 falls from 31 to 43
        ((31, 43), 48, Fraction(43 * 5, 1128), Fraction(31 * 17, 1128)),
        ((12, 12), 12, Fraction(0), Fraction(0)),
        ((0, 12), 12, Fraction(0), Fraction(6 * 6, 66)),
        ((3, 10), 12, Fraction(10 * 2, 66), Fraction(6 * 6, 66)),
        ((1, 1), 2, Fraction(1), Fraction(1)),
        ((0, 1), 3, Fraction(0), Fraction(2, 3)),
    ],
)
def test_disagreement_is_worked_by_hand(
    ahead: tuple[int, int], n: int, low: Fraction, high: Fraction
) -> None:
    assert disagreement_range(ahead, configurations=n) == pytest.approx(
        (float(low), float(high)), abs=1e-15
    )


def test_disagreement_is_the_same_seen_from_the_other_model() -> None:
    assert disagreement_range((2, 7), configurations=11) == disagreement_range((4, 9), configurations=11)


def test_one_configuration_cannot_disagree() -> None:
    reason = "disagreement needs at least 2 configurations; there is one"
    assert disagreement_range((0, 1), configurations=1) == Undefined(reason)


@pytest.mark.parametrize("ahead", [(-1, 2), (3, 2), (0, 5)])
def test_counts_outside_the_envelope_are_refused(ahead: tuple[int, int]) -> None:
    with pytest.raises(InputError, match=r"disagreement_range: counts must lie in 0\.\.4; got"):
        disagreement_range(ahead, configurations=4)
