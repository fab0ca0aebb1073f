"""Data of the paper's experiments: concentric spheres and a hypercube with noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from cohirf.rows.grouping import row_blocks

__all__ = ["make_hypercube", "make_spheres"]

FEW_CORNERS = 2**16  # up to this number, all corners are listed and drawn from

Random = np.random.RandomState


def make_spheres(
    n_samples: int = 1000,
    *,
    radii: Sequence[float] = (0.5, 1.0),
    noise: float = 0.01,
    random_state: Any = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw random points on concentric spheres in three dimensions.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of points, divided equally among the spheres.
    radii : sequence of float, default=(0.5, 1.0)
        Radius of each sphere.
    noise : float, default=0.01
        Standard deviation of the distance of points from their sphere.
    random_state : int, RandomState instance or None, default=None
        Seed of the random numbers. Pass an int for reproducible results.

    Returns
    -------
    X : array of float, shape (n_samples, 3)
        The points, in random order.
    y : array of int, shape (n_samples,)
        The sphere of each point: its index in ``radii``.

    Examples
    --------
    >>> from cohirf.datasets import make_spheres
    >>> X, y = make_spheres(100, random_state=0)
    >>> X.shape, int(y.sum())
    ((100, 3), 50)
    """
    rng = check_random_state(random_state)
    y = rng.permutation(np.arange(n_samples) % len(radii))
    directions = rng.standard_normal((n_samples, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    radius = np.asarray(radii)[y] + noise * rng.standard_normal(n_samples)
    return directions * radius[:, None], y


def make_hypercube(
    n_samples: int = 1000,
    *,
    n_clusters: int = 5,
    n_informative: int = 3,
    n_noise: int = 10,
    random_state: Any = None,
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Draw random points around corners of a hypercube, and append noise features.

    The corners are drawn at random from those of a hypercube whose edges have length 6 times the
    square root of ``n_informative``. Points are normally distributed around them with variance 1.
    Noise features are standard normal.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of points, divided equally among the clusters.
    n_clusters : int, default=5
        Number of clusters: of corners that have points.
    n_informative : int, default=3
        Dimension of the hypercube.
    n_noise : int, default=10
        Number of features that are independent of the cluster.
    random_state : int, RandomState instance or None, default=None
        Seed of the random numbers. Pass an int for reproducible results.

    Returns
    -------
    X : array of float32, shape (n_samples, n_informative + n_noise)
        The points, in random order.
    y : array of int, shape (n_samples,)
        The cluster of each point.

    Raises
    ------
    ValueError
        If ``n_clusters`` is above the number of corners, ``2 ** n_informative``.

    Examples
    --------
    >>> from cohirf.datasets import make_hypercube
    >>> X, y = make_hypercube(100, n_noise=1000, random_state=0)
    >>> X.shape, X.dtype, int(y.max())
    ((100, 1003), dtype('float32'), 4)
    """
    rng = check_random_state(random_state)
    return around_corners(draw_corners(n_clusters, n_informative, rng), n_noise, n_samples, rng)


def draw_corners(n_clusters: int, n_informative: int, rng: Random) -> NDArray[np.float64]:
    """Draw distinct corners of a hypercube at random."""
    if n_clusters > 2**n_informative:
        raise ValueError(
            f"n_clusters={n_clusters} is above the {2**n_informative} corners of a hypercube with "
            f"n_informative={n_informative}: increase n_informative, or lower n_clusters."
        )
    if 2**n_informative <= FEW_CORNERS:
        numbers = rng.permutation(2**n_informative)[:n_clusters]
        bits = (numbers[:, None] >> np.arange(n_informative)) & 1
    else:
        bits = np.empty((0, n_informative), dtype=np.int64)
        while len(bits) < n_clusters:
            drawn = np.concatenate(
                [bits, rng.randint(0, 2, (n_clusters - len(bits), n_informative))]
            )
            # without those drawn before
            bits = drawn[np.sort(np.unique(drawn, axis=0, return_index=True)[1])]
    edge = 6.0 * np.sqrt(n_informative)
    corners: NDArray[np.float64] = bits * edge
    return corners


def around_corners(
    corners: NDArray[np.float64], n_noise: int, n_samples: int, rng: np.random.RandomState
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    n_informative = corners.shape[1]
    y = rng.permutation(np.arange(n_samples) % len(corners))
    X = np.empty((n_samples, n_informative + n_noise), dtype=np.float32)
    block_rows = max(1, 2**24 // X.shape[1])
    for block in row_blocks(n_samples, block_rows):
        X[block] = rng.standard_normal(X[block].shape)
    X[:, :n_informative] += corners[y]
    return X, y
