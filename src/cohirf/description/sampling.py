"""The rows that clusters are described by: a sample of the user's table, or the rows that the model stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.grouping import IntArray, count_with_noise, rows_by_label
from cohirf.description.prepared import is_prepared, read_prepared
from cohirf.description.table import Table, count_table_rows, read_table
from cohirf.diagnosis.reading import name_features
from cohirf.diagnosis.sample import SEED
from cohirf.summary.numbers import cluster_positions, positions_of

MAX_ROWS, MAX_CELLS = 20_000, 5_000_000
LEAST_ROWS = 500  # that are drawn even if they have more cells
FEWEST_ROWS = 30  # of each cluster, if it has so many


@dataclass(frozen=True)
class Sample:
    """Rows that clusters are described by.

    Attributes
    ----------
    table : Table
        The rows.
    labels : array of int
        Cluster of each row, as its position in ``cluster_numbers_``; -1 for noise.
    weights : array of float
        How many rows of the data each row stands for.
    """

    table: Table
    labels: IntArray
    weights: NDArray[np.float64]


def draw_described_rows(model: Any, n_columns: int, clusters: IntArray | None = None) -> IntArray:
    """Return sorted row numbers: all rows, or a random sample with at least 30 rows of each of some clusters."""
    drawn = _draw(len(model.labels_), n_columns, np.random.default_rng(SEED))
    if len(drawn) == len(model.labels_):
        return drawn
    clusters = np.arange(model.n_clusters_) if clusters is None else clusters
    numbers = model.cluster_numbers_
    present = count_with_noise(positions_of(model.labels_[drawn], numbers), model.n_clusters_)[1:]
    rare = clusters[present[clusters] < FEWEST_ROWS]
    starts, stored = rows_by_label(positions_of(model._landmarks.labels, numbers) + 1, model.n_clusters_ + 1)
    extra = [model._landmark_rows[stored[starts[k + 1] : starts[k + 2]][:FEWEST_ROWS]] for k in rare.tolist()]
    return np.unique(np.concatenate([drawn, *extra]))


def sample_table(
    model: Any,
    X: Any = None,
    feature_names: Sequence[str] | None = None,
    clusters: IntArray | None = None,
    preparation: Any = None,
) -> Sample:
    """Read the rows of ``X`` that clusters are described by, or the rows that the model stores.

    The sample has at least 30 rows of each of ``clusters``, if they have so many; by default, of all clusters. A
    ``preparation`` turns the stored rows back into original units.
    """
    if X is None and preparation is not None:
        some = _draw(len(model._landmark_rows), model.n_features_in_, np.random.default_rng(SEED))
        table = read_prepared(preparation, model._landmarks.points[some], model._landmark_rows[some])
        labels = model._landmarks.labels[some]
    elif X is None:
        names = name_features(model, None, feature_names)
        some = _draw(len(model._landmark_rows), len(names), np.random.default_rng(SEED))
        stored = read_table(model._landmarks.points, some, names)
        table, labels = replace(stored, rows=model._landmark_rows[some]), model._landmarks.labels[some]
    elif is_prepared(X):
        _check_rows(model, X.source)
        rows = draw_described_rows(model, model.n_features_in_, clusters)
        table, labels = read_prepared(X.preparation, X.source.take(rows), rows), model.labels_[rows]
    else:
        _check_rows(model, X)
        n_columns = X.shape[1] if hasattr(X, "shape") else model.n_features_in_
        rows = draw_described_rows(model, n_columns, clusters)
        table, labels = read_table(X, rows, names_of(model, X, feature_names)), model.labels_[rows]
    labels = positions_of(labels, model.cluster_numbers_)
    counts = count_with_noise(cluster_positions(model), model.n_clusters_)
    sampled = count_with_noise(labels, model.n_clusters_)
    return Sample(table, labels, (counts / np.maximum(sampled, 1))[labels + 1])


def _check_rows(model: Any, X: Any) -> None:
    n_rows = count_table_rows(X)
    if n_rows != len(model.labels_):
        raise ValueError(
            f"X has {n_rows:,} rows, but the model was fitted on {len(model.labels_):,}: pass the data of the fit, or "
            f"the table that it was made from."
        )


def _draw(n_rows: int, n_columns: int, rng: np.random.Generator) -> IntArray:
    """Return all row numbers, or sorted random ones of about ``MAX_CELLS`` cells."""
    n_drawn = min(MAX_ROWS, max(LEAST_ROWS, MAX_CELLS // max(n_columns, 1)))
    return np.arange(n_rows) if n_rows <= n_drawn else np.sort(rng.choice(n_rows, n_drawn, replace=False))


def names_of(model: Any, X: Any, given: Sequence[str] | None) -> list[str] | None:
    """Return the names of the columns of data without names; None if the data has names."""
    if given is not None:
        return [str(name) for name in given]
    if hasattr(X, "columns") or hasattr(X, "column_names"):
        return None
    seen = getattr(X, "feature_names", None) or getattr(model, "feature_names_in_", None)
    return None if seen is None else [str(name) for name in seen]
