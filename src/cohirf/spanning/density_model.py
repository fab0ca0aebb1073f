"""What HDBSCAN knows beside labels: how strongly rows belong to clusters, outlier scores, and the
clusters of new rows.

All of it is read from the condensed tree, as scikit-learn and the package hdbscan do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from cohirf.rows.arrays import as_array, put_beside, to_host
from cohirf.rows.grouping import FloatArray, IntArray, row_blocks
from cohirf.rows.storage import Storage
from cohirf.spanning.batch_edges import Edges, span_rows
from cohirf.spanning.join_batches import CondensedTree, sort_by_weight
from cohirf.spanning.joining_kernels import Condensed
from cohirf.spanning.policy import TREE
from cohirf.spanning.settings import SpanningSettings


@dataclass(frozen=True, eq=False)
class DensityModel:
    """The condensed tree of some rows, and where they are."""

    labels: IntArray  # -1 for noise
    _points: NDArray[Any]
    _rank: int  # of the neighbour at the core distance of a row, which is not its own neighbour
    _tree: Condensed  # its clusters; 0 is the root
    _selected: IntArray  # the selected cluster that each cluster is part of, or -1
    _cluster: IntArray  # the cluster that each row leaves
    _left_at: FloatArray  # and the density at which it does

    @classmethod
    def of(cls, X: Any, settings: SpanningSettings) -> DensityModel:
        """Cluster rows as HDBSCAN with the given settings does.

        Examples
        --------
        >>> import numpy as np
        >>> from cohirf.spanning.density_model import DensityModel
        >>> from cohirf.spanning.settings import SpanningSettings
        >>> X = np.concatenate([np.linspace(0, 1, 20), np.linspace(5, 6, 20)]).reshape(-1, 1)
        >>> model = DensityModel.of(X, SpanningSettings(min_samples=3, min_cluster_size=5))
        >>> model.predict(np.array([[0.5], [5.5], [20.0]]))[0]
        array([ 0,  1, -1], dtype=int32)
        """
        core, edges = span_rows(X, settings.min_samples, as_sklearn=settings.as_sklearn)
        return cls.of_tree(X, sort_by_weight(edges, core, Storage(), settings.as_sklearn), settings)

    @classmethod
    def of_tree(cls, X: Any, parts: Iterable[Edges], settings: SpanningSettings) -> DensityModel:
        """Cluster rows, given the edges of their spanning tree with weights, sorted, in one part or
        more.
        """
        tree = CondensedTree(len(X), settings, keeps_densities=True)
        for part in parts:
            tree.merge(part)
        labels = tree.label()
        return cls(labels, np.asarray(X), max(1, settings.min_samples - 1), *tree.describe())

    def with_labels(self, labels: IntArray) -> DensityModel | None:
        """Return the same with other labels of its rows.

        None if these are not the same clusters, but for a few rows.

        Edges of equal weight may have been chosen otherwise where the labels come from.
        """
        renamed = replace(self, labels=labels)
        same = (
            np.where(
                self.labels < 0, -1, renamed._labels_of_clusters[self._selected[self._cluster]]
            )
            == labels
        )
        has_all = len(np.unique(renamed._labels_of_clusters)) == len(
            np.unique(np.append(labels, -1))
        )
        return renamed if has_all and same.mean() >= TREE.same_rows else None

    @cached_property
    def probabilities(self) -> FloatArray:
        """How strongly each row belongs to its cluster: the density at which it leaves it, over the
        highest; 0: noise.

        These are ``probabilities_`` of HDBSCAN.
        """
        return self._rate(
            np.where(self.labels < 0, -1, self._selected[self._cluster]), self._left_at
        )

    @cached_property
    def outlier_scores(self) -> FloatArray:
        """How early each row leaves its cluster, as ``outlier_scores_`` of the package hdbscan
        (GLOSH).
        """
        highest = self._tree.deaths.copy()
        for cluster in range(len(highest) - 1, 0, -1):  # children come after their parents
            parent = self._tree.parents[cluster]
            highest[parent] = max(highest[parent], highest[cluster])
        of_rows = highest[self._cluster]
        with np.errstate(invalid="ignore", divide="ignore"):
            scores = (of_rows - self._left_at) / of_rows
        return np.where((of_rows == 0) | ~np.isfinite(self._left_at), 0.0, scores)

    def predict(self, X: Any) -> tuple[IntArray, FloatArray]:
        """Return the label of each new row, -1 for noise, and how strongly it belongs to its
        cluster.

        A row joins the cluster of its nearest row, by mutual reachability, at the density of this
        distance, as ``approximate_predict`` of hdbscan does. A row that equals a row of the model
        has the label of that one.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        labels : array of int, shape (n_samples,)
            The labels.
        probabilities : array of float, shape (n_samples,)
            0 for noise.
        """
        labels = np.empty(len(X), dtype=self.labels.dtype)
        probabilities = np.empty(len(X))
        for block in row_blocks(len(X), TREE.predicted_rows):
            labels[block], probabilities[block] = self._predict_block(X[block])
        return labels, probabilities

    def label(self, X: Any) -> Any:
        """Return the label of each new row, an array of the same library as the rows, which may be
        a CSR matrix.
        """
        return put_beside(self.predict(to_host(as_array(X)))[0], X)

    @cached_property
    def _search(self) -> NearestNeighbors:
        return NearestNeighbors(n_neighbors=min(2 * self._rank, len(self.labels))).fit(self._points)

    @cached_property
    def _core(self) -> FloatArray:
        rank = min(self._rank, len(self.labels))
        return np.asarray(self._search.kneighbors(self._points, rank)[0][:, -1])

    @cached_property
    def _labels_of_clusters(self) -> IntArray:
        """The label of each selected cluster, and -1 for others."""
        # the last one is that of no cluster
        found = np.full(len(self._selected) + 1, -1, dtype=self.labels.dtype)
        selected = self._selected[self._cluster]
        for cluster in np.unique(selected[selected >= 0]).tolist():
            labels, counts = np.unique(
                self.labels[(selected == cluster) & (self.labels >= 0)], return_counts=True
            )
            found[cluster] = labels[counts.argmax()] if len(labels) else -1
        return found

    def _predict_block(self, X: Any) -> tuple[IntArray, FloatArray]:
        distances, neighbours = self._search.kneighbors(X)
        own_core = distances[:, min(self._rank, distances.shape[1] - 1), None]
        reach = np.maximum(np.maximum(self._core[neighbours], own_core), distances)
        place = reach.argmin(axis=1)
        nearest, reach = (
            np.take_along_axis(each, place[:, None], 1)[:, 0] for each in (neighbours, reach)
        )
        density = 1 / np.maximum(reach, np.finfo(np.float64).tiny)
        cluster = self._cluster[nearest]
        parents = self._tree.parents
        births = self._tree.births
        rises = self._left_at[nearest] > density
        while (rises := rises & (cluster > 0) & (births[cluster] >= density)).any():
            cluster = np.where(rises, parents[cluster], cluster)
        selected = self._selected[cluster]
        labels = self._labels_of_clusters[selected]
        probabilities = self._rate(selected, density)
        same = distances[:, 0] == 0
        first = neighbours[:, 0]
        return np.where(same, self.labels[first], labels), np.where(
            same, self.probabilities[first], probabilities
        )

    def _rate(self, selected: IntArray, density: FloatArray) -> FloatArray:
        """Return densities over the highest of selected clusters; 0 for the cluster -1."""
        highest = self._tree.deaths[selected]
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.minimum(density, highest) / highest
        share = np.where((highest == 0) | ~np.isfinite(density), 1.0, share)
        return np.where(selected < 0, 0.0, share)
