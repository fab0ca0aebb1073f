"""Does a kill during an update leave the model before it, or after it?

A process loads a saved model, updates it with new rows and saves it over the old one, again and
again, and is killed at a random instant. The model that it leaves is loaded, compared with those
before and after each update, and updated.

    python -m benchmarks.faults.killed_updates [--kills 50] [--program]

With ``--program``, the process is ``cohirf update``. Runs that are not killed are measured first,
and again after every ten kills: how long one takes, and when it puts the new model in the place of
the old one. Half of the kills are at random instants of that duration, the others within a tenth of
it before or after the replacement.
"""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from benchmarks._common import make_parser, parse
from cohirf import CoHiRF, load

N_UPDATES = 20
N_ROWS = 300


@dataclass(frozen=True)
class Left:
    """What a kill left: the labels of the saved model, and the number of rows that it had when the
    process started.
    """

    n_before: int
    labels: np.ndarray


def expected_labels(parts: list[np.ndarray]) -> dict[int, np.ndarray]:
    """Return the labels after each update, by the number of rows."""
    model = first_model(parts)
    found = {len(model.labels_): model.labels_.copy()}
    for part in parts[1:]:
        model.partial_fit(part)
        found[len(model.labels_)] = model.labels_.copy()
    return found


def update_for_ever(path: Path, ready: Path, parts: list[np.ndarray]) -> None:
    """Update a saved model with the rows that it does not have yet, or with all of them again."""
    ready.touch()
    while True:
        model = load(path)
        done = len(model.labels_) // N_ROWS
        if done == len(parts):
            model = CoHiRF(**model.get_params(deep=False)).partial_fit(parts[0])
        else:
            model.partial_fit(parts[done])
        model.save(path, overwrite=True)


def kill_loops(path: Path, parts: list[np.ndarray], n_kills: int, seed: int) -> Iterator[Left]:
    """Yield what each kill leaves of a process that updates a model again and again."""
    rng = np.random.default_rng(seed)
    ready = path.parent / "ready"
    for _ in range(n_kills):
        ready.unlink(missing_ok=True)
        n_before = len(load(path).labels_)
        process = multiprocessing.get_context("spawn").Process(
            target=update_for_ever, args=(path, ready, parts)
        )
        process.start()
        while not ready.exists() and process.is_alive():  # until all packages are imported
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 2.0))
        process.kill()
        process.join()
        yield Left(n_before, load(path).labels_)


def kill_program(path: Path, parts: list[np.ndarray], n_kills: int, seed: int) -> Iterator[Left]:
    """Yield what each kill leaves of ``cohirf update`` with the rows that a model does not have
    yet.
    """
    rng = np.random.default_rng(seed)
    for number in range(n_kills):
        if number % 10 == 0:  # other programs may come and go
            replaced, duration = measure_program(path, parts)
        near = replaced + duration * rng.uniform(-0.1, 0.1)
        instant = near if number % 2 else duration * rng.uniform()
        process, n_before = start_program(path, parts)
        time.sleep(instant)
        process.kill()
        process.wait()
        yield Left(n_before, load(path).labels_)


def measure_program(path: Path, parts: list[np.ndarray]) -> tuple[float, float]:
    """Return when a run replaces the model, and how long it takes, in seconds from its start.

    Medians of three runs.
    """
    measured = []
    for _ in range(3):
        process, _ = start_program(path, parts)
        started = time.perf_counter()
        before = path.stat().st_ino
        replaced = 0.0
        while process.poll() is None:
            if not replaced and path.stat().st_ino != before:
                replaced = time.perf_counter() - started
            time.sleep(0.002)
        measured.append((replaced, time.perf_counter() - started))
    replaced, duration = np.median(measured, axis=0).tolist()
    print(
        f"a run replaces the model after {replaced:.2f} s, and ends after {duration:.2f} s",
        flush=True,
    )
    return replaced, duration


def start_program(path: Path, parts: list[np.ndarray]) -> tuple[subprocess.Popen[bytes], int]:
    """Start an update with the next rows, or begin again if there are none.

    Return it and the rows before it.
    """
    done = len(load(path).labels_) // N_ROWS
    if done == len(parts):
        first_model(parts).save(path, overwrite=True)
        done = 1
    new = path.parent / "new.npy"
    np.save(new, parts[done])
    return subprocess.Popen(
        [sys.executable, "-m", "cohirf", "update", str(path), str(new), "--quiet"]
    ), done * N_ROWS


def first_model(parts: list[np.ndarray]) -> CoHiRF:
    return CoHiRF(KMeans(4, n_init=1), batch_size=200, views=2, random_state=0).partial_fit(
        parts[0]
    )


def run_kills(n_kills: int, seed: int, *, program: bool) -> tuple[int, int]:
    """Return how many kills left the model before or after an update, and how many the one before
    the process.
    """
    parts = np.array_split(make_blobs(N_UPDATES * N_ROWS, centers=4, random_state=0)[0], N_UPDATES)
    expected = expected_labels(parts)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        first_model(parts).save(path)
        kill = kill_program if program else kill_loops
        found = list(kill(path, parts, n_kills, seed))
    intact = sum(np.array_equal(left.labels, expected.get(len(left.labels))) for left in found)
    return intact, sum(len(left.labels) == left.n_before for left in found)


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument(
        "--program", action="store_true", help="kill cohirf update, and not a process of Python"
    )
    parser.add_argument("--seed", type=int, default=0)
    arguments = parse(parser, argv, kills=5)
    intact, same_rows = run_kills(arguments.kills, arguments.seed, program=arguments.program)
    print(f"{intact} of {arguments.kills} kills left the model before or after an update")
    others = arguments.kills - same_rows
    print(
        f"{same_rows} had the rows from before the process, {others} those of one or more updates"
    )


if __name__ == "__main__":
    main()
