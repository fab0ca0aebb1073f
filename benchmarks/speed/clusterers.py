"""How fast are our base methods against others that give the same result?

KernelKMeans is compared with a pipeline, SCSRGF with its formulas written plainly, GridDBSCAN with
two DBSCANs.

Both sides of each ratio run in this process, one thread each, so that processor time, which is what
is measured, is the time either takes on an idle machine. Memory is the rise of the peak resident
size of a fresh process. The plain transcription is float64 and dense, and adds up the other
matrices again for each product; "running sum" is the same with the sum of all matrices kept.
GridDBSCAN is compared with scikit-learn's DBSCAN and, where it is installed, with the package
dbscan: in time, noise, and the partition of core rows.

    python -m benchmarks.speed.clusterers [--only dbscan] [--rows 1000] [--memory-rows 4000]
    [--write]
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from math import sqrt
from typing import Any

import numpy as np
from examples.synthetic import make_shapes
from experiments.real_data import load_real
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.cluster import DBSCAN, KMeans, SpectralClustering
from sklearn.datasets import make_blobs
from sklearn.kernel_approximation import RBFSampler
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from benchmarks._common import (
    DATA_FOLDER,
    Table,
    add_write_option,
    best_of,
    in_fresh_process,
    make_parser,
    parse,
    peak_rise,
    timed,
)
from cohirf import CoHiRF
from cohirf.clusterers import SCSRGF, GridDBSCAN, KernelKMeans
from cohirf.datasets import make_spheres

N_FEATURES = 100
N_CENTERS = 5
N_AFFINITIES = 20
N_ITER = 20
N_NEIGHBORS = 5


def kernel_k_means(n_rows: int, repeats: int) -> None:
    # Rows without clusters: K-Means then uses all its iterations, whatever its random start, and
    # both do equal work.
    X = np.random.default_rng(0).uniform(size=(n_rows, 20))
    settings = {"n_init": 1, "max_iter": 20, "tol": 0}
    print(
        f"KernelKMeans, n={n_rows:,}, p=20, 500 features, k=10: median of {repeats} pairs of fits, "
        "20 iterations each"
    )
    for dtype in (np.float64, np.float32):
        data = X.astype(dtype)
        ratios = []
        times = []
        for seed in range(repeats):
            ours = KernelKMeans(10, **settings, random_state=seed)
            features = RBFSampler(n_components=500, random_state=seed)
            theirs = make_pipeline(features, KMeans(10, **settings, random_state=seed))
            pair = [timed(lambda: model.fit(data))[0] for model in (ours, theirs)]  # noqa: B023 - called at once
            assert ours.n_iter_ == theirs[-1].n_iter_ == 20
            times.append(pair)
            ratios.append(pair[0] / pair[1])
        ours_s, theirs_s = np.median(times, axis=0)
        print(
            f"  {np.dtype(dtype).name}: {ours_s:.2f} s, pipeline {theirs_s:.2f} s, ratio "
            f"{np.median(ratios):.2f} (from {min(ratios):.2f} to {max(ratios):.2f})"
        )


def plain_affinity(view: np.ndarray) -> np.ndarray:
    distances = cdist(view, view)
    nearest = np.sort(distances, axis=1)[:, 1 : N_NEIGHBORS + 1].mean(axis=1)
    width = 0.5 * (nearest[:, None] + nearest + distances) / 3
    return np.exp(-(distances**2) / (2 * width**2))


def plain_normalise(matrix: np.ndarray) -> np.ndarray:
    off_diagonal = matrix * (1 - np.eye(len(matrix)))
    return off_diagonal / (2 * off_diagonal.sum(axis=1, keepdims=True)) + np.eye(len(matrix)) / 2


def plain_neighbors(affinity: np.ndarray, view: np.ndarray) -> np.ndarray:
    distances = cdist(view, view)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1)[:, :N_NEIGHBORS]
    kernel = np.zeros_like(affinity)
    np.put_along_axis(kernel, nearest, np.take_along_axis(affinity, nearest, axis=1), axis=1)
    return kernel / kernel.sum(axis=1, keepdims=True)


def plain_sc_srgf(X: np.ndarray, *, running_sum: bool) -> np.ndarray:
    rng = np.random.default_rng(0)
    views = [
        X[:, rng.choice(X.shape[1], X.shape[1] // 2, replace=False)] for _ in range(N_AFFINITIES)
    ]
    affinities = [plain_affinity(view) for view in views]
    local = [
        plain_neighbors(affinity, view) for affinity, view in zip(affinities, views, strict=True)
    ]
    status = [plain_normalise(affinity) for affinity in affinities]
    for _ in range(N_ITER):
        total = sum(status) if running_sum else None
        following = []
        for v, kernel in enumerate(local):
            others = (
                total - status[v]
                if running_sum
                else sum(status[u] for u in range(N_AFFINITIES) if u != v)
            )
            following.append(plain_normalise(kernel @ (others / (N_AFFINITIES - 1)) @ kernel.T))
        status = following
    fused = sum(status) / N_AFFINITIES
    graph = (fused + fused.T) / 2
    return SpectralClustering(N_CENTERS, affinity="precomputed", random_state=0).fit_predict(graph)


def sc_srgf_model() -> SCSRGF:
    return SCSRGF(
        N_CENTERS,
        n_affinities=N_AFFINITIES,
        n_neighbors=N_NEIGHBORS,
        graph="local",
        n_fusion_iter=N_ITER,
        random_state=0,
    )


def sc_srgf(n_rows: int) -> None:
    X, y = make_blobs(n_rows, N_FEATURES, centers=N_CENTERS, cluster_std=8.0, random_state=0)
    print(f"SCSRGF, n={n_rows:,}, p={N_FEATURES}, {N_AFFINITIES} affinities, {N_ITER} iterations")
    seconds, model = timed(lambda: sc_srgf_model().fit(X))
    print(f"  cohirf: {seconds:.2f} s, ARI {adjusted_rand_score(y, model.labels_):.3f}")
    for name, running_sum in {"plain": False, "plain, running sum": True}.items():
        plain, labels = timed(lambda: plain_sc_srgf(X, running_sum=running_sum))  # noqa: B023 - called at once
        print(
            f"  {name}: {plain:.2f} s, ARI {adjusted_rand_score(y, labels):.3f}, ratio "
            f"{plain / seconds:.1f}"
        )


def measure_memory(n_rows: int) -> str:
    """Fit SCSRGF, and describe memory, time and quality; run in a process of its own."""
    X, y = make_blobs(n_rows, N_FEATURES, centers=N_CENTERS, cluster_std=8.0, random_state=0)
    with threadpool_limits(1):
        rise, (seconds, model) = peak_rise(lambda: timed(lambda: sc_srgf_model().fit(X)))
    quality = adjusted_rand_score(y, model.labels_)
    matrix = 8 * n_rows**2
    return (
        f"{rise / 1e6:,.0f} MB, {rise / matrix:.1f} matrices of all pairs; {seconds:.1f} s, ARI "
        f"{quality:.3f}"
    )


def memory(n_rows: int) -> None:
    print(
        f"Memory that a fit of SCSRGF takes, n={n_rows:,}, p={N_FEATURES}, a fresh process",
        flush=True,
    )
    print(f"  {in_fresh_process(measure_memory, n_rows)}")


@dataclass(frozen=True)
class Found:
    """What a DBSCAN found: clusters, -1 for noise, and which rows are core."""

    labels: np.ndarray
    is_core: np.ndarray

    @classmethod
    def by(cls, model: Any, X: np.ndarray) -> Found:
        """Fit a model with the attributes of scikit-learn's DBSCAN."""
        is_core = np.zeros(len(X), dtype=bool)
        is_core[model.fit(X).core_sample_indices_] = True
        return cls(model.labels_, is_core)

    def equals(self, other: Found) -> bool:
        """Compare noise and the partition of core rows.

        Border rows may join any of the clusters they touch.
        """
        if (self.is_core != other.is_core).any() or ((self.labels < 0) != (other.labels < 0)).any():
            return False
        return bool(adjusted_rand_score(self.labels[self.is_core], other.labels[self.is_core]) == 1)


