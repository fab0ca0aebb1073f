"""GridDBSCAN: the clusters of DBSCAN in low and moderate dimension, in linear memory."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.cluster import DBSCAN
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_sample_weight, validate_data

from cohirf.algorithm.grouping import index_dtype
from cohirf.optional import import_optional

MAX_GRID_FEATURES = 3
MAX_BOX_FEATURES = 15  # with more features, bounding boxes are not selective; scikit-learn uses no tree, either
MAX_CELLS_A_SIDE = 2**30  # with more cells, floating point cannot safely distinguish neighbouring cells


class GridDBSCAN(ClusterMixin, BaseEstimator):
    """DBSCAN on a grid or a tree: fast on many rows of up to fifteen features.

    Core rows, their clusters and noise are the same as those of :class:`sklearn.cluster.DBSCAN` with the Euclidean
    metric. Border rows that are neighbours of several clusters may differ: here they join the cluster of the nearest
    core row (the cluster with the lowest label if several are equally near); in scikit-learn, always the cluster with
    the lowest label.

    Data with up to three features is put on a grid, unless ``eps`` is tiny compared with the range of the data. Data
    with up to fifteen features is put into a tree of bounding boxes. Both treat groups of close rows as a whole, and
    their memory is linear in the number of rows for any ``eps``. With more features neither is faster than
    scikit-learn's DBSCAN, which is used then. It is also used if weights are not whole numbers, because the sum of such
    weights depends on their order. ``algorithm_`` says which of the three was used. Grid and tree need numba (extra
    ``fast``).

    Parameters
    ----------
    eps : float, default=0.5
        Largest distance between neighbours.
    min_samples : int, default=5
        Smallest number of neighbours, or their smallest total weight, of a core row; the row itself counts.

    Attributes
    ----------
    labels_ : array of int, shape (n_samples,)
        Cluster of each row; -1 for noise. Clusters are numbered in the order of their first core rows.
    core_sample_indices_ : array of int, shape (n_core_samples,)
        Sorted row numbers of the core rows.
    algorithm_ : {"grid", "tree", "scikit-learn"}
        The algorithm that was used.
    n_features_in_ : int
        Number of features seen by ``fit``.
    feature_names_in_ : array of str, shape (n_features_in_,)
        Names of the features seen by ``fit``; defined only if all names are strings.

    See Also
    --------
    sklearn.cluster.DBSCAN : The same clusters, for any metric.

    Examples
    --------
    >>> from cohirf.clusterers import GridDBSCAN
    >>> from cohirf.datasets import make_spheres
    >>> X, y = make_spheres(20_000, random_state=0)
    >>> model = GridDBSCAN(eps=0.2).fit(X)
    >>> model.algorithm_, int(model.labels_.max()) + 1
    ('grid', 2)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "eps": [Interval(Real, 0, None, closed="neither")],
        "min_samples": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, eps: float = 0.5, *, min_samples: int = 5) -> None:
        self.eps = eps
        self.min_samples = min_samples

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows of ``X``.

        Parameters
        ----------
        X : array, shape (n_samples, n_features)
            The data.
        y : ignored
            Present by convention.
        sample_weight : array, shape (n_samples,), default=None
            Weight of each row in its neighbourhoods. Negative weights are allowed, as in scikit-learn.

        Returns
        -------
        self : GridDBSCAN
            The fitted estimator.
        """
        X = validate_data(self, X, dtype=(np.float64, np.float32))
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
        found = None
        if X.shape[1] <= MAX_GRID_FEATURES and are_counts(weights):
            self.algorithm_ = "grid"
            found = cluster_on_grid(X, self.eps, self.min_samples, weights)
        if found is None and X.shape[1] <= MAX_BOX_FEATURES and are_counts(weights):
            self.algorithm_ = "tree"
            found = cluster_in_tree(X, self.eps, self.min_samples, weights)
        if found is None:
            self.algorithm_ = "scikit-learn"
            model = DBSCAN(eps=self.eps, min_samples=self.min_samples).fit(X, sample_weight=weights)
            found = model.labels_, model.core_sample_indices_
        self.labels_, self.core_sample_indices_ = found
        return self


def are_counts(weights: NDArray[np.float64] | None) -> bool:
    """Return whether all weights are whole numbers, whose sum does not depend on their order."""
    return weights is None or bool((weights >= 0).all() and (weights == np.floor(weights)).all())


def cell_side(eps: float, n_features: int) -> float:
    """Return the side of a cell whose diagonal is slightly less than ``eps``, to be safe from rounding."""
    return float(eps / math.sqrt(n_features) * (1 - 1e-6))


def cluster_on_grid(
    X: NDArray[Any], eps: float, min_samples: int, weights: NDArray[np.float64] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Return the label of each row, -1 for noise, and the core rows; None if the grid would have too many cells."""
    import_optional("numba", "fast", "GridDBSCAN")
    from cohirf.clusterers import grid_kernels as kernels

    X = _as_compiled_for(X)
    side = cell_side(eps, X.shape[1])
    low, high = kernels.bounds(X)
    with np.errstate(all="ignore"):  # a range or quotient that overflows cannot be put on a grid, either
        if not (high - low).max() / side < MAX_CELLS_A_SIDE:
            return None
    weights = None if weights is None else _as_compiled_for(weights)
    rows = np.empty(len(X), dtype=index_dtype(len(X)))
    labels, core_rows = kernels.cluster(X, weights, rows, low, high, side, eps * eps, float(min_samples))
    return labels, core_rows


def cluster_in_tree(
    X: NDArray[Any], eps: float, min_samples: int, weights: NDArray[np.float64] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the label of each row, -1 for noise, and the core rows."""
    import_optional("numba", "fast", "GridDBSCAN")
    from cohirf.clusterers import tree_kernels as kernels

    eps = float(eps)
    weights = np.ones(len(X)) if weights is None else _as_compiled_for(weights)
    labels, core_rows = kernels.cluster(_as_compiled_for(X), weights, eps * eps, float(min_samples))
    return labels, core_rows


def _as_compiled_for(array: NDArray[Any]) -> NDArray[Any]:
    """Return a contiguous, writable array: for any other kind, numba would compile the kernels again."""
    return np.require(array, requirements=["C", "W"])
