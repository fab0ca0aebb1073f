"""How many iterations does the K-Means of the default need where there are many clusters?

    python -m benchmarks.quality.quick_iterations [--sets 60] [--seeds 2] [--jobs 1] [--write]

Sets with more than 16 clusters, so that each view seeks more than 64: those of the public suite and
of the real data in COHIRF_DATA, and random mixtures of 17 to 150 clusters with 20,000 rows, as
``held_out.py`` draws them. Each is fitted with several numbers of iterations. The table has the mean
adjusted Rand index, the difference to ten iterations with its standard error, on the sets of even
numbers, on which the number was chosen, and of odd ones, which were kept unseen, and the processor
time of all fits.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from unittest.mock import patch

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from benchmarks._common import (
    DATA_FOLDER,
    add_write_option,
    make_parser,
    parse,
    real_data_sets,
    say_difference,
    show_table,
)
from benchmarks.quality.clustbench import read_sets
from benchmarks.quality.held_out import draw_set
from cohirf import CoHiRF
from cohirf.fitting import quick_k_means
from cohirf.fitting.policy import QUICK

ITERATIONS = (1, 2, 3, 5, 10)
FEWEST = QUICK.few_centres // 4 + 1  # clusters: a view seeks four times as many
MOST = 150
N_ROWS = 20_000

Set = tuple[np.ndarray, np.ndarray]  # rows and classes


def sets_with_many_clusters(n_sets: int) -> Iterator[Set]:
    """Yield those of the suite, real ones, and ``n_sets`` random ones."""
    found = [(X, references[0]) for _, X, references in read_sets(DATA_FOLDER / "clustbench")]
    found += [(X, y) for _, X, y in real_data_sets()]
    for X, y in found:
        if len(np.unique(y)) >= FEWEST:
            yield X, y
    for seed in range(n_sets):
        yield draw_set(np.random.default_rng(seed), N_ROWS, FEWEST, MOST)


def score(X: np.ndarray, y: np.ndarray, n_seeds: int) -> list[tuple[float, float]]:
    """Return the mean index and the processor time with each number of iterations; may run in a
    process of its own.
    """
    warnings.simplefilter("ignore")
    return [_score_with(number, X, y, n_seeds) for number in ITERATIONS]


def _score_with(number: int, X: np.ndarray, y: np.ndarray, n_seeds: int) -> tuple[float, float]:
    k = len(np.unique(y))
    found = []
    begin = time.process_time()
    policy = replace(QUICK, iterations_of_many=number)
    with threadpool_limits(1), patch.object(quick_k_means, "QUICK", policy):
        for seed in range(n_seeds):
            labels = CoHiRF(n_clusters=k, random_state=seed).fit_predict(X)
            found.append(adjusted_rand_score(y, labels))
    return float(np.mean(found)), time.process_time() - begin


def summarize(found: np.ndarray) -> list[list[str]]:
    """Return the table of indices and times: sets x numbers of iterations x 2."""
    scores, seconds = found[:, :, 0], found[:, :, 1].sum(axis=0)
    cells = [["iterations", "mean ARI", "to ten", "chosen on", "kept unseen", "processor time, s"]]
    for i, number in enumerate(ITERATIONS):
        gains = scores[:, i] - scores[:, -1]
        differences = ["-"] * 3
        if number != ITERATIONS[-1]:
            differences = [say_difference(of) for of in (gains, gains[::2], gains[1::2])]
        cells.append([str(number), f"{scores[:, i].mean():.3f}", *differences, f"{seconds[i]:.0f}"])
    return cells


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--sets", type=int, default=60, help="random ones")
    parser.add_argument("--seeds", type=int, default=2, help="fits of each set")
    parser.add_argument("--jobs", type=int, default=1)
    add_write_option(parser)
    arguments = parse(parser, argv, sets=4, seeds=1)
    sets = list(sets_with_many_clusters(arguments.sets))
    print(len(sets), "sets")
    run = Parallel(arguments.jobs, batch_size=1)
    found = run(delayed(score)(X, y, arguments.seeds) for X, y in sets)
    show_table(arguments.write, "quick_iterations", summarize(np.array(found)))


if __name__ == "__main__":
    main()
