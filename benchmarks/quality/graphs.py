"""What are clusters and their number worth on a neighbour graph alone, without the coordinates?

    python -m benchmarks.quality.graphs [--first 0] [--sets 20] [--jobs 1] [--write]

The sets of rules.py, and of each the graph of its fifteen nearest neighbours with distances, as
scikit-learn's ``kneighbors_graph`` writes it. For each group of sets: the mean adjusted Rand index
(ARI) of ``CoHiRF(n_clusters=k, metric="precomputed")`` on the graph and of ``CoHiRF(n_clusters=k)``
on the rows; and for ``CoHiRF(metric="precomputed")`` without a number the ARI, and how often the
number is right or differs by one, with several weights of the normalised cut; in the last row, each
group has the weight that is best for the mean of the other groups. If there are several references,
the best one counts. Files that are not there are left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from unittest.mock import patch

import numpy as np
from sklearn.neighbors import kneighbors_graph
from threadpoolctl import threadpool_limits

from benchmarks._common import parse, show_table
from benchmarks.quality.clustbench import count_classes
from benchmarks.quality.rules import (
    count_groups,
    judge,
    make_sets_parser,
    mean_by_group,
    measure_sets,
    score,
)
from cohirf import CoHiRF
from cohirf.graphs import merging

N_NEIGHBORS = 15
CUTS = (0.0, 1.0, 2.0, 3.0, 4.0, 6.0)


@dataclass(frozen=True)
class Measured:
    """What is known of a set."""

    group: str
    on_graph: float
    on_rows: float
    of_cuts: list[tuple[bool, float]]  # for each weight: is the number right or nearly so, ARI


def measure(group: str, X: np.ndarray, references: list[np.ndarray]) -> Measured:
    """Measure a set; may run in a process of its own."""
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        graph = kneighbors_graph(X, N_NEIGHBORS, mode="distance")
        on_graph = []
        on_rows = []
        for y in references:
            k = count_classes(y)
            of_graph = CoHiRF(n_clusters=k, metric="precomputed", random_state=0).fit_predict(graph)
            on_graph.append(score(y, of_graph))
            on_rows.append(score(y, CoHiRF(n_clusters=k, random_state=0).fit_predict(X)))
        of_cuts = []
        for cut in CUTS:
            with patch.object(merging, "NUMBER", replace(merging.NUMBER, cut=cut)):
                found = CoHiRF(metric="precomputed", random_state=0).fit_predict(graph)
            of_cuts.append(judge(references, found))
    return Measured(group, max(on_graph), max(on_rows), of_cuts)


def choose_on_others(figures: np.ndarray) -> list[int]:
    """Return, for each group, the row whose mean over the other groups is the largest.

    >>> choose_on_others(np.array([[0.9, 0.1, 0.5], [0.2, 0.8, 0.6]]))
    [1, 0, 0]
    """
    return [
        int(np.delete(figures, group, axis=1).sum(axis=1).argmax())
        for group in range(figures.shape[1])
    ]


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_sets_parser(__doc__, n_sets=20)
    arguments = parse(parser, argv, sets=2)
    measured = measure_sets(measure, arguments)
    of_sets = [each.group for each in measured]
    means = partial(mean_by_group, of_sets)
    counts = [f"{name} ({count})" for name, count in count_groups(of_sets).items()]
    given = {
        "k given, on the graph": [each.on_graph for each in measured],
        "k given, on the rows": [each.on_rows for each in measured],
    }
    cells = [[name, *map("{:.3f}".format, means(values))] for name, values in given.items()]
    rated = []
    for place, cut in enumerate(CUTS):
        near = means([each.of_cuts[place][0] for each in measured])
        ari = means([each.of_cuts[place][1] for each in measured])
        figures = [f"{a:.3f}, {n:.0%}" for a, n in zip(ari, near, strict=True)]
        cells.append([f"number chosen, weight of the cut {cut:g}", *figures])
        rated.append(ari)
    chosen = choose_on_others(np.array(rated))
    figures = [
        f"{rated[place][group]:.3f}, weight {CUTS[place]:g}" for group, place in enumerate(chosen)
    ]
    cells.append(["number chosen, weight chosen on the other groups", *figures])
    show_table(
        arguments.write, "graphs", [["ARI, number right or differs by one", *counts], *cells]
    )


if __name__ == "__main__":
    main()
