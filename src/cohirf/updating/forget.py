"""Take rows out of a model again: their masses leave, and the levels above the rows run again.

A model does not keep the values and weights of most rows. So what is known about a row that leaves
is its group, and perhaps its values, if it stands for its group. The average weight of the rows of
its group leaves with it, and the mean of the group stays.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.fitting.settings import Settings
from cohirf.rows.containers import container_of
from cohirf.rows.grouping import IntArray
from cohirf.summary.rows import RowMap
from cohirf.summary.state import FittedState, KnownValues
from cohirf.summary.summary import ContractedBatches, RowGroups, Summary, stack
from cohirf.updating.rerun import Transition, rerun
from cohirf.updating.update import goes_on, summary_of


def forget(settings: Settings, state: FittedState, rows: Any, updates: Any) -> FittedState:
    """Return the state without some rows, or without all rows of some updates.

    Without rows to forget, it is the same state.
    """
    before = summary_of(settings, state)
    before.row_map.require_here("The rows of this model")
    if (rows is None) == (updates is None):
        raise TypeError("forget takes either rows or updates: pass exactly one of them.")
    if rows is None:
        gone = find_rows(updates, before.update_rows)
    else:
        gone = check_gone_rows(rows, before.n_rows)
    if len(gone) == 0:
        return state
    if len(gone) == before.n_rows:
        raise ValueError(
            f"All {before.n_rows:,} rows would be forgotten, but a model needs at least one: "
            "delete it."
        )
    transition = remove_rows(state, before, gone, goes_on=goes_on(settings, state))
    return rerun(settings, state, transition)


def check_gone_rows(rows: Any, n_rows: int) -> IntArray:
    """Return sorted row numbers; raise unless they are distinct rows of the model."""
    given = np.asarray(rows)
    if given.shape == (0,):
        return np.arange(0)
    if given.dtype == bool and given.shape == (n_rows,):
        return np.flatnonzero(given)
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
        raise TypeError(
            f"rows must be a list of row numbers, or a mask of {n_rows:,} rows, not {given.dtype}."
        )
    if len(given) and (given.min() < 0 or given.max() >= n_rows):
        raise ValueError(
            f"rows has {given.min()} to {given.max()}: pass row numbers from 0 to {n_rows - 1}."
        )
    if len(np.unique(given)) < len(given):
        raise ValueError("rows has a row number twice: pass each one once.")
    return np.sort(given)


def find_rows(updates: Any, update_rows: tuple[int, ...]) -> IntArray:
    """Return the sorted numbers of all rows of the given updates."""
    numbers = np.unique(np.atleast_1d(np.asarray(updates)))
    if (
        not np.issubdtype(numbers.dtype, np.integer)
        or numbers.min() < 0
        or numbers.max() >= len(update_rows)
    ):
        if len(update_rows) == 1:
            has = "only update 0, its fit"
        else:
            has = f"updates 0, its fit, to {len(update_rows) - 1}"
        raise ValueError(f"The model has no update {', '.join(map(str, numbers))}: it has {has}.")
    stops = np.cumsum(update_rows)
    return np.concatenate(
        [np.arange(stops[number] - update_rows[number], stops[number]) for number in numbers]
    )


def leave_known(known: KnownValues, gone: IntArray) -> KnownValues:
    """Return the known rows that stay, with the numbers that they have then."""
    left = known.take(~np.isin(known.rows, gone))
    return KnownValues(shift(left.rows, gone), left.points)


def shift(rows: IntArray, gone: IntArray) -> IntArray:
    """Return the numbers that rows have after the rows in ``gone`` (sorted) have left."""
    return rows - np.searchsorted(gone, rows)


def remove_rows(
    state: FittedState, before: Summary, gone: IntArray, *, goes_on: bool
) -> Transition:
    """Return the change of a model that loses some rows."""
    position = before.row_map.find_leaves(gone)
    n_gone = np.bincount(position, minlength=len(before.groups))
    groups = _shrink(before.groups, before.row_map.count(len(before.groups)), n_gone)
    is_left = groups.sizes > 0
    known = leave_known(state.known_rows, gone)
    # missing cells of known rows are filled
    is_filled = state.column_means is not None
    groups, row_map, now = _settle_groups(
        groups, _leave_map(before.row_map, gone), gone, known, is_filled=is_filled
    )
    labels = np.empty(len(groups), dtype=np.int64)
    labels[now[is_left]] = before.labels[is_left]
    is_contracted = before.groups.heights > 0
    if not is_contracted.any():  # merged models that kept all rows: each was one batch
        batches = before.batches.without(len(gone))
    elif groups.heights.any():
        batches = before.batches.without(int(n_gone[is_contracted].sum()))
    else:  # as if no row had been contracted
        batches = ContractedBatches.none()
    after = replace(
        before,
        groups=groups,
        row_map=row_map,
        batches=batches,
        update_rows=_count_updates(before.update_rows, gone),
        labels=labels,
    )
    return Transition(
        after,
        before.labels,
        now,
        before.sizes - n_gone,
        -len(gone),
        known=known,
        column_means=state.column_means,
        lost=_count_lost(before.labels, n_gone),
        goes_on=goes_on,
        verb="forget",
    )


def _leave_map(row_map: RowMap, gone: IntArray) -> RowMap:
    """Return the map without some rows; only the parts that have some of them are written again."""
    bounds = np.searchsorted(gone, [*row_map.starts, row_map.n_rows])
    parts = [
        part if first == last else part.without(gone[first:last] - start)
        for part, start, first, last in zip(
            row_map.parts, row_map.starts, bounds, bounds[1:], strict=False
        )
    ]
    return RowMap(tuple(part for part in parts if part.n_rows))


def _shrink(groups: RowGroups, n_before: IntArray, n_gone: IntArray) -> RowGroups:
    """Return groups that have lost some of their rows, those of weight 0 included.

    One without rows has size 0.
    """
    share = 1 - n_gone / np.maximum(n_before, 1)
    return replace(
        groups,
        sizes=np.maximum(np.round(groups.sizes * share), n_before > n_gone).astype(np.int64),
        weights=None if groups.weights is None else groups.weights * share,
    )


def _put(matrix: Any, rows: IntArray, values: Any) -> Any:
    """Return an array or CSR matrix with other values in some rows."""
    index = np.arange(matrix.shape[0])
    index[rows] = matrix.shape[0] + np.arange(len(rows))
    return stack([matrix, values.astype(matrix.dtype)])[index]


def _settle_groups(
    groups: RowGroups, row_map: RowMap, gone: IntArray, known: KnownValues, *, is_filled: bool
) -> tuple[RowGroups, RowMap, IntArray]:
    """Return the groups that go on, each with a row that stands for it, and where each group is
    now.

    If this row has left, another one of the group takes its place. Its values are stand-ins if
    missing cells of the ``known`` rows were filled.
    """
    has_left = np.isin(groups.rows, gone)
    has_rows = groups.sizes > 0
    touched = np.flatnonzero(has_rows & (has_left | np.isin(groups.first_rows, gone)))
    rows = shift(groups.rows, gone)
    first_rows = shift(groups.first_rows, gone)
    values = groups.values
    first_rows[touched] = _find_members(row_map, touched, len(groups))
    is_stand_in = groups.is_stand_in.copy()
    orphans = np.flatnonzero(has_left & has_rows)
    if len(orphans):
        rows[orphans] = first_rows[orphans]
        rows[orphans], stand_ins, is_mean = _choose_medoids(
            groups, row_map, orphans, rows[orphans], known
        )
        is_stand_in[orphans] = is_mean | is_filled
        values = _put(values, orphans, stand_ins)
    order = np.flatnonzero(has_rows)
    order = order[np.argsort(rows[order], kind="stable")]
    changed = replace(
        groups, rows=rows, first_rows=first_rows, values=values, is_stand_in=is_stand_in
    )
    now = np.zeros(len(groups), dtype=np.int64)
    now[order] = np.arange(len(order))
    return changed.take(order), row_map.moved(now), now


def _find_members(row_map: RowMap, wanted: IntArray, n_groups: int) -> IntArray:
    """Return the first row of each of the wanted groups, which all have rows."""
    first = np.full(n_groups, row_map.n_rows)
    for part, start in zip(row_map.parts, row_map.starts.tolist(), strict=True):
        if np.isin(part.position, wanted).any():
            np.minimum.at(
                first, part.look_up(np.arange(n_groups)), np.arange(start, start + part.n_rows)
            )
    return first[wanted]


def _choose_medoids(
    groups: RowGroups,
    row_map: RowMap,
    orphans: IntArray,
    first_rows: IntArray,
    known: KnownValues,
) -> tuple[list[int], Any, NDArray[np.bool_]]:
    """Return row numbers and values of new medoids for groups whose medoid has left, and which
    values are means.

    The new medoid of a group is the known row of the group that is nearest to its mean. If there is
    none, the mean of the group takes the place of the values of its first row.
    """
    group_of = row_map.find_leaves(known.rows)
    by_group = np.argsort(group_of, kind="stable")
    bounds = np.searchsorted(group_of[by_group], [orphans, orphans + 1]).T
    rows = first_rows.tolist()
    values = []
    is_mean = np.zeros(len(orphans), dtype=bool)
    for number, (group, (start, stop)) in enumerate(
        zip(orphans.tolist(), bounds.tolist(), strict=True)
    ):
        own = by_group[start:stop]
        if len(own):
            difference = known.points[own] - groups.means[np.full(len(own), group)]
            squares = container_of(difference).square_lengths(difference)
            own = own[[int(squares.argmin())]]
            rows[number] = int(known.rows[own[0]])
            values.append(known.points[own])
        else:
            is_mean[number] = True
            values.append(groups.means[[group]])
    return rows, stack(values), is_mean


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
