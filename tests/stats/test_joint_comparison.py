"""Pairs under every configuration, decided jointly: against a loop, against statsmodels, at the edges."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import norm
from scipy.stats import t as student
from threadpoolctl import threadpool_limits

from safetyrepro.errors import InputError
from safetyrepro.stats import joint, joint_comparison, pair_columns
from safetyrepro.stats.joint import resample_counts
from safetyrepro.stats.joint_comparison import all_pairs, compare_pairs
from safetyrepro.stats.undefined import Undefined


def made_scores(models: int, configurations: int, items: int, *, seed: int = 0) -> np.ndarray:
    """Binary scores with item difficulty, model ability and a model x configuration interaction."""
    rng = np.random.default_rng(seed)
    latent = (
        0.4 * rng.normal(size=(models, 1, 1))
        + 0.3 * rng.normal(size=(models, configurations, 1))
        + rng.normal(size=(1, 1, items))
        + rng.normal(size=(models, configurations, items))
    )
    return (latent > 0).astype(float)


def generator(seed: int = 1) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=seed))


def loop_statistics(scores, clusters, pairs, counts, *, studentised):
    """t and t* of every pair and configuration, one resample and one column at a time."""
    codes = np.unique(clusters)
    t = np.empty((len(pairs), scores.shape[1]))
    drawn = np.empty((len(counts), *t.shape))
    for p, (a, b) in enumerate(pairs):
        for c in range(scores.shape[1]):
            d = scores[a, c] - scores[b, c]
            both = ~np.isnan(d)
            sums = np.array([d[both & (clusters == k)].sum() for k in codes])
            sizes = np.array([(both & (clusters == k)).sum() for k in codes], dtype=float)

            def ratio(weight, sums=sums, sizes=sizes):
                mean = (weight @ sums) / (weight @ sizes)
                present = weight @ (sizes > 0)
                square = weight @ (sums - mean * sizes) ** 2
                return mean, np.sqrt(square * present / (present - 1)) / (weight @ sizes)

            full, error = ratio(np.ones(len(codes)))
            t[p, c] = full / error
            for s, weight in enumerate(counts):
                mean, own = ratio(weight)
                drawn[s, p, c] = (mean - full) / (own if studentised and own > 1e-9 else error)
    return t, drawn


def loop_step_down(t, drawn, level):
    """Decisions over the 2m one-sided hypotheses, removing what is rejected until nothing is."""
    t, drawn = t.reshape(-1), drawn.reshape(len(drawn), -1)
    stats = np.concatenate([t, -t])
    both = np.concatenate([drawn, -drawn], axis=1)
    left = np.ones(stats.size, dtype=bool)
    allowed = (1 - level) * (len(drawn) + 1) - 1
    while True:
        largest = both[:, left].max(axis=1)
        rejected = left & np.array([(largest >= value).sum() <= allowed + 1e-9 for value in stats])
        if not rejected.any():
            break
        left &= ~rejected
    out = ~left
    return out[: t.size].astype(int) - out[t.size :].astype(int)


def with_students_tails(t, critical, clusters):
    """Observed t on the scale of fixed-error resamples, and their critical value on that of t."""
    narrow = np.sqrt((clusters - 1) / clusters)
    scaled = np.sign(t) * norm.isf(student.sf(np.abs(t), clusters - 1)) * narrow
    most = clusters.max()
    return scaled, student.isf(norm.sf(critical * np.sqrt(most / (most - 1))), most - 1)


CASES = {
    "items as clusters, few": {"items": 60, "clusters": None, "missing": 0.0},
    "clusters of unequal size": {"items": 120, "clusters": 31, "missing": 0.0},
    "clusters with missing outcomes": {"items": 120, "clusters": 31, "missing": 0.1},
    "many items, fixed error": {"items": 230, "clusters": None, "missing": 0.0},
    "many items with missing outcomes": {"items": 230, "clusters": None, "missing": 0.1},
}


@pytest.mark.parametrize("name", CASES)
def test_the_fast_path_is_the_per_resample_loop(name: str) -> None:
    case = CASES[name]
    rng = np.random.default_rng(11)
    scores = made_scores(3, 4, case["items"], seed=7)
    scores[rng.uniform(size=scores.shape) < case["missing"]] = np.nan
    clusters = (
        np.arange(case["items"])
        if case["clusters"] is None
        else rng.integers(0, case["clusters"], size=case["items"])
    )
    count = np.unique(clusters).size
    pairs = all_pairs(3)
    result = compare_pairs(scores, clusters, pairs=pairs, rng=generator(), resamples=99)
    (counts,) = resample_counts(generator(), clusters=count, resamples=99, block=99)
    studentised = count < pair_columns.STUDENTISED_BELOW
    assert result.method == ("bootstrap-t" if studentised else "fixed-standard-error")
    t, drawn = loop_statistics(scores, clusters, pairs, counts, studentised=studentised)
    np.testing.assert_allclose(result.differences / result.standard_errors, t, rtol=1e-8)
    critical = np.sort(np.abs(drawn).max(axis=(1, 2)))[94]  # the 95th of 99
    if not studentised:
        t, critical = with_students_tails(t, critical, result.clusters)
    np.testing.assert_array_equal(result.decisions.reshape(-1), loop_step_down(t, drawn, 0.95))
    assert result.critical_value == pytest.approx(critical, rel=1e-7)
    reach = (result.upper - result.lower) / 2 / result.standard_errors
    assert (reach >= result.critical_value * (1 - 1e-12)).all()
    np.testing.assert_allclose(result.p_ahead, (1 + (drawn >= t).sum(axis=0)) / 100, atol=0.0101)
    some = (1 + (drawn.max(axis=2) >= t.max(axis=1)).sum(axis=0)) / 100
    np.testing.assert_allclose(result.some_ahead_p, some, atol=0.0101)


def test_an_error_is_the_cluster_robust_one_of_statsmodels() -> None:
    scores = made_scores(2, 1, 90, seed=3)
    clusters = np.random.default_rng(0).integers(0, 17, size=90)
    result = compare_pairs(scores, clusters, pairs=np.array([[0, 1]]), rng=generator(), resamples=99)
    fit = sm.OLS(scores[0, 0] - scores[1, 0], np.ones(90)).fit(
        cov_type="cluster", cov_kwds={"groups": clusters}
    )
    assert result.differences[0, 0] == pytest.approx(fit.params[0], rel=1e-12)
    assert result.standard_errors[0, 0] == pytest.approx(fit.bse[0], rel=1e-12)


def test_bounds_and_decisions_agree() -> None:
    scores = made_scores(4, 6, 240, seed=5)
    result = compare_pairs(scores, np.arange(240), pairs=all_pairs(4), rng=generator(), resamples=400)
    assert (result.decisions[result.lower > 0] == 1).all()
    assert (result.decisions[result.upper < 0] == -1).all()
    assert (np.sign(result.differences) * result.decisions >= 0).all()
    assert set(np.unique(result.decisions)) == {-1, 0, 1}
    np.testing.assert_array_equal(result.decisions != 0, result.adjusted_p <= 0.05 + 1e-12)


def test_swapping_the_pair_swaps_every_sign() -> None:
    scores = made_scores(2, 5, 150, seed=9)
    there, back = (
        compare_pairs(scores, np.arange(150), pairs=np.array([pair]), rng=generator(), resamples=300)
        for pair in ([0, 1], [1, 0])
    )
    np.testing.assert_array_equal(there.differences, -back.differences)
    np.testing.assert_array_equal(there.decisions, -back.decisions)
    np.testing.assert_array_equal(there.p_ahead, back.p_behind)
    np.testing.assert_array_equal(there.lower, -back.upper)
    assert there.critical_value == back.critical_value


@pytest.mark.parametrize("items", [80, 230])
def test_the_order_of_items_does_not_change_a_bit(items: int) -> None:
    scores = made_scores(3, 3, items, seed=2) + np.random.default_rng(1).normal(size=(3, 3, items))
    clusters = (
        np.random.default_rng(4).integers(0, items // 2, size=items) if items == 80 else np.arange(items)
    )
    order = np.random.default_rng(8).permutation(items)
    one = compare_pairs(scores, clusters, pairs=all_pairs(3), rng=generator(), resamples=200)
    two = compare_pairs(
        scores[:, :, order], clusters[order], pairs=all_pairs(3), rng=generator(), resamples=200
    )
    for name in ("differences", "standard_errors", "lower", "upper", "adjusted_p", "p_ahead"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_the_size_of_the_blocks_does_not_change_a_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = made_scores(3, 4, 230, seed=2) + np.random.default_rng(1).normal(size=(3, 4, 230))
    arguments = {"pairs": all_pairs(3), "resamples": 150}
    whole = compare_pairs(scores, np.arange(230), rng=generator(), **arguments)
    monkeypatch.setattr(joint, "_BLOCK_BYTES", 12 * 8 * 7)
    monkeypatch.setattr(pair_columns, "_COLUMN_BYTES", 1)
    pieces = compare_pairs(scores, np.arange(230), rng=generator(), **arguments)
    np.testing.assert_array_equal(whole.adjusted_p, pieces.adjusted_p)
    np.testing.assert_array_equal(whole.lower, pieces.lower)


def test_names_of_clusters_do_not_matter_while_their_order_stays() -> None:
    scores = made_scores(2, 2, 60, seed=1)
    clusters = np.arange(60) // 3
    one = compare_pairs(scores, clusters, pairs=all_pairs(2), rng=generator(), resamples=99)
    two = compare_pairs(scores, 5 * clusters - 7, pairs=all_pairs(2), rng=generator(), resamples=99)
    np.testing.assert_array_equal(one.adjusted_p, two.adjusted_p)


def test_relabelling_models_and_configurations_relabels_the_answer() -> None:
    scores = made_scores(3, 4, 100, seed=6)
    models, configurations = np.array([2, 0, 1]), np.array([3, 1, 0, 2])
    one = compare_pairs(scores, np.arange(100), pairs=np.array([[2, 0]]), rng=generator(), resamples=200)
    two = compare_pairs(
        scores[models][:, configurations],
        np.arange(100),
        pairs=np.array([[0, 1]]),
        rng=generator(),
        resamples=200,
    )
    np.testing.assert_array_equal(one.decisions[:, configurations], two.decisions)
    np.testing.assert_allclose(one.adjusted_p[:, configurations], two.adjusted_p, atol=1e-15)


def test_duplicating_every_item_inside_its_cluster_changes_nothing() -> None:
    scores = made_scores(2, 3, 50, seed=6)
    one = compare_pairs(scores, np.arange(50), pairs=all_pairs(2), rng=generator(), resamples=200)
    two = compare_pairs(
        np.concatenate([scores, scores], axis=2),
        np.concatenate([np.arange(50), np.arange(50)]),
        pairs=all_pairs(2),
        rng=generator(),
        resamples=200,
    )
    np.testing.assert_allclose(one.lower, two.lower, rtol=1e-12)
    np.testing.assert_array_equal(one.decisions, two.decisions)


def test_an_item_without_any_score_is_no_item() -> None:
    scores = made_scores(2, 3, 50, seed=6)
    padded = np.concatenate([scores, np.full((2, 3, 4), np.nan)], axis=2)
    one = compare_pairs(scores, np.arange(50), pairs=all_pairs(2), rng=generator(), resamples=99)
    two = compare_pairs(padded, np.arange(54), pairs=all_pairs(2), rng=generator(), resamples=99)
    np.testing.assert_array_equal(one.lower, two.lower)
    np.testing.assert_array_equal(two.items, 50)


def test_identical_models_are_undefined_and_never_significant() -> None:
    scores = made_scores(3, 2, 80, seed=6)
    scores[1] = scores[0]
    result = compare_pairs(scores, np.arange(80), pairs=all_pairs(3), rng=generator(), resamples=99)
    assert set(result.undefined) == {(0, 0), (0, 1)}
    reason = result.undefined[0, 1].reason
    assert reason == "the two agree in each of the 80 clusters, so their difference has no spread"
    assert (result.decisions[0] == 0).all()
    assert np.isnan(result.lower[0]).all()
    assert np.isnan(result.adjusted_p[0]).all()
    envelope = result.envelope(0)
    assert envelope.true_ahead_range == (0, 2)
    assert envelope.raw_tied == 2
    assert isinstance(envelope.some_ahead_p, Undefined)
    assert isinstance(envelope.reversal_p(), Undefined)
    every = envelope.every_ahead_p()
    assert isinstance(every, Undefined)
    assert every.reason.startswith("configuration 0: the two agree")
    assert envelope.at_least_ahead_p(1) == 1.0


def test_a_constant_difference_is_undefined_not_infinitely_significant() -> None:
    scores = np.stack([np.full((1, 40), 0.7), np.full((1, 40), 0.2)])
    result = compare_pairs(scores, np.arange(40), pairs=all_pairs(2), rng=generator(), resamples=99)
    assert "the difference is 0.5 in each of the 40 clusters" in result.undefined[0, 0].reason
    assert result.decisions[0, 0] == 0
    assert isinstance(result.critical_value, Undefined)


def test_an_undefined_pair_does_not_change_the_others() -> None:
    scores = made_scores(3, 2, 80, seed=6)
    scores[1] = scores[0]
    alone = compare_pairs(scores, np.arange(80), pairs=np.array([[0, 2]]), rng=generator(), resamples=99)
    beside = compare_pairs(
        scores, np.arange(80), pairs=np.array([[0, 1], [0, 2]]), rng=generator(), resamples=99
    )
    np.testing.assert_array_equal(alone.lower[0], beside.lower[1])


def test_fewer_than_five_clusters_are_undefined() -> None:
    scores = made_scores(2, 1, 40, seed=6)
    result = compare_pairs(scores, np.arange(40) % 4, pairs=all_pairs(2), rng=generator(), resamples=99)
    assert result.undefined[0, 0].reason == "at least 5 clusters must have both scores; 4 have"


def test_a_pair_without_a_common_item_is_undefined() -> None:
    scores = made_scores(2, 2, 40, seed=6)
    scores[0, 0, :20] = np.nan
    scores[1, 0, 20:] = np.nan
    result = compare_pairs(scores, np.arange(40), pairs=all_pairs(2), rng=generator(), resamples=99)
    assert result.undefined[0, 0].reason.endswith("; 0 have")
    assert np.isnan(result.differences[0, 0])
    assert (0, 1) not in result.undefined
    assert result.envelope(0).configurations == 2


def test_a_resample_without_spread_does_not_make_the_whole_family_undecidable() -> None:
    rng = np.random.default_rng(0)
    scores = np.zeros((3, 1, 100))
    scores[0] = scores[1] = rng.integers(0, 2, size=(1, 100))
    scores[1, 0, 0] = 1 - scores[0, 0, 0]  # the two differ on one item
    scores[2, 0] = np.where(rng.uniform(size=100) < 0.5, 0.0, scores[0, 0])
    result = compare_pairs(scores, np.arange(100), pairs=all_pairs(3), rng=generator(), resamples=500)
    assert result.decisions[0, 0] == 0
    assert result.decisions[1, 0] == 1
    assert result.critical_value < 5


def test_a_margin_gives_non_inferiority_and_equivalence() -> None:
    scores = made_scores(2, 3, 400, seed=12)
    plain, wide, narrow = (
        compare_pairs(
            scores, np.arange(400), pairs=all_pairs(2), rng=generator(), resamples=500, margin=margin
        )
        for margin in (None, 0.6, 1e-9)
    )
    assert plain.margin is None
    assert (wide.margin.equivalence_p == 1 / 501).all()
    assert wide.margin.equivalent_everywhere_p()[0] == 1 / 501
    # A margin next to nothing asks whether the first is ahead; only exact ties are counted otherwise.
    assert (narrow.margin.not_worse_p <= plain.p_ahead).all()
    np.testing.assert_allclose(narrow.margin.not_worse_p, plain.p_ahead, atol=0.05)
    np.testing.assert_allclose(narrow.margin.not_better_p, plain.p_behind, atol=0.05)
    np.testing.assert_array_equal(plain.lower, wide.lower)


def test_the_p_value_of_a_reversal_is_the_larger_of_both_directions() -> None:
    rng = np.random.default_rng(0)
    base = rng.normal(size=(1, 2, 300))
    scores = np.concatenate([base, base + 0.3 * rng.normal(size=(1, 2, 300))])
    scores[0, 0] += 0.2
    scores[0, 1] -= 0.2
    envelope = compare_pairs(
        scores, np.arange(300), pairs=all_pairs(2), rng=generator(), resamples=999
    ).envelope(0)
    assert (envelope.reliably_ahead, envelope.reliably_behind, envelope.undecided) == (1, 1, 0)
    assert envelope.reversal_p() == pytest.approx(1 / 1000)
    assert envelope.every_ahead_p() > 0.9
    assert envelope.at_least_ahead_p(1) == pytest.approx(2 / 1000)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pairs": np.array([[0, 3]])}, r"pairs: model indices must lie in 0\.\.1; got"),
        ({"pairs": np.array([[1, 1]])}, r"pairs: must be of two different models; got \[1, 1\]"),
        ({"pairs": np.empty((0, 2), dtype=int)}, r"pairs: must have the shape \(pairs, 2\), at least one"),
        ({"pairs": np.array([[0.0, 1.0]])}, r"pairs: must be integer indices of models; got 'float64'"),
        ({"level": 1.0}, r"level: must lie strictly between 0 and 1; got 1\.0"),
        ({"resamples": 19}, r"resamples: must be at least 20 at level 0\.95; got 19"),
        ({"margin": 0.0}, r"margin: must be a positive number; got 0\.0"),
        ({"margin": float("nan")}, r"margin: must be a positive number; got nan"),
    ],
)
def test_a_wrong_argument_is_refused(change: dict, message: str) -> None:
    arguments = {"pairs": np.array([[0, 1]]), "rng": generator(), "resamples": 99} | change
    with pytest.raises(InputError, match=message):
        compare_pairs(made_scores(2, 1, 20), np.arange(20), **arguments)


@pytest.mark.parametrize(
    ("scores", "clusters", "message"),
    [
        (
            np.zeros((2, 20)),
            np.arange(20),
            r"scores: must have the shape \(models, ",
        ),
        (np.zeros((2, 0, 20)), np.arange(20), r"scores: must have the shape"),
        (np.full((2, 1, 20), np.inf), np.arange(20), r"scores: must be finite, or NaN where missing"),
        (np.full((2, 1, 20), np.nan), np.arange(20), r"scores: at least one score must not be missing"),
        (np.zeros((2, 1, 20)), np.arange(19), r"clusters: must have one code per item, shape \(20,\); got"),
        (np.zeros((2, 1, 20)), np.arange(20.0), r"clusters: must be integer codes; got 'float64'"),
    ],
)
def test_a_wrong_table_is_refused(scores: np.ndarray, clusters: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        compare_pairs(scores, clusters, pairs=np.array([[0, 1]]), rng=generator(), resamples=99)


def test_the_number_of_threads_does_not_change_a_bit() -> None:
    scores = np.random.default_rng(0).normal(size=(6, 20, 700))
    results = []
    for threads in (1, 2):
        with threadpool_limits(limits=threads):
            results.append(
                compare_pairs(scores, np.arange(700), pairs=all_pairs(6), rng=generator(), resamples=99)
            )
    for name in ("lower", "standard_errors", "adjusted_p", "p_ahead", "some_behind_p"):
        np.testing.assert_array_equal(getattr(results[0], name), getattr(results[1], name))


def test_resampled_sums_are_exact_whatever_their_grouping() -> None:
    given = np.random.default_rng(0).normal(size=(2, 3, 400))
    data = joint.cluster_scores(given, np.arange(400))
    (counts,) = resample_counts(generator(), clusters=400, resamples=20, block=20)
    cells = data.values.reshape(6, 400)
    product = counts @ cells.T
    backwards = counts[:, ::-1] @ cells[:, ::-1].T
    in_parts = counts[:, :133] @ cells[:, :133].T + counts[:, 133:] @ cells[:, 133:].T
    np.testing.assert_array_equal(product, backwards)
    np.testing.assert_array_equal(product, in_parts)
    assert np.abs(data.values - given).max() < 1e-10


def test_all_pairs_lists_every_pair_once() -> None:
    assert joint_comparison.all_pairs(3).tolist() == [[0, 1], [0, 2], [1, 2]]
