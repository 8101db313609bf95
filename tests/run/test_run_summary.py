from __future__ import annotations

import datetime as dt

import pytest
from fakes import Finished

from safetyrepro.data.results import Estimate, NoEstimate, PointOnly, Quantity
from safetyrepro.run.summary import quantity_text, summary_lines

COLLECTED = dt.datetime(2026, 11, 30, 21, 0, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("quantity", "text"),
    [
        (
            Estimate(value=0.705, low=-0.0, high=1.0, confidence=0.95, method="t", n=9, clusters=4),
            ".70  [.00 to 1.00]  n=9",
        ),
        (
            PointOnly(value=0.5, reason="no spread", n=8, clusters=4),
            ".50  [interval undefined: no spread]  n=8",
        ),
        (NoEstimate(reason="no scored rows", n=8), "undefined: no scored rows"),
    ],
)
def test_a_number_stands_with_its_interval_and_denominator_or_with_its_reason(
    quantity: Quantity, text: str
) -> None:
    assert quantity_text(quantity) == text


def test_a_summary_has_every_cell_and_every_claim(finished: Finished) -> None:
    results, experiment = finished.outcome.results, finished.job.experiment
    lines = list(summary_lines(experiment, results=results, collected_at=COLLECTED))
    assert "alignment_half, 24 items in 12 clusters" in lines
    assert lines.count("  template=plain,rule=sum  (primary)") == 1
    assert sum(" machine  " in line for line in lines) == 24
    for claim in experiment.evidence.claims:
        assert sum(line.startswith(f"  {claim.id}: ") for line in lines) == 1
    assert "+3 levels from the evidence" in next(line for line in lines if line.startswith("  users: "))
    assert lines[-1].endswith("checked claims supported.")
