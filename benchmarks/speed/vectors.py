"""How long do fits of embeddings take, and how long does the search for near duplicates?

    python -m benchmarks.speed.vectors [--parts fit duplicates gpu] [--rows 100000] [--device cuda]

- fit: unit vectors with 768 features, k=200, against K-Means with one start, both in a process of
  their own with one thread: processor seconds, their ratio, the rise of the peak memory, and the
  adjusted Rand index with the mixture.
- duplicates: rows with 256 features, of which a twentieth are planted near duplicates: at three
  thresholds, the share of the pairs of brute force (products of blocks) that each method finds,
  pairs that it finds in error, and processor seconds. faiss runs a range search in a flat index; it
  and brute force take as long at any threshold, and run at the lowest one. semhash removes rows: it
  finds a pair if it removes one of both. Those that are not installed are left out. ``--results``
  keeps what is done, so that a run that was stopped continues.
- gpu (not run by default): 1e7 x 768 unit vectors in bfloat16 on a device, k=1,000, with the
  defaults and ``metric="cosine"``: seconds by the clock, memory beyond the data, and the share of
  rows in clusters of their own component. One fit of a tenth of the rows warms up kernels first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from benchmarks._common import (
    Results,
    Table,
    add_results_option,
    in_fresh_process,
    make_parser,
    parse,
    peak_rise,
    timed,
)
from cohirf import CoHiRF
from cohirf.curate import near_duplicates

N_FEATURES = 768
N_CLUSTERS = 200
PARTS = ("fit", "duplicates", "gpu")
THRESHOLDS = (0.9, 0.95, 0.99)
BLOCK = 2**20


def draw_vectors(n_rows: int, n_features: int, n_clusters: int) -> tuple[np.ndarray, np.ndarray]:
    """Return unit vectors around random directions, and the direction of each."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((n_clusters, n_features), dtype=np.float32)
    own = rng.integers(n_clusters, size=n_rows)
    X = centres[own]
    for start in range(0, n_rows, 10_000):
        X[start : start + 10_000] += 1.5 * rng.standard_normal(
            X[start : start + 10_000].shape, dtype=np.float32
        )
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, own


def measure_fit(method: str, n_rows: int) -> tuple[float, float, float]:
    """Return processor seconds, rise of the peak in MB, and the adjusted Rand index of a fit."""
    X, own = draw_vectors(n_rows, N_FEATURES, N_CLUSTERS)
    model: Any = KMeans(N_CLUSTERS, n_init=1, random_state=0)
    if method != "K-Means":
        model = CoHiRF(n_clusters=N_CLUSTERS, metric="cosine", random_state=0)
    with threadpool_limits(1):
        rise, (seconds, labels) = peak_rise(lambda: timed(lambda: model.fit(X).labels_))
    return seconds, rise / 1e6, float(adjusted_rand_score(own, labels))


def compare_fits(n_rows: int) -> None:
    """Print a line for each method, with its time as a multiple of that of K-Means."""
    table = Table(
        {
            "fit": "<10",
            "rows": ">9,",
            "seconds": ">8.1f",
            "ratio": ">6.2f",
            "MB": ">7.0f",
            "ARI": ">6.3f",
        }
    )
    whole = None
    for method in ("K-Means", "CoHiRF"):
        seconds, rise, score = in_fresh_process(measure_fit, method, n_rows)
        whole = whole or seconds
        table.row(method, n_rows, seconds, seconds / whole, rise, score)
    print(f"The data has {n_rows * N_FEATURES * 4 / 1e6:,.0f} MB.")


