"""What sets clusters apart: the means of their rows compared with those of all others, and the strongest as traits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.sparsefuncs import min_max_axis

from cohirf.algorithm.grouping import IntArray
from cohirf.explain.table import Feature, Table
from cohirf.explain.words import plain_name, say_level, say_number, say_value

Floats = NDArray[np.float64]
BLOCK_CELLS = 2**21  # clusters times features that are compared at a time
N_TRAITS = 8  # of each cluster
LACK = 0.7  # the level that a cluster has says more about it than the levels that it lacks
# A cluster in the middle of a feature differs from others by its narrowness, not by its mean. It is in the middle if
# its mean is this many standard deviations away from the lowest and the highest value.
MIDDLE_EFFECT, MIDDLE_NARROWNESS, MIDDLE_DISTANCE = 0.8, 0.5, 0.8


@dataclass(frozen=True)
class Spread:
    """Sums over all rows of a sample, and the range of each feature.

    The origin is subtracted from values before they are summed, so that large ones lose no precision; it is near to the
    mean. That of sparse matrices is 0, because they would become dense.
    """

    origin: Any
    n_rows: int
    mass: float  # sum of the weights of the rows
    total: Floats  # weighted sum of each feature, from the origin
    squares: Floats  # weighted sum of its squares
    low: Floats
    high: Floats

    def __add__(self, other: Spread) -> Spread:
        """Return the sums over the rows of both, which have the same origin."""
        return Spread(
            self.origin,
            self.n_rows + other.n_rows,
            self.mass + other.mass,
            self.total + other.total,
            self.squares + other.squares,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )

    @cached_property
    def mean(self) -> Floats:
        """Mean of each feature."""
        return np.asarray(self.origin + self.total / self.mass)

    @cached_property
    def deviation(self) -> Floats:
        """Standard deviation of each feature; 0 for a constant, of which rounding may leave more."""
        variance = self.squares / self.mass - (self.total / self.mass) ** 2
        return np.where(self.high > self.low, np.sqrt(np.maximum(variance, 0)), 0)


@dataclass(frozen=True)
class Parts:
    """Sums over the rows of some clusters, from the origin of a ``Spread``: one row for each cluster."""

    n_rows: IntArray
    mass: Floats
    total: Floats
    squares: Floats

    def __add__(self, other: Parts) -> Parts:
        """Return the sums over the rows of both."""
        return Parts(*(getattr(self, name) + getattr(other, name) for name in Parts.__dataclass_fields__))

    def unite(self, unions: Sequence[Sequence[int]]) -> Parts:
        """Return the sums over unions of the clusters, such as the branches of a tree."""
        is_part = np.zeros((len(unions), len(self.n_rows)))
        for place, union in enumerate(unions):
            is_part[place, list(union)] = 1
        n_rows = (is_part @ self.n_rows).astype(np.int64)
        return Parts(n_rows, is_part @ self.mass, is_part @ self.total, is_part @ self.squares)


@dataclass(frozen=True)
class Effects:
    """How clusters differ from other rows: one row per cluster, one column per feature."""

    n_rows: IntArray  # of each cluster in the sample
    mean: Floats  # over the rows of the cluster
    mean_elsewhere: Floats  # over all other rows
    # the difference of the two means, in standard deviations of all rows; 0 for constant features, and if the cluster
    # has no rows or all rows
    effect: Floats
    # one minus the standard deviation in the cluster, in those of all rows: near to 1 if the values of the cluster are
    # much closer together than those of all rows; at least 0, and 0 where ``effect`` is undefined
    narrowness: Floats


def measure_spread(features: Any, weights: Floats | None = None, origin: Any = None) -> Spread:
    """Sum up the columns of an array or CSR matrix, whose rows may have weights."""
    weights = np.ones(features.shape[0]) if weights is None else weights
    mass = float(weights.sum())
    if origin is None:
        origin = 0.0 if sparse.issparse(features) else weights @ features / mass
    low, high = (
        min_max_axis(features, axis=0) if sparse.issparse(features) else (features.min(axis=0), features.max(axis=0))
    )
    shifted, squares = _shift(features, origin)
    return Spread(origin, features.shape[0], mass, weights @ shifted, weights @ squares, low, high)


def measure_parts(
    features: Any, spread: Spread, labels: IntArray, clusters: IntArray, weights: Floats | None = None
) -> Parts:
    """Sum up the rows of each of ``clusters``, given the cluster of each row and the ``spread`` of all rows."""
    members = _membership(labels, clusters)
    counts = np.asarray(members.sum(axis=1)).ravel().astype(np.int64)
    members = members if weights is None else members * weights
    shifted, squares = _shift(features, spread.origin)
    mass = np.asarray(members.sum(axis=1)).ravel()
    return Parts(counts, mass, _dense(members @ shifted), _dense(members @ squares))


def compare(spread: Spread, parts: Parts) -> Effects:
    """Compare clusters with all other rows, given the sums of both."""
    has_rows, has_others = parts.n_rows[:, None] > 0, parts.n_rows[:, None] < spread.n_rows
    mass = np.where(has_rows, parts.mass[:, None], 1)
    others = np.where(has_others, spread.mass - parts.mass[:, None], 1)
    inside, outside = parts.total / mass, (spread.total - parts.total) / others
    deviation = np.sqrt(np.maximum(parts.squares / mass - inside**2, 0))
    comparable = has_rows & has_others & (spread.deviation > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = np.where(comparable, (inside - outside) / spread.deviation, 0)
        narrowness = np.where(comparable, np.maximum(1 - deviation / spread.deviation, 0), 0)
    # rounding must not leave the range: a share of -1e-17 would be written as -0%
    mean, elsewhere = (np.clip(spread.origin + mean, spread.low, spread.high) for mean in (inside, outside))
    return Effects(parts.n_rows, mean, elsewhere, effect, narrowness)


def measure_effects(
    features: Any, spread: Spread, labels: IntArray, clusters: IntArray, weights: Floats | None = None
) -> Effects:
    """Compare each of ``clusters`` with all other rows."""
    return compare(spread, measure_parts(features, spread, labels, clusters, weights))


def _shift(features: Any, origin: Any) -> tuple[Any, Any]:
    """Return features from an origin, and their squares."""
    shifted = features if sparse.issparse(features) else features - origin
    return shifted, shifted.multiply(shifted) if sparse.issparse(shifted) else shifted**2


def _dense(matrix: Any) -> Floats:
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix)


def _membership(labels: IntArray, clusters: IntArray) -> Any:
    """Return a sparse matrix with one row per cluster and one column per row of the data: 1 for members."""
    order = np.argsort(clusters)
    place = np.minimum(np.searchsorted(clusters, labels, sorter=order), len(clusters) - 1)
    cluster = order[place] if len(clusters) else place
    columns = np.flatnonzero(clusters[cluster] == labels) if len(clusters) else np.empty(0, dtype=np.int64)
    ones = np.ones(len(columns))
    return sparse.csr_array((ones, (cluster[columns], columns)), shape=(len(clusters), len(labels)))


@dataclass(frozen=True)
class Trait:
    """A feature that sets a cluster apart.

    Attributes
    ----------
    feature : Feature
        The feature.
    effect : float
        Difference between the mean in the cluster and the mean of all other rows, in standard deviations of all rows.
    inside, outside : float
        Mean in the cluster, and mean of all other rows; shares of rows, if the feature is a level of a category.
    strength : float
        How much the trait sets the cluster apart: the absolute effect, or 0.7 times that for a level that the cluster
        lacks; for a trait in the middle, how much closer together its values are than those of all rows.
    is_middle : bool
        Whether the values are in the middle of those of all rows, and close together.
    """

    feature: Feature
    effect: float
    inside: float
    outside: float
    strength: float
    is_middle: bool = False

    @cached_property
    def phrase(self) -> str:
        """The trait in a few words, such as "low spend"."""
        if self.feature.kind == "level":
            return say_level(self.feature, self.inside, self.outside)
        if self.feature.kind == "term" and self.effect > 0:
            return plain_name(self.feature.name)
        if self.is_middle:
            return f"medium {plain_name(self.feature.name)}"
        return say_number(self.feature, is_high=self.effect > 0)

    @cached_property
    def values(self) -> str:
        """The feature with its values inside and outside, such as "spend 120 (others 340)"."""
        kind, level = self.feature.kind, self.feature.level
        name = f"{self.feature.name}={level}" if level else self.feature.name
        return f"{name} {say_value(self.inside, kind)} (others {say_value(self.outside, kind)})"


def find_traits(
    table: Table,
    labels: IntArray,
    clusters: IntArray,
    weights: Floats | None = None,
    spread: Spread | None = None,
) -> list[list[Trait]]:
    """Return the traits of some clusters, the strongest first.

    Parameters
    ----------
    table : Table
        A sample of rows.
    labels : array of int
        Cluster of each row of the sample.
    clusters : array of int
        The clusters to describe.
    weights : array of float, optional
        How many rows of the data each row of the sample stands for.
    spread : Spread, optional
        What ``measure_spread`` returned for the table, if it is known from another call.

    Returns
    -------
    traits : list of list of Trait
        At most 8 for each of ``clusters``, each of another column of the table. A cluster of all rows has none.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from cohirf.description import find_traits, read_table
    >>> X = pd.DataFrame({"age": [61, 64, 23, 25, 61], "region": ["north", "south", "north", "south", "north"]})
    >>> traits = find_traits(read_table(X, np.arange(5)), np.array([0, 0, 1, 1, 0]), np.array([0, 1]))
    >>> [trait.values for trait in traits[1]]
    ['age 24 (others 62)', 'region=south 50% (others 33%)']
    >>> traits[1][0].phrase
    'younger'
    """
    if table.values.shape[1] == 0 or len(table.rows) == 0:
        return [[] for _ in clusters]
    spread = measure_spread(table.values, weights) if spread is None else spread
    block = max(1, BLOCK_CELLS // table.values.shape[1])
    found = []
    for start in range(0, len(clusters), block):
        some = clusters[start : start + block]
        effects = measure_effects(table.values, spread, labels, some, weights)
        found += _list_traits(table.features, effects, _find_middle(table, spread, effects))
    return found


def find_traits_of_unions(
    table: Table, labels: IntArray, unions: Sequence[Sequence[int]], weights: Floats
) -> list[list[Trait]]:
    """Return the traits of unions of clusters from one pass over the rows; none is in the middle of a feature."""
    if table.values.shape[1] == 0 or len(table.rows) == 0:
        return [[] for _ in unions]
    spread = measure_spread(table.values, weights)
    clusters = np.arange(int(labels.max(initial=-1)) + 1)
    effects = compare(spread, measure_parts(table.values, spread, labels, clusters, weights).unite(unions))
    return _list_traits(table.features, effects, np.zeros(effects.effect.shape, dtype=bool))


def _find_middle(table: Table, spread: Spread, effects: Effects) -> NDArray[np.bool_]:
    """Return in which numbers each cluster is in the middle of all rows, and narrow: a matrix, as of the effects."""
    is_number = np.array([feature.kind == "number" for feature in table.features])
    room = np.minimum(effects.mean - spread.low, spread.high - effects.mean)
    is_inside = room >= MIDDLE_DISTANCE * spread.deviation
    is_narrow = (np.abs(effects.effect) < MIDDLE_EFFECT) & (effects.narrowness > MIDDLE_NARROWNESS)
    return np.asarray(is_number & is_inside & is_narrow)


def _list_traits(features: list[Feature], effects: Effects, is_middle: NDArray[np.bool_]) -> list[list[Trait]]:
    return [_traits_of(features, effects, is_middle, place) for place in range(len(effects.n_rows))]


def _traits_of(features: list[Feature], effects: Effects, is_middle: NDArray[np.bool_], place: int) -> list[Trait]:
    """Return the traits of the cluster in row ``place`` of ``effects``."""
    is_level = np.array([feature.kind == "level" for feature in features])
    effect, middle = effects.effect[place], is_middle[place]
    strength = np.where(middle, effects.narrowness[place], np.abs(effect))
    strength[is_level & (effect < 0)] *= LACK
    traits: dict[str, Trait] = {}
    for column in np.argsort(-strength, kind="stable").tolist():
        feature = features[column]
        if len(traits) == N_TRAITS or strength[column] <= 0:
            break
        if feature.name in traits or (feature.kind == "term" and effect[column] < 0):
            continue  # one trait of each category; a word that a cluster lacks says little about it
        traits[feature.name] = Trait(
            feature,
            float(effect[column]),
            float(effects.mean[place, column]),
            float(effects.mean_elsewhere[place, column]),
            float(strength[column]),
            bool(middle[column]),
        )
    return list(traits.values())
