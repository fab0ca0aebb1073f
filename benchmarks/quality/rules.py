"""Do the weights hold by which merge and number of clusters are chosen, on sets that had no part in
their choice?

    python -m benchmarks.quality.rules [--first 0] [--sets 60] [--jobs 1] [--write]

Six groups of sets: those of ``clustbench.py``, the real ones of ``answers.py``, and random ones,
which are drawn here: mixtures of round and stretched clusters, some with a column of zeros and
ones; mixtures that overlap; shapes in the plane, some in noise; and round clusters that are apart,
some of them much nearer to each other than to others. The weights were chosen on the first two
groups, on tables that are not part of this repository, and on random sets that were drawn in the
same way with other random numbers. ``--first`` is the seed of the first random set.

First, with the true number of clusters: the mean adjusted Rand index (ARI) of K-Means with ten
starts, of each merge alone, of the merge that the package takes, of weights that were chosen on the
other sets (five-fold cross-validation over data sets: the weights with the highest mean over the
groups), and of the best of the three merges in each set. Then, without the number: the ARI, and how
often the number is right or differs by one, of ``CoHiRF()``, of K-Means with the highest
silhouette, and of HDBSCAN. Files that are not there are left out.
"""

from __future__ import annotations

import warnings
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score, silhouette_score
from threadpoolctl import threadpool_limits

from benchmarks._common import (
    DATA_FOLDER,
    add_write_option,
    all_sets,
    make_parser,
    parse,
    show_table,
    standardise,
)
from benchmarks.quality.clustbench import count_classes, read_sets
from cohirf import CoHiRF
from cohirf.beyond.choose_merge import MERGES, ComparedSample, weighted_ari
from cohirf.beyond.neighbour_graph import count_graph_rows
from cohirf.beyond.policy import MERGE

N_ROWS = 900
MOST_ROWS = 3000  # of a real set
LARGEST = 20  # number of clusters that K-Means is tried with
N_FOLDS = 5
# Weights of modularity, agreement, connection and valley, and the lead of compact clusters
WEIGHTS = (0.0, 0.1, 0.2, 0.5)
GRID = list(product(*[WEIGHTS] * 4, (0.0, 0.01, 0.02)))
# Titles of methods that choose the number, and where a measured set has their figures
AUTOMATIC = {
    "CoHiRF()": "auto",
    "K-Means, highest silhouette": "by_silhouette",
    "HDBSCAN": "hdbscan",
}
Set = tuple[str, np.ndarray, list[np.ndarray]]  # group, values, references


def draw_mixture(seed: int) -> Set:
    """Draw 3 to 12 clusters of unequal sizes and widths in 2 to 20 features, some with a column of
    zeros and ones.
    """
    rng = np.random.default_rng([1, seed])
    n_features = int(rng.integers(2, 21))
    k = int(rng.integers(3, 13))
    y = rng.choice(k, N_ROWS, p=rng.dirichlet(np.full(k, 3.0)))
    spread = 2.2 if seed % 2 else 2.2 * np.sqrt(4 / max(n_features, 4))
    noise = rng.normal(size=(N_ROWS, n_features))
    if seed % 4 > 1:
        noise = noise * np.exp(rng.uniform(0.2, 0.7) * rng.normal(size=(k, n_features)))[y]
    X = (spread * rng.normal(size=(k, n_features)))[y] + rng.uniform(0.4, 1, k)[y, None] * noise
    if seed % 5 == 0:
        X = np.column_stack([X, rng.random(N_ROWS) < 0.5])
    return "mixtures", standardise(X), [y + 1]


def draw_overlapping(seed: int) -> Set:
    """Draw 3 to 8 clusters in 2 to 6 features, so near each other that no method finds more than
    most of them.
    """
    rng = np.random.default_rng([2, seed])
    n_features = int(rng.integers(2, 7))
    k = int(rng.integers(3, 9))
    y = rng.choice(k, N_ROWS, p=rng.dirichlet(np.full(k, 4.0)))
    noise = rng.normal(size=(N_ROWS, n_features))
    if seed % 2:
        noise = noise * np.exp(rng.uniform(0.2, 0.6) * rng.normal(size=(k, n_features)))[y]
    centres = rng.uniform(1.0, 2.0) * rng.normal(size=(k, n_features))
    return "overlapping", standardise(centres[y] + rng.uniform(0.4, 1, k)[y, None] * noise), [y + 1]


def draw_shape(rng: np.random.Generator, n_rows: int) -> np.ndarray:
    """Draw a blob, ring, arc, bar, spiral or square around the origin, turned at random."""
    kind = rng.choice(["blob", "ring", "arc", "bar", "spiral", "square"])
    along = rng.random(n_rows)
    points = rng.uniform(0.03, 0.12) * rng.normal(size=(n_rows, 2))
    if kind == "blob":
        points = 0.35 * rng.normal(size=(n_rows, 2)) * np.exp(0.4 * rng.normal(size=2))
    elif kind == "square":
        points = rng.uniform(-0.7, 0.7, (n_rows, 2))
    elif kind == "bar":
        points[:, 0] += 2.4 * (along - 0.5)
    elif kind == "spiral":
        turn = 0.5 + 2.4 * np.pi * np.sqrt(along)
        points = points / 2 + np.column_stack([np.cos(turn), np.sin(turn)]) * turn[:, None] / 8
    else:
        turn = (2 if kind == "ring" else 1) * np.pi * along
        points = points + np.column_stack([np.cos(turn), np.sin(turn)])
    angle = rng.uniform(0, 2 * np.pi)
    turned = points @ np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return rng.uniform(0.5, 1.5) * turned


