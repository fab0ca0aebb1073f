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
MAX_TREE_FEATURES = 15  # beyond it boxes hardly tell rows apart, and scikit-learn takes no tree either
MAX_CELLS_A_SIDE = 2**30  # beyond it, floating point cannot tell neighbouring cells apart safely


class GridDBSCAN(ClusterMixin, BaseEstimator):
    """DBSCAN on a grid or a tree: fast on many rows of up to fifteen features.

    Core rows, their clusters and noise are those of :class:`sklearn.cluster.DBSCAN` with the Euclidean metric. A border
    row that touches several clusters joins that of the nearest core row, or the first of those with equally near ones;
    scikit-learn takes the first of all.
    Up to three features are put on a grid, unless ``eps`` is tiny against the range of the data, up to fifteen into a
    tree of boxes. Both take rows that are close together as a whole, in linear memory whatever ``eps`` is. With more
    features neither pays, and with weights that are not whole numbers, sums depend on their order: then scikit-learn's
    DBSCAN does the work. ``algorithm_`` says which one did.

    Parameters
    ----------
    eps : float, default=0.5
        Largest distance between neighbours.
    min_samples : int, default=5
        Number of neighbours, or their total weight, that makes a row a core row; the row itself counts.

    Attributes
    ----------
    labels_ : array of int, shape (n_samples,)
        Cluster of each row, numbered by their first core row; -1 for noise.
    core_sample_indices_ : array of int, shape (n_core_samples,)
        Core rows.
    algorithm_ : {"grid", "tree", "scikit-learn"}
        What was used.
    n_features_in_ : int
        Number of features seen by ``fit``.
    feature_names_in_ : array of str, shape (n_features_in_,)
        Names of the features, where ``X`` has names that are all strings.

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
        sample_weight : array, shape (n_samples,), optional
            Weight of each row in its neighbourhoods; negative weights are allowed, as in scikit-learn.

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
        if found is None and X.shape[1] <= MAX_TREE_FEATURES and are_counts(weights):
            self.algorithm_ = "tree"
            found = cluster_in_tree(X, self.eps, self.min_samples, weights)
        if found is None:
            self.algorithm_ = "scikit-learn"
            model = DBSCAN(eps=self.eps, min_samples=self.min_samples).fit(X, sample_weight=weights)
            found = model.labels_, model.core_sample_indices_
        self.labels_, self.core_sample_indices_ = found
        return self


def are_counts(weights: NDArray[np.float64] | None) -> bool:
    """Tell whether weights add up to the same sum in any order, as whole numbers do."""
    return weights is None or bool((weights >= 0).all() and (weights == np.floor(weights)).all())


def cell_side(eps: float, n_features: int) -> float:
    """Return the side of a cell whose diagonal is ``eps``, less what rounding may add."""
    return float(eps / math.sqrt(n_features) * (1 - 1e-6))


def cluster_on_grid(
    X: NDArray[Any], eps: float, min_samples: int, weights: NDArray[np.float64] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Return the label of each row, -1 for noise, and the core rows; None where floating point cannot hold the grid."""
    import_optional("numba", "fast", "GridDBSCAN")
    from cohirf.clusterers import grid_kernels as kernels

    X = _as_compiled_for(X)
    side = cell_side(eps, X.shape[1])
    low, high = kernels.bounds(X)
    with np.errstate(all="ignore"):  # a range or a quotient beyond floating point is no grid either
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
    """Return a contiguous array that can be written: any other kind would have the kernels compiled once more."""
    return np.require(array, requirements=["C", "W"])
