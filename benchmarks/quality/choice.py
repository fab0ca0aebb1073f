"""How often does ``n_clusters="auto"`` find the number of classes, beside other ways to choose it?

    python -m benchmarks.quality.choice [--seeds 2] [--sets 18] [--ways auto silhouette] [--rows
    1500] [--write] python -m benchmarks.quality.choice --suite    the sets of clustbench.py instead

The 14 data sets of answers.py, at most 1,500 rows each, standardised, and four sets of blobs with
3, 6, 12 and 20 centres. For each way: in how many fits the number is that of the classes, in how
many it differs by at most one, the mean adjusted Rand index of the clusters with the classes, and
processor seconds. Classes are not clusters, so "right" is a weak goal. If there are several
references, the best one counts; rows of class 0 are not scored.

- auto: CoHiRF(n_clusters="auto"), the silhouette of clusters, and how many near neighbours they
  keep together.
- true k: CoHiRF with the number of classes.
- silhouette: of separate K-Means fits with 2 to 30 clusters, each with three starts.
- gap: the gap statistic (Tibshirani, Walther, Hastie 2001) of the same fits, with five uniform
  reference sets.
- X-means: 2-means splits that raise the Bayesian information criterion (Pelleg, Moore 2000), from 2
  to 30 clusters.
- HDBSCAN: min_cluster_size=15; noise is a cluster of its own in the adjusted Rand index.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, silhouette_score
from threadpoolctl import threadpool_limits

from benchmarks._common import (
    DATA_FOLDER,
    Table,
    add_write_option,
    all_sets,
    make_parser,
    parse,
    standardise,
)
from benchmarks.quality.clustbench import count_classes, find_partitions, read_sets
from cohirf import CoHiRF

MAX_ROWS = 1500
MAX_CLUSTERS = 30
N_REFERENCES = 5
Labels = np.ndarray


def fits(X: np.ndarray, seed: int) -> list[KMeans]:
    largest = min(MAX_CLUSTERS, len(X) - 1)
    return [KMeans(k, n_init=3, random_state=seed).fit(X) for k in range(1, largest + 1)]


def auto(X: np.ndarray, seed: int) -> Labels:
    return CoHiRF(random_state=seed).fit_predict(X)


def silhouette(X: np.ndarray, seed: int) -> Labels:
    candidates = [fit.labels_ for fit in fits(X, seed)[1:] if len(np.unique(fit.labels_)) > 1]
    return max(candidates, key=lambda labels: silhouette_score(X, labels))


def gap(X: np.ndarray, seed: int) -> Labels:
    """Return the clusters of the smallest k whose gap is at least the next one minus its standard
    error.
    """
    rng = np.random.default_rng(seed)
    found = fits(X, seed)
    uniform = (rng.uniform(X.min(axis=0), X.max(axis=0), X.shape) for _ in range(N_REFERENCES))
    reference = np.array([[np.log(fit.inertia_) for fit in fits(rows, seed)] for rows in uniform])
    gaps = reference.mean(axis=0) - np.log([max(fit.inertia_, 1e-12) for fit in found])
    error = reference.std(axis=0) * np.sqrt(1 + 1 / N_REFERENCES)
    enough = np.flatnonzero(gaps[:-1] >= gaps[1:] - error[1:])
    return found[enough[0] if len(enough) else len(found) - 1].labels_


def x_means(X: np.ndarray, seed: int) -> Labels:
    centres = KMeans(2, n_init=3, random_state=seed).fit(X).cluster_centers_
    while True:
        fit = KMeans(len(centres), init=centres, n_init=1).fit(X)
        grown = [
            part
            for label, centre in enumerate(fit.cluster_centers_)
            for part in _split(X[fit.labels_ == label], centre, seed)
        ]
        if len(grown) == len(centres) or len(grown) > MAX_CLUSTERS:
            return fit.labels_
        centres = np.array(grown)


def _split(X: np.ndarray, centre: np.ndarray, seed: int) -> list[np.ndarray]:
    """Return two centres if they describe the rows better than one, by the Bayesian information
    criterion.
    """
    if len(X) < 4:
        return [centre]
    two = KMeans(2, n_init=1, random_state=seed).fit(X)
    whole = _information(X, np.zeros(len(X), dtype=int), ((X - X.mean(axis=0)) ** 2).sum())
    return (
        list(two.cluster_centers_)
        if _information(X, two.labels_, two.inertia_) > whole
        else [centre]
    )


def _information(X: np.ndarray, labels: Labels, inertia: float) -> float:
    n, p = X.shape
    sizes = np.bincount(labels)
    k = len(sizes)
    variance = max(inertia / max(p * (n - k), 1), 1e-12)
    likelihood = (sizes * np.log(np.maximum(sizes, 1) / n)).sum() - n * p / 2 * np.log(
        2 * np.pi * variance
    )
    return likelihood - p * (n - k) / 2 - (k * (p + 1)) / 2 * np.log(n)


def hdbscan(X: np.ndarray, seed: int) -> Labels:
    return HDBSCAN(min_cluster_size=15, copy=True).fit_predict(X)


TRUE = "true k"
WAYS: dict[str, Callable[[np.ndarray, int], Labels]] = {
    "auto": auto,
    "silhouette": silhouette,
    "gap": gap,
    "X-means": x_means,
    "HDBSCAN": hdbscan,
}
TITLES = {
    "auto": "CoHiRF()",
    "silhouette": "silhouette of K-Means with 2 to 30 clusters",
    "gap": "gap statistic",
    "X-means": "X-means",
    "HDBSCAN": "HDBSCAN",
    TRUE: "CoHiRF(n_clusters=k) with the true number",
}
SHOWN = ("auto", "silhouette", "HDBSCAN", TRUE)  # the others take long, and no page has them


def true_number(X: np.ndarray, references: list[np.ndarray], seed: int) -> Labels:
    """Return the clusters for the number of classes of the reference that they fit best."""
    found = find_partitions(X, references, CoHiRF(random_state=seed))
    return max(found.values(), key=lambda labels: best_score(references, labels))


def best_score(references: list[np.ndarray], labels: Labels) -> float:
    return max(adjusted_rand_score(y[y > 0], labels[y > 0]) for y in references)


def data_sets(*, of_suite: bool) -> Iterator[tuple[str, np.ndarray, list[np.ndarray]]]:
    """Yield name, values and reference labels from 1."""
    if of_suite:
        yield from read_sets(DATA_FOLDER / "clustbench")
        return
    for name, X, y in all_sets():
        yield name, X, [np.unique(y, return_inverse=True)[1] + 1]
    for n_centres in (3, 6, 12, 20):
        X, y = make_blobs(MAX_ROWS, 10, centers=n_centres, cluster_std=2.0, random_state=n_centres)
        yield f"{n_centres} blobs", standardise(X), [y + 1]


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--sets", type=int, default=None)
    parser.add_argument("--ways", nargs="+", default=SHOWN, choices=[*WAYS, TRUE])
    parser.add_argument("--suite", action="store_true")
    parser.add_argument(
        "--rows", type=int, default=MAX_ROWS, help="of larger sets, a sample of so many rows"
    )
    add_write_option(parser)
    arguments = parse(parser, argv, seeds=1, sets=2)
    ways = arguments.ways
    warnings.simplefilter("ignore")
    figures: dict[str, list[tuple[bool, bool, float, float]]] = {name: [] for name in ways}
    table = Table({"data": "<24", "classes": ">9", **dict.fromkeys(ways, ">12")})
    with threadpool_limits(1):
        for name, X, references in islice(data_sets(of_suite=arguments.suite), arguments.sets):
            rows = np.sort(np.random.default_rng(0).permutation(len(X))[: arguments.rows])
            X = X[rows]
            references = [y[rows] for y in references]
            classes = sorted({count_classes(y) for y in references})
            numbers = {way: [] for way in ways}
            for seed in range(arguments.seeds):
                for way in ways:
                    started = time.process_time()
                    labels = true_number(X, references, seed) if way == TRUE else WAYS[way](X, seed)
                    seconds = time.process_time() - started
                    number = len(np.unique(labels[labels >= 0]))
                    numbers[way].append(number)
                    missed = min(abs(number - k) for k in classes)
                    figures[way].append(
                        (missed == 0, missed <= 1, best_score(references, labels), seconds)
                    )
            table.row(
                name,
                " ".join(map(str, classes)),
                *(" ".join(map(str, numbers[way])) for way in ways),
            )
    columns = {"fits": ">5", "right": ">6", "within one": ">11", "ARI": ">6.3f", "seconds": ">8.0f"}
    summary = Table({"way": "<45"} | columns)
    for way, of_way in figures.items():
        right, near, score, seconds = zip(*of_way, strict=True)
        summary.row(
            TITLES[way],
            str(len(of_way)),
            str(sum(right)),
            str(sum(near)),
            np.mean(score),
            sum(seconds),
        )
    summary.write(arguments.write, "choice_suite" if arguments.suite else "choice")


if __name__ == "__main__":
    main()
