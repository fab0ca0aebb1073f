"""DBSCAN on a grid on torch: core rows, clusters and border rows, without a list of neighbours.

The diagonal of a cell is less than eps. So all rows of a cell are neighbours, a cell with enough rows has only core
rows, and all core rows of a cell are in one cluster. What remains is to compare neighbouring cells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from cohirf.clusterers.torch_cells import Cells, Grid, join_components
from cohirf.clusterers.torch_rows import Tensor

Comparison = Callable[[Cells, Tensor, Tensor, Tensor, Tensor, float], Tensor]

NOISE = -1
FEW_POINTS = 32


def dbscan(
    points: Tensor, weights: Tensor | None, eps: float, side: float, min_samples: float
) -> tuple[Tensor, Tensor] | None:
    """Return the label of each point, -1 for noise, and whether it is a core point; None if the grid is too large.

    Parameters
    ----------
    points : tensor of float64, shape (n_points, n_features)
        Finite values.
    weights : tensor of float64, shape (n_points,), or None
        Weights that are not negative; None if all are 1.
    eps : float
        Largest distance between neighbours.
    side : float
        Side of a cell; its diagonal must be less than ``eps``.
    min_samples : float
        Smallest weight of the neighbours of a core point.
    """
    grid = Grid.of(points, side)
    if grid is None:
        return None
    keys, order = torch.sort(grid.keys, stable=True)
    points = points[order]
    weights = points.new_ones(len(points)) if weights is None else weights[order]
    limit = eps * eps
    is_core = find_core(Cells.of(points, keys), keys, weights, grid.steps, limit, min_samples)
    labels = torch.full_like(order, NOISE)
    if is_core.any():
        core = Cells.of(points[is_core], keys[is_core])
        label_of_cell = number_clusters(core, join_cells(core, grid.steps, limit), order[is_core])
        labels[is_core] = torch.repeat_interleave(label_of_cell, core.counts)
        others = (~is_core).nonzero()[:, 0]
        labels[others] = join_border(core, label_of_cell, points[others], keys[others], grid.steps, limit)
    back = torch.empty_like(order)
    back[order] = torch.arange(len(order), device=order.device)
    return labels[back], is_core[back]


def find_core(
    cells: Cells, keys: Tensor, weights: Tensor, steps: list[int], limit: float, min_samples: float
) -> Tensor:
    """Return which points are core points: their neighbours have at least the weight ``min_samples``."""
    of_cell = cells.reduce(weights[:, None], "sum")[:, 0]
    weight_near = torch.repeat_interleave(of_cell, cells.counts)
    open_points = torch.arange(len(keys), device=keys.device)
    for step in steps[1:]:
        open_points = open_points[weight_near[open_points] < min_samples]
        found, neighbours = cells.find(keys[open_points] + step)
        if len(found):
            compared = open_points[found]
            weight_near[compared] += cells.sum_near(cells.points[compared], neighbours, weights, limit)
    return weight_near >= min_samples


def join_cells(core: Cells, steps: list[int], limit: float) -> Tensor:
    """Return the component of each cell: cells are joined if they have core points that are neighbours.

    A few points of each cell decide most pairs of cells, beginning with those that have a common side, and one point on
    either side decides most of the others. All points are compared only where this leaves two cells in different
    components.
    """
    low, high = core.reduce(core.points, "min"), core.reduce(core.points, "max")
    few = replace(core, counts=core.counts.clamp(max=FEW_POINTS))
    component = torch.arange(len(core.keys), device=core.keys.device)
    left = []
    for step in steps:
        if step > 0:  # each pair of cells once
            pairs = near_boxes(core, low, high, step, limit)
            component, pairs = join_pairs(component, pairs, compare_nearest, few, low, high, limit)
            left.append(pairs)
    pairs = torch.cat(left, dim=1)
    for compare in (compare_nearest, compare_all):
        component, pairs = join_pairs(component, pairs, compare, core, low, high, limit)
    return component


def near_boxes(core: Cells, low: Tensor, high: Tensor, step: int, limit: float) -> Tensor:
    """Return the pairs of cells that are a step apart and whose boxes are near each other, in two rows."""
    pairs = torch.stack(core.find(core.keys + step))
    first, second = pairs
    gap = torch.maximum(low[second] - high[first], low[first] - high[second]).clamp(min=0)
    return pairs[:, gap.square().sum(dim=1) <= limit]


def join_pairs(
    component: Tensor, pairs: Tensor, compare: Comparison, cells: Cells, low: Tensor, high: Tensor, limit: float
) -> tuple[Tensor, Tensor]:
    """Compare pairs of cells in different components; return the components after it, and the pairs still apart."""
    pairs = pairs[:, component[pairs[0]] != component[pairs[1]]]
    if pairs.shape[1] == 0:
        return component, pairs
    is_joined = compare(cells, low, high, pairs[0], pairs[1], limit)
    return join_components(component, pairs[0, is_joined], pairs[1, is_joined]), pairs[:, ~is_joined]


def compare_nearest(core: Cells, low: Tensor, high: Tensor, first: Tensor, second: Tensor, limit: float) -> Tensor:
    """Return which pairs are joined by the point of one cell that is nearest to the box of the other."""
    _, place = core.nearest(low[second], high[second], first)
    point = core.points[place]
    return core.nearest(point, point, second)[0] <= limit


def compare_all(core: Cells, low: Tensor, high: Tensor, first: Tensor, second: Tensor, limit: float) -> Tensor:
    """Return which pairs are joined by any of their points; only points near the box of the other cell matter."""
    pair, place = core.points_near(low[second], high[second], first, limit)
    is_joined = torch.zeros(len(first), dtype=torch.bool, device=first.device)
    if len(pair):
        point = core.points[place]
        is_joined[pair[core.nearest(point, point, second[pair])[0] <= limit]] = True
    return is_joined


def number_clusters(core: Cells, component: Tensor, rows: Tensor) -> Tensor:
    """Return the label of each cell: clusters are numbered in the order of their first core rows."""
    first_row = torch.full_like(component, torch.iinfo(torch.int64).max)
    first_row.scatter_reduce_(0, torch.repeat_interleave(component, core.counts), rows, "amin")
    return first_row[component].unique(return_inverse=True)[1]


def join_border(
    core: Cells, label_of_cell: Tensor, points: Tensor, keys: Tensor, steps: list[int], limit: float
) -> Tensor:
    """Return the label of the nearest core point, the lowest of several; noise if none is a neighbour."""
    labels = torch.full_like(keys, NOISE)
    best = torch.full((len(keys),), limit, dtype=torch.float64, device=keys.device)
    for step in steps:
        found, cells = core.find(keys + step)
        if len(found) == 0:
            continue
        distances, _ = core.nearest(points[found], points[found], cells)
        label = label_of_cell[cells]
        is_tied = (distances == best[found]) & ((labels[found] == NOISE) | (label < labels[found]))
        is_better = (distances < best[found]) | is_tied
        labels[found[is_better]] = label[is_better]
        best[found[is_better]] = distances[is_better]
    return labels
