"""The clusters of new rows: those that ``predict`` finds, or new ones, where many new rows are far
from all known ones.

An update never chooses the number of clusters again. All clusters go on, and new rows join them.
But rows of a new kind would spoil the cluster that happens to be the nearest. A cluster is born
beside the others where new rows are

- *apart*: nine of the ten nearest neighbours of each are such rows, too, and
- *far away*: their mean distance to known rows is larger than that of 95 % of the known rows to
  each other. So values that are repeated often, which are their own neighbours, make no cluster.

Parts that are as near to each other as to known rows are one cluster. All of this is asked of
samples in which a row stands for as many rows, whether it is new or not. So of many rows, two in a
thousand must be of a new kind, and of few, eleven.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestNeighbors

from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.randomness import Draw, generator_at
from cohirf.beyond.choose_merge import centre
from cohirf.beyond.merge_tree import Groups
from cohirf.beyond.policy import GRAPH
from cohirf.data import Data
from cohirf.landmarks import Cells, choose_evenly
from cohirf.rows.grouping import IntArray, Mass, row_blocks
from cohirf.summary.numbers import positions_of
from cohirf.summary.state import FittedState
from cohirf.summary.summary import Summary, stack


@dataclass(frozen=True)
class BirthPolicy:
    """When new rows are a new cluster. ``updating/thirty_days.txt`` has a cluster that is born."""

    cut: float = 0.1  # share of the neighbours of a row in a new cluster that may be known rows
    # share of the known rows that are nearer to each other than rows of a new cluster are to them
    usual: float = 0.95
    rows: int = GRAPH.neighbours + 1  # at least, so that all neighbours of a row can be in it
    known_rows: int = 5_000  # that new ones are compared with
    # of the largest value: known rows that are as near as new ones count as nearer, also after
    # rounding
    tie: float = 1e-7


BIRTH = BirthPolicy()


def number_arrivals(
    state: FittedState, before: Summary, data: Data, weights: Mass | None
) -> IntArray:
    """Return the number of the cluster of each new row, or -1.

    Clusters that are born have the next numbers.
    """
    landmarks = state.landmarks
    numbers = _label(data, landmarks, state.column_means)
    chosen = _choose_known(state, before)
    known = landmarks.points[chosen]
    share = len(chosen) / before.n_rows
    rows = _draw_rows(data.rows.n_rows, share, len(chosen), weights, before)
    drawn = fill_missing(data.take(rows), state.column_means)
    born = find_born(known, drawn)
    if not (born >= 0).any():
        return numbers
    core = np.flatnonzero(born >= 0)
    labels = np.concatenate(
        [np.full(landmarks.points.shape[0], -1), before.next_number + born[core]]
    )
    cells = Cells(stack([landmarks.points, drawn[core]]), labels)
    nearest = _label(data, cells, state.column_means)
    return np.where(nearest >= 0, nearest, numbers)


def count_born(state: FittedState, data: Data) -> list[int]:
    """Return how many of some new rows are in each cluster that an update would make of them."""
    before = state.summary.value
    if before is None or state.n_clusters == 0:
        return []
    numbers = number_arrivals(state, before, data, None)
    _, counts = np.unique(numbers[numbers >= before.next_number], return_counts=True)
    return [int(count) for count in counts]


def _label(data: Data, cells: Cells, column_means: Any) -> IntArray:
    """Return the label of the point nearest to each row of the data."""
    found = np.empty(data.rows.n_rows, dtype=np.int64)
    for block in row_blocks(len(found)):
        found[block] = cells.label(
            fill_missing(data.take(np.arange(block.start, block.stop)), column_means)
        )
    return found


def _choose_known(state: FittedState, before: Summary) -> IntArray:
    """Return numbers of landmarks in clusters, each of which stands for about the same number of
    rows.
    """
    numbers = state.cluster_numbers
    clusters = np.asarray(positions_of(before.labels, numbers))
    sizes = np.bincount(clusters + 1, weights=before.sizes, minlength=len(numbers) + 1)[1:].astype(
        np.float64
    )
    chosen = choose_evenly(np.asarray(positions_of(state.landmarks.labels, numbers)), sizes)
    return chosen[:: -(-len(chosen) // BIRTH.known_rows)]


def _draw_rows(
    n_rows: int, share: float, most: int, weights: Mass | None, before: Summary
) -> IntArray:
    """Return a share of the row numbers, sorted; rows of weight 0 are not among them."""
    among = np.arange(n_rows) if weights is None else np.flatnonzero(weights)
    n_drawn = min(round(len(among) * share), most)
    if len(among) <= n_drawn:
        return among
    rng = generator_at(before.entropy, Draw.CHOICE, len(before.update_rows))
    return np.sort(rng.choice(among, n_drawn, replace=False))


def find_born(known: Any, new: Any) -> IntArray:
    """Return, for each of some new rows, the number of the new cluster that it is in from 0, or
    -1.
    """
    born = np.full(new.shape[0], -1)
    if min(new.shape[0], known.shape[0]) < BIRTH.rows:
        return born
    points = centre(stack([known, new]).astype(np.float64))
    known, new = points[: known.shape[0]], points[known.shape[0] :]
    to_known, _ = _nearest_points(known, new)
    neighbours = _join_neighbours(
        to_known - BIRTH.tie * abs(points).max(), *_nearest_points(new, None)
    )
    stays = _stay_together(neighbours)
    if len(stays) == 0:
        return born
    parts = _connected_parts(neighbours, stays)
    sizes = np.bincount(parts)
    large = np.flatnonzero(sizes >= BIRTH.rows)
    if len(large) == 0:
        return born
    distance = np.bincount(parts, weights=to_known[stays].mean(axis=1)) / sizes
    usual = np.quantile(_nearest_points(known, None)[0].mean(axis=1), BIRTH.usual)
    far = large[distance[large] > usual]
    if len(far) == 0:
        return born
    means = Groups(new[stays], np.ones(len(stays))).merged(parts, len(sizes)).means[far]
    together = euclidean_distances(means) <= (1 + BIRTH.tie) * np.minimum(
        distance[far], distance[far][:, None]
    )
    cluster = np.full(len(sizes), -1)
    cluster[far] = connected_components(together)[1]
    born[stays] = cluster[parts]
    return born


def _nearest_points(points: Any, of: Any) -> tuple[NDArray[np.float64], IntArray]:
    """Return distance and number of the nearest points of some rows.

    Or of each point, without itself.
    """
    distances, numbers = NearestNeighbors(n_neighbors=GRAPH.neighbours).fit(points).kneighbors(of)
    return distances, numbers


def _join_neighbours(
    to_known: NDArray[np.float64], to_new: NDArray[np.float64], numbers: IntArray
) -> IntArray:
    """Return the nearest neighbours of each new row: the numbers of new ones, or -1 for known
    ones.
    """
    order = np.argsort(np.hstack([to_known, to_new]), axis=1, kind="stable")[:, : GRAPH.neighbours]
    return np.take_along_axis(np.hstack([np.full_like(numbers, -1), numbers]), order, axis=1)


def _stay_together(neighbours: IntArray) -> IntArray:
    """Return the rows of the largest set in which nearly all neighbours of each row are in the set,
    too.
    """
    # the last entry is that of known rows
    inside = np.append(np.ones(len(neighbours), dtype=bool), False)
    while True:
        n_inside = np.count_nonzero(inside[neighbours], axis=1)
        leaves = np.flatnonzero(inside[:-1] & (n_inside < (1 - BIRTH.cut) * GRAPH.neighbours))
        if len(leaves) == 0:
            return np.flatnonzero(inside)
        inside[leaves] = False


def _connected_parts(neighbours: IntArray, rows: IntArray) -> IntArray:
    """Return the connected part of the graph of neighbours that each of some rows is in."""
    ends = neighbours[rows].ravel()
    some = np.isin(ends, rows)
    starts = np.repeat(np.arange(len(rows)), neighbours.shape[1])[some]
    graph = sparse.csr_array(
        (np.ones(len(starts)), (starts, np.searchsorted(rows, ends[some]))), shape=(len(rows),) * 2
    )
    parts: IntArray = connected_components(graph, directed=False)[1]
    return parts
