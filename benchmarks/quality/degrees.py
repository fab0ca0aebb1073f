"""Are degrees of membership the shares of right classes, and do outlier scores find planted
outliers?

    python -m benchmarks.quality.degrees [--parts membership outliers new time] [--rows 4000]

*membership*: of the rows with a largest degree in a range, the share whose class is the most
frequent one of their cluster, in brackets the number of rows; the mean of the absolute differences
between degrees and shares over these ranges (ECE); and the adjusted Rand index with the classes.
Degrees can only be right where clusters match classes: look at rows with a high index.

*outliers*: the area under the ROC curve of ``outlier_scores_`` with two percent of outliers planted
in three ways, beside those of scikit-learn's LocalOutlierFactor and IsolationForest and hdbscan's
GLOSH. *box*: uniform between the minimum and the maximum of each feature; *moved*: rows of the data
plus normal noise of one standard deviation; *mixed*: each value from another row.

The formula of the score was chosen among three, and two constants of the membership among three
values each, on some of these data sets. Those marked *held out* had no part in that, and are the
fairer test.

*new*: the area under the ROC curve of ``score_outliers`` for rows that are not among those of the
fit: one half of the rows is fitted, and the same outliers are planted among the other half.
*around*: rows are compared with the landmarks around them, as usual if there are many; *all*: with
all landmarks. *higher*: by how much the first score is higher, on average over usual rows and over
outliers.

*time*: seconds of processor time to score a million rows in 20 features, over those of
IsolationForest; and those of LocalOutlierFactor and GLOSH, which compare all pairs of rows in so
many features, for a fiftieth of the rows.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs
from sklearn.ensemble import IsolationForest
from sklearn.metrics import adjusted_rand_score, roc_auc_score
from sklearn.neighbors import LocalOutlierFactor
from threadpoolctl import threadpool_limits

from benchmarks._common import (
    Table,
    add_write_option,
    make_parser,
    parse,
    read_file,
    standardise,
    timed,
)
from cohirf import CoHiRF
from cohirf.degrees import outliers

RANGES = (0.0, 0.6, 0.8, 0.95, 0.99, 1.0001)
FILES = ("pendigits", "satimage", "shuttle", "usps", "chameleon-t4-8k", "pbmc68k-reduced")
SMALL = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer, "digits": load_digits}
HELD_OUT = ("coil-20", *SMALL)  # their outliers had no part in the choice of the score
SHARE_OF_OUTLIERS = 0.02

Data = tuple[np.ndarray, np.ndarray]


def normals(n_rows: int, n_features: int, distance: float) -> Data:
    """Return four normal classes whose centres have the given distance, in standard deviations."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, n_rows)
    return rng.normal(size=(n_rows, n_features)) + distance / np.sqrt(2) * np.eye(4, n_features)[
        y
    ], y


def unequal_normals(n_rows: int, n_features: int, seed: int) -> Data:
    """Return five normal classes with unequal shares, spreads and distances, and features that
    depend on each other.
    """
    rng = np.random.default_rng(seed)
    y = rng.choice(5, n_rows, p=[0.4, 0.25, 0.2, 0.1, 0.05])
    mixing = np.eye(n_features) + 0.3 * rng.normal(size=(5, n_features, n_features)) / np.sqrt(
        n_features
    )
    noise = np.einsum("ij,ijk->ik", rng.normal(size=(n_rows, n_features)), mixing[y])
    centres = rng.normal(size=(5, n_features)) * 4.5 / np.sqrt(2 * n_features)
    return centres[y] + noise * rng.uniform(0.6, 1.2, size=5)[y, None], y


def load(name: str, n_rows: int) -> Data | None:
    """Return at most so many rows of a data set, standardised; None if it is not here."""
    if name in SMALL:
        X, y = SMALL[name](return_X_y=True)
        data = standardise(X), y
    else:
        data = read_file(name)
    if data is None:
        return None
    chosen = np.random.default_rng(0).permutation(len(data[0]))[:n_rows]
    return data[0][chosen], data[1][chosen]


