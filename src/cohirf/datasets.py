"""Synthetic data of the paper's experiments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state


def make_spheres(
    n_samples: int = 1000,
    *,
    radii: Sequence[float] = (0.5, 1.0),
    noise: float = 0.01,
    random_state: Any = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw points on concentric spheres in three dimensions.

    Parameters
    ----------
    n_samples : int
        Number of points, shared out equally among the spheres.
    radii : sequence of float
        Radius of each sphere.
    noise : float
        Standard deviation of the radius.
    random_state : int, RandomState instance or None
        Seeds the draw.

    Returns
    -------
    X : array, shape (n_samples, 3)
        The points, in random order.
    y : array of int, shape (n_samples,)
        The sphere of each.

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
