"""Lloyd's algorithm on torch: assignment to the nearest centre, and means by label, in blocks and
in a fixed order.

All sums are computed in an order that depends only on the shapes of the data, never on the timing
of threads. So the same device gives the same labels run after run. In each iteration, the host
waits once for the device.

First centres are drawn by greedy k-means++, or are random rows, of all rows or of a sample of many.
Random numbers are drawn on the host, so that all devices draw the same rows up to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from cohirf.clusterers.policy import TORCH
from cohirf.rows.arrays import to_host, to_torch

Tensor = Any  # torch has no types where it is not installed


@dataclass(frozen=True)
class WeightedTensor:
    """Rows on a device, in any floating type, and their weights; without weights, all are 1."""

    values: Tensor
    weights: Tensor | None = None  # in the type of ``dtype``

    @classmethod
    def of(cls, values: Tensor, sample_weight: Any) -> WeightedTensor:
        """Return rows with the weights that the user gives, in any kind of array, or None, after
        validation.
        """
        rows = cls(values)
        if sample_weight is None:
            return rows
        weights = to_torch(sample_weight, rows.device).to(rows.dtype)
        if weights.shape != values.shape[:1]:
            raise ValueError(
                f"sample_weight has shape {tuple(weights.shape)}: give {len(rows)} weights, one "
                "for each row."
            )
        if not all_finite(weights):
            raise ValueError("Input sample_weight contains NaN or infinity: give finite weights.")
        low, high = torch.stack([weights.min(), weights.max()]).tolist()
        if low < 0:
            raise ValueError(
                f"Negative values in data passed to `sample_weight`, down to {low:g}: give weights "
                ">= 0."
            )
        if high == 0:
            raise ValueError(
                "All sample weights are zero: at least one row needs a positive weight."
            )
        return cls(values, weights)

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def device(self) -> Any:
        """Where the rows are."""
        return self.values.device

    @property
    def dtype(self) -> Any:
        """The type in which sums are computed: float64 for data in float64, and float32 for all
        other types.
        """
        if self.values.dtype == torch.float64:
            return torch.float64
        return torch.float32

    @property
    def product_dtype(self) -> Any:
        """The type in which rows and centres are multiplied."""
        if self.values.dtype == torch.bfloat16:
            return torch.bfloat16
        return self.dtype

    def weights_of(self, part: slice) -> Tensor | None:
        """Return the weights of consecutive rows."""
        return None if self.weights is None else self.weights[part]

    def take(self, rows: Tensor) -> WeightedTensor:
        """Return some of the rows, given by their numbers."""
        return WeightedTensor(
            self.values[rows], None if self.weights is None else self.weights[rows]
        )

    def blocks(self, numbers_per_row: int) -> Iterator[slice]:
        """Yield consecutive blocks of rows that are small enough to allocate ``numbers_per_row``
        for each row.
        """
        budget = TORCH.cpu_bytes if self.device.type == "cpu" else TORCH.gpu_bytes
        if self.device.type == "cuda":
            memory = torch.cuda.get_device_properties(self.device).total_memory
            budget = min(budget, int(TORCH.gpu_share * memory))
        n_pieces = budget // (numbers_per_row * self.dtype.itemsize * TORCH.piece_rows)
        size = max(1, n_pieces) * TORCH.piece_rows
        for start in range(0, len(self), size):
            yield slice(start, min(start + size, len(self)))


def all_finite(values: Tensor) -> bool:
    """Return whether all values are finite.

    Usually in one pass and without memory for a result per value.
    """
    total = values.sum(dtype=torch.promote_types(values.dtype, torch.float32))
    # finite values may have an infinite sum
    return bool(total.isfinite()) or bool(values.isfinite().all())


@dataclass(frozen=True)
class Solution:
    """The result of Lloyd's algorithm: centres in float64, labels in int32, inertia, and number of
    iterations.
    """

    centers: Tensor
    labels: Tensor
    inertia: float
    n_iter: int

    @property
    def n_found(self) -> int:
        """The number of clusters that have rows."""
        return int(self.labels.bincount(minlength=len(self.centers)).count_nonzero())


@dataclass(frozen=True)
class CenterSearch:
    """Centres, prepared so that a product with a block gives squared distances up to a number for
    each row.

    For a row x, a centre c and the mean o of all centres, this is
    ``|c - o|^2 + 2 o.(c - o) - 2 x.(c - o)``. Without ``o``, products would be large and round more
    where the data is far from the origin.
    """

    factors: Tensor  # -2 (c - o), in the type in which products are computed
    # the terms without x; None if the last columns of ``factors`` are numbers whose sum it is
    bias: Tensor | None
    n_features: int  # there can be more columns

    @classmethod
    def prepare(cls, centers: Tensor, dtype: Any) -> CenterSearch:
        """Round the centres to the type of the products, and compute the rest from what is
        rounded.
        """
        origin = centers.mean(dim=0)
        factors = (-2 * (centers - origin)).to(dtype)
        exact = factors.double()
        bias = exact.square().sum(dim=1) / 4 - exact @ origin
        if dtype == torch.bfloat16:
            return cls(append_columns(factors, bias), None, centers.shape[1])
        return cls(factors, bias.to(dtype), centers.shape[1])

    def scores(self, features: Tensor) -> Tensor:
        """Return the squared distance of each row to each centre, less a number for each row."""
        if self.bias is not None:
            return functional.linear(features.to(self.factors.dtype), self.factors, self.bias)
        padded = self.factors.new_ones(len(features), self.factors.shape[1])
        padded[:, : self.n_features] = features
        if padded.is_cuda:
            return torch.mm(padded, self.factors.T, out_dtype=torch.float32)
        return padded.float() @ self.factors.float().T

    def nearest(self, features: Tensor) -> Tensor:
        """Return the number of the nearest centre of each row.

        The lowest one if several are equally near.
        """
        # on a CPU, argmin is several times slower
        if self.bias is None or len(self.factors) > TORCH.few_centers:
            return self.scores(features).min(dim=1).indices
        # a row of scores for each of few centres: a GPU finds the lowest of a column sooner
        scores = self.factors @ features.to(self.factors.dtype).T
        scores += self.bias[:, None]
        return scores.min(dim=0).indices


def append_columns(factors: Tensor, bias: Tensor) -> Tensor:
    """Append columns whose sum is the bias, so that a product with ones adds it.

    To add it to the scores would take another pass over them. bfloat16 has 8 bits: three numbers
    have the precision of float32. The number of columns becomes a multiple of eight, as tensor
    cores need it.
    """
    n_features = factors.shape[1]
    n_parts = 3
    padded = factors.new_zeros(len(factors), -(-(n_features + n_parts) // 8) * 8)
    padded[:, :n_features] = factors
    for column in range(n_features, n_features + n_parts):
        padded[:, column] = bias
        bias = bias - padded[:, column].double()
    return padded


def lloyd(rows: WeightedTensor, centers: Tensor, *, max_iter: int, min_movement: float) -> Solution:
    """Alternate between labels and means, until no label changes or squared movements sum up to
    ``min_movement``.
    """
    labels = torch.full((len(rows),), -1, dtype=torch.int32, device=rows.device)
    n_iter = 0
    n_changed = float(len(rows))
    while n_iter < max_iter:
        n_iter += 1
        sums, masses, changed = assign_and_sum(
            rows, CenterSearch.prepare(centers, rows.product_dtype), labels
        )
        means = means_of(sums, masses, rows.dtype)
        # one transfer for all three numbers: the only time in an iteration that the host waits for
        # the device
        counts = torch.stack(
            [changed.double(), (masses == 0).sum().double(), squared_movement(centers, means)]
        )
        n_changed, n_empty, movement = counts.tolist()
        if n_empty:
            relocate_empty_clusters(rows, centers, labels, sums, masses)
            means = means_of(sums, masses, rows.dtype)
            movement = float(squared_movement(centers, means))
        centers = means
        if n_changed == 0 or movement <= min_movement:
            break
    if n_changed:
        assign(rows, CenterSearch.prepare(centers, rows.product_dtype), labels)
    return Solution(centers, labels, inertia_of(rows, centers, labels), n_iter)


def nearest_centers(rows: WeightedTensor, centers: Tensor) -> Tensor:
    """Return the number of the nearest centre of each row."""
    labels = torch.empty(len(rows), dtype=torch.int32, device=rows.device)
    assign(rows, CenterSearch.prepare(centers, rows.product_dtype), labels)
    return labels


def assign(rows: WeightedTensor, search: CenterSearch, labels: Tensor) -> None:
    """Write the number of the nearest centre of each row into ``labels``."""
    for part in rows.blocks(len(search.factors) + 2 * search.n_features):
        labels[part] = search.nearest(rows.values[part])


def assign_and_sum(
    rows: WeightedTensor, search: CenterSearch, labels: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Write labels, and return the sum of the rows and the total weight of each label, and how many
    labels changed.
    """
    n_clusters = len(search.factors)
    n_features = search.n_features
    sums = torch.zeros(n_clusters, n_features, dtype=torch.float64, device=rows.device)
    masses = torch.zeros(n_clusters, dtype=torch.float64, device=rows.device)
    n_changed = torch.zeros((), dtype=torch.int64, device=rows.device)
    if n_clusters <= TORCH.one_hot_clusters:
        sum_by_label = sum_by_product
    else:
        sum_by_label = sum_by_sorting
    for part in rows.blocks(2 * n_clusters + 3 * n_features):
        features = rows.values[part]
        found = search.nearest(features)
        n_changed += (found != labels[part]).sum()
        labels[part] = found
        block_sums, block_masses = sum_by_label(
            features.to(rows.dtype), found, rows.weights_of(part), n_clusters
        )
        sums += block_sums
        masses += block_masses
    return sums, masses, n_changed