def plant(n_rows: int, n_features: int = 256) -> np.ndarray:
    """Return unit vectors of which a twentieth have a cosine from 0.88 to 1 to another."""
    X, _ = draw_vectors(n_rows, n_features, N_CLUSTERS)
    rng = np.random.default_rng(1)
    changed, origin = rng.permutation(n_rows)[: 2 * (n_rows // 20)].reshape(2, -1)
    aside = rng.standard_normal((len(changed), n_features), dtype=np.float32)
    aside -= (aside * X[origin]).sum(axis=1, keepdims=True) * X[origin]
    aside /= np.linalg.norm(aside, axis=1, keepdims=True)
    cosine = rng.uniform(0.88, 1, size=(len(changed), 1)).astype(np.float32)
    X[changed] = cosine * X[origin] + np.sqrt(1 - cosine**2) * aside
    return X


def brute_force(X: np.ndarray, threshold: float) -> np.ndarray:
    """Return all pairs above the threshold, from products of all features."""
    found = []
    for start in range(0, len(X), 1000):
        pairs = np.argwhere(X[start : start + 1000] @ X[start:].T >= threshold)
        found.append(pairs[pairs[:, 0] < pairs[:, 1]] + start)
    return np.concatenate(found)


def search_faiss(X: np.ndarray, threshold: float) -> np.ndarray:
    """Return the pairs of a range search by faiss."""
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatIP(X.shape[1])
    index.add(X)
    limits, _, right = index.range_search(X, threshold)
    left = np.repeat(np.arange(len(X)), np.diff(limits.astype(np.int64)))
    return np.column_stack([left, right])[left < right]


def search_semhash(X: np.ndarray, threshold: float) -> np.ndarray:
    """Return the rows that semhash removes, each as a pair with itself."""
    from semhash import SemHash

    index = SemHash.from_embeddings(X, [str(row) for row in range(len(X))], model=None)
    removed = [int(one.record) for one in index.self_deduplicate(threshold).filtered]
    return np.column_stack([removed, removed])


SEARCHES: dict[str, Callable[[np.ndarray, float], np.ndarray]] = {
    "brute force": brute_force,
    "cohirf": lambda X, threshold: near_duplicates(X, threshold).pairs,
    "faiss": search_faiss,
    "semhash": search_semhash,
}


def search(method: str, X: np.ndarray, threshold: float) -> dict[str, Any]:
    """Return the time of a search, and its pairs."""
    with threadpool_limits(1):
        seconds, found = timed(lambda: SEARCHES[method](X, threshold))
    return {"seconds": seconds, "pairs": found.tolist()}


def compare_searches(n_rows: int, results: Results) -> None:
    """Print recall and time of each method at each threshold."""
    X = plant(n_rows)
    table = Table(
        {
            "threshold": ">9",
            "pairs": ">9,",
            "method": "<12",
            "recall": ">8.5f",
            "wrong": ">6",
            "seconds": ">8.1f",
        }
    )
    for threshold in THRESHOLDS:
        right: set[tuple[int, int]] = set()
        for method in SEARCHES:
            if method in ("faiss", "semhash") and find_spec(method) is None:
                print(f"{method} is left out: it is not installed.")
                continue
            at = THRESHOLDS[0] if method in ("brute force", "faiss") else threshold
            found = results.of((method, n_rows, at), partial(search, method, X, at))
            found_pairs = np.array(found["pairs"], dtype=np.int64).reshape(-1, 2)
            if at < threshold:
                found_pairs = found_pairs[np.prod(X[found_pairs], axis=1).sum(axis=1) >= threshold]
            pairs = set(map(tuple, found_pairs.tolist()))
            right = right or pairs
            if method == "semhash":
                removed = {row for row, _ in pairs}
                pairs = {pair for pair in right if not removed.isdisjoint(pair)}
            recall = len(pairs & right) / max(len(right), 1)
            table.row(threshold, len(right), method, recall, len(pairs - right), found["seconds"])


def measure_gpu(device: str, n_rows: int, n_clusters: int = 1000) -> None:
    """Print the time of a default fit of vectors in half precision on a device."""
    import torch

    rng = torch.Generator(device).manual_seed(0)
    centres = torch.randn(n_clusters, N_FEATURES, device=device, generator=rng)
    own = torch.randint(n_clusters, (n_rows,), device=device, generator=rng)
    X = torch.empty(n_rows, N_FEATURES, device=device, dtype=torch.bfloat16)
    for start in range(0, n_rows, BLOCK):
        part = own[start : start + BLOCK]
        block = centres[part] + 1.5 * torch.randn(
            len(part), N_FEATURES, device=device, generator=rng
        )
        X[start : start + BLOCK] = block / block.norm(dim=1, keepdim=True)
    table = Table({"rows": ">12,", "seconds": ">8.2f", "right": ">6.3f", "GiB": ">6.1f", "k": ">6"})
    for size in (n_rows // 10, n_rows, n_rows):
        if device != "cpu":
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
        started = time.perf_counter()
        model = CoHiRF(n_clusters=n_clusters, metric="cosine", random_state=0).fit(X[:size])
        if device != "cpu":
            torch.cuda.synchronize()
        seconds = time.perf_counter() - started
        peak = 0.0 if device == "cpu" else (torch.cuda.max_memory_allocated() - before) / 2**30
        counts = torch.zeros(model.n_clusters_, n_clusters, device=device, dtype=torch.int64)
        pairs = model.labels_.to(torch.int64) * n_clusters + own[:size]
        counts = torch.bincount(pairs, minlength=counts.numel()).reshape(counts.shape)
        table.row(
            size,
            seconds,
            float(counts.max(dim=1).values.sum() / size),
            peak,
            int(model.n_clusters_),
        )


def main(argv: Sequence[str] | None = None) -> None:
    """Measure the parts."""
    parser = make_parser(__doc__)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=["fit", "duplicates"])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--device", default="cuda")
    add_results_option(parser)
    arguments = parse(parser, argv, rows=4000)
    if "fit" in arguments.parts:
        compare_fits(arguments.rows)
    if "duplicates" in arguments.parts:
        compare_searches(arguments.rows, Results(arguments.results / "duplicates.jsonl"))
    if "gpu" in arguments.parts:
        measure_gpu(arguments.device, 100 * arguments.rows)


if __name__ == "__main__":
    main()
