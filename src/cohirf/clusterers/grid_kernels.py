"""Compiled kernels of DBSCAN on a grid.

Cells have a diagonal of ``eps``, so rows of one cell are neighbours of each other. All rows of a
cell with at least ``min_samples`` rows are core rows, and no distance is needed to know this. Two
cells are connected as soon as one close pair of core rows is found.

There are three axes; data with fewer features has 0 along the first ones. The key of a cell has its
coordinates as digits, and cells are sorted by key. So cells that differ only in their last
coordinate follow each other, in a line. The lines near a cell are at fixed steps from its key, and
each step has a cursor that only moves forwards while cells are visited in order. No search is
needed, and memory is linear in the number of rows for any range of values.

Compiling takes longer than most fits. Hence :func:`cluster_cells` is not compiled: each of its
calls is one step for all rows. Numba compiles a kernel again for each type of its arguments, so
kernels are called with numbers of one type.
"""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from cohirf.clusterers.tree_kernels import NO_OTHERS, as_pairs, list_other, number_by_core_rows
from cohirf.spanning.box_tree import (
    FIRST,
    bounding_box,
    flatten,
    gap2,
    point_gap2,
    reach2,
    root,
    split_box,
)

N_AXES = 3
CELL_REACH = (
    2  # with up to three features, neighbours are at most this many cells apart along each axis
)
KEY_BITS = 62
MAX_DIGIT_BITS = 13
FEW_PAIRS = 9  # pairs of rows that are compared before any box is computed
BRUTE_PAIRS = 64  # pairs of rows that are compared before any side is halved
FIRST_COMPARED = (
    4  # rows of either cell that are compared first, because they often contain a close pair
)
SECOND = np.int64(1)  # box of two sides


class Grid(NamedTuple):
    """Rows sorted by cell, and cells sorted by key.

    Cell ``c`` has the rows ``starts[c]:starts[c + 1]``; those before ``core_ends[c]`` are core
    rows.
    """

    points: Any
    rows: Any  # their numbers in the data
    starts: Any
    core_ends: Any
    keys: Any
    steps: Any  # from the key of a cell to those of the lines around it, nearest first


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})  # finite rows: there is no NaN to watch for
def bounds(X: Any) -> Any:
    """Return the lowest and the highest value of each feature."""
    low = np.empty(X.shape[1])
    high = np.empty(X.shape[1])
    for j in range(X.shape[1]):
        lowest = highest = X[0, j]
        for i in range(1, len(X)):
            lowest = min(lowest, X[i, j])
            highest = max(highest, X[i, j])
        low[j], high[j] = lowest, highest
    return low, high


def count_bits(cells: Any) -> Any:
    """Return the bits of a key for each axis, given the number of cells; None if they are too many.

    There is room to step beyond either end of an axis without meeting a cell that is elsewhere.
    """
    bits = [(int(count) + CELL_REACH).bit_length() for count in cells]
    return np.array(bits) if sum(bits) <= KEY_BITS else None


def cluster_cells(
    X: Any, weights: Any, rows: Any, low: Any, bits: Any, side: Any, radius2: Any, min_weight: Any
) -> Any:
    """Return the label of each row, -1 for noise, the core rows, and the other clusters of border
    rows.

    ``low`` has the lowest values of the features. ``weights`` may be None. ``rows`` is working
    memory for one number per row.
    """
    points, rows, starts, keys = _sort_into_cells(X, rows, low, bits, side)
    grid = Grid(points, rows, starts, starts[:-1].copy(), keys, _line_steps(bits.tolist()))
    _find_core(grid, None if weights is None else weights[rows], radius2, min_weight)
    # boxes are not known yet
    parents = np.arange(len(keys))
    boxes = np.full((len(keys), 2 * N_AXES), np.nan)
    # adjacent cells first: after them, most cells are joined, and not compared
    for reach in (
        1,
        CELL_REACH,
    ):
        _connect_within(grid, reach, (2 * reach + 1) ** (X.shape[1] - 1), radius2, parents, boxes)
        parents = flatten(parents)
    labels = _label_core(grid, parents)
    core_rows = np.flatnonzero(labels >= 0)
    cell_labels = number_by_core_rows(labels, core_rows)[parents]
    if 0 < len(core_rows) < len(labels):
        others = _label_other_rows(grid, cell_labels, radius2, labels)
    else:
        others = NO_OTHERS
    return labels, core_rows, others


