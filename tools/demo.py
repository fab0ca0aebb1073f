"""Methods alone and with CoHiRF around them, measured here and now.

And a messy table with its report.

python -m tools.demo
"""

from __future__ import annotations

import tempfile
import time
import warnings
from contextlib import ExitStack
from dataclasses import dataclass, replace
from math import ceil, nan
from multiprocessing import TimeoutError as Late
from multiprocessing import get_context
from multiprocessing.pool import Pool
from pathlib import Path
from typing import Any

import numpy as np
from examples.synthetic import make_shapes, write_customers
from sklearn.base import clone
from sklearn.cluster import DBSCAN, HDBSCAN, KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from cohirf.app.cli.console import Console, TextGrid
from cohirf.app.explain import describe_clusters, write_report
from cohirf.app.preparation import prepare
from cohirf.estimator import CoHiRF
from cohirf.optional import is_installed

HEADINGS = ("data", "rows", "method", "alone", "ARI", "with CoHiRF", "ARI")
ROWS = {"blobs": 300_000, "shapes": 200_000, "connected": 50_000, "customers": 5_000}
SCORE = (
    "ARI is the adjusted Rand index with the known clusters: 1 if all rows are in theirs, 0 by "
    "chance."
)
N_BLOBS = 10
N_FEATURES = 28
# A method alone is stopped after so many seconds, or after so many times those of CoHiRF, if that is
# longer: on a slow machine, both have time.
LIMIT = 10
TIMES_AS_LONG = 2
FEW = 2_000  # rows of a first fit
# differences of indices and ratios of times that are not called a difference
TIE = 0.01
AS_LONG = 1.25


@dataclass(frozen=True)
class Fitted:
    """Seconds by the clock, and the adjusted Rand index with the known clusters.

    NaN if the fit was stopped.
    """

    seconds: float
    index: float = nan

    @property
    def cells(self) -> tuple[str, str]:
        """What the table says."""
        is_done = not np.isnan(self.index)
        return (
            (f"{self.seconds:.1f} s", f"{self.index:.3f}")
            if is_done
            else (f"over {self.seconds:g} s", "-")
        )


