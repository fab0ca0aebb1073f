"""How good is DBSCAN with the radius of `suggest_eps`, against the best radius of a grid?

Features are standardised, min_samples is 5. The grid has 40 radii in a geometric series between the
smallest and the largest distance of a row to its neighbour number five; the best one is chosen with
the true classes, which nobody has in practice. Noise counts as one cluster of the adjusted Rand
index.

    python -m benchmarks.quality.eps [--radii 40] [--rows 4000] [--write]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from sklearn.cluster import DBSCAN
from sklearn.metrics import adjusted_rand_score

from benchmarks._common import (
    BUNDLED,
    Table,
    add_write_option,
    make_parser,
    parse,
    read_file,
    standardise,
)
from cohirf import suggest_eps

NAMES = ("iris", "digits", "pendigits", "satimage", "chameleon-t4-8k")
MIN_SAMPLES = 5


def data_sets(n_rows: int) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, standardised rows and classes of each data set.

    Of large ones, some rows drawn at random.
    """
    for name in NAMES:
        if name in BUNDLED:
            X, y = BUNDLED[name](return_X_y=True)
            X = standardise(X)
        else:
            found = read_file(name)
            if found is None:
                continue
            X, y = found
        drawn = np.random.default_rng(0).permutation(len(X))[:n_rows]
        yield name, X[drawn], y[drawn]


def score(X: np.ndarray, y: np.ndarray, eps: float) -> tuple[float, int, float]:
    """Return the adjusted Rand index of DBSCAN, its number of clusters, and its share of noise
    rows.
    """
    labels = DBSCAN(eps=eps, min_samples=MIN_SAMPLES).fit_predict(X)
    return adjusted_rand_score(y, labels), int(labels.max()) + 1, float(np.mean(labels < 0))


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--radii", type=int, default=40)
    parser.add_argument("--rows", type=int, default=4000)
    add_write_option(parser)
    arguments = parse(parser, argv, radii=10, rows=500)
    of_one = {"eps": ">7.3f", "ARI": ">6.3f", "clusters": ">8d", "noise": ">6.0%"}
    columns = {"data set": "<16", "rows": ">6,d", "features": ">8d", "classes": ">7d"}
    columns |= {f"{mark}{name}": width for mark in ("", "best ") for name, width in of_one.items()}
    table = Table(columns)
    for name, X, y in data_sets(arguments.rows):
        suggestion = suggest_eps(X, MIN_SAMPLES, random_state=0)
        positive = suggestion.distances[suggestion.distances > 0]
        grid = np.geomspace(positive[0], positive[-1], arguments.radii)
        best = max((score(X, y, eps), eps) for eps in grid)
        found = score(X, y, suggestion.eps)
        table.row(name, *X.shape, len(np.unique(y)), suggestion.eps, *found, best[1], *best[0])
    table.write(arguments.write, "eps")


if __name__ == "__main__":
    main()
