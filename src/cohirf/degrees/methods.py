"""Methods of a fitted model that rate rows: membership, outlier scores, drift."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.data.dask_arrays import refuse_dask
from cohirf.data.open_data import map_new_rows, open_training_data
from cohirf.degrees.drift import Drift, find_drift
from cohirf.degrees.policy import DEGREE
from cohirf.engines.dask import is_dask
from cohirf.fitting.settings import Settings
from cohirf.graphs.new_nodes import rate_nodes
from cohirf.optional import is_installed
from cohirf.rows.arrays import from_device
from cohirf.rows.containers import container_of
from cohirf.spanning.settings import settings_of
from cohirf.summary.fitted import FittedModel
from cohirf.summary.state import FittedState


class DegreesMixin(FittedModel):
    """Adds the methods that rate rows to an estimator."""

    def membership(self, X: Any) -> Any:
        """Return how probable it is that each row belongs to each cluster.

        The odds of two clusters follow from the place of the row between their landmarks: along the
        line between the two centres, each cluster has a normal distribution with the variance of
        its landmarks. Clusters of other shapes are divided into pieces first. The cluster of
        ``predict`` always has the largest degree. Degrees are close to the shares of true classes
        if clusters match classes; they cannot tell that a cluster has two classes in it. The user
        guide has the tables.

        The first call learns from the landmarks, which takes a few seconds at most.

        Parameters
        ----------
        X : array, table, CSR matrix, source, Dask array or table, shape (n_samples, n_features)
            Rows to rate. A source is read block by block. If the data are a graph, edges as for
            :meth:`predict`; the degrees are then shares of the votes of neighbours.

        Returns
        -------
        degrees : array or CSR matrix of float, shape (n_samples, n_clusters_)
            Column j is the cluster with the number ``cluster_numbers_[j]``. Rows sum to one. With
            more than 100 clusters, a CSR matrix without degrees below 0.0001; a Dask array if ``X``
            is a Dask array or data frame. Rows that ``predict`` calls noise have degrees as well:
            ``score_outliers`` tells them from others.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import make_blobs
        >>> from cohirf import CoHiRF
        >>> X, _ = make_blobs(1000, centers=[[-2, 0], [2, 0]], random_state=0)
        >>> model = CoHiRF(n_clusters=2, random_state=0).fit(X)
        >>> degrees = model.membership([[-3, 0], [-0.5, 0], [3, 0]])
        >>> [bool(degrees[row].max() > 0.95) for row in range(3)]
        [True, False, True]
        """
        check_is_fitted(self, "n_clusters_")
        parameters = self._parameters
        if parameters.is_of_graph:
            return rate_nodes(self._state, X, parameters.metric)
        degrees = self._state.degrees
        n_clusters = len(degrees.masses)
        is_sparse = n_clusters > DEGREE.dense_clusters and not is_dask(X)
        if n_clusters:
            rate: Callable[[Any], Any] = partial(degrees.membership.rate, is_sparse=is_sparse)
        else:
            rate = _rate_without_clusters
        return self._rate_rows(X, rate, n_clusters)

    def score_outliers(self, X: Any) -> Any:
        """Return how far each row is from the rows of all clusters; larger means more outlying.

        The score is the mean distance of the row to the 20 nearest landmarks, over what is usual:
        the geometric mean of the same distance for these landmarks and for all landmarks. It is
        about 1 for usual rows. Landmarks that are noise do not count as neighbours, so noise scores
        high. Outliers of which more than 20 are landmarks in one place can look usual there.

        With more than 2,000 landmarks and more than three features, a row is compared only with
        landmarks around it: those of the nearest of some cells, and their neighbours. If nearer
        ones are missed, the score is too high: by less than 1 % on average for usual rows, and by
        more for rows that are far from all landmarks.

        Parameters
        ----------
        X : array, table, CSR matrix, source, Dask array or table, shape (n_samples, n_features)
            Rows to rate. A source is read block by block.

        Returns
        -------
        scores : array of float, shape (n_samples,)
            The scores; a Dask array if ``X`` is a Dask array or data frame.

        Examples
        --------
        >>> from sklearn.datasets import make_blobs
        >>> from cohirf import CoHiRF
        >>> X, _ = make_blobs(1000, centers=[[-2, 0], [2, 0]], random_state=0)
        >>> model = CoHiRF(n_clusters=2, random_state=0).fit(X)
        >>> near, far = model.score_outliers([[2, 0], [2, 9]])
        >>> bool(near < 1.5), bool(far > 5)
        (True, True)
        """
        check_is_fitted(self, "n_clusters_")
        self._parameters.refuse_graph("score_outliers")
        return self._rate_rows(X, self._state.degrees.outliers.learn().score, None)

    @property
    def outlier_scores_(self) -> Any:
        """Outlier score of each row of the model, which is not compared with itself, as by
        ``score_outliers``.

        The attribute exists only if the model has kept the values of all its rows. It has after a
        fit of at most 10,000 rows in one batch or in memory, and while updates and merges keep all
        rows (see ``partial_fit``). It has not kept rows of weight 0, most rows of sources and Dask
        arrays in several batches, and rows that updates have contracted in blocks or that have
        joined others. In these cases, call ``score_outliers``.
        """
        check_is_fitted(self, "n_clusters_")
        state = self._state
        if state.n_kept < state.n_rows:
            raise AttributeError(
                f"outlier_scores_ needs all rows, but the model has kept {state.n_kept:,} of "
                f"{state.n_rows:,}: call score_outliers(X)."
            )
        return state.degrees.outliers.of_landmarks

    @property
    def hdbscan_(self) -> Any:
        """What HDBSCAN knows besides labels: ``probabilities``, ``outlier_scores`` (GLOSH), and
        ``predict`` with both.

        The attribute exists only if the base method is HDBSCAN with Euclidean distances, the
        clusters are its own, and the model has kept all its rows, as for ``outlier_scores_``. Then
        ``predict`` finds the clusters and the noise among new rows as ``approximate_predict`` of
        the package hdbscan does.

        Examples
        --------
        >>> from sklearn.cluster import HDBSCAN
        >>> from sklearn.datasets import make_moons
        >>> from cohirf import CoHiRF
        >>> X, _ = make_moons(400, noise=0.05, random_state=0)
        >>> model = CoHiRF(HDBSCAN(min_cluster_size=20, copy=True)).fit(X)
        >>> model.hdbscan_.probabilities.shape
        (400,)
        >>> model.predict([[-1.0, 0.1], [9.0, 9.0]]).tolist()
        [0, -1]
        """
        check_is_fitted(self, "n_clusters_")
        density = density_of(Settings.of(self._parameters, self._columns), self._state)
        if density is None:
            raise AttributeError(
                "hdbscan_ needs HDBSCAN with Euclidean distances as the base method, its own "
                "clusters, at most 10,000 "
                'rows without missing values, and numba: pip install "cohirf[fast]".'
            )
        return density

    def drift(self, X: Any) -> Drift:
        """Say whether new rows look like those of the recent past: new kinds, rows outside, shares,
        features.

        The recent past are the last seven updates, the fit included: what has been so in one of
        them is no change, so that an odd day is no alarm for ever. Nothing is changed in the model.
        A finding must be large enough to matter and larger than chance explains, so a fresh sample
        of the same data raises no alarm; the attributes of the result have the thresholds. What a
        cluster consists of can change without drift in its share or in single features: only rows
        outside show that.

        Parameters
        ----------
        X : array, table, CSR matrix or source, shape (n_samples, n_features)
            The new rows. A source is read block by block.

        Returns
        -------
        drift : Drift
            Figures and a verdict in words.

        See Also
        --------
        partial_fit : Adds the new rows to the model.

        Examples
        --------
        >>> from sklearn.datasets import make_blobs
        >>> from cohirf import CoHiRF
        >>> X, y = make_blobs(4000, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
        >>> model = CoHiRF(n_clusters=3, random_state=0).fit(X[:2000])
        >>> model.drift(X[2000:]).has_drifted
        False
        >>> fewer = X[2000:][(y[2000:] != 2) | (X[2000:, 1] < 8)]
        >>> drift = model.drift(fewer)
        >>> drift.has_drifted
        True
        """
        check_is_fitted(self, "n_clusters_")
        parameters = self._parameters
        parameters.refuse_graph("drift")
        refuse_dask(X, "drift")
        state = self._state
        opened = open_training_data(
            parameters,
            X,
            known=self._columns,
            may_miss=state.column_means is not None,
        )
        return find_drift(state, opened.data, getattr(self, "feature_names_in_", None))

    def _rate_rows(self, X: Any, function: Any, n_columns: int | None) -> Any:
        """Return what a function finds for rows without missing cells.

        Rows on a device are copied to this process.
        """
        state = self._state
        apply = partial(
            _apply_prepared, function=function, means=state.column_means, move=state.landmarks.move
        )
        return map_new_rows(
            self._parameters,
            self._columns,
            from_device(X),
            apply,
            n_columns,
            np.float64,
            has_gaps=state.may_miss,
        )


def density_of(settings: Settings, state: FittedState) -> Any:
    """Return the condensed tree of a model around HDBSCAN that has kept all rows.

    None for other models.

    Models with random batches, and those that end with the levels, predict as the paper's do.
    """
    if settings.base is None or settings.is_local is False or not settings.family.is_found:
        return None
    spanning = settings_of(settings.base.prototype)
    if spanning is None or not is_installed("numba"):
        return None
    landmarks = state.landmarks
    if (
        state.n_kept < state.n_rows
        or landmarks.metric != "euclidean"
        or not container_of(landmarks.points).is_dense
    ):
        return None
    return state.degrees.density(spanning)


def _apply_prepared(X: Any, *, function: Any, means: Any, move: Any) -> Any:
    return function(move(fill_missing(X, means)))


def _rate_without_clusters(X: Any) -> Any:
    return np.empty((X.shape[0], 0))
