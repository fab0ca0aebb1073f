"""TorchKMeans: K-Means on tensors of torch and arrays of CuPy or NumPy, on a GPU or a CPU."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from cohirf.optional import import_optional
from cohirf.rows.arrays import is_cupy, is_torch, same_kind, to_torch

# torch, and the modules that import it at their top, are imported when methods are called.
if TYPE_CHECKING:
    from cohirf.clusterers.torch_lloyd import WeightedTensor


class TorchKMeans(ClusterMixin, BaseEstimator):
    """K-Means on torch, for data on a GPU.

    The same algorithm as :class:`sklearn.cluster.KMeans`, Lloyd's, with the same parameters. It
    runs where the data is: tensors of torch and arrays of CuPy are not copied to the host, and the
    results are in the same library and on the same device. Rows are read in blocks, so that the
    distances of all rows to all centres never fill the memory. The same device gives the same
    labels run after run. It needs torch (extra ``torch``).

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    init : {"k-means++", "random"} or array of shape (n_clusters, n_features), default="k-means++"
        How the first centres are drawn, or the first centres themselves.
    n_init : "auto" or int, default="auto"
        Number of starts, of which the best is used; "auto" means ten for ``init="random"``, and one
        otherwise.
    max_iter : int, default=300
        Largest number of iterations.
    tol : float, default=1e-4
        Iterations stop when the squared movements of all centres sum up to less than this, relative
        to the mean variance of the features.
    random_state : int, RandomState instance or None, default=None
        Seed of the first centres. Pass an int for reproducible results.
    device : str or None, default=None
        Where to compute, such as ``"cuda"``; None means where the data is.

    Attributes
    ----------
    cluster_centers_ : tensor or array of float, shape (n_clusters, n_features)
        Mean of each cluster: in float64 for data in float64, and in float32 otherwise.
    labels_ : tensor or array of int32, shape (n_samples,)
        Cluster of each row.
    inertia_ : float
        Weighted sum of the squared distances between rows and their centres.
    n_iter_ : int
        Number of iterations of the last run.
    n_features_in_ : int
        Number of features seen by ``fit``.
    feature_names_in_ : array of str, shape (n_features_in_,)
        Names of the features seen by ``fit``; defined only if all names are strings.

    See Also
    --------
    sklearn.cluster.KMeans : The same for data in host memory.
    KernelKMeans : For clusters that are not convex, in host memory.

    Notes
    -----
    If there are more than 65,536 rows and more than 128 for each cluster, a random sample of so
    many rows is drawn. All ``n_init`` starts run on this sample, and the best centres are the start
    of a run on all rows: k-means++ on all rows would be a pass over the data for each cluster. The
    variance of the features is then that of evenly spaced rows.

    Rows and centres are multiplied in the type of the data; float16 is multiplied as float32. With
    bfloat16, the tensor cores of a GPU multiply, rows between two centres may get the label of the
    farther one, and sums still have the precision of float32.

    An empty cluster gets the row that is farthest from its centre, as in scikit-learn.

    Random numbers are drawn on the host, so results on a CPU and a GPU, or with other numbers of
    threads, differ by rounding only; iterations may amplify it.

    References
    ----------
    D. Arthur and S. Vassilvitskii, "k-means++: The Advantages of Careful Seeding", SODA 2007.

    Examples
    --------
    >>> import torch
    >>> from cohirf.clusterers import TorchKMeans
    >>> X = torch.tensor([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = TorchKMeans(n_clusters=2, random_state=0).fit(X)
    >>> bool((model.labels_[:3] == model.labels_[0]).all()), model.inertia_
    (True, 16.0)
    >>> model.cluster_centers_.sort(dim=0).values
    tensor([[ 1.,  2.],
            [10.,  2.]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"k-means++", "random"}), "array-like"],
        "n_init": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "device": [str, None],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: str | int = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
        device: str | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.device = device

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows of ``X``.

        Parameters
        ----------
        X : tensor or array, shape (n_samples, n_features)
            The data: a tensor of torch, an array of CuPy, or anything that scikit-learn takes as a
            dense array.
        y : ignored
            Present by convention.
        sample_weight : tensor or array, shape (n_samples,), default=None
            Weight of each row; 1 by default.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        rows = self._read(X, sample_weight, reset=True)
        if len(rows) < self.n_clusters:
            raise ValueError(
                f"n_samples={len(rows)} should be >= n_clusters={self.n_clusters}: lower "
                "n_clusters or add rows."
            )
        from cohirf.clusterers.torch_lloyd import k_means

        init, n_init = self._starts(rows)
        found = k_means(
            rows,
            self.n_clusters,
            init=init,
            n_init=n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            rng=np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1)),
        )
        _warn_of_few_clusters(found.n_found, self.n_clusters)
        self.cluster_centers_ = same_kind(found.centers.to(rows.dtype), like=X)
        self.labels_ = same_kind(found.labels, like=X)
        self.inertia_ = found.inertia
        self.n_iter_ = found.n_iter
        return self

    def predict(self, X: Any) -> Any:
        """Return the number of the nearest centre of each row.

        Parameters
        ----------
        X : tensor or array, shape (n_samples, n_features)
            Rows to label.

        Returns
        -------
        labels : tensor or array of int32, shape (n_samples,)
            Cluster of each row, in the library and on the device of ``X``.
        """
        rows = self._read(X)
        from cohirf.clusterers.torch_lloyd import nearest_centers

        return same_kind(
            nearest_centers(rows, to_torch(self.cluster_centers_, rows.device).double()), like=X
        )

    def _read(self, X: Any, sample_weight: Any = None, *, reset: bool = False) -> WeightedTensor:
        """Return the rows as tensors; ``fit`` resets the number and names of the features."""
        if not reset:
            check_is_fitted(self)
        import_optional("torch", "torch", type(self).__name__)
        from cohirf.clusterers.torch_lloyd import WeightedTensor

        return WeightedTensor.of(self._read_values(X, reset=reset), sample_weight)

    def _read_values(self, X: Any, *, reset: bool) -> Any:
        """Return the data as a tensor of floating-point numbers on the device of the fit."""
        if not (is_torch(X) or is_cupy(X)):
            X = validate_data(self, X, reset=reset, dtype=(np.float64, np.float32), order="C")
            return to_torch(X, self.device)
        import torch

        from cohirf.clusterers.torch_lloyd import all_finite

        values = to_torch(X, self.device)
        if values.layout != torch.strided or values.is_complex():
            raise TypeError(
                f"X is a tensor with layout {values.layout} and type {values.dtype}: give dense "
                "real numbers."
            )
        if values.ndim != 2 or 0 in values.shape:
            raise ValueError(
                f"X has shape {tuple(values.shape)}: give a matrix with at least one row and one "
                "column."
            )
        validate_data(self, values, reset=reset, skip_check_array=True)
        values = values if values.is_floating_point() else values.float()
        if not (get_config()["assume_finite"] or all_finite(values)):
            raise ValueError(
                "Input X contains NaN or infinity: impute such values, or leave their rows out."
            )
        return values

    def _starts(self, rows: WeightedTensor) -> tuple[Any, int]:
        """Return how the first centres are drawn, or the centres themselves, and how often to
        start.
        """
        if not isinstance(self.init, str):
            centers = to_torch(self.init, rows.device).double()
            expected = (self.n_clusters, rows.values.shape[1])
            if tuple(centers.shape) != expected:
                raise ValueError(
                    f"init has shape {tuple(centers.shape)}: give {expected}, a row for each "
                    "cluster."
                )
            return centers, 1
        if self.n_init == "auto":
            return self.init, 10 if self.init == "random" else 1
        return self.init, int(self.n_init)


def _warn_of_few_clusters(n_found: int, n_clusters: int) -> None:
    if n_found < n_clusters:
        warnings.warn(
            f"Number of distinct clusters ({n_found}) found smaller than n_clusters "
            f"({n_clusters}). Possibly due to duplicate points in X.",
            ConvergenceWarning,
            stacklevel=3,
        )
