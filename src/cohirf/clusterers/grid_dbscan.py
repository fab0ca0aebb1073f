"""GridDBSCAN: the clusters of DBSCAN in low dimension, in linear memory."""

from __future__ import annotations

from itertools import product
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.cluster import DBSCAN
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_sample_weight, validate_data

from cohirf.algorithm.grouping import IntArray, rows_by_label
from cohirf.optional import import_optional

MAX_GRID_FEATURES = 3
MAX_CELLS_A_SIDE = 2**30  # beyond it, floating point cannot tell neighbouring cells apart safely


class GridDBSCAN(ClusterMixin, BaseEstimator):
    """DBSCAN on a grid: fast on many rows of up to three features.

    Core rows, their clusters and noise are those of :class:`sklearn.cluster.DBSCAN` with the Euclidean metric. A border
    row that touches several clusters joins that of the nearest core row, where scikit-learn takes the first cluster.
    With more than three features, or where ``eps`` is tiny against the range of the data, a grid does not pay, and with
    weights that are not whole numbers, sums depend on their order: then scikit-learn's DBSCAN does the work.
    ``algorithm_`` says which one did.

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
    algorithm_ : {"grid", "scikit-learn"}
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
        if not (grid_pays(X, self.eps) and are_counts(weights)):
            model = DBSCAN(eps=self.eps, min_samples=self.min_samples).fit(X, sample_weight=weights)
            self.labels_, self.core_sample_indices_ = model.labels_, model.core_sample_indices_
            self.algorithm_ = "scikit-learn"
            return self
        import_optional("numba", "fast")
        self.labels_, self.core_sample_indices_ = cluster_on_grid(X, self.eps, self.min_samples, weights)
        self.algorithm_ = "grid"
        return self


def grid_pays(X: NDArray[Any], eps: float) -> bool:
    """Tell whether the grid has few neighbouring cells, and coordinates that floating point can hold."""
    n_features = X.shape[1]
    if n_features > MAX_GRID_FEATURES:
        return False
    with np.errstate(over="ignore"):
        return bool(np.ptp(X.astype(np.float64), axis=0).max() / cell_side(eps, n_features) < MAX_CELLS_A_SIDE)


def are_counts(weights: NDArray[np.float64] | None) -> bool:
    """Tell whether weights add up to the same sum in any order, as whole numbers do."""
    return weights is None or bool((weights >= 0).all() and (weights == np.floor(weights)).all())


def cell_side(eps: float, n_features: int) -> float:
    """Return the side of a cell whose diagonal is ``eps``, less what rounding may add."""
    return float(eps / np.sqrt(n_features) * (1 - 1e-6))


def neighbour_offsets(n_features: int) -> NDArray[np.int64]:
    """Return the offsets of cells that can hold neighbours of a row of the cell at offset 0, nearest first."""
    reach = int(np.ceil(np.sqrt(n_features))) + 1
    offsets = np.array(list(product(range(-reach, reach + 1), repeat=n_features)), dtype=np.int64)
    gaps = np.maximum(np.abs(offsets) - 1, 0) * (1 - 1e-6)
    offsets = offsets[(gaps**2).sum(axis=1) <= n_features]
    return np.asarray(offsets[np.argsort((offsets**2).sum(axis=1), kind="stable")])


def cluster_on_grid(
    X: NDArray[Any], eps: float, min_samples: int, weights: NDArray[np.float64] | None
) -> tuple[NDArray[np.int64], IntArray]:
    """Return the label of each row, -1 for noise, and the core rows."""
    from cohirf.clusterers import grid_kernels as kernels

    points = X.astype(np.float64, copy=False)
    coordinates = np.floor((points - points.min(axis=0)) / cell_side(eps, X.shape[1])).astype(np.int64)
    table = np.full(1 << int(np.ceil(np.log2(2 * len(X) + 2))), -1, dtype=np.int32)
    cell_of, cells = kernels.number_cells(coordinates, table)
    del coordinates
    starts, order = rows_by_label(cell_of, len(cells))
    points = np.ascontiguousarray(points[order])
    mass = np.ones(len(X)) if weights is None else weights[order]
    offsets = neighbour_offsets(X.shape[1])
    radius2 = eps * eps
    is_core = kernels.find_core(points, mass, starts, cells, table, offsets, radius2, float(min_samples))
    core_starts = np.concatenate([[0], np.cumsum(np.bincount(cell_of[order[is_core]], minlength=len(cells)))])
    half = np.array([offset for offset in offsets.tolist() if offset > [0] * X.shape[1]])
    roots = kernels.connect_cells(points[is_core], core_starts, cells, table, half, radius2)
    core_cell = kernels.nearest_core_cell(points, is_core, starts, cells, table, offsets, radius2)
    labels = np.full(len(X), -1, dtype=np.int64)
    labels[order] = np.where(core_cell >= 0, roots[core_cell], -1)
    core_rows = np.sort(order[is_core])
    return _number_by_first_core_row(labels, core_rows), core_rows


def _number_by_first_core_row(labels: NDArray[np.int64], core_rows: IntArray) -> NDArray[np.int64]:
    """Give clusters the numbers that scikit-learn gives: in the order of their first core rows."""
    names, first = np.unique(labels[core_rows], return_index=True)
    number = np.empty(len(names), dtype=np.int64)
    number[np.argsort(first)] = np.arange(len(names))
    found = labels >= 0
    labels[found] = number[np.searchsorted(names, labels[found])]
    return labels
