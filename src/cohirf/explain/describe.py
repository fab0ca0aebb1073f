"""What each cluster of a fitted model is, and the headline of the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.grouping import BLOCK_ROWS, IntArray, count_with_noise, row_blocks
from cohirf.explain.diagnose import Diagnosis
from cohirf.explain.effects import Trait, find_traits
from cohirf.explain.rows import BadlyFitting, find_badly_fitting
from cohirf.explain.sample import names_of, sample_table
from cohirf.explain.table import as_dense, is_prepared, name_features, read_cells
from cohirf.explain.verdict import ALONE, EITHER, ways_to_less_noise
from cohirf.explain.words import count_of, name_clusters, percent, uncapitalised
from cohirf.hierarchy.export import to_frame
from cohirf.summary.model import Model
from cohirf.summary.numbers import cluster_positions

MAX_DESCRIBED = 1000  # clusters that have a name: the largest
NOISE = "noise"
N_SHOWN = 3  # traits in the table
# Shares of rows between two clusters up to which clusters are clearly apart, touch, and overlap.
APART, TOUCHING, OVERLAPPING = 0.05, 0.2, 0.4


@dataclass(frozen=True)
class ClusterDescription:
    """What a cluster is.

    Attributes
    ----------
    label : int
        Its number in ``labels_``.
    name : str
        What sets it apart, in a few words; no other cluster has this name.
    size : int
        Number of rows.
    share : float
        Share of all rows.
    stability : float
        Mean of ``stability_`` over its rows, how well the views agreed; NaN if it is not known of any row.
    exemplar : int
        Row number of its most central row.
    exemplar_values : dict of str to object
        The values of this row, in the units of the described data.
    traits : list of Trait
        What sets it apart from all other rows, the strongest first.
    """

    label: int
    name: str
    size: int
    share: float
    stability: float
    exemplar: int
    exemplar_values: dict[str, Any]
    traits: list[Trait]


@dataclass(frozen=True)
class Description:
    """The clusters of a model.

    Attributes
    ----------
    model : CoHiRF
        The model.
    clusters : list of ClusterDescription
        The clusters, by label; of more than 1,000 clusters, the largest.
    sizes : array of int, shape (n_clusters,)
        Number of rows of each cluster.
    stability : array of float, shape (n_clusters,)
        Mean stability of each cluster.
    n_rows, n_noise : int
        Number of rows of the data, and of noise rows.
    n_sampled : int
        Number of rows that the traits were computed from.
    """

    model: Model
    clusters: list[ClusterDescription]
    sizes: IntArray
    stability: NDArray[np.float64]
    n_rows: int
    n_noise: int
    n_sampled: int

    @cached_property
    def badly_fitting(self) -> BadlyFitting:
        """The least typical rows of each cluster, and the rows between two clusters."""
        return find_badly_fitting(self.model)

    def name(self, label: int) -> str:
        """Return the name of a cluster: its number, if it is not among those that are described."""
        return self._names.get(label, f"cluster {label}")

    @cached_property
    def _names(self) -> dict[int, str]:
        return {cluster.label: cluster.name for cluster in self.clusters}

    def to_frame(self) -> Any:
        """Return a pandas table with one row for each cluster; a last row for noise, if there is any."""
        labels = self.model.cluster_numbers_.tolist()
        traits = {cluster.label: cluster.traits[:N_SHOWN] for cluster in self.clusters}
        columns: dict[str, list[Any]] = {
            "cluster": list(labels),
            "name": [self.name(label) for label in labels],
            "size": self.sizes.tolist(),
            "share": (self.sizes / self.n_rows).tolist(),
            "stability": self.stability.tolist(),
            "exemplar": self.model.exemplar_indices_.tolist(),
            "features": ["; ".join(trait.values for trait in traits.get(label, ())) for label in labels],
        }
        if self.n_noise:
            noise = [-1, NOISE, self.n_noise, self.n_noise / self.n_rows, np.nan, None, ""]
            for column, value in zip(columns.values(), noise, strict=True):
                column.append(value)
        frame = to_frame(columns, index="cluster")
        return frame.astype({"exemplar": "Int64"})


def describe_clusters(
    model: Model, X: Any = None, feature_names: Sequence[str] | None = None, preparation: Any = None
) -> Description:
    """Describe the final clusters of a model.

    Parameters
    ----------
    model : CoHiRF
        The fitted model; its labels must be in this process.
    X : array, table, sparse matrix, source or Prepared, shape (n_samples, any), optional
        The rows of the fit in the same order: the data of the fit, what ``prepare`` returned, or the table that it was
        made from, whose columns may be numbers, categories, text, dates or truth values. At most 20,000 rows are read,
        and some of each cluster. By default, the clusters are described by the rows that the model stores for
        ``predict``.
    feature_names : sequence of str, optional
        Names of the columns, if ``X`` has none.
    preparation : Preparation, optional
        What made the data of the fit from a table. The rows that the model stores are then described by the columns of
        that table, in their own units.

    Returns
    -------
    description : Description
        The clusters, and the rows that fit them badly. Of more than 1,000 clusters, the largest are described.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cohirf import CoHiRF
    >>> from cohirf.description import describe_clusters
    >>> X = load_iris(as_frame=True).data
    >>> description = describe_clusters(CoHiRF(n_clusters=3, random_state=0).fit(X), X)
    >>> for cluster in description.clusters:
    ...     print(cluster.size, cluster.name)
    50 short petal, narrow petal, short sepal
    64 narrow sepal, medium petal length, medium petal width
    36 long sepal, wide petal, long petal
    >>> print(description.clusters[0].traits[0].values)
    petal length (cm) 1.46 (others 4.91)
    """
    labels, numbers = cluster_positions(model), model.cluster_numbers_
    counts = count_with_noise(labels, model.n_clusters_)
    n_rows, sizes, stability = int(counts.sum()), counts[1:], _mean_stability(model, labels)
    chosen = np.sort(np.argsort(-sizes, kind="stable")[:MAX_DESCRIBED])
    sample = sample_table(model, X, feature_names, chosen, preparation)
    if is_prepared(X):
        X, preparation = None, X.preparation  # for the exemplars, which the model keeps
    traits = find_traits(sample.table, sample.labels, chosen, sample.weights)
    parts = zip(
        chosen.tolist(),
        name_clusters(traits),
        _read_exemplars(model, X, feature_names, chosen, preparation),
        traits,
        strict=True,
    )
    described = [
        ClusterDescription(
            label=int(numbers[cluster]),
            name=name,
            size=int(sizes[cluster]),
            share=float(sizes[cluster] / n_rows),
            stability=float(stability[cluster]),
            exemplar=int(model.exemplar_indices_[cluster]),
            exemplar_values=values,
            traits=of_cluster,
        )
        for cluster, name, values, of_cluster in parts
    ]
    return Description(model, described, sizes, stability, n_rows, int(counts[0]), len(sample.table.rows))


def _mean_stability(model: Model, positions: IntArray) -> NDArray[np.float64]:
    """Return the mean stability of the rows of each cluster, where it is known; NaN if it is not known of any row."""
    totals, known = np.zeros(model.n_clusters_), np.zeros(model.n_clusters_)
    for block in row_blocks(len(positions), max(BLOCK_ROWS, model.n_clusters_)):
        labels, stability = positions[block], model.stability_[block]
        counted = (labels >= 0) & ~np.isnan(stability)
        totals += np.bincount(labels[counted], weights=stability[counted], minlength=model.n_clusters_)
        known += np.bincount(labels[counted], minlength=model.n_clusters_)
    return np.where(known > 0, totals / np.maximum(known, 1), np.nan)


def _read_exemplars(
    model: Model, X: Any, feature_names: Sequence[str] | None, clusters: IntArray, preparation: Any
) -> list[dict[str, Any]]:
    """Return the values of the exemplar of each of some clusters."""
    if X is None and preparation is not None:
        names = [feature.name for feature in preparation.features]
        return read_cells(preparation.to_original_units(as_dense(model.exemplars_)), clusters, names)
    if X is None:
        return read_cells(model.exemplars_, clusters, name_features(model, None, feature_names))
    return read_cells(X, model.exemplar_indices_[clusters], names_of(model, X, feature_names))


@dataclass(frozen=True)
class Headline:
    """The headline of a result, in sentences.

    Attributes
    ----------
    count : str
        How many clusters there are, and how much noise.
    sizes : str
        How large they are; empty if there is none.
    separation : str
        How sure it is to which cluster a row belongs; empty if there are fewer than two clusters.
    trust : str
        Whether to trust the clusters; empty without a diagnosis.
    tone : {"good", "fair", "poor", "unknown"}
        Whether this is good news.
    """

    count: str
    sizes: str
    separation: str
    trust: str
    tone: str

    def __str__(self) -> str:
        """Return all sentences."""
        return " ".join(part for part in (self.count, self.sizes, self.separation, self.trust) if part)


def make_headline(description: Description, diagnosis: Diagnosis | None) -> Headline:
    """Return the headline of a result.

    Parameters
    ----------
    description : Description
        What ``describe_clusters`` returned.
    diagnosis : Diagnosis or None
        What ``CoHiRF.diagnose`` returned; None leaves out whether to trust the clusters.

    Returns
    -------
    headline : Headline
        Sentences; ``str`` joins them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cohirf import CoHiRF
    >>> from cohirf.description import describe_clusters, make_headline
    >>> X = load_iris(as_frame=True).data
    >>> model = CoHiRF(n_clusters=3, random_state=0).fit(X)
    >>> headline = make_headline(describe_clusters(model, X), model.diagnose())
    >>> print(headline.count, headline.sizes)
    3 clusters in 150 rows. The largest has 64 rows (43%), the smallest 36 (24%).
    >>> print(headline.separation)
    They are clearly apart: 2% of the rows are between two clusters.
    """
    if len(description.sizes) == 0:
        remedy = f"To find some, {ways_to_less_noise(description.model)}."
        return Headline(say_count(description), "", "", remedy, "poor")
    trust, tone = ("", "unknown") if diagnosis is None else say_trust(diagnosis)
    separation = ""
    if len(description.sizes) > 1 and tone != "poor":
        share = description.badly_fitting.share_between
        separation = say_separation(share)
        tone = "fair" if tone == "good" and share > TOUCHING else tone
    return Headline(say_count(description), say_sizes(description), separation, trust, tone)


def say_count(description: Description) -> str:
    """Return how many clusters there are, and how much noise."""
    n_clusters, n_rows = len(description.sizes), description.n_rows
    if n_clusters == 0:
        return f"No clusters: all {n_rows:,} rows are noise."
    text = f"{count_of(n_clusters, 'cluster')} in {n_rows:,} rows"
    share = description.n_noise / n_rows
    return f"{text}; {percent(share)} of the rows are noise, in no cluster." if description.n_noise else f"{text}."


def say_sizes(description: Description) -> str:
    """Return how large the clusters are."""
    if len(description.sizes) < 2:
        return ""
    largest, smallest = int(description.sizes.max()), int(description.sizes.min())
    shares = [percent(size / description.n_rows) for size in (largest, smallest)]
    if largest == smallest:
        return f"Each has {count_of(largest, 'row')} ({shares[0]})."
    return f"The largest has {count_of(largest, 'row')} ({shares[0]}), the smallest {smallest:,} ({shares[1]})."


def say_separation(share: float) -> str:
    """Return how far apart clusters are, from the share of rows that are between two of them."""
    between = f"{percent(share)} of the rows are between two clusters" if share else "no rows are between two clusters"
    if share <= APART:
        return f"They are clearly apart: {between}."
    if share <= TOUCHING:
        return f"They touch: {between}."
    if share <= OVERLAPPING:
        return f"They overlap: {between}, where the border could as well be elsewhere."
    return f"They are not separate: {between}. Read them as regions of one cloud of rows, not as kinds of rows."


def say_trust(diagnosis: Diagnosis) -> tuple[str, str]:
    """Return whether to trust the clusters, and whether this is good news."""
    base = diagnosis.comparison.base
    problem = diagnosis.findings[0] if len(diagnosis.findings) > 2 else None
    if problem is not None and problem.tone == "poor":
        return f"Do not use them: {uncapitalised(problem.reason)}", "poor"
    if diagnosis.recommendation == ALONE:
        return (
            f"Do not trust them: {base} alone finds other clusters, and finds them again in part of the rows. Use "
            f"{base} alone, if it can run on all rows.",
            "poor",
        )
    if diagnosis.recommendation == EITHER:
        return f"Trust them as you would trust {base}: it finds the same clusters alone.", "good"
    if diagnosis.comparison.reason:
        return f"Look at some rows of each before you trust them: {base} alone could not be compared.", "unknown"
    return (
        f"Look at some rows of each before you trust them: {base} alone finds other clusters, and no figure tells "
        f"which are better.",
        "fair",
    )
