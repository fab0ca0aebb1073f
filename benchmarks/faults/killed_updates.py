"""Does a kill during an update leave the model before it, or after it?

A process loads a saved model, updates it with new rows and saves it over the old one, again and again, and is killed at
a random instant. The model that it leaves is loaded, compared with those before and after each update, and updated.

    python -m benchmarks.faults.killed_updates [--kills 50]
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from benchmarks._common import make_parser, parse
from cohirf import CoHiRF, load

N_UPDATES, N_ROWS = 20, 300


def expected_labels(parts: list[np.ndarray]) -> dict[int, np.ndarray]:
    """Return the labels after each update, by the number of rows."""
    model = CoHiRF(KMeans(4, n_init=1), batch_size=200, n_views=2, random_state=0)
    found = {}
    for part in parts:
        model.partial_fit(part)
        found[len(model.labels_)] = model.labels_.copy()
    return found


def update_for_ever(path: Path, parts: list[np.ndarray]) -> None:
    """Update a saved model with the rows that it does not have yet."""
    while True:
        model = load(path)
        done = len(model.labels_) // N_ROWS
        if done == len(parts):
            model = CoHiRF(**model.get_params(deep=False)).partial_fit(parts[0])
        else:
            model.partial_fit(parts[done])
        model.save(path, overwrite=True)


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--kills", type=int, default=50)
    arguments = parse(parser, argv, kills=5)
    rng = np.random.default_rng(0)
    parts = np.array_split(make_blobs(N_UPDATES * N_ROWS, centers=4, random_state=0)[0], N_UPDATES)
    expected = expected_labels(parts)
    intact = 0
    sizes = set()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        CoHiRF(KMeans(4, n_init=1), batch_size=200, n_views=2, random_state=0).partial_fit(parts[0]).save(path)
        for _ in range(arguments.kills):
            child = os.fork()
            if child == 0:
                update_for_ever(path, parts)
            time.sleep(rng.uniform(0.2, 3.0))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            labels = load(path).labels_
            sizes.add(len(labels))
            intact += bool(np.array_equal(labels, expected[len(labels)]))
    print(f"{intact} of {arguments.kills} kills left the model before or after an update, of {len(sizes)} sizes")


if __name__ == "__main__":
    main()