def draw_shapes(seed: int) -> Set:
    """Draw 2 to 7 shapes with gaps between them; every third set has five per cent of noise."""
    rng = np.random.default_rng([3, seed])
    n_shapes = int(rng.integers(2, 8))
    placed: list[np.ndarray] = []
    while len(placed) < 2:
        placed = []
        for _ in range(n_shapes):
            points = draw_shape(rng, int(rng.integers(60, 400)))
            for _ in range(60):
                moved = points + rng.uniform(-1.3, 1.3, 2) * np.sqrt(n_shapes)
                gaps = [
                    np.sqrt(((moved[::5, None] - other[::5]) ** 2).sum(axis=-1)).min()
                    for other in placed
                ]
                if min(gaps, default=np.inf) > rng.uniform(0.12, 0.4):
                    placed.append(moved)
                    break
    X = np.concatenate(placed)
    y = np.repeat(np.arange(len(placed)) + 1, [len(points) for points in placed])
    if seed % 3 == 0:
        n_noise = len(X) // 20
        X = np.concatenate([X, rng.uniform(X.min(axis=0), X.max(axis=0), (n_noise, 2))])
        y = np.append(y, np.zeros(n_noise, dtype=int))
    return "shapes", (X - X.mean(axis=0)) / X.std(), [y]


def draw_apart(seed: int) -> Set:
    """Draw 3 to 12 round clusters in 2 to 8 features, with centres at least 5 to 8 standard
    deviations apart, in a box of 3 to 8 times that width.
    """
    rng = np.random.default_rng([4, seed])
    k = int(rng.integers(3, 13))
    n_features = int(rng.integers(2, 9))
    n_rows = int(rng.integers(300, 2000))
    gap = rng.uniform(5, 8)
    width = rng.uniform(3, 8) * gap
    centres: list[np.ndarray] = []
    while len(centres) < k:
        centre = rng.uniform(0, width, n_features)
        if all(np.linalg.norm(centre - other) >= gap for other in centres):
            centres.append(centre)
        else:
            width *= 1.01
    y = rng.choice(k, n_rows, p=rng.dirichlet(np.full(k, 5.0)))
    X = np.array(centres)[y] + rng.normal(size=(n_rows, n_features))
    return "apart", standardise(X), [y + 1]


def read_groups(first: int, n_sets: int) -> Iterator[Set]:
    """Yield all sets."""
    for _, X, references in read_sets(DATA_FOLDER / "clustbench"):
        yield "suite", X, references
    for _, X, y in all_sets():
        rows = np.sort(np.random.default_rng(0).permutation(len(X))[:MOST_ROWS])
        yield "real", X[rows], [np.unique(y, return_inverse=True)[1][rows] + 1]
    for seed in range(first, first + n_sets):
        yield draw_mixture(seed)
        yield draw_overlapping(seed)
        yield draw_shapes(seed)
        yield draw_apart(seed)


@dataclass(frozen=True)
class Measured:
    """What is known of a set.

    Arrays have a row for each number of clusters, and a column for each merge.
    """

    group: str
    figures: np.ndarray  # of the last axis: cut, modularity, agreement, connection and valley
    ari: np.ndarray
    k_means: float
    auto: tuple[bool, float]  # whether the number is right or nearly so, and the ARI
    by_silhouette: tuple[bool, float]
    hdbscan: tuple[bool, float]

    def take(self, weights: Sequence[float]) -> float:
        """Return the ARI of the merge that has the highest score by some weights.

        Of several numbers, the best.
        """
        *of_figures, lead = weights
        scores = self.figures @ np.array([-1.0, *of_figures])
        scores[:, 0] += lead
        return float(self.ari[np.arange(len(scores)), scores.argmax(axis=1)].max())


def score(y: np.ndarray, labels: np.ndarray) -> float:
    return float(adjusted_rand_score(y[y > 0], labels[y > 0]))


def judge(references: list[np.ndarray], labels: np.ndarray) -> tuple[bool, float]:
    """Return whether the number of clusters is right or differs by one, and the ARI, for the best
    reference.
    """
    n_found = len(np.unique(labels[labels >= 0]))
    is_near = min(abs(n_found - count_classes(y)) for y in references) <= 1
    return is_near, max(score(y, labels) for y in references)


