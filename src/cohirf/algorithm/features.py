"""Sample features, and take columns of a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.algorithm.arrays import is_here, namespace, put_beside
from cohirf.algorithm.grouping import IntArray


def sample_features(rng: np.random.Generator, n_features: int, n_sampled: int) -> NDArray[np.intp]:
    """Draw ``n_sampled`` distinct features, and return them sorted."""
    features: NDArray[np.intp] = rng.choice(n_features, size=n_sampled, replace=False)
    features.sort()
    return features


def take_features(X: Any, features: IntArray, out: NDArray[Any] | None = None) -> Any:
    """Return the given columns of ``X``, in ``out`` if given; if all columns are asked for, ``X`` itself."""
    if len(features) == X.shape[1]:
        return X
    if not is_here(X):
        return namespace(X).take(X, put_beside(features, X), axis=1)
    if sparse.issparse(X):
        return X[:, features]
    if out is None:
        out = np.empty((X.shape[0], len(features)), dtype=X.dtype)
    # with mode="clip", numpy needs no buffer to leave `out` unchanged if an index is out of range
    return np.take(X, features, axis=1, out=out, mode="clip")
