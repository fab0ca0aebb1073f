"""Compiled kernels of DBSCAN on a grid.

Cells have a diagonal of ``eps``, so rows of one cell are neighbours of each other. A cell that holds ``min_samples`` is
full of core rows without a single distance; two cells are connected as soon as one close pair of core rows is found.
Cells are found by hashing their coordinates: memory is linear in the rows, whatever the range of the data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

BRUTE_PAIRS = 64


@njit(cache=True, nogil=True)
def _find_cell(origin: Any, row: Any, offsets: Any, step: Any, table: Any, cells: Any) -> Any:
    """Return the place in ``table`` of the cell at ``origin[row] + offsets[step]``, or of the gap where it would stand.

    Numbers are passed instead of slices: making a slice costs more than what is done with it.
    """
    mask = np.uint64(len(table) - 1)
    key = np.uint64(1469598103934665603)
    for j in range(origin.shape[1]):
        key = (key ^ np.uint64(origin[row, j] + offsets[step, j])) * np.uint64(1099511628211)
        key ^= key >> np.uint64(29)
    place = np.int64(key & mask)
    while table[place] >= 0:
        same = True
        for j in range(origin.shape[1]):
            if cells[table[place], j] != origin[row, j] + offsets[step, j]:
                same = False
                break
        if same:
            break
        place = (place + 1) & np.int64(mask)
    return place


@njit(cache=True, nogil=True)
def number_cells(coordinates: Any, table: Any) -> Any:
    """Find the occupied cells; returns the cell of each row, and the coordinates of each cell.

    ``table`` has a length that is a power of two, at least twice the rows, and is filled with -1.
    """
    n, d = coordinates.shape
    cell_of = np.empty(n, dtype=np.int32)
    cells = np.empty((n, d), dtype=np.int64)
    here = np.zeros((1, d), dtype=np.int64)
    n_cells = 0
    for i in range(n):
        place = _find_cell(coordinates, i, here, 0, table, cells)
        if table[place] < 0:
            table[place] = n_cells
            cells[n_cells] = coordinates[i]
            n_cells += 1
        cell_of[i] = table[place]
    return cell_of, cells[:n_cells].copy()


@njit(cache=True, nogil=True)
def _squared_distance(points: Any, i: Any, k: Any) -> Any:
    total = 0.0
    for j in range(points.shape[1]):
        difference = points[i, j] - points[k, j]
        total += difference * difference
    return total


@njit(cache=True, nogil=True)
def find_core(
    points: Any, weights: Any, starts: Any, cells: Any, table: Any, offsets: Any, radius2: Any, min_weight: Any
) -> Any:
    """Tell which rows, sorted by cell, have neighbours of at least ``min_weight`` in all, themselves included.

    Neighbouring cells are looked up as they are needed: ``offsets`` come nearest first, and most rows need few.
    """
    is_core = np.zeros(len(points), dtype=np.bool_)
    near = np.empty(len(offsets), dtype=np.int64)
    for cell in range(len(cells)):
        start, end = starts[cell], starts[cell + 1]
        inside = weights[start:end].sum()
        if inside >= min_weight:
            is_core[start:end] = True
            continue
        n_near, n_looked_up = 0, 1  # the first offset is the cell itself
        for i in range(start, end):
            weight = inside
            visited = 0
            while weight < min_weight:
                if visited == n_near:
                    if n_looked_up == len(offsets):
                        break
                    near[n_near] = table[_find_cell(cells, cell, offsets, n_looked_up, table, cells)]
                    n_looked_up += 1
                    n_near += near[n_near] >= 0
                    continue
                for k in range(starts[near[visited]], starts[near[visited] + 1]):
                    if _squared_distance(points, i, k) <= radius2:
                        weight += weights[k]
                visited += 1
            is_core[i] = weight >= min_weight
    return is_core


@njit(cache=True, nogil=True)
def _root(parents: Any, cell: Any) -> Any:
    while parents[cell] != cell:
        parents[cell] = parents[parents[cell]]
        cell = parents[cell]
    return cell


@njit(cache=True, nogil=True)
def _box(points: Any, members: Any, start: Any, end: Any, low: Any, high: Any, box: Any) -> Any:
    """Write the box around ``members[start:end]``."""
    for j in range(points.shape[1]):
        lowest = highest = points[members[start], j]
        for m in range(start + 1, end):
            value = points[members[m], j]
            lowest = min(lowest, value)
            highest = max(highest, value)
        low[box, j] = lowest
        high[box, j] = highest


@njit(cache=True, nogil=True)
def _gap2(low_a: Any, high_a: Any, a: Any, low_b: Any, high_b: Any, b: Any) -> Any:
    """Return the squared distance between box ``a`` of some boxes and box ``b`` of others."""
    total = 0.0
    for j in range(low_a.shape[1]):
        gap = max(0.0, low_b[b, j] - high_a[a, j], low_a[a, j] - high_b[b, j])
        total += gap * gap
    return total


@njit(cache=True, nogil=True)
def _reach2(low_a: Any, high_a: Any, a: Any, low_b: Any, high_b: Any, b: Any) -> Any:
    """Return the largest squared distance between points of two such boxes."""
    total = 0.0
    for j in range(low_a.shape[1]):
        reach = max(high_b[b, j] - low_a[a, j], high_a[a, j] - low_b[b, j])
        total += reach * reach
    return total


@njit(cache=True, nogil=True)
def _longest_side(low: Any, high: Any) -> Any:
    side = 0
    for j in range(1, low.shape[1]):
        if high[0, j] - low[0, j] > high[0, side] - low[0, side]:
            side = j
    return side


@njit(cache=True, nogil=True)
def _middle(low: Any, high: Any) -> Any:
    """Return a number between two, below the higher one: between neighbouring floats the mean may round up to it."""
    middle = low + (high - low) / 2
    return middle if middle < high else low


@njit(cache=True, nogil=True)
def _split(points: Any, members: Any, start: Any, end: Any, side: Any, middle: Any) -> Any:
    """Order ``members[start:end]``, those below ``middle`` along ``side`` first; returns where these end."""
    i, k = start, end - 1
    while i <= k:
        if points[members[i], side] <= middle:
            i += 1
        else:
            members[i], members[k] = members[k], members[i]
            k -= 1
    return i


@njit(cache=True, nogil=True)
def has_close_pair(points: Any, left: Any, right: Any, radius2: Any) -> Any:
    """Tell whether a row of ``left`` is within the radius of one of ``right``.

    Both are halved again and again; halves whose boxes are too far apart are dropped. So two dense cells that face each
    other across a gap are told apart without comparing all their rows. Reorders ``left`` and ``right``.
    """
    shape = (1, points.shape[1])
    low_a, high_a, low_b, high_b = np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape)
    stack = [(0, len(left), 0, len(right))]
    while len(stack) > 0:
        a0, a1, b0, b1 = stack.pop()
        _box(points, left, a0, a1, low_a, high_a, 0)
        _box(points, right, b0, b1, low_b, high_b, 0)
        if _gap2(low_a, high_a, 0, low_b, high_b, 0) > radius2:
            continue
        if _reach2(low_a, high_a, 0, low_b, high_b, 0) <= radius2:
            return True
        if (a1 - a0) * (b1 - b0) <= BRUTE_PAIRS:
            for i in range(a0, a1):
                for k in range(b0, b1):
                    if _squared_distance(points, left[i], right[k]) <= radius2:
                        return True
            continue
        side_a, side_b = _longest_side(low_a, high_a), _longest_side(low_b, high_b)
        if high_a[0, side_a] - low_a[0, side_a] >= high_b[0, side_b] - low_b[0, side_b]:
            middle = _split(points, left, a0, a1, side_a, _middle(low_a[0, side_a], high_a[0, side_a]))
            stack.append((a0, middle, b0, b1))
            stack.append((middle, a1, b0, b1))
        else:
            middle = _split(points, right, b0, b1, side_b, _middle(low_b[0, side_b], high_b[0, side_b]))
            stack.append((a0, a1, b0, middle))
            stack.append((a0, a1, middle, b1))
    return False


@njit(cache=True, nogil=True)
def connect_cells(points: Any, starts: Any, cells: Any, table: Any, offsets: Any, radius2: Any) -> Any:
    """Return the root of each cell after joining cells with a close pair of ``points``, which are core rows.

    ``offsets`` are one of each two opposite ones, nearest first, so that most far pairs are joined already.
    """
    parents = np.arange(len(cells))
    low, high = np.empty(cells.shape), np.empty(cells.shape)
    rows = np.arange(len(points))
    for cell in range(len(cells)):
        if starts[cell] < starts[cell + 1]:
            _box(points, rows, starts[cell], starts[cell + 1], low, high, cell)
    for cell in range(len(cells)):
        if starts[cell] == starts[cell + 1]:
            continue
        for step in range(len(offsets)):
            other = table[_find_cell(cells, cell, offsets, step, table, cells)]
            if other < 0 or starts[other] == starts[other + 1]:
                continue
            a, b = _root(parents, cell), _root(parents, other)
            if a == b or _gap2(low, high, cell, low, high, other) > radius2:
                continue
            # slices of `rows`: reordered within a cell, they stay the rows of that cell
            left = rows[starts[cell] : starts[cell + 1]]
            right = rows[starts[other] : starts[other + 1]]
            if has_close_pair(points, left, right, radius2):
                parents[max(a, b)] = min(a, b)
    for cell in range(len(cells)):
        parents[cell] = _root(parents, cell)
    return parents


@njit(cache=True, nogil=True)
def nearest_core_cell(
    points: Any, is_core: Any, starts: Any, cells: Any, table: Any, offsets: Any, radius2: Any
) -> Any:
    """Return, for each row, the cell of the nearest core row within the radius, or -1 if there is none."""
    found = np.full(len(points), -1, dtype=np.int64)
    for cell in range(len(cells)):
        for i in range(starts[cell], starts[cell + 1]):
            if is_core[i]:
                found[i] = cell
                continue
            best = radius2
            for step in range(len(offsets)):
                other = table[_find_cell(cells, cell, offsets, step, table, cells)]
                if other < 0:
                    continue
                for k in range(starts[other], starts[other + 1]):
                    if is_core[k]:
                        distance = _squared_distance(points, i, k)
                        if distance < best or (distance == best and found[i] < 0):
                            best = distance
                            found[i] = other
    return found
