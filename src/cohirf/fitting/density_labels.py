"""DBSCAN in local batches: its labels on all rows, border rows included.

A core row of a batch that has all rows within twice the radius around its own is a core row of the data. So clusters of
two batches that have a core row in common are parts of one cluster. A border row joins the cluster with the first core
row, as in scikit-learn, and which that is can be said only when the parts are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from cohirf.algorithm.batches import LocalBatches, Run, cut_into_runs
from cohirf.algorithm.engine import Engine
from cohirf.algorithm.grouping import IntArray, index_dtype
from cohirf.algorithm.levels import ActiveRows
from cohirf.algorithm.runs import RunTask
from cohirf.algorithm.storage import RunRows, Storage
from cohirf.clusterers.grid_dbscan import call_dbscan, find_density_clusters
from cohirf.clusterers.metric_spaces import MetricSpace
from cohirf.fitting.spanning_labels import read_dense

UNKNOWN, NOISE = -2, -1
MOST_PARTS = 4  # for each row: it is in a cluster of its own in each batch that it is in the halo of, at most
IntVector = NDArray[np.int64]


@dataclass(frozen=True)
class DensityLabels:
    """Labels rows as DBSCAN does.

    Attributes
    ----------
    space : MetricSpace
        The metric.
    radius : float
        The radius, as a distance between points of the space.
    min_samples : int
        Smallest number of neighbours of a core row, or their smallest total weight.
    has_kernels : bool
        Whether compiled kernels find the clusters of a batch; otherwise, scikit-learn does.
    """

    space: MetricSpace
    radius: float
    min_samples: int
    has_kernels: bool

    def __call__(self, active: ActiveRows, batches: LocalBatches, engine: Engine, storage: Storage) -> IntArray:
        """Return the label of each active row, -1 for noise."""
        values = engine.share(active.values)
        cuts = cut_into_runs(batches.n_batches, active.n_rows)
        tasks = (
            (RunTask(run.among(active.index), 0, values), run, _masses(active, run), self) for run in batches.runs(cuts)
        )
        parts = _Parts(active.n_rows)
        for found in engine.run(cluster_batches, tasks, len(cuts)):
            parts.add(found)
        return parts.join()


def _masses(active: ActiveRows, run: Run) -> list[NDArray[np.float64]] | None:
    """Return the mass of the rows of each batch of a run, those of its halo included."""
    mass = active.mass
    return None if mass is None else [mass[np.concatenate(both)] for both in run.with_halos()]


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
    """

    rows: IntArray
    labels: IntVector
    links: IntVector
    others: IntVector
    first_rows: IntVector


def cluster_batches(
    task: RunTask, run: Run, masses: list[NDArray[np.float64]] | None, settings: DensityLabels
) -> PartsOfRun:
    """Return the clusters of the batches of a task; there its rows have the numbers that they have in ``run``."""
    assert task.values is not None
    assert not isinstance(task.values, RunRows)  # runs with halos are not streamed
    found, n_parts = [], 0
    for number, (own, named) in enumerate(zip(task.run.with_halos(), run.with_halos(), strict=True)):
        X = np.concatenate([settings.space.points(read_dense(task.values, rows), rows) for rows in own])
        part = _cluster(X, None if masses is None else masses[number], named, n_parts, settings)
        n_parts += len(part.first_rows)
        found.append(part)
    names = ("rows", "labels", "links", "others", "first_rows")
    return PartsOfRun(*(np.concatenate([getattr(part, name) for part in found]) for name in names))


def _cluster(X: Any, mass: Any, named: Any, first_part: int, settings: DensityLabels) -> PartsOfRun:
    """Return the clusters of one batch, numbered from ``first_part`` on."""
    find = find_density_clusters if settings.has_kernels else call_dbscan
    clusters = find(X, settings.radius, settings.min_samples, mass)
    assert clusters is not None
    home, rows = named[0], np.concatenate(named)
    labels = np.where(clusters.labels < 0, NOISE, clusters.labels + first_part)
    core, n_home = clusters.core_rows, len(home)
    first_rows = np.empty(int(clusters.labels.max()) + 1, dtype=np.int64)
    last_to_first = core[np.argsort(rows[core])[::-1]]
    first_rows[clusters.labels[last_to_first]] = rows[last_to_first]  # the first row is assigned last, and stays
    of_halo = core[core >= n_home]
    border, other = clusters.others[clusters.others[:, 0] < n_home].T
    return PartsOfRun(
        home,
        labels[:n_home],
        np.column_stack([rows[of_halo], labels[of_halo]]),
        np.column_stack([rows[border], other + first_part]),
        first_rows,
    )


class _Parts:
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
