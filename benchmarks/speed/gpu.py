"""How fast are fits on a GPU, and what bounds them?

    python -m benchmarks.speed.gpu [--device cuda] [--parts device embeddings stream cores repeat]
    [--rows 100000000]

Five parts, each of which can run alone. All data is a mixture of normal distributions. The seconds
are by the clock: on a GPU, nothing else disturbs them much.

- device: float32 rows with 50 features on the device, K-Means with k=10 on views of 30 % of the
  features; as published, with the defaults, with 10 views, without a base method, and a tenth of
  the rows of a mixture whose clusters touch, where views agree on little. For each: the time of the
  fit, of the base method, of the consensus and of the choice of medoids, the fit as a multiple of
  the base method, leaves of the tree, the share of rows in clusters whose majority they belong to,
  and the memory beyond the data. Also one run of TorchKMeans, and of flash-kmeans where that is
  installed (``pip install flash-kmeans``; it needs Triton), which begins at random rows.
- embeddings: bfloat16 rows with 768 features, k=1,000, three views of half of the features, against
  three runs of TorchKMeans alone on all features; at most 20 iterations each, and one level, which
  is nearly all of the work. For a comparison with other machines, also the multiplications a second
  of TorchKMeans: rows x features x k x iterations on all rows.
- stream: ten times as many rows with 50 features as the first part, read from host memory in
  blocks. A billion rows are 200 GB, which few machines hold, so a tenth of them is in memory and
  read ten times. Rows a second, what reading, copying and computing reach alone, and which of them
  bounds the fit.
- cores: the same fit on the GPU and on all cores of this machine, with a tenth of the rows of the
  first part.
- repeat: whether two fits have the same labels.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from joblib import cpu_count
from sklearn.cluster import KMeans

from benchmarks._common import Table, make_parser, parse
from cohirf import CoHiRF
from cohirf.clusterers import TorchKMeans
from cohirf.engines.policy import STREAM
from cohirf.sources import Source

N_FEATURES = 50
N_CLUSTERS = 10
BLOCK = 2**22
COLUMNS = {
    "fit": "<24",
    "rows": ">11,",
    "seconds": ">8.2f",
    "base": ">6.2f",
    "consensus": ">9.2f",
    "medoids": ">8.2f",
    "fit/base": ">8.2f",
    "k": ">4",
    "leaves": ">8,",
    "right": ">6.3f",
    "GiB": ">6.1f",
}
PARTS = ("device", "embeddings", "stream", "cores", "repeat")


def draw_mixture(
    n_rows: int,
    n_features: int,
    n_clusters: int,
    device: str,
    dtype: Any = None,
    spread: float = 2.0,
) -> tuple[Any, Any]:
    """Return rows of a mixture on a device, and the component of each."""
    import torch

    rng = torch.Generator(device).manual_seed(0)
    centres = spread * torch.randn(n_clusters, n_features, device=device, generator=rng)
    component = torch.randint(n_clusters, (n_rows,), device=device, generator=rng)
    X = torch.empty(n_rows, n_features, device=device, dtype=dtype or torch.float32)
    for start in range(0, n_rows, BLOCK):
        own = component[start : start + BLOCK]
        X[start : start + BLOCK] = centres[own] + torch.randn(
            len(own), n_features, device=device, generator=rng
        )
    return X, component


def timed_there(function: Callable[[], Any], device: str) -> tuple[float, Any]:
    """Return the time that a call takes until the device has finished, and its result."""
    import torch

    wait = torch.cuda.synchronize if device.startswith("cuda") else (lambda: None)
    wait()
    started = time.perf_counter()
    found = function()
    wait()
    return time.perf_counter() - started, found


def share_in_majority(labels: Any, component: Any, n_clusters: int) -> float:
    """Return the share of rows in clusters that mostly have their component."""
    import torch

    pairs = torch.bincount(
        labels.long() * n_clusters + component, minlength=(int(labels.max()) + 1) * n_clusters
    )
    return float(pairs.reshape(-1, n_clusters).max(dim=1).values.sum() / len(labels))


def measure_on_device(device: str, n_rows: int) -> None:
    """Fit rows that are on the device."""
    X, component = draw_mixture(n_rows, N_FEATURES, N_CLUSTERS, device)
    touching, component_of_touching = draw_mixture(
        n_rows // 10, N_FEATURES, N_CLUSTERS, device, spread=0.7
    )
    views = {"max_features": 0.3, "random_state": 0}
    published = partial(CoHiRF.as_published, TorchKMeans(N_CLUSTERS), views=5, **views)
    defaults = partial(CoHiRF, TorchKMeans(N_CLUSTERS), **views)
    table = Table(COLUMNS)
    measure_fit("as published, 5 views", published, X, component, table)
    measure_fit("defaults, 5 views", partial(defaults, views=5), X, component, table)
    measure_fit("defaults, 10 views", partial(defaults, views=10), X, component, table)
    without = partial(CoHiRF, n_clusters=N_CLUSTERS, views=5, **views)
    measure_fit("no base method, 5 views", without, X, component, table)
    measure_fit(
        "touching, 10 views", partial(defaults, views=10), touching, component_of_touching, table
    )
    alone = {"TorchKMeans": lambda X: TorchKMeans(N_CLUSTERS, random_state=0).fit(X).labels_}
    if find_spec("flash_kmeans") and X.is_cuda:
        alone["flash-kmeans"] = run_flash_k_means
    for name, run in alone.items():
        run(X[: min(n_rows, 100_000)])  # loads kernels
        seconds, labels = timed_there(partial(run, X), device)
        right = share_in_majority(labels, component, N_CLUSTERS)
        print(f"{name} alone, one start, all features: {seconds:.2f} s, right {right:.3f}")
    model = published().fit(X[: min(n_rows, 100_000)])
    seconds, _ = timed_there(lambda: model.predict(X[: n_rows // 10]), device)
    print(f"predict of {n_rows // 10:,} rows: {seconds:.2f} s")


def run_flash_k_means(X: Any) -> Any:
    """Return the labels of K-Means of Triton kernels, from random rows on."""
    from flash_kmeans import batch_kmeans_Euclid

    return batch_kmeans_Euclid(X[None], N_CLUSTERS, max_iters=300, tol=1e-4)[0][0]


def measure_fit(
    name: str, make: Callable[[], CoHiRF], X: Any, component: Any, table: Table
) -> None:
    """Fit rows on a device, and print a row of the table."""
    import torch

    make().fit(X[: min(len(X), 100_000)])  # loads kernels
    before = 0
    if X.is_cuda:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
    seconds, model = timed_there(partial(make().fit, X), str(X.device))
    steps = [
        sum(getattr(record, step) for record in model.diagnostics_)
        for step in ("base_seconds", "consensus_seconds", "medoid_seconds")
    ]
    memory = (torch.cuda.max_memory_allocated() - before) / 2**30 if X.is_cuda else float("nan")
    right = share_in_majority(model.labels_, component, N_CLUSTERS)
    leaves = len(model.hierarchy_.parents)
    table.row(
        name, len(X), seconds, *steps, seconds / steps[0], model.n_clusters_, leaves, right, memory
    )


def measure_embeddings(device: str, n_rows: int) -> None:
    """Compare a fit of embeddings with runs of K-Means alone."""
    import torch

    X, component = draw_mixture(n_rows, 768, 1000, device, torch.bfloat16, spread=0.5)
    method = TorchKMeans(1000, max_iter=20)
    options = {"views": 3, "max_features": 0.5, "max_iter": 1, "random_state": 0}
    model = CoHiRF.as_published(method, **options).fit(X[: min(n_rows, 200_000)])  # loads kernels
    fit, model = timed_there(partial(model.fit, X), device)
    base = sum(record.base_seconds for record in model.diagnostics_)

    def run_alone() -> int:
        return sum(
            TorchKMeans(1000, max_iter=20, random_state=seed).fit(X).n_iter_ for seed in range(3)
        )

    alone, n_iter = timed_there(run_alone, device)
    right = share_in_majority(model.labels_, component, 1000)
    print(
        f"{n_rows:,} x 768, bfloat16, k=1,000: fit {fit:.2f} s, base method {base:.2f} s, k "
        f"{model.n_clusters_}, right {right:.3f}"
    )
    print(
        f"three runs of TorchKMeans alone: {alone:.2f} s, {n_iter} iterations, "
        f"{n_rows * 768 * 1000 * n_iter / alone:.1e} multiplications/s; fit/alone {fit / alone:.2f}"
    )


class RepeatedRows(Source):
    """Rows in host memory, again and again, so that more rows can be read than fit into memory."""

    def __init__(self, X: Any, n_rows: int) -> None:
        super().__init__("The repeated rows", (n_rows, X.shape[1]), X.dtype)
        self._X = X

    def _fill(self, start: int, out: Any) -> None:
        done = 0
        while done < len(out):
            first = (start + done) % len(self._X)
            part = self._X[first : first + len(out) - done]
            out[done : done + len(part)] = part
            done += len(part)


def read_all(source: Source, n_threads: int) -> None:
    """Read and check all rows as a fit does: in pieces, each thread into memory of its own."""
    step = STREAM.piece_bytes // (source.n_features * source.dtype.itemsize)
    own = threading.local()

    def read(start: int) -> None:
        if not hasattr(own, "piece"):
            own.piece = np.empty((step, source.n_features), source.dtype)
        source.fill(start, own.piece[: source.n_rows - start])

    with ThreadPoolExecutor(n_threads) as threads:
        for _ in threads.map(read, range(0, source.n_rows, step)):
            pass


def measure_stream(device: str, n_rows: int) -> None:
    """Fit rows of host memory in blocks, and measure each step alone."""
    own, _ = draw_mixture(n_rows // 10, N_FEATURES, N_CLUSTERS, device)
    here = own.cpu().numpy()
    own = own[: 4 * BLOCK].clone()  # the rest would be in the way
    model = CoHiRF.as_published(
        TorchKMeans(N_CLUSTERS),
        views=5,
        max_features=0.3,
        batch_size=BLOCK,
        device=device,
        random_state=0,
    )
    seconds, _ = timed_there(lambda: model.fit(RepeatedRows(here, n_rows)), device)
    gigabytes = n_rows * N_FEATURES * 4 / 1e9
    print(
        f"{n_rows:,} x {N_FEATURES} from host memory ({len(here):,} rows, ten times) in blocks of "
        f"{BLOCK:,}: {seconds:.1f} s, {n_rows / seconds:,.0f} rows/s, {gigabytes / seconds:.1f} "
        f"GB/s, k {model.n_clusters_}"
    )
    some = RepeatedRows(here, min(n_rows, 10 * BLOCK))
    n_threads = min(STREAM.readers, cpu_count())
    alone = {
        "reading and checking, 1 thread": measure_reading(some, 1, device),
        f"reading and checking, {n_threads} threads": measure_reading(some, n_threads, device),
        "copying to the device": measure_copying(here[:BLOCK], device),
        "computing, rows on the device": measure_computing(own, device),
    }
    for step, speed in alone.items():
        print(f"{step}: {speed:.1f} GB/s")
    print(f"slowest alone, with all threads: {min(list(alone)[1:], key=alone.__getitem__)}")


def measure_reading(source: Source, n_threads: int, device: str) -> float:
    """Return the gigabytes a second at which rows are read and checked."""
    seconds, _ = timed_there(partial(read_all, source, n_threads), device)
    return source.n_rows * source.n_features * source.dtype.itemsize / 1e9 / seconds


def measure_copying(rows: Any, device: str) -> float:
    """Return the gigabytes a second at which rows in pinned memory are copied to the device."""
    import torch

    pinned = torch.from_numpy(rows)
    pinned = pinned.pin_memory() if device.startswith("cuda") else pinned
    seconds, _ = timed_there(
        lambda: [pinned.to(device, non_blocking=True) for _ in range(10)], device
    )
    return 10 * pinned.nbytes / 1e9 / seconds


def measure_computing(X: Any, device: str) -> float:
    """Return the gigabytes a second at which blocks of rows on the device are contracted."""
    blocks = [X[start : start + BLOCK] for start in range(0, len(X), BLOCK)]
    model = CoHiRF.as_published(
        TorchKMeans(N_CLUSTERS), views=5, max_features=0.3, max_iter=1, random_state=0
    )
    seconds, _ = timed_there(lambda: [model.fit(block) for block in blocks], device)
    return X.nbytes / 1e9 / seconds


def compare_with_cores(device: str, n_rows: int) -> None:
    """Compare the time of a fit on the device with that on all cores."""
    X, _ = draw_mixture(n_rows, N_FEATURES, N_CLUSTERS, device)
    options = {"views": 5, "max_features": 0.3, "random_state": 0}
    there = CoHiRF.as_published(TorchKMeans(N_CLUSTERS), **options)
    there.fit(X[:100_000])
    on_device, _ = timed_there(lambda: there.fit(X), device)
    here = CoHiRF.as_published(KMeans(N_CLUSTERS, n_init=1), n_jobs=-1, **options)
    values = X.cpu().numpy()
    here.fit(values[:100_000])
    on_cores, _ = timed_there(lambda: here.fit(values), device)
    print(
        f"{n_rows:,} x {N_FEATURES}: device {on_device:.2f} s, all cores {on_cores:.2f} s, ratio "
        f"{on_cores / on_device:.0f}"
    )


def compare_runs(device: str, n_rows: int) -> None:
    """Say whether two fits have the same labels."""
    X, _ = draw_mixture(n_rows, N_FEATURES, N_CLUSTERS, device, spread=0.7)
    method = TorchKMeans(N_CLUSTERS, max_iter=20)
    options = {"max_features": 0.3, "max_iter": 1, "random_state": 0}
    first, second = (CoHiRF.as_published(method, **options).fit(X).labels_ for _ in range(2))
    print(
        f"two fits of {n_rows:,} rows of clusters that touch: {int((first != second).sum()):,} "
        "labels differ"
    )


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--parts", nargs="+", default=PARTS, choices=PARTS)
    parser.add_argument("--rows", type=int, default=100_000_000)
    arguments = parse(parser, argv, rows=200_000)
    warnings.simplefilter("ignore")
    device = arguments.device
    n_rows = arguments.rows
    measures: dict[str, Callable[[], None]] = {
        "device": lambda: measure_on_device(device, n_rows),
        "embeddings": lambda: measure_embeddings(device, n_rows // 10),
        "stream": lambda: measure_stream(device, 10 * n_rows),
        "cores": lambda: compare_with_cores(device, n_rows // 10),
        "repeat": lambda: compare_runs(device, n_rows // 10),
    }
    for part in arguments.parts:
        measures[part]()


if __name__ == "__main__":
    main()
