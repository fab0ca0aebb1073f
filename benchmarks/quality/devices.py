"""Are the clusters found on a GPU those found on the CPU?

Six real data sets, standardised, in float32. CoHiRF(TorchKMeans(k)), where k is the number of
classes, is fitted to tensors on the CPU and to tensors on a device, with the same seed. The table
shows:

- differ, at most: the share of rows whose label differs between the two, its mean and its maximum
  over the seeds;
- CuPy: the mean share of rows whose label differs between tensors and CuPy arrays on the device, if
  CuPy is installed;
- CPU, device, scikit-learn: the adjusted Rand index with the classes, and its standard deviation
  over the seeds; the last one is that of CoHiRF(KMeans(k)).

    python -m benchmarks.quality.devices [--device cuda] [--seeds 5]

The data sets are Parquet files in the folder that COHIRF_DATA names. For a machine without pandas,
copy them first:

    python -m benchmarks.quality.devices --write FOLDER

writes them as .npz files, which are read if COHIRF_DATA names that folder.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from benchmarks._common import Table, make_parser, mean_and_spread, parse, read_file, write_npz
from cohirf import CoHiRF
from cohirf.clusterers import TorchKMeans
from cohirf.rows.arrays import to_host

SETS = ("pbmc68k-reduced", "coil-20", "satimage", "usps", "pendigits", "shuttle")
COLUMNS = {
    "data set": "<16",
    "rows": ">7,",
    "k": ">3",
    "differ": ">9.4%",
    "at most": ">9.4%",
    "CuPy": ">9.4%",
    "CPU": ">12",
    "device": ">12",
    "scikit-learn": ">13",
}


def fit_labels(base: Any, X: Any, seed: int) -> np.ndarray:
    """Return the labels of a fit."""
    return to_host(CoHiRF(base, random_state=seed).fit(X).labels_)


def compare(X: np.ndarray, k: int, device: str, seed: int) -> dict[str, np.ndarray]:
    """Return the labels in each place."""
    import torch

    here = torch.from_numpy(X)
    found = {
        "CPU": fit_labels(TorchKMeans(k), here, seed),
        "device": fit_labels(TorchKMeans(k), here.to(device), seed),
        "scikit-learn": fit_labels(KMeans(k, n_init=1), X, seed),
    }
    if device.startswith("cuda") and find_spec("cupy") is not None:
        import cupy

        found["CuPy"] = fit_labels(TorchKMeans(k), cupy.asarray(X), seed)
    return found


def share_that_differs(fits: list[dict[str, np.ndarray]], one: str, other: str) -> np.ndarray:
    """Return the share of rows with different labels, for each seed.

    NaN if one of the fits was not made.
    """
    return np.array(
        [np.mean(found[one] != found[other]) if other in found else np.nan for found in fits]
    )


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument(
        "--write", type=Path, metavar="FOLDER", help="write the data sets as .npz files, and stop"
    )
    arguments = parse(parser, argv, seeds=1, sets=("pbmc68k-reduced", "satimage"))
    if arguments.write is not None:
        write_npz(arguments.sets, arguments.write)
        return
    warnings.simplefilter("ignore", ConvergenceWarning)  # levels that end at max_iter
    table = Table(COLUMNS)
    for name in arguments.sets:
        data = read_file(name)
        if data is None:
            continue
        X = data[0].astype(np.float32)
        y = data[1]
        k = len(np.unique(y))
        fits = [compare(X, k, arguments.device, seed) for seed in range(arguments.seeds)]
        differ, in_cupy = (
            share_that_differs(fits, *pair) for pair in (("CPU", "device"), ("device", "CuPy"))
        )
        scores = [
            mean_and_spread([adjusted_rand_score(y, found[place]) for found in fits])
            for place in ("CPU", "device", "scikit-learn")
        ]
        table.row(name, len(X), k, differ.mean(), differ.max(), in_cupy.mean(), *scores)


if __name__ == "__main__":
    main()
