"""Does the program stay under its memory limit? Random tables, files, base methods and limits.

Each line is a process of its own that runs ``cohirf fit FILE --batch-size LIMIT --out labels.npy``
from start to end, and reports the peak of its resident memory, with interpreter and packages.
"private" is the peak of the private pages of all processes together: of this one, of its workers,
and of the one that probes while batches are planned. Some limits are too low on purpose: then the
program must say so instead of the work.

    python -m benchmarks.speed.random_limits [--settings 20] [--seed 0] [--jobs 1]
"""

from __future__ import annotations

import contextlib
import io
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks._common import Table, in_fresh_process, make_parser, parse
from cohirf.app.cli import main as run_program
from cohirf.planning.memory import parse_bytes, peak_bytes

SUFFIXES = (".npy", ".parquet", ".csv")
# cells of a text file, rows of DBSCAN: others would take minutes
MOST_TEXT = 4_000_000
MOST_DENSITY = 200_000
N_CLUSTERS = 8
BLOCK_ROWS = 50_000
INTERVAL = 0.02  # seconds between two looks at the memory of processes


@dataclass(frozen=True)
class Setting:
    """One table and one command."""

    n_rows: int
    n_features: int
    limit: str
    method: str
    suffix: str
    n_jobs: int

    @classmethod
    def draw(cls, rng: np.random.Generator, n_jobs: int) -> Setting:
        """Draw a setting."""
        method = str(rng.choice(["kmeans", "kmeans", "dbscan"]))
        suffix = str(rng.choice(SUFFIXES))
        n_features = int(rng.integers(5, 41 if method == "kmeans" else 9))
        most = min(
            1_000_000 if method == "kmeans" else MOST_DENSITY,
            MOST_TEXT // n_features * 10 ** (suffix != ".csv"),
        )
        n_rows = int(np.exp(rng.uniform(np.log(100_000), np.log(max(most, 100_001)))))
        limit = f"{round(np.exp(rng.uniform(np.log(350), np.log(1500))))}MB"
        return cls(n_rows, n_features, limit, method, suffix, n_jobs)

    def write(self, path: Path, seed: int) -> None:
        """Write blobs to the file, block by block."""
        rng = np.random.default_rng(seed)
        centres = rng.uniform(-10, 10, (N_CLUSTERS, self.n_features))
        blocks = (
            centres[rng.integers(N_CLUSTERS, size=size)] + rng.normal(size=(size, self.n_features))
            for size in np.diff([*range(0, self.n_rows, BLOCK_ROWS), self.n_rows]).tolist()
        )
        if self.suffix == ".npy":
            np.save(path, np.concatenate(list(blocks)))
            return
        import pyarrow as pa
        from pyarrow import csv, parquet

        names = [f"x{number}" for number in range(self.n_features)]
        schema = pa.schema([(name, pa.float64()) for name in names])
        make = csv.CSVWriter if self.suffix == ".csv" else parquet.ParquetWriter
        with make(path, schema) as file:
            for block in blocks:
                file.write_table(pa.table(list(block.T), names=names))

    def command(self, path: Path) -> list[str]:
        """Return the arguments of the program."""
        options = (
            ["--clusters", str(N_CLUSTERS)]
            if self.method == "kmeans"
            else ["--estimator", "dbscan"]
        )
        options += [] if self.method == "kmeans" else ["--param", "eps=0.5", "--views", "1"]
        out = [
            "--out",
            str(path.with_name("labels.npy")),
            "--seed",
            "0",
            "--n-jobs",
            str(self.n_jobs),
        ]
        return ["fit", str(path), *options, "--batch-size", self.limit, *out]


def measure(arguments: list[str]) -> tuple[int, float, int, str]:
    """Run the program; return its status, seconds, peak and what it said.

    Run in a process of its own.
    """
    said = io.StringIO()
    started = time.perf_counter()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = run_program(arguments)
    return status, time.perf_counter() - started, peak_bytes(), said.getvalue()


class PrivatePeak(threading.Thread):
    """Watches the private pages of all processes that this one has started, those of their children
    included.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.n_bytes = 0
        self._is_done = threading.Event()

    def run(self) -> None:
        """Look again and again, until the block ends."""
        while not self._is_done.wait(INTERVAL):
            total = 0
            for process in psutil.Process().children(recursive=True):
                with contextlib.suppress(psutil.Error):  # it has ended meanwhile
                    total += process.memory_full_info().uss
            self.n_bytes = max(self.n_bytes, total)

    def __enter__(self) -> PrivatePeak:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_done.set()
        self.join()


def describe(setting: Setting, seed: int) -> list[Any]:
    """Return a row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"data{setting.suffix}"
        in_fresh_process(setting.write, path, seed)
        with PrivatePeak() as private:
            status, seconds, peak, said = in_fresh_process(measure, setting.command(path))
    limit = parse_bytes(setting.limit)
    answer = "fitted" if status == 0 else " ".join(said.split()[-60:])
    kind = [setting.method, setting.suffix, setting.n_rows, setting.n_features, setting.limit]
    shares = [peak / 1e6, peak / limit, private.n_bytes / 1e6, private.n_bytes / limit]
    return [*kind, seconds, *shares, answer]


COLUMNS = {
    "method": "<7",
    "file": "<8",
    "rows": ">9,",
    "features": ">8",
    "limit": ">7",
    "seconds": ">7.1f",
    "peak": ">6.0f",
    "/ limit": ">7.2f",
    "private": ">7.0f",
    "of limit": ">8.2f",
    "answer": "",
}


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--settings", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parse(parser, argv, settings=1)
    rng = np.random.default_rng(arguments.seed)
    table = Table(COLUMNS)
    for number in range(arguments.settings):
        table.row(*describe(Setting.draw(rng, arguments.jobs), number))


if __name__ == "__main__":
    main()
