"""Graph: what the user passes as distances or similarities, checked, and in the forms that methods
need.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.graphs.policy import EDGE
from cohirf.optional import is_installed
from cohirf.rows.arrays import narrow_indices
from cohirf.rows.grouping import FloatArray, IntArray
from cohirf.rows.texts import Texts
from cohirf.sources import GraphSource, Source

SIMILARITIES = "affinity"  # the ``metric`` with which larger values are nearer


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes and the edges between them.

    Attributes
    ----------
    matrix : CSR array of float, shape (n_nodes, n_nodes)
        What was given for each edge, in canonical format: sorted, each entry once. Entries on the
        diagonal are kept. Of a square array of distances those to the nearest nodes.
    metric : {"precomputed", "affinity"}
        Whether these are distances or similarities.
    square : array of float, shape (n_nodes, n_nodes), or None
        The square array of distances, if one was given.
    names : Texts or None
        The names of the nodes, if they have some.
    """

    matrix: Any
    metric: str
    square: FloatArray | None = None
    names: Texts | None = None

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.matrix.shape[0])

    @property
    def is_similar(self) -> bool:
        """Whether larger values are nearer."""
        return self.metric == SIMILARITIES

    @cached_property
    def distances(self) -> Any:
        """Distances of the edges as they were given, which may be in one direction only.

        That of a similarity is its inverse.
        """
        return to_distances(self.matrix) if self.is_similar else self.matrix

    @property
    def symmetric_distances(self) -> Any:
        """Distances of the edges in both directions, with what is on the diagonal.

        Of two different ones the smaller.
        """
        return symmetrise(self.distances)

    @property
    def halves(self) -> Any:
        """Weights of the edges as they were given, without a diagonal: that of an edge is the sum
        of what stands in both directions.

        The weight is the larger similarity, or the mean of the inverse ranks that the two nodes
        have among the neighbours of each other.
        """
        if not self.is_similar:
            halves = rank_weights(without_diagonal(self.matrix))
            halves.data *= np.float32(0.5)
            return halves
        similar = in_float32(without_diagonal(self.matrix))
        shared = np.array(similar.data)
        for edges in blocks_of_edges(similar):
            back = find_reverse(similar, edges)
            both = np.flatnonzero(back >= 0)
            of_both = similar.data[edges.part][both]
            largest = np.maximum(of_both, similar.data[back[both]])
            shared[edges.part][both] = largest * np.float32(0.5)
        return sparse.csr_array((shared, similar.indices, similar.indptr), shape=similar.shape)

    @property
    def weights(self) -> Any:
        """Weights of the edges in both directions, without a diagonal."""
        return both_directions(self.halves)


# ---- edges


def row_of_entries(matrix: Any) -> IntArray:
    """Return the row of each entry of a CSR matrix."""
    counts = np.diff(matrix.indptr)
    rows: IntArray = np.repeat(np.arange(len(counts), dtype=matrix.indices.dtype), counts)
    return rows


@dataclass(frozen=True, eq=False)
class BlockOfEdges:
    """The entries of consecutive rows of a CSR matrix.

    Attributes
    ----------
    rows, part : slice
        The rows, and the places of their entries.
    lengths : array of int, shape (n_rows,)
        Number of entries of each row.
    one, two : array of int, shape (n_entries,)
        Row and column of each entry.
    """

    rows: slice
    part: slice
    lengths: IntArray
    one: IntArray
    two: IntArray


def blocks_of_edges(matrix: Any) -> Iterator[BlockOfEdges]:
    """Yield the entries of a CSR matrix in blocks of about ``EDGE.block``."""
    for rows in blocks_of_rows(matrix):
        part = slice(int(matrix.indptr[rows.start]), int(matrix.indptr[rows.stop]))
        lengths = np.diff(matrix.indptr[rows.start : rows.stop + 1])
        own = np.arange(rows.start, rows.stop, dtype=matrix.indices.dtype)
        yield BlockOfEdges(rows, part, lengths, np.repeat(own, lengths), matrix.indices[part])


def blocks_of_rows(*matrices: Any) -> Iterator[slice]:
    """Yield ranges of rows that have about ``EDGE.block`` entries in all matrices together."""
    return divide_rows(sum(matrix.indptr.astype(np.int64) for matrix in matrices))


