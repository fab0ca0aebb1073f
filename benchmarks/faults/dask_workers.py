"""Do fits survive SIGKILLs of Dask workers: with the same labels every time, and without a hang?

    python -m benchmarks.faults.dask_workers [--kills 50]

Two workers of one thread each run fits of different kinds, one after the other. During each fit,
one or two workers are killed at random instants; their nannies start new ones. A fit that takes
longer than ``--patience`` seconds counts as hung. Labels and parents are compared with those of the
fit on one machine.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Sequence
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import LocalCluster
from sklearn.cluster import DBSCAN, KMeans

from benchmarks._common import Table, make_parser, parse, two_dask_workers
from cohirf import CoHiRF, open_source
from cohirf.datasets import make_spheres


class SlowKMeans(KMeans):
    """K-Means that waits before it fits, so that kills come while it runs."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SlowKMeans:
        """Wait, then fit."""
        time.sleep(0.1)
        return super().fit(X, sample_weight=sample_weight)


class SlowDBSCAN(DBSCAN):
    """DBSCAN that waits before it fits."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SlowDBSCAN:
        """Wait, then fit."""
        time.sleep(0.1)
        return super().fit(X, sample_weight=sample_weight)


K_MEANS = SlowKMeans(5, n_init=1)
VARIANTS = {
    "k-means": CoHiRF.as_published(K_MEANS, views=1),
    "dbscan": CoHiRF.as_published(SlowDBSCAN(eps=0.3), views=1),
    "relaxed": CoHiRF.as_published(K_MEANS, views=2, max_features=2, consensus="relaxed"),
    "weighted": CoHiRF.as_published(K_MEANS, views=1, medoid_weights=True),
}


class Killer(threading.Thread):
    """Kills random workers after random times until it is stopped."""

    def __init__(
        self, cluster: LocalCluster, instants: list[float], rng: np.random.Generator
    ) -> None:
        super().__init__(daemon=True)
        self.cluster = cluster
        self.instants = instants
        self.rng = rng
        self.done = threading.Event()
        self.kills = 0

    def run(self) -> None:
        """Wait and kill."""
        for seconds in self.instants:
            if self.done.wait(seconds):
                return
            alive = self.processes()
            if alive:
                os.kill(int(self.rng.choice(alive)), signal.SIGKILL)
                self.kills += 1

    def processes(self) -> list[int]:
        """Return the processes of workers that the scheduler knows.

        A nanny whose worker dies earlier gives up.
        """
        known = set(self.cluster.scheduler.workers)
        return [
            nanny.pid
            for nanny in list(self.cluster.workers.values())
            if nanny.worker_address in known
        ]


def fit(model: CoHiRF, data: Any, seed: int) -> tuple[Any, Any]:
    fitted = CoHiRF.as_published(
        **(model.get_params(deep=False) | {"batch_size": 1000, "random_state": seed})
    ).fit(data)
    return np.asarray(fitted.labels_), np.asarray(fitted.parents_)


def hang(*_: object) -> None:
    raise TimeoutError("the fit hangs")


def bench(n_kills: int, n_rows: int, patience: int, rng: np.random.Generator) -> bool:
    X = make_spheres(n_rows, random_state=0)[0].astype(np.float32)
    signal.signal(signal.SIGALRM, hang)
    table = Table({"fit": "<10", "kills": ">5", "seconds": ">8.1f", "same labels and parents": ""})
    n_done = 0
    good = True
    number = 0
    with two_dask_workers() as cluster:
        array = da.from_array(X, chunks=(2500, 3))
        while n_done < n_kills:
            name = list(VARIANTS)[number % len(VARIANTS)]
            expected = fit(VARIANTS[name], open_source(X), number)  # in this process
            killer = Killer(
                cluster, rng.uniform(0.2, 2.0, size=min(2, n_kills - n_done)).tolist(), rng
            )
            started = time.monotonic()
            signal.alarm(patience)
            killer.start()
            try:
                found = fit(VARIANTS[name], array, number)
                same = all(
                    np.array_equal(left, right) for left, right in zip(expected, found, strict=True)
                )
                outcome = "yes" if same else "NO"
            except (TimeoutError, RuntimeError) as error:
                outcome = f"NO, with {len(cluster.scheduler.workers)} workers: {error}"
            signal.alarm(0)
            killer.done.set()
            killer.join()
            good = good and outcome == "yes"
            n_done = n_done + killer.kills
            number = number + 1
            table.row(name, killer.kills, time.monotonic() - started, outcome)
    print(f"{n_done} kills in {number} fits: {'all survived' if good else 'NOT all survived'}")
    return good


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument(
        "--patience", type=int, default=300, help="seconds after which a fit counts as hung"
    )
    parser.add_argument("--seed", type=int, default=0)
    arguments = parse(parser, argv, kills=4, rows=10_000)
    warnings.simplefilter("ignore")
    # 15 s after it lost a worker, a LocalCluster gives it up if it is missing, even if it was back
    # and killed again.
    dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"})
    logging.disable(logging.ERROR)  # Dask tells of each worker that it lost
    rng = np.random.default_rng(arguments.seed)
    sys.exit(0 if bench(arguments.kills, arguments.rows, arguments.patience, rng) else 1)


if __name__ == "__main__":
    main()
