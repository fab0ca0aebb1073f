"""With many features, the nearest rows of a row are in many batches: find them among the neighbours
of its neighbours.

Cells are boxes along at most ten axes. A row of 16 features or more is near the border of its cell
in some direction, and neighbours that are on the other side are not in its batch. But some of its
neighbours are, and these know others: a few rounds in which each row looks at the lists of its
neighbours, and of the rows that list it, find nearly all. How many are still missing is measured on
a sample of rows, which are compared with all rows.

Few edges of the spanning tree are not in such lists, but these decide where large clusters merge.
So rows also pass on the nearest row outside their component: the nearest one of a row is near to
that of one of its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from cohirf.rows.grouping import FloatArray, row_blocks
from cohirf.rows.storage import Storage
from cohirf.rows.threads import map_in_threads
from cohirf.spanning.batch_edges import Edges
from cohirf.spanning.batch_kernels import (
    Lightest,
    insert_neighbour,
    join_in_rounds,
    offer,
    search_lists,
)
from cohirf.spanning.box_tree import squared_distance
from cohirf.spanning.found_in_runs import Lists
from cohirf.spanning.policy import LISTS

Numbers = NDArray[np.int32]
Read = Callable[[NDArray[np.intp]], Any]  # from the numbers of rows to their values


@dataclass(frozen=True)
class NeighbourLists:
    """The nearest rows of each row that are known so far, nearest first, and their squared
    distances.

    ``runs`` have the rows of each run: those of a block are near each other, and share most
    neighbours.
    """

    neighbours: Numbers
    distances2: FloatArray
    listing: Numbers  # rows that list a row
    read: Read
    runs: list[Numbers] = field(default_factory=list)

    @classmethod
    def room_for(cls, n_rows: int, length: int, storage: Storage, read: Read) -> NeighbourLists:
        """Return unwritten lists."""
        neighbours, listing = (storage.matrix(n_rows, length, np.int32) for _ in range(2))
        return cls(neighbours, storage.matrix(n_rows, length, np.float64), listing, read)

    def put(self, lists: Lists) -> None:
        """Write the lists of a run."""
        self.runs.append(lists.rows.astype(np.int32))
        self.neighbours[lists.rows], self.distances2[lists.rows] = (
            lists.neighbours,
            lists.distances2,
        )

    def _for_blocks(self, work: Callable[[Numbers], None]) -> None:
        """Call a function for each block of rows, in the threads of the fit; rows of a batch follow
        each other.
        """
        blocks = [
            rows[block] for rows in self.runs for block in row_blocks(len(rows), LISTS.block_rows)
        ]
        map_in_threads(work, blocks)

    # -- nearest rows
    # ----------------------------------------------------------------------------------------------

    def improve(self, storage: Storage) -> None:
        """Look through the lists of neighbours, again and again, until hardly any row finds a
        nearer one.
        """
        # rows whose list has changed in the last round
        is_fresh = np.ones(len(self.neighbours), dtype=bool)
        for _ in range(LISTS.rounds):
            _list_back(self.neighbours, self.listing)
            # so that the order of blocks does not matter
            old = self.neighbours.copy()
            was_fresh = is_fresh.copy()

            def improve_block(rows: Numbers, old: Any = old, was_fresh: Any = was_fresh) -> None:
                is_fresh[rows] = self._improve_rows(rows, old, was_fresh)

            self._for_blocks(improve_block)
            storage.release()
            if np.count_nonzero(is_fresh) < LISTS.found * len(is_fresh):
                break
        _list_back(self.neighbours, self.listing)

    def _improve_rows(
        self, rows: Numbers, old: Numbers, is_fresh: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Look through the lists of neighbours of some rows.

        Return which of these have found a nearer one.
        """
        around = np.concatenate([old[rows], self.listing[rows]], axis=1)
        # others have nothing new to tell
        around = np.where(is_fresh[rows, None] | is_fresh[around], around, -1)
        points, places = self._read_lists(rows, around, old)
        found = old[rows]
        distances2 = self.distances2[rows]
        has_found: NDArray[np.bool_] = _look_around(
            points, places, rows, old, around, found, distances2
        )
        self.neighbours[rows], self.distances2[rows] = found, distances2
        return has_found

    def _read_lists(
        self, rows: Numbers, around: Numbers, lists: Numbers
    ) -> tuple[FloatArray, Numbers]:
        """Return some rows, the rows around them and those of their lists as points, and the place
        of each row.
        """
        is_wanted = np.zeros(len(lists), dtype=bool)
        is_wanted[around[around >= 0]] = is_wanted[rows] = True
        is_wanted[lists[is_wanted]] = True
        wanted = np.flatnonzero(is_wanted)
        # memory that is never written to is not allocated
        places = np.empty(len(lists), dtype=np.int32)
        places[wanted] = np.arange(len(wanted))
        return np.asarray(self.read(wanted), dtype=np.float64), places

    # -- spanning tree
    # ---------------------------------------------------------------------------------------------

    def span(self, core: FloatArray) -> Edges:
        """Return the lightest edges of mutual reachability that connect components, as far as they
        are found.
        """
        numbers = np.arange(len(core), dtype=np.int32)
        core2 = core**2
        outside = (numbers.copy(), np.full(len(core), np.inf), np.full(len(core), np.inf))

        def search(components: Numbers, lightest: Lightest) -> None:
            search_lists(core2, self.neighbours, self.distances2, components, lightest)
            self._search_outside(core2, components, lightest, outside)

        pairs, lengths2 = join_in_rounds(search, numbers)
        return Edges(pairs[:, 0], pairs[:, 1], np.sqrt(lengths2))

    def _search_outside(
        self, core2: FloatArray, components: Numbers, lightest: Lightest, outside: Any
    ) -> None:
        """Find light edges to rows that are in no list.

        ``outside`` has the row outside its component that each row knows, and the weight and length
        of the edge to it.
        """
        rows_outside, weights, lengths = outside
        is_inside = components[rows_outside] == components
        # stands for none; its list may have some
        rows_outside[is_inside] = np.flatnonzero(is_inside)
        weights[is_inside] = lengths[is_inside] = np.inf
        is_fresh = np.ones(len(core2), dtype=bool)
        at_least = np.maximum(core2, self.distances2[:, -1])
        for _ in range(LISTS.rounds):
            is_of_use = at_least < lightest.weights[components]
            old = rows_outside.copy()
            was_fresh = is_fresh.copy()
            is_fresh[:] = False

            def search_block(
                rows: Numbers, is_of_use: Any = is_of_use, old: Any = old, fresh: Any = was_fresh
            ) -> None:
                rows = rows[is_of_use[rows]]
                around = np.concatenate([self.neighbours[rows], self.listing[rows]], axis=1)
                around = np.where(fresh[around], old[around], -1)
                points, places = self._read_lists(rows, around, self.neighbours)
                lists = (self.neighbours, around)
                is_fresh[rows] = _look_outside(
                    points, places, rows, lists, core2, components, outside
                )

            self._for_blocks(search_block)
            _offer_outside(components, rows_outside, weights, lengths, lightest)
            if not is_fresh.any():
                return


