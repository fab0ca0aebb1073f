"""TorchKernelKMeans: K-Means on random Fourier features of the RBF kernel, on a GPU or a CPU."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from cohirf.array_kinds import to_torch
from cohirf.clusterers.torch_k_means import BaseTorchKMeans


class TorchKernelKMeans(BaseTorchKMeans):
    """K-Means in the space of the RBF kernel on torch, for data on a GPU.

    Rows are mapped to random Fourier features, whose inner products approximate the kernel
    ``exp(-gamma * |x - y| ** 2)``, and :class:`TorchKMeans` clusters these features. Clusters need not be convex. The
    features are computed block by block whenever they are needed, and never stored for all rows. It needs torch (extra
    ``torch``).

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    gamma : float, default=1.0
        How fast the kernel decreases with distance. The kernel of rows that are further apart than a few times
        ``gamma ** -0.5`` is almost 0.
    n_components : int, default=500
        Number of random features. The error of the approximate kernel decreases as ``n_components ** -0.5``.
    n_init : "auto" or int, default="auto"
        Number of starts of K-Means, of which the best is used; "auto" means one.
    max_iter : int, default=300
        Largest number of iterations of K-Means.
    tol : float, default=1e-4
        Iterations stop when the squared movements of all centres sum up to less than this, relative to the mean
        variance of the features.
    random_state : int, RandomState instance or None, default=None
        Seed of the random features and of the first centres. Pass an int for reproducible results.
    device : str or None, default=None
        Where to compute, such as ``"cuda"``; None means where the data is.
    distance_dtype : {"bfloat16", "float32"} or None, default=None
        Type of the features when they are multiplied with centres. With "bfloat16", tensor cores of a GPU multiply.
        None means float64 for data in float64, and float32 otherwise.

    Attributes
    ----------
    cluster_centers_ : tensor or array of float, shape (n_clusters, n_components)
        Centres in the space of the features.
    labels_ : tensor or array of int32, shape (n_samples,)
        Cluster of each row, in the library and on the device of the data.
    inertia_ : float
        Weighted sum of the squared distances between rows and their centres, in the space of the features.
    n_iter_ : int
        Number of iterations of the last run.
    random_weights_ : array of float, shape (n_features, n_components)
        Random directions that rows are projected on.
    random_offset_ : array of float, shape (n_components,)
        Random numbers that are added to the projections.
    n_features_in_ : int
        Number of features seen by ``fit``.
    feature_names_in_ : array of str, shape (n_features_in_,)
        Names of the features seen by ``fit``; defined only if all names are strings.

    See Also
    --------
    KernelKMeans : The same for data in host memory, and for sparse data.
    TorchKMeans : Clusters the rows themselves, and describes how.

    Notes
    -----
    With the same ``random_state``, the random features are those of :class:`KernelKMeans`. Unlike there, equal rows are
    not merged before the fit, so the result depends on the order of the rows.

    References
    ----------
    A. Rahimi and B. Recht, "Random Features for Large-Scale Kernel Machines", NIPS 2007.

    Examples
    --------
    Two rings, one inside the other:

    >>> import torch
    >>> from sklearn.datasets import make_circles
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from cohirf.clusterers import TorchKernelKMeans
    >>> X, y = make_circles(500, factor=0.2, noise=0.05, random_state=0)
    >>> model = TorchKernelKMeans(n_clusters=2, gamma=3.0, random_state=0).fit(torch.from_numpy(X))
    >>> float(adjusted_rand_score(y, model.labels_.numpy()))
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseTorchKMeans._parameter_constraints,
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
    }

    random_weights_: NDArray[np.float64]
    random_offset_: NDArray[np.float64]

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
        device: str | None = None,
        distance_dtype: str | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.gamma = gamma
        self.n_components = n_components
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.device = device
        self.distance_dtype = distance_dtype

    def _embedding(self, values: Any, dtype: Any, state: np.random.RandomState | None) -> Callable[[Any], Any]:
        if state is not None:  # in the order of scikit-learn's RBFSampler, which KernelKMeans uses
            size = (values.shape[1], self.n_components)
            self.random_weights_ = math.sqrt(2 * self.gamma) * state.normal(size=size)
            self.random_offset_ = state.uniform(0, 2 * math.pi, size=self.n_components)
        directions, offset = (
            to_torch(part, values.device).to(dtype) for part in (self.random_weights_, self.random_offset_)
        )
        factor = math.sqrt(2 / self.n_components)

        def embed(block: Any) -> Any:
            return offset.addmm(block, directions).cos_().mul_(factor)  # in place: a block of features is large

        return embed