def sets_with_classes(n_rows: int) -> Iterator[tuple[str, Data]]:
    for distance in (6, 5, 4, 3):
        yield f"normal, {distance} apart", normals(n_rows, 20, distance)
    for n_features in (5, 10, 40):
        yield f"held out, {n_features}", unequal_normals(n_rows, n_features, seed=n_features)
    for name in (*SMALL, "alizadeh-2000-v2", *FILES):
        data = load(name, n_rows)
        if data is not None:
            yield name, data


def rate_membership(X: np.ndarray, y: np.ndarray) -> list[Any]:
    """Return index, ECE, and share and number of right rows in each range."""
    model = CoHiRF(n_clusters=len(np.unique(y)), random_state=0).fit(X)
    degrees = model.membership(X)
    own = degrees.argmax(axis=1)
    y = np.unique(y, return_inverse=True)[1]
    counts = np.zeros((degrees.shape[1], y.max() + 1))
    np.add.at(counts, (own, y), 1)
    is_right = counts.argmax(axis=1)[own] == y
    largest = degrees.max(axis=1)
    place = np.digitize(largest, RANGES) - 1
    cells = []
    error = 0.0
    for number in range(len(RANGES) - 1):
        inside = place == number
        error += abs(largest[inside].sum() - is_right[inside].sum()) / len(y)
        cells.append(f"{is_right[inside].mean():.2f} ({inside.sum():,})" if inside.any() else "-")
    return [adjusted_rand_score(y, model.labels_), error, *cells]


def plant(X: np.ndarray, way: str) -> Data:
    """Return rows with outliers, and which they are."""
    rng = np.random.default_rng(1)
    n_planted = max(5, int(SHARE_OF_OUTLIERS * len(X)))
    size = (n_planted, X.shape[1])
    if way == "box":
        planted = rng.uniform(X.min(axis=0), X.max(axis=0), size=size)
    elif way == "moved":
        planted = X[rng.choice(len(X), n_planted)] + rng.normal(size=size) * X.std(axis=0)
    else:
        planted = np.column_stack([rng.choice(column, n_planted) for column in X.T])
    return np.vstack([X, planted]), np.repeat([0, 1], [len(X), n_planted])


def score_glosh(X: np.ndarray) -> np.ndarray:
    import hdbscan

    return hdbscan.HDBSCAN(min_cluster_size=20).fit(X).outlier_scores_


def score_factor(X: np.ndarray) -> np.ndarray:
    return -LocalOutlierFactor(20).fit(X).negative_outlier_factor_


def score_forest(X: np.ndarray) -> np.ndarray:
    return -IsolationForest(random_state=0).fit(X).score_samples(X)


def score_rows(X: np.ndarray, n_clusters: int) -> np.ndarray:
    return CoHiRF(n_clusters=n_clusters, random_state=0).fit(X).outlier_scores_


RIVALS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "LOF": score_factor,
    "forest": score_forest,
    "GLOSH": score_glosh,
}


def show_membership(n_rows: int) -> Table:
    ranges = [f"{low:.2f}-{min(1.0, high):.2f}" for low, high in pairwise(RANGES)]
    table = Table({"data": "<18", "ARI": ">5.2f", "ECE": ">6.3f"} | dict.fromkeys(ranges, ">12"))
    for name, data in sets_with_classes(n_rows):
        table.row(name, *rate_membership(*data))
    return table


def show_outliers(n_rows: int, names: Iterable[str]) -> Table:
    table = Table({"data": "<18", "planted": "<8"} | dict.fromkeys(["CoHiRF", *RIVALS], ">16.3f"))
    for name in names:
        data = load(name, n_rows)
        for way in ("box", "moved", "mixed") if data is not None else ():
            X, is_outlier = plant(data[0], way)
            ours = score_rows(X, len(np.unique(data[1])))
            scores = [ours, *(score(X) for score in RIVALS.values())]
            table.row(name, way, *(roc_auc_score(is_outlier, of_method) for of_method in scores))
    return table


