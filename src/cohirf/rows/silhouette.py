"""Mean silhouettes of divisions, from distances that they share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.rows.grouping import FloatArray, IntArray, row_blocks
from cohirf.rows.policy import BLOCK


def mean_silhouette(
    distances: NDArray[np.floating[Any]], labels: IntArray, mass: FloatArray | None = None
) -> float:
    """Return the mean silhouette of a division, in which each label is a cluster.

    See ``mean_silhouettes``.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.rows.silhouette import mean_silhouette
    >>> x = np.array([0.0, 1.0, 10.0, 11.0])
    >>> round(mean_silhouette(np.abs(x[:, None] - x), np.array([0, 0, 1, 1])), 3)
    0.9
    """
    clusters = np.unique(labels, return_inverse=True)[1]
    return float(mean_silhouettes(distances, [clusters], mass)[0])


def mean_silhouettes(
    distances: NDArray[np.floating[Any]],
    divisions: Sequence[IntArray],
    mass: FloatArray | None = None,
) -> FloatArray:
    """Return the mean silhouette of each of several divisions of the same rows.

    It is the mean of ``(b - a) / max(a, b)``, where ``a`` is the mean distance of a row to the
    other rows of its cluster and ``b`` is its mean distance to the rows of the nearest other
    cluster. Rows count by their mass. The silhouette of a singleton is 0. Rows with the label -1
    are left out; with fewer than two clusters, the silhouette is 0.
    """
    n_rows = len(distances)
    mass = np.ones(n_rows) if mass is None else mass
    codes = [_number_clusters(labels) for labels in divisions]
    ends = np.cumsum([int(code.max(initial=-1)) + 1 for code in codes])
    starts = np.append(0, ends[:-1])
    totals = np.zeros(len(codes))
    kept = np.array([float(mass[code >= 0].sum()) for code in codes])
    is_in = np.stack(codes) >= 0
    row = np.broadcast_to(np.arange(n_rows), is_in.shape)[is_in]
    cluster = (np.stack(codes) + starts[:, None])[is_in]
    sizes = np.bincount(cluster, weights=mass[row], minlength=int(ends[-1]))
    # sparse: its product takes the same time for many clusters as for few
    members = sparse.csr_array((mass[row], (cluster, row)), shape=(len(sizes), n_rows))
    for block in row_blocks(n_rows, BLOCK.silhouette_columns):
        sums = members @ distances[:, block]
        for place, code in enumerate(codes):
            if ends[place] - starts[place] < 2:
                continue
            of_division = slice(starts[place], ends[place])
            some = np.flatnonzero(code[block] >= 0)
            of_rows = mass[block][some]
            found = silhouettes(
                sums[of_division][:, some], sizes[of_division], code[block][some], of_rows
            )
            totals[place] += float(of_rows @ found)
    return totals / np.where(kept > 0, kept, 1)


def _number_clusters(labels: IntArray) -> IntArray:
    """Return labels whose clusters are numbered from 0; rows in no cluster have -1.

    >>> _number_clusters(np.array([5, -1, 2, 5])).tolist()
    [1, -1, 0, 1]
    """
    is_used = np.bincount(labels + 1, minlength=1) > 0
    is_used[0] = False
    number = np.cumsum(is_used) - 1
    number[0] = -1
    code: IntArray = number[labels + 1]
    return code


def silhouettes(
    sums: NDArray[np.floating[Any]],
    sizes: NDArray[Any],
    own: IntArray,
    mass: FloatArray | float = 1,
) -> NDArray[np.floating[Any]]:
    """Return the silhouette of each of some rows; that of a singleton is 0.

    ``sums`` has the sum of the distances of each row (column) to the rows of each cluster, and is
    overwritten; ``sizes`` has the mass of each cluster, ``own`` the cluster of each row, and
    ``mass`` its mass.
    """
    at = own, np.arange(len(own))
    others = sizes[own] - mass
    inside = sums[at] / np.where(others > 0, others, 1)
    sums /= sizes[:, None]
    sums[at] = np.inf
    outside = sums.min(axis=0)
    larger = np.maximum(inside, outside)
    is_defined = (others > 0) & (larger > 0)
    return np.where(is_defined, outside - inside, 0) / np.where(is_defined, larger, 1)
