"""Labels of HDBSCAN for all rows, from the spanning trees of overlapping batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.spanning.batch_edges import Edges
from cohirf.spanning.condensed_tree import label_tree
from cohirf.spanning.join_edges import connect_parts, join_edges
from cohirf.spanning.settings import Settings
from cohirf.spanning.spanned_run import SpannedRun


def label_runs(
    runs: Iterable[SpannedRun], n_rows: int, read: Callable[[NDArray[np.intp]], Any], settings: Settings
) -> NDArray[np.int32]:
    """Return the label of each row, -1 for noise.

    Parameters
    ----------
    runs : iterable of SpannedRun
        The spanning trees of all batches. Each row is in one batch or more.
    n_rows : int
        Number of rows.
    read : callable
        Returns the values of rows, given their numbers.
    settings : Settings
        The parameters of HDBSCAN.

    Notes
    -----
    Labels are those of all rows in one batch if each row shares a batch with its ``min_samples`` nearest rows, and if
    the rows of each edge of the spanning tree share a batch in which their core distances are the right ones. Other
    edges are replaced by a heavier way around. Labels differ, too, where both weights and lengths of edges are equal.
    """
    core, found = np.full(n_rows, np.inf), []
    for run in runs:
        np.minimum.at(core, run.rows, run.core)  # the lowest is the best: it misses the fewest neighbours
        found.append((run.one, run.two, run.lengths))
    edges = Edges(*(np.concatenate(parts) for parts in zip(*found, strict=True)))
    found.clear()
    forest, parts = join_edges(edges, core)
    return label_tree(connect_parts(forest, parts, core, read), settings)
