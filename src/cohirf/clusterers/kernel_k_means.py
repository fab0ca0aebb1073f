"""KernelKMeans: K-Means on random Fourier features of the RBF kernel."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.cluster import KMeans
from sklearn.kernel_approximation import RBFSampler
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from cohirf.algorithm.base_method import find_distinct_rows


class KernelKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """K-Means in the space of the RBF kernel, in time and memory linear in the number of rows.

    Rows are mapped to random Fourier features, whose inner products approximate the kernel
    ``exp(-gamma * |x - y| ** 2)``, and K-Means clusters these features. Clusters need not be
    convex. The kernel matrix of all pairs of rows is never computed.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    gamma : float, default=1.0
        How fast the kernel decreases with distance. The kernel of rows that are further apart than
        a few times ``gamma ** -0.5`` is almost 0.
    n_components : int, default=500
        Number of random features. The error of the approximate kernel decreases as
        ``n_components ** -0.5``.
    n_init : "auto" or int, default="auto"
        Number of runs of K-Means with different initial centres, of which the best is used; "auto"
        means one.
    max_iter : int, default=300
        Largest number of iterations of K-Means.
    tol : float, default=1e-4
        K-Means stops when its centres move less than this, relative to the variance of the
        features.
    random_state : int, RandomState instance or None, default=None
        Seed of the random features and of the initial centres. Pass an int for reproducible
        results.

    Attributes
    ----------
    labels_ : array of int, shape (n_samples,)
        Cluster of each row.
    cluster_centers_ : array of float, shape (n_clusters, n_components)
        Centres in the space of the features.
    inertia_ : float
        Weighted sum of the squared distances between rows and their centres, in the space of the
        random features.
    n_iter_ : int
        Number of iterations of the best run.
    feature_map_ : RBFSampler
        The fitted map to random features.
    n_features_in_ : int
        Number of features seen by ``fit``.
    feature_names_in_ : array of str, shape (n_features_in_,)
        Names of the features seen by ``fit``; defined only if all names are strings.

    See Also
    --------
    sklearn.cluster.KMeans : Clusters the rows themselves.
    sklearn.kernel_approximation.RBFSampler : The map to random features.

    Notes
    -----
    The fit uses the distinct rows in sorted order, each with the sum of its weights. Its result
    therefore does not depend on the order of rows, and a row of weight 2 is equivalent to two equal
    rows. Rows of weight 0 do not affect the fit; they get the label that ``predict`` returns.

    References
    ----------
    A. Rahimi and B. Recht, "Random Features for Large-Scale Kernel Machines", NIPS 2007.

    Examples
    --------
    Two rings, one inside the other:

    >>> from sklearn.datasets import make_circles
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from cohirf.clusterers import KernelKMeans
    >>> X, y = make_circles(500, factor=0.2, noise=0.05, random_state=0)
    >>> model = KernelKMeans(n_clusters=2, gamma=3.0, random_state=0).fit(X)
    >>> float(adjusted_rand_score(y, model.labels_))
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_init": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        gamma: float = 1.0,
        n_components: int = 500,
        n_init: str | int = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.gamma = gamma
        self.n_components = n_components
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows of ``X``.

        Parameters
        ----------
        X : array, table or CSR matrix, shape (n_samples, n_features)
            The data. float32 stays float32.
        y : ignored
            Present by convention.
        sample_weight : array, shape (n_samples,), default=None
            Weight of each row; 1 by default.

        Returns
        -------
        self : KernelKMeans
            The fitted estimator.
        """
        X = self._check_data(X, reset=True)
        if X.shape[0] < self.n_clusters:
            raise ValueError(
                f"n_samples={X.shape[0]} should be >= n_clusters={self.n_clusters}: lower "
                "n_clusters or add rows."
            )
        weights = _check_weights(sample_weight, X)
        taken = np.flatnonzero(weights)
        rows = X if len(taken) == X.shape[0] else X[taken]
        first, group = find_distinct_rows(rows)
        mass = np.bincount(group, weights=weights[taken]).astype(np.float64, copy=False)
        rng = check_random_state(self.random_state)
        self.feature_map_ = RBFSampler(
            gamma=self.gamma, n_components=self.n_components, random_state=rng
        ).fit(rows)
        features = self.feature_map_.transform(rows[first])
        self._k_means = self._fit_k_means(*repeat_rows(features, mass, self.n_clusters), rng)
        self.cluster_centers_ = self._k_means.cluster_centers_
        self.inertia_ = self._k_means.inertia_
        self.n_iter_ = self._k_means.n_iter_
        self.labels_ = np.empty(X.shape[0], dtype=np.int32)
        self.labels_[taken] = self._k_means.labels_[group]
        if len(taken) < X.shape[0]:
            left_out = np.flatnonzero(weights == 0)
            self.labels_[left_out] = self._k_means.predict(self.feature_map_.transform(X[left_out]))
        return self

    def predict(self, X: Any) -> NDArray[np.integer[Any]]:
        """Return the cluster whose centre is nearest in the space of the features.

        Parameters
        ----------
        X : array, table or CSR matrix, shape (n_samples, n_features)
            Rows to label.

        Returns
        -------
        labels : array of int, shape (n_samples,)
            Cluster of each row.
        """
        features = self._map_features(X)
        labels: NDArray[np.integer[Any]] = self._k_means.predict(features)
        return labels

    def transform(self, X: Any) -> NDArray[np.floating[Any]]:
        """Return the distance of each row to each centre, in the space of the features.

        Parameters
        ----------
        X : array, table or CSR matrix, shape (n_samples, n_features)
            Rows to measure.

        Returns
        -------
        distances : array of float, shape (n_samples, n_clusters)
            Distances, in the order of the labels.
        """
        features = self._map_features(X)
        distances: NDArray[np.floating[Any]] = self._k_means.transform(features)
        return distances

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: CSR matrices are accepted, and the float type is
        preserved.
        """
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def _check_data(self, X: Any, *, reset: bool) -> Any:
        return validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=(np.float64, np.float32), order="C"
        )

    def _map_features(self, X: Any) -> NDArray[np.floating[Any]]:
        check_is_fitted(self, "cluster_centers_")
        features: NDArray[np.floating[Any]] = self.feature_map_.transform(
            self._check_data(X, reset=False)
        )
        return features

    def _fit_k_means(
        self, features: NDArray[Any], mass: NDArray[np.float64], rng: np.random.RandomState
    ) -> KMeans:
        method = KMeans(
            self.n_clusters,
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=rng,
            copy_x=False,  # the features are not used afterwards
        )
        return method.fit(features, sample_weight=mass)


def repeat_rows(
    features: NDArray[Any], mass: NDArray[np.float64], n_at_least: int
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Repeat rows, and divide their mass, until there are at least as many as K-Means needs."""
    n_rows = len(features)
    if n_rows >= n_at_least:
        return features, mass
    copies = np.arange(n_at_least) % n_rows
    return features[copies], (mass / np.bincount(copies))[copies]


def _check_weights(sample_weight: Any, X: Any) -> NDArray[np.float64]:
    if sample_weight is not None and not np.asarray(sample_weight).any():
        raise ValueError("All sample weights are zero: at least one row needs a positive weight.")
    weights: NDArray[np.float64] = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    return weights
