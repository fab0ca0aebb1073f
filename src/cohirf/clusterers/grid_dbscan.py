"""GridDBSCAN: the clusters of DBSCAN in low and moderate dimension, in linear memory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import _fit_context
from sklearn.cluster import DBSCAN
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import _check_sample_weight, validate_data

from cohirf.clusterers.policy import GRID
from cohirf.optional import import_optional, is_installed
from cohirf.rows.grouping import index_dtype
from cohirf.rows.metric_spaces import find_space, to_unit_vectors


class GridDBSCAN(DBSCAN):
    """DBSCAN on a grid or a tree: fast on many rows of up to fifteen features.

    Labels are those of :class:`sklearn.cluster.DBSCAN`: a border row that is a neighbour of several
    clusters joins the one with the lowest label. With the metrics "haversine" and "cosine", this is
    so up to ties: whether rows at a distance of exactly ``eps`` are neighbours is decided by the
    rounding of other formulas.

    Data with up to three features is put on a grid, unless ``eps`` is tiny compared with the range
    of the data. Data with up to fifteen features is put into a tree of bounding boxes. Both treat
    groups of close rows as a whole, and their memory is linear in the number of rows for any
    ``eps``. With more features neither is faster than scikit-learn's DBSCAN, which is used then. It
    is also used for sparse data, for other metrics than "euclidean", "haversine" and "cosine", and
    if weights are not multiples of 1/1024, because the sum of other weights depends on their order.
    ``algorithm_`` says which of the three was used. Grid and tree need numba (extra ``fast``).

    Parameters
    ----------
    eps : float, default=0.5
        Largest distance between neighbours.
    min_samples : int, default=5
        Smallest number of neighbours, or their smallest total weight, of a core row; the row itself
        counts.
    metric : str or callable, default="euclidean"
        The distance. Places have ``metric="haversine"``, latitude and longitude in radians.
    metric_params, algorithm, leaf_size, p, n_jobs
        As in scikit-learn's DBSCAN, where that is used.

    Attributes
    ----------
    labels_ : array of int, shape (n_samples,)
        Cluster of each row; -1 for noise. Clusters are numbered in the order of their first core
        rows.
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
            Weight of each row in its neighbourhoods. Negative weights are allowed, as in
            scikit-learn.

        Returns
        -------
        self : GridDBSCAN
            The fitted estimator.
        """
        found = self._compute(X, sample_weight)
        if found is None:
            super().fit(X, sample_weight=sample_weight)
            self.algorithm_ = "scikit-learn"
        else:
            self.labels_ = found.labels
            self.core_sample_indices_ = found.core_rows
            self.algorithm_ = found.algorithm
        return self

    def _compute(self, X: Any, sample_weight: Any) -> DensityClusters | None:
        """Return the clusters; None if scikit-learn is to find them.

        Raise for places that are not on the globe.
        """
        space = find_space(self)
        if space is None or sparse.issparse(X):
            return None
        X = validate_data(self, X, dtype=(np.float64, np.float32))
        if space.embed is to_unit_vectors and not X.any(axis=1).all():
            return None  # scikit-learn puts rows of zeros apart
        points = space.points(X)
        if not self._uses_kernels(len(X)):
            return None
        if sample_weight is None:
            weights = None
        else:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        return find_density_clusters(
            points, space.radius(float(self.eps)), int(self.min_samples), weights
        )

    def _uses_kernels(self, n_rows: int) -> bool:
        return True


class ComputedDBSCAN(GridDBSCAN):
    """What CoHiRF runs in the place of scikit-learn's DBSCAN."""

    _shown_as = "DBSCAN"  # in messages: users do not know this class

    def _uses_kernels(self, n_rows: int) -> bool:
        return n_rows >= GRID.rows and is_installed("numba")


def computed_dbscan(estimator: Any) -> Any:
    """Return an estimator with the same labels that is faster, if it is scikit-learn's DBSCAN.

    Else the same.
    """
    if type(estimator) is DBSCAN:
        return ComputedDBSCAN(**estimator.get_params(deep=False))
    return estimator


@dataclass(frozen=True)
class DensityClusters:
    """The clusters of DBSCAN, numbered in the order of their first core rows."""

    algorithm: str
    labels: NDArray[np.int64]  # -1 for noise
    core_rows: NDArray[np.int64]  # sorted
    # border rows next to further clusters, and the labels of these, perhaps their own, too
    others: NDArray[np.int64]


