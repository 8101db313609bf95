"""What no estimator of this floor may depend on, as one table of estimators against changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from safetyrepro.stats.baselines import null_baselines
from safetyrepro.stats.paired import mixture_dominance, paired_difference, stratum_differences
from safetyrepro.stats.preference import pairwise_alignment, stratified_alignments


@dataclass(frozen=True)
class Table:
    """Scores of N pairs of twins, by rows."""

    chosen: np.ndarray
    rejected: np.ndarray
    clusters: np.ndarray
    strata: np.ndarray

    def rows(self, order: np.ndarray) -> Table:
        return Table(self.chosen[order], self.rejected[order], self.clusters[order], self.strata[order])


def table() -> Table:
    rng = np.random.default_rng(31)
    clusters = np.repeat(np.arange(30), 3)
    chosen = np.round(rng.normal(0.3, 1, size=90), 1)
    chosen[rng.integers(0, 90, size=5)] = np.nan
    rejected = np.round(rng.normal(size=90), 1)
    return Table(chosen, rejected, clusters, np.where(clusters < 12, "control", "honesty"))


def rng() -> np.random.Generator:
    return np.random.default_rng(32)


ESTIMATORS: dict[str, Callable[[Table], object]] = {
    "pairwise_alignment": lambda t: pairwise_alignment(
        t.chosen, t.rejected, clusters=t.clusters, rng=rng(), resamples=300
    ),
    "pairwise_alignment of independent pairs": lambda t: pairwise_alignment(
        t.chosen, t.rejected, rng=rng(), resamples=300
    ),
    "stratified_alignments": lambda t: stratified_alignments(
        t.chosen[None],
        t.rejected[None],
        strata=t.strata,
        weights={"control": 0.4, "honesty": 0.6},
        clusters=t.clusters,
        rng=rng(),
        resamples=300,
    ),
    "null_baselines": lambda t: null_baselines(
        t.chosen, t.rejected, clusters=t.clusters, rng=rng(), resamples=300
    ),
    "paired_difference": lambda t: paired_difference(
        t.chosen, t.rejected, clusters=t.clusters, rng=rng(), resamples=300
    ),
    "stratum_differences": lambda t: stratum_differences(
        t.chosen, t.strata, first="control", second="honesty", clusters=t.clusters, rng=rng(), resamples=300
    ),
    "mixture_dominance": lambda t: mixture_dominance(
        t.chosen, t.rejected, strata=t.strata, clusters=t.clusters, rng=rng(), resamples=300
    ),
}

CHANGES: dict[str, Callable[[Table], Table]] = {
    "the same again": lambda t: t,
    "rows in another order": lambda t: t.rows(np.random.default_rng(33).permutation(90)),
    "rows backwards": lambda t: t.rows(np.arange(90)[::-1]),
    "other labels in the same order": lambda t: replace(t, clusters=100 + 7 * t.clusters),
    "names for numbers": lambda t: replace(t, clusters=np.array([f"{c:02d}" for c in t.clusters])),
    "Fortran memory order": lambda t: replace(t, chosen=np.stack([t.chosen, t.rejected], axis=1)[:, 0]),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_an_estimator_gives_the_same_bits_after_a_change_that_means_nothing(
    estimator: str, change: str
) -> None:
    estimate = ESTIMATORS[estimator]
    assert estimate(CHANGES[change](table())) == estimate(table())


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_an_estimator_notices_a_score_that_changed(estimator: str) -> None:
    """The table above cannot pass because results are all alike."""
    changed = table()
    row = int(np.flatnonzero(~np.isnan(changed.chosen))[0])
    changed.chosen[row] += 50 if changed.chosen[row] < changed.rejected[row] else -50
    assert ESTIMATORS[estimator](changed) != ESTIMATORS[estimator](table())


@pytest.mark.parametrize("estimator", ["pairwise_alignment", "paired_difference", "stratified_alignments"])
def test_another_seed_gives_other_draws(estimator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A seed that is taken and not used would pass every test above."""
    before = ESTIMATORS[estimator](table())
    monkeypatch.setitem(globals(), "rng", lambda: np.random.default_rng(99))
    assert ESTIMATORS[estimator](table()) != before