def sum_by_product(
    features: Tensor, labels: Tensor, weights: Tensor | None, n_clusters: int
) -> tuple[Tensor, Tensor]:
    """Return the weighted sum of the rows of each label and its total weight, by a product with
    zeros and ones.
    """
    is_label = labels[:, None] == torch.arange(n_clusters, device=labels.device)
    if weights is None:
        factors = is_label.to(features.dtype)
    else:
        factors = is_label * weights[:, None]
    n_whole = len(features) // TORCH.piece_rows * TORCH.piece_rows
    pieces = torch.bmm(
        factors[:n_whole].reshape(-1, TORCH.piece_rows, n_clusters).transpose(1, 2),
        features[:n_whole].reshape(-1, TORCH.piece_rows, features.shape[1]),
    )
    sums = pieces.sum(dim=0, dtype=torch.float64) + factors[n_whole:].T @ features[n_whole:]
    return sums, factors.sum(dim=0, dtype=torch.float64)


def sum_by_sorting(
    features: Tensor, labels: Tensor, weights: Tensor | None, n_clusters: int
) -> tuple[Tensor, Tensor]:
    """Return the weighted sum of the rows of each label and its total weight, by sorting rows by
    label.

    Sorted rows are cut into pieces where the label changes, and after ``TORCH.sorted_rows`` rows:
    so no thread adds up more than that, even if most rows have the same label.
    """
    short = torch.int16 if n_clusters < 2**15 else torch.int32  # fewer bytes are sorted faster
    ordered, order = torch.sort(labels.to(short), stable=True)
    starts = torch.searchsorted(
        ordered, torch.arange(n_clusters + 1, dtype=short, device=labels.device)
    )
    cuts = (
        torch.cat([starts, torch.arange(0, len(labels), TORCH.sorted_rows, device=labels.device)])
        .sort()
        .values
    )
    label_of_piece = ordered[cuts[:-1].clamp(max=len(labels) - 1)]
    pieces_of_label = torch.searchsorted(
        label_of_piece, torch.arange(n_clusters + 1, dtype=short, device=cuts.device)
    )
    sorted_features = features[order]
    if weights is None:
        masses = starts.diff().double()
    else:
        sorted_weights = weights[order][:, None]
        sorted_features = sorted_features * sorted_weights
        masses = sum_segments(sum_segments(sorted_weights, cuts).double(), pieces_of_label)[:, 0]
    return sum_segments(sum_segments(sorted_features, cuts).double(), pieces_of_label), masses


