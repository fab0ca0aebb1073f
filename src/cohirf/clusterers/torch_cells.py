"""Points in the cells of a grid on torch: which cells are neighbours, and what is near a point or a box in a cell.

Points are sorted by cell, so that those of a cell are consecutive. Neighbouring cells are found by a binary search for
their keys. Pairs of points are compared in blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import torch

from cohirf.clusterers.torch_rows import Tensor

REACH = 2  # points within eps are at most this many cells apart on each axis, if eps is the diagonal of a cell
BLOCK_PAIRS = {"cuda": 2**23, "cpu": 2**20}
MAX_KEY = 2**62


@dataclass(frozen=True)
class Grid:
    """How keys of cells follow from coordinates.

    Attributes
    ----------
    keys : tensor of int64, shape (n_points,)
        The cell of each point.
    steps : list of int
        What is added to the key of a cell to get that of a neighbour; the cell itself is the first.
    """

    keys: Tensor
    steps: list[int]

    @classmethod
    def of(cls, points: Tensor, side: float) -> Grid | None:
        """Return the grid with cells of the given side; None if there are too many cells for a key."""
        cells = ((points - points.min(dim=0).values) / side).floor()
        extent = [int(size) + 1 + 2 * REACH for size in cells.max(dim=0).values.tolist()]
        strides = [1]
        for size in extent:
            strides.append(strides[-1] * size)
        if strides[-1] >= MAX_KEY:
            return None
        near = sorted(product(range(-REACH, REACH + 1), repeat=len(extent)), key=lambda step: sum(x * x for x in step))
        steps = [sum(x * stride for x, stride in zip(step, strides, strict=False)) for step in near]
        factors = torch.tensor(strides[:-1], device=points.device)
        return cls(((cells.long() + REACH) * factors).sum(dim=1), steps)


@dataclass(frozen=True)
class Cells:
    """Points, sorted by the key of their cell.

    Attributes
    ----------
    points : tensor of float64, shape (n_points, n_features)
        The points.
    keys : tensor of int64, shape (n_cells,)
        Sorted keys of the cells that have points.
    starts, counts : tensor of int64, shape (n_cells,)
        The first point of each cell, and how many it has.
    """

    points: Tensor
    keys: Tensor
    starts: Tensor
    counts: Tensor

    @classmethod
    def of(cls, points: Tensor, sorted_keys: Tensor) -> Cells:
        """Return the cells of points that are sorted by key."""
        keys, counts = torch.unique_consecutive(sorted_keys, return_counts=True)
        return cls(points, keys, counts.cumsum(dim=0) - counts, counts)

    def find(self, keys: Tensor) -> tuple[Tensor, Tensor]:
        """Return the places in ``keys`` of those that are keys of cells, and the numbers of these cells."""
        cells = torch.searchsorted(self.keys, keys).clamp(max=len(self.keys) - 1)
        found = (self.keys[cells] == keys).nonzero()[:, 0]
        return found, cells[found]

    def reduce(self, values: Tensor, reduction: str) -> Tensor:
        """Return the "sum", "min" or "max" of the values of the points of each cell, for each column."""
        return torch.segment_reduce(values, reduction, lengths=self.counts, axis=0, unsafe=True)

    def sum_near(self, points: Tensor, cells: Tensor, weights: Tensor, limit: float) -> Tensor:
        """Return, for each point, the weight of what is near it in a cell: at a squared distance up to ``limit``."""
        sums = []
        for part, owner, place in self._pairs(cells):
            is_near = (points[part][owner] - self.points[place]).square().sum(dim=1) <= limit
            sums.append(_reduce(weights[place] * is_near, self.counts[cells[part]], "sum"))
        return torch.cat(sums)

    def nearest(self, low: Tensor, high: Tensor, cells: Tensor) -> tuple[Tensor, Tensor]:
        """Return the squared distance between each box and the nearest point of a cell, and this point.

        Parameters
        ----------
        low, high : tensor of float64, shape (n_boxes, n_features)
            Corners of the boxes; a point is a box, too.
        cells : tensor of int, shape (n_boxes,)
            The cell in which to look, for each box.
        """
        distances, places = [], []
        for part, owner, place in self._pairs(cells):
            points = self.points[place]
            outside = (low[part][owner] - points).clamp_(min=0) + (points - high[part][owner]).clamp_(min=0)
            squares, lengths = outside.square().sum(dim=1), self.counts[cells[part]]
            least = _reduce(squares, lengths, "min")
            first = torch.where(squares == least[owner], place, len(self.points)).double()  # exact up to 2**53 points
            distances.append(least)
            places.append(_reduce(first, lengths, "min").long())
        return torch.cat(distances), torch.cat(places)

    def points_near(self, low: Tensor, high: Tensor, cells: Tensor, limit: float) -> tuple[Tensor, Tensor]:
        """Return all pairs of a box and a point of its cell that are near each other."""
        boxes, places = [], []
        for part, owner, place in self._pairs(cells):
            points = self.points[place]
            outside = (low[part][owner] - points).clamp_(min=0) + (points - high[part][owner]).clamp_(min=0)
            is_near = outside.square().sum(dim=1) <= limit
            boxes.append(owner[is_near] + part.start)
            places.append(place[is_near])
        return torch.cat(boxes), torch.cat(places)

    def _pairs(self, cells: Tensor) -> Iterator[tuple[slice, Tensor, Tensor]]:
        """Yield blocks of pairs of an item and a point of its cell: the items, the item of each pair, and the point."""
        counts = self.counts[cells]
        ends = counts.cumsum(dim=0)
        size = BLOCK_PAIRS.get(cells.device.type, BLOCK_PAIRS["cuda"])
        n_blocks = -(-int(ends[-1]) // size) if len(cells) else 0
        limits = torch.arange(1, n_blocks + 1, device=cells.device) * size
        stops = torch.searchsorted(ends, limits, right=True).clamp(min=1).tolist()
        start = 0
        for stop in [*stops[:-1], len(cells)]:
            if start == stop:  # the item before has more pairs than a block
                continue
            part = slice(start, stop)
            owner = torch.repeat_interleave(counts[part])
            before = ends[part] - counts[part] - (ends[start] - counts[start])
            place = torch.arange(len(owner), device=cells.device) - before[owner] + self.starts[cells[part]][owner]
            yield part, owner, place
            start = stop


def _reduce(values: Tensor, lengths: Tensor, reduction: str) -> Tensor:
    """Reduce consecutive values; two dimensions, because torch does one dimension in an order that may change."""
    return torch.segment_reduce(values[:, None], reduction, lengths=lengths, axis=0, unsafe=True)[:, 0]


def join_components(component: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Join the components of pairs of nodes, and return the component of each node: its lowest node.

    Examples
    --------
    >>> import torch
    >>> from cohirf.clusterers.torch_cells import join_components
    >>> join_components(torch.arange(5), torch.tensor([4, 1]), torch.tensor([2, 4]))
    tensor([0, 1, 1, 3, 1])
    """
    while True:
        ends = component[first], component[second]
        lower = torch.minimum(*ends)
        joined = component.clone()
        for end in ends:
            joined.scatter_reduce_(0, end, lower, "amin")  # a minimum does not depend on the order of threads
        while not torch.equal(joined, root := joined[joined]):
            joined = root
        if torch.equal(joined, component):
            return component
        component = joined
