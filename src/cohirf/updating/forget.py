"""Take rows out of a model again: their masses leave, and the levels above the rows run again.

A model does not keep the values and weights of most rows. So what is known about a row that leaves is its group, and
perhaps its values, if it is pending, or the medoid of its group. What is not known can be given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances_argmin

from cohirf.algorithm.choose_medoids import cluster_means, fill_missing
from cohirf.algorithm.contract_batch import Mass
from cohirf.algorithm.grouping import IntArray, sum_by_label
from cohirf.neighbours.landmarks import Landmarks
from cohirf.summary.leaves import Leaves, stack
from cohirf.summary.model import Model, set_state, state_of
from cohirf.summary.row_map import RowMap
from cohirf.summary.summary import Batches, Pending, Summary
from cohirf.updating.climb import find_groups
from cohirf.updating.rerun import Transition, rerun
from cohirf.updating.settings import known_landmarks
from cohirf.updating.update import goes_on, summary_of

ROUNDING = 1e-9  # of sums of weights


@dataclass(frozen=True)
class Gone:
    """Rows that leave.

    Attributes
    ----------
    rows : array of int
        Their numbers, sorted.
    values : array, CSR matrix or None
        Their values, if they are given.
    weights : array of float or None
        Their sample weights, if they are given.
    """

    rows: IntArray
    values: Any = None
    weights: Mass | None = None

    def take(self, some: slice) -> Gone:
        """Return some of the rows."""
        values = None if self.values is None else self.values[some]
        return Gone(self.rows[some], values, None if self.weights is None else self.weights[some])


def forget_rows(model: Model, rows: Any, updates: Any, values: Any, sample_weight: Any) -> dict[str, Any] | None:
    """Return the fitted attributes of a model without some rows, or without all rows of some updates.

    Returns None if there is nothing to forget.
    """
    before = summary_of(model)
    if not before.row_map.is_here:
        raise ValueError("The rows of this model are on Dask: call gather() first, which loads 8 bytes per row.")
    if (rows is None) == (updates is None):
        raise TypeError("forget takes either rows or updates: pass exactly one of them.")
    gone = find_rows(updates, before.update_rows) if rows is None else check_rows(rows, before.n_rows)
    if len(gone) == 0:
        return None
    if len(gone) == before.n_rows:
        raise ValueError(f"All {before.n_rows:,} rows would be forgotten, but a model needs at least one: delete it.")
    if values is not None and values.shape[0] != len(gone):
        raise ValueError(f"X has {values.shape[0]:,} rows, but {len(gone):,} are forgotten: pass their values.")
    weights = check_weights(sample_weight, before, len(gone))
    order = np.argsort(gone, kind="stable")
    sorted_rows = Gone(
        gone[order], None if values is None else values[order], None if weights is None else weights[order]
    )
    leave_landmarks(model, sorted_rows.rows)
    return rerun(model, remove_rows(model, before, sorted_rows))


def check_rows(rows: Any, n_rows: int) -> IntArray:
    """Return row numbers; raise unless they are distinct rows of the model."""
    given = np.asarray(rows)
    if given.shape == (0,):
        return np.arange(0)
    if given.dtype == bool and given.shape == (n_rows,):
        return np.flatnonzero(given)
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
        raise TypeError(f"rows must be a list of row numbers, or a mask of {n_rows:,} rows, not {given.dtype}.")
    if len(given) and (given.min() < 0 or given.max() >= n_rows):
        raise ValueError(f"rows has {given.min()} to {given.max()}: pass row numbers from 0 to {n_rows - 1}.")
    if len(np.unique(given)) < len(given):
        raise ValueError("rows has a row number twice: pass each one once.")
    return given


def check_weights(sample_weight: Any, before: Summary, n_rows: int) -> Mass | None:
    """Return the sample weights of the rows that leave; raise unless they are those of a model with weights."""
    if sample_weight is None:
        return None
    leaves = before.leaves
    if (before.pending if leaves is None else leaves).weights is None:
        raise ValueError("The rows of this model have no sample weights: leave sample_weight out.")
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,) or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(f"sample_weight must have one finite number >= 0 for each of the {n_rows:,} forgotten rows.")
    return weights


def find_rows(updates: Any, update_rows: tuple[int, ...]) -> IntArray:
    """Return the sorted numbers of all rows of the given updates."""
    numbers = np.unique(np.atleast_1d(np.asarray(updates)))
    if not np.issubdtype(numbers.dtype, np.integer) or numbers.min() < 0 or numbers.max() >= len(update_rows):
        raise ValueError(f"updates={updates!r} is not valid: pass numbers from 0 to {len(update_rows) - 1}.")
    stops = np.cumsum(update_rows)
    return np.concatenate([np.arange(stops[number] - update_rows[number], stops[number]) for number in numbers])


def leave_landmarks(model: Model, gone: IntArray) -> None:
    """Remove rows from the landmarks of a model, and shift the numbers of the others."""
    rows, landmarks = known_landmarks(model)
    stays = ~np.isin(rows, gone)
    landmarks = Landmarks(landmarks.points[stays], landmarks.labels[stays], metric=landmarks.metric)
    set_state(model, landmark_rows=shift(rows[stays], gone), landmarks=landmarks)


def shift(rows: IntArray, gone: IntArray) -> IntArray:
    """Return the numbers that rows have after the rows in ``gone`` (sorted) have left."""
    return rows - np.searchsorted(gone, rows)


def remove_rows(model: Model, before: Summary, gone: Gone) -> Transition:
    """Return the change of a model that loses some rows."""
    position = find_groups(before, gone.rows)
    n_contracted = before.row_map.n_rows
    cut = int(np.searchsorted(gone.rows, n_contracted))
    leaves, row_map = before.leaves, before.row_map
    now: IntArray = np.empty(0, dtype=np.int64)
    pending_stay = np.ones(before.pending.n_rows, dtype=bool)
    pending_stay[gone.rows[cut:] - n_contracted] = False
    n_gone = np.bincount(position, minlength=len(before.labels))
    is_left = np.append(np.zeros(before.n_leaves, dtype=bool), pending_stay)
    if leaves is not None:
        of_leaves = gone.take(slice(0, cut))
        leaves = _shrink(model, leaves, row_map, position[:cut], of_leaves)
        is_left[: len(leaves)] = leaves.sizes > 0
        row_map = _leave_map(row_map, of_leaves.rows)
        leaves, row_map, now = _settle(model, leaves, row_map, of_leaves.rows)
    n_now = 0 if leaves is None else len(leaves)
    now = np.concatenate([now, n_now + np.cumsum(pending_stay) - 1])
    labels = np.empty(n_now + np.count_nonzero(pending_stay), dtype=np.int64)
    labels[now[is_left]] = before.labels[is_left]
    after = replace(
        before,
        leaves=leaves,
        row_map=row_map if n_now else RowMap(),
        pending=_leave_pending(before.pending, pending_stay),
        batches=before.batches.without(cut) if n_now else Batches.none(0),
        update_rows=_count_updates(before.update_rows, gone.rows),
        labels=labels,
    )
    return Transition(
        after,
        before.labels,
        np.maximum(now, 0),
        before.sizes - n_gone,
        -len(gone.rows),
        lost=_count_lost(before.labels, n_gone),
        goes_on=goes_on(model, before),
        verb="forget",
    )


def _leave_map(row_map: RowMap, gone: IntArray) -> RowMap:
    """Return the map without some rows; only the parts that have some of them are written again."""
    bounds = np.searchsorted(gone, [*row_map.starts, row_map.n_rows])
    parts = [
        part if first == last else part.without(gone[first:last] - start)
        for part, start, first, last in zip(row_map.parts, row_map.starts, bounds, bounds[1:], strict=False)
    ]
    return RowMap(tuple(part for part in parts if part.n_rows))


def _shrink(model: Model, leaves: Leaves, row_map: RowMap, position: IntArray, gone: Gone) -> Leaves:
    """Return groups that have lost the rows at the given positions; a group without rows that count has size 0.

    If the weights of these rows are not given, the average weight of the rows of its group leaves with each of them.
    The means of groups change if the values of the rows are given.
    """
    n_before = row_map.count(len(leaves))  # with rows of weight 0, which sizes do not count
    n_gone, counts = np.bincount(position, minlength=len(leaves)), np.ones(len(position), dtype=bool)
    n_left, share = n_before - n_gone, 1 - n_gone / np.maximum(n_before, 1)
    if gone.weights is None:
        weights = None if leaves.weights is None else leaves.weights * share
        sizes = np.maximum(np.round(leaves.sizes * share), n_left > 0).astype(np.int64)
    else:
        assert leaves.weights is not None  # see check_weights
        counts = gone.weights > 0
        lost = sum_by_label(position, gone.weights, len(leaves))
        if (lost > leaves.weights * (1 + ROUNDING)).any():
            raise ValueError("sample_weight is larger than the weights of these rows: pass those that they were given.")
        sizes = np.clip(leaves.sizes - np.bincount(position[counts], minlength=len(leaves)), 0, n_left)
        weights = np.where(sizes > 0, np.maximum(leaves.weights - lost, 0), 0.0)
        sizes = np.where(weights > 0, sizes, 0)
        share = weights / leaves.weights
    shrunk = replace(leaves, sizes=sizes, weights=weights)
    if gone.values is None or not counts.any():
        return shrunk
    own = fill_missing(gone.values[counts], state_of(model).column_means)
    touched, number = np.unique(position[counts], return_inverse=True)
    of_rows = None if gone.weights is None else gone.weights[counts]
    lost_means = cluster_means(own, number, len(touched), of_rows)
    some = share[touched] > 0
    touched, left = touched[some], share[touched[some]]
    of_left = sparse.diags_array(1 / left) @ (leaves.means[touched] - sparse.diags_array(1 - left) @ lost_means[some])
    return replace(shrunk, means=_put(leaves.means, touched, of_left))


def _put(matrix: Any, rows: IntArray, values: Any) -> Any:
    """Return an array or CSR matrix with other values in some rows."""
    index = np.arange(matrix.shape[0])
    index[rows] = matrix.shape[0] + np.arange(len(rows))
    return stack([matrix, values.astype(matrix.dtype)])[index]


def _settle(model: Model, leaves: Leaves, row_map: RowMap, gone: IntArray) -> tuple[Leaves | None, RowMap, IntArray]:
    """Return the groups that go on, each with a row that stands for it, and where each group is now.

    If this row has left, another one of the group takes its place. Rows of groups that do not go on, which all have
    weight 0, join the nearest one that does.
    """
    has_left = np.isin(leaves.rows, gone)
    touched = np.flatnonzero(has_left | np.isin(leaves.first_rows, gone))
    members = _find_members(row_map, touched, len(leaves))
    rows, first_rows, values = shift(leaves.rows, gone), shift(leaves.first_rows, gone), leaves.values
    is_stand_in = leaves.is_stand_in.copy()
    first_rows[touched] = row_map.n_rows  # groups without rows
    first_rows[list(members)] = list(members.values())
    has_rows = leaves.sizes > 0
    orphans = np.flatnonzero(has_left & has_rows)
    if len(orphans):
        rows[orphans] = first_rows[orphans]
        rows[orphans], stand_ins, is_stand_in[orphans] = _choose_medoids(model, leaves, row_map, orphans, rows[orphans])
        values = _put(values, orphans, stand_ins)
    order = np.flatnonzero(has_rows)
    order = order[np.argsort(rows[order], kind="stable")]
    if len(order) == 0:
        if row_map.n_rows:
            raise ValueError("All rows that stand for the others would be forgotten: fit the model again.")
        return None, row_map, np.full(len(leaves), -1)
    kept = replace(leaves, rows=rows, values=values, is_stand_in=is_stand_in).take(order)
    now = np.zeros(len(leaves), dtype=np.int64)
    now[order] = np.arange(len(order))
    join = np.flatnonzero(~has_rows & (first_rows < row_map.n_rows))
    if len(join):
        now[join] = pairwise_distances_argmin(leaves.means[join], kept.means)
    first = np.full(len(order), row_map.n_rows)
    np.minimum.at(first, now, first_rows)
    return replace(kept, first_rows=first), row_map.moved(now), now


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


def _choose_medoids(
    model: Model, leaves: Leaves, row_map: RowMap, orphans: IntArray, first_rows: IntArray
) -> tuple[list[int], Any, list[bool]]:
    """Return row numbers and values of new medoids for groups whose medoid has left, and which values are stand-ins.

    The new medoid of a group is the landmark of the group that is nearest to its mean. If it has no landmark, the mean
    of the group takes the place of the values of its first row.
    """
    landmarks = state_of(model).landmark_rows[state_of(model).landmark_rows < row_map.n_rows]
    leaf_of = row_map.find_leaves(landmarks)
    by_leaf = np.argsort(leaf_of, kind="stable")
    bounds = np.searchsorted(leaf_of[by_leaf], [orphans, orphans + 1]).T
    rows, values, are_stand_ins = first_rows.tolist(), [], []
    for number, (leaf, (start, stop)) in enumerate(zip(orphans.tolist(), bounds.tolist(), strict=True)):
        own = by_leaf[start:stop]
        if len(own):
            difference = state_of(model).landmarks.points[own] - leaves.means[np.full(len(own), leaf)]
            squares = difference.multiply(difference) if sparse.issparse(difference) else difference**2
            own = own[[int(np.asarray(squares.sum(axis=1)).argmin())]]
            rows[number] = int(landmarks[own[0]])
            values.append(state_of(model).landmarks.points[own])
            are_stand_ins.append(state_of(model).column_means is not None)  # missing cells of landmarks are filled
        else:
            are_stand_ins.append(True)
            values.append(leaves.means[[leaf]])
    return rows, stack(values), are_stand_ins


def _leave_pending(pending: Pending, stays: NDArray[np.bool_]) -> Pending:
    if pending.n_rows == 0 or stays.all():
        return pending
    weights = None if pending.weights is None else pending.weights[stays]
    return Pending(pending.values[stays], weights)


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
