"""Whether fits stay under their memory limit: three base methods, three limits each.

Each line is a process of its own: it makes the data, plans the batch size for the limit, fits with that size and
reports the peak of its resident memory during the fit, with the interpreter and the data in memory, or with ``--file``
what it has mapped of a ``.npy`` file. Times are processor seconds.

    python benchmarks/memory_limit.py [--jobs 1] [--file]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF, open_source
from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.choose_medoids import choose_central_medoids, cosine_centrality
from cohirf.algorithm.consensus import strict_consensus
from cohirf.algorithm.get_clusters import Views
from cohirf.algorithm.levels import Contraction
from cohirf.clusterers import SCSRGF
from cohirf.datasets import make_spheres
from cohirf.planning import draw_rows, parse_bytes, plan_batches
from cohirf.planning.memory import forget_peak, peak_bytes, resident_bytes
from cohirf.sources import ArraySource

LIMITS = {
    "K-Means": ("400MB", "500MB", "700MB"),
    "DBSCAN": ("300MB", "500MB", "1GB"),
    "SC-SRGF": ("300MB", "400MB", "600MB"),
}


def make_case(name: str) -> tuple[Any, int, np.ndarray, np.ndarray]:
    """Return a base method, its number of views, and data with true labels."""
    if name == "K-Means":
        return KMeans(10, n_init=1), 3, *make_blobs(1_000_000, 10, centers=10, random_state=0)
    if name == "DBSCAN":
        return DBSCAN(eps=0.1), 1, *make_spheres(500_000, random_state=0)
    return SCSRGF(5), 1, *make_blobs(4000, 50, centers=5, cluster_std=4.0, random_state=0)


def contraction_of(base: Any, n_views: int, n_features: int) -> Contraction:
    """Return the batch step of a fit with all other options at their defaults."""
    return Contraction(
        views=Views(BaseMethod.of(base), n_views, n_features, (0,)),
        consensus=strict_consensus,
        choose_medoids=partial(choose_central_medoids, centrality=cosine_centrality),
        batch_size=None,
        sum_mass=False,
    )


def measure(name: str, limit: str, n_jobs: int, path: Path | None) -> None:
    """Plan, fit and print a line of the table; run in a process of its own."""
    base, n_views, X, y = make_case(name)
    n_rows, n_features = X.shape
    if path is not None:
        np.save(path, X)
        del X
    data = X if path is None else open_source(path)
    rows = ArraySource(X) if path is None else data
    forget_peak()
    before = resident_bytes()
    plan = plan_batches(
        lambda size: rows.take(draw_rows(n_rows, size, (0,))),
        n_rows,
        contraction_of(base, n_views, n_features),
        memory_limit=parse_bytes(limit),
        n_jobs=n_jobs,
        held_bytes=None if path is None else 0,
    )
    forget_peak()
    started = time.process_time()
    model = CoHiRF(base, n_views=n_views, batch_size=plan.batch_size, n_jobs=n_jobs, random_state=0).fit(data)
    seconds, peak = time.process_time() - started, peak_bytes()
    cells = [
        f"{name:<8} {limit:>6} {before / 1e6:>7.0f} {plan.batch_size:>9,} {plan.n_batches:>8}",
        f"{plan.n_levels:>4} {model.n_iter_:>4} {plan.seconds * n_jobs:>7.1f} {seconds:>7.1f}",
        f"{plan.n_bytes / 1e6:>8.0f} {peak / 1e6:>7.0f} {'yes' if peak <= plan.memory_limit else 'NO':>5}",
        f"{sum(probe.seconds for probe in plan.probes):>8.1f} {plan.probes[-1].n_rows:>8,}",
        f"{adjusted_rand_score(y, model.labels_):>5.2f}  {plan.reason}",
    ]
    print(*cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--file", action="store_true", help="fit from a file")
    parser.add_argument("--one", nargs=2, metavar=("BASE", "LIMIT"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        with tempfile.TemporaryDirectory() as folder:
            measure(*arguments.one, arguments.jobs, Path(folder) / "data.npy" if arguments.file else None)
        return
    print("before: MB held before planning; levels, seconds, MB: expected and measured; probed: seconds, largest size")
    print(
        f"{'base':<8} {'limit':>6} {'before':>7} {'size':>9} {'batches':>8} {'levels':>9} {'seconds':>15} "
        f"{'MB':>16} {'held':>5} {'probed':>17} {'ARI':>5}  why no larger"
    )
    for name, limits in LIMITS.items():
        for limit in limits:
            command = [sys.executable, __file__, "--one", name, limit, "--jobs", str(arguments.jobs)]
            command += ["--file"] * arguments.file
            print(subprocess.run(command, capture_output=True, text=True, check=True).stdout, end="", flush=True)


if __name__ == "__main__":
    main()