def sum_segments(values: Tensor, cuts: Tensor) -> Tensor:
    """Return the sum of the rows between each cut and the next.

    Each is added up in order, by one thread.
    """
    # without unsafe=True, torch would check the cuts on the host
    return torch.segment_reduce(values, "sum", offsets=cuts, axis=0, unsafe=True, initial=0)


def means_of(sums: Tensor, masses: Tensor, dtype: Any) -> Tensor:
    """Return the mean of each cluster.

    An empty cluster gets that of the heaviest one, as in scikit-learn.

    Means are rounded to ``dtype``, in which the result is given, so that ``predict`` finds the
    labels of the fit.
    """
    heaviest = masses.argmax().reshape(1)
    is_empty = (masses == 0)[:, None]
    stand_in = sums.index_select(0, heaviest) / masses.index_select(0, heaviest)
    return (
        torch.where(is_empty, stand_in, sums / torch.where(is_empty, 1, masses[:, None]))
        .to(dtype)
        .double()
    )


def squared_movement(centers: Tensor, means: Tensor) -> Tensor:
    """Return the sum of the squared movements of all centres."""
    return (means - centers).square().sum()


def relocate_empty_clusters(
    rows: WeightedTensor, centers: Tensor, labels: Tensor, sums: Tensor, masses: Tensor
) -> None:
    """Move the rows that are farthest from their centres to the empty clusters, in ``sums`` and
    ``masses``.
    """
    empty = (masses == 0).nonzero()[:, 0].tolist()
    distances, far = farthest_rows(rows, centers, labels, len(empty))
    if distances[0] == 0:  # fewer distinct rows than clusters
        return
    chosen = rows.take(far)
    features = chosen.values.double()
    if chosen.weights is None:
        weights = torch.ones(len(far), device=far.device)
    else:
        weights = chosen.weights
    for cluster, old, row, weight in zip(
        empty, labels[far].tolist(), features, weights.double(), strict=True
    ):
        sums[old] -= row * weight
        masses[old] -= weight
        sums[cluster] = row * weight
        masses[cluster] = weight


