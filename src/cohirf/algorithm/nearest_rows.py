"""Distances of rows to a few points, and the nearest of these, where the rows are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances_argmin

from cohirf.algorithm.arrays import is_here, namespace, put_beside, to_host
from cohirf.algorithm.device_blocks import in_blocks

BLOCK_CELLS = 2**27  # distances, or values of rows in float64, that are in memory at once


def find_nearest(X: Any, points: Any, *, exact: bool = True, groups: Any = None, group_of_row: Any = None) -> Any:
    """Return the number of the point nearest to each row of ``X``, where ``X`` is.

    If points have ``groups``, a row on a device is compared with the points of its own group only.

    On a device, the squared distance to a point is that to the origin, which does not matter, plus a linear function.
    It is computed in float64 or, unless it is to be ``exact``, in float32.
    """
    if is_here(X):
        return pairwise_distances_argmin(X, points)
    xp = namespace(X)
    dtype = xp.float64 if exact else xp.float32
    points = to_host(points)
    origin = np.asarray(points, dtype=np.float64).mean(axis=0)  # distances between points near it lose no digits
    centred = np.asarray(points, dtype=np.float64) - origin
    shift = xp.astype(put_beside(origin, X), dtype)
    weights = xp.astype(put_beside(-2 * centred.T, X), dtype)
    constants = xp.astype(put_beside((centred**2).sum(axis=1), X), dtype)
    found = xp.empty(X.shape[0], dtype=xp.int32, device=X.device)

    of_points = None if groups is None else put_beside(np.asarray(groups, dtype=np.int32), X)

    def label(block: slice) -> None:
        distances = (xp.astype(X[block, :], dtype) - shift) @ weights + constants
        if of_points is not None:
            is_own = group_of_row[block][:, None] == of_points[None, :]
            distances = xp.where(is_own, distances, xp.asarray(xp.inf, dtype=dtype, device=X.device))
        found[block] = xp.astype(xp.argmin(distances, axis=1), xp.int32)

    in_blocks(label, X.shape[0], BLOCK_CELLS // max(X.shape[1], len(points)))
    return found


def measure_to(X: Any, points: NDArray[Any]) -> Any:
    """Return the Euclidean distance of each row of ``X`` to each point, on the device of ``X``.

    Distances are computed in float64, and returned in the wider of the types of rows and points, at least float32.
    """
    xp = namespace(X)
    dtype = xp.float64 if X.dtype == xp.float64 or points.dtype == np.float64 else xp.float32
    measured = xp.empty((X.shape[0], len(points)), dtype=dtype, device=X.device)
    there = put_beside(np.asarray(points, dtype=np.float64), X)

    def measure(block: slice) -> None:
        rows = xp.astype(X[block, :], xp.float64)
        for number in range(len(points)):  # differences lose no digits
            distances = xp.sqrt(xp.sum((rows - there[number, :]) ** 2, axis=1))
            measured[block, number] = xp.astype(distances, dtype)

    in_blocks(measure, X.shape[0], BLOCK_CELLS // X.shape[1])
    return measured
