"""Suggest a radius for DBSCAN from the distances of rows to their k-th nearest neighbour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_array, check_random_state

from cohirf.in_words import InWords


@dataclass(frozen=True, eq=False)
class EpsSuggestion(InWords):
    """A radius for DBSCAN, and the curve that it was read from; ``print`` shows it in words.

    Attributes
    ----------
    eps : float
        The suggested radius: the distance at the knee of the curve.
    min_samples : int
        The ``min_samples`` of DBSCAN that the radius is meant for.
    distances : array of float
        Sorted distances of the sampled rows to their nearest neighbour number ``min_samples``,
        where each row counts as its own first neighbour, as in DBSCAN.
    knee : int
        Position of the knee in ``distances``.
    """

    eps: float
    min_samples: int
    distances: NDArray[np.float64]
    knee: int

    @property
    def core_share(self) -> float:
        """Share of the sampled rows that are core rows of DBSCAN with this radius."""
        return float(np.mean(self.distances <= self.eps))


def suggest_eps(
    X: Any, min_samples: int = 5, *, max_rows: int = 2000, random_state: Any = None
) -> EpsSuggestion:
    """Suggest ``eps`` for DBSCAN: the knee of the sorted distances to the k-th nearest neighbour.

    For a sample of the rows, the distance to the nearest neighbour number ``min_samples`` is
    computed, among all rows. In dense regions this distance is small, and for noise it is large.
    The knee of the sorted distances separates the two: it is the point that is farthest below the
    straight line from the first to the last point of the curve.

    This is a rule of thumb. With many features it is usually too large, because outliers lift the
    end of the curve: look at the curve with :func:`cohirf.app.plotting.plot_eps`, and try smaller
    values. The suggestion is for a fit on all features; in views with a share of them
    (``max_features``), distances are smaller by about the root of that share.

    Parameters
    ----------
    X : array, table or sparse matrix, shape (n_samples, n_features)
        The data, scaled as for the fit.
    min_samples : int, default=5
        The ``min_samples`` of DBSCAN.
    max_rows : int, default=2000
        Largest number of rows whose distances are computed; more rows are sampled at random.
    random_state : int, RandomState instance or None, default=None
        Seed of the sampling.

    Returns
    -------
    suggestion : EpsSuggestion
        The radius, and the curve.

    Raises
    ------
    ValueError
        If there are fewer rows than ``min_samples``, or no distance is positive.

    See Also
    --------
    cohirf.app.plotting.plot_eps : Plots the curve.

    Examples
    --------
    >>> from sklearn.cluster import DBSCAN
    >>> from sklearn.datasets import make_blobs
    >>> from cohirf import CoHiRF, suggest_eps
    >>> X, _ = make_blobs(500, centers=[(0, 0), (9, 9)], random_state=0)
    >>> suggestion = suggest_eps(X)
    >>> suggestion.describe()
    'eps=0.514 is the knee of the curve: with min_samples=5, 89% of the rows are core rows.'
    >>> CoHiRF(DBSCAN(eps=suggestion.eps)).fit(X).n_clusters_
    2
    """
    data = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32))
    n_rows = data.shape[0]
    for name, value, least in (("min_samples", min_samples, 1), ("max_rows", max_rows, 1)):
        if value < least:
            raise ValueError(f"{name}={value} is not valid: pass an int >= {least}.")
    if n_rows < min_samples:
        raise ValueError(
            f"X has {n_rows} rows, fewer than min_samples={min_samples}: pass more rows, or lower "
            "it."
        )
    drawn: Any = slice(None)
    if n_rows > max_rows:
        drawn = np.sort(check_random_state(random_state).choice(n_rows, max_rows, replace=False))
    search = NearestNeighbors(n_neighbors=min_samples).fit(data)
    distances = np.sort(search.kneighbors(data[drawn])[0][:, -1].astype(np.float64))
    positive = int(np.searchsorted(distances, 0.0, side="right"))
    if positive == len(distances):
        raise ValueError(
            "All distances are 0, because rows are identical: DBSCAN needs distinct rows."
        )
    knee = max(find_knee(distances), positive)
    return EpsSuggestion(float(distances[knee]), int(min_samples), distances, knee)


def find_knee(heights: NDArray[np.float64]) -> int:
    """Return the position of the knee of a sorted curve: the point farthest below the line through
    its ends.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.eps import find_knee
    >>> find_knee(np.array([1.0, 1.1, 1.2, 1.3, 5.0, 9.0]))
    3
    """
    line = np.linspace(heights[0], heights[-1], len(heights))
    return int(np.argmax(line - heights))
