"""HDBSCAN in local batches: its labels on all rows, from the spanning trees of the batches.

HDBSCAN on a batch alone would be another method: a batch inside a large cluster has no cluster, or many small ones.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.algorithm.batches import LocalBatches, Run, cut_into_runs
from cohirf.algorithm.engine import Engine
from cohirf.algorithm.grouping import IntArray, row_blocks
from cohirf.algorithm.levels import ActiveRows
from cohirf.algorithm.local_batches import Locality, make_local_batches
from cohirf.algorithm.metric_spaces import EUCLIDEAN, MetricSpace
from cohirf.algorithm.runs import RunTask
from cohirf.algorithm.storage import MemoryStorage, Rows, RunRows, Storage
from cohirf.spanning.settings import Settings

MAX_NEIGHBOURS = 2**22  # of all rows together: those of more would take more memory than the spanning tree


@dataclass(frozen=True)
class SpannedRun:
    """The spanning trees of the batches of a run; a row that is in several batches is there several times."""

    rows: NDArray[Any]  # number of each row of the batches, halos included
    core: NDArray[np.float64]  # core distance of each of these rows in its batch
    one: NDArray[Any]  # the two rows of each edge
    two: NDArray[Any]
    lengths: NDArray[np.float64]  # distance of these two rows
    batch_sizes: NDArray[np.int64]  # number of rows of each batch, without its halo

    def __sizeof__(self) -> int:
        """Return its bytes, by which Dask decides what stays in memory."""
        return object.__sizeof__(self) + sum(sys.getsizeof(getattr(self, field.name)) for field in fields(self))

    @property
    def rows_in(self) -> int:
        """Number of rows of the batches, without halos."""
        return int(self.batch_sizes.sum())

    @property
    def rows_out(self) -> int:
        """The same number: no row is contracted yet."""
        return self.rows_in

    @property
    def n_batches(self) -> int:
        """Number of batches."""
        return len(self.batch_sizes)


@dataclass(frozen=True)
class SpanningLabels:
    """Labels rows as HDBSCAN with the given settings does."""

    settings: Settings
    locality: Locality  # how local batches are made
    may_miss_values: bool  # batches of all rows have means in the place of missing values, and could not be used
    space: MetricSpace = EUCLIDEAN  # the metric: spanning trees are those of its points

    def __call__(self, active: ActiveRows, batches: LocalBatches, engine: Engine, storage: Storage) -> IntArray:
        """Return the label of each active row, -1 for noise and, as in scikit-learn, for rows with missing values.

        Edges of spanning trees are kept in ``storage``.
        """
        complete = _find_complete(active) if self.may_miss_values else None
        if complete is None or complete.all():
            return self._label(active, batches, engine, storage)
        labels = np.full(active.n_rows, -1, dtype=np.int32)
        if complete.any():
            rows = replace(active, index=active.at(np.flatnonzero(complete)))
            own = make_local_batches(rows, self.locality, None, MemoryStorage())
            labels[complete] = self._label(rows, own, engine, storage)
        return labels

    def _label(self, active: ActiveRows, batches: LocalBatches, engine: Engine, storage: Storage) -> IntArray:
        from cohirf.spanning.join_batches import label_runs

        return label_runs(
            self._span(active, batches, engine),
            active.n_rows,
            len(batches.home) + len(batches.halo),
            lambda rows: read_points(active.values, active.at(rows), self.space),
            self.settings,
            storage,
            self._replays(batches),
            self.space.distances,
        )

    def _replays(self, batches: LocalBatches) -> bool:
        """Return whether ties are broken as in scikit-learn, which needs all rows at once."""
        n_neighbours = len(batches.home) * self.settings.min_samples
        return self.settings.as_sklearn and batches.n_batches == 1 and n_neighbours <= MAX_NEIGHBOURS

    def _span(self, active: ActiveRows, batches: LocalBatches, engine: Engine) -> Iterator[SpannedRun]:
        """Yield the spanning trees of each run; its rows are positions among the active rows."""
        values = engine.share(active.values)
        cuts = cut_into_runs(batches.n_batches, active.n_rows)
        how = (self.settings.min_samples, self._replays(batches), self.space)
        tasks = (
            (RunTask(run.among(active.index), 0, values, n_batches=batches.n_batches), run, *how)
            for run in batches.runs(cuts)
        )
        return engine.run(span_batches, tasks, len(cuts))


def span_batches(task: RunTask, run: Run, min_samples: int, as_sklearn: bool, space: MetricSpace) -> SpannedRun:
    """Return the spanning trees of the batches of a task; there its rows have the numbers that they have in ``run``."""
    from cohirf.spanning.batch_edges import span_rows

    assert task.values is not None
    assert not isinstance(task.values, RunRows)  # runs with halos are not streamed
    trees = []
    for own, named in zip(task.run.with_halos(), run.with_halos(), strict=True):
        X = np.concatenate([read_points(task.values, rows, space) for rows in own])
        core, edges = span_rows(X, min_samples, as_sklearn=as_sklearn)
        rows = np.concatenate(named)
        trees.append((rows, core, rows[edges.one], rows[edges.two], edges.lengths))
    rows, core, one, two, lengths = (np.concatenate(parts) for parts in zip(*trees, strict=True))
    return SpannedRun(rows, core, one, two, lengths, np.diff(run.bounds))


def read_points(values: Rows, rows: IntArray, space: MetricSpace) -> NDArray[Any]:
    """Return rows as points of a space, in a dense array."""
    X = space.points(values.take(rows), rows)
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def _find_complete(active: ActiveRows) -> NDArray[np.bool_]:
    """Return which of the active rows have no missing values."""
    complete = np.ones(active.n_rows, dtype=bool)
    for block in row_blocks(active.n_rows):
        X = active.values.take(active.at(np.arange(block.start, block.stop)))
        complete[block] = True if sparse.issparse(X) else ~np.isnan(X).any(axis=1)
    return complete