def divide_rows(ends: IntArray) -> Iterator[slice]:
    """Yield ranges of rows that have about ``EDGE.block`` entries, of which row ``i`` has those
    from ``ends[i]`` to ``ends[i + 1]``.
    """
    n_rows = len(ends) - 1
    start = 0
    while start < n_rows:
        stop = int(np.searchsorted(ends, ends[start] + EDGE.block, side="right")) - 1
        stop = min(max(stop, start + 1), n_rows)
        yield slice(start, stop)
        start = stop


def find_reverse(matrix: Any, edges: BlockOfEdges) -> IntArray:
    """Return the place of the entry in the other direction for each entry; -1 if it is not stored.

    The columns of each row must be sorted.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from cohirf.graphs.graph import blocks_of_edges, find_reverse
    >>> matrix = sparse.csr_array(np.array([[0.0, 1, 3], [0, 0, 0], [2, 0, 0]]))
    >>> [find_reverse(matrix, edges).tolist() for edges in blocks_of_edges(matrix)]
    [[-1, 2, 1]]
    """
    return find_entries(matrix, edges.two, edges.one)


def find_entries(matrix: Any, rows: IntArray, columns: IntArray) -> IntArray:
    """Return the place of each of some entries of a CSR matrix whose columns are sorted; -1 if it
    is not stored.
    """
    if len(matrix.indices) >= EDGE.compiled and is_installed("numba"):
        from cohirf.graphs.kernels import find_places

        places = np.empty(len(rows), dtype=np.int64)
        find_places(matrix.indptr, matrix.indices, rows, columns, places)
        return places
    low = matrix.indptr[rows]
    end = matrix.indptr[rows + 1]
    high = end
    longest = int((end - low).max(initial=0))
    last = len(matrix.indices) - 1
    for _ in range(longest.bit_length()):
        middle = (low + high) >> 1
        is_below = (low < high) & (matrix.indices[np.minimum(middle, last)] < columns)
        low = np.where(is_below, middle + 1, low)
        high = np.where(is_below, high, middle)
    is_found = (low < end) & (matrix.indices[np.minimum(low, last)] == columns)
    return np.where(is_found, low, -1)


def both_directions(halves: Any) -> Any:
    """Return the sum of a matrix and its transposed one."""
    return sparse.csr_array(halves + halves.T.tocsr())


def without_diagonal(matrix: Any) -> Any:
    """Return a CSR matrix without the entries of its diagonal; itself if it has none."""
    counts = np.zeros(matrix.shape[0], dtype=np.int64)
    keep = np.ones(len(matrix.indices), dtype=bool)
    for edges in blocks_of_edges(matrix):
        is_other = edges.one != edges.two
        keep[edges.part] = is_other
        counts[edges.rows] = np.bincount(
            edges.one[is_other] - edges.rows.start, minlength=len(edges.lengths)
        )
    if keep.all():
        return matrix
    indptr = np.append(0, np.cumsum(counts)).astype(matrix.indptr.dtype)
    return sparse.csr_array((matrix.data[keep], matrix.indices[keep], indptr), shape=matrix.shape)


