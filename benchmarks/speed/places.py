"""Are places clustered by distance along the globe, in any number, in little memory, and as
scikit-learn does?

    python -m benchmarks.speed.places                          1e6 places around the date line and
    the poles, compared
                                                               with scikit-learn's
                                                               DBSCAN(metric="haversine")
    python -m benchmarks.speed.places --rows 100000000 --alone   1e8 places of the whole globe with
    batch_size="2GB"

Places are rows of latitude and longitude, in radians: towns of about 1,000 rows, within a few
kilometres, and a tenth of the rows anywhere. A cluster is at least 10 places within 2 km. Places
are read from a .npy file, which stays in the directory that ``--folder`` names. Each fit runs in a
process of its own; the peak is that of all its processes, with and without pages of files, which
the system takes back when it needs the memory.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import DBSCAN

from benchmarks._common import in_fresh_process, make_parser, parse
from benchmarks._watched import TreePeak
from cohirf import CoHiRF, open_source
from cohirf.planning.memory import peak_bytes
from cohirf.rows.metric_spaces import EARTH_KM

EPS_KM = 2.0
MIN_SAMPLES = 10
TOWN_KM = 5.0
BLOCK = 5_000_000


def draw_places(n_rows: int, rng: np.random.Generator, *, everywhere: bool) -> np.ndarray:
    """Return unit vectors of places anywhere, or within ten degrees of the date line or of a
    pole.
    """
    vectors = rng.standard_normal((n_rows, 3))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    if not everywhere:
        longitude = np.pi + rng.uniform(-1, 1, n_rows) * np.radians(10)
        height = rng.uniform(-1, 1, n_rows)
        polar = rng.random(n_rows) < 0.5
        height[polar] = np.sign(height[polar]) * np.cos(
            np.radians(10) * np.sqrt(rng.random(polar.sum()))
        )
        longitude[polar] = rng.uniform(0, 2 * np.pi, polar.sum())
        across = np.sqrt(1 - height**2)
        vectors = np.column_stack([across * np.cos(longitude), across * np.sin(longitude), height])
    return vectors


def write_places(path: Path, n_rows: int, *, everywhere: bool) -> None:
    """Write latitudes and longitudes of places to a file."""
    rng = np.random.default_rng(0)
    centres = draw_places(max(1, n_rows // 1000), rng, everywhere=everywhere)
    rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(n_rows, 2))
    for start in range(0, n_rows, BLOCK):
        n = min(BLOCK, n_rows - start)
        points = centres[rng.integers(len(centres), size=n)] + rng.standard_normal((n, 3)) * (
            TOWN_KM / EARTH_KM
        )
        anywhere = rng.random(n) < 0.1
        points[anywhere] = draw_places(int(anywhere.sum()), rng, everywhere=everywhere)
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        rows[start : start + n, 0] = np.arcsin(points[:, 2])
        rows[start : start + n, 1] = np.arctan2(points[:, 1], points[:, 0])
    rows.flush()


def make_dbscan(algorithm: str = "auto") -> DBSCAN:
    return DBSCAN(
        eps=EPS_KM / EARTH_KM, min_samples=MIN_SAMPLES, metric="haversine", algorithm=algorithm
    )


def fit(path: Path, batch_size: Any, n_jobs: int, target: Path) -> dict[str, Any]:
    """Fit in batches, write the labels, and return the figures."""
    few = np.tile(np.load(path, mmap_mode="r")[:5], (1000, 1))
    CoHiRF(make_dbscan(), batch_size=2500).fit(few)  # imports, and loads compiled kernels
    model = CoHiRF(make_dbscan(), batch_size=batch_size, n_jobs=n_jobs)
    started = time.perf_counter()
    computed = time.process_time()
    with TreePeak() as peak:
        model.fit(open_source(path))
        seconds = time.perf_counter() - started, time.process_time() - computed
    return finish(model.labels_, target, seconds, peak) | {"batch": model.batch_size_}


def fit_alone(path: Path, target: Path) -> dict[str, Any]:
    """Fit scikit-learn's DBSCAN, write the labels, and return the figures."""
    X = np.load(path)
    started = time.perf_counter()
    computed = time.process_time()
    with TreePeak() as peak:
        model = make_dbscan("ball_tree").fit(X)
        seconds = time.perf_counter() - started, time.process_time() - computed
    return finish(model.labels_, target, seconds, peak)


def finish(
    labels: np.ndarray, target: Path, seconds: tuple[float, float], peak: TreePeak
) -> dict[str, Any]:
    """Write labels, and return the figures of a fit."""
    np.save(target, labels)
    found = {"clusters": int(labels.max()) + 1, "noise": float((labels < 0).mean())}
    return found | {
        "seconds": seconds,
        "peak": max(peak.n_bytes, peak_bytes()),
        "own": peak.own_bytes,
    }


def count_different(one: np.ndarray, two: np.ndarray) -> int:
    """Return how many labels differ, whatever the numbers of the clusters."""
    number = np.full(int(one.max()) + 2, -1)
    number[one] = two  # the last entry is that of -1
    number[-1] = -1
    return int((number[one] != two).sum()) + abs(int(one.max()) - int(two.max()))


def show(name: str, found: dict[str, Any]) -> None:
    clock, computed = found["seconds"]
    batch = f", batches of {found['batch']:,} rows" if found.get("batch") else ""
    print(
        f"{name}: {clock:.1f} s ({computed:.1f} s of its processor), peak "
        f"{found['peak'] / 1e6:,.0f} MB, {found['own'] / 1e6:,.0f} MB without pages of files, "
        f"{found['clusters']:,} clusters, {found['noise']:.4f} noise{batch}",
        flush=True,
    )


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument(
        "--batch-size", default="2GB", help='number of rows, or an amount of memory such as "2GB"'
    )
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--alone", action="store_true", help="places of the whole globe, without scikit-learn"
    )
    parser.add_argument(
        "--folder", type=Path, default=Path(tempfile.gettempdir()) / "cohirf-places"
    )
    arguments = parse(parser, argv, rows=20_000, batch_size="5000")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    path = arguments.folder / f"places-{arguments.rows}-{arguments.alone}.npy"
    if not path.exists():
        write_places(path, arguments.rows, everywhere=arguments.alone)
    ours = arguments.folder / "ours.npy"
    theirs = arguments.folder / "theirs.npy"
    size = int(arguments.batch_size) if arguments.batch_size.isdigit() else arguments.batch_size
    show(
        f"CoHiRF(DBSCAN), {arguments.rows:,} places",
        in_fresh_process(fit, path, size, arguments.jobs, ours),
    )
    if not arguments.alone:
        show("DBSCAN alone", in_fresh_process(fit_alone, path, theirs))
        print(f"labels that differ: {count_different(np.load(ours), np.load(theirs)):,}")


if __name__ == "__main__":
    main()