def rivals(eps: float, *, slow: bool) -> Iterator[tuple[str, int, Callable[[np.ndarray], Found]]]:
    """Yield the name of each rival, how often it is run, and its function.

    The slow one if it is asked for.
    """
    if find_spec("dbscan"):
        os.environ["PARLAY_NUM_THREADS"] = "1"  # read at the first call
        package = import_module("dbscan")
        yield "dbscan", 3, lambda X: Found(*package.DBSCAN(X, eps, 5))
    if slow:
        yield "scikit-learn", 1, lambda X: Found.by(DBSCAN(eps=eps), X)


RIVALS = ("scikit-learn", "dbscan")
RATIOS = {"GridDBSCAN, s": ">13.3f", "scikit-learn's DBSCAN": ">21", "package dbscan": ">14"}


def compare_dbscans(X: np.ndarray, eps: float, *, slow: bool) -> list[Any]:
    """Return the seconds of GridDBSCAN, and the time of each rival as a multiple.

    A star marks another result.
    """
    ours, found = best_of(9, lambda: Found.by(GridDBSCAN(eps), X))
    ratios = dict.fromkeys(RIVALS, "-")
    for name, repeats, run in rivals(eps, slow=slow):
        theirs, other = best_of(repeats, lambda: run(X))  # noqa: B023 - called at once
        ratio = theirs / ours
        star = "" if found.equals(other) else " *"
        ratios[name] = (f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}") + star
    return [ours, *ratios.values()]


