"""With many features, the nearest rows of a row are in many batches: find them among the neighbours of its neighbours.

Cells are boxes along at most ten axes. A row of 16 features or more is near the border of its cell in some direction,
and neighbours that are on the other side are not in its batch. But most of its neighbours are, and these know others:
a few rounds in which each row looks at the lists of its neighbours, and of the rows that list it, find nearly all. How
many are still missing is measured on a sample of rows, which are compared with all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from cohirf.rows.grouping import FloatArray, row_blocks
from cohirf.rows.storage import Storage
from cohirf.spanning.batch_edges import Edges
from cohirf.spanning.batch_kernels import insert_neighbour, span_lists
from cohirf.spanning.spanning_labels import Lists

Read = Callable[[NDArray[np.intp]], Any]  # from the numbers of rows to their values
MOST_ROUNDS, ENOUGH = 8, 0.01  # rounds end when fewer than this share of the rows have found a neighbour
LISTED_ROWS = 2**15
CHECKED_ROWS = 200  # rows that are compared with all others


@dataclass(frozen=True)
class NeighbourLists:
    """The nearest rows of each row that are known so far, nearest first, and their squared distances.

    ``runs`` have the rows of each run: those of a block are near each other, and share most neighbours.
    """

    neighbours: NDArray[np.int32]
    distances2: FloatArray
    runs: list[NDArray[np.int32]] = field(default_factory=list)

    @classmethod
    def room_for(cls, n_rows: int, length: int, storage: Storage) -> NeighbourLists:
        """Return unwritten lists."""
        return cls(storage.matrix(n_rows, length, np.int32), storage.matrix(n_rows, length, np.float64))

    def put(self, lists: Lists) -> None:
        """Write the lists of a run."""
        self.runs.append(lists.rows.astype(np.int32))
        self.neighbours[lists.rows], self.distances2[lists.rows] = lists.neighbours, lists.distances2

    def improve(self, read: Read, storage: Storage, n_jobs: int) -> None:
        """Look through the lists of neighbours, again and again, until hardly any row finds a nearer one."""
        n_rows, length = self.neighbours.shape
        is_fresh = np.ones(n_rows, dtype=bool)  # rows whose list has changed in the last round
        listing = storage.matrix(n_rows, length, np.int32)
        for _ in range(MOST_ROUNDS):
            _list_back(self.neighbours, listing)
            old, was_fresh = self.neighbours.copy(), is_fresh.copy()  # so that the order of blocks does not matter

            def improve_block(rows: NDArray[np.int32], old: Any = old, was_fresh: Any = was_fresh) -> None:
                is_fresh[rows] = self._improve_rows(rows, old, listing, was_fresh, read)

            with ThreadPoolExecutor(n_jobs) as threads:
                list(threads.map(improve_block, self._blocks()))
            storage.release()
            if np.count_nonzero(is_fresh) < ENOUGH * n_rows:
                return

    def _blocks(self) -> Iterator[NDArray[np.int32]]:
        """Yield blocks of rows; rows of a batch follow each other."""
        return (rows[block] for rows in self.runs for block in row_blocks(len(rows), LISTED_ROWS))

    def _improve_rows(
        self, rows: NDArray[np.int32], old: NDArray[np.int32], listing: NDArray[np.int32], is_fresh: Any, read: Read
    ) -> NDArray[np.bool_]:
        """Look through the lists of neighbours of some rows; return which of these have found a nearer one."""
        around = np.concatenate([old[rows], listing[rows]], axis=1)
        around = np.where(is_fresh[rows, None] | is_fresh[around], around, -1)  # others have nothing new to tell
        members = np.unique(np.append(rows, around[around >= 0]))
        wanted = np.unique(np.append(members, old[members]))
        points = np.asarray(read(wanted), dtype=np.float64)
        found, distances2 = np.searchsorted(wanted, old[rows]), self.distances2[rows]
        lists, around = (
            np.searchsorted(wanted, old[members]),
            np.where(around < 0, -1, np.searchsorted(members, around)),
        )
        own = np.searchsorted(wanted, rows)
        has_found: NDArray[np.bool_] = _look_around(points, own, lists, around, found, distances2)
        self.neighbours[rows], self.distances2[rows] = wanted[found], distances2
        return has_found

    def span(self, core: FloatArray) -> Edges:
        """Return the lightest edges of mutual reachability that connect rows with rows of their lists."""
        pairs, lengths2 = span_lists(core**2, self.neighbours, self.distances2)
        return Edges(pairs[:, 0], pairs[:, 1], np.sqrt(lengths2))


@njit(cache=True, nogil=True)
def _list_back(neighbours: Any, listing: Any) -> None:
    """Write, for each row, some of the rows that list it: those first that it is nearest to, and itself as a filler."""
    n, length = neighbours.shape
    counts = np.zeros(n, dtype=np.int32)
    for i in range(n):
        listing[i] = i
    for place in range(length):
        for i in range(n):
            j = neighbours[i, place]
            if j != i and counts[j] < length:
                listing[j, counts[j]] = i
                counts[j] += 1


@njit(cache=True, nogil=True)
def _look_around(points: Any, own: Any, lists: Any, around: Any, found: Any, distances2: Any) -> Any:
    """Insert rows into the lists ``found`` that are in the lists of the rows ``around`` each row, and nearer."""
    length = found.shape[1]
    seen = np.full(len(points), -1, dtype=np.int64)
    has_found = np.zeros(len(own), dtype=np.bool_)
    for i in range(len(own)):
        x = points[own[i]]
        seen[own[i]] = i
        for place in range(length):
            seen[found[i, place]] = i
        for beside in around[i]:
            if beside < 0:
                continue
            for other in lists[beside]:
                if seen[other] == i:
                    continue
                seen[other] = i
                distance2 = 0.0
                for j in range(len(x)):  # in the order of features, as everywhere: equal distances stay equal
                    distance2 += (x[j] - points[other, j]) * (x[j] - points[other, j])
                if distance2 < distances2[i, length - 1]:
                    insert_neighbour(found[i], distances2[i], other, distance2)
                    has_found[i] = True
    return has_found


# -- how many neighbours are missing -------------------------------------------------------------------------------


def measure_share(core: FloatArray, min_samples: int, read: Read) -> float:
    """Return the share of the rows whose core distance is right, measured on a sample of them."""
    n_rows = len(core)
    some = np.sort(np.random.default_rng(0).choice(n_rows, min(CHECKED_ROWS, n_rows), replace=False))
    points, rank = np.asarray(read(some), dtype=np.float64), min(min_samples, n_rows)
    nearest = np.full((len(some), rank), np.inf)
    for block in row_blocks(n_rows, LISTED_ROWS):
        distances = cdist(points, read(np.arange(block.start, block.stop)))
        nearest = np.partition(np.hstack([nearest, distances]), rank - 1)[:, :rank]
    return float(np.mean(core[some] <= nearest.max(axis=1) * (1 + 1e-9)))
