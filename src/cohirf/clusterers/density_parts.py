"""Clusters of DBSCAN from those of overlapping batches, border rows included.

A core row of a batch that has all rows within twice the radius around its own is a core row of the data. So clusters of
two batches that have a core row in common are parts of one cluster. A border row joins the cluster with the first core
row, as in scikit-learn, and which that is can be said only when the parts are known.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from cohirf.algorithm.consensus import NOISE
from cohirf.algorithm.grouping import IntArray, index_dtype
from cohirf.clusterers.grid_dbscan import DensityClusters

UNKNOWN = -2
MOST_PARTS = 4  # for each row: it is in a cluster of its own in each batch that it is in the halo of, at most
IntVector = NDArray[np.int64]


@dataclass(frozen=True)
class PartsOfRun:
    """Clusters of the batches of a run, numbered from 0: parts of clusters of all rows.

    Attributes
    ----------
    rows, labels : array of int
        Rows that are at home in a batch, and the part of each; -1 for noise.
    links : array of int, shape (n, 2)
        Core rows of halos, and the part of each.
    others : array of int, shape (n, 2)
        Border rows that are neighbours of further parts, and these.
    first_rows : array of int
        The first core row of each part.
    batch_sizes : array of int
        Number of rows of each batch, without its halo.
    """

    rows: IntArray
    labels: IntVector
    links: IntVector
    others: IntVector
    first_rows: IntVector
    batch_sizes: IntVector

    def __sizeof__(self) -> int:
        """Return its bytes, by which Dask decides what stays in memory."""
        return object.__sizeof__(self) + sum(sys.getsizeof(getattr(self, field.name)) for field in fields(self))

    @property
    def rows_in(self) -> int:
        """Number of rows of the batches, without halos."""
        return len(self.rows)

    @property
    def rows_out(self) -> int:
        """The same number: no row is contracted yet."""
        return self.rows_in

    @property
    def n_batches(self) -> int:
        """Number of batches."""
        return len(self.batch_sizes)

    @classmethod
    def of_batch(cls, clusters: DensityClusters, home: IntArray, halo: IntArray, first_part: int) -> PartsOfRun:
        """Return the clusters of one batch, numbered from ``first_part`` on, as parts."""
        rows, n_home, core = np.concatenate([home, halo]), len(home), clusters.core_rows
        labels = np.where(clusters.labels < 0, NOISE, clusters.labels + first_part)
        first_rows = np.empty(int(clusters.labels.max()) + 1, dtype=np.int64)
        last_to_first = core[np.argsort(rows[core])[::-1]]
        first_rows[clusters.labels[last_to_first]] = rows[last_to_first]  # the first row is assigned last, and stays
        of_halo = core[core >= n_home]
        border, other = clusters.others[clusters.others[:, 0] < n_home].T
        return cls(
            home,
            labels[:n_home],
            np.column_stack([rows[of_halo], labels[of_halo]]),
            np.column_stack([rows[border], other + first_part]),
            first_rows,
            np.array([n_home]),
        )

    @classmethod
    def join(cls, batches: list[PartsOfRun]) -> PartsOfRun:
        """Return the parts of several batches."""
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(batch, name) for batch in batches]) for name in names))


class Parts:
    """Collects the parts of clusters as runs arrive, and which of them have a core row in common."""

    def __init__(self, n_rows: int) -> None:
        self._labels = np.full(n_rows, UNKNOWN, dtype=index_dtype(MOST_PARTS * n_rows))
        self._first_rows: list[IntVector] = []
        self._pairs: list[IntVector] = []
        self._others: list[IntVector] = []
        self._n_parts = 0

    def add(self, found: PartsOfRun) -> None:
        """Add a run. Of two batches with neighbouring core rows, the later one finds those of the other labelled."""
        self._labels[found.rows] = np.where(found.labels < 0, NOISE, found.labels + self._n_parts)
        n_known = self._n_parts + len(found.first_rows)
        rows, parts = found.links.T
        at_home = self._labels[rows].astype(np.int64)
        known = at_home >= 0
        pairs = np.unique(at_home[known] * n_known + parts[known] + self._n_parts)
        self._pairs.append(np.column_stack(np.divmod(pairs, max(1, n_known))))
        self._others.append(found.others + np.array([0, self._n_parts]))
        self._first_rows.append(found.first_rows)
        self._n_parts = n_known

    def join(self) -> IntArray:
        """Return the label of each row; clusters are numbered by their first core rows."""
        n, labels = self._n_parts, self._labels
        if n == 0:
            return labels
        first_rows = np.concatenate(self._first_rows)
        # a part whose core rows are all in the halo belongs to the cluster of these rows where they are at home
        self._pairs.append(np.column_stack([labels[first_rows], np.arange(n)]))
        one, two = np.concatenate(self._pairs).T
        graph = sparse.coo_array((np.ones(len(one), dtype=bool), (one, two)), shape=(n, n))
        n_clusters, cluster = connected_components(graph, directed=False)
        first = np.full(n_clusters, np.iinfo(np.int64).max)
        np.minimum.at(first, cluster, first_rows)
        number = np.argsort(np.argsort(first))[cluster]
        labels[labels >= 0] = number[labels[labels >= 0]]
        rows, parts = np.concatenate(self._others).T
        np.minimum.at(labels, rows, number[parts])
        return labels
