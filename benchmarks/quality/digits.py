"""How good are the clusters of the digits on the front page, over many seeds?

    python -m benchmarks.quality.digits [--seeds 20] [--write]

The 1,797 images of handwritten digits that scikit-learn brings, as they are, in ten clusters. For
each method: the adjusted Rand index (ARI) with the true digits of seed 0, which the front page
shows, and mean, lowest and highest of all seeds; the mean ARI between two seeds; and the share of
images that have the most frequent digit of their cluster, for seed 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix
from threadpoolctl import threadpool_limits

from benchmarks._common import Table, add_write_option, make_parser, parse
from cohirf import CoHiRF

METHODS: dict[str, Callable[[int], Any]] = {
    "CoHiRF(n_clusters=10)": lambda seed: CoHiRF(n_clusters=10, random_state=seed),
    "K-Means, one start": lambda seed: KMeans(10, n_init=1, random_state=seed),
    "K-Means, ten starts": lambda seed: KMeans(10, n_init=10, random_state=seed),
    "Ward": lambda seed: AgglomerativeClustering(10),
}


def share_of_majority(y: np.ndarray, labels: np.ndarray) -> float:
    """Return the share of rows that are of the most frequent class of their cluster."""
    return contingency_matrix(y, labels).max(axis=0).sum() / len(y)


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    add_write_option(parser)
    arguments = parse(parser, argv, seeds=2)
    X, y = load_digits(return_X_y=True)
    of_seeds = dict.fromkeys(("seed 0", "mean", "lowest", "highest", "between seeds"), ">13.3f")
    table = Table({"method": "<22"} | of_seeds | {"majority": ">9.0%"})
    for name, make in METHODS.items():
        with threadpool_limits(1):
            found = [make(seed).fit_predict(X) for seed in range(arguments.seeds)]
        scores = [adjusted_rand_score(y, labels) for labels in found]
        between = np.mean([adjusted_rand_score(*pair) for pair in combinations(found, 2)])
        figures = (scores[0], np.mean(scores), min(scores), max(scores), between)
        table.row(name, *figures, share_of_majority(y, found[0]))
    table.write(arguments.write, "digits")


if __name__ == "__main__":
    main()
