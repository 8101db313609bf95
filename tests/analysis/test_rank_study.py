"""Rank studies: real tables by brute force, known truths, and wrong tables, which never give a number."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import kendalltau, rankdata

from safetyrepro.analysis.rank_counts import study_counts
from safetyrepro.analysis.rank_input import RankOptions, oriented
from safetyrepro.analysis.ranks import study_scores
from safetyrepro.data.quantities import Estimate, NoEstimate
from safetyrepro.data.rank_study import Correlations, Direction, RankStudy, Removals
from safetyrepro.data.score_matrix import CountMatrix, ScoreMatrix
from safetyrepro.data.score_tables import CountColumns, TableColumns, read_counts, read_scores
from safetyrepro.errors import InputError

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
shared = [
    pytest.mark.shared,
    pytest.mark.skipif(not SHARED.is_dir(), reason="the public data files are not here"),
]
FEW = RankOptions(joint_resamples=400)


def matrix_of(scores: NDArray[np.float64], *, clusters: Sequence[str] | None = None) -> ScoreMatrix:
    """Scores (M, C, N) with plain names: one factor with C levels."""
    models, configurations, items = scores.shape
    return ScoreMatrix(
        models=tuple(f"m{m}" for m in range(models)),
        factors=("template",),
        levels=tuple((f"t{c}",) for c in range(configurations)),
        items=tuple(f"q{n}" for n in range(items)),
        clusters=None if clusters is None else tuple(clusters),
        scores=scores,
    )


def coins(
    *, models: int = 3, configurations: int = 4, items: int = 60, seed: int = 1
) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2, (models, configurations, items)).astype(np.float64)


def codes(study: RankStudy) -> set[str]:
    return {one.code for one in study.findings}


# --- known truths --------------------------------------------------------------------------------


def test_a_planted_reversal_is_found_with_the_factor_that_makes_it() -> None:
    rng = np.random.default_rng(3)
    chance = np.array([[0.9, 0.9, 0.1, 0.1], [0.5, 0.5, 0.5, 0.5]])
    scores = (rng.random((2, 4, 300)) < chance[:, :, None]).astype(np.float64)
    matrix = ScoreMatrix(
        models=("turner", "steady"),
        factors=("template", "rule"),
        levels=(("a", "sum"), ("a", "mean"), ("b", "sum"), ("b", "mean")),
        items=tuple(map(str, range(300))),
        clusters=None,
        scores=scores,
    )
    pair = study_scores(matrix, FEW).pairs[0]
    assert pair.decided == "++--"
    assert (pair.k_ahead, pair.k_behind, pair.disagreement_low, pair.disagreement_high) == (
        2,
        2,
        pytest.approx(4 / 6),
        pytest.approx(4 / 6),
    )
    template, rule = pair.factors
    assert (template.factor, template.matched, template.reversed_) == ("template", 2, 2)
    assert (rule.factor, rule.matched, rule.reversed_) == ("rule", 2, 0)
    assert not isinstance(pair.smallest, NoEstimate)
    assert pair.smallest.sets[0].factors == ("template",)


def test_a_model_that_is_always_right_holds_throughout() -> None:
    scores = coins(models=2)
    scores[0] = 1.0
    study = study_scores(matrix_of(scores), FEW)
    assert study.pairs[0].decided == "++++"
    assert study.models[0].lowest == study.models[0].highest == (1, 1, 1, 1)
    assert study.top is not None
    assert study.top.sure == ("m0",)


def test_lower_is_better_turns_every_decision() -> None:
    rng = np.random.default_rng(5)
    scores = (rng.random((3, 3, 200)) < np.array([0.2, 0.5, 0.8])[:, None, None]).astype(np.float64)
    higher = study_scores(matrix_of(scores), FEW)
    lower = study_scores(
        matrix_of(scores), RankOptions(joint_resamples=400, direction=Direction(kind="lower"))
    )
    turned = str.maketrans("+-", "-+")
    assert [one.decided for one in lower.pairs] == [one.decided.translate(turned) for one in higher.pairs]
    assert higher.models[0].scores == lower.models[0].scores


def test_nearness_to_a_target_is_turned_but_not_ranked() -> None:
    rng = np.random.default_rng(6)
    scores = (rng.random((3, 2, 400)) < np.array([0.52, 0.7, 0.2])[:, None, None]).astype(np.float64)
    turned = oriented(scores, Direction(kind="near", target=0.5))
    np.testing.assert_allclose(turned.goodness, -np.abs(scores.mean(axis=2) - 0.5))
    options = RankOptions(joint_resamples=400, direction=Direction(kind="near", target=0.5))
    with pytest.raises(InputError, match="better: must be higher or lower: which of two means is nearer"):
        study_scores(matrix_of(scores), options)


def test_the_order_of_items_is_no_matter() -> None:
    scores = coins()
    order = np.random.default_rng(8).permutation(60)
    one = matrix_of(scores, clusters=[f"c{n // 2}" for n in range(60)])
    other = matrix_of(scores[:, :, order], clusters=[f"c{n // 2}" for n in order])
    assert study_scores(one, FEW) == study_scores(other, FEW)


def test_a_study_survives_its_own_json() -> None:
    study = study_scores(matrix_of(coins()), FEW)
    assert RankStudy.model_validate_json(study.model_dump_json(by_alias=True)) == study


def test_equivalence_is_asked_only_with_a_margin() -> None:
    scores = coins(models=2, items=80)
    assert study_scores(matrix_of(scores), FEW).pairs[0].equivalence_p is None
    with_margin = study_scores(matrix_of(scores), RankOptions(joint_resamples=400, margin=0.9))
    assert with_margin.pairs[0].equivalence_p is not None


def test_weights_of_levels_weigh_the_decisions() -> None:
    scores = coins(models=2, configurations=2)
    scores[0, 0], scores[1, 0] = 1.0, coins(models=1, configurations=1)[0, 0] * 0.5
    options = RankOptions(joint_resamples=400, weights={"template": {"t0": 3.0, "t1": 1.0}})
    pair = study_scores(matrix_of(scores), options).pairs[0]
    assert pair.decided[0] == "+"
    assert pair.weight_ahead == pytest.approx(0.75 if pair.decided[1] != "+" else 1.0)


def test_missing_scores_get_worst_case_bounds() -> None:
    scores = coins(models=2, items=100)
    scores[0] = 1.0
    scores[0, 0, :3] = np.nan
    missing = study_scores(matrix_of(scores), FEW).missing
    assert (missing.missing, missing.lowest, missing.highest, missing.decisions) == (3, 0.0, 1.0, 4)
    assert missing.surviving == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (RankOptions(top=3), "top: must lie in 1..2 with 3 models; got 3"),
        (RankOptions(bounds=(0.0, 0.5)), "range: every score must lie in 0..0.5; got 1.0"),
        (RankOptions(primary={"template": "t9"}), "primary: must be a configuration of the envelope"),
        (RankOptions(primary={"rule": "t0"}), "primary: must give a level for template, once each"),
        (RankOptions(weights={"templat": {}}), r"must name factors of the envelope \(did you mean"),
        (RankOptions(weights={"template": {"t0": 1.0}}), "must name the levels t0, t1, t2, t3, once each"),
        (RankOptions(joint_resamples=10), "resamples: must be at least 20"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: RankOptions, message: str) -> None:
    with pytest.raises(InputError, match=message):
        study_scores(matrix_of(coins()), options)


# --- wrong tables --------------------------------------------------------------------------------


def test_one_model_is_an_error_and_has_no_pair() -> None:
    study = study_scores(matrix_of(coins(models=1)), FEW)
    assert {"SR315"} <= codes(study)
    assert study.pairs == ()
    assert study.top is None


def test_one_configuration_says_nothing_about_the_harness() -> None:
    study = study_scores(matrix_of(coins(configurations=1)), FEW)
    assert "SR313" in codes(study)
    assert study.pairs[0].disagreement_low is None
    assert isinstance(study.noise.tau, NoEstimate)


def test_ties_everywhere_are_refused_and_not_called_equal() -> None:
    scores = np.repeat(coins(models=1), 3, axis=0)
    study = study_scores(matrix_of(scores), FEW)
    assert "SR314" in codes(study)
    assert {pair.decided for pair in study.pairs} == {"...."}
    assert study.pairs[0].reasons[0].startswith("the two agree in each of the 60 clusters")
    assert isinstance(study.effective_configurations, NoEstimate)
    assert all(isinstance(one, NoEstimate) for one in study.removals)


def test_a_missing_cell_is_undefined_where_it_is_and_over_the_whole() -> None:
    scores = coins()
    scores[1, 2] = np.nan
    study = study_scores(matrix_of(scores), FEW)
    assert {"SR310", "SR303"} <= codes(study)
    scored = study.models[1].scores
    assert scored is not None
    assert isinstance(scored[2], NoEstimate)
    assert study.models[1].ranks[2] is None
    assert study.pairs[0].decided[2] == "."
    assert isinstance(study.orderings, NoEstimate)


def test_a_model_with_other_items_is_named() -> None:
    scores = coins()
    scores[2, :, 40:] = np.nan
    study = study_scores(matrix_of(scores), FEW)
    found = next(one for one in study.findings if one.code == "SR311")
    assert found.detail == "m2 lacks 20 of 60 items"


def test_no_score_at_all_is_refused() -> None:
    with pytest.raises(InputError, match="at least one score must be a number"):
        study_scores(matrix_of(np.full((2, 2, 5), np.nan)), FEW)


def test_counts_have_no_item_statistics_and_say_so() -> None:
    counts = CountMatrix(
        models=("a", "b"),
        factors=("scaffold",),
        levels=(("x",), ("y",)),
        successes=np.array([[90, 10], [10, 90]]),
        trials=np.full((2, 2), 100),
    )
    study = study_counts(counts, FEW)
    assert study.pairs[0].decided == "+-"
    assert study.method == "unpaired-normal"
    assert {"SR318"} <= codes(study)
    assert isinstance(study.squares, NoEstimate)


# --- real tables, by brute force -----------------------------------------------------------------


def check_by_brute_force(matrix: ScoreMatrix, study: RankStudy) -> None:
    """Means, ranks, differences, fewest removals, orderings and tau, each by a plain loop."""
    means = np.array([[np.nanmean(cell) for cell in row] for row in matrix.scores])
    for m, model in enumerate(study.models):
        assert model.scores is not None
        for c, one in enumerate(model.scores):
            assert isinstance(one, Estimate)
            assert one.value == pytest.approx(means[m, c], abs=1e-9)
    for c in range(means.shape[1]):
        ranks = [model.ranks[c] for model in study.models]
        np.testing.assert_allclose(np.array(ranks, float), rankdata(-np.round(means[:, c], 12)))
    for pair in study.pairs:
        one, two = matrix.models.index(pair.first), matrix.models.index(pair.second)
        differences = np.nanmean(matrix.scores[one] - matrix.scores[two], axis=1)
        assert pair.differences is not None
        np.testing.assert_allclose(np.array(pair.differences, float), differences, atol=1e-9)
        assert pair.raw_ahead == int((differences > 1e-12).sum())
        assert (pair.k_ahead, pair.k_behind) == (pair.decided.count("+"), pair.decided.count("-"))
    for model in study.models:
        for c in range(means.shape[1]):
            better = sum(
                pair.decided[c] == ("-" if pair.first == model.id else "+")
                for pair in study.pairs
                if model.id in (pair.first, pair.second)
            )
            assert model.lowest[c] == 1 + better
    for c, removal in enumerate(study.removals):
        if isinstance(removal, Removals):
            top = matrix.models.index(removal.top)
            assert means[top, c] == pytest.approx(means[:, c].max())
            assert removal.count == min(
                fewest(matrix.scores[top, c] - matrix.scores[m, c])
                for m in range(len(matrix.models))
                if m != top
            )
    if isinstance(study.noise.correlations, Correlations):
        places = itertools.combinations(range(means.shape[1]), 2)
        taus = [
            kendalltau(np.round(means[:, c], 12), np.round(means[:, d], 12)).statistic for c, d in places
        ]
        assert study.noise.correlations.tau == pytest.approx(np.mean(taus), abs=1e-9)


def fewest(differences: NDArray[np.float64]) -> int:
    """Removed one by one, the largest difference first, until the sum is below zero."""
    left = sorted(differences[~np.isnan(differences)].tolist(), reverse=True)
    count = 0
    while left and sum(left) >= -1e-12:
        left.pop(0)
        count += 1
    return count if left else len(differences) + 1


class TestRealTables:
    pytestmark = shared

    def test_two_judges_of_alpaca_eval(self) -> None:
        folder = SHARED / "leaderboards/alpaca_eval"
        files = ("v1_gpt4_item_matrix.csv.gz", "v2_weighted_gpt4_turbo_item_matrix.csv.gz")
        models = (
            "alpaca-7b",
            "claude",
            "claude-2",
            "falcon-40b-instruct",
            "falcon-7b-instruct",
            "gpt-3.5-turbo-0301",
        )
        columns = TableColumns(model="model", factors=("file",))
        matrix = read_scores([folder / name for name in files], columns, only=models)
        study = study_scores(matrix, FEW)
        assert [len(factor.levels) for factor in study.factors] == [2]
        assert len(study.pairs) == 15
        check_by_brute_force(matrix, study)

    def test_one_configuration_of_crux(self) -> None:
        path = SHARED / "leaderboards/zeroeval/crux_item_matrix.csv.gz"
        matrix = read_scores([path], TableColumns(model="model"))
        assert matrix.scores.shape == (51, 1, 800)
        study = study_scores(matrix, FEW)
        assert "SR313" in codes(study)
        check_by_brute_force(matrix, study)

    def test_truthfulqa_items_of_the_open_leaderboard(self) -> None:
        path = SHARED / "leaderboards/metabench/truthfulqa_responses.csv.gz"
        models = ("0-hero/Matter-0.1-7B-DPO-preview", "0-hero/Matter-0.1-7B-boost")
        matrix = read_scores([path], TableColumns(model="column 1"), only=models)
        assert matrix.scores.shape == (2, 1, 136)
        check_by_brute_force(matrix, study_scores(matrix, FEW))

    def test_published_counts_of_scaffolds(self, tmp_path: Path) -> None:
        path = SHARED / "benchmarks/safety_under_scaffolding/safety_rates_full.json"
        cells = json.loads(path.read_text(encoding="utf-8"))["safety_rates"].values()
        chosen = [cell for cell in cells if cell["benchmark"] == "bbq"]
        lines = [f"{c['model']},{c['config']},{c['n_safe']},{c['n_total']}" for c in chosen]
        table = tmp_path / "bbq.csv"
        table.write_text("\n".join(["model,scaffold,safe,total", *lines]), encoding="utf-8")
        columns = CountColumns(model="model", factors=("scaffold",), successes="safe", trials="total")
        counts = read_counts([table], columns)
        study = study_counts(counts, FEW)
        assert (len(study.models), len(study.configurations), len(study.pairs)) == (6, 4, 15)
        for cell in chosen:
            model = next(one for one in study.models if one.id == cell["model"])
            place = next(n for n, one in enumerate(study.configurations) if one.levels == (cell["config"],))
            assert model.scores is not None
            found = model.scores[place]
            assert isinstance(found, Estimate)
            assert found.value == pytest.approx(cell["n_safe"] / cell["n_total"])
            assert (found.low, found.high) == pytest.approx((cell["ci_lower"], cell["ci_upper"]), abs=2e-3)
