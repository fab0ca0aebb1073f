"""Do fits stay under their memory limit? Three base methods, three limits each.

Each line is a process of its own: it makes the data, plans the batch size for the limit, fits with
that size and reports the peak of its resident memory during the fit, with the interpreter and the
data in memory, or with ``--file`` what it has mapped of a ``.npy`` file. Times are processor
seconds.

    python -m benchmarks.speed.memory_limit [--jobs 1] [--file]
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from benchmarks._common import Table, contraction_of, in_fresh_process, make_parser, parse, timed
from cohirf import CoHiRF, open_source
from cohirf.clusterers import SCSRGF
from cohirf.datasets import make_spheres
from cohirf.planning import Room, draw_rows, plan_batches, read_memory_limit
from cohirf.planning.memory import peak_bytes, reset_peak, resident_bytes
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


def measure(name: str, limit: str, n_jobs: int, path: Path | None) -> list[Any]:
    """Plan, fit and return a row of the table; run in a process of its own."""
    base, views, X, y = make_case(name)
    n_rows, n_features = X.shape
    if path is not None:
        np.save(path, X)
        del X
    data = X if path is None else open_source(path)
    rows = ArraySource(X) if path is None else data
    reset_peak()
    before = resident_bytes()
    plan = plan_batches(
        lambda size: rows.take(draw_rows(n_rows, size, (0,))),
        n_rows,
        contraction_of(base, views, n_features),
        Room(read_memory_limit(limit), n_jobs, held_bytes=None if path is None else 0),
    )
    reset_peak()
    model = CoHiRF.as_published(
        base, views=views, batch_size=plan.batch_size, n_jobs=n_jobs, random_state=0
    )
    seconds, _ = timed(lambda: model.fit(data))
    peak = peak_bytes()
    planned = [
        plan.batch_size,
        plan.n_batches,
        plan.n_levels,
        model.n_iter_,
        plan.seconds * n_jobs,
        seconds,
    ]
    held = [plan.n_bytes / 1e6, peak / 1e6, peak / plan.memory_limit]
    probed = [sum(probe.seconds for probe in plan.probes), plan.probes[-1].n_rows]
    return [
        name,
        limit,
        before / 1e6,
        *planned,
        *held,
        *probed,
        adjusted_rand_score(y, model.labels_),
        plan.reason,
    ]


COLUMNS = {
    "base": "<8",
    "limit": ">6",
    "before": ">7.0f",
    "size": ">9,",
    "batches": ">8",
    "levels:": ">7",
    "found": ">5",
    "seconds:": ">8.1f",
    "taken": ">7.1f",
    "MB:": ">6.0f",
    "peak": ">6.0f",
    "/ limit": ">7.2f",
    "probed": ">7.1f",
    "up to": ">8,",
    "ARI": ">5.2f",
    "why no larger": "",
}


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--file", action="store_true", help="fit from a file")
    parser.add_argument("--bases", nargs="+", choices=LIMITS, default=list(LIMITS))
    parser.add_argument(
        "--limits", type=int, default=3, help="how many limits for each base method"
    )
    arguments = parse(parser, argv, bases=["SC-SRGF"], limits=1)
    print(
        "before: MB held before planning; with a colon: what the plan expects, followed by what "
        "was measured;"
    )
    print(
        "probed: seconds, and the largest size; a fit is within its limit where peak / limit is "
        "at most 1"
    )
    table = Table(COLUMNS)
    for name in arguments.bases:
        for limit in LIMITS[name][: arguments.limits]:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "data.npy" if arguments.file else None
                table.row(*in_fresh_process(measure, name, limit, arguments.jobs, path))


if __name__ == "__main__":
    main()
