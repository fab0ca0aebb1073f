"""Does HDBSCAN in local batches find what it finds on all rows, if there are more than ten
features?

    python -m benchmarks.quality.many_features                                          60,000 rows
    of 16 features python -m benchmarks.quality.many_features --rows 1000000 --batch 8192 --jobs 16
    --alone none python -m benchmarks.quality.many_features --rows 300000 --features 50 --unit
    --batch 8192 --jobs 16

Rows are 20 normal clusters of different densities that overlap (``--scale`` moves their centres),
and 5 % of noise; ``--unit`` makes them unit vectors. Alone is the method on all rows: the same
spanning tree in one batch, or a package (``--alone fast_hdbscan``, ``hdbscan_rs`` or ``hdbscan``);
``--alone none`` leaves it out. Agreement is the share of rows that are in the same cluster, or
noise in both. Seconds are processor time with one job (start with OMP_NUM_THREADS=1
NUMBA_NUM_THREADS=1), and by the clock with several. The peak memory is that of this process so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from time import perf_counter, process_time

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import HDBSCAN
from sklearn.metrics.cluster import contingency_matrix

from benchmarks._common import Table, make_parser, parse
from cohirf import CoHiRF
from cohirf.fitting import locality
from cohirf.planning.memory import peak_bytes


def draw_rows(n_rows: int, n_features: int, scale: float, *, unit: bool) -> np.ndarray:
    """Return rows of 20 clusters, and noise."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(20, n_features)) * scale
    spread = rng.uniform(0.15, 0.45, size=(20, 1))
    clusters = rng.integers(20, size=n_rows)
    X = centres[clusters] + spread[clusters] * rng.normal(size=(n_rows, n_features))
    noise = slice(n_rows // 20)
    X[noise] = rng.uniform(X.min(axis=0), X.max(axis=0), size=X[noise].shape)
    rng.shuffle(X)
    return X / np.linalg.norm(X, axis=1, keepdims=True) if unit else X


def agreement(labels: np.ndarray, expected: np.ndarray) -> float:
    """Return the share of rows that are in the same cluster, or noise in both."""
    in_both = (labels >= 0) & (expected >= 0)
    table = contingency_matrix(expected[in_both], labels[in_both])
    same = table[linear_sum_assignment(-table)].sum() + ((labels < 0) & (expected < 0)).sum()
    return float(same / len(labels))


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rows", type=int, default=60_000, help="number of rows")
    parser.add_argument("--features", type=int, default=16, help="number of features")
    parser.add_argument("--scale", type=float, default=0.5, help="how far apart centres are")
    parser.add_argument("--unit", action="store_true", help="rows are unit vectors")
    parser.add_argument("--batch", type=int, default=10_000, help="rows of a batch, with its halo")
    parser.add_argument("--jobs", type=int, default=1, help="n_jobs of CoHiRF")
    parser.add_argument("--alone", default="one batch", help="package with a class HDBSCAN")
    arguments = parse(parser, argv, rows=3_000, batch=600)
    X = draw_rows(arguments.rows, arguments.features, arguments.scale, unit=arguments.unit)
    settings = {"min_cluster_size": arguments.rows // 200, "min_samples": 10}
    base = HDBSCAN(**settings, copy=True)
    vars(locality.LOCAL)["spanned_rows"] = 1  # batches are as small as asked for
    in_batches = CoHiRF(base, batch_size=arguments.batch, n_jobs=arguments.jobs, random_state=0)
    table = Table(
        {
            "method": "<16",
            "seconds": ">8.1f",
            "clusters": ">8",
            "noise": ">6.3f",
            "agreement": ">9.4f",
            "peak MB": ">7,.0f",
        }
    )
    found = []
    clock = process_time if arguments.jobs == 1 else perf_counter
    for name in ("batches", *([] if arguments.alone == "none" else [arguments.alone])):
        method = in_batches
        if name == "one batch":
            vars(locality.LOCAL)["spanned_rows"] = 2**40
        elif name != "batches":
            method = import_module(name).HDBSCAN(**settings)
        started = clock()
        found.append(np.asarray(method.fit_predict(X)))
        seconds = clock() - started
        share = float((found[-1] < 0).mean())
        table.row(
            name,
            seconds,
            int(found[-1].max()) + 1,
            share,
            agreement(found[0], found[-1]),
            peak_bytes() / 1e6,
        )


if __name__ == "__main__":
    main()
