"""Take rows out of a model again: their masses leave, and the levels above the rows run again.

A model does not keep the values of most rows. So what is known about a row that leaves is its group, and perhaps its
values, if it is pending, or the medoid of its group, or if they are given.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.algorithm.choose_medoids import cluster_means, fill_missing
from cohirf.algorithm.grouping import IntArray
from cohirf.fitting.new_rows import select_relevant
from cohirf.landmarks import Landmarks
from cohirf.summary.leaves import Leaves, stack
from cohirf.summary.row_map import RowMap
from cohirf.summary.summary import Batches, Pending, Summary
from cohirf.updating.climb import find_groups, relevant_means
from cohirf.updating.rerun import Transition, rerun
from cohirf.updating.thinning import Nearest, join_nearest, weigh
from cohirf.updating.update import summary_of


def forget_rows(model: Any, rows: Any, updates: Any, values: Any) -> dict[str, Any]:
    """Return the fitted attributes of a model without some rows, or without all rows of some updates."""
    before = summary_of(model)
    if not before.row_map.is_here:
        raise ValueError("The rows of this model are on Dask: call gather() first, which loads 13 bytes per row.")
    if (rows is None) == (updates is None):
        raise TypeError("forget takes either rows or updates: pass exactly one of them.")
    order: IntArray = np.arange(0)
    if updates is None:
        given = check_rows(rows, before.n_rows)
        order = np.argsort(given, kind="stable")
        gone = given[order]
    else:
        gone = find_rows(updates, before.update_rows)
    if len(gone) == before.n_rows:
        raise ValueError(f"All {before.n_rows:,} rows would be forgotten, but a model needs at least one: delete it.")
    if values is not None:
        if values.shape[0] != len(gone):
            raise ValueError(f"X has {values.shape[0]:,} rows, but {len(gone):,} are forgotten: pass their values.")
        values = values[order] if updates is None else values
    leave_landmarks(model, gone)
    return rerun(model, remove_rows(model, before, gone, values))


def check_rows(rows: Any, n_rows: int) -> IntArray:
    """Return row numbers; raise unless they are distinct rows of the model."""
    given = np.asarray(rows)
    if given.dtype == bool and given.shape == (n_rows,):
        return np.flatnonzero(given)
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
        raise TypeError(f"rows must be a list of row numbers, or a mask of {n_rows:,} rows, not {given.dtype}.")
    if len(given) and (given.min() < 0 or given.max() >= n_rows):
        raise ValueError(f"rows has {given.min()} to {given.max()}: pass row numbers from 0 to {n_rows - 1}.")
    if len(np.unique(given)) < len(given):
        raise ValueError("rows has a row number twice: pass each one once.")
    return given


def find_rows(updates: Any, update_rows: tuple[int, ...]) -> IntArray:
    """Return the sorted numbers of all rows of the given updates."""
    numbers = np.unique(np.atleast_1d(np.asarray(updates)))
    if not np.issubdtype(numbers.dtype, np.integer) or numbers.min() < 0 or numbers.max() >= len(update_rows):
        raise ValueError(f"updates={updates!r} is not valid: pass numbers from 0 to {len(update_rows) - 1}.")
    stops = np.cumsum(update_rows)
    return np.concatenate([np.arange(stops[number] - update_rows[number], stops[number]) for number in numbers])


def leave_landmarks(model: Any, gone: IntArray) -> None:
    """Remove rows from the landmarks of a model, and shift the numbers of the others."""
    rows, landmarks = model._landmark_rows, model._landmarks
    stays = ~np.isin(rows, gone)
    model._landmark_rows = shift(rows[stays], gone)
    model._landmarks = Landmarks(landmarks.points[stays], landmarks.labels[stays])


def shift(rows: IntArray, gone: IntArray) -> IntArray:
    """Return the numbers that rows have after the rows in ``gone`` (sorted) have left."""
    return rows - np.searchsorted(gone, rows)


def remove_rows(model: Any, before: Summary, gone: IntArray, values: Any) -> Transition:
    """Return the change of a model that loses the rows in ``gone``, which are sorted."""
    position = find_groups(before, gone)
    counts = np.bincount(position, minlength=len(before.labels))
    sizes = np.maximum(before.sizes - counts, 0)
    n_contracted, n_leaves = before.row_map.n_rows, before.n_leaves
    cut = int(np.searchsorted(gone, n_contracted))
    leaves, row_map = before.leaves, before.row_map
    now: IntArray = np.empty(0, dtype=np.int64)
    if leaves is not None:
        row_map = _leave_map(row_map, gone[:cut])
        of_rows = None if values is None else values[:cut]
        shrunk = _shrink(model, leaves, sizes[:n_leaves], position[:cut], of_rows)
        settle = _settle_medoids if leaves.means is not None else _settle_sample
        leaves, row_map, now = settle(model, shrunk, row_map, gone[:cut])
    pending_stay = np.ones(before.pending.n_rows, dtype=bool)
    pending_stay[gone[cut:] - n_contracted] = False
    n_now = 0 if leaves is None else len(leaves)
    now = np.concatenate([now, n_now + np.cumsum(pending_stay) - 1])
    after = replace(
        before,
        leaves=leaves if n_now else None,
        row_map=row_map if n_now else RowMap(),
        pending=_leave_pending(before.pending, pending_stay),
        batches=before.batches.without(cut) if n_now else Batches.none(0),
        update_rows=_count_updates(before.update_rows, gone),
    )
    lost = _count_lost(before.labels, counts)
    return Transition(after, before.labels, np.maximum(now, 0), sizes, -len(gone), lost)


def _leave_map(row_map: RowMap, gone: IntArray) -> RowMap:
    """Return the map without some rows; only the parts that have some of them are written again."""
    bounds = np.searchsorted(gone, [*row_map.starts, row_map.n_rows])
    parts = [
        part if first == last else part.without(gone[first:last] - start)
        for part, start, first, last in zip(row_map.parts, row_map.starts, bounds, bounds[1:], strict=False)
    ]
    return RowMap(tuple(part for part in parts if part.n_rows))


def _shrink(model: Any, leaves: Leaves, sizes: IntArray, position: IntArray, values: Any) -> Leaves:
    """Return groups that have lost rows; their means change if the values of these rows are given.

    The weight of a single row is not known: the average weight of its group leaves.
    """
    share = sizes / leaves.sizes
    means = leaves.means
    if values is not None and means is not None and len(position):
        own = fill_missing(select_relevant(values, model.relevant_features_), relevant_means(model))
        touched, number = np.unique(position, return_inverse=True)
        some = share[touched] > 0
        lost = cluster_means(own, number, len(touched), None)[some]
        touched, left = touched[some], share[touched[some]]
        of_left = sparse.diags_array(1 / left) @ (means[touched] - sparse.diags_array(1 - left) @ lost)
        means = _put(means, touched, of_left)
    # a group without rows that count may have rows of weight 0 left
    weights = None if leaves.weights is None else leaves.weights * np.maximum(sizes, 1) / leaves.sizes
    return replace(leaves, sizes=sizes, means=means, weights=weights)


def _put(matrix: Any, rows: IntArray, values: Any) -> Any:
    """Return an array or CSR matrix with other values in some rows."""
    index = np.arange(matrix.shape[0])
    index[rows] = matrix.shape[0] + np.arange(len(rows))
    return stack([matrix, values.astype(matrix.dtype)])[index]


def _settle_medoids(
    model: Any, leaves: Leaves, row_map: RowMap, gone: IntArray
) -> tuple[Leaves | None, RowMap, IntArray]:
    """Return the groups that have rows left, each with a medoid that is still there; also where each one is now.

    The new medoid of a group is the landmark of the group that is nearest to its mean. If it has no landmark, the mean
    of the group takes the place of the values of its first row.
    """
    touched = np.flatnonzero((leaves.sizes == 0) | np.isin(leaves.rows, gone))
    members = _find_members(row_map, touched, len(leaves))
    sizes = leaves.sizes.copy()
    sizes[[leaf for leaf in members if sizes[leaf] == 0]] = 1  # rows of weight 0 are left
    orphans = np.array([leaf for leaf in members if leaves.rows[leaf] in gone], dtype=np.int64)
    chosen = [_choose_medoid(model, leaves, row_map, leaf, members[leaf]) for leaf in orphans.tolist()]
    rows, values = shift(leaves.rows, gone), leaves.values
    if chosen:
        rows[orphans] = [row for row, _ in chosen]
        values = _put(values, orphans, stack([own for _, own in chosen]))
    first_rows = np.minimum(shift(leaves.first_rows, gone), rows)
    alive = np.flatnonzero(sizes > 0)
    order = alive[np.argsort(rows[alive], kind="stable")]
    kept = replace(leaves, rows=rows, values=values, first_rows=first_rows, sizes=sizes).take(order)
    now = np.full(len(leaves), -1)
    now[order] = np.arange(len(order))
    return kept if len(order) else None, row_map.moved(now), now


def _find_members(row_map: RowMap, wanted: IntArray, n_leaves: int) -> dict[int, int]:
    """Return the first row of each of the wanted leaves that has rows."""
    found: dict[int, int] = {}
    is_wanted = np.zeros(n_leaves, dtype=bool)
    is_wanted[wanted] = True
    for part, start in zip(row_map.parts, row_map.starts.tolist(), strict=True):
        if is_wanted[part.position].any():
            leaf = part.look_up(np.arange(n_leaves))
            inside = np.flatnonzero(is_wanted[leaf])
            leaves, first = np.unique(leaf[inside], return_index=True)
            first_rows = (start + inside[first]).tolist()
            found = dict(zip(leaves.tolist(), first_rows, strict=True)) | found
    return found


def _choose_medoid(model: Any, leaves: Leaves, row_map: RowMap, leaf: int, member: int) -> tuple[int, Any]:
    """Return row number and values of a new medoid for a group whose medoid has left."""
    mean = leaves.means[[leaf]]
    landmarks = model._landmark_rows
    inside = landmarks < row_map.n_rows
    own = np.flatnonzero(inside)[row_map.find_leaves(landmarks[inside]) == leaf]
    if len(own) and model.relevant_features_ is None:
        points = model._landmarks.points[own]
        distance = np.asarray(abs(points - mean).sum(axis=1)).ravel()
        nearest = int(distance.argmin())
        return int(landmarks[own[nearest]]), points[[nearest]]
    if model.relevant_features_ is None:
        return member, mean
    values = np.asarray(leaves.values.mean(axis=0)).reshape(1, -1)  # features that no distance depends on
    values[:, model.relevant_features_] = mean
    return member, values


def _settle_sample(
    model: Any, leaves: Leaves, row_map: RowMap, gone: IntArray
) -> tuple[Leaves | None, RowMap, IntArray]:
    """Return the rows of a sample that are still there; rows that had joined a row that has left join the nearest one.

    Also returns where each of them is now.
    """
    stays = ~np.isin(leaves.rows, gone)
    if not stays.any():
        raise ValueError("All rows of the sample that the model keeps would be forgotten: fit it again.")
    kept = leaves.take(stays)
    kept = replace(kept, rows=shift(kept.rows, gone), first_rows=shift(kept.first_rows, gone))
    now = join_nearest(leaves, stays, Nearest(model, kept.values))
    return weigh(kept, now, leaves.sizes, leaves.weights), row_map.moved(now), now


def _leave_pending(pending: Pending, stays: NDArray[np.bool_]) -> Pending:
    if pending.n_rows == 0 or stays.all():
        return pending
    weights = None if pending.weights is None else pending.weights[stays]
    return Pending(pending.values[stays], weights, pending.lots[stays])


def _count_updates(update_rows: tuple[int, ...], gone: IntArray) -> tuple[int, ...]:
    """Return the number of rows that are left of each update."""
    lost = np.diff(np.searchsorted(gone, np.cumsum((0, *update_rows))))
    return tuple((np.array(update_rows) - lost).tolist())


def _count_lost(labels: IntArray, counts: IntArray) -> dict[int, int]:
    """Return how many rows of each cluster have left."""
    some = (counts > 0) & (labels >= 0)
    numbers, which = np.unique(labels[some], return_inverse=True)
    rows = np.bincount(which, weights=counts[some]).astype(int)
    return dict(zip(numbers.tolist(), rows.tolist(), strict=True))