def find_density_clusters(
    X: NDArray[Any], eps: float, min_samples: int, weights: NDArray[np.float64] | None
) -> DensityClusters | None:
    """Return the clusters of DBSCAN.

    None if scikit-learn finds them sooner, or if sums of weights are rounded.
    """
    if not has_kernels(X.shape[1], weights):
        return None
    if X.shape[1] <= GRID.grid_features:
        found = cluster_on_grid(X, eps, min_samples, weights)
    else:
        found = None
    if found is None:
        return cluster_in_tree(X, eps, min_samples, weights)
    return found


def has_kernels(n_features: int, weights: NDArray[np.float64] | None) -> bool:
    """Return whether grid or tree find the clusters of scikit-learn, and sooner."""
    return n_features <= GRID.box_features and are_exact(weights)


def call_dbscan(
    X: NDArray[Any],
    eps: float,
    min_samples: int,
    weights: NDArray[np.float64] | None,
    norm: Mapping[str, Any] = MappingProxyType({}),
) -> DensityClusters:
    """Return the clusters that scikit-learn's DBSCAN finds.

    ``norm`` has its metric, if it is not Euclidean.
    """
    model = DBSCAN(eps=eps, min_samples=min_samples, **norm).fit(X, sample_weight=weights)
    labels = model.labels_
    core = model.core_sample_indices_
    border = np.setdiff1d(np.flatnonzero(labels >= 0), core, assume_unique=True)
    others = np.empty((0, 2), dtype=np.int64)
    if len(border) and labels.max() > 0:
        search = NearestNeighbors(radius=eps, **_for_neighbours(norm)).fit(X[core])
        near = search.radius_neighbors(X[border], return_distance=False)
        rows = np.repeat(border, [len(neighbours) for neighbours in near])
        others = np.column_stack([rows, labels[core[np.concatenate(near)]]])
    return DensityClusters("scikit-learn", labels, core, others)


def _for_neighbours(norm: Mapping[str, Any]) -> dict[str, Any]:
    # p is a number there
    return {name: 2 if value is None else value for name, value in norm.items()}


def are_exact(weights: NDArray[np.float64] | None) -> bool:
    """Return whether sums of the weights do not depend on their order: multiples of 1/1024, such as
    whole numbers.
    """
    if weights is None:
        return True
    units = weights / GRID.weight_unit
    return bool(
        (weights >= 0).all()
        and (units == np.floor(units)).all()
        and weights.sum() <= GRID.largest_sum
    )


def cell_side(eps: float, n_features: int) -> float:
    """Return the side of a cell whose diagonal is slightly less than ``eps``, to be safe from
    rounding.
    """
    return float(eps / math.sqrt(n_features) * (1 - 1e-6))


def cluster_on_grid(
    X: NDArray[Any], eps: float, min_samples: int, weights: NDArray[np.float64] | None
) -> DensityClusters | None:
    """Return the clusters; None if the grid would have too many cells."""
    import_optional("numba", "fast", "GridDBSCAN")
    from cohirf.clusterers import grid_kernels as kernels

    X = _as_compiled_for(X)
    side = cell_side(eps, X.shape[1])
    low, high = kernels.bounds(X)
    # a range or quotient that overflows cannot be put on a grid, either
    with np.errstate(all="ignore"):
        n_cells = (high - low) / side
    if n_cells.max() < GRID.cells_per_side:
        bits = kernels.count_bits(n_cells)
    else:
        bits = None
    if bits is None:
        return None
    weights = None if weights is None else _as_compiled_for(weights)
    rows = np.empty(len(X), dtype=index_dtype(len(X)))
    found = kernels.cluster_cells(X, weights, rows, low, bits, side, eps * eps, float(min_samples))
    return DensityClusters("grid", *found)


def cluster_in_tree(
    X: NDArray[Any], eps: float, min_samples: int, weights: NDArray[np.float64] | None
) -> DensityClusters:
    """Return the clusters."""
    import_optional("numba", "fast", "GridDBSCAN")
    from cohirf.clusterers import tree_kernels as kernels

    eps = float(eps)
    weights = np.ones(len(X)) if weights is None else _as_compiled_for(weights)
    return DensityClusters(
        "tree", *kernels.cluster_boxes(_as_compiled_for(X), weights, eps * eps, float(min_samples))
    )


def _as_compiled_for(array: NDArray[Any]) -> NDArray[Any]:
    """Return a contiguous, writable array: for any other kind, numba would compile the kernels
    again.
    """
    return np.require(array, requirements=["C", "W"])
