"""The thresholds of base methods, with their units.

Those of compiled kernels stand beside these, because numba compiles module constants only.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp


@dataclass(frozen=True)
class GridPolicy:
    """When DBSCAN is computed by kernels. Tables: ``grid_dbscan*.csv``, of ``benchmarks/speed``."""

    grid_features: int = 3  # with more, cells have too many neighbours
    # with more features, bounding boxes are not selective; scikit-learn uses no tree, either
    box_features: int = 15
    # with fewer, scikit-learn takes milliseconds, and to load compiled kernels takes longer
    rows: int = 2000
    # sums of multiples of the unit, up to the largest sum, are not rounded
    weight_unit: float = 2.0**-10
    largest_sum: float = 2.0**40
    # with more cells, floating point cannot safely distinguish neighbouring cells
    cells_per_side: int = 2**30


@dataclass(frozen=True)
class AffinityPolicy:
    """Similarities of SC-SRGF."""

    # Rows per block: with a few thousand columns, a block fits into the processor's cache. Not a
    # power of two, because a column of a transposed block would then use only a few lines of the
    # cache.
    block_rows: int = 84
    # the width of the Gaussian, relative to the local distance; Wang et al. call it mu and advise
    # 0.3 to 0.8
    scale: float = 0.5
    # weight of an edge: without a lowest one, an outlier would have no edge at all
    faintest: float = exp(-16)
    # rows of the embedding that are equal to eight decimals differ only by rounding errors
    decimals: int = 8
    # of the iteration for eigenvectors, which needs fewer than ten; SciPy 1.17 sometimes restarts
    # for ever where eigenvalues are equal
    most_restarts: int = 100


@dataclass(frozen=True)
class StartPolicy:
    """First centres of K-Means."""

    # of rows that are converted at once: they take 128 MB; more are left to scikit-learn
    values: int = 2**23
    # multiplications of a product from which BLAS has one way to compute it, however rows are
    # stored; the columns of such rows are stored once, which takes three quarters of the time
    product: int = 2**20


@dataclass(frozen=True)
class TorchPolicy:
    """K-Means on a device. Measured: ``benchmarks/notes/gpu.rst``."""

    # bytes that may be allocated for one block of rows; large blocks keep a GPU busy
    gpu_bytes: int = 2**31
    gpu_share: float = 1 / 32  # of its memory; less than gpu_bytes on small ones
    cpu_bytes: int = 2**26
    # rows whose sum is computed in single precision; sums of pieces are added in double precision
    piece_rows: int = 1024
    # Up to this number of centres, scores have a row for each centre. On an H200, with 10 and 40
    # centres, that took 0.9 and 0.7 times as long, with 200 1.2 times.
    few_centers: int = 64
    # Up to this number of clusters, sums by label are a product with a matrix of zeros and ones.
    # Beyond, rows are sorted by label, in a time that does not depend on the number of clusters.
    one_hot_clusters: int = 24
    sorted_rows: int = 128  # that one thread adds up: few, so that there are many threads
    # rows among which first centres are drawn, and those that tell the variance
    start_rows: int = 2**16
    start_rows_per_cluster: int = 128
    variance_rows: int = 2**16


GRID = GridPolicy()
AFFINITY = AffinityPolicy()
START = StartPolicy()
TORCH = TorchPolicy()
