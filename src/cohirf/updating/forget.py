"""Take rows out of a model again: their masses leave, and the levels above the rows run again.

A model does not keep the values and weights of most rows. So what is known about a row that leaves is its group, and
perhaps its values, if it stands for its group. What is not known can be given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances_argmin

from cohirf.algorithm.choose_medoids import cluster_means, fill_missing
from cohirf.neighbours.landmarks import Landmarks
from cohirf.rows.grouping import IntArray, Mass, sum_by_label
from cohirf.summary.model import Model, set_state, state_of
from cohirf.summary.rows import RowMap
from cohirf.summary.summary import ContractedBatches, RowGroups, Summary, stack
from cohirf.updating.rerun import Transition, known_landmarks, rerun
from cohirf.updating.update import goes_on, summary_of

WEIGHT_ROUNDING = 1e-9  # of sums of weights


@dataclass(frozen=True)
class Gone:
    """Rows that leave."""

    rows: IntArray  # their numbers, sorted
    values: Any = None  # their values, if they are given
    weights: Mass | None = None  # their sample weights, if they are given


def forget_rows(model: Model, rows: Any, updates: Any, values: Any, sample_weight: Any) -> dict[str, Any] | None:
    """Return the fitted attributes of a model without some rows, or without all rows of some updates.

    Returns None if there is nothing to forget.
    """
    before = summary_of(model)
    if not before.row_map.is_here:
        raise ValueError("The rows of this model are on Dask: call gather() first, which loads 8 bytes per row.")
    if (rows is None) == (updates is None):
        raise TypeError("forget takes either rows or updates: pass exactly one of them.")
    gone = find_rows(updates, before.update_rows) if rows is None else check_gone_rows(rows, before.n_rows)
    if len(gone) == 0:
        return None
    if len(gone) == before.n_rows:
        raise ValueError(f"All {before.n_rows:,} rows would be forgotten, but a model needs at least one: delete it.")
    if values is not None and values.shape[0] != len(gone):
        raise ValueError(f"X has {values.shape[0]:,} rows, but {len(gone):,} are forgotten: pass their values.")
    weights = check_gone_weights(sample_weight, before, len(gone))
    order = np.argsort(gone, kind="stable")
    sorted_rows = Gone(
        gone[order], None if values is None else values[order], None if weights is None else weights[order]
    )
    leave_landmarks(model, sorted_rows.rows)
    return rerun(model, remove_rows(model, before, sorted_rows))


def check_gone_rows(rows: Any, n_rows: int) -> IntArray:
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


def check_gone_weights(sample_weight: Any, before: Summary, n_rows: int) -> Mass | None:
    """Return the sample weights of the rows that leave; raise unless they are those of a model with weights."""
    if sample_weight is None:
        return None
    if before.groups.weights is None:
        raise ValueError("The rows of this model have no sample weights: leave sample_weight out.")
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,) or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(f"sample_weight must have one finite number >= 0 for each of the {n_rows:,} forgotten rows.")
    return weights


def find_rows(updates: Any, update_rows: tuple[int, ...]) -> IntArray:
    """Return the sorted numbers of all rows of the given updates."""
    numbers = np.unique(np.atleast_1d(np.asarray(updates)))
    if not np.issubdtype(numbers.dtype, np.integer) or numbers.min() < 0 or numbers.max() >= len(update_rows):
        has = "only update 0, its fit" if len(update_rows) == 1 else f"updates 0, its fit, to {len(update_rows) - 1}"
        raise ValueError(f"The model has no update {', '.join(map(str, numbers))}: it has {has}.")
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
    position = before.row_map.find_leaves(gone.rows)
    n_gone = np.bincount(position, minlength=len(before.groups))
    groups = _shrink(model, before.groups, before.row_map, position, gone)
    is_left = groups.sizes > 0
    groups, row_map, now = _settle_groups(model, groups, _leave_map(before.row_map, gone.rows), gone.rows)
    labels = np.empty(len(groups), dtype=np.int64)
    labels[now[is_left]] = before.labels[is_left]
    is_contracted = before.groups.heights > 0
    batches = before.batches.without(int(n_gone[is_contracted].sum()))
    if is_contracted.any() and not groups.heights.any():  # as if no row had been contracted
        batches = ContractedBatches.none()
    after = replace(
        before,
        groups=groups,
        row_map=row_map,
        batches=batches,
        update_rows=_count_updates(before.update_rows, gone.rows),
        labels=labels,
    )
    return Transition(
        after,
        before.labels,
        now,
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


def _shrink(model: Model, groups: RowGroups, row_map: RowMap, position: IntArray, gone: Gone) -> RowGroups:
    """Return groups that have lost the rows at the given positions; a group without rows that count has size 0.

    If the weights of these rows are not given, the average weight of the rows of its group groups with each of them.
    The means of groups change if the values of the rows are given.
    """
    n_before = row_map.count(len(groups))  # with rows of weight 0, which sizes do not count
    n_gone, counts = np.bincount(position, minlength=len(groups)), np.ones(len(position), dtype=bool)
    n_left, share = n_before - n_gone, 1 - n_gone / np.maximum(n_before, 1)
    if gone.weights is None:
        weights = None if groups.weights is None else groups.weights * share
        sizes = np.maximum(np.round(groups.sizes * share), n_left > 0).astype(np.int64)
    else:
        assert groups.weights is not None  # see check_gone_weights
        counts = gone.weights > 0
        lost = sum_by_label(position, gone.weights, len(groups))
        if (lost > groups.weights * (1 + WEIGHT_ROUNDING)).any():
            raise ValueError("sample_weight is larger than the weights of these rows: pass those that they were given.")
        sizes = np.clip(groups.sizes - np.bincount(position[counts], minlength=len(groups)), 0, n_left)
        weights = np.where(sizes > 0, np.maximum(groups.weights - lost, 0), 0.0)
        sizes = np.where((weights > 0) | (groups.heights == 0), sizes, 0)  # a row of weight 0 can be a group
        share = np.divide(weights, groups.weights, out=np.zeros(len(groups)), where=groups.weights > 0)
    shrunk = replace(groups, sizes=sizes, weights=weights)
    if gone.values is None or not counts.any():
        return shrunk
    own = fill_missing(gone.values[counts], state_of(model).column_means)
    touched, number = np.unique(position[counts], return_inverse=True)
    of_rows = None if gone.weights is None else gone.weights[counts]
    lost_means = cluster_means(own, number, len(touched), of_rows)
    some = share[touched] > 0
    touched, left = touched[some], share[touched[some]]
    of_left = sparse.diags_array(1 / left) @ (groups.means[touched] - sparse.diags_array(1 - left) @ lost_means[some])
    return replace(shrunk, means=_put(groups.means, touched, of_left))


def _put(matrix: Any, rows: IntArray, values: Any) -> Any:
    """Return an array or CSR matrix with other values in some rows."""
    index = np.arange(matrix.shape[0])
    index[rows] = matrix.shape[0] + np.arange(len(rows))
    return stack([matrix, values.astype(matrix.dtype)])[index]


def _settle_groups(
    model: Model, groups: RowGroups, row_map: RowMap, gone: IntArray
) -> tuple[RowGroups, RowMap, IntArray]:
    """Return the groups that go on, each with a row that stands for it, and where each group is now.

    If this row has left, another one of the group takes its place. Rows of groups that do not go on, which all have
    weight 0, join the nearest one that does.
    """
    has_left = np.isin(groups.rows, gone)
    touched = np.flatnonzero(has_left | np.isin(groups.first_rows, gone))
    members = _find_members(row_map, touched, len(groups))
    rows, first_rows, values = shift(groups.rows, gone), shift(groups.first_rows, gone), groups.values
    is_stand_in = groups.is_stand_in.copy()
    first_rows[touched] = row_map.n_rows  # groups without rows
    first_rows[list(members)] = list(members.values())
    has_rows = groups.sizes > 0
    orphans = np.flatnonzero(has_left & has_rows)
    if len(orphans):
        rows[orphans] = first_rows[orphans]
        rows[orphans], stand_ins, is_stand_in[orphans] = _choose_medoids(model, groups, row_map, orphans, rows[orphans])
        values = _put(values, orphans, stand_ins)
    order = np.flatnonzero(has_rows)
    order = order[np.argsort(rows[order], kind="stable")]
    if len(order) == 0:
        raise ValueError("All rows that stand for the others would be forgotten: fit the model again.")
    kept = replace(groups, rows=rows, values=values, is_stand_in=is_stand_in).take(order)
    now = np.zeros(len(groups), dtype=np.int64)
    now[order] = np.arange(len(order))
    join = np.flatnonzero(~has_rows & (first_rows < row_map.n_rows))
    if len(join):
        means = kept.completed(state_of(model).column_means).means
        now[join] = pairwise_distances_argmin(groups.means[join], means)
    first = np.full(len(order), row_map.n_rows)
    np.minimum.at(first, now, first_rows)
    return replace(kept, first_rows=first), row_map.moved(now), now


def _find_members(row_map: RowMap, wanted: IntArray, n_groups: int) -> dict[int, int]:
    """Return the first row of each of the wanted groups that has rows."""
    found: dict[int, int] = {}
    is_wanted = np.zeros(n_groups, dtype=bool)
    is_wanted[wanted] = True
    for part, start in zip(row_map.parts, row_map.starts.tolist(), strict=True):
        if is_wanted[part.position].any():
            group = part.look_up(np.arange(n_groups))
            inside = np.flatnonzero(is_wanted[group])
            groups, first = np.unique(group[inside], return_index=True)
            first_rows = (start + inside[first]).tolist()
            found = dict(zip(groups.tolist(), first_rows, strict=True)) | found
    return found


def _choose_medoids(
    model: Model, groups: RowGroups, row_map: RowMap, orphans: IntArray, first_rows: IntArray
) -> tuple[list[int], Any, list[bool]]:
    """Return row numbers and values of new medoids for groups whose medoid has left, and which values are stand-ins.

    The new medoid of a group is the landmark of the group that is nearest to its mean. If it has no landmark, the mean
    of the group takes the place of the values of its first row.
    """
    landmarks, points = state_of(model).landmark_rows, state_of(model).landmarks.points
    group_of = row_map.find_leaves(landmarks)
    by_group = np.argsort(group_of, kind="stable")
    bounds = np.searchsorted(group_of[by_group], [orphans, orphans + 1]).T
    rows, values, are_stand_ins = first_rows.tolist(), [], []
    for number, (group, (start, stop)) in enumerate(zip(orphans.tolist(), bounds.tolist(), strict=True)):
        own = by_group[start:stop]
        if len(own):
            difference = points[own] - groups.means[np.full(len(own), group)]
            squares = difference.multiply(difference) if sparse.issparse(difference) else difference**2
            own = own[[int(np.asarray(squares.sum(axis=1)).argmin())]]
            rows[number] = int(landmarks[own[0]])
            values.append(points[own])
            are_stand_ins.append(state_of(model).column_means is not None)  # missing cells of landmarks are filled
        else:
            are_stand_ins.append(True)
            values.append(groups.means[[group]])
    return rows, stack(values), are_stand_ins


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
