"""How much does CoHiRF cost beyond its base method, and how fast are its kernels against the
obvious way to write them?

Both sides of each ratio run in this process, one thread each. Memory is the rise of the peak
resident size of a fresh process during ``fit``, less one view; it is measured with a base method
that allocates nothing but its labels, and with K-Means, whose own arrays come on top.

    python -m benchmarks.speed.core [--rows 100000 1000000]
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import cosine_similarity
from threadpoolctl import threadpool_limits

from benchmarks._common import (
    Table,
    TimedCalls,
    best_of,
    in_fresh_process,
    make_parser,
    parse,
    peak_rise,
    timed,
)
from cohirf import CoHiRF
from cohirf.algorithm.choose_medoids import choose_central_medoids, cosine_centrality
from cohirf.algorithm.consensus import fold_views, relaxed_consensus, strict_consensus
from cohirf.algorithm.get_clusters import take_features

N_FEATURES = 50
N_CENTERS = 10
N_VIEWS = 5
FRACTION = 0.3
SPREAD = {"separated": 1.0, "overlapping": 8.0}


class TimedKMeans(TimedCalls, KMeans):
    """K-Means, timed."""


class Bins(ClusterMixin, BaseEstimator):
    """A base method that allocates its labels and hardly anything else: ten bins along one
    feature.
    """

    def __init__(self, random_state: Any = None) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Bins:
        """Label rows by the bin of their first feature."""
        self.labels_ = np.empty(len(X), dtype=np.int32)
        for start in range(0, len(X), 10_000):
            block = X[start : start + 10_000, 0]
            self.labels_[start : start + 10_000] = np.clip(block / 6 + 5, 0, 9)
        return self


def blobs(n_rows: int, spread: float) -> np.ndarray:
    return make_blobs(n_rows, N_FEATURES, centers=N_CENTERS, cluster_std=spread, random_state=0)[0]


def model(consensus: str, base: Any = None) -> CoHiRF:
    return CoHiRF.as_published(
        TimedKMeans(n_clusters=N_CENTERS) if base is None else base,
        views=N_VIEWS,
        max_features=FRACTION,
        consensus=consensus,
        random_state=0,
    )


def fit_overhead(X: np.ndarray, consensus: str, repeats: int = 5) -> tuple[float, CoHiRF]:
    """Return the median of a few ratios of the time of a fit to that of its base-method calls."""
    ratios = []
    for _ in range(repeats):
        TimedKMeans.seconds = 0.0
        seconds, fitted = timed(lambda: model(consensus).fit(X), time.thread_time)
        ratios.append(seconds / TimedKMeans.seconds)
    return float(np.median(ratios)), fitted


def view_labels(X: np.ndarray) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    labels = []
    for view in range(N_VIEWS):
        features = np.sort(rng.choice(N_FEATURES, size=int(FRACTION * N_FEATURES), replace=False))
        base = KMeans(n_clusters=N_CENTERS, random_state=view)
        labels.append(base.fit_predict(take_features(X, features)))
    return labels


def naive_relaxed(codes: np.ndarray, threshold: float = 0.8) -> np.ndarray:
    kept = list(range(codes.shape[1]))
    while True:
        full = np.unique(codes[:, kept], axis=0, return_inverse=True)[1]
        if len(kept) == 1:
            return full
        without = [
            np.unique(codes[:, [v for v in kept if v != view]], axis=0, return_inverse=True)[1]
            for view in kept
        ]
        agreement = [adjusted_rand_score(full, other) for other in without]
        worst = int(np.argmin(agreement))
        if agreement[worst] >= threshold:
            return full
        del kept[worst]


def pairwise_medoids(
    X: np.ndarray, labels: np.ndarray, n_clusters: int, max_candidates: int = 1000
) -> np.ndarray:
    """Choose medoids as the paper's appendix says: per cluster, all similarities between at most so
    many rows.
    """
    rng = np.random.default_rng(0)
    medoids = np.empty(n_clusters, dtype=np.intp)
    for k in range(n_clusters):
        rows = np.flatnonzero(labels == k)
        if len(rows) > max_candidates:
            rows = rng.choice(rows, max_candidates, replace=False)
        medoids[k] = rows[cosine_similarity(X[rows]).sum(axis=1).argmax()]
    return medoids


def bench_fits(n_rows: int, table: Table) -> None:
    for structure, spread in SPREAD.items():
        X = blobs(n_rows, spread)
        for consensus, target in (("strict", "<= 1.15"), ("relaxed", "<= 1.20")):
            ratio, fitted = fit_overhead(X, consensus)
            counts = " > ".join(str(record.rows_out) for record in fitted.diagnostics_)
            table.row(
                f"{consensus} fit / its base calls, {structure}",
                n_rows,
                ratio,
                target,
                f"rows: {counts}",
            )


def bench_consensus(n_rows: int, table: Table) -> None:
    for structure, spread in SPREAD.items():
        labels = view_labels(blobs(n_rows, spread))
        matrix = np.stack(labels, axis=1)
        fast, found = best_of(5, lambda labels=labels: strict_consensus(fold_views(labels, n_rows)))
        slow, _ = best_of(1, lambda matrix=matrix: np.unique(matrix, axis=0, return_inverse=True))
        codes = f"{found.n_clusters} codes"
        table.row(f"np.unique(axis=0) / strict, {structure}", n_rows, slow / fast, ">= 50", codes)
        fast, _ = best_of(
            5, lambda labels=labels: relaxed_consensus(fold_views(labels, n_rows), 0.8)
        )
        slow, _ = best_of(1, lambda matrix=matrix: naive_relaxed(matrix))
        table.row(f"naive leave-one-out / relaxed, {structure}", n_rows, slow / fast, ">= 300", "")


def bench_medoids(n_rows: int, table: Table) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, N_FEATURES))
    for n_clusters, target in ((100, ">= 3"), (n_rows // 10, ">= 500")):
        labels = rng.integers(0, n_clusters, n_rows)
        labels[:n_clusters] = np.arange(n_clusters)
        fast, _ = best_of(
            3,
            lambda labels=labels, k=n_clusters: choose_central_medoids(
                X, labels, k, None, rng, centrality=cosine_centrality
            ),
        )
        slow, _ = best_of(1, lambda labels=labels, k=n_clusters: pairwise_medoids(X, labels, k))
        table.row(
            f"pairwise / exact cosine medoids, k={n_clusters}", n_rows, slow / fast, target, ""
        )


def measure_memory(n_rows: int, consensus: str, base_name: str) -> float:
    """Return the bytes per row by which a fit raises the peak resident size.

    Run in a process of its own.
    """
    base = Bins() if base_name == "bins" else None
    rng = np.random.default_rng(0)
    centers = rng.uniform(-10, 10, (N_CENTERS, N_FEATURES))
    X = np.empty((n_rows, N_FEATURES))
    # in blocks, so that making the data does not set the peak
    for start in range(0, n_rows, 10_000):
        block = X[start : start + 10_000]
        block[:] = centers[rng.integers(0, N_CENTERS, len(block))] + 8.0 * rng.standard_normal(
            block.shape
        )
    with threadpool_limits(1):
        model(consensus, base).fit(X[:5000])  # imports, and what is allocated once
        return peak_rise(lambda: model(consensus, base).fit(X))[0] / n_rows


def bench_memory(n_rows: int, table: Table) -> None:
    view = int(FRACTION * N_FEATURES) * 8
    for consensus in ("strict", "relaxed"):
        for base_name, target in (("bins", "<= 40"), ("K-Means", "")):
            beyond = in_fresh_process(measure_memory, n_rows, consensus, base_name) - view
            table.row(f"bytes a row, {consensus}, {base_name}", n_rows, beyond, target, "")


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    arguments = parse(parser, argv, rows=[20_000])
    with threadpool_limits(1):
        table = Table({"what": "<44", "rows": ">9,", "ratio": ">9.2f", "target": "<10", "": ""})
        for n_rows in arguments.rows:
            for bench in (bench_fits, bench_memory, bench_consensus, bench_medoids):
                bench(n_rows, table)


if __name__ == "__main__":
    main()
