"""Does a kill during an update leave the model before it, or after it?

A process loads a saved model, updates it with new rows and saves it over the old one, again and again, and is killed at
a random instant. The model that it leaves is loaded, compared with those before and after each update, and updated.

    python -m benchmarks.faults.killed_updates [--kills 50] [--program]

With ``--program``, the process is ``cohirf update``, and each run is killed at a random instant of its duration.
"""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from benchmarks._common import make_parser, parse
from cohirf import CoHiRF, load

N_UPDATES, N_ROWS = 20, 300


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


def kill_loops(path: Path, parts: list[np.ndarray], n_kills: int) -> Iterator[np.ndarray]:
    """Yield the labels after each kill of a process that updates a model again and again."""
    rng = np.random.default_rng(0)
    ready = path.parent / "ready"
    for _ in range(n_kills):
        ready.unlink(missing_ok=True)
        process = multiprocessing.get_context("spawn").Process(target=update_for_ever, args=(path, ready, parts))
        process.start()
        while not ready.exists() and process.is_alive():  # until all packages are imported
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 2.0))
        process.kill()
        process.join()
        yield load(path).labels_


def kill_program(path: Path, parts: list[np.ndarray], n_kills: int) -> Iterator[np.ndarray]:
    """Yield the labels after each kill of ``cohirf update`` with the rows that a model does not have yet.

    A process first imports what it needs, which changes nothing, so kills begin with the second half of a run.
    """
    rng = np.random.default_rng(0)
    seconds = 0.0
    for number in range(n_kills + 1):
        done = len(load(path).labels_) // N_ROWS
        if done == len(parts):
            first_model(parts).save(path, overwrite=True)
            done = 1
        new = path.parent / "new.npy"
        np.save(new, parts[done])
        started = time.perf_counter()
        process = subprocess.Popen([sys.executable, "-m", "cohirf", "update", str(path), str(new), "--quiet"])
        if number == 0:  # measures how long a run takes
            process.wait()
            seconds = time.perf_counter() - started
            continue
        time.sleep(seconds * rng.uniform(0.5, 1.05))
        process.kill()
        process.wait()
        yield load(path).labels_


def first_model(parts: list[np.ndarray]) -> CoHiRF:
    return CoHiRF(KMeans(4, n_init=1), batch_size=200, n_views=2, random_state=0).partial_fit(parts[0])


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--program", action="store_true", help="kill cohirf update, and not a process of Python")
    arguments = parse(parser, argv, kills=5)
    parts = np.array_split(make_blobs(N_UPDATES * N_ROWS, centers=4, random_state=0)[0], N_UPDATES)
    expected = expected_labels(parts)
    intact, sizes = 0, []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        first_model(parts).save(path)
        kill = kill_program if arguments.program else kill_loops
        for labels in kill(path, parts, arguments.kills):
            sizes.append(len(labels))
            intact += bool(np.array_equal(labels, expected[len(labels)]))
    print(f"{intact} of {arguments.kills} kills left the model before or after an update, of {len(set(sizes))} sizes")


if __name__ == "__main__":
    main()