def _line_steps(bits: Any) -> Any:
    """Return the steps to all lines that are within reach: adjacent ones come first."""
    last = bits[-1]
    second = bits[-2] if len(bits) > 1 else 0
    around = range(-CELL_REACH, CELL_REACH + 1)
    lines = product(around if len(bits) > 2 else [0], around if len(bits) > 1 else [0])
    by_distance = sorted(lines, key=lambda line: (max(map(abs, line)), sum(map(abs, line))))
    return np.array([((one << second) + two) << last for one, two in by_distance])


@njit(cache=True, nogil=True, error_model="numpy")
def _sort_into_cells(X: Any, rows: Any, low: Any, bits: Any, side: Any) -> Any:
    """Return points and rows sorted by cell, where the rows of each cell start, and the keys of
    cells.
    """
    n, d = X.shape
    keys = np.zeros(n, dtype=np.int64)
    for j in range(d):
        for i in range(n):
            keys[i] = (keys[i] << bits[j]) + np.int64((np.float64(X[i, j]) - low[j]) / side)
    for i in range(n):
        rows[i] = i
    keys, rows = _radix_sort(keys, rows)
    # float64: rows of float32 take the other kernels as they are compiled
    points = np.empty((n, N_AXES))
    starts = np.empty(n + 1, dtype=rows.dtype)
    starts[0] = n_cells = 0
    for i in range(n):
        # not a loop over features, which takes twice as long
        points[i, 0] = X[rows[i], 0] if d > 2 else 0
        points[i, 1] = X[rows[i], d - 2] if d > 1 else 0
        points[i, 2] = X[rows[i], d - 1]
        keys[n_cells] = keys[i]
        starts[n_cells + 1] = i + 1
        n_cells += i == n - 1 or keys[i + 1] != keys[i]
    return points, rows, starts[: n_cells + 1].copy(), keys[:n_cells].copy()


@njit(cache=True, nogil=True)
def _n_bits(value: Any) -> Any:
    bits = 0
    while value >> bits > 0:
        bits += 1
    return bits


