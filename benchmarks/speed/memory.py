"""Whether the memory of a fit that reads a file grows with the number of rows.

Each fit has a process of its own and comes after a small one, so that everything is imported and compiled; then the
peak resident size begins anew. Python, the packages, and pages of mapped files that happen to be in memory count. The
fit keeps four vectors with an entry per row, in unnamed files: parents, levels, stability and labels. Growth is
measured against the fit with the fewest rows, beyond these vectors; ``raw`` is the growth with them. "in the fit" is
how far the peak rises above what the process has before the fit.

    python benchmarks/memory.py [--rows 100000 1000000 10000000] [--format npy] [--base grid-dbscan] [--batch-size 2000]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from cohirf import CoHiRF, open_source
from cohirf.clusterers import GridDBSCAN
from cohirf.datasets import make_spheres

BASES = {"grid-dbscan": GridDBSCAN(eps=0.2), "k-means": KMeans(10, n_init=1)}
BLOCK_ROWS = 100_000
N_FEATURES = 3
LIMIT = 0.05


def blocks(n_rows: int) -> Iterator[Any]:
    """Yield rows on two concentric spheres, a part at a time."""
    for number, start in enumerate(range(0, n_rows, BLOCK_ROWS)):
        yield make_spheres(min(BLOCK_ROWS, n_rows - start), random_state=number)[0].astype(np.float32)


def write_npy(path: Path, n_rows: int) -> None:
    with path.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (n_rows, N_FEATURES)}
        np.lib.format.write_array_header_1_0(file, header)
        for block in blocks(n_rows):
            file.write(block.data)


def write_parquet(path: Path, n_rows: int) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema([(name, pa.float32()) for name in "xyz"])
    with parquet.ParquetWriter(path, schema) as writer:
        for block in blocks(n_rows):
            writer.write_table(pa.table(dict(zip("xyz", block.T, strict=True)), schema=schema))


WRITERS = {"npy": write_npy, "parquet": write_parquet}


def peak_bytes() -> int:
    """Peak resident size of this process; the one that getrusage reports is handed down by the parent."""
    return 1024 * int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])


def measure(path: Path, base: str, batch_size: int) -> None:
    """Print the peak, how far the fit raised it, and the bytes of the vectors; in a process of its own."""
    model = CoHiRF(BASES[base], n_views=1, batch_size=batch_size, random_state=0)
    small = next(blocks(3 * batch_size))
    model.fit(open_source(small))
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = peak_bytes()
    model.fit(open_source(path))
    rise = peak_bytes() - before
    vectors = (model.parents_, model.hierarchy_.absorbed_at, model.stability_, model.labels_)
    print(before + rise, rise, sum(vector.nbytes for vector in vectors), model.n_clusters_)


def measure_apart(path: Path, base: str, batch_size: int) -> list[int]:
    """Return what ``measure`` prints in a fresh process."""
    command = [sys.executable, __file__, "--measure", str(path), "--base", base, "--batch-size", str(batch_size)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [int(word) for word in done.stdout.split()]


def bench(rows: list[int], form: str, base: str, batch_size: int, limit: float) -> bool:
    print(f"{'rows':>12} {'peak MB':>8} {'in the fit':>11} {'vectors':>8} {'growth':>7} {'raw':>7} {'clusters':>9}")
    first, good = 0, True
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"data.{form}"
        for n_rows in rows:
            WRITERS[form](path, n_rows)
            if not first:
                measure_apart(path, base, batch_size)  # what numba compiles, it keeps in a file
            peak, rise, vectors, n_clusters = measure_apart(path, base, batch_size)
            first = first or peak
            growth, raw = (peak - vectors) / first - 1, peak / first - 1
            good = good and growth < limit
            print(
                f"{n_rows:>12,} {peak / 1e6:>8.1f} {rise / 1e6:>11.1f} {vectors / 1e6:>8.1f} "
                f"{growth:>7.1%} {raw:>7.1%} {n_clusters:>9,}",
                flush=True,
            )
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**5, 10**6, 10**7])
    parser.add_argument("--format", choices=WRITERS, default="npy")
    parser.add_argument("--base", choices=BASES, default="grid-dbscan")
    parser.add_argument("--batch-size", type=int, default=2000)
    parser.add_argument("--limit", type=float, default=LIMIT, help="largest growth that is no failure")
    parser.add_argument("--measure", type=Path, metavar="PATH", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.measure, arguments.base, arguments.batch_size)
    else:
        good = bench(arguments.rows, arguments.format, arguments.base, arguments.batch_size, arguments.limit)
        sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
