"""Do the defaults gain on data that had no part in the choice of their rules?

    python -m benchmarks.quality.held_out [--sets 40] [--seed 1] [--jobs 1]

Random mixtures of normal clusters: 3 to 15 clusters of unequal sizes, 2 to 30 features, clusters of unequal widths that
are round or long, and that overlap more or less; 1,000 rows each, standardised. For each set, the adjusted Rand index
of K-Means with ten starts, of Ward's method, and of ``CoHiRF(n_clusters=k)``, all with the true number of clusters; and
of ``CoHiRF()`` and of K-Means with the number that has the highest silhouette, which are not told it. Means over the
sets, and differences with their standard errors. No rule of this package was chosen on these sets. They are drawn here,
so no file is needed; ``--jobs`` processes take one set each.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.metrics import adjusted_rand_score, silhouette_score
from threadpoolctl import threadpool_limits

from benchmarks._common import Table, make_parser, parse, print_markdown, standardise
from cohirf import CoHiRF

N_ROWS = 1000
FEWEST, MOST = 3, 15  # clusters


def draw_set(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw a mixture."""
    k, n_features = int(rng.integers(FEWEST, MOST + 1)), int(rng.integers(2, 31))
    y = np.sort(rng.choice(k, N_ROWS, p=rng.dirichlet(np.full(k, 3.0))))
    centres = rng.normal(size=(k, n_features)) * rng.uniform(1.0, 4.0) * np.sqrt(4 / n_features)
    widths = rng.uniform(0.5, 1.5, k)
    stretch = np.exp(rng.uniform(0, 0.8) * rng.normal(size=(k, n_features)))
    return standardise(centres[y] + widths[y, None] * stretch[y] * rng.normal(size=(N_ROWS, n_features))), y


def by_silhouette(X: np.ndarray, seed: int) -> np.ndarray:
    """Return the labels of K-Means with the number of clusters whose silhouette is highest."""
    candidates = [KMeans(k, n_init=3, random_state=seed).fit_predict(X) for k in range(2, 21)]
    return max(candidates, key=lambda labels: silhouette_score(X, labels))


def score(X: np.ndarray, y: np.ndarray, seed: int) -> list[float]:
    """Return the adjusted Rand index of each method; may run in a process of its own."""
    warnings.simplefilter("ignore")
    k = len(np.unique(y))
    methods: list[Any] = [
        KMeans(k, n_init=10, random_state=seed),
        AgglomerativeClustering(k),
        CoHiRF(n_clusters=k, random_state=seed),
        CoHiRF(random_state=seed),
    ]
    with threadpool_limits(1):
        labels = [method.fit_predict(X) for method in methods]
        return [adjusted_rand_score(y, found) for found in (*labels, by_silhouette(X, seed))]


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--sets", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parse(parser, argv, sets=5)
    rng, names = np.random.default_rng(arguments.seed), ["K-Means, ten starts", "Ward", "CoHiRF(n_clusters=k)"]
    names += ["CoHiRF()", "K-Means, number by silhouette"]
    run, table = Parallel(arguments.jobs, return_as="generator"), Table({"set": ">3"} | dict.fromkeys(names, ">.3f"))
    scores = []
    for found_in_set in run(delayed(score)(*draw_set(rng), seed) for seed in range(arguments.sets)):
        table.row(len(scores), *found_in_set)
        scores.append(found_in_set)
    found = np.array(scores)
    print_markdown(
        ["method", "mean ARI"], [[name, f"{mean:.3f}"] for name, mean in zip(names, found.mean(0), strict=True)]
    )
    pairs = [(2, 0), (2, 1), (3, 4)]
    rows = [[f"{names[one]} - {names[other]}", say_difference(found[:, one] - found[:, other])] for one, other in pairs]
    print_markdown(["difference", "mean"], rows)


def say_difference(values: np.ndarray) -> str:
    return f"{values.mean():+.3f} ± {values.std(ddof=1) / np.sqrt(len(values)):.3f}"


if __name__ == "__main__":
    main()
