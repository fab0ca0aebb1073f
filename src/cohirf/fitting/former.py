"""Clusters from before an update: they go on, unless the new levels have found clearly better ones.

The levels find one of many divisions into clusters that are about equally good. With some more rows, they may find
another one, and rows would change their cluster although the data has not changed. So the clusters from before are
extended to the new groups of rows, each of which joins the cluster of the nearest old group. They stay if the sum of
squared distances of groups to the mean of their cluster is nearly as low as that of the new clusters. If clusters are
compact, former ones may also move on, from their means to the groups that are nearest to these, as in K-Means: then
fewer rows change their cluster than with clusters that were found anew. If all rows are grouped again, groups do not
reach over the border between two former clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances_argmin

from cohirf.algorithm.arrays import put_beside, to_host
from cohirf.algorithm.consensus import Codes, Consensus
from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.merge_tree import Groups
from cohirf.algorithm.ward import MAX_LINKED, move_groups

# Share by which the sum of squares of new clusters must be lower. On streams of digits, satimage and pendigits, 0.005
# left fewer than 1 % of the rows with another cluster after an update. With 0.01 and more, clusters that were found on
# few rows stayed too long.
CLEARLY_BETTER = 0.005


@dataclass(frozen=True, eq=False)
class Former:
    """Rows that had a cluster before an update.

    Attributes
    ----------
    numbers : array of int
        Number of the cluster of some rows before the update, or -1 for noise.
    places : array of int
        Where these rows are now: the row itself, or the leaf or group that it belongs to.
    n_rows : array of int
        How many rows these are.
    """

    numbers: IntArray
    places: IntArray
    n_rows: IntArray

    def moved(self, find: Callable[[IntArray], IntArray]) -> Former:
        """Return the same rows at the places that a function returns for those so far."""
        return replace(self, places=find(self.places))

    def at(self, places: IntArray | None) -> Former:
        """Return the rows at some places, which are sorted; at all, if none are given."""
        some = slice(None) if places is None else np.isin(self.places, places)
        return Former(self.numbers[some], self.places[some], self.n_rows[some])

    def numbers_of(self, n_places: int) -> IntArray:
        """Return the number that most rows of each place had, or -1 if none of them had a cluster."""
        some = (self.numbers >= 0) & (self.n_rows > 0)
        names, number = np.unique(self.numbers[some], return_inverse=True)
        counts = sparse.csr_array((self.n_rows[some], (self.places[some], number)), shape=(n_places, len(names)))
        found = np.full(n_places, -1, dtype=np.int64)
        known = np.flatnonzero(np.diff(counts.indptr))
        if len(known):
            found[known] = names[np.asarray(counts.argmax(axis=1)).ravel()[known]]
        return found


def split_groups(codes: Codes, consensus: Callable[[Codes], Consensus], former: IntArray) -> Consensus:
    """Return the consensus of views, whose groups are divided where rows had different labels before, or -1 for none.

    Rows without a label stay with the label that most rows of their group had.

    Examples
    --------
    >>> from cohirf.algorithm.consensus import fold_views, strict_consensus
    >>> codes = fold_views([np.array([0, 0, 0, 0, 1])], n_rows=5)
    >>> split_groups(codes, strict_consensus, np.array([3, 3, 2, -1, 2])).labels
    array([0, 0, 2, 0, 1])
    """
    found = consensus(codes)
    here = to_host(found.labels)
    most = Former(former, here, np.ones(len(former), dtype=np.int64)).numbers_of(found.n_clusters)
    apart = np.flatnonzero((former >= 0) & (former != most[here]))
    parts, number = np.unique(np.stack([here[apart], former[apart]]), axis=1, return_inverse=True)
    n_parts = parts.shape[1]
    first_noise = found.n_clusters - found.n_noise
    labels = here + np.where(here >= first_noise, n_parts, 0)  # noise stays last
    labels[apart] = first_noise + number.ravel()
    n_clusters = found.n_clusters + n_parts
    return replace(found, labels=put_beside(labels, found.labels), n_clusters=n_clusters, divides_codes=n_parts > 0)


def keep_former(groups: Groups, former: IntArray, fresh: IntArray, *, may_move: bool = False) -> IntArray:
    """Return the label of each group: that from before, or the fresh one if the fresh clusters are clearly better.

    If clusters ``may_move``, fresh ones must be clearly better than the former ones after these have moved. On streams
    of overlapping blobs with up to 600 rows, half as many rows changed their cluster, and the clusters were as good.

    Parameters
    ----------
    groups : Groups
        Groups of rows.
    former : array of int
        The label of each group before, or -1 for new groups.
    fresh : array of int
        The label that the levels have found, counted from 0.
    may_move : bool
        Whether groups may move to the cluster with the nearest mean.

    Examples
    --------
    The last group is new. Other clusters would be a little better, but not clearly:

    >>> groups = Groups(np.array([[0.0], [1.0], [2.01], [3.0], [4.0]]), np.array([9.0, 9.0, 9.0, 9.0, 9.0]))
    >>> keep_former(groups, np.array([0, 0, 1, 1, -1]), np.array([0, 0, 0, 1, 1]))
    array([0, 0, 1, 1, 1])
    """
    known = np.flatnonzero(former >= 0)
    if len(np.unique(former[known])) != int(fresh.max()) + 1:  # clusters have come or gone
        return fresh
    label = former.copy()
    new = np.flatnonzero(former < 0)
    if len(new):
        heavy = known[np.argsort(-groups.mass[known], kind="stable")[:MAX_LINKED]]
        label[new] = former[heavy[pairwise_distances_argmin(groups.means[new], groups.means[heavy])]]
    label = _number_by_first(label)
    moved = _number_by_first(move_groups(groups.means, groups.mass, label)) if may_move else label
    if _is_clearly_better(groups, fresh, moved):
        return fresh
    return moved if _is_clearly_better(groups, moved, label) else label


def _is_clearly_better(groups: Groups, one: IntArray, other: IntArray) -> bool:
    return sum_of_squares(groups, one) < (1 - CLEARLY_BETTER) * sum_of_squares(groups, other)


def sum_of_squares(groups: Groups, label: IntArray) -> float:
    """Return the sum of squared distances of groups to the mean of their label, weighted by mass."""
    difference = groups.means - groups.merged(label, int(label.max()) + 1).means[label]
    squares = difference.multiply(difference) if sparse.issparse(difference) else difference**2
    return float(groups.mass @ np.asarray(squares.sum(axis=1)).ravel())


def _number_by_first(label: IntArray) -> IntArray:
    """Return labels in the order of their first groups, as the cut of a tree has them."""
    _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]