@dataclass(frozen=True)
class Trial:
    """Rows with known clusters, a method for them, and CoHiRF around that method or for the same
    number of clusters.
    """

    data: str
    method: str
    X: Any
    y: Any
    alone: Any
    model: CoHiRF

    def part(self, n_rows: int) -> Trial:
        """Return the trial with the first rows only."""
        return replace(self, X=self.X[:n_rows], y=self.y[:n_rows])

    def run(self, pool: Pool) -> tuple[Fitted, Fitted]:
        """Fit both, one after the other.

        The method alone in a process of the pool, which ends if it takes too long.
        """
        self.fit_few()
        ours = measure(self, self.model)
        limit = max(LIMIT, ceil(TIMES_AS_LONG * ours.seconds))
        waiting = pool.apply_async(measure, (self, self.alone))
        try:
            alone = waiting.get(limit)
        except Late:
            alone = Fitted(limit)
            pool.terminate()
        return alone, ours

    def fit_few(self) -> None:
        """Fit a few rows, in as many batches, which imports and compiles what the model needs."""
        model = clone(self.model)
        measure(
            self.part(FEW),
            model if model.batch_size is None else model.set_params(batch_size=FEW // 4),
        )


def measure(trial: Trial, method: Any) -> Fitted:
    """Fit the rows of a trial."""
    started = time.perf_counter()
    labels = method.fit_predict(trial.X)
    seconds = time.perf_counter() - started
    return Fitted(seconds, float(adjusted_rand_score(trial.y, labels)))


def demo(out: Path) -> None:
    """Measure methods alone and with CoHiRF around them, and write a report on a table that nobody
    has cleaned.
    """
    console = Console()
    rows = []
    sentences = []
    trials = make_trials()
    with ExitStack() as stack, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few rows are thinner than all
        pool = stack.enter_context(start_pool())
        if is_installed("numba"):
            console.note("compiling, the first time only")
            pool.map(Trial.fit_few, [trial.part(FEW) for trial in reversed(trials)], chunksize=1)
        for trial in trials:
            console.note(f"{trial.method}: {trial.data}, {len(trial.X):,} rows")
            alone, ours = trial.run(pool)
            if np.isnan(alone.index):  # it has ended with the method
                pool = stack.enter_context(start_pool())
            rows.append((trial.data, f"{len(trial.X):,}", trial.method, *alone.cells, *ours.cells))
            sentences.append(f"{trial.method} on {trial.data}: {judge(alone, ours)}.")
    console.note(f"a table that nobody has cleaned: {ROWS['customers']:,} rows")
    with console.watching():
        names, sentence = cluster_customers(out)
    console.show({}, TextGrid(rows, HEADINGS), SCORE, *sentences, sentence, "")
    console.show({}, TextGrid(names, ("customers", "name"), text=True), f"Written: {out} (report)")


def start_pool() -> Pool:
    """Return processes that show no warnings."""
    return get_context("spawn").Pool(2, warnings.simplefilter, ("ignore",))


def make_trials() -> list[Trial]:
    """Return what is compared."""
    blobs, in_blobs = make_blobs(
        ROWS["blobs"], N_FEATURES, centers=N_BLOBS, center_box=(-1.5, 1.5), random_state=0
    )
    alone = KMeans(N_BLOBS, n_init=10, random_state=0)
    ours = CoHiRF(n_clusters=N_BLOBS, random_state=0)
    trials = [
        Trial(
            "blobs that overlap",
            "K-Means with ten starts",
            blobs.astype(np.float32),
            in_blobs,
            alone,
            ours,
        )
    ]
    X, y = make_shapes(ROWS["connected"], noise=0, random_state=0)
    n_shapes = int(y.max()) + 1
    alone = KMeans(n_shapes, n_init=10, random_state=0)
    ours = CoHiRF(n_clusters=n_shapes, random_state=0)
    trials.append(Trial("shapes", "K-Means with ten starts", X, y, alone, ours))
    n_rows = ROWS["shapes"]
    X, y = make_shapes(n_rows, random_state=0)
    dbscan = DBSCAN(eps=30 / n_rows**0.5, min_samples=10)
    trials.append(Trial("shapes in noise", "DBSCAN", X, y, dbscan, CoHiRF(dbscan, random_state=0)))
    if is_installed("numba"):
        hdbscan = HDBSCAN(min_cluster_size=n_rows // 200, min_samples=10, copy=True)
        in_batches = CoHiRF(hdbscan, batch_size=n_rows // 10, random_state=0)
        trials.append(Trial("shapes in noise", "HDBSCAN", X, y, hdbscan, in_batches))
    return trials


def judge(alone: Fitted, ours: Fitted) -> str:
    """Say who finds more of the known clusters, and who is faster."""
    if np.isnan(alone.index):
        return (
            f"CoHiRF is done after {ours.seconds:.1f} s; alone, the method was stopped after "
            f"{alone.seconds:g} s"
        )
    gain = ours.index - alone.index
    ratio = ours.seconds / alone.seconds
    found = (
        "the same clusters, or nearly so"
        if abs(gain) < TIE
        else f"{'better' if gain > 0 else 'worse'} clusters"
    )
    longer = f"in {ratio:.1f} times the time"
    shorter = f"{1 / ratio:.1f} times as fast"
    pace = (
        "in about the same time"
        if 1 / AS_LONG < ratio < AS_LONG
        else longer
        if ratio > 1
        else shorter
    )
    return f"CoHiRF finds {found}, {pace}"


def cluster_customers(out: Path) -> tuple[list[tuple[str, str]], str]:
    """Write and cluster a table of customers, and write the report.

    Return the size and the name of each cluster.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "customers.csv"
        segments = write_customers(path, ROWS["customers"], random_state=0)
        started = time.perf_counter()
        prepared = prepare(path)
        model = CoHiRF(random_state=0).fit(prepared.rows())
        write_report(model, prepared, out, data_name=path.name)
        seconds = time.perf_counter() - started
        known = np.loadtxt(segments, dtype=str, delimiter=",", skiprows=1, usecols=1)
        description = describe_clusters(model, preparation=prepared.preparation)
    names = [(f"{cluster.size:,}", cluster.name) for cluster in description.clusters]
    index = adjusted_rand_score(known, model.labels_)
    return names, (
        f"A table that nobody has cleaned, with text, dates and gaps: {model.n_clusters_} groups "
        f"with names and a page about them in {seconds:.1f} s; ARI {index:.3f} with the "
        f"{len(set(known))} segments that are in it."
    )


if __name__ == "__main__":
    demo(Path("demo.html"))
