"""Quality scores of partitions, on a sample where they are costly; and those of the base method alone, to compare."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import adjusted_rand_score, calinski_harabasz_score, euclidean_distances, silhouette_score

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.grouping import IntArray
from cohirf.engines.local import one_thread
from cohirf.report.text import shorten

SEED = 0  # a report of the same model says the same
NUMBERS = ("n_clusters", "n_components")  # parameters that tell a method how many clusters to find


@dataclass(frozen=True)
class Yardstick:
    """A sample of rows with all distances between them, against which partitions are held."""

    features: Any
    distances: NDArray[np.float64]

    @classmethod
    def of(cls, features: Any) -> Yardstick:
        """Measure the distances between rows of an array or CSR matrix."""
        return cls(features, euclidean_distances(features))

    def silhouette(self, labels: IntArray) -> float | None:
        """Return the mean silhouette of the rows that are not noise, or None where it has no meaning."""
        kept = np.flatnonzero(labels >= 0)
        if not 1 < len(np.unique(labels[kept])) < len(kept):
            return None
        return float(silhouette_score(self.distances[np.ix_(kept, kept)], labels[kept], metric="precomputed"))

    def neighbours_together(self, labels: IntArray) -> float | None:
        """Return the share of rows whose nearest neighbour in the sample is in their cluster; rows of noise left out.

        Of several nearest neighbours, as repeated rows have, one in the same cluster is enough.
        """
        kept = np.flatnonzero(labels >= 0)
        if len(kept) < 2:
            return None
        distances = self.distances[np.ix_(kept, kept)].copy()
        np.fill_diagonal(distances, np.inf)
        is_nearest = distances <= distances.min(axis=1, keepdims=True)
        together = labels[kept][:, None] == labels[kept]
        return float((is_nearest & together).any(axis=1).mean())


@dataclass(frozen=True)
class Comparison:
    """The base method alone beside the model, on the same rows.

    Attributes
    ----------
    base : str
        The name of the base method.
    n_rows : int
        On how many rows it ran; 0 if it did not.
    reason : str
        Why it did not run; empty if it did.
    n_clusters : int
        How many clusters it found.
    silhouette, ari : tuple of (float or None)
        Scores of the model and of the base method alone.
    """

    base: str
    n_rows: int = 0
    reason: str = ""
    n_clusters: int = 0
    silhouette: tuple[float | None, float | None] = (None, None)
    ari: tuple[float | None, float | None] = (None, None)


def agreement_with_classes(labels: IntArray, classes: IntArray | None) -> float | None:
    """Return the adjusted Rand index with known classes, if they are known; noise counts as one cluster."""
    return None if classes is None else float(adjusted_rand_score(classes, labels))


def calinski_harabasz(features: Any, labels: IntArray) -> float | None:
    """Return the Calinski-Harabasz score of the rows that are not noise, or None where it has no meaning."""
    kept = np.flatnonzero(labels >= 0)
    if sparse.issparse(features) or not 1 < len(np.unique(labels[kept])) < len(kept):
        return None
    return float(calinski_harabasz_score(features[kept], labels[kept]))


def compare_with_base(
    estimator: Any, yardstick: Yardstick, labels: IntArray, classes: IntArray | None, n_rows: int
) -> Comparison:
    """Run the base method alone on the rows of a yardstick, and score it beside the model.

    It does not run where the answer would say nothing: on a part of the data, a method that goes by density finds
    other clusters than on all of it.

    Parameters
    ----------
    estimator : object
        The base method.
    yardstick : Yardstick
        The rows to run it on.
    labels, classes : array of int
        The model's label and the class of each of these rows; ``classes`` may be None.
    n_rows : int
        Number of rows of the whole data.
    """
    name = shorten(type(estimator).__name__)
    n_sampled = len(labels)
    if n_sampled < n_rows and not _knows_number(estimator):
        reason = (
            f"{name} is not told how many clusters to find. On {n_sampled:,} of {n_rows:,} rows it would find others "
            f"than on all of them, so it was not run alone here."
        )
        return Comparison(name, reason=reason)
    try:
        with warnings.catch_warnings(), one_thread():
            warnings.simplefilter("ignore")  # of a method that serves only to compare
            alone = BaseMethod.of(estimator).label_rows(yardstick.features, np.random.default_rng(SEED))
    except Exception as error:  # a base method may be anybody's, and fail in any way
        return Comparison(name, reason=f"{name} could not be run alone here: {shorten(error, 300)}")
    return Comparison(
        base=name,
        n_rows=n_sampled,
        n_clusters=len(np.unique(alone[alone >= 0])),
        silhouette=(yardstick.silhouette(labels), yardstick.silhouette(alone)),
        ari=(agreement_with_classes(labels, classes), agreement_with_classes(alone, classes)),
    )


def _knows_number(estimator: Any) -> bool:
    """Tell whether a method is told how many clusters to find; of a pipeline, whether its last step is."""
    clusterer = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    parameters = clusterer.get_params() if hasattr(clusterer, "get_params") else {}
    return any(parameters.get(name) is not None for name in NUMBERS)