def symmetrise(matrix: Any) -> Any:
    """Return a matrix with each entry in both directions, of two different values the smaller one;
    the matrix itself if it is symmetric.

    Entries of 0 are kept, which sums of matrices would lose.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from cohirf.graphs.graph import symmetrise
    >>> symmetrise(sparse.csr_array(np.array([[0.0, 1, 3], [0, 0, 0], [2, 0, 0]]))).toarray()
    array([[0., 1., 2.],
           [1., 0., 0.],
           [2., 0., 0.]])
    """
    turned = sparse.csr_array(matrix.T.tocsr())
    is_same = all(
        np.array_equal(getattr(matrix, part), getattr(turned, part))
        for part in ("indptr", "indices", "data")
    )
    if is_same:
        return matrix
    n_nodes = matrix.shape[0]
    most = len(matrix.data) + len(turned.data)
    indices = np.empty(most, dtype=np.int32 if n_nodes < 2**31 else np.int64)
    data = np.empty(most, dtype=matrix.data.dtype)
    counts = np.zeros(n_nodes, dtype=np.int64)
    filled = 0
    for rows in blocks_of_rows(matrix, turned):
        keys, values = _join_rows(matrix, turned, rows)
        keys, values = first_of_each(keys, values)
        end = filled + len(keys)
        indices[filled:end] = keys % n_nodes
        data[filled:end] = values
        counts[rows] = np.bincount(keys // n_nodes, minlength=rows.stop - rows.start)
        filled = end
    indptr = np.append(0, np.cumsum(counts))
    if most < 2**31:
        indptr = indptr.astype(np.int32)
    return sparse.csr_array((data[:filled], indices[:filled], indptr), shape=matrix.shape)


def _join_rows(one: Any, two: Any, rows: slice) -> tuple[IntArray, NDArray[Any]]:
    """Return the entries of some rows of two matrices: numbers by which they are in order, and
    values.
    """
    keys = []
    values = []
    for matrix in (one, two):
        part = slice(int(matrix.indptr[rows.start]), int(matrix.indptr[rows.stop]))
        lengths = np.diff(matrix.indptr[rows.start : rows.stop + 1])
        row = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
        keys.append(row * matrix.shape[0] + matrix.indices[part])
        values.append(matrix.data[part])
    return np.concatenate(keys), np.concatenate(values)


def first_of_each(keys: IntArray, values: NDArray[Any]) -> tuple[IntArray, NDArray[Any]]:
    """Return the distinct keys in order, and the smallest value of each."""
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    values = values[order]
    if len(keys) == 0:
        return keys, values
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[starts], np.minimum.reduceat(values, starts)


def rank_weights(distances: Any) -> Any:
    """Return a matrix with the inverse of the rank of each entry in its row, the smallest first.

    Of equal ones, the first is nearer.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from cohirf.graphs.graph import rank_weights
    >>> rank_weights(sparse.csr_array(np.array([[0.0, 2, 1], [3, 0, 0], [0, 0, 0]]))).toarray()
    array([[0. , 0.5, 1. ],
           [1. , 0. , 0. ],
           [0. , 0. , 0. ]], dtype=float32)
    """
    weights = np.empty(len(distances.data), dtype=np.float32)
    for edges in blocks_of_edges(distances):
        lengths = edges.lengths
        of_part = distances.data[edges.part]
        if len(lengths) and (lengths == lengths[0]).all():
            order = np.argsort(of_part.reshape(len(lengths), -1), axis=1, kind="stable")
            inverse = np.empty(order.shape, dtype=np.float32)
            ranks = 1 / np.arange(1, lengths[0] + 1, dtype=np.float32)
            np.put_along_axis(inverse, order, np.broadcast_to(ranks, order.shape), axis=1)
            weights[edges.part] = inverse.ravel()
            continue
        order = np.lexsort((of_part, edges.one))
        starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
        inverse_ranks = np.empty(len(of_part), dtype=np.float32)
        inverse_ranks[order] = 1 / (np.arange(len(of_part)) - starts + 1)
        weights[edges.part] = inverse_ranks
    return sparse.csr_array((weights, distances.indices, distances.indptr), shape=distances.shape)


def to_distances(similarities: Any) -> Any:
    """Return the inverse of each similarity.

    Kernels have values whose inverse, or a sum of such, is infinite: these count as larger ones.
    """
    data = similarities.data
    least = np.sqrt(np.finfo(data.dtype).tiny)
    return sparse.csr_array(
        (1 / np.maximum(data, least), similarities.indices, similarities.indptr),
        shape=similarities.shape,
    )


def in_float32(similarities: Any) -> Any:
    """Return similarities as positive numbers of float32.

    Kernels have values that float32 rounds to 0, and such an edge would be lost.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from cohirf.graphs.graph import in_float32
    >>> in_float32(sparse.csr_array(np.array([[0.0, 1e-60], [0.5, 0.0]]))).data
    array([1.e-30, 5.e-01], dtype=float32)
    >>> in_float32(sparse.csr_array(np.array([[0.0, 1e100], [2e100, 0.0]]))).data
    array([0.5, 1. ], dtype=float32)
    """
    data = similarities.data
    largest = data.max(initial=0.0)
    if not EDGE.least_weight <= largest <= EDGE.largest_weight:
        data = data / largest
    weights = np.maximum(data, EDGE.least_weight).astype(np.float32)
    return sparse.csr_array(
        (weights, similarities.indices, similarities.indptr), shape=similarities.shape
    )


def _nearest_of_square(square: FloatArray) -> Any:
    """Return the distances to the nearest other nodes of each node, as a CSR array."""
    n_nodes = len(square)
    length = min(EDGE.nearest, n_nodes - 1)
    nearest = np.empty((n_nodes, length), dtype=np.int64)
    for start in range(0, n_nodes, max(1, EDGE.block // n_nodes)):
        block = np.array(square[start : start + max(1, EDGE.block // n_nodes)])
        own = np.arange(len(block))
        block[own, start + own] = np.inf
        nearest[start : start + len(block)] = np.argsort(block, axis=1, kind="stable")[:, :length]
    rows = np.repeat(np.arange(n_nodes), length)
    columns = nearest.ravel()
    found = square[rows, columns]
    is_edge = np.isfinite(found)
    edges = (found[is_edge], (rows[is_edge], columns[is_edge]))
    graph = sparse.csr_array(edges, shape=square.shape)
    graph.sort_indices()
    return narrow_indices(graph)


def thin(graph: Graph, share: float, rng: np.random.Generator) -> Graph:
    """Return a graph with a random share of the edges; both directions of one stay or go."""
    words = rng.integers(1, 2**63, size=2, dtype=np.int64).astype(np.uint64) | np.uint64(1)
    if graph.square is not None:
        own = np.arange(graph.n_nodes)
        is_left = draw_pairs(own[:, None], own, words) < share
        square = np.where(is_left | np.eye(graph.n_nodes, dtype=bool), graph.square, np.inf)
        return Graph(_nearest_of_square(square), graph.metric, square)
    matrix = graph.matrix
    keep = np.empty(len(matrix.data), dtype=bool)
    counts = np.zeros(graph.n_nodes, dtype=np.int64)
    for edges in blocks_of_edges(matrix):
        is_left = draw_pairs(edges.one, edges.two, words) < share
        is_kept = is_left | (edges.one == edges.two)
        keep[edges.part] = is_kept
        counts[edges.rows] = np.bincount(
            edges.one[is_kept] - edges.rows.start, minlength=len(edges.lengths)
        )
    indptr = np.append(0, np.cumsum(counts)).astype(matrix.indptr.dtype)
    kept = (matrix.data[keep], matrix.indices[keep], indptr)
    return Graph(sparse.csr_array(kept, shape=matrix.shape), graph.metric)


def draw_pairs(one: IntArray, two: IntArray, words: NDArray[np.uint64]) -> FloatArray:
    """Return a random number from 0 to 1 for each pair of nodes, whichever of them comes first."""
    low = np.minimum(one, two).astype(np.uint64)
    high = np.maximum(one, two).astype(np.uint64)
    with np.errstate(over="ignore"):
        mixed = low * words[0] + high * words[1]
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11), dtype=np.float64) / 2**53


# ---- what the user passes


def open_graph(X: Any, metric: str) -> Graph:
    """Check a graph.

    Parameters
    ----------
    X : sparse matrix, square array, pair of arrays (indices, distances), or GraphSource
        Distances or similarities. What a sparse matrix does not store is no edge; what it stores
        twice counts once, with the smaller distance or the larger similarity. In a pair, -1 in
        ``indices`` is no neighbour.
    metric : {"precomputed", "affinity"}
        Whether these are distances or similarities.
    """
    is_similar = metric == SIMILARITIES
    if isinstance(X, GraphSource):
        return replace(open_graph(X.read(), metric), names=X.read_names())
    if isinstance(X, tuple):
        matrix = _open_pair(X, is_similar=is_similar)
    elif sparse.issparse(X):
        matrix = _open_sparse(X, is_similar=is_similar)
    else:
        square = _open_square(X, is_similar=is_similar)
        if is_similar:
            matrix = narrow_indices(sparse.csr_array(square))
            _refuse_empty(matrix)
            return Graph(matrix, metric)
        matrix = _nearest_of_square(square)
        _refuse_empty(matrix)
        return Graph(matrix, metric, square)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"The graph has shape {matrix.shape}: give a square matrix, with a row and a column "
            "for each node."
        )
    _refuse_empty(matrix)
    return Graph(matrix, metric)


def open_new_edges(X: Any, metric: str, n_nodes: int, names: Texts | None) -> Any:
    """Check the edges of new nodes to the ``n_nodes`` nodes of a fit, which may have names.

    Returns a CSR array with a row for each new node.
    """
    is_similar = metric == SIMILARITIES
    if isinstance(X, GraphSource):
        X = X.read_new(n_nodes, names)
    if isinstance(X, tuple):
        return _open_pair(X, is_similar=is_similar, n_nodes=n_nodes)
    if sparse.issparse(X):
        matrix = _open_sparse(X, is_similar=is_similar)
    else:
        dense = _check_values(_as_numbers(X), is_similar=is_similar)
        is_edge = dense > 0 if is_similar else np.isfinite(dense)
        rows, columns = np.nonzero(is_edge)
        matrix = sparse.csr_array((dense[rows, columns], (rows, columns)), shape=dense.shape)
        matrix.sort_indices()
    if matrix.shape[1] != n_nodes:
        raise ValueError(
            f"X has {matrix.shape[1]} columns, but the graph of the fit had {n_nodes} nodes: give "
            "the edges of each new node to these, in their order."
        )
    return matrix


def _refuse_empty(matrix: Any) -> None:
    n_nodes = matrix.shape[0]
    if n_nodes < 2:
        raise ValueError(f"The graph has {n_nodes} node(s): give at least 2, with edges.")
    if without_diagonal(matrix).nnz == 0:
        raise ValueError(
            f"The graph of {n_nodes:,} nodes has no edge between two of them: a sparse matrix must "
            "store the distances, or similarities, of near nodes."
        )


def _as_numbers(X: Any) -> FloatArray:
    """Return a two-dimensional array of float32 or float64."""
    if isinstance(X, Source):
        raise TypeError(
            f"{X!r} has rows, and the metric is of a graph: give open_source(..., graph=True), a "
            "sparse matrix, a square array or a pair (indices, distances), or leave metric out to "
            "cluster the rows."
        )
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(
            f"The graph has shape {array.shape}: give a sparse matrix or a square array of "
            "distances, or a pair (indices, distances)."
        )
    return _as_floats(array)


def _as_floats(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype in (np.float32, np.float64):
        return array
    if array.dtype.kind not in "fiub":
        raise ValueError(f"The graph holds values of type {array.dtype}: give numbers.")
    return array.astype(np.float32 if array.dtype == np.float16 else np.float64)


def _check_values(values: NDArray[Any], *, is_similar: bool) -> NDArray[Any]:
    """Return values; raise for NaN and for what is below 0, or infinite and a similarity."""
    if values.size == 0:
        return values
    lowest = float(values.min())
    highest = float(values.max())
    name = "similarities" if is_similar else "distances"
    if np.isnan(lowest):
        count = int(np.isnan(values).sum())
        raise ValueError(
            f"The graph has {count:,} {name} that are NaN: leave these edges out of the matrix."
        )
    if lowest < 0:
        count = int((values < 0).sum())
        raise ValueError(
            f"The graph has {count:,} {name} below 0, down to {lowest:g}: {name} are 0 or more."
        )
    if is_similar and np.isinf(highest):
        raise ValueError("The graph has infinite similarities: give finite ones.")
    return values


def _open_square(X: Any, *, is_similar: bool) -> FloatArray:
    array = _as_numbers(X)
    if array.shape[0] != array.shape[1]:
        raise ValueError(
            f"The array has shape {array.shape}: give a square array with the distances of all "
            "pairs of nodes, a sparse matrix, or a pair (indices, distances)."
        )
    square = _check_values(array, is_similar=is_similar)
    if is_similar:
        return square
    if not np.array_equal(square, square.T):
        square = np.minimum(square, square.T)
    if square.diagonal().any():
        square = np.array(square)
        np.fill_diagonal(square, 0)
    return square


def _open_sparse(X: Any, *, is_similar: bool) -> Any:
    """Return a sparse matrix in canonical CSR format, without edges that are none."""
    if X.format in ("csr", "csc", "bsr"):
        _refuse_indices(X)
    matrix = X if X.format in ("csr", "coo") else X.tocsr()
    if matrix.format == "csr":
        matrix = narrow_indices(matrix)
    data = _check_values(_as_floats(matrix.data), is_similar=is_similar)
    is_edge = _are_edges(data, is_similar=is_similar)
    if matrix.format == "csr" and is_edge is None and matrix.has_canonical_format:
        return sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
    if matrix.format == "csr" and is_edge is None:
        ordered = sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
        ordered = ordered.copy() if not ordered.has_sorted_indices else ordered
        ordered.sort_indices()
        if ordered.has_canonical_format:
            return ordered
    edges = matrix.tocoo(copy=False)
    rows, columns = edges.row, edges.col
    if is_edge is not None:
        rows, columns, data = rows[is_edge], columns[is_edge], data[is_edge]
    return _from_edges(rows, columns, data, matrix.shape, is_similar=is_similar)


def _refuse_indices(matrix: Any) -> None:
    """Raise ValueError for a matrix with columns, rows or blocks that it does not have.

    Conversion of such a matrix would write where it must not.
    """
    n_places = matrix.shape[0 if matrix.format == "csc" else 1]
    if matrix.format == "bsr":
        n_places //= matrix.blocksize[1]
    try:
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise ValueError(
            f"The graph of shape {matrix.shape} is damaged: {error}. Its indices must be from 0 to "
            f"{n_places - 1:,}."
        ) from error


def _are_edges(data: NDArray[Any], *, is_similar: bool) -> NDArray[np.bool_] | None:
    """Return which entries are edges: finite distances, or similarities above 0; None if all."""
    is_edge = data > 0 if is_similar else np.isfinite(data)
    return None if is_edge.all() else is_edge


def _from_edges(
    rows: IntArray,
    columns: IntArray,
    values: NDArray[Any],
    shape: tuple[int, int],
    *,
    is_similar: bool,
) -> Any:
    """Return edges as a CSR array; of repeated ones the nearest."""
    numbers: IntArray = rows.astype(np.int64) * shape[1] + columns
    keys, kept = first_of_each(numbers, -values if is_similar else values)
    counts = np.bincount(keys // shape[1], minlength=shape[0])
    indptr = np.append(0, np.cumsum(counts))
    parts = (-kept if is_similar else kept, keys % shape[1], indptr)
    return narrow_indices(sparse.csr_array(parts, shape=shape))


def _open_pair(X: tuple[Any, ...], *, is_similar: bool, n_nodes: int | None = None) -> Any:
    """Return neighbours and their distances, as indexes for vectors return them, as a CSR array."""
    if len(X) != 2:
        raise ValueError(f"The graph is a tuple of {len(X)} parts: give (indices, distances).")
    indices = np.asarray(X[0])
    values = _as_numbers(X[1])
    if indices.dtype.kind not in "iu" and values.dtype.kind == "f":
        raise ValueError(
            f"The first of the pair has type {indices.dtype}: give (indices, distances), with "
            "integers first."
        )
    if indices.shape != values.shape:
        raise ValueError(
            f"indices have shape {indices.shape} and distances {values.shape}: give a distance for "
            "each neighbour."
        )
    n_rows = len(indices)
    n_columns = n_rows if n_nodes is None else n_nodes
    is_edge = indices >= 0
    values = np.where(
        is_edge, values, 0 if is_similar else np.inf
    )  # faiss fills them with nonsense
    _check_values(values, is_similar=is_similar)
    if indices.size and (indices.max() >= n_columns or indices.min() < -1):
        wrong = indices.max() if indices.max() >= n_columns else indices.min()
        raise ValueError(
            f"indices have {wrong}, and there are {n_columns:,} nodes: give numbers from 0 to "
            f"{n_columns - 1:,}, or -1 for no neighbour."
        )
    edges = _are_edges(values, is_similar=is_similar)
    if edges is None:
        indptr = np.arange(n_rows + 1, dtype=np.int64) * indices.shape[1]
        kind = np.int32 if max(values.size, n_columns) < 2**31 else np.int64
        parts = (values.ravel(), indices.ravel().astype(kind), indptr.astype(kind))
        matrix = sparse.csr_array(parts, shape=(n_rows, n_columns))
        matrix.sort_indices()
        if matrix.has_canonical_format:
            return matrix
        edges = np.ones(values.shape, dtype=bool)
    rows, places = np.nonzero(edges)
    found = indices[rows, places].astype(np.int64)
    return _from_edges(
        rows, found, values[rows, places], (n_rows, n_columns), is_similar=is_similar
    )
