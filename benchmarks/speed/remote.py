"""How fast are rows read from an object store on this machine, and do faults and kills change labels?

Writes rows to Parquet files, puts them into a store, and reads all rows several times, from the files
and from the store in turn. ``share`` is the throughput from the store as a share of that from files,
by the clock and in processor time of this process, in the median of the rounds. The store is
``tools.object_server`` in a process of its own or, with ``--store``, one that runs on this machine and
speaks S3; its credentials are in the environment. Processes share the work, so a machine whose cores
are busy shows less by the clock.

With ``--limit``, K-Means is fitted within so much memory: to the files, to the store, and with
``--faults`` to the store behind a proxy that refuses, delays or cuts this share of all answers. With
``--kills``, such fits are killed as soon as their checkpoint has grown several times, and resumed.
Credentials are sought in models, labels, checkpoints and what was printed.

    python -m benchmarks.speed.remote [--rows 20000000] [--features 20] [--files 64] [--rounds 3]
        [--limit 800MB] [--faults 0.2] [--kills 3] [--store http://127.0.0.1:8333]
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
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import obstore
import pyarrow as arrow
from pyarrow import parquet
from sklearn.cluster import KMeans

from benchmarks._common import in_fresh_process, make_parser, parse
from cohirf import CoHiRF, open_source, write_labels
from cohirf.planning import peak_bytes, reset_peak
from cohirf.sources.remote import open_store


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


def put(folder: Path) -> None:
    """Put the files into the bucket of the store, which has no others."""
    store = open_store("s3://bucket")
    if any(len(objects) for objects in obstore.list(store)):
        raise SystemExit("The bucket named 'bucket' has objects: delete them first.")
    for file in sorted(folder.iterdir()):
        obstore.put(store, file.name, file.read_bytes())


def read(place: str) -> np.ndarray:
    """Return the seconds that reading all rows takes, by the clock and in processor time."""
    start = np.array([time.perf_counter(), time.process_time()])
    n_rows = sum(len(block) for block in open_source(place).read_all())
    assert n_rows
    return np.array([time.perf_counter(), time.process_time()]) - start


@dataclass(frozen=True)
class Fitted:
    """What is compared of two fits."""

    seconds: float
    processor_seconds: float
    peak: int  # bytes
    digest: str  # of the labels

    def show(self, name: str, limit: str, expected: str | None = None) -> None:
        """Print a line."""
        labels = "" if expected is None else "; labels equal"
        if expected not in (None, self.digest):
            labels = "; labels DIFFERENT"
        print(
            f"fit, {name}: {self.seconds:.1f} s ({self.processor_seconds:.1f} s of processor time), "
            f"peak {self.peak / 1e6:,.0f} MB of {limit}{labels}",
            flush=True,
        )


def fit(place: str, folder: str, limit: str, checkpoint: str | None) -> Fitted:
    """Fit in a process of its own, and write model and labels to a folder."""
    with (Path(folder) / "printed.txt").open("a") as printed:
        for stream in (1, 2):
            os.dup2(printed.fileno(), stream)
        reset_peak()
        start = time.perf_counter()
        source = open_source(place)
        # few passes: the store is measured here, not K-Means
        method = KMeans(10, n_init=1, init="random", max_iter=5)
        model = CoHiRF(
            method, views=2, batch_size=limit, checkpoint=checkpoint, random_state=0, verbose=2
        ).fit(source)
        seconds = time.perf_counter() - start
        digest = hashlib.sha256(np.ascontiguousarray(model.labels_)).hexdigest()[:12]
        peak = peak_bytes()
        model.save(Path(folder) / "model.cohirf", overwrite=True)
        write_labels(model.labels_, source, Path(folder) / "labels", overwrite=True)
    return Fitted(seconds, time.process_time(), peak, digest)


def fit_with_kills(place: str, folder: str, limit: str, n_kills: int) -> Fitted:
    """Fit as :func:`fit` does, after processes that were killed while they did it."""
    context = multiprocessing.get_context("spawn")
    random = np.random.default_rng(0)
    checkpoint = Path(folder) / "checkpoint"
    for number in range(n_kills):
        process = context.Process(target=fit, args=(place, folder, limit, str(checkpoint)))
        process.start()
        n_changes = 0
        before = size_of(checkpoint)
        wanted = int(random.integers(2, 10))
        while process.is_alive() and n_changes < wanted:
            time.sleep(0.05)
            now = size_of(checkpoint)
            n_changes += now > before
            before = now
        was = "alive" if process.is_alive() else "done"
        process.kill()  # SIGKILL
        process.join()
        print(
            f"kill {number + 1}: the process was {was}, its checkpoint had {before:,} bytes; "
            f"{tell_credentials(folder)}",
            flush=True,
        )
    result: Fitted = in_fresh_process(fit, place, folder, limit, str(checkpoint))
    return result


def size_of(checkpoint: Path) -> int:
    """Return the bytes of a checkpoint, which is a file or a folder."""
    files = [checkpoint, *checkpoint.rglob("*")]
    return sum(file.stat().st_size for file in files if file.is_file())


def tell_credentials(folder: str) -> str:
    """Say how many files below a folder have credentials in them."""
    written = [file for file in Path(folder).rglob("*") if file.is_file()]
    secrets = [os.environ[name].encode() for name in ("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID")]
    found = sum(any(secret in file.read_bytes() for secret in secrets) for file in written)
    return f"credentials in {found} of {len(written)} files that were written"


def compare_fits(here: str, folder: str, given: argparse.Namespace) -> None:
    """Fit from files and from the store, and look for credentials in what was written."""
    Path(folder).mkdir()
    there = "s3://bucket/"
    local = in_fresh_process(fit, here, folder, given.limit, None)
    local.show("files", given.limit)
    again = in_fresh_process(fit, there, folder, given.limit, None)
    again.show("store", given.limit, local.digest)
    if not given.faults and not given.kills:
        print(tell_credentials(folder))
        return
    with ExitStack() as stack:
        if given.faults:
            words = ["--behind", os.environ["AWS_ENDPOINT_URL"], "--faults", str(given.faults)]
            stack.enter_context(serving(words))
            spoilt = in_fresh_process(fit, there, folder, given.limit, None)
            spoilt.show("store with faults", given.limit, local.digest)
        if given.kills:
            killed = fit_with_kills(there, folder, given.limit, given.kills)
            name = "store with faults" if given.faults else "store"
            killed.show(f"{name}, {given.kills} kills", given.limit, local.digest)
    print(tell_credentials(folder), flush=True)


@contextmanager
def serving(words: Sequence[str]) -> Iterator[None]:
    """Run ``tools.object_server``, with the environment that leads to it."""
    server = subprocess.Popen(
        [sys.executable, "-m", "tools.object_server", *words], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    before = dict(os.environ)
    for line in iter(server.stdout.readline, ""):
        if line.startswith("#"):
            break
        key, _, value = line.removeprefix("export ").strip().partition("=")
        os.environ[key] = value
    try:
        yield
    finally:
        os.environ |= before
        server.send_signal(signal.SIGINT)
        print(server.communicate(timeout=30)[0].strip(), flush=True)


def main(words: Sequence[str] | None = None) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--files", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--faults", type=float, default=0.0, help="share of requests that fail")
    parser.add_argument("--limit", default="", help="memory of fits, such as 800MB; none if empty")
    parser.add_argument("--kills", type=int, default=0, help="fits that are killed, then resumed")
    parser.add_argument(
        "--store", help="URL of a store of S3 on this machine; its own if not given"
    )
    given = parse(parser, words, rows=400_000, files=8, rounds=1, faults=0.2, limit="500MB")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "bucket"
        folder.mkdir()
        write(folder, given.rows, given.features, given.files)
        size = sum(file.stat().st_size for file in folder.iterdir())
        print(
            f"{given.rows:,} x {given.features}, {given.files} files, {size / 1e6:,.0f} MB",
            flush=True,
        )
        with ExitStack() as stack:
            if given.store:
                os.environ |= {"AWS_ENDPOINT_URL": given.store, "AWS_ALLOW_HTTP": "true"}
                put(folder)
            else:
                stack.enter_context(serving([name]))
            shares = []
            for _ in range(given.rounds):
                here, there = read(str(folder)), read("s3://bucket/")
                shares.append(here / there)
                print(
                    f"files {here[0]:.2f} s ({here[1]:.2f}), store {there[0]:.2f} s "
                    f"({there[1]:.2f}), share {shares[-1][0]:.2f} ({shares[-1][1]:.2f})",
                    flush=True,
                )
            if shares:
                by_clock, of_processor = np.median(shares, axis=0)
                print(
                    f"share {by_clock:.2f} by the clock, {of_processor:.2f} in processor time "
                    f"(median of {given.rounds})",
                    flush=True,
                )
            if given.limit:
                compare_fits(str(folder), f"{name}/written", given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