def show_new_rows(n_rows: int, names: Sequence[str]) -> None:
    columns = {"around": ">8.4f", "all": ">8.4f", "higher": ">8.2%", "outliers higher": ">16.2%"}
    table = Table({"data": "<18", "planted": "<8", "landmarks": ">10,"} | columns)
    for name in names:
        data = load(name, n_rows)
        if data is None or len(data[0]) // 2 <= outliers.OUTLIER.landmarks:
            continue
        fitted, other = np.array_split(data[0], 2)
        model = CoHiRF(n_clusters=len(np.unique(data[1])), random_state=0).fit(fitted)
        for way in ("box", "moved", "mixed"):
            X, is_outlier = plant(other, way)
            around, exact = (
                score_among(model, X, most) for most in (outliers.OUTLIER.landmarks, math.inf)
            )
            higher = around / exact - 1
            areas = [roc_auc_score(is_outlier, scores) for scores in (around, exact)]
            mean_higher = [higher[is_outlier == kind].mean() for kind in (0, 1)]
            table.row(name, way, len(model.landmark_indices_), *areas, *mean_higher)


def score_among(model: CoHiRF, X: np.ndarray, most: float) -> np.ndarray:
    """Return the scores of rows, which are compared with all landmarks if these are at most so
    many.
    """
    with patch.dict(vars(outliers.OUTLIER), landmarks=most):
        vars(model).pop("_degrees", None)  # learned from the landmarks
        return model.score_outliers(X)


def show_time(n_rows: int) -> None:
    X, _ = make_blobs(n_rows, n_features=20, centers=10, cluster_std=4, random_state=0)
    table = Table({"method": "<34", "rows": ">9,", "to the forest": ">14.2f"})
    forest, _ = timed(partial(score_forest, X))
    table.row("IsolationForest, fit and scores", n_rows, 1.0)
    fit, model = timed(partial(CoHiRF(n_clusters=10, batch_size=10_000, random_state=0).fit, X))
    table.row("CoHiRF, fit", n_rows, fit / forest)
    table.row("CoHiRF, score_outliers", n_rows, timed(partial(model.score_outliers, X))[0] / forest)
    table.row("CoHiRF, membership", n_rows, timed(partial(model.membership, X))[0] / forest)
    few = X[: n_rows // 50]
    table.row("LocalOutlierFactor", len(few), timed(partial(score_factor, few))[0] / forest)
    table.row("hdbscan, GLOSH", len(few), timed(partial(score_glosh, few))[0] / forest)


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parts = ("membership", "outliers", "new", "time")
    parser.add_argument("--parts", nargs="+", default=list(parts), choices=parts)
    parser.add_argument(
        "--sets", nargs="+", default=[*FILES, *HELD_OUT], choices=[*FILES, *HELD_OUT]
    )
    parser.add_argument("--rows", type=int, default=4000, help="at most so many of each data set")
    parser.add_argument(
        "--new-rows", type=int, default=20_000, help="at most so many of each data set, in part new"
    )
    parser.add_argument("--timed-rows", type=int, default=1_000_000)
    add_write_option(parser)
    arguments = parse(parser, argv, rows=1000, new_rows=5000, timed_rows=50_000, sets=["satimage"])
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        if "membership" in arguments.parts:
            show_membership(arguments.rows).write(arguments.write, "membership")
        if "outliers" in arguments.parts:
            for file, names in {"outliers": FILES, "outliers_held_out": HELD_OUT}.items():
                chosen = (name for name in names if name in arguments.sets)
                show_outliers(arguments.rows, chosen).write(arguments.write, file)
        if "new" in arguments.parts:
            show_new_rows(arguments.new_rows, arguments.sets)
        if "time" in arguments.parts:
            show_time(arguments.timed_rows)


if __name__ == "__main__":
    main()
