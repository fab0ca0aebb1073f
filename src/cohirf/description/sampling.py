"""The rows that clusters are described by: a sample of the user's table, or the rows that the model stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.grouping import IntArray, count_with_noise
from cohirf.description.table import Table, count_table_rows, read_table
from cohirf.diagnosis.reading import name_features
from cohirf.diagnosis.sample import SEED

MAX_ROWS, MAX_CELLS = 20_000, 5_000_000
FEWEST_ROWS = 30  # of each cluster, if it has so many


@dataclass(frozen=True)
class Sample:
    """Rows that clusters are described by.

    Attributes
    ----------
    table : Table
        The rows.
    labels : array of int
        Cluster of each row; -1 for noise.
    weights : array of float
        How many rows of the data each row stands for.
    """

    table: Table
    labels: IntArray
    weights: NDArray[np.float64]


def draw_described_rows(model: Any, n_columns: int) -> IntArray:
    """Return sorted row numbers: all rows, or a random sample with at least 30 rows of each cluster."""
    n_rows = len(model.labels_)
    n_drawn = min(MAX_ROWS, max(FEWEST_ROWS, MAX_CELLS // max(n_columns, 1)))
    if n_rows <= n_drawn:
        return np.arange(n_rows)
    rng = np.random.default_rng(SEED)
    drawn = rng.choice(n_rows, n_drawn, replace=False)
    present = count_with_noise(model.labels_[drawn], model.n_clusters_)[1:]
    rare = np.flatnonzero(present < FEWEST_ROWS)
    stored = model._landmarks.labels
    extra = [model._landmark_rows[np.flatnonzero(stored == cluster)[:FEWEST_ROWS]] for cluster in rare.tolist()]
    return np.unique(np.concatenate([drawn, *extra]))


def sample_table(model: Any, X: Any = None, feature_names: Sequence[str] | None = None) -> Sample:
    """Read the rows of ``X`` that clusters are described by, or the rows that the model stores."""
    if X is None:
        names = name_features(model, None, feature_names)
        if model.relevant_features_ is not None:
            names = [names[feature] for feature in model.relevant_features_.tolist()]
        stored = read_table(model._landmarks.points, np.arange(len(model._landmark_rows)), names)
        table, labels = replace(stored, rows=model._landmark_rows), model._landmarks.labels
    else:
        _check_rows(model, X)
        rows = draw_described_rows(model, X.shape[1] if hasattr(X, "shape") else model.n_features_in_)
        table, labels = read_table(X, rows, names_of(model, X, feature_names)), model.labels_[rows]
    counts = count_with_noise(model.labels_, model.n_clusters_)
    sampled = count_with_noise(labels, model.n_clusters_)
    return Sample(table, labels, (counts / np.maximum(sampled, 1))[labels + 1])


def _check_rows(model: Any, X: Any) -> None:
    n_rows = count_table_rows(X)
    if n_rows != len(model.labels_):
        raise ValueError(
            f"X has {n_rows:,} rows, but the model was fitted on {len(model.labels_):,}: pass the data of the fit, or "
            f"the table that it was made from."
        )


def names_of(model: Any, X: Any, given: Sequence[str] | None) -> list[str] | None:
    """Return the names of the columns of data without names; None if the data has names."""
    if given is not None:
        return [str(name) for name in given]
    if hasattr(X, "columns") or hasattr(X, "column_names"):
        return None
    seen = getattr(X, "feature_names", None) or getattr(model, "feature_names_in_", None)
    return None if seen is None else [str(name) for name in seen]
