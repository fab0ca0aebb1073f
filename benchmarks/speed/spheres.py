"""Two concentric spheres, from thousands of rows to a billion: quality, cost per row and memory.

    python benchmarks/spheres.py                      n = 2e3 to 2e7, from .npy files
    python benchmarks/spheres.py --sorted             the same with rows sorted by class
    python benchmarks/spheres.py --against-sklearn    the fast DBSCAN against scikit-learn's, in one run
    python benchmarks/spheres.py --overhead           what 10,000 batches of 2,000 rows cost beyond the base method
    python benchmarks/spheres.py --billion            1e9 rows; takes 12 GB for the data and 10 GB of scratch

Files go to the directory that ``--folder`` names. Every fit runs in a process of its own, to measure its peak memory.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.cluster import DBSCAN, KMeans

from cohirf import CoHiRF, open_source
from cohirf.clusterers import GridDBSCAN
from cohirf.datasets import write_spheres

# n, batch_size, eps: with rows this dense, both shells hold together in one batch and stay apart from each other
SETTINGS = [(2_000, 2_000, 0.3), (20_000, 2_000, 0.2), (200_000, 20_000, 0.2), (2_000_000, 20_000, 0.2)]
LARGE = (20_000_000, 20_000, 0.2)
BILLION = (1_000_000_000, 20_000, 0.2)
BLOCK = 10_000_000


def main() -> None:
    arguments = parse()
    if arguments.fit:
        print(json.dumps(fit(**json.loads(arguments.fit))))
    elif arguments.overhead:
        overhead()
    elif arguments.against_sklearn:
        against_sklearn(arguments.folder)
    elif arguments.billion:
        table(arguments.folder, [BILLION], n_jobs=2)
    else:
        table(arguments.folder, [*SETTINGS, LARGE], n_jobs=1, is_sorted=arguments.sorted)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "cohirf-spheres")
    parser.add_argument("--fit", help=argparse.SUPPRESS)
    for option in ("sorted", "against-sklearn", "overhead", "billion"):
        parser.add_argument(f"--{option}", action="store_true")
    return parser.parse_args()


def table(folder: Path, settings: list[tuple[int, int, float]], *, n_jobs: int, is_sorted: bool = False) -> None:
    print(f"{'n':>13} {'batch':>7} {'eps':>5} {'ARI':>6} {'levels':>6} {'CPU s':>8} {'ns a row':>9} {'peak MB':>8}")
    for n, batch_size, eps in settings:
        path = prepare(folder, n, is_sorted=is_sorted)
        row = run(path=str(path), batch_size=batch_size, eps=eps, n_jobs=n_jobs, base="fast")
        print(
            f"{n:>13,} {batch_size:>7,} {eps:>5} {row['ari']:>6.4f} {row['levels']:>6} {row['cpu']:>8.2f} "
            f"{1e9 * row['cpu'] / n:>9.0f} {row['peak'] / 1e6:>8.0f}",
            flush=True,
        )


def against_sklearn(folder: Path) -> None:
    """Compare whole fits at n = 2e6, in turns; ratios of CPU time."""
    n, batch_size, eps = SETTINGS[-1]
    path = str(prepare(folder, n))
    runs = {base: run(path=path, batch_size=batch_size, eps=eps, n_jobs=1, base=base) for base in ("fast", "sklearn")}
    print(f"n={n:,}, batch_size={batch_size:,}, eps={eps}: ", end="")
    print(f"scikit-learn's DBSCAN takes {runs['sklearn']['cpu'] / runs['fast']['cpu']:.1f} times as long; ", end="")
    print(f"ARI {runs['fast']['ari']:.4f} and {runs['sklearn']['ari']:.4f}")


def overhead() -> None:
    """Time 10,000 batches of 2,000 rows in memory against the calls of the base method among it, both in CPU time."""
    warnings.simplefilter("ignore")
    X = np.random.default_rng(0).normal(size=(20_000_000, 3)).astype(np.float32)
    for base in (TimedKMeans(8, n_init=1), TimedGridDBSCAN(eps=0.3)):
        for n_views in (1, 5):
            model = CoHiRF(base, n_views=n_views, max_features=2, batch_size=2_000, max_iter=1, random_state=0)
            type(base).seconds = 0
            started = time.process_time()
            model.fit(X)
            total = time.process_time() - started
            print(
                f"{type(base).__name__[5:]}, {n_views} view(s): fit / base method = {total / base.seconds:.2f}; "
                f"a batch takes {1e3 * total / model.diagnostics_[0].n_batches:.2f} ms",
                flush=True,
            )


class Timed:
    """Adds up the time of calls."""

    seconds = 0.0

    def fit_predict(self, *data: np.ndarray) -> np.ndarray:
        """Return the labels of the method that comes next in line."""
        started = time.thread_time()
        labels: np.ndarray = super().fit_predict(*data)
        type(self).seconds += time.thread_time() - started
        return labels


class TimedKMeans(Timed, KMeans):
    """K-Means, timed."""


class TimedGridDBSCAN(Timed, GridDBSCAN):
    """GridDBSCAN, timed."""


def prepare(folder: Path, n: int, *, is_sorted: bool = False) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"spheres-{n}{'-sorted' if is_sorted else ''}.npy"
    if path.exists():
        return path
    if not is_sorted:
        write_spheres(path, n, random_state=0)
        return path
    plain = prepare(folder, n)
    X, y = np.load(plain), np.load(plain.with_name(f"{plain.stem}_labels.npy"))
    order = np.argsort(y, kind="stable")
    np.save(path, X[order])
    np.save(path.with_name(f"{path.stem}_labels.npy"), y[order])
    return path


def run(**arguments: object) -> dict[str, float]:
    command = [sys.executable, __file__, "--fit", json.dumps(arguments)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise SystemExit(result.stderr)
    report: dict[str, float] = json.loads(result.stdout.splitlines()[-1])
    return report


def fit(path: str, batch_size: int, eps: float, n_jobs: int, base: str) -> dict[str, float]:
    """Fit in this process, and say how good, how long and how large it was."""
    dbscan = {"fast": GridDBSCAN, "sklearn": DBSCAN}[base](eps=eps, min_samples=5)
    dbscan.fit(np.zeros((10, 3), dtype=np.float32))  # compiled, or read from the cache of compiled code
    started, wall = time.process_time(), time.perf_counter()
    model = CoHiRF(
        dbscan, n_views=1, batch_size=batch_size, n_jobs=n_jobs, random_state=0, min_cluster_size=2, verbose=1
    ).fit(open_source(path))
    cpu, wall = time.process_time() - started, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    labels = np.load(Path(path).with_name(f"{Path(path).stem}_labels.npy"), mmap_mode="r")
    ari = adjusted_rand(labels, model.labels_)
    return {"cpu": cpu, "wall": wall, "peak": peak, "ari": ari, "levels": model.n_iter_}


def adjusted_rand(y: np.ndarray, labels: np.ndarray) -> float:
    """Return the adjusted Rand index, block by block."""
    n_labels = int(labels.max()) + 2
    counts = np.zeros((2, n_labels))
    for start in range(0, len(y), BLOCK):
        block = slice(start, start + BLOCK)
        keys = y[block].astype(np.int64) * n_labels + (labels[block] + 1)
        counts += np.bincount(keys, minlength=2 * n_labels).reshape(2, n_labels)
    pairs = counts * (counts - 1) / 2
    rows, columns, n = counts.sum(axis=1), counts.sum(axis=0), counts.sum()
    left, right, both = (rows * (rows - 1) / 2).sum(), (columns * (columns - 1) / 2).sum(), pairs.sum()
    expected = left * right / (n * (n - 1) / 2)
    return float((both - expected) / ((left + right) / 2 - expected))


if __name__ == "__main__":
    main()
