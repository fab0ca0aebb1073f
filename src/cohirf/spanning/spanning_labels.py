"""HDBSCAN in local batches: its labels on all rows, from the spanning trees of the batches.

HDBSCAN on a batch alone would be another method: a batch inside a large cluster has no cluster, or
many small ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.batches import cut_into_runs
from cohirf.algorithm.levels import ActiveRows
from cohirf.algorithm.runs import RunTask
from cohirf.beyond.local_batches import LocalBatches, Locality, LocalRun, make_local_batches
from cohirf.beyond.policy import CELL
from cohirf.rows.containers import container_of
from cohirf.rows.grouping import IntArray, row_blocks
from cohirf.rows.metric_spaces import EUCLIDEAN, MetricSpace
from cohirf.rows.storage import Engine, RunValues, Storage
from cohirf.spanning.found_in_runs import Lists, SpannedRun, SpanTask, read_points
from cohirf.spanning.policy import LISTS, TREE
from cohirf.spanning.settings import SpanningSettings


@dataclass(frozen=True)
class SpanningLabels:
    """Labels rows as HDBSCAN with the given settings does."""

    settings: SpanningSettings
    locality: Locality  # how local batches are made
    may_miss_values: (
        bool  # batches of all rows have means in the place of missing values, and could not be used
    )
    n_features: int
    space: MetricSpace = EUCLIDEAN  # the metric: spanning trees are those of its points

    def __call__(
        self, active: ActiveRows, batches: LocalBatches, engine: Engine, storage: Storage
    ) -> IntArray:
        """Return the label of each active row, -1 for noise and, as in scikit-learn, for rows with
        missing values.

        Edges of spanning trees are kept in ``storage``.
        """
        complete = _find_complete(active) if self.may_miss_values else None
        if complete is None or complete.all():
            return self._label(active, batches, engine, storage)
        labels = np.full(active.n_rows, -1, dtype=np.int32)
        if complete.any():
            rows = replace(active, index=active.at(np.flatnonzero(complete)))
            own = make_local_batches(rows, self.locality, None, Storage())
            labels[complete] = self._label(rows, own, engine, storage)
        return labels

    def _label(
        self, active: ActiveRows, batches: LocalBatches, engine: Engine, storage: Storage
    ) -> IntArray:
        from cohirf.spanning.join_batches import JoinedTrees

        def read(rows: IntArray) -> NDArray[Any]:
            return read_points(active.values, active.at(rows), self.space)

        may_miss = may_miss_neighbours(self.n_features) and batches.n_batches > 1
        if may_miss:
            n_edges = active.n_rows
        else:
            n_edges = len(batches.home) + len(batches.halo)
        trees = JoinedTrees(active.n_rows, n_edges, read, self.settings, storage)
        length = min(max(self.settings.min_samples, LISTS.listed), LISTS.longest)
        how = (length,) if may_miss else (self._replays(batches),)
        for run in self._run(
            active, batches, engine, list_batches if may_miss else span_batches, how
        ):
            trees.add(run)
        trees.complete()
        return trees.label(self._replays(batches), self.space.distances)

    def _replays(self, batches: LocalBatches) -> bool:
        """Return whether ties are broken as in scikit-learn, which needs all rows at once."""
        n_neighbours = len(batches.home) * self.settings.min_samples
        return (
            self.settings.as_sklearn and batches.n_batches == 1 and n_neighbours <= LISTS.neighbours
        )

    def _run(
        self,
        active: ActiveRows,
        batches: LocalBatches,
        engine: Engine,
        span: Any,
        how: tuple[Any, ...],
    ) -> Iterator[SpannedRun]:
        """Yield the spanning trees of each run; its rows are positions among the active rows."""
        values = engine.share(active.values)
        cuts = cut_into_runs(batches.n_batches, active.n_rows)
        row_bytes = TREE.cost * 8 * self.n_features
        tasks = (
            (
                SpanTask(
                    run.among(active.index),
                    0,
                    values,
                    n_batches=batches.n_batches,
                    n_bytes=row_bytes * run.length,
                ),
                run,
                self.space,
                self.settings.min_samples,
                *how,
            )
            for run in batches.runs(cuts)
        )
        return engine.run(span, tasks, len(cuts))


def may_miss_neighbours(n_features: int) -> bool:
    """Return whether local batches miss neighbours in some directions: cells are divided along
    fewer axes.
    """
    return n_features > CELL.max_axes


def span_batches(
    task: RunTask, run: LocalRun, space: MetricSpace, min_samples: int, as_sklearn: bool
) -> SpannedRun:
    """Return the spanning trees of the batches of a task.

    There its rows have the numbers that they have in ``run``.
    """
    from cohirf.spanning.batch_edges import span_rows

    trees = []
    for X, rows, _ in _read_batches(task, run, space):
        core, edges = span_rows(X, min_samples, as_sklearn=as_sklearn)
        trees.append((rows, core, rows[edges.one], rows[edges.two], edges.lengths))
    rows, core, one, two, lengths = (np.concatenate(parts) for parts in zip(*trees, strict=True))
    return SpannedRun(rows, core, one, two, lengths, np.diff(run.bounds))


def list_batches(
    task: RunTask, run: LocalRun, space: MetricSpace, min_samples: int, length: int
) -> SpannedRun:
    """Return the nearest rows of the rows of a task, and no trees."""
    from cohirf.spanning.batch_edges import list_rows

    found = []
    lists = []
    for X, rows, n_home in _read_batches(task, run, space):
        core, of_rows = list_rows(X, min_samples, length)
        found.append((rows, core))
        lists.append(of_rows.among(rows, n_home))
    rows, core = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return SpannedRun(
        rows, core, rows[:0], rows[:0], core[:0], np.diff(run.bounds), Lists.join(lists)
    )


def _read_batches(
    task: RunTask, run: LocalRun, space: MetricSpace
) -> Iterator[tuple[Any, IntArray, int]]:
    """Yield the points of each batch, with its halo, their numbers in ``run``, and how many are no
    halo.
    """
    assert isinstance(task.run, LocalRun)
    assert task.values is not None
    assert not isinstance(task.values, RunValues)  # runs with halos are not streamed
    for own, named in zip(task.run.with_halos(), run.with_halos(), strict=True):
        X = np.concatenate([read_points(task.values, rows, space) for rows in own])
        yield X, np.concatenate(named), len(named[0])


def _find_complete(active: ActiveRows) -> NDArray[np.bool_]:
    """Return which of the active rows have no missing values."""
    complete = np.ones(active.n_rows, dtype=bool)
    for block in row_blocks(active.n_rows):
        X = active.values.take(active.at(np.arange(block.start, block.stop)))
        complete[block] = container_of(X).find_complete(X)
    return complete
