"""How fast are rows read from an object store on this machine, compared with local files?

Writes rows to Parquet files, serves them from a process of its own (``tools.object_server``), and
reads all rows several times, from the files and from the store in turn; then fits K-Means on both.
``share`` is the throughput from the store as a share of that from files, in the median of the
rounds. Requests and bytes are those that the server counted. Two processes share the work, so a
machine whose cores are busy shows less.

    python -m benchmarks.speed.remote [--rows 20000000] [--features 20] [--files 64] [--rounds 3]
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as arrow
from pyarrow import parquet

from benchmarks._common import make_parser, parse
from cohirf import CoHiRF, open_source


def write(folder: Path, n_rows: int, n_features: int, n_files: int) -> None:
    """Write rows of ten groups to files of as many rows each."""
    random = np.random.default_rng(0)
    centres = random.normal(scale=8, size=(10, n_features))
    bounds = np.linspace(0, n_rows, n_files + 1).astype(int)
    for number in range(n_files):
        size = int(bounds[number + 1] - bounds[number])
        X = centres[random.integers(10, size=size)] + random.normal(size=(size, n_features))
        table = arrow.table({f"f{place}": column for place, column in enumerate(X.T.astype("f4"))})
        parquet.write_table(
            table, folder / f"part-{number:04}.parquet", use_dictionary=False, compression="none"
        )


def read(place: str) -> float:
    """Return the seconds that reading all rows takes."""
    start = time.perf_counter()
    n_rows = sum(len(block) for block in open_source(place).read_all())
    assert n_rows
    return time.perf_counter() - start


def fit(place: str) -> tuple[float, np.ndarray]:
    """Return the seconds of a fit, and its labels."""
    start = time.perf_counter()
    model = CoHiRF(n_clusters=10, batch_size=20_000, random_state=0).fit(open_source(place))
    return time.perf_counter() - start, np.asarray(model.labels_)


def main(words: Sequence[str] | None = None) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--files", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-fit", action="store_true")
    given = parse(parser, words)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "bucket"
        folder.mkdir()
        write(folder, given.rows, given.features, given.files)
        size = sum(file.stat().st_size for file in folder.iterdir())
        print(f"{given.rows:,} x {given.features}, {given.files} files, {size / 1e6:,.0f} MB")
        server = subprocess.Popen(
            [sys.executable, "-m", "tools.object_server", name], stdout=subprocess.PIPE, text=True
        )
        assert server.stdout is not None
        for line in iter(server.stdout.readline, ""):
            if line.startswith("#"):
                break
            key, _, value = line.removeprefix("export ").strip().partition("=")
            os.environ[key] = value
        try:
            shares = []
            for _ in range(given.rounds):
                here, there = read(str(folder)), read("s3://bucket/")
                shares.append(here / there)
                print(
                    f"files {here:.2f} s, store {there:.2f} s, share {here / there:.2f}", flush=True
                )
            print(f"share {np.median(shares):.2f} (median of {given.rounds})", flush=True)
            if not given.no_fit:
                (here, labels), (there, others) = fit(str(folder)), fit("s3://bucket/")
                same = "equal" if np.array_equal(labels, others) else "DIFFERENT"
                print(f"fit: files {here:.1f} s, store {there:.1f} s; labels {same}", flush=True)
        finally:
            server.send_signal(signal.SIGINT)
            print(server.communicate(timeout=30)[0].strip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
