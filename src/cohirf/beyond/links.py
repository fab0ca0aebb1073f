"""Links between rows: pairs that are to be in one cluster, and pairs that are not to be.

Rows that must be together, directly or through others, are one *piece*. Pairs that must be apart
join the pieces to a graph of conflicts. Contradictions are found before a fit, and named.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components

from cohirf.beyond.apart import conflict_graph, find_clique, prove_impossible
from cohirf.rows.grouping import IntArray
from cohirf.wording import count_of, listed, setting

GIVEN_AS = (
    "give an array of triples (row, row, 1 or -1), or a pair (together, apart) of arrays with two "
    "columns of row numbers"
)


@dataclass(frozen=True, eq=False)
class Links:
    """Rows with links, in pieces, and which pieces are to be apart."""

    rows: IntArray  # numbers of the rows that have links. Sorted.
    pieces: IntArray  # the piece of each
    together: IntArray  # pairs of row numbers
    apart: IntArray  # pairs of row numbers

    @classmethod
    def of(cls, links: Any, n_rows: int) -> Links:
        """Return the links that the user gave, or raise if they contradict each other."""
        together, apart = read_links(links)
        for pairs in (together, apart):
            _check_numbers(pairs, n_rows)
        rows, numbers = np.unique(np.concatenate([together, apart]), return_inverse=True)
        ends = numbers.reshape(-1, 2)[: len(together)]
        edges = sparse.coo_array(
            (np.ones(len(ends), dtype=bool), (ends[:, 0], ends[:, 1])), shape=(len(rows), len(rows))
        )
        pieces: IntArray = connected_components(edges, directed=False)[1].astype(np.int64)
        found = cls(rows, pieces, together, apart)
        found._refuse_contradictions()
        return found

    @property
    def n_pieces(self) -> int:
        """Number of pieces."""
        return int(self.pieces.max(initial=-1)) + 1

    @cached_property
    def sizes(self) -> IntArray:
        """Number of rows of each piece."""
        return np.bincount(self.pieces, minlength=self.n_pieces)

    @cached_property
    def joined(self) -> NDArray[np.bool_]:
        """Which of the rows are in a piece of several."""
        return np.asarray(self.sizes[self.pieces] > 1)

    @cached_property
    def conflicts(self) -> sparse.csr_array:
        """Which pieces are to be apart: a symmetric matrix."""
        return conflict_graph(self.find_pieces(self.apart), self.n_pieces)

    @cached_property
    def firsts(self) -> IntArray:
        """The position in ``rows`` of the first row of each piece."""
        return np.unique(self.pieces, return_index=True)[1]

    def find_pieces(self, rows: IntArray) -> IntArray:
        """Return the piece of rows that have links."""
        return np.asarray(self.pieces[np.searchsorted(self.rows, rows)])

    def refuse_too_few(self, n_clusters: int) -> None:
        """Raise if rows that are to be apart from each other need more clusters than these."""
        clique = None
        larger = find_clique(self.conflicts, n_clusters + 1)
        while larger is not None:
            clique = larger
            larger = find_clique(self.conflicts, len(clique) + 1)
        if clique is not None:
            self._refuse_number(
                f"links need at least {count_of(len(clique), 'cluster')}, and there are to be "
                f"{n_clusters}: each of the rows {self._name_pieces(clique)} is to be apart from "
                "all the others of these, or from rows that are to be with them",
                f"Give {setting('n_clusters', len(clique))} or more",
            )
        core = prove_impossible(self.conflicts, n_clusters)
        if core is not None:
            self._refuse_number(
                f"links cannot be kept by {count_of(n_clusters, 'cluster')}: there is no way to "
                f"divide the rows {self._name_pieces(core)}, and those that are to be with them, "
                "so that linked rows are apart",
                f"Raise {setting('n_clusters')}",
            )

    def _name_pieces(self, pieces: IntArray) -> str:
        """Return a row of each of some pieces, in words."""
        return listed(np.sort(self.rows[self.firsts[pieces]]).tolist())

    def _refuse_number(self, why: str, remedy: str) -> NoReturn:
        raise ValueError(f"{why}. {remedy}, or leave out links between these rows.")

    def _refuse_contradictions(self) -> None:
        ends = self.find_pieces(self.apart)
        broken = np.flatnonzero(ends[:, 0] == ends[:, 1])
        if len(broken) == 0:
            return
        shown = [self._explain(*self.apart[pair].tolist()) for pair in broken[:3]]
        more = f" There are {len(broken):,} such pairs." if len(broken) > len(shown) else ""
        raise ValueError(
            f"links contradict each other: {'; '.join(shown)}.{more} Leave out one of the links "
            "of each."
        )

    def _explain(self, first: int, second: int) -> str:
        """Return by which links two rows that are to be apart are together."""
        if first == second:
            return f"row {first:,} is to be apart from itself"
        way = [f"{row:,}" for row in self._find_way(first, second)]
        return (
            f"rows {first:,} and {second:,} are to be apart, and together by the links "
            f"{' - '.join(way if len(way) < 12 else [*way[:5], '...', *way[-5:]])}"
        )

    def _find_way(self, first: int, second: int) -> list[int]:
        """Return rows from one to another, each linked with the next."""
        ends = np.searchsorted(self.rows, self.together)
        n_rows = len(self.rows)
        graph = sparse.csr_array(
            (np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n_rows, n_rows)
        )
        start, end = np.searchsorted(self.rows, [first, second]).tolist()
        before = breadth_first_order(graph, start, directed=False)[1]
        way = [end]
        while way[-1] != start:
            way.append(int(before[way[-1]]))
        return [int(self.rows[step]) for step in reversed(way)]


def read_links(links: Any) -> tuple[IntArray, IntArray]:
    """Return pairs of row numbers that are to be together, and apart, from either form.

    Examples
    --------
    >>> together, apart = read_links([(0, 5, 1), (2, 3, -1)])
    >>> together.tolist(), apart.tolist()
    ([[0, 5]], [[2, 3]])
    >>> read_links(([(0, 5)], None))[1].tolist()
    []
    """
    if isinstance(links, tuple | list) and len(links) == 2 and all(map(_is_pairs, links)):
        together, apart = links
        return _read_pairs(together, "together"), _read_pairs(apart, "apart")
    triples = _read_integers(links, 3, "links")
    wrong = np.flatnonzero(np.abs(triples[:, 2]) != 1)
    if len(wrong):
        _refuse(
            f"links has {int(triples[wrong[0], 2])} as the sign of pair {wrong[0]:,}, which is 1 "
            "for rows that are to be together and -1 for rows that are to be apart"
        )
    is_together = triples[:, 2] == 1
    return triples[is_together, :2], triples[~is_together, :2]


def _is_pairs(part: Any) -> bool:
    return part is None or np.ndim(part) == 2 or np.size(part) == 0


def _read_pairs(pairs: Any, name: str) -> IntArray:
    if pairs is None:
        return np.empty((0, 2), dtype=np.int64)
    return _read_integers(pairs, 2, f"the part {name!r} of links")


def _read_integers(given: Any, n_columns: int, name: str) -> IntArray:
    try:
        found = np.asarray(given)
    except ValueError:  # of different lengths
        found = np.empty((0, 0, 0))
    if found.size == 0 and found.ndim in (1, 2):
        return np.empty((0, n_columns), dtype=np.int64)
    if found.ndim != 2 or found.shape[1] != n_columns:
        _refuse(f"{name} has the shape {found.shape}, not (number of pairs, {n_columns})")
    if found.dtype.kind not in "iu":
        is_whole = found.dtype.kind == "f" and bool((np.mod(found, 1) == 0).all())
        if not is_whole:
            _refuse(f"{name} has values of type {found.dtype}, which are no row numbers")
    return found.astype(np.int64)


def _refuse(what: str) -> NoReturn:
    raise ValueError(f"{what}: {GIVEN_AS}.")


def _check_numbers(pairs: IntArray, n_rows: int) -> None:
    wrong = np.flatnonzero(((pairs < 0) | (pairs >= n_rows)).any(axis=1))
    if len(wrong):
        first, second = pairs[wrong[0]].tolist()
        raise ValueError(
            f"links has a pair of the rows {first} and {second}, and the data has {n_rows:,} rows: "
            "give row numbers from 0 on."
        )
