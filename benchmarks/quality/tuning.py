"""Does a search for parameters by the silhouette find better clusters than the defaults?

    python -m benchmarks.quality.tuning [--trials 20] [--write]

The four data sets that scikit-learn brings, standardised. ``tune(CoHiRF(), X)`` maximises the
silhouette; its first trial has the defaults, with the number of clusters that ``CoHiRF()`` chooses.
For the first trial and for the best of all: the silhouette, the number of clusters, and the
adjusted Rand index (ARI) with the classes, which the search does not know.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from experiments.tuning import tune
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from benchmarks._common import BUNDLED, Table, add_write_option, make_parser, parse, standardise
from cohirf import CoHiRF


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--trials", type=int, default=20)
    add_write_option(parser)
    arguments = parse(parser, argv, trials=2)
    warnings.simplefilter("ignore")  # of numbers of clusters at the edge of their range
    figures = {"silhouette": ">10.4f", "clusters": ">8", "ARI": ">6.2f"}
    table = Table({"data set": "<14", "trials": ">6"} | figures)
    for name, load in BUNDLED.items():
        X, y = load(return_X_y=True)
        X = standardise(X)
        for n_trials in (1, arguments.trials):
            with threadpool_limits(1):
                found = tune(CoHiRF(), X, n_trials=n_trials)
            model = found.best_estimator
            table.row(
                name,
                n_trials,
                found.best_score,
                model.n_clusters_,
                adjusted_rand_score(y, model.labels_),
            )
    table.write(arguments.write, "tuning")


if __name__ == "__main__":
    main()
