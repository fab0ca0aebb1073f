"""Rows around the leaves of a partition that make core distances exact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.box_tree import build_tree
from cohirf.spanning.batch_edges import FloatArray
from cohirf.spanning.halo_kernels import boxes_of_rows, build_reach_tree, find_halos
from cohirf.spanning.neighbour_kernels import nearest

LEAST_RANK = 8  # if min_samples is lower, edges of the spanning tree are longer than core distances
BOX_ROWS = 16  # smaller boxes need fewer rows around a leaf, and more memory

IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Reach:
    """What a leaf of a partition tells others about the rows that it needs: a box for every few of its rows.

    Attributes
    ----------
    boxes : array of float, shape (n_boxes, 2 * n_features)
        The lowest, then the highest values of each box.
    reaches : array of float, shape (n_boxes,)
        The leaf needs all rows within this distance of the box.
    """

    boxes: FloatArray
    reaches: FloatArray


def reach_of(X: Any, min_samples: int, cell: FloatArray | None = None) -> Reach:
    """Return the reach of a leaf.

    Parameters
    ----------
    X : array of float, shape (n_rows, n_features)
        The rows of the leaf.
    min_samples : int
        The rank of the neighbour at the core distance of a row; the row itself has rank 1.
    cell : array of float, shape (2 * n_features,), default=None
        The lowest, then the highest values of a box without rows of other leaves inside; infinite values are allowed.
        Boxes that do not reach out of it are left out, because they need no other rows.
    """
    X = np.require(X, requirements=["C", "W"])
    tree = build_tree(X, np.arange(len(X)), np.ones(len(X)))
    least = max(min_samples, LEAST_RANK)
    rank = min(least, len(X))
    _, distances2 = nearest(tree, np.ascontiguousarray(tree.points.T), rank)
    core = np.empty(len(X))
    core[tree.rows] = np.sqrt(distances2[:, -1])
    if rank < least:
        core[:] = np.inf  # a leaf with too few rows needs all others
    boxes, reaches = boxes_of_rows(build_tree(X, np.arange(len(X)), np.ones(len(X)), BOX_ROWS), core)
    if cell is None:
        return Reach(boxes, reaches)
    low, high, reach = *np.hsplit(boxes, 2), reaches[:, None]
    reaches_out = (low - reach < cell[: X.shape[1]]) | (high + reach > cell[X.shape[1] :])
    return Reach(boxes[reaches_out.any(axis=1)], reaches[reaches_out.any(axis=1)])


class Halos:
    """Finds the leaves that need a row.

    Parameters
    ----------
    reaches : list of Reach
        The reach of each leaf.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.spanning.halos import Halos, reach_of
    >>> X = np.arange(200.0).reshape(-1, 1)
    >>> halos = Halos([reach_of(X[:100], min_samples=9), reach_of(X[100:], min_samples=9)])
    >>> rows, leaves, _ = halos.find(X, np.repeat([0, 1], 100))
    >>> rows[leaves == 0].tolist(), rows[leaves == 1].tolist()
    ([100, 101, 102, 103, 104, 105, 106, 107], [92, 93, 94, 95, 96, 97, 98, 99])
    """

    def __init__(self, reaches: list[Reach]) -> None:
        owners = np.repeat(np.arange(len(reaches)), [len(reach.reaches) for reach in reaches])
        boxes = np.concatenate([reach.boxes for reach in reaches])
        distances = np.concatenate([reach.reaches for reach in reaches])
        self.reach_tree = build_reach_tree(boxes, distances, owners) if len(boxes) > 0 else None

    def find(self, X: Any, homes: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Return pairs of rows of ``X`` and leaves that need them.

        Rows far from all others reach far, and a leaf with such rows needs many rows. If these are too many, those with
        the lowest third value should be kept: the distance from the leaf, in units of the core distance there.

        Parameters
        ----------
        X : array of float, shape (n_rows, n_features)
            Any rows.
        homes : array of int, shape (n_rows,)
            The leaf that each row is in.
        """
        if self.reach_tree is None:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)
        rows, leaves, shares2 = find_halos(np.require(X, requirements=["C", "W"]), homes, self.reach_tree)
        return rows, leaves, np.sqrt(shares2)
