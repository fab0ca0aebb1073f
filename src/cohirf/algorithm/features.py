"""Sample features, and take columns of a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.algorithm.arrays import is_here, namespace, put_beside
from cohirf.algorithm.grouping import IntArray, row_blocks

SCALED_CELLS = 2**15


def sample_features(rng: np.random.Generator, n_features: int, n_sampled: int) -> NDArray[np.intp]:
    """Draw ``n_sampled`` distinct features, and return them sorted."""
    features: NDArray[np.intp] = rng.choice(n_features, size=n_sampled, replace=False)
    features.sort()
    return features


def take_features(X: Any, features: IntArray, out: NDArray[Any] | None = None, scale: float = 1.0) -> Any:
    """Return the given columns of ``X`` times ``scale``, in ``out`` if given.

    If all columns are asked for, ``X`` itself is returned, neither copied nor scaled.
    """
    if len(features) == X.shape[1]:
        return X
    if not is_here(X):
        view = namespace(X).take(X, put_beside(features, X), axis=1)
        return view if scale == 1 else view * scale
    if sparse.issparse(X):
        view = X[:, features]
        view.data *= scale
        return view
    if out is None:
        out = np.empty((X.shape[0], len(features)), dtype=X.dtype)
    # Blocks are scaled while they are in the cache.
    for block in row_blocks(len(X), len(X) if scale == 1 else SCALED_CELLS // len(features) + 1):
        # with mode="clip", numpy needs no buffer to leave `out` unchanged if an index is out of range
        part = np.take(X[block], features, axis=1, out=out[block], mode="clip")
        if scale != 1:
            part *= scale
    return out
