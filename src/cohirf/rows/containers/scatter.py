"""Counts, extremes and sums by label, on the device of the labels, in the way of each array
library.

All results are the same from run to run: counts, extremes and sums of integers do not depend on the
order in which a device adds them up. Sums of floats would; ``grouping.py`` adds them as integers.
"""

from __future__ import annotations

from typing import Any

from cohirf.rows.arrays import is_cupy, is_torch, namespace
from cohirf.rows.policy import BLOCK


def count_labels(labels: Any, n_labels: int) -> Any:
    """Return the number of rows with each label."""
    if is_torch(labels) or is_cupy(labels):
        return namespace(labels).bincount(labels, minlength=n_labels)
    starts, stops, _ = _sort_labels(labels, n_labels)
    return stops - starts


def lowest(labels: Any, values: Any, n_labels: int, otherwise: Any) -> Any:
    """Return the lowest value of each label.

    ``otherwise``, which no value exceeds, where there is none.
    """
    return _extreme(labels, values, n_labels, otherwise, "min")


def highest(labels: Any, values: Any, n_labels: int, otherwise: Any) -> Any:
    """Return the highest value of each label.

    ``otherwise``, which no value is below, where there is none.
    """
    return _extreme(labels, values, n_labels, otherwise, "max")


def add(labels: Any, values: Any, sums: Any) -> Any:
    """Return ``sums``, which has one entry or row of integers for each label, plus the values of
    its rows.
    """
    if is_torch(labels):
        return sums.index_add_(0, labels, values)
    if is_cupy(labels):
        import cupy

        # of the 64-bit integers, only unsigned ones can be added; overflow makes them equal
        cupy.add.at(sums.view(cupy.uint64), labels, values.view(cupy.uint64))
        return sums
    xp = namespace(labels)
    starts, stops, order = _sort_labels(labels, sums.shape[0])
    # not include_initial=True: some versions of libraries put the zeros on another device
    running = xp.concat(
        [xp.zeros_like(values[:1, ...]), xp.cumulative_sum(xp.take(values, order, axis=0), axis=0)]
    )
    return sums + xp.take(running, stops, axis=0) - xp.take(running, starts, axis=0)


def _extreme(labels: Any, values: Any, n_labels: int, otherwise: Any, which: str) -> Any:
    xp = namespace(labels)
    if is_torch(labels):
        found = xp.full(n_labels, otherwise, dtype=values.dtype, device=labels.device)
        _update_extremes(found, labels[: BLOCK.first_reduced], values[: BLOCK.first_reduced], which)
        # rows of the same label wait for each other, so only those take part that are better than
        # the first rows
        of_label = xp.take(found, labels)
        better = xp.nonzero(values < of_label if which == "min" else values > of_label)[0]
        return _update_extremes(found, xp.take(labels, better), xp.take(values, better), which)
    # sorted by value, then by label: the first row of each label has the lowest value, the last one
    # the highest
    by_value = xp.argsort(values, stable=True)
    starts, stops, by_label = _sort_labels(xp.take(labels, by_value), n_labels)
    place = starts if which == "min" else stops - 1
    last = values.shape[0] - 1
    found = xp.take(xp.take(values, by_value), xp.take(by_label, xp.clip(place, 0, last)))
    return xp.where(
        stops > starts, found, xp.asarray(otherwise, dtype=values.dtype, device=labels.device)
    )


def _update_extremes(found: Any, labels: Any, values: Any, which: str) -> Any:
    return found.scatter_reduce_(0, labels.long(), values, f"a{which}")


def _sort_labels(labels: Any, n_labels: int) -> tuple[Any, Any, Any]:
    """Return where the rows of each label start and stop in the order of labels, and this order."""
    xp = namespace(labels)
    order = xp.argsort(labels, stable=True)
    in_order = xp.take(labels, order)
    numbers = xp.arange(n_labels, dtype=labels.dtype, device=labels.device)
    return (
        xp.searchsorted(in_order, numbers),
        xp.searchsorted(in_order, numbers, side="right"),
        order,
    )
