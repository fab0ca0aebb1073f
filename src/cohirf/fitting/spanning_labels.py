"""HDBSCAN in local batches: its labels on all rows, from the spanning trees of the batches; see ``spanning``.

HDBSCAN on a batch alone would be another method: a batch inside a large cluster has no cluster, or many small ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from cohirf.algorithm.batches import LocalBatches, Run, cut_into_runs
from cohirf.algorithm.engine import Engine
from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.levels import ActiveRows
from cohirf.algorithm.runs import RunTask
from cohirf.optional import import_optional
from cohirf.spanning.settings import Settings
from cohirf.spanning.spanned_run import SpannedRun


@dataclass(frozen=True)
class SpanningLabels:
    """Labels rows as HDBSCAN with the given settings does."""

    settings: Settings

    def __call__(self, active: ActiveRows, batches: LocalBatches, engine: Engine) -> IntArray:
        """Return the label of each active row, -1 for noise."""
        import_optional("numba", "fast", "HDBSCAN in local batches")
        from cohirf.spanning.label_runs import label_runs

        runs = self._span(active, batches, engine)
        return label_runs(runs, active.n_rows, lambda rows: active.values.take(active.at(rows)), self.settings)

    def _span(self, active: ActiveRows, batches: LocalBatches, engine: Engine) -> Iterator[SpannedRun]:
        """Yield the spanning trees of each run; its rows are positions among the active rows."""
        values = engine.share(active.values)
        cuts = cut_into_runs(batches.n_batches, active.n_rows)
        tasks = (
            (RunTask(run.among(active.index), 0, values, n_batches=batches.n_batches), run, self.settings.min_samples)
            for run in batches.runs(cuts)
        )
        return engine.run(span_batches, tasks, len(cuts))


def span_batches(task: RunTask, run: Run, min_samples: int) -> SpannedRun:
    """Return the spanning trees of the batches of a task; there its rows have the numbers that they have in ``run``."""
    from cohirf.spanning.batch_edges import find_edges

    assert task.values is not None
    trees = []
    for own, named in zip(_batches(task.run), _batches(run), strict=True):
        core, edges = find_edges(np.concatenate([task.values.take(rows) for rows in own]), min_samples)
        rows = np.concatenate(named)
        trees.append((rows, core, rows[edges.one], rows[edges.two], edges.lengths))
    rows, core, one, two, lengths = (np.concatenate(parts) for parts in zip(*trees, strict=True))
    return SpannedRun(rows, core, one, two, lengths, np.diff(run.bounds))


def _batches(run: Run) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the indices of the rows of each batch, and of its halo."""
    assert run.indices is not None
    assert run.halos is not None
    for (start, stop), halo in zip(pairwise(run.bounds.tolist()), run.halos, strict=True):
        yield run.indices[start:stop], halo
