"""Traits: the features that set each cluster apart from all other rows, with their values inside and outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.grouping import IntArray
from cohirf.description.table import Feature, Table
from cohirf.description.words import plain_name, say_level, say_number, say_value
from cohirf.diagnosis.effects import Effects, Spread, measure_effects, measure_spread

BLOCK_CELLS = 2**21  # clusters times features that are compared at a time
N_TRAITS = 8  # of each cluster
EMPTY = 1e-9  # share of the rows below which nothing is left outside of a union
LACK = 0.7  # the level that a cluster has says more about it than the levels that it lacks
# A cluster in the middle of a feature differs from others by its narrowness, not by its mean. It is in the middle if
# its mean is this many standard deviations away from the lowest and the highest value.
MIDDLE_EFFECT, MIDDLE_NARROWNESS, MIDDLE_DISTANCE = 0.8, 0.5, 0.8


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
    weights: NDArray[np.float64] | None = None,
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
    >>> from cohirf.description.table import read_table
    >>> from cohirf.description.traits import find_traits
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
        is_middle = _find_middle(table, spread, effects)
        found += [_traits_of(table.features, effects, is_middle, place) for place in range(len(some))]
    return found


def find_traits_of_unions(
    table: Table, labels: IntArray, unions: Sequence[Sequence[int]], weights: NDArray[np.float64]
) -> list[list[Trait]]:
    """Return the traits of unions of clusters, such as the branches of a tree, from one pass over the rows.

    Parameters
    ----------
    table : Table
        A sample of rows.
    labels : array of int
        Cluster of each row of the sample; -1 for noise.
    unions : sequence of sequence of int
        The clusters of each union.
    weights : array of float
        How many rows of the data each row of the sample stands for.

    Returns
    -------
    traits : list of list of Trait
        At most 8 for each union. None of them is in the middle of a feature.
    """
    if table.values.shape[1] == 0 or len(table.rows) == 0:
        return [[] for _ in unions]
    spread = measure_spread(table.values, weights)
    n_labels = int(labels.max(initial=-1)) + 1
    parts = measure_effects(table.values, spread, labels, np.arange(n_labels), weights)
    mass = np.bincount(labels[labels >= 0], weights=weights[labels >= 0], minlength=n_labels)
    nothing = np.zeros((1, table.values.shape[1]))
    found = []
    for union in unions:
        some = np.asarray(union, dtype=np.int64)
        inside, outside = mass[some].sum(), weights.sum() - mass[some].sum()
        sums = mass[some] @ parts.mean[some]
        mean, elsewhere = sums / max(inside, 1e-300), (spread.total - sums) / max(outside, 1e-300)
        comparable = (spread.deviation > 0) & (inside > 0) & (outside > EMPTY * weights.sum())
        effect = np.where(comparable, mean - elsewhere, 0) / np.where(spread.deviation > 0, spread.deviation, 1)
        effects = Effects(np.array([0]), mean[None], elsewhere[None], effect[None], nothing)
        found.append(_traits_of(table.features, effects, nothing.astype(bool), 0))
    return found


def _find_middle(table: Table, spread: Spread, effects: Effects) -> NDArray[np.bool_]:
    """Return in which numbers each cluster is in the middle of all rows, and narrow: a matrix, as of the effects."""
    is_number = np.array([feature.kind == "number" for feature in table.features])
    room = np.minimum(effects.mean - spread.low, spread.high - effects.mean)
    is_inside = room >= MIDDLE_DISTANCE * spread.deviation
    is_narrow = (np.abs(effects.effect) < MIDDLE_EFFECT) & (effects.narrowness > MIDDLE_NARROWNESS)
    return np.asarray(is_number & is_inside & is_narrow)


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
