"""Labels of HDBSCAN for all rows, from the spanning trees of overlapping batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.storage import Storage
from cohirf.spanning.boruvka_kernels import flatten
from cohirf.spanning.bridges import find_bridges
from cohirf.spanning.condensed_tree import CondensedTree
from cohirf.spanning.condensing_kernels import unite
from cohirf.spanning.edges import Edges
from cohirf.spanning.settings import Settings
from cohirf.spanning.sort_edges import Order, sort_by_weight
from cohirf.spanning.sort_kernels import order_by
from cohirf.spanning.spanned_run import SpannedRun


def label_runs(
    runs: Iterable[SpannedRun],
    n_rows: int,
    n_copies: int,
    read: Callable[[NDArray[np.intp]], Any],
    settings: Settings,
    storage: Storage,
    order: Order = order_by,
) -> NDArray[np.int32]:
    """Return the label of each row, -1 for noise.

    Parameters
    ----------
    runs : iterable of SpannedRun
        The spanning trees of all batches. Each row is in one batch or more.
    n_rows : int
        Number of rows.
    n_copies : int
        Number of rows of all batches together, halos included.
    read : callable
        Returns the values of rows, given their numbers.
    settings : Settings
        The parameters of HDBSCAN.
    storage : Storage
        Stores the edges.
    order : callable
        Returns the order of edges, given their weights and distances; see :func:`sort_by_weight`.

    Notes
    -----
    Labels are those of all rows in one batch if each row shares a batch with its ``min_samples`` nearest rows, and if
    the rows of each edge of the spanning tree share a batch in which their core distances are the right ones. Other
    edges are replaced by a heavier way around. Labels differ, too, where both weights and lengths of edges are equal.
    """
    core = storage.vector(n_rows, np.float64)
    core[:] = np.inf
    edges, n_edges = Edges.room_for(n_copies, storage), 0  # fewer by one for each batch: there is room for bridges
    parts = np.arange(n_rows, dtype=np.int32)
    for run in runs:
        np.minimum.at(core, run.rows, run.core)  # the lowest is the best: it misses the fewest neighbours
        unite(parts, run.one, run.two)
        edges.put(slice(n_edges, n_edges + run.edges.count), run.edges)
        n_edges += run.edges.count
        storage.release()
    bridges = find_bridges(flatten(parts), core, read)
    edges.put(slice(n_edges, n_edges + bridges.count), bridges)
    n_edges += bridges.count
    tree = CondensedTree(n_rows, settings)
    for part in sort_by_weight(edges.take(slice(n_edges)), core, storage, order):
        tree.merge(part)
    return tree.label()
