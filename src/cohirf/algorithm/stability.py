"""Stability of a consensus: mean Jaccard index between each row's group and its cluster in each view.

The Jaccard index is the number of rows in both sets, divided by the number of rows in either. Under strict consensus a
group is the intersection of clusters of all views, so a row that one view separates from the others ends in a small
group, and its clusters in the other views have a low Jaccard index with that group. Everything is computed from the
distinct codes; rows are not compared with each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.arrays import look_up, namespace
from cohirf.algorithm.consensus import Codes, Consensus, Partition
from cohirf.algorithm.grouping import compress, count_by_label, pair_keys, sum_by_label


@dataclass(frozen=True)
class Stability:
    """Mean Jaccard indices between groups of a consensus and clusters of views.

    Attributes
    ----------
    of_row : (n_rows,) array of float32
        For each row, the mean over views; on the device of the rows.
    of_view : (n_views,) array
        For each view, the mean over rows.
    """

    of_row: Any
    of_view: NDArray[np.float64]


def measure_stability(codes: Codes, consensus: Consensus) -> Stability:
    """Return the Jaccard index of each row's group with its cluster in each view, averaged over views and over rows.

    Examples
    --------
    The third view separates the fourth row from the first three:

    >>> import numpy as np
    >>> from cohirf.algorithm.consensus import fold_views, strict_consensus
    >>> views = [np.array([0, 0, 0, 0]), np.array([0, 0, 0, 0]), np.array([0, 0, 0, 1])]
    >>> codes = fold_views(views, n_rows=4)
    >>> measure_stability(codes, strict_consensus(codes)).of_row
    array([0.8333333, 0.8333333, 0.8333333, 0.5      ], dtype=float32)
    """
    if consensus.divides_codes:
        first_noise = consensus.n_clusters - consensus.n_noise  # rows of noise need no codes of their own
        labels = namespace(consensus.labels).clip(consensus.labels, None, first_noise)
        codes = codes.divided(labels, first_noise + 1)
    xp, counts = namespace(codes.distinct), codes.counts
    group_of_code = codes.of_first_rows(consensus.labels)
    size = look_up(count_by_label(consensus.labels, consensus.n_clusters).astype(np.float64), group_of_code)
    groups, group = compress(group_of_code, consensus.n_clusters)
    by_itself = size == 1  # includes noise: rows with a noise code are groups of one row each
    overlaps, of_view = [], np.empty(codes.n_views)
    for view in range(codes.n_views):
        cluster, n_clusters = codes.partition(view)
        is_noise = codes.is_noise(view)
        in_view = xp.where(is_noise, 1.0, look_up(sum_by_label(cluster, counts, n_clusters), cluster))
        in_both = _count_in_both((group, groups.shape[0]), (cluster, n_clusters), counts)
        in_both = xp.where(is_noise | by_itself, 1.0, in_both)
        overlap = in_both / (size + in_view - in_both)
        overlaps.append(overlap)
        of_view[view] = sum_by_label(xp.zeros_like(cluster), counts * overlap, 1)[0] / codes.of_row.shape[0]
    of_code = xp.astype(xp.mean(xp.stack(overlaps, axis=1), axis=1), xp.float32)
    return Stability(look_up(of_code, codes.of_row), of_view)


def _count_in_both(groups: Partition, clusters: Partition, counts: Any) -> Any:
    """Return, for each code, the number of rows that are in its group and in its cluster of a view."""
    if groups[1] == counts.shape[0]:  # each code is a group, as in a strict consensus without noise
        return counts
    keys, pair = compress(pair_keys(*groups, *clusters), groups[1] * clusters[1])
    return look_up(sum_by_label(pair, counts, keys.shape[0]), pair)
