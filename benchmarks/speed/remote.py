"""How fast are rows read from an object store on this machine, compared with local files?

Writes rows to Parquet files, serves them from a process of its own (``tools.object_server``), and
reads all rows several times, from the files and from the store in turn; with ``--limit`` fits
K-Means on both, within so much memory, and with ``--kills`` in processes that are killed and resumed.
``share`` is the throughput from the store as a share of that from files, in the median of the
rounds. Requests and bytes are those that the server counted. Two processes share the work, so a
machine whose cores are busy shows less.

    python -m benchmarks.speed.remote [--rows 20000000] [--features 20] [--files 64] [--rounds 3]
        [--limit 800MB] [--faults 0.2] [--kills 3]
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
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
from sklearn.cluster import KMeans

from benchmarks._common import in_fresh_process, make_parser, parse
from cohirf import CoHiRF, open_source
from cohirf.planning import peak_bytes, reset_peak


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


def fit(place: str, folder: str, limit: str, checkpoint: str | None) -> tuple[float, int, str]:
    """Fit in a process of its own: seconds, peak of memory in bytes, and a digest of the labels."""
    reset_peak()
    start = time.perf_counter()
    model = CoHiRF(
        KMeans(10, n_init=1), views=2, batch_size=limit, checkpoint=checkpoint, random_state=0
    ).fit(open_source(place))
    seconds = time.perf_counter() - start
    digest = hashlib.sha256(np.ascontiguousarray(model.labels_)).hexdigest()[:12]
    peak = peak_bytes()
    model.save(Path(folder) / "model.cohirf", overwrite=True)
    return seconds, peak, digest


def fit_with_kills(
    place: str, folder: str, limit: str, seconds: float, n_kills: int
) -> tuple[float, int, str]:
    """Fit as :func:`fit` does, after processes that were killed while they did it."""
    context = multiprocessing.get_context("spawn")
    random = np.random.default_rng(0)
    checkpoint = str(Path(folder) / "checkpoint")
    for number in range(n_kills):
        process = context.Process(target=fit, args=(place, folder, limit, checkpoint))
        process.start()
        process.join(10 + float(random.uniform(0.2, 0.6)) * seconds)
        print(f"kill {number + 1}: {'alive' if process.is_alive() else 'was done'}", flush=True)
        process.kill()
        process.join()
    result: tuple[float, int, str] = in_fresh_process(fit, place, folder, limit, checkpoint)
    return result


def compare_fits(here: str, folder: str, given: argparse.Namespace) -> None:
    """Fit from files and from the store, and look for credentials in what was written."""
    Path(folder).mkdir()
    seconds, peak, expected = in_fresh_process(fit, here, folder, given.limit, None)
    print(f"fit, files: {seconds:.1f} s, peak {peak / 1e6:,.0f} MB of {given.limit}", flush=True)
    there = in_fresh_process(fit, "s3://bucket/", folder, given.limit, None)
    results = {"store": there}
    if given.kills:
        results[f"store, {given.kills} kills"] = fit_with_kills(
            "s3://bucket/", folder, given.limit, there[0], given.kills
        )
    for name, (took, peak, digest) in results.items():
        same = "equal" if digest == expected else "DIFFERENT"
        print(f"fit, {name}: {took:.1f} s, peak {peak / 1e6:,.0f} MB; labels {same}", flush=True)
    written = [file for file in Path(folder).rglob("*") if file.is_file()]
    secrets = [os.environ[name].encode() for name in ("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID")]
    found = sum(secret in file.read_bytes() for file in written for secret in secrets)
    print(f"credentials found in {found} of {len(written)} files that were written", flush=True)


def main(words: Sequence[str] | None = None) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--files", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--faults", type=float, default=0.0, help="share of requests that fail")
    parser.add_argument("--limit", default="", help="memory of fits, such as 800MB; none if empty")
    parser.add_argument("--kills", type=int, default=0, help="fits that are killed, then resumed")
    given = parse(parser, words)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "bucket"
        folder.mkdir()
        write(folder, given.rows, given.features, given.files)
        size = sum(file.stat().st_size for file in folder.iterdir())
        print(f"{given.rows:,} x {given.features}, {given.files} files, {size / 1e6:,.0f} MB")
        words_of_server = [sys.executable, "-m", "tools.object_server"]
        server = subprocess.Popen(
            [*words_of_server, name, "--faults", str(given.faults)],
            stdout=subprocess.PIPE,
            text=True,
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
            if shares:
                print(f"share {np.median(shares):.2f} (median of {given.rounds})", flush=True)
            if given.limit:
                compare_fits(str(folder), f"{name}/written", given)
        finally:
            server.send_signal(signal.SIGINT)
            print(server.communicate(timeout=30)[0].strip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
