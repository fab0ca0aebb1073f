"""DBSCAN in local batches: its labels on all rows, from the clusters of overlapping batches, border
rows included.

A core row of a batch that has all rows within twice the radius around its own is a core row of the
data. So clusters of two batches that have a core row in common are parts of one cluster. A border
row joins the cluster with the first core row, as in scikit-learn, and which that is can be said
only when the parts are known.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from cohirf.algorithm.batches import cut_into_runs
from cohirf.algorithm.consensus import NOISE
from cohirf.algorithm.levels import ActiveRows
from cohirf.algorithm.runs import RunTask
from cohirf.beyond.local_batches import LocalBatches, LocalRun
from cohirf.clusterers.grid_dbscan import DensityClusters, call_dbscan, find_density_clusters
from cohirf.rows import ranges
from cohirf.rows.grouping import IntArray, index_dtype, row_blocks
from cohirf.rows.metric_spaces import MetricSpace
from cohirf.rows.storage import Engine, RunValues, Storage
from cohirf.spanning.found_in_runs import FoundInRun, read_points

IntVector = NDArray[np.int64]


@dataclass(frozen=True)
class DensityLabels:
    """Labels rows as DBSCAN does."""

    space: MetricSpace
    radius: float  # a distance between points of the space
    min_samples: int  # smallest number of neighbours of a core row, or their smallest total weight
    has_kernels: (
        bool  # whether compiled kernels find the clusters of a batch; otherwise, scikit-learn does
    )
    reach: float  # width of the halos
    norm: dict[str, Any]  # the metric of scikit-learn between points, if it is not Euclidean

    def __call__(
        self, active: ActiveRows, batches: LocalBatches, engine: Engine, storage: Storage
    ) -> IntArray:
        """Return the label of each active row, -1 for noise, kept in ``storage``."""
        values = engine.share(active.values)
        cuts = cut_into_runs(batches.n_batches, active.n_rows)
        tasks = (
            (RunTask(run.among(active.index), 0, values), run, _masses(active, run), self)
            for run in batches.runs(cuts)
        )
        parts = JoinedParts(active.n_rows, storage)
        for found in engine.run(cluster_batches, tasks, len(cuts)):
            parts.add(found)
        return parts.join()


def _masses(active: ActiveRows, run: LocalRun) -> list[NDArray[np.float64]] | None:
    """Return the mass of the rows of each batch of a run, those of its halo included."""
    mass = active.mass
    if mass is None:
        return None
    return [mass[np.concatenate(both)] for both in run.with_halos()]


def check_pairs(pairs: IntVector, n_rows: int, parts: IntVector) -> None:
    """Raise ValueError unless each pair is of a row and a part."""
    for numbers, size in zip(pairs.T, (n_rows, len(parts)), strict=True):
        if numbers.max(initial=-1) >= size:
            raise ValueError(f"has {numbers.max()}, which is not from 0 to {size - 1}")


@dataclass(frozen=True)
class PartsOfRun(FoundInRun):
    """Clusters of the batches of a run, numbered from 0: parts of clusters of all rows."""

    # rows that are at home in a batch
    rows: Annotated[IntArray, ranges.numbers(ranges.ANY, below="n_rows")]
    # the part of each; -1 for noise
    labels: Annotated[
        IntVector, ranges.Range(ranges.INDICES, ("rows",), least=-1, below="first_rows")
    ]
    # core rows of halos, and the part of each
    links: Annotated[
        IntVector, ranges.counts(ranges.ANY, 2), ranges.Holds(check_pairs, "n_rows", "first_rows")
    ]
    # border rows that are neighbours of further parts, and these
    others: Annotated[
        IntVector, ranges.counts(ranges.ANY, 2), ranges.Holds(check_pairs, "n_rows", "first_rows")
    ]
    # the first core row of each part
    first_rows: Annotated[IntVector, ranges.numbers(ranges.ANY, below="n_rows")]
    batch_sizes: Annotated[IntVector, ranges.counts(ranges.ANY)]

    @classmethod
    def of_batch(
        cls, clusters: DensityClusters, home: IntArray, halo: IntArray, first_part: int
    ) -> PartsOfRun:
        """Return the clusters of one batch, numbered from ``first_part`` on, as parts."""
        rows = np.concatenate([home, halo])
        n_home = len(home)
        core = clusters.core_rows
        labels = np.where(clusters.labels < 0, NOISE, clusters.labels + first_part)
        first_rows = np.empty(int(clusters.labels.max()) + 1, dtype=np.int64)
        last_to_first = core[np.argsort(rows[core])[::-1]]
        # the first row is assigned last, and stays
        first_rows[clusters.labels[last_to_first]] = rows[last_to_first]
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


def cluster_batches(
    task: RunTask, run: LocalRun, masses: list[NDArray[np.float64]] | None, settings: DensityLabels
) -> PartsOfRun:
    """Return the clusters of the batches of a task.

    There its rows have the numbers that they have in ``run``.
    """
    assert isinstance(task.run, LocalRun)
    assert task.values is not None
    assert not isinstance(task.values, RunValues)  # runs with halos are not streamed
    if settings.has_kernels:
        find = find_density_clusters
    else:
        find = partial(call_dbscan, norm=settings.norm)
    found: list[PartsOfRun] = []
    n_parts = 0
    for number, (own, named) in enumerate(
        zip(task.run.with_halos(), run.with_halos(), strict=True)
    ):
        X = np.concatenate([read_points(task.values, rows, settings.space) for rows in own])
        clusters = find(
            X, settings.radius, settings.min_samples, None if masses is None else masses[number]
        )
        assert clusters is not None  # kernels are asked only where they answer
        found.append(PartsOfRun.of_batch(clusters, *named, n_parts))
        n_parts += len(found[-1].first_rows)
    return PartsOfRun.join(found)


class JoinedParts:
    """Collects the parts of clusters as runs arrive, and which of them have a core row in
    common.
    """

    def __init__(self, n_rows: int, storage: Storage) -> None:
        self._storage = storage
        # at most, each row is in a cluster of its own in each batch that it is in the halo of
        most_parts = 4
        self._labels = storage.vector(n_rows, index_dtype(most_parts * n_rows))
        self._labels[:] = -2  # not labelled yet
        self._first_rows: list[IntVector] = []
        self._pairs: list[IntVector] = []
        self._others: list[IntVector] = []
        self._n_parts = 0

    def add(self, found: PartsOfRun) -> None:
        """Add a run. Of two batches with neighbouring core rows, the later one finds those of the
        other labelled.
        """
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
        self._storage.release()

    def join(self) -> IntArray:
        """Return the label of each row; clusters are numbered by their first core rows."""
        n = self._n_parts
        labels = self._labels
        if n == 0:
            return labels
        first_rows = np.concatenate(self._first_rows)
        # a part whose core rows are all in the halo belongs to the cluster of these rows where they
        # are at home
        self._pairs.append(np.column_stack([labels[first_rows], np.arange(n)]))
        one, two = np.concatenate(self._pairs).T
        graph = sparse.coo_array((np.ones(len(one), dtype=bool), (one, two)), shape=(n, n))
        n_clusters, cluster = connected_components(graph, directed=False)
        first = np.full(n_clusters, np.iinfo(np.int64).max)
        np.minimum.at(first, cluster, first_rows)
        # the last is of noise
        number = np.append(np.argsort(np.argsort(first))[cluster], NOISE).astype(labels.dtype)
        for block in row_blocks(len(labels)):
            labels[block] = number[labels[block]]
        rows, parts = np.concatenate(self._others).T
        np.minimum.at(labels, rows, number[parts])
        self._storage.release()
        return labels
