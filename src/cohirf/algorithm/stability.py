"""How sure a consensus is: how far each view confirms the groups that were made of all of them.

A view confirms the group of a row as far as the cluster it puts the row in is that group: by the share of the rows in
either of them that are in both. Under strict consensus a group is what all views have in common, so a row that one
view tears away from the others is in a small group which the other views do not confirm. All follows from the distinct
codes; no two rows are ever compared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.consensus import NOISE, Codes, Consensus
from cohirf.algorithm.grouping import IntArray, compress, first_rows, pair_keys, sum_by_label


@dataclass(frozen=True)
class Stability:
    """How far views confirm a consensus.

    Attributes
    ----------
    of_row : (n_rows,) array of float32
        For each row, the mean over views.
    of_view : (n_views,) array
        For each view, the mean over rows.
    """

    of_row: NDArray[np.float32]
    of_view: NDArray[np.float64]


def measure_stability(codes: Codes, consensus: Consensus) -> Stability:
    """Return how far each view confirms the group of each row.

    Examples
    --------
    The third view tears the fourth row away from the first three, which the others put it with:

    >>> import numpy as np
    >>> from cohirf.algorithm.consensus import fold_views, strict_consensus
    >>> views = [np.array([0, 0, 0, 0]), np.array([0, 0, 0, 0]), np.array([0, 0, 0, 1])]
    >>> codes = fold_views(views, n_rows=4)
    >>> measure_stability(codes, strict_consensus(codes)).of_row
    array([0.8333333, 0.8333333, 0.8333333, 0.5      ], dtype=float32)
    """
    group_of_code = consensus.labels[first_rows(codes.of_row, len(codes.distinct))]
    size = np.bincount(consensus.labels, minlength=consensus.n_clusters)[group_of_code]
    group = compress(group_of_code, consensus.n_clusters)[1]
    by_itself = size == 1  # also each row of a code whose rows are noise: they are not together
    counts = codes.counts.astype(np.float64)
    overlap = np.empty(codes.distinct.shape)
    for view, labels in enumerate(codes.distinct.T):
        in_view, in_both = _count_rows(labels, group, counts)
        in_both[by_itself] = 1
        overlap[:, view] = in_both / (size + in_view - in_both)
    of_code = overlap.mean(axis=1).astype(np.float32)
    of_view = counts @ overlap / counts.sum()
    return Stability(of_code[codes.of_row], of_view)


def _count_rows(
    labels: IntArray, group: IntArray, counts: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return, for each code, how many rows its cluster in a view has, and how many of these are in its group."""
    names, cluster = np.unique(labels, return_inverse=True)
    n_groups = int(group.max()) + 1
    keys, pair = compress(pair_keys(group, n_groups, cluster, len(names)), n_groups * len(names))
    in_view = sum_by_label(cluster, counts, len(names))[cluster]
    in_both = sum_by_label(pair, counts, len(keys))[pair]
    noise = labels == NOISE
    in_view[noise] = in_both[noise] = 1
    return in_view, in_both
