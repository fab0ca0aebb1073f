"""Do quality, cost per row and memory stay the same from thousands of rows to a billion?

    python -m benchmarks.speed.spheres                      n = 2e3 to 2e7, from .npy files
    python -m benchmarks.speed.spheres --largest 100000000 --jobs 2   up to 1e8, with two jobs
    python -m benchmarks.speed.spheres --sorted             the same with rows sorted by class
    python -m benchmarks.speed.spheres --against-sklearn    the fast DBSCAN against scikit-learn's,
    in one run python -m benchmarks.speed.spheres --overhead           cost of 10,000 batches beyond
    that of the base method python -m benchmarks.speed.spheres --billion            1e9 rows, two
    jobs; 12 GB of data and 13 GB of scratch python -m benchmarks.speed.spheres --billion --jobs 16
    the same with more jobs

The data are two concentric spheres. Files go to the directory that ``--folder`` names, and stay
there. Every fit runs in a process of its own, to measure its peak memory; with several jobs, that
of all processes together.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import psutil
from examples.synthetic import labels_file, write_data
from sklearn.cluster import DBSCAN, KMeans

from benchmarks._common import Table, TimedCalls, in_fresh_process, make_parser, parse, timed
from benchmarks._watched import TreePeak
from cohirf import CoHiRF, open_source
from cohirf.clusterers import GridDBSCAN
from cohirf.planning.memory import peak_bytes

# n, batch_size, eps: with rows this dense, both shells hold together in one batch and stay apart
# from each other
SETTINGS = [
    (2_000, 2_000, 0.3),
    (20_000, 2_000, 0.2),
    (200_000, 20_000, 0.2),
    (2_000_000, 20_000, 0.2),
]
LARGE = [(20_000_000, 20_000, 0.2), (100_000_000, 20_000, 0.2)]
BILLION = (1_000_000_000, 20_000, 0.2)
BLOCK = 10_000_000
REFERENCE = 200_000  # fits of fewer rows are too short to compare their time per row


class TimedKMeans(TimedCalls, KMeans):
    """K-Means, timed."""


class TimedGridDBSCAN(TimedCalls, GridDBSCAN):
    """GridDBSCAN, timed."""


def table(
    folder: Path, settings: list[tuple[int, int, float]], *, n_jobs: int, is_sorted: bool = False
) -> None:
    columns = {
        "n": ">13,",
        "batch": ">7,",
        "eps": ">5",
        "ARI": ">6.4f",
        "levels": ">6",
        "CPU s": ">8.2f",
        "clock s": ">8.2f",
    }
    rows = Table(columns | {"ns a row": ">9.0f", "/ at 2e5": ">8.2f", "peak MB": ">8.0f"})
    reference = None
    for n, batch_size, eps in settings:
        path = prepare(folder, n, is_sorted=is_sorted)
        found = in_fresh_process(fit, path, batch_size, eps, n_jobs, "fast")
        per_row = found["cpu"] / n
        reference = reference or (per_row if n >= REFERENCE else None)
        ratio = per_row / reference if reference else "-"
        seconds = (found["cpu"], found["clock"])
        figures = (
            found["ari"],
            found["levels"],
            *seconds,
            1e9 * per_row,
            ratio,
            found["peak"] / 1e6,
        )
        rows.row(n, batch_size, eps, *figures)


def against_sklearn(folder: Path, n: int, batch_size: int, eps: float) -> None:
    """Compare whole fits, one after the other; ratios of CPU time."""
    path = prepare(folder, n)
    runs = {
        base: in_fresh_process(fit, path, batch_size, eps, 1, base) for base in ("fast", "sklearn")
    }
    print(f"n={n:,}, batch_size={batch_size:,}, eps={eps}: ", end="")
    print(
        f"scikit-learn's DBSCAN takes {runs['sklearn']['cpu'] / runs['fast']['cpu']:.1f} times as "
        "long; ",
        end="",
    )
    print(f"ARI {runs['fast']['ari']:.4f} and {runs['sklearn']['ari']:.4f}")


def overhead(n: int) -> None:
    """Time batches of 2,000 rows in memory against the calls of the base method among it, both in
    CPU time.
    """
    warnings.simplefilter("ignore")
    X = np.random.default_rng(0).normal(size=(n, 3)).astype(np.float32)
    for base in (TimedKMeans(8, n_init=1), TimedGridDBSCAN(eps=0.3)):
        base.fit(X[:100])  # compiled
        for views in (1, 5):
            model = CoHiRF.as_published(
                base, views=views, max_features=2, batch_size=2_000, max_iter=1, random_state=0
            )
            type(base).seconds = 0
            total, _ = timed(partial(model.fit, X))
            print(
                f"{type(base).__name__[5:]}, {views} view(s): fit / base method = "
                f"{total / base.seconds:.2f}; a batch takes "
                f"{1e3 * total / model.diagnostics_[0].n_batches:.2f} ms",
                flush=True,
            )


def prepare(folder: Path, n: int, *, is_sorted: bool = False) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"spheres-{n}{'-sorted' if is_sorted else ''}.npy"
    if path.exists():
        return path
    if not is_sorted:
        write_data("spheres", path, n, random_state=0)
        return path
    plain = prepare(folder, n)
    X = np.load(plain)
    y = np.load(labels_file(plain))
    order = np.argsort(y, kind="stable")
    np.save(path, X[order])
    np.save(labels_file(path), y[order])
    return path


def fit(path: Path, batch_size: int, eps: float, n_jobs: int, base: str) -> dict[str, float]:
    """Fit, and return how good, how long and how large that was; run in a process of its own."""
    dbscan = {"fast": GridDBSCAN, "sklearn": DBSCAN}[base](eps=eps, min_samples=5)
    # compiled, or read from the cache of compiled code
    dbscan.fit(np.zeros((10, 3), dtype=np.float32))
    model = CoHiRF.as_published(
        dbscan, views=1, batch_size=batch_size, n_jobs=n_jobs, random_state=0, min_cluster_size=2
    )
    with TreePeak() as together:
        clock, (cpu, _) = timed(
            lambda: timed(lambda: model.fit(open_source(path)), cpu_seconds), time.perf_counter
        )
    labels = np.load(labels_file(path), mmap_mode="r")
    return {
        "cpu": cpu,
        "clock": clock,
        "peak": max(peak_bytes(), together.n_bytes),  # looks at all processes can miss a short fit
        "ari": adjusted_rand(labels, model.labels_),
        "levels": model.n_iter_,
    }


def cpu_seconds() -> float:
    """Return the processor time of this process and of its children, which may still run."""
    spent = [process.cpu_times() for process in (psutil.Process(), *psutil.Process().children())]
    return sum(times.user + times.system for times in spent)


def adjusted_rand(y: np.ndarray, labels: np.ndarray) -> float:
    """Return the adjusted Rand index, block by block."""
    n_labels = int(labels.max()) + 2
    counts = np.zeros((2, n_labels))
    for start in range(0, len(y), BLOCK):
        block = slice(start, start + BLOCK)
        keys = y[block].astype(np.int64) * n_labels + (labels[block] + 1)
        counts += np.bincount(keys, minlength=2 * n_labels).reshape(2, n_labels)
    pairs = counts * (counts - 1) / 2
    rows = counts.sum(axis=1)
    columns = counts.sum(axis=0)
    n = counts.sum()
    left = (rows * (rows - 1) / 2).sum()
    right = (columns * (columns - 1) / 2).sum()
    both = pairs.sum()
    expected = left * right / (n * (n - 1) / 2)
    return float((both - expected) / ((left + right) / 2 - expected))


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument(
        "--folder", type=Path, default=Path(tempfile.gettempdir()) / "cohirf-spheres"
    )
    parser.add_argument("--largest", type=int, default=LARGE[0][0], help="leave out larger data")
    parser.add_argument(
        "--jobs", type=int, help="number of jobs; by default 1, and 2 for --billion"
    )
    which = parser.add_mutually_exclusive_group()
    for option in ("sorted", "against-sklearn", "overhead", "billion"):
        which.add_argument(f"--{option}", action="store_true")
    arguments = parse(parser, argv, largest=200_000)
    settings = [setting for setting in (*SETTINGS, *LARGE) if setting[0] <= arguments.largest]
    if arguments.overhead:
        overhead(arguments.largest)
    elif arguments.against_sklearn:
        against_sklearn(
            arguments.folder, *[setting for setting in settings if setting in SETTINGS][-1]
        )
    elif arguments.billion:
        table(arguments.folder, [BILLION], n_jobs=arguments.jobs or 2)
    else:
        table(arguments.folder, settings, n_jobs=arguments.jobs or 1, is_sorted=arguments.sorted)


if __name__ == "__main__":
    main()
