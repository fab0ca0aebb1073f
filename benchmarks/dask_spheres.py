"""Spheres on a Dask cluster of two workers against ``n_jobs=2`` on one machine: time, memory, bytes moved.

    python benchmarks/dask_spheres.py [--rows 20000000] [--rounds 3]

Both read the same .npy file and are run in turns. The time on Dask includes the labels of all rows, computed and left
on the workers. The memory is that of the process with the client and the scheduler; the workers are other processes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from distributed import Client, LocalCluster, wait

from cohirf import CoHiRF, open_source, to_dask_array
from cohirf.algorithm.first_level import Survivors, gather_survivors
from cohirf.clusterers import GridDBSCAN
from cohirf.datasets import write_spheres

LARGEST_OVERHEAD, MOST_BYTES = 0.30, 1e9


def model(**options: Any) -> CoHiRF:
    return CoHiRF(
        GridDBSCAN(eps=0.2, min_samples=5), n_views=1, batch_size=20_000, random_state=0, min_cluster_size=2, **options
    )


def status_bytes(name: str) -> int:
    return 1024 * int(Path("/proc/self/status").read_text().split(f"{name}:")[1].split()[0])


class Meter:
    """Counts the bytes of the survivors that come to the client, by what they are."""

    def __init__(self) -> None:
        self.moved: Counter[str] = Counter()
        self.n_rows = 0

    def gather(self, parts: Any, storage: Any) -> Survivors:
        """Stand in for ``gather_survivors``."""
        return gather_survivors(map(self.count, parts), storage)

    def count(self, part: Survivors) -> Survivors:
        """Count one part, and pass it on."""
        self.n_rows += len(part.rows)
        for field in fields(part):
            value = getattr(part, field.name)
            self.moved[field.name] += 0 if value is None else value.nbytes
        return part


def fit_here(path: Path) -> tuple[float, Any]:
    started = time.perf_counter()
    fitted = model(n_jobs=2).fit(open_source(path))
    return time.perf_counter() - started, fitted


def fit_on_dask(path: Path, chunks: int) -> tuple[float, Any]:
    started = time.perf_counter()
    fitted = model().fit(to_dask_array(open_source(path), chunks=chunks))
    fitted.labels_ = fitted.labels_.persist()
    wait(fitted.labels_)
    return time.perf_counter() - started, fitted


def same_labels(here: Any, there: Any) -> bool:
    """Compare labels block by block."""
    starts = np.cumsum((0, *there.labels_.chunks[0]))
    blocks = zip(starts[:-1], starts[1:], there.labels_.blocks, strict=True)
    return all((here.labels_[start:stop] == block.compute()).all() for start, stop, block in blocks)


def bench(path: Path, rounds: int, chunks: int) -> bool:
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster):
        small = path.with_name("small.npy")
        np.save(small, np.load(path, mmap_mode="r")[:100_000])
        fit_here(small), fit_on_dask(small, 20_000)  # compiled, imported
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        before = status_bytes("VmHWM")
        meter, on_dask, peak = Meter(), [], 0
        with patch("cohirf.on_dask.first_level.gather_survivors", meter.gather):
            seconds, there = fit_on_dask(path, chunks)
        on_dask.append(seconds)
        peak = status_bytes("VmHWM")  # before a fit on this machine
        seconds, here = fit_here(path)
        locally = [seconds]
        same = same_labels(here, there)
        for _ in range(rounds - 1):
            on_dask.append(fit_on_dask(path, chunks)[0])
            locally.append(fit_here(path)[0])
    n = len(here.labels_)
    ratios = [there / here for there, here in zip(on_dask, locally, strict=True)]
    overhead = float(np.median(ratios)) - 1
    print(f"n={n:,}, {there.labels_.numblocks[0]} chunks, levels {there.n_iter_}, same labels: {same}")
    print(f"seconds on Dask {on_dask}, with n_jobs=2 {locally}")
    print(f"ratios {[f'{ratio:.2f}' for ratio in ratios]}: overhead {overhead:+.0%} (median of {rounds})")
    print(f"memory of client and scheduler: {peak / 1e6:.0f} MB at the peak, {before / 1e6:.0f} MB before the fit")
    total = sum(meter.moved.values())
    print(f"moved to the client: {total / 1e6:.1f} MB for {meter.n_rows:,} survivors, {total / n:.2f} bytes a row;")
    print("  " + ", ".join(f"{name} {moved / 1e6:.2f} MB" for name, moved in meter.moved.items()))
    return same and overhead < LARGEST_OVERHEAD and peak < MOST_BYTES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--chunks", type=int, default=1_000_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spheres.npy"
        write_spheres(path, arguments.rows, random_state=0)
        sys.exit(0 if bench(path, arguments.rounds, arguments.chunks) else 1)


if __name__ == "__main__":
    main()
