"""What does a fit on two Dask workers cost against ``n_jobs=2`` on one machine: time, memory, bytes
moved?

    python -m benchmarks.speed.dask_spheres [--rows 20000000] [--rounds 3]

Both read the same .npy file and are run in turns; twice, the second time with workers that keep the
memory they free. Other programs disturb the time on the clock more than that of the processors,
which decides. The time on Dask includes the labels of all rows, computed and left on the workers.
The memory is that of the process with the client and the scheduler; the workers are other
processes.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from unittest.mock import patch

import dask
import numpy as np
import psutil
from distributed import Client, wait
from examples.synthetic import write_data

from benchmarks._common import make_parser, parse, peak_rise, two_dask_workers
from cohirf import CoHiRF, open_source
from cohirf.algorithm.runs import Survivors, gather_survivors
from cohirf.clusterers import GridDBSCAN
from cohirf.planning.memory import peak_bytes

LARGEST_OVERHEAD = 0.30
MOST_BYTES = 1e9
# Nannies make the C library return free memory above 64 kB at once, and each batch must allocate it
# again.
KEEP_MEMORY = {"MALLOC_TRIM_THRESHOLD_": 2**28, "MALLOC_MMAP_THRESHOLD_": 2**28}


@dataclass(frozen=True)
class Cost:
    """Time on the clock, and of all processors."""

    seconds: float
    cpu: float


def model(**options: Any) -> CoHiRF:
    return CoHiRF.as_published(
        GridDBSCAN(eps=0.2, min_samples=5),
        views=1,
        batch_size=20_000,
        random_state=0,
        min_cluster_size=2,
        **options,
    )


class Meter:
    """Counts the bytes of the survivors that come to the client, by what they are."""

    def __init__(self) -> None:
        self.moved: Counter[str] = Counter()
        self.n_rows = 0

    def gather(self, parts: Any, storage: Any) -> Survivors:
        """Stand in for ``gather_survivors``; count the first level only."""
        return gather_survivors(parts if self.moved else map(self.count, parts), storage)

    def count(self, part: Survivors) -> Survivors:
        """Count one part, and pass it on."""
        self.n_rows += len(part.rows)
        for field in fields(part):
            value = getattr(part, field.name)
            self.moved[field.name] += 0 if value is None else value.nbytes
        return part


def fit_here(path: Path) -> tuple[Cost, Any]:
    started = Cost(time.perf_counter(), cpu_of_all_processes())
    fitted = model(n_jobs=2).fit(open_source(path))
    return Cost(time.perf_counter() - started.seconds, cpu_of_all_processes() - started.cpu), fitted


def fit_on_dask(path: Path) -> tuple[Cost, Any]:
    started = Cost(time.perf_counter(), cpu_of_all_processes())
    fitted = model().fit(open_source(path), client=Client.current())
    fitted.labels_ = fitted.labels_.persist()
    wait(fitted.labels_)
    return Cost(time.perf_counter() - started.seconds, cpu_of_all_processes() - started.cpu), fitted


def cpu_of_all_processes() -> float:
    """Return the processor time of this process, with client and scheduler, and of those it
    started.
    """
    times = [process.cpu_times() for process in psutil.Process().children(recursive=True)]
    return time.process_time() + sum(spent.user + spent.system for spent in times)


def same_labels(here: Any, there: Any) -> bool:
    """Compare labels block by block."""
    starts = np.cumsum((0, *there.labels_.chunks[0]))
    blocks = zip(starts[:-1], starts[1:], there.labels_.blocks, strict=True)
    return all((here.labels_[start:stop] == block.compute()).all() for start, stop, block in blocks)


def bench(path: Path, rounds: int, environment: dict[str, int]) -> bool:
    spawn = {
        f"distributed.nanny.pre-spawn-environ.{name}": value for name, value in environment.items()
    }
    with dask.config.set(spawn), two_dask_workers():
        small = path.with_name("small.npy")
        np.save(small, np.load(path, mmap_mode="r")[:100_000])
        fit_here(small), fit_on_dask(small)  # compiled, imported
        meter = Meter()
        with patch("cohirf.algorithm.levels.gather_survivors", meter.gather):
            rise, (cost, there) = peak_rise(lambda: fit_on_dask(path))
        peak = peak_bytes()  # before a fit on this machine
        on_dask = [cost]
        locally = []
        for number in range(rounds):
            cost, here = fit_here(path)
            locally.append(cost)
            if number == 0:
                same = same_labels(here, there)
            if number < rounds - 1:
                on_dask.append(fit_on_dask(path)[0])
    ratios = [left.seconds / right.seconds for left, right in zip(on_dask, locally, strict=True)]
    cpu_ratios = [left.cpu / right.cpu for left, right in zip(on_dask, locally, strict=True)]
    overhead = float(np.median(cpu_ratios)) - 1
    n = len(here.labels_)
    total = sum(meter.moved.values())
    print(
        f"n={n:,}, {there.labels_.numblocks[0]} chunks, levels {there.n_iter_}, same labels: "
        f"{same}; {environment}"
    )
    print(f"time, ratios: {show(ratios)}, median {np.median(ratios):.2f}")
    print(f"processor time, ratios: {show(cpu_ratios)}: overhead {overhead:+.0%}")
    print(
        f"memory of client and scheduler: {peak / 1e6:.0f} MB at the peak, {rise / 1e6:.0f} MB of "
        "them in the fit"
    )
    print(
        f"moved to the client: {total / 1e6:.1f} MB for {meter.n_rows:,} survivors, "
        f"{total / n:.2f} bytes a row;"
    )
    print(
        "  " + ", ".join(f"{name} {moved / 1e6:.2f} MB" for name, moved in meter.moved.items()),
        flush=True,
    )
    return same and overhead < LARGEST_OVERHEAD and peak < MOST_BYTES


def show(ratios: list[float]) -> str:
    return ", ".join(f"{ratio:.2f}" for ratio in ratios)


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parse(parser, argv, rows=500_000, rounds=1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spheres.npy"
        write_data("spheres", path, arguments.rows, random_state=0)
        bench(path, arguments.rounds, {})
        good = bench(path, arguments.rounds, KEEP_MEMORY)
    sys.exit(0 if good or arguments.quick else 1)  # a quick fit is too short for the bounds


if __name__ == "__main__":
    main()