def farthest_rows(
    rows: WeightedTensor, centers: Tensor, labels: Tensor, n: int
) -> tuple[Tensor, Tensor]:
    """Return the squared distances of the ``n`` rows that are farthest from their centres, and
    their numbers.
    """
    farthest = []
    numbers = []
    for part in rows.blocks(4 * centers.shape[1]):
        distances, order = torch.sort(
            squared_distances(rows, centers, labels, part), descending=True, stable=True
        )
        farthest.append(distances[:n])
        numbers.append(order[:n] + part.start)
    distances, order = torch.sort(torch.cat(farthest), descending=True, stable=True)
    return distances[:n], torch.cat(numbers)[order[:n]]


def inertia_of(rows: WeightedTensor, centers: Tensor, labels: Tensor) -> float:
    """Return the weighted sum of squared distances between rows and their centres."""
    total = torch.zeros((), dtype=torch.float64, device=rows.device)
    for part in rows.blocks(4 * centers.shape[1]):
        distances = squared_distances(rows, centers, labels, part)
        weights = rows.weights_of(part)
        total += (distances if weights is None else distances * weights).sum(dtype=torch.float64)
    return float(total)


def squared_distances(rows: WeightedTensor, centers: Tensor, labels: Tensor, part: slice) -> Tensor:
    """Return the squared distance of each row of a block to its centre."""
    return (
        (rows.values[part].to(rows.dtype) - centers.to(rows.dtype)[labels[part]])
        .square()
        .sum(dim=1)
    )


def k_means(
    rows: WeightedTensor,
    n_clusters: int,
    *,
    init: str | Tensor,
    n_init: int,
    max_iter: int,
    tol: float,
    rng: np.random.Generator,
) -> Solution:
    """Run Lloyd's algorithm from the given centres, or from the best of several drawn ones.

    If there are more rows than a sample holds, all starts run on the same sample, and only the best
    goes on with all rows. ``tol`` is relative to the mean variance of the features; ``rng`` draws
    the sample and the first centres.
    """
    run = partial(lloyd, max_iter=max_iter, min_movement=tol * mean_variance(rows))
    if not isinstance(init, str):
        return run(rows, init)
    sample = sample_rows(
        rows, max(TORCH.start_rows, TORCH.start_rows_per_cluster * n_clusters), rng
    )
    points = sample.values.to(rows.dtype)
    # distances between points far from the origin would round more
    around = points - points.mean(dim=0)
    starts = (
        points[DRAWING[init](around, sample.weights, n_clusters, rng)].double()
        for _ in range(n_init)
    )
    best = min((run(sample, start) for start in starts), key=attrgetter("inertia"))
    return best if sample is rows else run(rows, best.centers)


def mean_variance(rows: WeightedTensor) -> float:
    """Return the mean variance of the features; of many rows, evenly spaced ones are enough."""
    step = -(-len(rows) // TORCH.variance_rows)
    return float(rows.values[::step].double().var(dim=0, correction=0).mean())


def sample_rows(rows: WeightedTensor, n: int, rng: np.random.Generator) -> WeightedTensor:
    """Return ``n`` of the rows that have a weight, drawn without replacement.

    All of them if there are fewer.
    """
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


def draw_far_points(
    points: Tensor, weights: Tensor | None, n: int, rng: np.random.Generator
) -> Tensor:
    """Return the numbers of ``n`` points that are far from each other: greedy k-means++.

    Each point is the best of several that are drawn with a chance proportional to weight and
    squared distance to the nearest point before. The host does not wait for the device between
    them.
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
    """Return a number below ``len(chances)`` for each of the uniform numbers, with the given
    relative chances.

    Chances are added up as integers: a GPU adds up floating-point numbers in an order that changes
    from run to run.
    """
    n = len(chances)
    relative = chances.double() / chances.max().clamp(min=torch.finfo(chances.dtype).tiny)
    ends = (relative * 2.0 ** (62 - n.bit_length())).long().cumsum(dim=0)
    return torch.searchsorted(ends, (uniform * ends[-1]).long(), right=True).clamp(max=n - 1)


def draw_any_points(
    points: Tensor, weights: Tensor | None, n: int, rng: np.random.Generator
) -> Tensor:
    """Return the numbers of ``n`` points, drawn without replacement with chances proportional to
    their weights.
    """
    if weights is None:
        chances = None
    else:
        chances = to_host(weights.double() / weights.double().sum())
    return torch.from_numpy(rng.choice(len(points), n, replace=False, p=chances)).to(points.device)


DRAWING: dict[str, Callable[[Tensor, Tensor | None, int, np.random.Generator], Tensor]] = {
    "k-means++": draw_far_points,
    "random": draw_any_points,
}