def dbscan_on_a_grid(sizes: list[int]) -> Table:
    print(
        "GridDBSCAN against others on two spheres; best of 9 runs, of 3 of the package, of "
        "scikit-learn's one"
    )
    GridDBSCAN(0.2).fit(make_spheres(1000, random_state=0)[0])  # compiles
    table = Table({"rows": ">9,", "eps": ">5"} | RATIOS)
    for n_rows, eps in product(sizes, (0.1, 0.2, 0.4)):
        X, _ = make_spheres(n_rows, random_state=0)
        slow = n_rows <= 20_000 or (n_rows <= 200_000 and eps == 0.2)
        table.row(n_rows, eps, *compare_dbscans(X, eps, slow=slow))
    return table


def dbscan_in_cohirf(sizes: list[int]) -> Table:
    print(
        "CoHiRF(GridDBSCAN) against GridDBSCAN alone, in memory, with min_samples=10; best of 5 "
        "runs"
    )
    columns = {
        "data": "<8",
        "rows": ">9,",
        "alone, s": ">8.2f",
        "in CoHiRF, s": ">12.2f",
        "ratio": ">5.1f",
    }
    table = Table(columns | {"labels": ">6"})
    for n_rows, (name, make) in product(
        sizes, (("spheres", make_spheres), ("shapes", make_shapes))
    ):
        X = make(n_rows, random_state=0)[0]
        eps = 0.15 if make is make_spheres else 30 / sqrt(n_rows)
        method = GridDBSCAN(eps, min_samples=10)
        alone, labels = best_of(5, lambda: clone(method).fit_predict(X))  # noqa: B023 - called at once
        inside, found = best_of(5, lambda: CoHiRF(method).fit_predict(X))  # noqa: B023 - called at once
        verdict = "same" if (labels == np.asarray(found)).all() else "other"
        table.row(name, n_rows, alone, inside, inside / alone, verdict)
    return table


def dbscan_with_features(n_rows: int, radii_of_shuttle: list[float]) -> Table:
    print(
        f"The same on {n_rows:,} rows of ten normal clusters, and on Shuttle, which a network or a "
        "data folder has"
    )
    GridDBSCAN(0.2).fit(np.zeros((10, 4)))  # compiles
    table = Table({"data": "<8", "features": ">8", "eps": ">5.2g"} | RATIOS)
    for n_features, per_root in product((4, 8, 15), (0.2, 0.5, 1.0)):
        X, _ = make_blobs(n_rows, n_features, centers=10, random_state=0)
        eps = per_root * n_features**0.5
        table.row("clusters", n_features, eps, *compare_dbscans(X, eps, slow=True))
    X = read_shuttle() if radii_of_shuttle else None
    # at eps=1, scikit-learn would list the neighbours of all rows in 4 GB, at 10 in 27 GB
    if X is not None:
        for eps in radii_of_shuttle:
            table.row("Shuttle", X.shape[1], eps, *compare_dbscans(X, eps, slow=True))
    return table


def read_shuttle() -> np.ndarray | None:
    try:
        return load_real("shuttle", DATA_FOLDER)[0]
    except Exception as error:  # neither a data directory nor a network
        print(f"Shuttle is left out: {error}")
        return None


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--kernel-rows", type=int, default=50_000, help="rows for KernelKMeans")
    parser.add_argument("--repeats", type=int, default=5, help="pairs of fits for KernelKMeans")
    parser.add_argument("--rows", type=int, default=1000, help="rows for SCSRGF")
    parser.add_argument(
        "--memory-rows", type=int, default=4000, help="rows for the memory of SCSRGF"
    )
    parser.add_argument("--dbscan-rows", type=int, nargs="+", default=[20_000, 200_000, 2_000_000])
    parser.add_argument(
        "--tree-rows", type=int, default=20_000, help="rows for GridDBSCAN with 4 to 15 features"
    )
    parser.add_argument("--shuttle-eps", type=float, nargs="*", default=[0.1, 0.2, 0.3])
    parser.add_argument(
        "--only", choices=["dbscan", "cohirf", "kernel-kmeans", "sc-srgf"], help="run one part"
    )
    small = {"kernel_rows": 5000, "repeats": 2, "rows": 300, "memory_rows": 1000}
    add_write_option(parser)
    arguments = parse(parser, argv, **small, dbscan_rows=[5000], tree_rows=3000, shuttle_eps=[])
    folder = arguments.write
    parts = {
        "dbscan": lambda: (
            dbscan_on_a_grid(arguments.dbscan_rows).write(folder, "grid_dbscan"),
            dbscan_with_features(arguments.tree_rows, arguments.shuttle_eps).write(
                folder, "grid_dbscan_features"
            ),
        ),
        "kernel-kmeans": lambda: kernel_k_means(arguments.kernel_rows, arguments.repeats),
        "cohirf": lambda: dbscan_in_cohirf(arguments.dbscan_rows).write(
            folder, "grid_dbscan_inside"
        ),
        "sc-srgf": lambda: (sc_srgf(arguments.rows), memory(arguments.memory_rows)),
    }
    with threadpool_limits(1):
        for name, run in parts.items():
            if arguments.only in (None, name):
                run()


if __name__ == "__main__":
    main()
