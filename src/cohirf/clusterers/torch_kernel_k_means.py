"""TorchKernelKMeans: K-Means on random Fourier features of the RBF kernel, on a GPU or a CPU."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cohirf.array_kinds import to_torch
from cohirf.clusterers.kernel_k_means import KernelKMeans
from cohirf.clusterers.torch_k_means import BaseTorchKMeans


class TorchKernelKMeans(BaseTorchKMeans):
    """K-Means in the space of the RBF kernel on torch, for data on a GPU.

    As in :class:`KernelKMeans`, rows are mapped to random Fourier features, whose inner products approximate the kernel
    ``exp(-gamma * |x - y| ** 2)``. :class:`TorchKMeans` clusters these features, which are computed block by block
    whenever they are needed, and never stored for all rows. It needs torch (extra ``torch``).

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    gamma : float, default=1.0
        How fast the kernel decreases with distance; see :class:`KernelKMeans`.
    n_components : int, default=500
        Number of random features; see :class:`KernelKMeans`.
    random_state : int, RandomState instance or None, default=None
        Seed of the random features and of the first centres. Pass an int for reproducible results.
    n_init, max_iter, tol, device, distance_dtype
        The parameters of :class:`TorchKMeans`, with the same defaults. They apply to the random features, which are
        float64 for data in float64, and float32 otherwise. First centres are drawn by k-means++.

    Attributes
    ----------
    cluster_centers_ : tensor or array of float, shape (n_clusters, n_components)
        Centres in the space of the features.
    random_weights_ : array of float, shape (n_features, n_components)
        Random directions that rows are projected on.
    random_offset_ : array of float, shape (n_components,)
        Random numbers that are added to the projections.
    labels_, inertia_, n_iter_, n_features_in_, feature_names_in_
        The attributes of :class:`TorchKMeans`; the inertia is that of the features.

    See Also
    --------
    KernelKMeans : The same for data in host memory, and for sparse data.
    TorchKMeans : Clusters the rows themselves, and describes how.

    Notes
    -----
    With the same ``random_state``, the random features are those of :class:`KernelKMeans`. Unlike there, equal rows are
    not merged before the fit, so the result depends on the order of the rows.

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
        **KernelKMeans._parameter_constraints,
        **BaseTorchKMeans._parameter_constraints,
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
        super().__init__(
            n_clusters,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
            device=device,
            distance_dtype=distance_dtype,
        )
        self.gamma = gamma
        self.n_components = n_components

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
