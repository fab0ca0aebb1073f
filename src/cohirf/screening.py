"""FeatureScreen: which features depend on others, and which are noise (not part of the paper).

Features that separate clusters depend on each other, through the clusters. So rows are clustered on
a few features (a view), and each feature *outside of the view* is tested: do its means differ
between these clusters by more than chance allows? For a feature that is independent of the view,
the clusters are a random grouping, however well they fit the view itself.

Blocks of correlated features pass this test with or without clusters. So the test is repeated with
one feature of each block: a block is kept only if it depends on another block, or if its values
form two groups.

All values are *softened* first, by x / (|x| + width), so that outliers do not decide a test.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats
from sklearn.base import BaseEstimator, _fit_context
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.get_clusters import take_features
from cohirf.algorithm.randomness import Draw, Entropy, generator_at, root_entropy
from cohirf.engines.tasks import one_thread
from cohirf.rows.arrays import as_array, stored_cells
from cohirf.rows.containers import container_of
from cohirf.rows.grouping import FloatArray, IntArray, compress, row_blocks
from cohirf.validation import column_means


@dataclass(frozen=True)
class ScreenPolicy:
    """How features are tested. No table compares values; ``noise.csv`` is of the result."""

    rows: int = 2000  # that are looked at
    rounds: int = 3  # each draws its views from the features found before
    views: int = 20  # in each round
    # features of a view: a signal in few features needs small views, one spread over many large
    # ones
    view_sizes: tuple[int, ...] = (3, 10, 30, 100)
    largest_view: float = 2 / 3  # share of the features: some must stay outside of it
    clusters: int = 8  # of a view, at most
    rows_per_cluster: int = 10
    iterations: int = 20  # of K-Means
    error_rate: float = 0.01  # probability that any feature passes if none depends on another
    correlation: float = 0.5  # from which on features form a block
    features_in_blocks: int = 2000  # with more, their correlations are not computed
    # share of variance that two means rarely explain in a unimodal distribution (uniform: 0.83)
    two_groups: float = 0.87
    softness: float = 2.0  # width of softened values, in mean absolute deviations
    smallest_variance: float = 1e-9  # of softened values: smaller ones are rounding errors
    varying_rows: int = 4  # in which a feature must vary, for each cluster
    block_cells: int = 2**17  # that are softened at a time


POLICY = ScreenPolicy()


class FeatureScreen(SelectorMixin, BaseEstimator):
    """Keep the features that depend on other features, and drop those that do not: noise hides
    clusters.

    Features that separate clusters depend on each other, through the clusters. The search looks at
    a random sample of at most 2,000 rows. A block of correlated features that does not depend on
    other features is dropped, too, unless its values form two groups. If fewer than two features
    depend on others, all are kept.

    Parameters
    ----------
    random_state : int, RandomState instance or None, default=None
        Seed of the sample and of the search. Pass an int to get the same features in every call.

    Attributes
    ----------
    statistics_ : array of float, shape (n_features_in_,)
        How much each feature depends on others: the largest F statistic of its means across
        clusters that were found without it, divided by the critical value. Only features above 1
        can be kept, unless all are.
    n_features_in_ : int
        Number of features seen by ``fit``.
    feature_names_in_ : array of str, shape (n_features_in_,)
        Names of the features. Only set if all column names of ``X`` are strings.

    Notes
    -----
    For data that does not fit into memory, fit the screen to a sample of rows, and pass the names
    or numbers of the features to :func:`cohirf.open_source` as ``columns``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.pipeline import make_pipeline
    >>> from cohirf import CoHiRF, FeatureScreen
    >>> X, y = make_blobs(400, n_features=3, centers=4, random_state=0)
    >>> X = np.c_[X, 30 * np.random.default_rng(0).normal(size=(400, 50))]
    >>> screen = FeatureScreen(random_state=0)
    >>> model = make_pipeline(screen, CoHiRF(n_clusters=4, random_state=0)).fit(X)
    >>> model["featurescreen"].get_support(indices=True)
    array([0, 1, 2])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {"random_state": ["random_state"]}

    def __init__(self, *, random_state: Any = None) -> None:
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the features that depend on others.

        Parameters
        ----------
        X : array, table or CSR matrix, shape (n_samples, n_features)
            The data. Missing values count as the mean of their feature.
        y : ignored
            Not used; present for scikit-learn's conventions.

        Returns
        -------
        self : FeatureScreen
            The fitted transformer.
        """
        X = validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            ensure_all_finite="allow-nan",
        )
        entropy = root_entropy(self.random_state)
        n_rows = X.shape[0]
        rows = generator_at(entropy, Draw.SCREEN).choice(
            n_rows, min(n_rows, POLICY.rows), replace=False
        )
        sample = X[np.sort(rows)]
        kept: IntArray = np.arange(0)
        # of words in few rows, nothing can be said; the others are not too many
        columns, sample = container_of(sample).take_filled_columns(
            sample, POLICY.varying_rows * count_clusters(sample.shape[0])
        )
        self.statistics_ = np.zeros(X.shape[1])
        if np.isnan(stored_cells(sample)).any():
            filled = as_array(sample)
            sample = fill_missing(filled, column_means(filled))
        if len(columns):
            with one_thread():
                kept, statistics = screen_features(sample, entropy)
            self.statistics_[columns], kept = statistics, columns[kept]
        if np.count_nonzero(self.statistics_ > 1) < 2:
            kept = np.arange(X.shape[1])
        self._is_kept = np.isin(np.arange(X.shape[1]), kept)
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self._is_kept

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: sparse and missing values are allowed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def screen_features(X: Any, entropy: Entropy) -> tuple[IntArray, FloatArray]:
    """Find the features of ``X`` that depend on others, all if fewer than two do.

    Also return all statistics.
    """
    sample = SoftenedSample.of(X)
    statistics = measure_dependence(sample, entropy, stage=0, odds=_odds(two_means_share(sample)))
    relevant = np.flatnonzero(statistics > 1)
    if 2 < len(relevant) <= POLICY.features_in_blocks:
        kept = keep_blocks(sample.take(relevant), entropy)
        relevant = relevant[kept] if len(kept) > 1 else relevant
    return relevant if len(relevant) > 1 else np.arange(X.shape[1]), statistics


@dataclass(frozen=True)
class SoftenedSample:
    """Rows with softened features, and the moments of each feature."""

    values: Any  # the softened values
    means: FloatArray  # mean, and sum of squared deviations from it
    squares: FloatArray
    is_testable: NDArray[np.bool_]  # false for features that vary in too few rows for an F test

    @classmethod
    def of(cls, X: Any) -> SoftenedSample:
        """Soften the features of ``X``."""
        values = _soften(X)
        n_rows = values.shape[0]
        means, squares, cubes, fourths = (
            _power_sums(values, power) / n_rows for power in (1, 2, 3, 4)
        )
        variances = np.maximum(squares - means**2, 0)
        central_fourths = fourths - 4 * means * cubes + 6 * means**2 * squares - 3 * means**4
        # divided by the fourth moment, this is the number of rows that vary: about 1 for a single
        # outlier
        rows_that_vary = n_rows * variances**2
        n_needed = POLICY.varying_rows * count_clusters(n_rows)
        is_testable = (variances > POLICY.smallest_variance) & (
            rows_that_vary >= n_needed * central_fourths
        )
        return cls(values, means, n_rows * variances, is_testable)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.values.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.values.shape[1])

    def take(self, features: IntArray) -> SoftenedSample:
        """Return the sample with the given features only."""
        values = take_features(self.values, features)
        return SoftenedSample(
            values, self.means[features], self.squares[features], self.is_testable[features]
        )


def count_clusters(n_rows: int) -> int:
    """Return the number of clusters to find in a view."""
    return max(2, min(POLICY.clusters, n_rows // POLICY.rows_per_cluster))


def measure_dependence(
    sample: SoftenedSample, entropy: Entropy, *, stage: int, odds: FloatArray | None
) -> FloatArray:
    """Return the largest F statistic of each feature over views without it, divided by the critical
    value.

    Views are drawn in rounds, from the relevant features found so far, if there are any. In the
    first round, half of the views draw features with the probabilities ``odds``. The critical value
    is corrected for the number of features, views and rounds.
    """
    statistics = np.zeros(sample.n_features)
    if sample.n_rows < 2 * POLICY.rows_per_cluster:
        return statistics
    level = POLICY.error_rate / (sample.n_features * POLICY.views * POLICY.rounds)
    found = np.zeros(sample.n_features, dtype=bool)
    for number in range(POLICY.rounds):
        if found.any():
            pool = np.flatnonzero(found)
        else:
            pool = np.arange(sample.n_features)
        for view in range(POLICY.views):
            rng = generator_at(entropy, Draw.SCREEN, stage, number, view)
            size = min(
                POLICY.view_sizes[view % len(POLICY.view_sizes)],
                math.ceil(POLICY.largest_view * len(pool)),
            )
            by_odds = number == 0 and view // len(POLICY.view_sizes) % 2 == 0
            features = np.sort(rng.choice(pool, size, replace=False, p=odds if by_odds else None))
            ratio = _f_ratio(sample, cluster_on_features(sample, features, rng), level)
            ratio[features] = 0  # clusters of a view fit its own features even if these are noise
            np.maximum(statistics, ratio, out=statistics)
        if np.array_equal(statistics > 1, found):
            break
        found = statistics > 1
    return statistics


def cluster_on_features(
    sample: SoftenedSample, features: IntArray, rng: np.random.Generator
) -> IntArray:
    """Cluster the rows on the given features.

    Clusters that are too small for a test join the smallest large one.
    """
    n_clusters = count_clusters(sample.n_rows)
    k_means = KMeans(
        n_clusters, n_init=1, max_iter=POLICY.iterations, random_state=int(rng.integers(2**31 - 1))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters
        labels: IntArray = k_means.fit_predict(take_features(sample.values, features))
    sizes = np.bincount(labels, minlength=n_clusters)
    is_large = sizes * 4 * n_clusters >= sample.n_rows
    smallest = int(np.where(is_large, sizes, sample.n_rows + 1).argmin())
    merged: IntArray = compress(np.where(is_large[labels], labels, smallest), n_clusters)[1]
    return merged


def keep_blocks(sample: SoftenedSample, entropy: Entropy) -> IntArray:
    """Return the features in blocks whose representative depends on other blocks, or forms two
    groups of values.
    """
    representatives, block = find_blocks(sample)
    if len(representatives) < 3:
        return np.arange(sample.n_features)
    chosen = sample.take(representatives)
    depends = measure_dependence(chosen, entropy, stage=1, odds=None) > 1
    return np.flatnonzero((depends | (two_means_share(chosen) > POLICY.two_groups))[block])


def find_blocks(sample: SoftenedSample) -> tuple[IntArray, IntArray]:
    """Group features by absolute correlation.

    Repeatedly, the feature with the highest summed correlation to the remaining features forms a
    block with all of them that correlate with it by ``POLICY.correlation`` or more. Returns that
    feature for each block, its representative, and the block of each feature.
    """
    scaled = (sample.values - sample.means) / np.sqrt(
        np.where(sample.squares > 0, sample.squares, 1)
    )
    correlation = np.abs(scaled.T @ scaled)
    np.fill_diagonal(correlation, 1)
    correlation[correlation < POLICY.correlation] = 0
    closeness = correlation.sum(axis=0)
    block = np.full(sample.n_features, -1)
    representatives: list[int] = []
    while (block < 0).any():
        first = int(np.where(block < 0, closeness, -1).argmax())
        members = np.flatnonzero((correlation[first] > 0) & (block < 0))
        block[members] = len(representatives)
        representatives.append(first)
        closeness -= correlation[members].sum(axis=0)
    return np.array(representatives), block


def two_means_share(sample: SoftenedSample) -> FloatArray:
    """Return the share of each feature's variance that two means explain, by a few of Lloyd's
    iterations.
    """
    threshold = sample.means
    n_rows = sample.n_rows
    for _ in range(POLICY.iterations // 3):
        n_above, above = _count_and_sum_above(sample.values, threshold)
        n_below = n_rows - n_above
        below = n_rows * sample.means - above
        upper = above / np.maximum(n_above, 1)
        lower = below / np.maximum(n_below, 1)
        threshold = (upper + lower) / 2
    between = n_above * (upper - sample.means) ** 2 + n_below * (lower - sample.means) ** 2
    return np.divide(between, sample.squares, out=np.zeros_like(between), where=sample.squares > 0)


def _odds(share: FloatArray) -> FloatArray:
    """Return probabilities that decrease with the rank of a feature's ``share``, as 1, 1/2, 1/3,
    ...
    """
    odds = np.empty(len(share))
    odds[np.argsort(-share, kind="stable")] = 1 / np.arange(1, len(share) + 1)
    return np.asarray(odds / odds.sum())


def _f_ratio(sample: SoftenedSample, labels: IntArray, level: float) -> FloatArray:
    """Return the F statistic of each feature across the labels, divided by its critical value at
    ``level``.
    """
    n_rows = sample.n_rows
    n_groups = int(labels.max()) + 1
    if n_groups == 1:
        return np.zeros(sample.n_features)
    sizes = np.bincount(labels)
    one_hot = sparse.csc_array(
        (np.ones(n_rows, np.float32), labels, np.arange(n_rows + 1)), (n_groups, n_rows)
    ).tocsr()
    sums = np.asarray(one_hot @ sample.values, dtype=np.float64)
    between = ((sums - np.outer(sizes, sample.means)) ** 2 / sizes[:, None]).sum(axis=0)
    within = np.maximum(sample.squares - between, np.finfo(np.float32).eps * sample.squares)
    critical = stats.f.isf(level, n_groups - 1, n_rows - n_groups)
    scale = (n_rows - n_groups) / ((n_groups - 1) * critical)
    ratio = np.zeros(sample.n_features)
    np.divide(between * scale, within, out=ratio, where=sample.is_testable)
    return ratio


def _soften(X: Any) -> NDArray[np.float32]:
    """Centre columns and soften their values into (-1, 1), so that outliers do not decide a
    test.

    Of a CSR matrix, only a block at a time is an array in double precision.
    """
    n_rows = X.shape[0]
    centre = np.asarray(X.mean(axis=0)).ravel()
    blocks = list(row_blocks(n_rows, POLICY.block_cells // X.shape[1] + 1))
    deviation = (
        np.sum([np.abs(as_array(X[block]) - centre).sum(axis=0) for block in blocks], axis=0)
        / n_rows
    )
    width = POLICY.softness * np.where(deviation > 0, deviation, 1)
    values = np.empty(X.shape, dtype=np.float32)
    for block in blocks:
        centred = as_array(X[block]) - centre
        values[block] = centred / (np.abs(centred) + width)
    return values


def _power_sums(values: Any, power: int) -> FloatArray:
    """Return the sum of a power of each column."""
    blocks = row_blocks(len(values), POLICY.block_cells // values.shape[1] + 1)
    return np.asarray(
        np.sum(
            [(values[block].astype(np.float64) ** power).sum(axis=0) for block in blocks], axis=0
        )
    )


def _count_and_sum_above(values: Any, threshold: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return how many values of each column are above its threshold, and their sum."""
    n_rows, n_features = values.shape
    count = np.zeros(n_features)
    total = np.zeros(n_features)
    for block in row_blocks(n_rows, POLICY.block_cells // n_features + 1):
        is_above = values[block] > threshold
        count += is_above.sum(axis=0)
        total += np.where(is_above, values[block], 0).sum(axis=0)
    return count, total
