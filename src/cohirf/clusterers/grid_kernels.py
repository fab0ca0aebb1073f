"""Compiled kernels of DBSCAN on a grid.

Cells have a diagonal of ``eps``, so rows of one cell are neighbours of each other. All rows of a cell with at least
``min_samples`` rows are core rows, and no distance is needed to know this. Two cells are connected as soon as one close
pair of core rows is found.

There are three axes; data with fewer features has 0 along the first ones. Cells that differ only in their last
coordinate, their height, form a pile, and a pile has one bit for each height. Cells are sorted by pile and height, so
the cells of a pile near a given height are found by counting bits, and the piles near another one by moving along the
sorted piles. No search is needed, and memory is linear in the number of rows for any range of values.

Compiling takes longer than most fits. Hence :func:`cluster` and :func:`_connect_cells` are not compiled: each of their
calls is one step for all rows. Numba compiles a kernel again for each type of its arguments, and for each constant
number, so kernels are called with numbers of one type.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from cohirf.clusterers.tree_kernels import NO_OTHERS, as_pairs, find_root, list_other

N_AXES = 3
CELL_REACH = 2  # with up to three features, neighbours are at most this many cells apart along each axis
WINDOW = 2 * CELL_REACH + 1
SPAN = 64 - 2 * CELL_REACH  # heights of a pile, in a word that has room for the heights near either end
MAX_DIGIT_BITS = 13
FEW_PAIRS = 9  # pairs of rows that are compared before any box is computed
BRUTE_PAIRS = 64  # pairs of rows that are compared before any side is halved
FIRST_COMPARED = 4  # rows of either cell that are compared first, because they often contain a close pair
NO_CORE, MIXED = -1, -2
FIRST, SECOND = np.int64(0), np.int64(1)  # the boxes of two sides


class PileGrid(NamedTuple):
    """Rows sorted by cell, and cells sorted by pile and height.

    Cell ``c`` has the rows ``starts[c]:starts[c + 1]``; those before ``core_ends[c]`` are core rows. A pile covers
    ``SPAN`` heights, from its base on; its bits start ``CELL_REACH`` below the base. The first set bit belongs to the
    cell ``firsts[pile]``, the next set bit to the next cell, and so on. Piles are sorted by base, then by key. A step
    along the second axis changes the key by 1, along the first axis by ``stride``.
    """

    points: Any
    rows: Any  # their numbers in the data
    starts: Any
    core_ends: Any
    heights: Any
    keys: Any
    bases: Any
    firsts: Any
    bits: Any
    stride: Any


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})  # finite rows: there is no NaN to watch for
def bounds(X: Any) -> Any:
    """Return the lowest and the highest value of each feature."""
    low, high = np.empty(X.shape[1]), np.empty(X.shape[1])
    for j in range(X.shape[1]):
        lowest = highest = X[0, j]
        for i in range(1, len(X)):
            lowest = min(lowest, X[i, j])
            highest = max(highest, X[i, j])
        low[j], high[j] = lowest, highest
    return low, high


def cluster(X: Any, weights: Any, rows: Any, low: Any, high: Any, side: Any, radius2: Any, min_weight: Any) -> Any:
    """Return the label of each row, -1 for noise, the core rows, and the other clusters of border rows.

    ``low`` and ``high`` are the bounds of the features. ``weights`` may be None. ``rows`` is working memory for one
    number per row.
    """
    grid = _build_grid(X, rows, low, high, side)
    if weights is not None:
        weights = weights[grid.rows]
    _find_core(grid, weights, radius2, min_weight)
    parents = _connect_cells(grid, radius2)
    labels, core_rows = _number_clusters(grid, parents)
    others = NO_OTHERS
    if 0 < len(core_rows) < len(labels):
        others = _label_border(grid, parents, radius2, labels)
    return labels, core_rows, others


@njit(cache=True, nogil=True)
def _n_bits(value: Any) -> Any:
    bits = 0
    while value >> bits > 0:
        bits += 1
    return bits


@njit(cache=True, nogil=True, error_model="numpy")
def _steps(value: Any, low: Any, side: Any) -> Any:
    """Return the coordinate of the cell that contains a value, computed in float64 for any type of value."""
    return np.int64((np.float64(value) - low) / side)


@njit(cache=True, nogil=True)
def _build_grid(X: Any, rows: Any, low: Any, high: Any, side: Any) -> Any:
    n, d = X.shape
    height_bits = _n_bits(_steps(high[d - 1], low[d - 1], side))
    # room to step beyond either end of the second axis without meeting a key of the next step along the first
    second_bits = _n_bits(_steps(high[d - 2], low[d - 2], side) + CELL_REACH) if d > 1 else 0
    first_bits = _n_bits(_steps(high[0], low[0], side)) if d > 2 else 0
    keys = np.zeros(n, dtype=np.int64)
    for j in range(d - 1):
        for i in range(n):
            keys[i] = (keys[i] << second_bits) + _steps(X[i, j], low[j], side)
    pile_keys = keys[:0]
    if first_bits + second_bits + height_bits > 63:
        pile_keys, keys = _rank(keys, rows)
    for i in range(n):
        keys[i] = (keys[i] << height_bits) + _steps(X[i, d - 1], low[d - 1], side)
        rows[i] = i
    keys, rows = _radix_sort(keys, rows)
    points = np.empty((n, N_AXES))  # float64: rows of float32 take the other kernels as they are compiled
    starts = np.empty(n + 1, dtype=rows.dtype)
    starts[0] = n_cells = 0
    for i in range(n):
        points[i, 0] = X[rows[i], 0] if d > 2 else 0
        points[i, 1] = X[rows[i], d - 2] if d > 1 else 0
        points[i, 2] = X[rows[i], d - 1]
        keys[n_cells] = keys[i]
        starts[n_cells + 1] = i + 1
        n_cells += i == n - 1 or keys[i + 1] != keys[i]
    starts = starts[: n_cells + 1].copy()
    heights = np.empty(n_cells, dtype=np.int64)
    for cell in range(n_cells):
        heights[cell] = keys[cell] & ((1 << height_bits) - 1)
        keys[cell] >>= height_bits
        if len(pile_keys) > 0:
            keys[cell] = pile_keys[keys[cell]]
    keys, bases, firsts, bits = _build_piles(keys[:n_cells], heights)
    return PileGrid(points, rows, starts, starts[:-1].copy(), heights, keys, bases, firsts, bits, 1 << second_bits)


@njit(cache=True, nogil=True)
def _radix_sort(keys: Any, rows: Any) -> Any:
    """Sort rows by keys with a stable radix sort; both arrays are overwritten."""
    n, n_bits = len(keys), _n_bits(keys.max())
    n_digits = -(-n_bits // min(MAX_DIGIT_BITS, max(8, _n_bits(n))))
    width = -(-n_bits // max(1, n_digits))
    mask = (1 << width) - 1
    places = np.empty(mask + 1, dtype=rows.dtype)
    sorted_keys, sorted_rows = np.empty_like(keys), np.empty_like(rows)
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
def _rank(keys: Any, rows: Any) -> Any:
    """Return the sorted distinct keys, and the position of each key among them; ``rows`` is working memory."""
    for i in range(len(keys)):
        rows[i] = i
    distinct, order = _radix_sort(keys, rows.copy())
    ranks = np.empty(len(keys), dtype=np.int64)
    n_distinct = 0
    for i in range(len(keys)):
        distinct[n_distinct] = distinct[i]
        ranks[order[i]] = n_distinct
        n_distinct += i == len(keys) - 1 or distinct[i + 1] != distinct[i]
    return distinct[:n_distinct].copy(), ranks


@njit(cache=True, nogil=True)
def _build_piles(cell_keys: Any, heights: Any) -> Any:
    """Return keys, bases, first cells and bits of piles.

    A cell near the end of a span has a bit in the pile of the next span, too.
    """
    most = 2 * len(cell_keys)
    keys, bases = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    firsts, bits = np.full(most, most, dtype=np.int64), np.zeros(most, dtype=np.uint64)
    last_span = pile = -1
    for cell in range(len(cell_keys)):
        if cell > 0 and cell_keys[cell] != cell_keys[cell - 1]:
            last_span = -1
        height = heights[cell]
        for span in range(max(0, height - CELL_REACH) // SPAN, (height + CELL_REACH) // SPAN + 1):
            pile += span > last_span
            last_span = max(span, last_span)
            here = pile - (last_span - span)
            keys[here], bases[here] = cell_keys[cell], span * SPAN
            firsts[here] = min(firsts[here], cell)
            bits[here] |= np.uint64(1) << np.uint64(height - span * SPAN + CELL_REACH)
    n_piles = pile + 1
    _, order = _radix_sort(bases[:n_piles] // SPAN, np.arange(n_piles))
    return keys[order], bases[order], firsts[order], bits[order]


@njit(cache=True, nogil=True)
def _count_bits(bits: Any) -> Any:
    """Count the set bits, in a form that compilers turn into one instruction."""
    count = 0
    while bits:
        bits &= bits - np.uint64(1)
        count += 1
    return count


@njit(cache=True, nogil=True)
def _cells_between(first: Any, bits: Any, low: Any, width: Any) -> Any:
    """Return the cells of ``width`` bits of a pile, starting at ``low``: the first cell, and one past the last."""
    below = (np.uint64(1) << np.uint64(low)) - np.uint64(1)
    window = ((np.uint64(1) << np.uint64(width)) - np.uint64(1)) << np.uint64(low)
    start = first + _count_bits(bits & below)
    return start, start + _count_bits(bits & window)


@njit(cache=True, nogil=True)
def _bands(grid: Any, reach: Any, forwards: Any) -> Any:
    """Return the ranges of keys of nearby piles, relative to the key of a pile, nearest first."""
    n_steps = reach if grid.keys.max() >= grid.stride else 0  # along the first axis, where the data have one
    n_sides = 1 if forwards else 2
    bands = np.zeros((1 + n_sides * (n_steps + 1), 2), dtype=np.int64)  # the first one is the pile itself
    for step in range(n_steps + 1):
        low, high = max(1, step * grid.stride - reach), step * grid.stride + reach
        band = 1 + n_sides * step
        bands[band, 0], bands[band, 1] = low, high
        if not forwards:
            bands[band + 1, 0], bands[band + 1, 1] = -high, -low
    return bands


@njit(cache=True, nogil=True)
def _near_piles(keys: Any, bases: Any, pile: Any, bands: Any, cursors: Any, near: Any) -> Any:
    """Write the piles near ``pile`` and return their number.

    ``cursors`` only move forwards from pile to pile: one cursor for each band, and one for the end of the piles with
    this base.
    """
    end = cursors[-1]
    if pile >= end:
        while bases[end] < bases[pile]:
            end += 1
        cursors[:-1] = end
        while end < len(bases) and bases[end] == bases[pile]:
            end += 1
        cursors[-1] = end
    n_near = 0
    for band in range(len(bands)):
        lowest, highest = keys[pile] + bands[band, 0], keys[pile] + bands[band, 1]
        other = cursors[band]
        while other < end and keys[other] < lowest:
            other += 1
        cursors[band] = other
        while other < end and keys[other] <= highest:
            near[n_near] = other
            n_near += 1
            other += 1
    return n_near


@njit(cache=True, nogil=True)
def _squared_distance(points: Any, i: Any, k: Any) -> Any:
    x = points[i, 0] - points[k, 0]
    y = points[i, 1] - points[k, 1]
    z = points[i, 2] - points[k, 2]
    return x * x + y * y + z * z


@njit(cache=True, nogil=True)
def _swap(points: Any, rows: Any, i: Any, k: Any) -> None:
    points[i, 0], points[k, 0] = points[k, 0], points[i, 0]
    points[i, 1], points[k, 1] = points[k, 1], points[i, 1]
    points[i, 2], points[k, 2] = points[k, 2], points[i, 2]
    rows[i], rows[k] = rows[k], rows[i]


@njit(cache=True, nogil=True)
def _weight(weights: Any, start: Any, end: Any) -> Any:
    if weights is None:
        return float(end - start)
    total = 0.0
    for i in range(start, end):
        total += weights[i]
    return total


@njit(cache=True, nogil=True)
def _weight_near(points: Any, weights: Any, i: Any, start: Any, end: Any, radius2: Any) -> Any:
    """Return the weight of the rows from ``start`` to ``end`` that are within the radius of row ``i``."""
    total = 0.0
    for k in range(start, end):
        is_near = _squared_distance(points, i, k) <= radius2
        if weights is None:
            total += is_near
        else:
            total += is_near * weights[k]
    return total


@njit(cache=True, nogil=True)
def _find_core(grid: Any, weights: Any, radius2: Any, min_weight: Any) -> None:
    """Put core rows first in each cell: rows whose neighbours, themselves included, weigh ``min_weight`` or more.

    Runs of rows in nearby piles are collected only when needed: the nearest come first, and most rows need few.
    """
    points, rows, starts, core_ends, heights = grid.points, grid.rows, grid.starts, grid.core_ends, grid.heights
    keys, bases, firsts, bits = grid.keys, grid.bases, grid.firsts, grid.bits
    bands = _bands(grid, CELL_REACH, False)
    cursors = np.zeros(len(bands) + 1, dtype=np.int64)
    near = np.empty(WINDOW**2, dtype=np.int64)
    run_starts, run_ends = np.empty(WINDOW**2, dtype=np.int64), np.empty(WINDOW**2, dtype=np.int64)
    for pile in range(len(keys)):
        n_near = -1  # not known yet
        bottom, top = _cells_between(firsts[pile], bits[pile], CELL_REACH, SPAN)
        for cell in range(bottom, top):
            start, end = starts[cell], starts[cell + 1]
            if _weight(weights, start, end) >= min_weight:
                core_ends[cell] = end
                continue
            if n_near < 0:
                n_near = _near_piles(keys, bases, pile, bands, cursors, near)
            n_runs = n_visited = 0
            while start < end:
                weight, run = 0.0, 0
                while weight < min_weight and (run < n_runs or n_visited < n_near):
                    if run == n_runs:
                        other = near[n_visited]
                        n_visited += 1
                        first, last = _cells_between(firsts[other], bits[other], heights[cell] - bases[pile], WINDOW)
                        run_starts[n_runs], run_ends[n_runs] = starts[first], starts[last]
                        n_runs += first < last
                        continue
                    weight += _weight_near(points, weights, start, run_starts[run], run_ends[run], radius2)
                    run += 1
                if weight >= min_weight:
                    start += 1
                else:
                    end -= 1
                    _swap(points, rows, start, end)
                    if weights is not None:
                        weights[start], weights[end] = weights[end], weights[start]
            core_ends[cell] = end


def _connect_cells(grid: Any, radius2: Any) -> Any:
    """Return the root of each cell after joining cells with a close pair of core rows.

    Adjacent cells come first: after them, most nearby piles are already joined, and can be skipped as a whole.
    """
    parents = np.arange(len(grid.heights), dtype=np.int64)
    boxes = np.empty((len(parents), 2 * N_AXES))
    boxes[:, 0] = np.nan  # not known yet
    pile_roots = np.full(len(grid.keys), MIXED, dtype=np.int64)
    _connect_within(grid, 1, radius2, parents, pile_roots, boxes)
    _point_to_roots(parents)
    _find_pile_roots(grid, parents, pile_roots)
    _connect_within(grid, CELL_REACH, radius2, parents, pile_roots, boxes)
    _point_to_roots(parents)
    return parents


@njit(cache=True, nogil=True)
def _point_to_roots(parents: Any) -> None:
    for cell in range(len(parents)):
        parents[cell] = find_root(parents, cell)


@njit(cache=True, nogil=True)
def _find_pile_roots(grid: Any, roots: Any, pile_roots: Any) -> None:
    """Write the common root of all core rows of each pile, or a code for several roots or for no core rows."""
    for pile in range(len(pile_roots)):
        root = NO_CORE
        for cell in range(grid.firsts[pile], grid.firsts[pile] + _count_bits(grid.bits[pile])):
            if grid.core_ends[cell] > grid.starts[cell]:
                root = roots[cell] if root in (NO_CORE, roots[cell]) else MIXED
        pile_roots[pile] = root


@njit(cache=True, nogil=True)
def _drop_joined(near: Any, n_near: Any, pile_roots: Any, root: Any) -> Any:
    """Keep the piles that have core rows with another root than ``root``; return their number."""
    n_kept = 0
    for t in range(n_near):
        other = pile_roots[near[t]]
        near[n_kept] = near[t]
        n_kept += other != NO_CORE and (other == MIXED or other != root)
    return n_kept


@njit(cache=True, nogil=True)
def _connect_within(grid: Any, reach: Any, radius2: Any, parents: Any, pile_roots: Any, boxes: Any) -> None:
    """Join cells that are at most ``reach`` apart along each axis."""
    points, rows, starts, core_ends, heights = grid.points, grid.rows, grid.starts, grid.core_ends, grid.heights
    keys, bases, firsts, bits = grid.keys, grid.bases, grid.firsts, grid.bits
    bands = _bands(grid, reach, True)
    cursors = np.zeros(len(bands) + 1, dtype=np.int64)
    near, others = np.empty(WINDOW**2, dtype=np.int64), np.empty(WINDOW**3, dtype=np.int64)
    for pile in range(len(keys)):
        own = pile_roots[pile]
        if own == NO_CORE:
            continue
        n_near = _near_piles(keys, bases, pile, bands, cursors, near)
        n_near = _drop_joined(near, n_near, pile_roots, own)
        if n_near == 0:
            continue
        bottom, top = _cells_between(firsts[pile], bits[pile], CELL_REACH, SPAN)
        for cell in range(bottom, top):
            if core_ends[cell] == starts[cell]:
                continue
            root = find_root(parents, cell)
            low = heights[cell] - bases[pile] + CELL_REACH - reach
            n_others = 0
            for t in range(n_near):
                first, last = _cells_between(firsts[near[t]], bits[near[t]], low, 2 * reach + 1)
                for other in range(max(first, cell + 1), last):
                    others[n_others] = other
                    n_others += parents[other] != root
            for t in range(n_others):
                other_root = find_root(parents, others[t])
                if other_root != root and _are_close(points, rows, starts, core_ends, cell, others[t], radius2, boxes):
                    parents[max(root, other_root)] = min(root, other_root)
                    root = min(root, other_root)


@njit(cache=True, nogil=True)
def _are_close(points: Any, rows: Any, starts: Any, core_ends: Any, a: Any, b: Any, radius2: Any, boxes: Any) -> Any:
    """Return whether two cells have a close pair of core rows; cheap tests come first."""
    a0, a1, b0, b1 = np.int64(starts[a]), np.int64(core_ends[a]), np.int64(starts[b]), np.int64(core_ends[b])
    if (a1 - a0) * (b1 - b0) <= FEW_PAIRS:
        return _compare_all(points, a0, a1, b0, b1, radius2)
    if np.isnan(boxes[a, 0]):
        _box(points, a0, a1, boxes, a)
    if np.isnan(boxes[b, 0]):
        _box(points, b0, b1, boxes, b)
    if _gap2(boxes, a, b) > radius2:
        return False
    if _compare_all(points, a0, min(a0 + FIRST_COMPARED, a1), b0, min(b0 + FIRST_COMPARED, b1), radius2):
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
def _box(points: Any, start: Any, end: Any, boxes: Any, box: Any) -> None:
    """Write the box around ``points[start:end]``: its lowest, then its highest coordinates."""
    for j in range(N_AXES):
        lowest = highest = points[start, j]
        for i in range(start + 1, end):
            lowest = min(lowest, points[i, j])
            highest = max(highest, points[i, j])
        boxes[box, j] = lowest
        boxes[box, N_AXES + j] = highest


@njit(cache=True, nogil=True)
def _gap2(boxes: Any, a: Any, b: Any) -> Any:
    """Return the squared distance between two boxes."""
    total = 0.0
    for j in range(N_AXES):
        gap = max(0.0, boxes[b, j] - boxes[a, N_AXES + j], boxes[a, j] - boxes[b, N_AXES + j])
        total += gap * gap
    return total


@njit(cache=True, nogil=True)
def _reach2(boxes: Any, a: Any, b: Any) -> Any:
    """Return the largest squared distance between points of two boxes."""
    total = 0.0
    for j in range(N_AXES):
        reach = max(boxes[b, N_AXES + j] - boxes[a, j], boxes[a, N_AXES + j] - boxes[b, j])
        total += reach * reach
    return total


@njit(cache=True, nogil=True)
def _longest_side(boxes: Any, box: Any) -> Any:
    side = 0
    for j in range(1, N_AXES):
        if boxes[box, N_AXES + j] - boxes[box, j] > boxes[box, N_AXES + side] - boxes[box, side]:
            side = j
    return side


@njit(cache=True, nogil=True)
def _keep_near(points: Any, rows: Any, start: Any, end: Any, boxes: Any, box: Any, radius2: Any) -> Any:
    """Move the rows within the radius of a box to the front; return their end."""
    i, k = start, end
    while i < k:
        gap2 = 0.0
        for j in range(N_AXES):
            gap = max(0.0, boxes[box, j] - points[i, j], points[i, j] - boxes[box, N_AXES + j])
            gap2 += gap * gap
        if gap2 <= radius2:
            i += 1
        else:
            k -= 1
            _swap(points, rows, i, k)
    return i


@njit(cache=True, nogil=True)
def _split(points: Any, rows: Any, start: Any, end: Any, boxes: Any, box: Any, side: Any) -> Any:
    """Move the rows in the lower half of their box to the front; return their end."""
    low, high = boxes[box, side], boxes[box, N_AXES + side]
    middle = low + (high - low) / 2
    if middle >= high:  # between neighbouring floats the mean may round up
        middle = low
    i, k = start, end
    while i < k:
        if points[i, side] <= middle:
            i += 1
        else:
            k -= 1
            _swap(points, rows, i, k)
    return i


@njit(cache=True, nogil=True)
def has_close_pair(points: Any, rows: Any, a0: Any, a1: Any, b0: Any, b1: Any, radius2: Any) -> Any:
    """Return whether any of the rows ``a0:a1`` is within the radius of any of the rows ``b0:b1``.

    Rows too far from the bounding box of the other side are dropped, then one side is halved, recursively. Two dense
    cells with a gap between them are thus recognised without comparing all their rows. Both sides are reordered.
    """
    boxes = np.empty((2, 2 * N_AXES))
    stack = [(a0, a1, b0, b1)]
    while len(stack) > 0:
        a0, a1, b0, b1 = stack.pop()
        if (a1 - a0) * (b1 - b0) > BRUTE_PAIRS:
            _box(points, b0, b1, boxes, SECOND)
            a1 = _keep_near(points, rows, a0, a1, boxes, SECOND, radius2)
            if a0 == a1:
                continue
            _box(points, a0, a1, boxes, FIRST)
            b1 = _keep_near(points, rows, b0, b1, boxes, FIRST, radius2)
        if (a1 - a0) * (b1 - b0) <= BRUTE_PAIRS:
            if _compare_all(points, a0, a1, b0, b1, radius2):
                return True
            continue
        if _reach2(boxes, FIRST, SECOND) <= radius2:
            return True
        side_a, side_b = _longest_side(boxes, FIRST), _longest_side(boxes, SECOND)
        if boxes[0, N_AXES + side_a] - boxes[0, side_a] >= boxes[1, N_AXES + side_b] - boxes[1, side_b]:
            middle = _split(points, rows, a0, a1, boxes, FIRST, side_a)
            stack.append((a0, middle, b0, b1))
            stack.append((middle, a1, b0, b1))
        else:
            middle = _split(points, rows, b0, b1, boxes, SECOND, side_b)
            stack.append((a0, a1, b0, middle))
            stack.append((a0, a1, middle, b1))
    return False


@njit(cache=True, nogil=True)
def _number_clusters(grid: Any, parents: Any) -> Any:
    """Assign cluster numbers as scikit-learn does: in the order of their first core rows.

    Returns the labels, which are set only for core rows, and the core rows. ``parents`` becomes the labels of cells.
    """
    labels = np.full(len(grid.rows), -1, dtype=np.int64)
    n_core = 0
    for cell in range(len(parents)):
        for i in range(grid.starts[cell], grid.core_ends[cell]):
            labels[grid.rows[i]] = parents[cell]
        n_core += grid.core_ends[cell] - grid.starts[cell]
    core_rows = np.empty(n_core, dtype=np.int64)
    numbers = np.full(len(parents), -1, dtype=np.int64)
    n_core = n_clusters = 0
    for row in range(len(labels)):
        root = labels[row]
        if root >= 0:
            if numbers[root] < 0:
                numbers[root] = n_clusters
                n_clusters += 1
            labels[row] = numbers[root]
            core_rows[n_core] = row
            n_core += 1
    for cell in range(len(parents)):
        parents[cell] = numbers[parents[cell]]
    return labels, core_rows


@njit(cache=True, nogil=True)
def _label_border(grid: Any, cell_labels: Any, radius2: Any, labels: Any) -> Any:
    """Label the other rows: the lowest label of a core row within the radius. Return their other labels."""
    points, starts, core_ends, heights = grid.points, grid.starts, grid.core_ends, grid.heights
    keys, bases, firsts, bits = grid.keys, grid.bases, grid.firsts, grid.bits
    bands = _bands(grid, CELL_REACH, False)
    cursors = np.zeros(len(bands) + 1, dtype=np.int64)
    near = np.empty(WINDOW**2, dtype=np.int64)
    pile_labels = np.empty(len(keys), dtype=np.int64)
    _find_pile_roots(grid, cell_labels, pile_labels)
    others = [(np.int64(0), np.int64(0)) for _ in range(0)]
    for pile in range(len(keys)):
        n_near = -1  # not known yet
        bottom, top = _cells_between(firsts[pile], bits[pile], CELL_REACH, SPAN)
        for cell in range(bottom, top):
            if core_ends[cell] == starts[cell + 1]:
                continue
            if n_near < 0:
                n_near = _near_piles(keys, bases, pile, bands, cursors, near)
                n_near = _drop_joined(near, n_near, pile_labels, MIXED)
            for i in range(np.int64(core_ends[cell]), np.int64(starts[cell + 1])):
                label = np.int64(-1)
                for t in range(n_near):
                    first, last = _cells_between(firsts[near[t]], bits[near[t]], heights[cell] - bases[pile], WINDOW)
                    for other in range(first, last):
                        if cell_labels[other] == label:
                            continue  # nothing new
                        start, end = np.int64(starts[other]), np.int64(core_ends[other])
                        if _compare_all(points, i, i + 1, start, end, radius2):
                            label = list_other(others, grid.rows[i], label, cell_labels[other])
                labels[grid.rows[i]] = label
    return as_pairs(others)
