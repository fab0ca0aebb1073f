"""Batches of neighbouring rows that overlap, for tests."""

from collections.abc import Iterator

import numpy as np
from scipy.spatial import cKDTree

from cohirf.rows.storage import Storage
from cohirf.spanning.batch_edges import span_rows
from cohirf.spanning.found_in_runs import SpannedRun
from cohirf.spanning.join_batches import JoinedTrees


def leaves(X, rows, size) -> Iterator[np.ndarray]:
    """Halve rows at the median of their longest side, until none of the parts has more than
    ``size`` rows.
    """
    if len(rows) <= size:
        yield rows
        return
    side = np.ptp(X[rows], axis=0).argmax()
    order = rows[np.argsort(X[rows, side], kind="stable")]
    yield from leaves(X, order[: len(order) // 2], size)
    yield from leaves(X, order[len(order) // 2 :], size)


def with_nearest_to_box(X, size, share=0.5) -> Iterator[np.ndarray]:
    """Leaves, each with half as many other rows: those that are nearest to its box."""
    for home in leaves(X, np.arange(len(X)), size):
        low = X[home].min(axis=0)
        high = X[home].max(axis=0)
        gaps = (np.maximum(0, np.maximum(low - X, X - high)) ** 2).sum(axis=1)
        gaps[home] = np.inf
        n_halo = min(int(len(home) * share), len(X) - len(home))
        yield np.concatenate([home, np.argsort(gaps, kind="stable")[:n_halo]])


def with_all_neighbours(X, size, min_samples) -> Iterator[np.ndarray]:
    """Leaves, each with all rows that are within the core distance of one of its rows, as it is
    without them.
    """
    everything = cKDTree(X)
    for home in leaves(X, np.arange(len(X)), size):
        core = cKDTree(X[home]).query(X[home], min_samples)[0][:, -1]
        near = np.concatenate(everything.query_ball_point(X[home], core)).astype(np.intp)
        yield np.union1d(home, near)


def label_rows(X, batches, settings, as_sklearn=False):
    """Return the labels of rows from the spanning trees of the given batches."""
    batches = list(batches)
    trees = JoinedTrees(len(X), sum(map(len, batches)), X.__getitem__, settings, Storage())
    for batch in batches:
        core, edges = span_rows(X[batch], settings.min_samples, as_sklearn=as_sklearn)
        one = batch[edges.one].astype(np.int32)
        two = batch[edges.two].astype(np.int32)
        trees.add(SpannedRun(batch, core, one, two, edges.lengths, np.array([len(batch)])))
    return trees.label(as_sklearn)
