"""explain: the distinguishing features of a cluster, and how stable the views were that contained each feature."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.sparsefuncs import min_max_axis

from cohirf.algorithm.grouping import row_blocks
from cohirf.diagnosis.reading import as_data, check_rows, name_features, read_rows
from cohirf.diagnosis.sample import draw_sample
from cohirf.hierarchy.export import to_frame

BLOCK_CELLS = 2**22

Floats = NDArray[np.float64]


def explain_cluster(model: Any, cluster: Any, X: Any = None) -> Any:
    """Return a pandas table of the features that distinguish a final cluster, the strongest first.

    Parameters
    ----------
    model : CoHiRF
        The fitted model.
    cluster : int
        Number of the cluster, as in ``labels_``.
    X : array, table, sparse matrix or source, optional
        The data of the fit. By default, the table is computed from the landmarks that the model stores for
        ``predict``.

    Returns
    -------
    table : pandas.DataFrame
        One row per feature, with the columns described at ``CoHiRF.explain``.

    Raises
    ------
    ValueError
        If there is no such cluster, or if ``X`` is not the data of the fit.
    """
    _check_cluster(cluster, model.cluster_numbers_)
    blocks = _landmark_rows(model) if X is None else _all_rows(model, as_data(X))
    contrast = Contrast()
    for features, labels in blocks:
        contrast.add(features, labels == cluster)
    columns = {
        "feature": name_features(model, X),
        "effect": contrast.effect(),
        "mean": contrast.mean_inside(),
        "mean_elsewhere": contrast.mean_outside(),
        "views_agree": model.feature_agreement_,
    }
    strongest = np.argsort(-np.abs(contrast.effect()), kind="stable")
    return to_frame(columns, index="feature").iloc[strongest]


class Contrast:
    """Compares the rows of a cluster with all other rows, in one pass over blocks of rows.

    The mean of the first block is subtracted before values are summed, so that large values lose no precision. Sparse
    matrices are summed as they are: they would become dense.
    """

    def __init__(self) -> None:
        self._n_inside = self._n_outside = 0
        self._origin: Any = 0.0
        self._inside: Any = 0.0
        self._total: Any = 0.0
        self._squares: Any = 0.0
        self._low: Any = np.inf
        self._high: Any = -np.inf

    def add(self, features: Any, inside: NDArray[np.bool_]) -> None:
        """Add a block of rows; ``inside`` is True for rows of the cluster."""
        if sparse.issparse(features):
            low, high = min_max_axis(features, axis=0)
            squares = features.multiply(features).sum(axis=0)
        else:
            if self._n_inside + self._n_outside == 0:
                self._origin = features.mean(axis=0)
            low, high = features.min(axis=0), features.max(axis=0)
            features = features - self._origin
            squares = np.einsum("ij,ij->j", features, features)
        self._low, self._high = np.minimum(self._low, low), np.maximum(self._high, high)
        self._inside = self._inside + _column_sums(features[inside])
        self._total = self._total + _column_sums(features)
        self._squares = self._squares + np.asarray(squares).ravel()
        self._n_inside += int(inside.sum())
        self._n_outside += int(len(inside) - inside.sum())

    def mean_inside(self) -> Floats:
        """Return the mean of each feature over the cluster."""
        return np.asarray(self._origin + self._inside / max(self._n_inside, 1))

    def mean_outside(self) -> Floats:
        """Return the mean of each feature over all other rows."""
        return np.asarray(self._origin + (self._total - self._inside) / max(self._n_outside, 1))

    def effect(self) -> Floats:
        """Return the difference of the means in standard deviations of all rows; 0 if undefined."""
        n_rows = self._n_inside + self._n_outside
        variance = np.maximum(self._squares / n_rows - (self._total / n_rows) ** 2, 0)
        is_defined = (self._high > self._low) & (variance > 0) & (min(self._n_inside, self._n_outside) > 0)
        effect = np.zeros(len(variance))
        np.divide(self.mean_inside() - self.mean_outside(), np.sqrt(variance), out=effect, where=is_defined)
        return effect


def _all_rows(model: Any, data: Any) -> Iterator[tuple[Any, NDArray[Any]]]:
    """Yield blocks of rows of the data with their labels."""
    check_rows(model, data)
    for block in row_blocks(len(model.labels_), BLOCK_CELLS // model.n_features_in_ + 1):
        yield read_rows(data, np.arange(block.start, block.stop)), model.labels_[block]


def _landmark_rows(model: Any) -> Iterator[tuple[Any, NDArray[Any]]]:
    sample = draw_sample(model)
    yield sample.features, model.labels_[sample.rows]


def _column_sums(features: Any) -> Floats:
    return np.asarray(features.sum(axis=0), dtype=np.float64).ravel()


def _check_cluster(cluster: Any, numbers: NDArray[Any]) -> None:
    if isinstance(cluster, int | np.integer) and cluster in numbers:
        return
    if len(numbers) == 0:
        raise ValueError(
            f"cluster={cluster!r} is not a cluster of this model: it has none, because every row is noise."
        )
    has_gaps = numbers[-1] >= len(numbers)
    which = "a number from cluster_numbers_" if has_gaps else f"an int from 0 to {len(numbers) - 1}"
    raise ValueError(f"cluster={cluster!r} is not a cluster of this model: pass {which}.")