@njit(cache=True, nogil=True)
def _list_back(neighbours: Any, listing: Any) -> None:
    """Write, for each row, some of the rows that list it: those first that it is nearest to, and
    itself as a filler.
    """
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
def _look_around(
    points: Any, places: Any, rows: Any, lists: Any, around: Any, found: Any, distances2: Any
) -> Any:
    """Insert rows into the lists ``found`` that are in the lists of the rows ``around`` each row,
    and nearer.
    """
    length = found.shape[1]
    seen = np.full(len(points), -1, dtype=np.int64)
    has_found = np.zeros(len(rows), dtype=np.bool_)
    for i in range(len(rows)):
        x = points[places[rows[i]]]
        seen[places[rows[i]]] = i
        for place in range(length):
            seen[places[found[i, place]]] = i
        for beside in around[i]:
            if beside < 0:
                continue
            for other in lists[beside]:
                if seen[places[other]] == i:
                    continue
                seen[places[other]] = i
                distance2 = squared_distance(x, points, places[other])
                if distance2 < distances2[i, length - 1]:
                    insert_neighbour(found[i], distances2[i], other, distance2)
                    has_found[i] = True
    return has_found


@njit(cache=True, nogil=True)
def _look_outside(
    points: Any, places: Any, rows: Any, lists: Any, core: Any, components: Any, known: Any
) -> Any:
    """Find a lighter edge of each row to a row of another component, in lists: all, and those of
    which rows to look at.

    ``known`` has the row outside its component that each row knows, and the weight and length of
    the edge to it.
    """
    neighbours, around = lists
    outside, weights, lengths = known
    seen = np.full(len(points), -1, dtype=np.int64)
    looked = np.full(len(points), -1, dtype=np.int64)
    has_found = np.zeros(len(rows), dtype=np.bool_)
    for i in range(len(rows)):
        row = rows[i]
        x = points[places[row]]
        for beside in around[i]:
            if beside < 0 or looked[places[beside]] == i:
                continue
            looked[places[beside]] = i
            for other in neighbours[beside]:
                place = places[other]
                if (
                    seen[place] == i
                    or components[other] == components[row]
                    or core[other] > weights[row]
                ):
                    continue
                seen[place] = i
                length = squared_distance(x, points, place)
                weight = max(length, core[row], core[other])
                if weight < weights[row] or (weight == weights[row] and length < lengths[row]):
                    outside[row], weights[row], lengths[row] = other, weight, length
                    has_found[i] = True
    return has_found


@njit(cache=True, nogil=True)
def _offer_outside(
    components: Any, outside: Any, weights: Any, lengths: Any, lightest: Any
) -> None:
    """Note the edges of all rows to rows outside their components, where they are the lightest
    ones.
    """
    for i in range(len(components)):
        j = outside[i]
        if components[i] != components[j]:
            offer(lightest, components[i], i, j, weights[i], lengths[i])
            offer(lightest, components[j], j, i, weights[i], lengths[i])


# -- how many neighbours are missing


def measure_share(core: FloatArray, min_samples: int, read: Read) -> float:
    """Return the share of the rows whose core distance is right, measured on a sample of them."""
    n_rows = len(core)
    some = np.sort(
        np.random.default_rng(0).choice(n_rows, min(LISTS.checked_rows, n_rows), replace=False)
    )
    points = np.asarray(read(some), dtype=np.float64)
    rank = min(min_samples, n_rows)
    nearest = np.full((len(some), rank), np.inf)
    for block in row_blocks(n_rows, LISTS.checked_at_a_time):
        distances = cdist(points, read(np.arange(block.start, block.stop)))
        nearest = np.partition(np.hstack([nearest, distances]), rank - 1)[:, :rank]
    return float(np.mean(core[some] <= nearest.max(axis=1) * (1 + 1e-9)))