def measure(group: str, X: np.ndarray, references: list[np.ndarray]) -> Measured:
    """Measure a set; may run in a process of its own."""
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        rng = np.random.default_rng(0)
        rows = np.sort(rng.permutation(len(X))[: count_graph_rows(X.shape[1])])
        sample = ComparedSample(X[rows], np.ones(len(rows)))
        figures = []
        scores = []
        k_means = []
        for k in sorted({count_classes(y) for y in references}):
            compact = CoHiRF(n_clusters=k, merge="compact", random_state=0).fit_predict(X)[rows]
            divisions = [compact, *(sample.divide(merge, [k])[0] for merge in MERGES[1:])]
            found = sample.measure(divisions)
            agreement = [
                np.mean([weighted_ari(labels, other) for other in divisions if other is not labels])
                for labels in divisions
            ]
            of_points = np.stack([labels[sample.graph.first_row] for labels in divisions])
            valleys = sample.graph.valleys(of_points)
            figures.append(
                np.column_stack([found.cut, found.modularity, agreement, found.connection, valleys])
            )
            of_number = [y for y in references if count_classes(y) == k]
            scores.append([max(score(y[rows], labels) for y in of_number) for labels in divisions])
            labels = KMeans(k, n_init=10, random_state=0).fit_predict(X)
            k_means.append(max(score(y, labels) for y in of_number))
        candidates = [
            KMeans(k, n_init=3, random_state=0).fit_predict(X) for k in range(2, LARGEST + 1)
        ]
        few = np.sort(rng.permutation(len(X))[:1000])
        best = max(candidates, key=lambda labels: silhouette_score(X[few], labels[few]))
        return Measured(
            group=group,
            figures=np.array(figures),
            ari=np.array(scores),
            k_means=max(k_means),
            auto=judge(references, CoHiRF(random_state=0).fit_predict(X)),
            by_silhouette=judge(references, best),
            hdbscan=judge(references, HDBSCAN(min_cluster_size=15, copy=True).fit_predict(X)),
        )


def cross_validate(measured: list[Measured], groups: list[str]) -> list[float]:
    """Return the ARI of each set by the weights that are best on the sets of other folds."""
    of_weights = np.array([[each.take(weights) for each in measured] for weights in GRID])
    group = np.array([each.group for each in measured])
    fold = np.random.default_rng(0).integers(N_FOLDS, size=len(measured))
    taken = np.empty(len(measured))
    for number in range(N_FOLDS):
        others = fold != number
        means = [of_weights[:, others & (group == name)].mean(axis=1) for name in groups]
        taken[~others] = of_weights[np.mean(means, axis=0).argmax(), ~others]
    return taken.tolist()


def make_sets_parser(description: str | None, n_sets: int) -> ArgumentParser:
    """Return a parser of which sets are measured, in how many processes."""
    parser = make_parser(description)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--sets", type=int, default=n_sets)
    parser.add_argument("--jobs", type=int, default=1)
    add_write_option(parser)
    return parser


def measure_sets(measure: Callable[..., Any], arguments: Namespace) -> list[Any]:
    """Return what a function measures of each set; it may run in other processes."""
    sets = list(read_groups(arguments.first, arguments.sets))
    return list(Parallel(arguments.jobs)(delayed(measure)(*each) for each in sets))


def count_groups(groups: Sequence[str]) -> dict[str, int]:
    """Return the number of sets of each group, in the order of the first ones."""
    return dict(Counter(groups))


def mean_by_group(groups: Sequence[str], values: Sequence[float]) -> list[float]:
    """Return the mean of the values of the sets of each group, in the order of the first ones."""
    return [
        float(np.mean([value for value, own in zip(values, groups, strict=True) if own == group]))
        for group in count_groups(groups)
    ]


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_sets_parser(__doc__, n_sets=60)
    arguments = parse(parser, argv, sets=2)
    measured = measure_sets(measure, arguments)
    of_sets = [each.group for each in measured]
    means = partial(mean_by_group, of_sets)
    rule = (*[MERGE.weight] * 4, MERGE.lead)
    given = {
        "K-Means, ten starts": [each.k_means for each in measured],
        **{
            merge: [float(each.ari[:, place].max()) for each in measured]
            for place, merge in enumerate(MERGES)
        },
        "the merge that is taken": [each.take(rule) for each in measured],
        "weights cross-validated over sets": cross_validate(measured, list(count_groups(of_sets))),
        "the best in each set": [float(each.ari.max()) for each in measured],
    }
    counts = [f"{name} ({count})" for name, count in count_groups(of_sets).items()]
    cells = [[name, *map("{:.3f}".format, means(values))] for name, values in given.items()]
    show_table(arguments.write, "rules", [["ARI, k given", *counts], *cells])
    cells = []
    for name, field in AUTOMATIC.items():
        near = means([getattr(each, field)[0] for each in measured])
        ari = means([getattr(each, field)[1] for each in measured])
        cells.append([name, *(f"{a:.3f}, {n:.0%}" for a, n in zip(ari, near, strict=True))])
    show_table(
        arguments.write, "rules_number", [["ARI, number right or differs by one", *counts], *cells]
    )


if __name__ == "__main__":
    main()