@njit(cache=True, nogil=True)
def _radix_sort(keys: Any, rows: Any) -> Any:
    """Sort rows by keys with a stable radix sort; both arrays are overwritten."""
    n = len(keys)
    n_bits = _n_bits(keys.max())
    n_digits = -(-n_bits // min(MAX_DIGIT_BITS, max(8, _n_bits(n))))
    width = -(-n_bits // max(1, n_digits))
    mask = (1 << width) - 1
    places = np.empty(mask + 1, dtype=rows.dtype)
    sorted_keys = np.empty_like(keys)
    sorted_rows = np.empty_like(rows)
    for digit in range(n_digits):
        shift = digit * width
        places[:] = 0
        for i in range(n):
            places[(keys[i] >> shift) & mask] += 1
        place = 0
        for value in range(mask + 1):
            place, places[value] = place + places[value], place
        for i in range(n):
            value = (keys[i] >> shift) & mask
            sorted_keys[places[value]] = keys[i]
            sorted_rows[places[value]] = rows[i]
            places[value] += 1
        keys, sorted_keys = sorted_keys, keys
        rows, sorted_rows = sorted_rows, rows
    return keys, rows


@njit(cache=True, nogil=True)
def _cells_of_line(grid: Any, cell: Any, line: Any, reach: Any, cursors: Any) -> Any:
    """Return the cells of a line that are within reach of a cell: the first, and one past the
    last.
    """
    lowest = grid.keys[cell] + grid.steps[line] - reach
    first = cursors[line]
    while first < len(grid.keys) and grid.keys[first] < lowest:
        first += 1
    cursors[line] = last = first
    while last < len(grid.keys) and grid.keys[last] <= lowest + 2 * reach:
        last += 1
    return first, last


@njit(cache=True, nogil=True)
def _squared_distance(points: Any, i: Any, k: Any) -> Any:
    x = points[i, 0] - points[k, 0]
    y = points[i, 1] - points[k, 1]
    z = points[i, 2] - points[k, 2]
    return x * x + y * y + z * z


@njit(cache=True, nogil=True)
def _swap(points: Any, rows: Any, i: Any, k: Any) -> None:
    for j in range(N_AXES):
        points[i, j], points[k, j] = points[k, j], points[i, j]
    rows[i], rows[k] = rows[k], rows[i]


@njit(cache=True, nogil=True)
def _weight(weights: Any, start: Any, end: Any) -> Any:
    return float(end - start) if weights is None else weights[start:end].sum()


@njit(cache=True, nogil=True)
def _weight_near(points: Any, weights: Any, i: Any, start: Any, end: Any, radius2: Any) -> Any:
    """Return the weight of the rows from ``start`` to ``end`` that are within the radius of row
    ``i``.
    """
    total = 0.0
    for k in range(start, end):
        is_near = _squared_distance(points, i, k) <= radius2
        total += is_near if weights is None else is_near * weights[k]
    return total


@njit(cache=True, nogil=True)
def _find_core(grid: Any, weights: Any, radius2: Any, min_weight: Any) -> None:
    """Put core rows first in each cell: rows whose neighbours, themselves included, weigh
    ``min_weight`` or more.

    Lines of cells are found only when needed: the nearest come first, and most rows need few.
    """
    points = grid.points
    rows = grid.rows
    starts = grid.starts
    cursors = np.zeros(len(grid.steps), dtype=np.int64)
    # the first row of each line, and one past the last
    lines = np.empty((len(grid.steps), 2), dtype=np.int64)
    for cell in range(len(grid.keys)):
        start = starts[cell]
        end = starts[cell + 1]
        if _weight(weights, start, end) >= min_weight:
            grid.core_ends[cell] = end
            continue
        n_lines = 0
        while start < end:
            weight = 0.0
            line = 0
            while weight < min_weight and line < len(lines):
                if line == n_lines:
                    first, last = _cells_of_line(grid, cell, line, CELL_REACH, cursors)
                    lines[line, 0], lines[line, 1] = starts[first], starts[last]
                    n_lines += 1
                weight += _weight_near(
                    points, weights, start, lines[line, 0], lines[line, 1], radius2
                )
                line += 1
            if weight >= min_weight:
                start += 1
            else:
                end -= 1
                _swap(points, rows, start, end)
                if weights is not None:
                    weights[start], weights[end] = weights[end], weights[start]
        grid.core_ends[cell] = end


@njit(cache=True, nogil=True)
def _connect_within(
    grid: Any, reach: Any, n_lines: Any, radius2: Any, parents: Any, boxes: Any
) -> None:
    """Join cells of the first lines that are at most ``reach`` apart along each axis and have a
    close pair.
    """
    cursors = np.zeros(n_lines, dtype=np.int64)
    for cell in range(len(parents)):
        if grid.core_ends[cell] == grid.starts[cell]:
            continue
        own = root(parents, cell)
        for line in range(n_lines):
            if grid.steps[line] < 0:
                continue  # the other cell of a pair comes first
            first, last = _cells_of_line(grid, cell, line, reach, cursors)
            for other in range(max(first, cell + 1), last):
                if parents[other] == own:
                    continue
                of_other = root(parents, other)
                if of_other != own and _are_close(grid, cell, other, radius2, boxes):
                    parents[max(own, of_other)] = min(own, of_other)
                    own = min(own, of_other)


@njit(cache=True, nogil=True)
def _are_close(grid: Any, a: Any, b: Any, radius2: Any, boxes: Any) -> Any:
    """Return whether two cells have a close pair of core rows; cheap tests come first."""
    points = grid.points
    rows = grid.rows
    a0 = grid.starts[a]
    a1 = grid.core_ends[a]
    b0 = grid.starts[b]
    b1 = grid.core_ends[b]
    if np.int64(a1 - a0) * (b1 - b0) <= FEW_PAIRS:
        return _compare_all(points, a0, a1, b0, b1, radius2)
    for cell, start, end in ((a, a0, a1), (b, b0, b1)):
        if np.isnan(boxes[cell, 0]):
            bounding_box(points, start, end, boxes, cell)
    if gap2(boxes, a, b) > radius2:
        return False
    if _compare_all(
        points, a0, min(a0 + FIRST_COMPARED, a1), b0, min(b0 + FIRST_COMPARED, b1), radius2
    ):
        return True
    a1 = _keep_near(points, rows, a0, a1, boxes, b, radius2)
    return a0 < a1 and has_close_pair(points, rows, a0, a1, b0, b1, radius2)


@njit(cache=True, nogil=True)
def _compare_all(points: Any, a0: Any, a1: Any, b0: Any, b1: Any, radius2: Any) -> Any:
    for i in range(a0, a1):
        for k in range(b0, b1):
            if _squared_distance(points, i, k) <= radius2:
                return True
    return False


@njit(cache=True, nogil=True)
def _keep_near(
    points: Any, rows: Any, start: Any, end: Any, boxes: Any, box: Any, radius2: Any
) -> Any:
    """Move the rows within the radius of a box to the front; return their end."""
    i = start
    k = end
    while i < k:
        if point_gap2(points[i], boxes, box) <= radius2:
            i += 1
        else:
            k -= 1
            _swap(points, rows, i, k)
    return i


@njit(cache=True, nogil=True)
def has_close_pair(points: Any, rows: Any, a0: Any, a1: Any, b0: Any, b1: Any, radius2: Any) -> Any:
    """Return whether any of the rows ``a0:a1`` is within the radius of any of the rows ``b0:b1``.

    Rows too far from the bounding box of the other side are dropped, then the larger side is
    halved, recursively. Two dense cells with a gap between them are thus recognised without
    comparing all their rows. Both sides are reordered.
    """
    boxes = np.empty((2, 2 * N_AXES))
    stack = [(a0, a1, b0, b1)]
    while len(stack) > 0:
        a0, a1, b0, b1 = stack.pop()
        if np.int64(a1 - a0) * (b1 - b0) > BRUTE_PAIRS:
            bounding_box(points, b0, b1, boxes, SECOND)
            a1 = _keep_near(points, rows, a0, a1, boxes, SECOND, radius2)
            if a0 == a1:
                continue
            bounding_box(points, a0, a1, boxes, FIRST)
            b1 = _keep_near(points, rows, b0, b1, boxes, FIRST, radius2)
        if np.int64(a1 - a0) * (b1 - b0) <= BRUTE_PAIRS:
            if _compare_all(points, a0, a1, b0, b1, radius2):
                return True
        elif reach2(boxes, FIRST, SECOND) <= radius2:
            return True
        elif reach2(boxes, FIRST, FIRST) >= reach2(boxes, SECOND, SECOND):
            middle = split_box(points, rows, a0, a1, boxes[0])
            stack.append((a0, middle, b0, b1))
            stack.append((middle, a1, b0, b1))
        else:
            middle = split_box(points, rows, b0, b1, boxes[1])
            stack.append((a0, a1, b0, middle))
            stack.append((a0, a1, middle, b1))
    return False


@njit(cache=True, nogil=True)
def _label_core(grid: Any, parents: Any) -> Any:
    """Return the root of the cell of each core row, and -1 for other rows."""
    labels = np.full(len(grid.rows), -1, dtype=np.int64)
    for cell in range(len(parents)):
        for i in range(grid.starts[cell], grid.core_ends[cell]):
            labels[grid.rows[i]] = parents[cell]
    return labels


@njit(cache=True, nogil=True)
def _label_other_rows(grid: Any, cell_labels: Any, radius2: Any, labels: Any) -> Any:
    """Label the other rows: the lowest label of a core row within the radius.

    Return their other labels.
    """
    points = grid.points
    starts = grid.starts
    core_ends = grid.core_ends
    cursors = np.zeros(len(grid.steps), dtype=np.int64)
    lines = np.empty((len(grid.steps), 2), dtype=np.int64)
    others = [(np.int64(0), np.int64(0)) for _ in range(0)]
    for cell in range(len(grid.keys)):
        if core_ends[cell] == starts[cell + 1]:
            continue
        for line in range(len(lines)):
            lines[line, 0], lines[line, 1] = _cells_of_line(grid, cell, line, CELL_REACH, cursors)
        for i in range(np.int64(core_ends[cell]), np.int64(starts[cell + 1])):
            label = np.int64(-1)
            for first, last in lines:
                for other in range(first, last):
                    if cell_labels[other] == label:
                        continue  # nothing new
                    if _compare_all(points, i, i + 1, starts[other], core_ends[other], radius2):
                        label = list_other(others, grid.rows[i], label, cell_labels[other])
            labels[grid.rows[i]] = label
    return as_pairs(others)
