"""First centres of K-Means on torch: greedy k-means++ or random rows, on all rows or on a sample of many.

Random numbers are drawn on the host, so that all devices draw the same rows up to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from operator import attrgetter

import numpy as np
import torch

from cohirf.clusterers.torch_lloyd import DeviceRows, Solution, Tensor, lloyd
from cohirf.rows.arrays import to_host

START_ROWS = 2**16
START_ROWS_PER_CLUSTER = 128
ROWS_FOR_VARIANCE = 2**16


def k_means(
    rows: DeviceRows,
    n_clusters: int,
    *,
    init: str | Tensor,
    n_init: int,
    max_iter: int,
    tol: float,
    rng: np.random.Generator,
) -> Solution:
    """Run Lloyd's algorithm from the given centres, or from the best of several drawn ones.

    If there are more rows than a sample holds, all starts run on the same sample, and only the best goes on with all
    rows. ``tol`` is relative to the mean variance of the features; ``rng`` draws the sample and the first centres.
    """
    run = partial(lloyd, max_iter=max_iter, min_movement=tol * mean_variance(rows))
    if not isinstance(init, str):
        return run(rows, init)
    sample = sample_rows(rows, max(START_ROWS, START_ROWS_PER_CLUSTER * n_clusters), rng)
    points = sample.values.to(rows.dtype)
    around = points - points.mean(dim=0)  # distances between points far from the origin would round more
    starts = (points[DRAWING[init](around, sample.weights, n_clusters, rng)].double() for _ in range(n_init))
    best = min((run(sample, start) for start in starts), key=attrgetter("inertia"))
    return best if sample is rows else run(rows, best.centers)


def mean_variance(rows: DeviceRows) -> float:
    """Return the mean variance of the features; of many rows, evenly spaced ones are enough."""
    step = -(-len(rows) // ROWS_FOR_VARIANCE)
    return float(rows.values[::step].double().var(dim=0, correction=0).mean())


def sample_rows(rows: DeviceRows, n: int, rng: np.random.Generator) -> DeviceRows:
    """Return ``n`` of the rows that have a weight, drawn without replacement; all of them if there are fewer."""
    if len(rows) <= n:
        return rows
    weighted = None if rows.weights is None else rows.weights.nonzero()[:, 0]
    n_weighted = len(rows) if weighted is None else len(weighted)
    if n_weighted <= n:
        drawn = torch.arange(n_weighted, device=rows.device)
    else:
        numbers = np.sort(rng.choice(n_weighted, n, replace=False, shuffle=False))
        drawn = torch.from_numpy(numbers).to(rows.device)
    return rows.take(drawn if weighted is None else weighted[drawn])


def draw_far_points(points: Tensor, weights: Tensor | None, n: int, rng: np.random.Generator) -> Tensor:
    """Return the numbers of ``n`` points that are far from each other: greedy k-means++.

    Each point is the best of several that are drawn with a chance proportional to weight and squared distance to the
    nearest point before. The host does not wait for the device between them.
    """
    n_trials = 2 + int(math.log(n))
    uniform = torch.from_numpy(rng.random((n, n_trials))).to(points.device)
    weights = points.new_ones(len(points)) if weights is None else weights
    squares = points.square().sum(dim=1)
    drawn = draw_numbers(weights, uniform[0, :1])
    closest = torch.full_like(squares, torch.inf)
    chosen = []
    for i in range(n):
        if i > 0:
            drawn = draw_numbers(closest * weights, uniform[i])
        distances = squares[drawn][:, None] + squares - 2 * (points[drawn] @ points.T)
        distances = distances.clamp_(min=0).minimum(closest)
        best = (distances @ weights).argmin().reshape(1)
        closest = distances.index_select(0, best)[0]
        chosen.append(drawn.index_select(0, best))
    return torch.cat(chosen)


def draw_numbers(chances: Tensor, uniform: Tensor) -> Tensor:
    """Return a number below ``len(chances)`` for each of the uniform numbers, with the given relative chances.

    Chances are added up as integers: a GPU adds up floating-point numbers in an order that changes from run to run.
    """
    n = len(chances)
    relative = chances.double() / chances.max().clamp(min=torch.finfo(chances.dtype).tiny)
    ends = (relative * 2.0 ** (62 - n.bit_length())).long().cumsum(dim=0)
    return torch.searchsorted(ends, (uniform * ends[-1]).long(), right=True).clamp(max=n - 1)


def draw_any_points(points: Tensor, weights: Tensor | None, n: int, rng: np.random.Generator) -> Tensor:
    """Return the numbers of ``n`` points, drawn without replacement with chances proportional to their weights."""
    chances = None if weights is None else to_host(weights.double() / weights.double().sum())
    return torch.from_numpy(rng.choice(len(points), n, replace=False, p=chances)).to(points.device)


DRAWING: dict[str, Callable[[Tensor, Tensor | None, int, np.random.Generator], Tensor]] = {
    "k-means++": draw_far_points,
    "random": draw_any_points,
}
