"""Do the defaults gain on data that had no part in the choice of their rules?

    python -m benchmarks.quality.held_out [--draws 1 2 3] [--sets 50] [--jobs 1] [--write]
    python -m benchmarks.quality.held_out --number               the number of clusters is not given

Random mixtures of normal clusters: 3 to 15 clusters of unequal sizes, 2 to 30 features, clusters of
unequal widths that are round or long, and that overlap more or less; 1,000 rows each, standardised.
For each set, the adjusted Rand index (ARI) of several methods with the true number of clusters;
with ``--number``, of ``CoHiRF()`` and of K-Means with the number that has the highest silhouette,
which are not told it. Means over all sets of all ``--draws``, which are seeds, and differences with
their standard errors; then the difference of each draw. No rule of this package was chosen on these
sets. They are drawn here, so no file is needed; ``--jobs`` processes take one set each.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.metrics import adjusted_rand_score, silhouette_score
from threadpoolctl import threadpool_limits

from benchmarks._common import (
    Table,
    add_write_option,
    make_parser,
    parse,
    say_difference,
    show_table,
    standardise,
)
from cohirf import CoHiRF

N_ROWS = 1000
# clusters
FEWEST = 3
MOST = 15


def draw_set(
    rng: np.random.Generator, n_rows: int = N_ROWS, fewest: int = FEWEST, most: int = MOST
) -> tuple[np.ndarray, np.ndarray]:
    """Draw a mixture of ``fewest`` to ``most`` clusters."""
    k = int(rng.integers(fewest, most + 1))
    n_features = int(rng.integers(2, 31))
    y = np.sort(rng.choice(k, n_rows, p=rng.dirichlet(np.full(k, 3.0))))
    centres = rng.normal(size=(k, n_features)) * rng.uniform(1.0, 4.0) * np.sqrt(4 / n_features)
    widths = rng.uniform(0.5, 1.5, k)
    stretch = np.exp(rng.uniform(0, 0.8) * rng.normal(size=(k, n_features)))
    return standardise(
        centres[y] + widths[y, None] * stretch[y] * rng.normal(size=(n_rows, n_features))
    ), y


def by_silhouette(X: np.ndarray, seed: int) -> np.ndarray:
    """Return the labels of K-Means with the number of clusters whose silhouette is highest."""
    candidates = [KMeans(k, n_init=3, random_state=seed).fit_predict(X) for k in range(2, 21)]
    return max(candidates, key=lambda labels: silhouette_score(X, labels))


Method = Callable[[np.ndarray, int, int], Any]  # of rows, number of clusters and seed
OURS = "CoHiRF(n_clusters=k)"
OURS_ALONE = "CoHiRF()"
GIVEN: dict[str, Method] = {
    OURS: lambda X, k, seed: CoHiRF(n_clusters=k, random_state=seed).fit_predict(X),
    "K-Means, one start": lambda X, k, seed: KMeans(k, n_init=1, random_state=seed).fit_predict(X),
    "K-Means, ten starts": lambda X, k, seed: KMeans(k, n_init=10, random_state=seed).fit_predict(
        X
    ),
    "Ward": lambda X, k, seed: AgglomerativeClustering(k).fit_predict(X),
}
FOUND: dict[str, Method] = {
    OURS_ALONE: lambda X, k, seed: CoHiRF(random_state=seed).fit_predict(X),
    "K-Means, number by silhouette": lambda X, k, seed: by_silhouette(X, seed),
}


def score(methods: dict[str, Method], X: np.ndarray, y: np.ndarray, seed: int) -> list[float]:
    """Return the adjusted Rand index of each method; may run in a process of its own."""
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        return [
            adjusted_rand_score(y, method(X, len(np.unique(y)), seed))
            for method in methods.values()
        ]


def score_draw(
    methods: dict[str, Method], draw: int, n_sets: int, n_jobs: int, table: Table
) -> np.ndarray:
    """Print the scores of the sets of one draw, and return them."""
    rng = np.random.default_rng(draw)
    run = Parallel(n_jobs, return_as="generator")
    scores = []
    for found in run(delayed(score)(methods, *draw_set(rng), seed) for seed in range(n_sets)):
        table.row(draw, len(scores), *found)
        scores.append(found)
    return np.array(scores)


def summarize(names: Sequence[str], by_draw: dict[int, np.ndarray]) -> list[list[str]]:
    """Return a table: the mean of each method, our difference to it, and that of each draw.

    We are the first.
    """
    found = np.concatenate([*by_draw.values()])
    cells = [
        [
            "method",
            "sets",
            "mean ARI",
            f"{names[0]} - method",
            *(f"draw {draw}" for draw in by_draw),
        ]
    ]
    for i, name in enumerate(names):
        gains = [
            say_difference(of[:, 0] - of[:, i]) if i else "-" for of in (found, *by_draw.values())
        ]
        cells.append([name, str(len(found)), f"{found[:, i].mean():.3f}", *gains])
    return cells


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--draws", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--sets", type=int, default=50, help="of each draw")
    parser.add_argument("--number", action="store_true", help="do not give the number of clusters")
    parser.add_argument("--jobs", type=int, default=1)
    add_write_option(parser)
    arguments = parse(parser, argv, draws=[1], sets=5)
    methods = FOUND if arguments.number else GIVEN
    table = Table({"draw": ">4", "set": ">3"} | {name: f">{len(name)}.3f" for name in methods})
    by_draw = {
        draw: score_draw(methods, draw, arguments.sets, arguments.jobs, table)
        for draw in arguments.draws
    }
    file = "held_out_number" if arguments.number else "held_out"
    show_table(arguments.write, file, summarize(list(methods), by_draw))


if __name__ == "__main__":
    main()
