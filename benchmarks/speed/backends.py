"""Does a fit through other backends of joblib give the same labels, and how long does it take?

    python -m benchmarks.speed.backends [--rows 100000]

Ray is tried if it is installed (``pip install ray``), Dask through joblib's own backend. All of
them run batches of an array in memory, and of a .npy file; labels come back to this process.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.cluster import DBSCAN

from benchmarks._common import make_parser, parse, timed, two_dask_workers
from cohirf import CoHiRF, open_source
from cohirf.datasets import make_spheres


def fit(data: Callable[[], Any]) -> tuple[Any, float]:
    """Return labels, and seconds by the clock: the work of other processes counts."""
    model = CoHiRF.as_published(
        DBSCAN(eps=0.2), views=1, batch_size=2_000, min_cluster_size=2, random_state=0
    )
    seconds, fitted = timed(lambda: model.fit(data()), time.perf_counter)
    return np.array(fitted.labels_), seconds


@contextmanager
def on_ray() -> Iterator[None]:
    import ray
    from ray.util.joblib import register_ray

    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
    register_ray()
    try:
        with joblib.parallel_config(backend="ray", n_jobs=2):
            yield
    finally:
        ray.shutdown()


@contextmanager
def on_dask() -> Iterator[None]:
    with two_dask_workers(), joblib.parallel_config(backend="dask", n_jobs=2):
        yield


BACKENDS: dict[str, Callable[[], Any]] = {
    "serial": nullcontext,
    "threading": lambda: joblib.parallel_config(backend="threading", n_jobs=2),
    "loky": lambda: joblib.parallel_config(backend="loky", n_jobs=2),
    "distributed": on_dask,
    "ray": on_ray,
}
OPTIONAL = ("distributed", "ray")


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    arguments = parse(parser, argv, rows=20_000)
    X = make_spheres(arguments.rows, random_state=0)[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spheres.npy"
        np.save(path, X)
        for what, data in (("array", lambda: X), (".npy file", lambda: open_source(path))):
            expected, serial = fit(data)
            for name, backend in BACKENDS.items():
                if find_spec(name) is None and name in OPTIONAL:
                    print(f"{what:<10} {name:<11} not installed")
                    continue
                with backend():
                    labels, seconds = fit(data)
                same = "same labels" if np.array_equal(labels, expected) else "OTHER LABELS"
                print(
                    f"{what:<10} {name:<11} {same}, {seconds / serial:.2f} times the serial fit",
                    flush=True,
                )


if __name__ == "__main__":
    main()
