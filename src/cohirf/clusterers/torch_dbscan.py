"""TorchDBSCAN: the clusters of DBSCAN for data of up to three features, on a GPU or a CPU."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.utils._param_validation import Interval

from cohirf.array_kinds import same_kind, to_numpy
from cohirf.clusterers.grid_dbscan import MAX_GRID_FEATURES, GridDBSCAN, cell_side
from cohirf.optional import import_optional


class TorchDBSCAN(ClusterMixin, BaseEstimator):
    """DBSCAN on a grid on torch, for data on a GPU with up to three features.

    Clusters are those of :class:`GridDBSCAN`: core rows, their clusters and noise are the same as those of
    :class:`sklearn.cluster.DBSCAN`, and border rows join the cluster of the nearest core row. Tensors of torch and
    arrays of CuPy are not copied to the host, and the labels are in the same library and on the same device. It needs
    torch (extra ``torch``).

    Data with more features, and data whose range is too large for a grid with this ``eps``, is copied to the host and
    clustered by GridDBSCAN (extra ``fast``). ``algorithm_`` tells what was used.

    Parameters
    ----------
    eps : float, default=0.5
        Largest distance between neighbours.
    min_samples : int, default=5
        Smallest number of neighbours, or their smallest total weight, of a core row; the row itself counts.
    device : str or None, default=None
        Where to compute, such as ``"cuda"``; None means where the data is.

    Attributes
    ----------
    labels_ : tensor or array of int64, shape (n_samples,)
        Cluster of each row; -1 for noise. Clusters are numbered in the order of their first core rows.
    core_sample_indices_ : tensor or array of int64, shape (n_core_samples,)
        Sorted row numbers of the core rows.
    algorithm_ : {"torch", "grid", "tree", "scikit-learn"}
        What was used: torch, or one of the algorithms of GridDBSCAN.
    n_features_in_ : int
        Number of features seen by ``fit``.
    feature_names_in_ : array of str, shape (n_features_in_,)
        Names of the features seen by ``fit``; defined only if all names are strings.

    See Also
    --------
    GridDBSCAN : The same for data in host memory, compiled by numba.

    Examples
    --------
    >>> import torch
    >>> from cohirf.clusterers import TorchDBSCAN
    >>> from cohirf.datasets import make_spheres
    >>> X, y = make_spheres(20_000, random_state=0)
    >>> model = TorchDBSCAN(eps=0.2).fit(torch.from_numpy(X))
    >>> model.algorithm_, int(model.labels_.max()) + 1
    ('torch', 2)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "eps": [Interval(Real, 0, None, closed="neither")],
        "min_samples": [Interval(Integral, 1, None, closed="left")],
        "device": [str, None],
    }

    def __init__(self, eps: float = 0.5, *, min_samples: int = 5, device: str | None = None) -> None:
        self.eps = eps
        self.min_samples = min_samples
        self.device = device

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows of ``X``.

        Parameters
        ----------
        X : tensor or array, shape (n_samples, n_features)
            The data: a tensor of torch, an array of CuPy, or anything that scikit-learn takes as a dense array.
        y : ignored
            Present by convention.
        sample_weight : tensor or array, shape (n_samples,), default=None
            Weight of each row in its neighbourhoods; not negative.

        Returns
        -------
        self : TorchDBSCAN
            The fitted estimator.
        """
        torch = import_optional("torch", "torch", "TorchDBSCAN")
        from cohirf.clusterers.torch_grid import dbscan
        from cohirf.clusterers.torch_input import read_values, read_weights

        values = read_values(self, X, self.device, reset=True)
        weights = read_weights(sample_weight, values, torch.float64)
        found = None
        if values.shape[1] <= MAX_GRID_FEATURES:
            side = cell_side(self.eps, values.shape[1])
            found = dbscan(values.double(), weights, self.eps, side, self.min_samples)
        if found is not None:
            self.algorithm_ = "torch"
            labels, core = found[0], found[1].nonzero()[:, 0]
        else:
            model = GridDBSCAN(self.eps, min_samples=self.min_samples)
            model.fit(to_numpy(values), sample_weight=None if weights is None else to_numpy(weights))
            self.algorithm_, labels, core = model.algorithm_, model.labels_, model.core_sample_indices_
        self.labels_, self.core_sample_indices_ = same_kind(labels, like=X), same_kind(core, like=X)
        return self
