"""HDBSCAN in local batches: its labels on all rows, from the spanning trees of the batches; see ``spanning``.

HDBSCAN on a batch alone would be another method: a batch inside a large cluster has no cluster, or many small ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf import progress
from cohirf.algorithm.batches import LocalBatches, Run, cut_into_runs
from cohirf.algorithm.engine import Engine
from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.levels import ActiveRows
from cohirf.algorithm.storage import Rows
from cohirf.optional import import_optional
from cohirf.spanning.settings import Settings


@dataclass(frozen=True)
class BatchTree:
    """The spanning tree of a batch: its rows, their core distances, and pairs of rows with their distances."""

    rows: IntArray
    core: NDArray[np.float64]
    edges: Any


@dataclass(frozen=True)
class SpanningLabels:
    """Labels rows as HDBSCAN with the given settings does."""

    settings: Settings
    verbose: bool = False

    def __call__(self, active: ActiveRows, batches: LocalBatches, engine: Engine) -> IntArray:
        """Return the label of each active row, -1 for noise."""
        import_optional("numba", "fast", "HDBSCAN in local batches")
        from cohirf.spanning.condensed_tree import label_tree
        from cohirf.spanning.join_edges import connect_parts, join_edges
        from cohirf.spanning.label_in_batches import concatenate

        core, found = np.full(active.n_rows, np.inf), []
        for tree in self._find_trees(active, batches, engine):
            core[tree.rows] = np.minimum(core[tree.rows], tree.core)  # the lowest misses the fewest neighbours
            found.append(tree.edges)
        edges = concatenate(found)
        found.clear()
        forest, parts = join_edges(edges, core)
        spanning = connect_parts(forest, parts, core, lambda rows: active.values.take(active.at(rows)))
        return label_tree(spanning, self.settings)

    def _find_trees(self, active: ActiveRows, batches: LocalBatches, engine: Engine) -> Iterator[BatchTree]:
        """Yield the spanning tree of each batch; its rows are positions among the active rows."""
        values = engine.share(active.values)
        cuts = cut_into_runs(batches.n_batches, active.n_rows)
        work = progress.Work("spanning trees", batches.n_batches, "batches")
        tasks = ((run, run.among(active.index), values, self.settings.min_samples) for run in batches.runs(cuts))
        with progress.showing(work) if self.verbose else nullcontext(_ignore) as advance:
            for trees in engine.run(span_batches, tasks, len(cuts)):
                advance(len(trees), "")
                yield from trees


def span_batches(run: Run, indices: Run, values: Rows, min_samples: int) -> list[BatchTree]:
    """Return the spanning trees of the batches of a run, whose rows have the given indices in ``values``."""
    from cohirf.spanning.batch_edges import Edges, find_edges

    assert run.indices is not None
    assert run.halos is not None
    assert indices.indices is not None
    assert indices.halos is not None
    trees = []
    for number, (start, stop) in enumerate(pairwise(run.bounds.tolist())):
        rows = np.concatenate([run.indices[start:stop], run.halos[number]])
        own, around = indices.indices[start:stop], indices.halos[number]
        X = np.concatenate([values.take(own), values.take(around)])
        core, edges = find_edges(X, min_samples)
        trees.append(BatchTree(rows, core, Edges(rows[edges.one], rows[edges.two], edges.lengths)))
    return trees


def _ignore(n_steps: int, note: str) -> None:
    """Show nothing."""
