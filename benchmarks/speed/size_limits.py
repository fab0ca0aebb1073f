"""How much longer does a fit take if all clusters are to have the same size?

50 features and 100 clusters of uneven sizes. Each line is a number of rows: processor time of a
fit without limits and of one with ``size_limits="balanced"``, the ratio of both, and the smallest
and the largest cluster of each. Start it with one thread of BLAS to use one core.

    OMP_NUM_THREADS=1 python -m benchmarks.speed.size_limits [--rows 200000 1000000] [--write]
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from benchmarks._common import Table, add_write_option, make_parser, parse, timed
from cohirf import CoHiRF

N_FEATURES = 50
N_CLUSTERS = 100


def draw_rows(n_rows: int) -> np.ndarray:
    """Return rows around centres, of which some have many more than others."""
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.full(N_CLUSTERS, 2.0))
    centres = 1.5 * rng.normal(size=(N_CLUSTERS, N_FEATURES))
    X: np.ndarray = rng.normal(size=(n_rows, N_FEATURES))
    X += centres[rng.choice(N_CLUSTERS, n_rows, p=shares)]
    return X


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[200_000, 1_000_000])
    add_write_option(parser)
    arguments = parse(parser, argv, rows=[20_000])
    columns = {"rows": ">9,", "without": ">7.1f", "balanced": ">7.1f", "ratio": ">5.2f"}
    table = Table(columns | {"sizes without": ">14", "sizes balanced": ">14"})
    for n_rows in arguments.rows:
        X = draw_rows(n_rows)
        found = []
        for limits in (None, "balanced"):
            model = CoHiRF(n_clusters=N_CLUSTERS, size_limits=limits, random_state=0)
            seconds, fitted = timed(partial(model.fit, X))
            sizes = np.bincount(fitted.labels_, minlength=N_CLUSTERS)
            found.append((seconds, f"{sizes.min()} to {sizes.max()}"))
        (free, of_free), (balanced, of_balanced) = found
        table.row(n_rows, free, balanced, balanced / free, of_free, of_balanced)
    table.write(arguments.write, "size_limits")


if __name__ == "__main__":
    main()
