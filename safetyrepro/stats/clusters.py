"""Means of clustered rows, held as sums per cluster: what every interval of this floor starts from.

A statistic here is a weighted sum of ratio means, theta = sum_g w_g T_g / N_g, where T_g is the sum of
the scored rows of stratum g and N_g their number. Without strata it is the plain mean. Held as sums
per cluster, one product with a matrix of resampling counts gives all replicates of all series.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from safetyrepro.errors import InputError, did_you_mean, must_be
from safetyrepro.stats.undefined import Undefined

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]

_MANTISSA_BITS = 52


@dataclass(frozen=True, slots=True)
class Stratum:
    """The scored rows of one stratum, summed per cluster.

    `members` (G,) are the positions of its clusters, `sums` and `counts` (Q, G) the sum and the number
    of scored rows of each series in each of them, `weight` its declared share.
    """

    label: str
    weight: float
    members: IntArray
    sums: FloatArray
    counts: FloatArray

    def means(self) -> FloatArray:
        """(Q,) mean of the scored rows; NaN where a series has none."""
        return _ratio(self.sums.sum(axis=1), self.counts.sum(axis=1))


@dataclass(frozen=True, slots=True)
class ClusterMeans:
    """Q weighted means over the same K clusters.

    `blocks` (K,) says which clusters are drawn together: those of one stratum when every cluster lies
    in one stratum, and all of them otherwise. Q series may have different rows missing.
    """

    strata: tuple[Stratum, ...]
    blocks: IntArray

    @property
    def size(self) -> int:
        """K, the number of clusters, scored or not."""
        return int(self.blocks.size)

    def estimates(self) -> FloatArray:
        """(Q,) weighted means; NaN where a stratum of positive weight has no scored row."""
        means: FloatArray = np.stack([part.weight * part.means() for part in self.strata]).sum(axis=0)
        return means

    def rows(self) -> IntArray:
        """(Q,) scored rows: the denominators."""
        rows: FloatArray = np.stack([part.counts.sum(axis=1) for part in self.strata]).sum(axis=0)
        return rows.astype(np.int64)

    def leverages(self) -> FloatArray:
        """(Q, K) the most that each cluster can move the estimate when a row moves by at most one."""
        shares = [_ratio(part.counts, part.counts.sum(axis=1)[:, None]) for part in self.strata]
        return self._scatter(shares, [abs(part.weight) for part in self.strata])

    def influences(self) -> FloatArray:
        """(Q, K) linearised contribution of each cluster; they sum to zero."""
        terms = []
        for part in self.strata:
            residuals = part.sums - part.means()[:, None] * part.counts
            terms.append(_ratio(residuals, part.counts.sum(axis=1)[:, None]))
        return self._scatter(terms, [part.weight for part in self.strata])

    def jackknife(self) -> FloatArray:
        """(Q, K) the estimate without each cluster; NaN where that empties a stratum."""
        values = np.repeat(self.estimates()[:, None], self.size, axis=1)
        for part in self.strata:
            left_sums = part.sums.sum(axis=1)[:, None] - part.sums
            left_counts = part.counts.sum(axis=1)[:, None] - part.counts
            change = _ratio(left_sums, left_counts) - part.means()[:, None]
            values[:, part.members] += part.weight * change
        return values

    def scored_clusters(self) -> IntArray:
        """(Q,) clusters with at least one scored row."""
        present: IntArray = self._present().sum(axis=1, dtype=np.int64)
        return present

    def degrees_of_freedom(self) -> IntArray:
        """(Q,) scored clusters minus blocks, the usual count for a design with strata."""
        return self.scored_clusters() - (int(self.blocks.max()) + 1)

    def standard_errors(self) -> FloatArray:
        """(Q,) cluster-robust standard errors with the finite-cluster factor K/(K-1) in every block.

        NaN where a block has fewer than two scored clusters. A block of one stratum has its own factor;
        for one block this is the sandwich estimator that regression programs call CR1.
        """
        present, influences = self._present(), self.influences()
        total = np.zeros(influences.shape[0])
        for block in range(int(self.blocks.max()) + 1):
            inside = self.blocks == block
            k = present[:, inside].sum(axis=1).astype(np.float64)
            squares = np.square(influences[:, inside]).sum(axis=1)
            total += np.where(k > 1, _ratio(k, k - 1), np.nan) * squares
        return np.sqrt(total)

    def _present(self) -> npt.NDArray[np.bool_]:
        return self._scatter([part.counts for part in self.strata], [1.0] * len(self.strata)) > 0

    def _scatter(self, terms: list[FloatArray], factors: list[float]) -> FloatArray:
        out = np.zeros((terms[0].shape[0], self.size))
        for part, term, factor in zip(self.strata, terms, factors, strict=True):
            out[:, part.members] += factor * term
        return out


def cluster_means(
    values: npt.ArrayLike,
    *,
    clusters: npt.ArrayLike | None = None,
    strata: npt.ArrayLike | None = None,
    weights: Mapping[str, float] | None = None,
    where: str = "cluster_means",
) -> ClusterMeans:
    """The sums per cluster behind the (weighted) means of `values`.

    Clusters are put in the order of their labels and rows of a cluster in the order of their values, so
    that no result depends on the order of the rows. Sums are rounded to a grid (a relative change
    below K 2^-53 of the largest) on which every later product is exact, so that no result depends on
    the number of threads either.

    Args:
        values: (Q, N) or (N,); NaN is "no value": not in any sum, not in any denominator.
        clusters: (N,) labels; None makes every row a cluster of its own, and each series is then
            resampled for itself.
        strata: (N,) labels, compared as text. None is one stratum.
        weights: share of each stratum, divided by their sum. Needed exactly when `strata` is given.

    Raises:
        InputError: shapes that do not fit, infinite values, a stratum without weight.
    """
    series = np.atleast_2d(np.asarray(values, dtype=np.float64))
    if series.ndim != 2 or series.shape[1] == 0:
        raise InputError(must_be(where, "values must have shape (Q, N) with N >= 1", series.shape))
    if np.isinf(series).any():
        raise InputError(must_be(where, "values must be finite, or NaN where missing", float("inf")))
    n = series.shape[1]
    stratum_names, stratum_codes = _codes(strata, n, f"{where}: strata")
    shares = _shares(stratum_names, weights, strata is not None, where)
    if clusters is None:
        series, stratum_codes = _sorted_rows(series, stratum_codes)
        cluster_codes = np.arange(n)
    else:
        _, cluster_codes = _codes(clusters, n, f"{where}: clusters")
    n_clusters = int(cluster_codes.max()) + 1
    parts = []
    for code, name in enumerate(stratum_names):
        inside = stratum_codes == code
        members, sums, counts = _totals(series[:, inside], cluster_codes[inside], n_clusters)
        parts.append(Stratum(name, shares[name], members, sums, counts))
    return ClusterMeans(tuple(parts), _blocks(parts, n_clusters))


def stratum_contrast(means: ClusterMeans, first: str, *, second: str) -> ClusterMeans:
    """The mean of stratum `first` minus the mean of stratum `second`, over the clusters of both.

    Raises:
        InputError: a label that is no stratum, or the same label twice.
    """
    by_label = {part.label: part for part in means.strata}
    for label in (first, second):
        if label not in by_label:
            hint = did_you_mean(label, by_label)
            raise InputError(must_be("stratum_contrast", f"labels must be strata of the data{hint}", label))
    if first == second:
        raise InputError(must_be("stratum_contrast", "the two strata must differ", first))
    pair = (by_label[first], by_label[second])
    present = np.unique(np.concatenate([part.members for part in pair]))
    parts = [
        replace(part, weight=sign, members=np.searchsorted(present, part.members))
        for part, sign in zip(pair, (1.0, -1.0), strict=True)
    ]
    return ClusterMeans(tuple(parts), _blocks(parts, present.size))


def cluster_standard_error(
    values: npt.ArrayLike, *, clusters: npt.ArrayLike | None = None
) -> float | Undefined:
    """The cluster-robust standard error of the mean of `values` (N,), with the factor K/(K-1).

    For the difference of two models on the same items, give the differences. Undefined without scored
    rows or with one cluster.

    Source: Liang and Zeger 1986, Biometrika 73, 13-22; for a mean it equals statsmodels'
    OLS(...).fit(cov_type="cluster") with its default correction (checked).
    """
    means = cluster_means(np.atleast_1d(np.asarray(values, dtype=np.float64))[None, :], clusters=clusters)
    if means.rows()[0] == 0:
        return Undefined("no scored rows")
    error = float(means.standard_errors()[0])
    if np.isnan(error):
        return Undefined("one cluster: its spread cannot be estimated")
    return error


def on_exact_grid(sums: FloatArray, terms: int) -> FloatArray:
    """`sums` (Q, K) rounded, per series, so that adding any `terms` of them is exact in float64."""
    largest = np.abs(sums).max(axis=1, initial=0.0) * terms
    _, exponent = np.frexp(largest)
    shift = (_MANTISSA_BITS - exponent)[:, None]
    rounded = np.ldexp(np.rint(np.ldexp(sums, shift)), -shift)
    grid: FloatArray = np.where(largest[:, None] > 0, rounded, sums)
    return grid


def _ratio(top: FloatArray, bottom: FloatArray) -> FloatArray:
    """`top / bottom`, NaN where the denominator is zero: no rows, no number."""
    bottom = np.broadcast_to(bottom, np.broadcast_shapes(top.shape, bottom.shape))
    ratio: FloatArray = np.divide(top, bottom, out=np.full(bottom.shape, np.nan), where=bottom != 0)
    return ratio


def _codes(labels: npt.ArrayLike | None, n: int, where: str) -> tuple[list[str], IntArray]:
    if labels is None:
        return [""], np.zeros(n, dtype=np.int64)
    array = np.asarray(labels)
    if array.shape != (n,):
        raise InputError(must_be(where, f"labels must have shape ({n},)", array.shape))
    if array.dtype.kind not in "iuUSb":
        raise InputError(must_be(where, "labels must be strings or integers", array.dtype.name))
    names, codes = np.unique(array, return_inverse=True)
    return [str(name) for name in names], codes.astype(np.int64)


def _shares(
    names: list[str], weights: Mapping[str, float] | None, stratified: bool, where: str
) -> dict[str, float]:
    if not stratified:
        if weights is not None:
            raise InputError(must_be(where, "weights must come with strata", dict(weights)))
        return {names[0]: 1.0}
    if weights is None:
        raise InputError(must_be(where, "strata must come with declared weights", None))
    for label, weight in weights.items():
        if label not in names:
            hint = did_you_mean(label, names)
            raise InputError(must_be(where, f"weights must name strata of the data{hint}", label))
        if not (np.isfinite(weight) and weight > 0):
            raise InputError(must_be(where, f"the weight of {label!r} must be positive and finite", weight))
    for name in names:
        if name not in weights:
            raise InputError(must_be(where, "every stratum must have a weight", name))
    total = sum(weights[name] for name in names)
    return {name: weights[name] / total for name in names}


def _sorted_rows(series: FloatArray, stratum_codes: IntArray) -> tuple[FloatArray, IntArray]:
    """Rows in order of (stratum, value), each series for itself: rows without a label are alike."""
    order = np.stack([np.lexsort((row, stratum_codes)) for row in series])
    return np.take_along_axis(series, order, axis=1), np.sort(stratum_codes)


def _totals(
    series: FloatArray, codes: IntArray, n_clusters: int
) -> tuple[IntArray, FloatArray, FloatArray]:
    members, codes = np.unique(codes, return_inverse=True)
    starts = np.searchsorted(np.sort(codes), np.arange(members.size))
    rows = np.stack([row[np.lexsort((row, codes))] for row in series])
    scored = ~np.isnan(rows)
    sums = np.add.reduceat(np.where(scored, rows, 0.0), starts, axis=1)
    counts = np.add.reduceat(scored.astype(np.float64), starts, axis=1)
    return members, on_exact_grid(sums, n_clusters), counts


def _blocks(parts: list[Stratum], n_clusters: int) -> IntArray:
    """(K,) one block per stratum where every cluster lies in one stratum, else one block for all."""
    owners = np.zeros(n_clusters, dtype=np.int64)
    for part in parts:
        owners[part.members] += 1
    blocks = np.zeros(n_clusters, dtype=np.int64)
    if (owners == 1).all():
        for block, part in enumerate(parts):
            blocks[part.members] = block
    return blocks
