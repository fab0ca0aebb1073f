"""What sets clusters apart: means of their rows compared with those of other rows, and the
strongest as traits.

A cluster is compared with all other rows, and with its sibling alone: the branch that it merges
with in the tree.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isclose
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from cohirf.app.explain.facts import Fact
from cohirf.app.explain.policy import LEVEL, SAMPLE, TRAIT
from cohirf.app.explain.table import Feature, Sets, Sums, Table, as_dense
from cohirf.app.explain.words import (
    join_levels,
    plain_name,
    say_level,
    say_number,
    split_number,
    splits_plainly,
)
from cohirf.rows import FloatArray, IntArray, row_blocks


@dataclass(frozen=True)
class Effects:
    """How clusters differ from other rows: one row per cluster, one column per feature."""

    n_rows: IntArray  # of each cluster in the sample
    mean: FloatArray  # over the rows of the cluster; NaN if all of their cells are missing
    mean_elsewhere: FloatArray  # over all other rows
    # the difference of the two means, in standard deviations of all rows; 0 for constant features,
    # if too few of the cells of the cluster are known, or if it has all that are known
    effect: FloatArray
    # one minus the standard deviation in the cluster, in those of all rows: near to 1 if the values
    # of the cluster are much closer together than those of all rows; at least 0, and 0 where
    # ``effect`` is undefined
    narrowness: FloatArray


def compare_sums(table: Table, parts: Sums) -> Effects:
    """Compare clusters with all other rows of a table, given the sums of their rows."""
    whole = table.whole
    deviation = table.deviation
    has_others = parts.n_rows[:, None] < whole.n_rows
    others = np.where(has_others, whole.mass - parts.mass, 0)
    inside = parts.mean()
    outside = (whole.total - parts.total) / np.where(others > 0, others, 1)
    comparable = parts.is_known & (others > 0) & (deviation > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = np.where(comparable, (inside - outside) / deviation, 0)
        narrowness = np.where(comparable, np.maximum(1 - parts.deviation() / deviation, 0), 0)
    # rounding must not leave the range: a share of -1e-17 would be written as -0%
    mean, elsewhere = (np.clip(table.origin + mean, *table.limits) for mean in (inside, outside))
    mean = np.where(parts.mass > 0, mean, np.nan)
    return Effects(parts.n_rows, mean, elsewhere, effect, narrowness)


def measure_effects(table: Table, labels: IntArray, clusters: IntArray) -> Effects:
    """Compare each of ``clusters`` with all other rows."""
    return compare_sums(table, table.sum_up(labels, clusters[:, None].tolist()))


@dataclass(frozen=True)
class Trait:
    """A feature that sets a cluster apart.

    Attributes
    ----------
    feature : Feature
        The feature.
    effect : float
        Difference between the mean in the cluster and the mean of all other rows, in standard
        deviations of all rows.
    inside, outside : float
        Mean in the cluster, and mean of all other rows; shares of rows, if the feature is a level
        of a category. Of a trait that splits the cluster from its sibling, ``outside`` is about the
        sibling.
    strength : float
        How much the trait sets the cluster apart: the absolute effect, or 0.7 times that for a
        level that the cluster lacks; for a trait in the middle, how much closer together its values
        are than those of all rows.
    is_middle : bool
        Whether the values are in the middle of those of all rows.
    span : str
        If neighbours in a series have the same trait: all of them, such as "1969 to 1971".
    is_value : bool
        Whether the mean is said, too, because the sibling has the same words.
    is_own_value : bool
        Whether all rows of the cluster have the same value, which no other row has.
    """

    feature: Feature
    effect: float
    inside: float
    outside: float
    strength: float
    is_middle: bool = False
    span: str = ""
    is_value: bool = False
    is_own_value: bool = False

    @cached_property
    def phrase(self) -> str:
        """The trait in a few words, such as "low spend"."""
        if self.feature.kind == "level":
            return say_level(self.feature, self.inside, self.outside)
        if self.is_own_value:
            return f"{self.feature.plain}: {self.feature.say(self.inside)}"
        if self.is_value or not self.span:
            name = self.feature.plain
        else:
            name = f"{self.feature.noun} {self.span}".strip()
        if self.feature.kind == "term" and self.effect > 0:
            return name
        if self.is_middle:
            said = f"medium {name}"
        else:
            said = say_number(name, self.feature.kind, is_high=self.effect > 0)
        if self.is_value:
            return f"{said} (mean {self.feature.say(self.inside)})"
        return said

    @cached_property
    def fact(self) -> Fact:
        """What the phrase claims of the rows of the cluster."""
        feature = self.feature
        if feature.kind == "level":
            return self._claim(self.phrase, "is")
        if self.is_own_value:
            return replace(self._claim(self.phrase, "is"), statistic="own value")
        if self.is_middle:
            return self._claim(self.phrase, "near")
        return self._claim(self.phrase, "above" if self.effect > 0 else "below")

    @cached_property
    def value_fact(self) -> Fact:
        """The mean without a comparison; of a level, what the phrase claims."""
        if self.feature.kind == "level":
            return self.fact
        value = self.feature.say(self.inside)
        return self._claim(f"{self.feature.plain} {value} on average", "is")

    def _claim(self, words: str, relation: str) -> Fact:
        feature = self.feature
        return Fact(
            words,
            "share" if feature.kind == "level" else "mean",
            self.inside,
            columns=(feature.name,),
            levels=feature.levels,
            relation=relation,
            compared_with="" if relation == "is" else "all other rows",
        )

    @property
    def is_lack(self) -> bool:
        """Whether the trait says which level the cluster lacks, and not which one it has."""
        return self.feature.kind == "level" and self.effect < 0 and not self.feature.opposite

    @property
    def is_of_all(self) -> bool:
        """Whether the trait is a level that all rows of the cluster have, or nearly all, and hardly
        any other row.
        """
        is_their_own = self.inside >= LEVEL.nearly_all and self.outside <= LEVEL.hardly
        return self.feature.kind == "level" and (self.inside >= LEVEL.all_have or is_their_own)

    @property
    def is_rare(self) -> bool:
        """Whether the trait is a level that few rows of the cluster have, even if fewer others
        do.
        """
        return self.feature.kind == "level" and self.effect > 0 and self.inside < LEVEL.rare

    @cached_property
    def values(self) -> str:
        """The feature with its values inside and outside, such as "spend 120 (others 340)"."""
        level = self.feature.level
        say = self.feature.say
        name = f"{self.feature.name}={level}" if level else self.feature.name
        return f"{name} {say(self.inside)} (others {say(self.outside)})"


def find_traits(table: Table, labels: IntArray, clusters: IntArray) -> list[list[Trait]]:
    """Return the traits of some clusters, the strongest first: at most 8, each of another column of
    the table.
    """
    return find_traits_of_sets(table, labels, clusters[:, None].tolist())


def find_traits_of_sets(table: Table, labels: IntArray, sets: Sets) -> list[list[Trait]]:
    """Return the traits of sets of clusters, such as the branches of a tree."""
    if table.values.shape[1] == 0 or len(table.rows) == 0:
        return [[] for _ in sets]
    series = Series.of(table.features)
    likeness = Likeness(table, labels)
    found = []
    for effects, is_middle in _compare_sets(table, labels, sets):
        effects = replace(effects, effect=_without_between(table.features, effects))
        places = range(len(effects.n_rows))
        found += [
            _traits_of(table.features, series, likeness, effects, is_middle, place)
            for place in places
        ]
    return [
        [_with_own_value(table, labels, some, trait) for trait in traits]
        for some, traits in zip(sets, found, strict=True)
    ]


def _with_own_value(table: Table, labels: IntArray, some: Sequence[int], trait: Trait) -> Trait:
    """Return a trait of some clusters; of a number, with whether all their rows have one value,
    which no other row has.
    """
    if trait.feature.kind != "number":
        return trait
    is_here = np.isin(labels, some)
    is_own = _has_own_value(table, table.features.index(trait.feature), is_here)
    return replace(trait, is_own_value=is_own)


def _has_own_value(table: Table, column: int, is_here: NDArray[np.bool_]) -> bool:
    """Return whether several rows all have one value of a number, which no other row has."""
    if is_here.sum() < TRAIT.rows_per_value or is_here.all():
        return False
    cells = as_dense(table.values[:, [column]])[:, 0]
    own = cells[is_here]
    if own.min() < own.max() or (cells[~is_here] == own[0]).any():
        return False
    return table.known is None or bool(table.known[is_here, column].all())


def _compare_sets(
    table: Table, labels: IntArray, sets: Sets
) -> Iterator[tuple[Effects, NDArray[np.bool_]]]:
    """Yield how blocks of sets of clusters differ from other rows, and in which features they are
    in the middle.

    What only a few huge numbers say has no effect.
    """
    without_tails = _cut_tails(table)
    span = _find_span(table, labels)
    for block in row_blocks(len(sets), max(1, SAMPLE.block_cells // table.values.shape[1])):
        effects, of_most = (
            compare_sums(one, one.sum_up(labels, sets[block])) for one in (table, without_tails)
        )
        effect, without = effects.effect, of_most.effect
        kept = np.minimum(np.abs(effect), TRAIT.faint) * (1 - TRAIT.rounding)
        is_of_tails = (effect * without <= 0) | (np.abs(without) < kept)
        effects = replace(effects, effect=np.where(is_of_tails, 0, effect))
        yield effects, _find_middle(table, effects, span)


def find_phrases(table: Table, labels: IntArray, clusters: IntArray) -> list[set[str]]:
    """Return all phrases that are true of each of some clusters, however little they set it
    apart.
    """
    if table.values.shape[1] == 0 or len(table.rows) == 0:
        return [set() for _ in clusters]
    series = Series.of(table.features)
    found = [
        _phrases_of(table.features, series, effects, is_middle, place)
        for effects, is_middle in _compare_sets(table, labels, clusters[:, None].tolist())
        for place in range(len(effects.n_rows))
    ]
    for phrases, cluster in zip(found, clusters.tolist(), strict=True):
        phrases |= _say_own_values(table, labels == cluster)
    return found


def _say_own_values(table: Table, is_here: NDArray[np.bool_]) -> set[str]:
    """Return the values that all of some rows have, and no other row."""
    columns = np.flatnonzero(_is_kind(table.features, "number")).tolist()
    own = [column for column in columns if _has_own_value(table, column, is_here)]
    first = int(is_here.argmax())
    return {
        f"{table.features[column].plain}: {table.features[column].say(table.values[first, column])}"
        for column in own
    }


def _phrases_of(
    features: list[Feature],
    series: Series,
    effects: Effects,
    is_middle: NDArray[np.bool_],
    place: int,
) -> set[str]:
    """Return the phrases that are true of the cluster in row ``place`` of ``effects``."""
    effect = effects.effect[place]
    middle = is_middle[place]
    inside = effects.mean[place]
    outside = effects.mean_elsewhere[place]
    strength = np.where(middle, effects.narrowness[place], np.abs(effect))
    kind = np.where(middle, 0, np.sign(effect))
    found: set[str] = set()
    for column in np.flatnonzero(middle | (np.abs(effect) >= TRAIT.about)).tolist():
        feature = features[column]
        if feature.kind == "term" and effect[column] < 0:
            continue
        figures = (
            float(effect[column]),
            float(inside[column]),
            float(outside[column]),
            float(strength[column]),
        )
        trait = Trait(feature, *figures)
        span = _say_run(features, series.run(column, strength, kind))
        if abs(effect[column]) >= TRAIT.about:
            ways = [trait, replace(trait, span=span)]
        else:
            ways = []
        if middle[column]:  # what is in the middle of all values can still be higher than most
            ways += [replace(trait, is_middle=True), replace(trait, is_middle=True, span=span)]
        if feature.kind != "level":
            ways += [replace(way, is_value=True) for way in ways]
        if levels := _few_levels(features, column, inside, outside):
            of_levels = (
                abs(figures[0]),
                float(inside[levels].sum()),
                float(outside[levels].sum()),
                figures[3],
            )
            ways.append(Trait(_join_features(features, levels), *of_levels))
        found |= {way.phrase for way in ways} | {trait.value_fact.words}
    return found


def _cut_tails(table: Table) -> Table:
    """Return a table without long tails: a few huge numbers do not say what a cluster is."""
    columns = np.flatnonzero(_is_kind(table.features, "number"))
    if len(columns) == 0:  # so it is with sparse data, whose columns are terms or levels
        return table
    values = table.values.copy()
    low, high = np.quantile(values[:, columns], [0.25, 0.75], axis=0)
    reach = np.where(high > low, TRAIT.tail * (high - low), np.inf)
    values[:, columns] = np.clip(values[:, columns], low - reach, high + reach)
    return replace(table, values=values)


def _find_span(table: Table, labels: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the lowest and the highest mean of a cluster in each feature; NaN if none is known."""
    clusters = np.unique(labels[labels >= 0])
    n_features = table.values.shape[1]
    low = np.full(n_features, np.nan)
    high = np.full(n_features, np.nan)
    for block in row_blocks(len(clusters), max(1, SAMPLE.block_cells // n_features)):
        sums = table.sum_up(labels, clusters[block, None].tolist())
        means = np.where(sums.is_known, table.origin + sums.mean(), np.nan)
        low = np.fmin(low, np.fmin.reduce(means, axis=0))
        high = np.fmax(high, np.fmax.reduce(means, axis=0))
    return low, high


def _find_middle(
    table: Table, effects: Effects, span: tuple[FloatArray, FloatArray]
) -> NDArray[np.bool_]:
    """Return in which numbers each cluster is in the middle of all rows, and narrow: a matrix, as
    of the effects.

    Its mean is also in the middle half of those of all clusters, between the lowest and the highest
    one, ``span``, and clearly apart from both.
    """
    lowest, highest = span
    to_ends = np.minimum(effects.mean - lowest, highest - effects.mean)
    apart = np.maximum(TRAIT.about * table.deviation, TRAIT.middle_span * (highest - lowest))
    is_between = to_ends >= apart
    low, high = table.limits
    room = np.minimum(effects.mean - low, high - effects.mean)
    is_narrow = (np.abs(effects.effect) < TRAIT.middle_effect) & (
        effects.narrowness > TRAIT.middle_narrowness
    )
    is_number = _is_kind(table.features, "number") & is_between
    return np.asarray(is_number & is_narrow & (room >= TRAIT.middle_distance * table.deviation))


def _without_between(features: list[Feature], effects: Effects) -> FloatArray:
    """Return the effects, with 0 for a number that is a little high or low while some cluster is
    higher or lower.

    A cluster keeps them if fewer than two larger effects are left of it.
    """
    is_low = effects.effect < 0
    mean = effects.mean
    size = np.abs(effects.effect)
    is_outdone = np.where(is_low, mean > mean.min(axis=0), mean < mean.max(axis=0))
    is_between = _is_kind(features, "number") & (size < TRAIT.faint) & is_outdone
    is_plain = ((size >= TRAIT.faint) & ~is_between).sum(axis=1, keepdims=True) < 2
    return np.asarray(np.where(is_between & ~is_plain, 0, effects.effect))


@dataclass(frozen=True)
class Series:
    """Columns of numbers whose names differ by a number alone, in the order of these numbers."""

    members: list[list[int]]  # the columns of each series
    place: dict[int, tuple[int, int]]  # series of a column, and its place there

    @classmethod
    def of(cls, features: list[Feature]) -> Series:
        """Find the series among features; columns without a name of their own are none."""
        found: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for column, feature in enumerate(features):
            series, number = split_number(feature.name)
            # not x1, x2, x3
            if number and feature.kind == "number" and series != "feature" and len(series) != 1:
                found[series].append((int(number), column))
        members = [
            [column for _, column in sorted(some)]
            for some in found.values()
            if len(some) >= TRAIT.series_columns
        ]
        place = {
            column: (number, at)
            for number, some in enumerate(members)
            for at, column in enumerate(some)
        }
        return cls(members, place)

    def run(self, column: int, strength: FloatArray, kind: NDArray[Any]) -> list[int]:
        """Return a column and its neighbours with the same kind of trait, which are nearly as
        strong.
        """
        number, at = self.place.get(column, (-1, 0))
        some = np.array(self.members[number] if number >= 0 else [column])
        is_alike = (kind[some] == kind[column]) & (strength[some] >= TRAIT.alike * strength[column])
        others = np.flatnonzero(~is_alike)
        first = others[others < at].max(initial=-1) + 1
        last = others[others > at].min(initial=len(some))
        return [int(one) for one in some[first:last]]


class Likeness:
    """Whether two columns of numbers say the same: nearly all of one follows from the other, in
    each cluster too.
    """

    def __init__(self, table: Table, labels: IntArray) -> None:
        self.table = table
        n_rows = len(table.rows)
        self.some = np.arange(n_rows)[:: max(n_rows // TRAIT.likeness_rows, 1)]
        self.group = np.unique(labels[self.some], return_inverse=True)[1]
        self.columns: dict[int, FloatArray] = {}
        self.known: dict[tuple[int, int], bool] = {}

    def __call__(self, one: int, other: int) -> bool:
        """Return whether two columns say the same."""
        pair = min(one, other), max(one, other)
        if pair not in self.known:
            kinds = {self.table.features[column].kind for column in pair}
            is_known = kinds == {"number"} and len(self.some) >= TRAIT.correlated_rows
            self.known[pair] = is_known and (
                self._correlate(*pair) >= TRAIT.same_column or self._follow(*pair)
            )
        return self.known[pair]

    def _follow(self, one: int, other: int) -> bool:
        """Return whether each value of a column has one of the other, and the other way round."""
        first, second = (self.table.values[self.some][:, column] for column in (one, other))
        return write_order(first) == write_order(second)

    def _correlate(self, one: int, other: int) -> float:
        """Return the lower of the correlations of all rows and within clusters.

        0 if their signs differ.
        """
        of_all, within = (self._scaled(one) * self._scaled(other)).sum(axis=0).tolist()
        return min(abs(of_all), abs(within)) if of_all * within > 0 else 0.0

    def _scaled(self, column: int) -> FloatArray:
        """Return a column around its mean, and around the means of clusters, both of length 1."""
        if column not in self.columns:
            values = as_dense(self.table.values[self.some][:, [column]]).ravel()
            means = np.bincount(self.group, values) / np.bincount(self.group)
            both = np.stack([values - values.mean(), values - means[self.group]], axis=1)
            lengths = np.sqrt((both**2).sum(axis=0))
            self.columns[column] = np.divide(
                both, lengths, out=np.zeros_like(both), where=lengths > 0
            )
        return self.columns[column]


def write_order(cells: FloatArray) -> bytes:
    """Return what stays of a column in all that each of its values has one of, and the other way
    round: which rows are equal. If most values occur once, the order of the rows, up or down.
    """
    values, first, number = np.unique(cells, return_index=True, return_inverse=True)
    if 2 * len(values) > len(cells):
        turned = len(values) - 1 - number
        return max(number.tobytes(), turned.tobytes())
    place = np.empty(len(values), dtype=np.int64)
    place[np.argsort(first, kind="stable")] = np.arange(len(values))
    return place[number].tobytes()


def find_formulas(table: Table) -> list[list[str]]:
    """Return the columns that are formulas of each other: groups of numbers, and groups of
    categories, in which each value of one has one value of the others.

    None of columns that have gaps or hardly repeat a value, or of tables of very many columns.
    """
    kinds = {one.name: one.kind for one in table.features if one.kind in ("level", "number")}
    if not 1 < len(kinds) <= TRAIT.number_columns or len(table.rows) < TRAIT.correlated_rows:
        return []
    found: dict[tuple[str, bytes], list[str]] = defaultdict(list)
    for name, kind in kinds.items():
        places = [place for place, one in enumerate(table.features) if one.name == name]
        if table.known is not None and not table.known[:, places].all():
            continue
        if kind == "level":
            cells = _levels_of_rows(table, name).astype(np.float64)
            # a row of a rare level has none of those that are marked
            is_said = bool(table.features[places[0]].opposite) or bool(cells.all())
        else:
            cells = as_dense(table.values[:, places])[:, 0]
            is_said = True
        if is_said and 1 < len(np.unique(cells)) <= len(cells) / 2:
            found[kind, write_order(cells)].append(name)
    return [names for names in found.values() if len(names) > 1]


def count_values(table: Table, name: str) -> int:
    """Return how many values or levels a column has."""
    return len(np.unique(_levels_of_rows(table, name)))


def count_different(table: Table, without: Collection[str] = ()) -> tuple[list[str], int]:
    """Return the columns with levels or numbers, and how many different combinations of their cells
    there are; no columns if some cells were filled or have no feature.
    """
    places = [place for place, one in enumerate(table.features) if one.name not in without]
    names = dict.fromkeys(table.features[place].name for place in places)
    cells = as_dense(table.values[:, places])
    # of a boolean, one level is marked
    is_level = np.array(
        [
            table.features[place].kind == "level" and not table.features[place].opposite
            for place in places
        ],
        dtype=bool,
    )
    is_whole = table.known is None or bool(table.known[:, places].all())
    n_levels = len({table.features[place].name for place in np.array(places)[is_level].tolist()})
    has_all = bool((cells[:, is_level].sum(axis=1) == n_levels).all())
    kinds = {table.features[place].kind for place in places}
    if not places or not is_whole or not has_all or not kinds <= {"level", "number"}:
        return [], 0
    return [*names], len(np.unique(cells, axis=0))


def is_count(name: str) -> bool:
    """Return whether a column is called a number of cases."""
    return plain_name(name).lower() in {"freq", "frequency", "count", "counts", "n"}


def _say_run(features: list[Feature], run: list[int]) -> str:
    """Return columns of a series as "1969 to 1971"; nothing of a single one."""
    first, last = (features[run[end]].name for end in (0, -1))
    if len(run) == 1:
        return ""
    return f"{plain_name(first)} to {split_number(last)[1]}"


def _traits_of(
    features: list[Feature],
    series: Series,
    likeness: Likeness,
    effects: Effects,
    is_middle: NDArray[np.bool_],
    place: int,
) -> list[Trait]:
    """Return the traits of the cluster in row ``place`` of ``effects``."""
    effect = effects.effect[place]
    middle = is_middle[place]
    strength = np.where(middle, effects.narrowness[place], np.abs(effect))
    strength[_is_kind(features, "level") & (effect < 0)] *= LEVEL.lack
    kind = np.where(middle, 0, np.sign(effect))
    traits: dict[str, Trait] = {}
    spans: dict[int, str] = {}
    taken = Counter[int]()
    alone = list[int]()
    for column in np.argsort(-strength, kind="stable").tolist():
        feature, (number, _) = features[column], series.place.get(column, (-1, 0))
        if len(traits) == TRAIT.most or strength[column] <= 0:
            break
        if (
            feature.name in traits
            or (feature.kind == "term" and effect[column] < 0)
            or taken[number] == TRAIT.series_traits
        ):
            continue  # one trait of each category; a word that a cluster lacks says little about it
        if number < 0 and any(likeness(column, other) for other in alone):
            continue
        alone += [column] if number < 0 else []
        column = _level_of_all(features, column, effect, effects.mean[place])
        feature = features[column]
        taken[number] += number >= 0
        means = float(effects.mean[place, column]), float(effects.mean_elsewhere[place, column])
        if levels := _few_levels(
            features, column, effects.mean[place], effects.mean_elsewhere[place]
        ):
            feature = _join_features(features, levels)
            inside, outside = (
                float(mean[place, levels].sum()) for mean in (effects.mean, effects.mean_elsewhere)
            )
            # at least: that of all these levels together is larger
            size = abs(float(effect[column]))
            traits[feature.name] = Trait(feature, size, inside, outside, size)
            continue
        if column not in spans:
            run = series.run(column, strength, kind)
            spans |= dict.fromkeys(run, _say_run(features, run))
        traits[feature.name] = Trait(
            feature,
            float(effect[column]),
            *means,
            float(strength[column]),
            bool(middle[column]),
            spans[column],
        )
    return sorted(traits.values(), key=lambda trait: -trait.strength)


def _level_of_all(
    features: list[Feature], column: int, effect: FloatArray, mean: FloatArray
) -> int:
    """Return the level that nearly all rows have, if there is one, in place of a level that they
    lack.
    """
    if features[column].kind != "level" or effect[column] > 0:
        return column
    is_of_all = (mean >= LEVEL.of_all) & (effect > 0)
    levels = (
        place
        for place in np.flatnonzero(is_of_all).tolist()
        if features[place].name == features[column].name
    )
    return next(levels, column)


def _few_levels(
    features: list[Feature], column: int, inside: FloatArray, outside: FloatArray
) -> list[int]:
    """Return the few levels of a category of which nearly all rows have one, and hardly any other
    row, if there are.
    """
    if features[column].kind != "level":
        return []
    same = [
        place for place, feature in enumerate(features) if feature.name == features[column].name
    ]
    levels = [place for place in same if inside[place] >= LEVEL.common]
    is_theirs = inside[levels].sum() >= LEVEL.nearly_all and outside[levels].sum() <= LEVEL.hardly
    return levels if 1 < len(levels) <= LEVEL.several and is_theirs else []


def _join_features(features: list[Feature], levels: list[int]) -> Feature:
    """Return a few levels of a category as one."""
    names = tuple(features[one].level for one in levels)
    return replace(features[levels[0]], level=join_levels(names), joined=names)


def _is_kind(features: list[Feature], kind: str) -> NDArray[np.bool_]:
    return np.array([feature.kind == kind for feature in features], dtype=bool)


def find_splits(table: Table, labels: IntArray, sets: Sets, siblings: Sets) -> list[Trait | None]:
    """Return the feature that splits each set of clusters from its sibling most.

    None if there is none.
    """
    if table.values.shape[1] == 0 or len(table.rows) == 0:
        return [None for _ in sets]
    series = Series.of(table.features)
    of_clusters = _find_span(table, labels)
    found = []
    for block in row_blocks(len(sets), max(1, SAMPLE.block_cells // table.values.shape[1])):
        parts = table.sum_up(labels, [*sets[block], *siblings[block]])
        for place in range(len(parts.n_rows) // 2):
            both = parts.each(itemgetter([place, len(parts.n_rows) // 2 + place]))
            found.append(
                _find_split(table, series, both, of_clusters) if both.n_rows.min() else None
            )
    return [
        None if trait is None else _with_own_value(table, labels, some, trait)
        for some, trait in zip(sets, found, strict=True)
    ]


def _find_split(
    table: Table, series: Series, parts: Sums, of_clusters: tuple[FloatArray, FloatArray]
) -> Trait | None:
    """Return the feature that splits the first of two parts from the second most.

    It must be true of both among all rows: a large part is not "medium" because its sibling is one
    odd row.
    """
    features = table.features
    means = parts.mean()
    deviation = parts.each(lambda sums: sums.sum(axis=0, keepdims=True)).deviation()[0]
    difference = (means[0] - means[1]) / np.where(
        deviation > 1e-6 * table.deviation, deviation, np.inf
    )
    strength = np.where(parts.is_known.all(axis=0), np.abs(difference), 0)
    is_level = _is_kind(features, "level")
    strength[is_level & (difference < 0)] *= LEVEL.lack
    strength[_is_kind(features, "term") & (difference < 0)] = 0
    effects = compare_sums(table, parts)
    is_middle = _find_middle(table, effects, of_clusters)
    position = np.where(
        is_middle | (np.abs(effects.effect) < TRAIT.about), 0, np.sign(effects.effect)
    )
    is_same = position[0] == position[1]
    is_placed = ((position != 0) | is_middle).all(axis=0)
    # of features that split about as well, one that also sets both apart from all other rows, in
    # words, says more
    salience = (TRAIT.about + np.abs(effects.effect).min(axis=0)) * np.where(
        is_same & ~is_level, TRAIT.value, 1
    )
    score = np.where(strength >= TRAIT.alike * strength.max(), strength * salience, 0)
    for column in np.argsort(-score, kind="stable")[: TRAIT.tried].tolist():
        feature, (inside, outside) = features[column], effects.mean[:, column].tolist()
        is_plain = is_same[column] or is_placed[column]
        if is_level[column]:
            is_true = splits_plainly(feature, inside, outside)
        else:
            is_true = is_plain
        if strength[column] >= TRAIT.split and score[column] > 0 and is_true:
            column = _level_of_all(features, column, effects.effect[0], effects.mean[0])
            feature, (inside, outside) = features[column], effects.mean[:, column].tolist()
            figures = float(effects.effect[0, column]), inside, outside, float(strength[column])
            if levels := _few_levels(features, column, effects.mean[0], effects.mean_elsewhere[0]):
                feature = _join_features(features, levels)
                inside, outside = effects.mean[:, levels].sum(axis=1).tolist()
                return Trait(feature, abs(figures[0]), inside, outside, figures[-1])
            span = _say_run(features, series.run(column, strength, np.sign(difference)))
            is_value = bool(is_same[column] and not is_level[column])
            return Trait(feature, *figures, bool(position[0, column] == 0), span, is_value)
    return None


def find_difference(table: Table, labels: IntArray, one: int, other: int) -> Trait | None:
    """Return the feature in which the means of two clusters differ most, in standard deviations.

    None if they do not differ, or if they may differ more in a column many of whose cells are
    missing. ``outside`` is the mean of the other cluster.
    """
    if not table.features or not len(table.rows):
        return None
    parts = table.sum_up(labels, [[one], [other]])
    has_mean = (parts.mass > 0).all(axis=0) & (table.deviation > 0)
    first, second = parts.mean()
    away = np.where(has_mean, first - second, 0) / np.where(has_mean, table.deviation, 1)
    column = int(np.abs(away).argmax())
    is_known = np.broadcast_to(parts.is_known, (2, len(away)))[:, column].all()
    if np.abs(away[column]) < TRAIT.about or not is_known:
        return None
    inside, outside = as_dense(table.origin + parts.mean())[:, column].tolist()
    effect = float(away[column])
    return Trait(table.features[column], effect, inside, outside, abs(effect))


@dataclass(frozen=True)
class Followed:
    """A column whose levels clusters nearly follow.

    Attributes
    ----------
    column : str
        The column: a category, or numbers with few values.
    share : float
        Share of the rows that are in the cluster in which most rows of their level are; or that
        have the level that most rows of their cluster have.
    tells_cluster : bool
        Whether the level tells the cluster; otherwise, the cluster tells the level.
    """

    column: str
    share: float
    tells_cluster: bool


def find_followed(table: Table, labels: IntArray) -> Followed | None:
    """Return the column whose levels clusters follow most, if there is one.

    The level tells the cluster of nearly all rows, or the cluster the level, and then most clusters
    have a level of their own.
    """
    clusters, cluster = np.unique(labels[labels >= 0], return_inverse=True)
    if len(clusters) < 2:
        return None
    weights = np.ones(len(labels)) if table.weights is None else table.weights
    weights = weights[labels >= 0]
    found = []
    numbers = {feature.name for feature in table.features if feature.kind == "number"}
    for column in list_leveled(table):
        codes = np.unique(_levels_of_rows(table, column)[labels >= 0], return_inverse=True)[1]
        n_levels = int(codes.max()) + 1
        if not 1 < n_levels <= len(codes) // TRAIT.rows_per_value:
            continue
        pairs = np.bincount(cluster * n_levels + codes, weights, minlength=len(clusters) * n_levels)
        counts = pairs.reshape(len(clusters), n_levels) / weights.sum()
        # each of many levels has few rows, which are in one cluster for many reasons; clusters can
        # be a cut of numbers
        is_few = column in numbers or n_levels <= 2 * len(clusters)
        if is_few and (share := _tell(counts)) is not None:
            found.append(Followed(column, share, True))
        n_own = len(np.unique(counts.argmax(axis=1)))
        if 2 * n_own > len(clusters) and (share := _tell(counts.T)) is not None:
            found.append(Followed(column, share, False))
    return max(found, key=lambda one: (one.tells_cluster, one.share), default=None)


def _tell(counts: FloatArray) -> float | None:
    """Return the share of the rows whose line the column of a table of shares tells, if it tells
    much more than that all are in the largest line.
    """
    share = min(float(counts.max(axis=0).sum()), 1.0)
    largest = float(counts.sum(axis=1).max())
    return share if 1 - share <= (1 - TRAIT.told) * (1 - largest) else None


def find_missing(table: Table, labels: IntArray, cluster: int) -> tuple[list[str], float]:
    """Return the columns whose cells are missing in nearly all rows of a cluster, and in hardly any
    other row; and in which share of its rows all of these are missing.
    """
    is_here = labels == cluster
    if table.known is None or is_here.all() or not is_here.any():
        return [], 0.0
    weights = np.ones(len(labels)) if table.weights is None else table.weights
    inside = np.average(~table.known[is_here], axis=0, weights=weights[is_here])
    outside = np.average(~table.known[~is_here], axis=0, weights=weights[~is_here])
    is_missing = (inside >= LEVEL.nearly_all) & (outside <= LEVEL.hardly)
    columns = np.flatnonzero(is_missing)
    names = dict.fromkeys(table.features[column].name for column in columns.tolist())
    all_missing = ~table.known[is_here][:, columns].any(axis=1)
    return [*names], float(np.average(all_missing, weights=weights[is_here]))


def agree_with_levels(table: Table, labels: IntArray, names: Sequence[str]) -> tuple[float, int]:
    """Return the adjusted Rand index of clusters and the combined levels of columns, of the rows
    that are in a cluster, and how many combinations there are in all rows.
    """
    groups = _combine_levels(table, names)
    is_in = labels >= 0
    return float(adjusted_rand_score(labels[is_in], groups[is_in])), len(np.unique(groups))


def _combine_levels(table: Table, names: Sequence[str]) -> IntArray:
    """Return the number of the combination of levels that each row has in some columns."""
    groups = np.zeros(len(table.rows), dtype=np.int64)
    for name in names:
        codes = _levels_of_rows(table, name)
        groups = groups * (int(codes.max()) + 1) + codes
    return groups


def _levels_of_rows(table: Table, name: str) -> IntArray:
    """Return the number of the level or the value that each row has in a column; 0 if it has
    none.
    """
    places = [column for column, feature in enumerate(table.features) if feature.name == name]
    cells = as_dense(table.values[:, places])
    if table.features[places[0]].kind == "level":
        codes = cells.argmax(axis=1) + 1
        has_level = cells.max(axis=1) > 0
    else:
        codes = np.unique(cells[:, 0], return_inverse=True)[1] + 1
        has_level = np.ones(len(cells), dtype=bool)
    if table.known is not None:
        has_level &= table.known[:, places].all(axis=1)
    return np.where(has_level, codes, 0)


def list_leveled(table: Table) -> list[str]:
    """Return the names of columns with levels: categories, and then numbers with few values.

    Not those of which many cells were filled.
    """
    is_known = np.ones(len(table.features), dtype=bool)
    if table.known is not None:
        is_known = table.known.mean(axis=0) >= TRAIT.known
    places = np.flatnonzero(is_known).tolist()
    kinds = [(place, table.features[place].kind) for place in places]
    names = dict.fromkeys(table.features[place].name for place, kind in kinds if kind == "level")
    numbers = [place for place, kind in kinds if kind == "number"]
    if len(numbers) <= TRAIT.number_columns:
        names |= {
            table.features[place].name: None for place in numbers if _has_few_values(table, place)
        }
    return [*names]


def _has_few_values(table: Table, column: int) -> bool:
    """Return whether a column of numbers has so few values that they are levels."""
    cells = as_dense(table.values[:, [column]])[:, 0]
    if table.known is not None:
        cells = cells[table.known[:, column]]
    return 1 < len(np.unique(cells)) <= min(TRAIT.values, len(cells) // TRAIT.rows_per_value)


def find_repeated(table: Table, labels: IntArray, besides: Collection[str] = ()) -> tuple[str, ...]:
    """Return the columns whose combined levels are nearly the same groups of rows: one, or up to
    five of them, categories or numbers with few values, but not those ``besides``.

    Rows in no cluster do not count.
    """
    names = [name for name in list_leveled(table) if name not in besides]
    levels = {name: _levels_of_rows(table, name)[labels >= 0] for name in names}
    labels = labels[labels >= 0]
    found: tuple[str, ...] = ()
    nearly: tuple[str, ...] = ()
    groups = np.zeros(len(labels), dtype=np.int64)
    best = 0.0
    while levels and len(found) < TRAIT.combined and not isclose(best, 1):
        crossed = {name: groups * (int(codes.max()) + 1) + codes for name, codes in levels.items()}
        alike = {name: float(adjusted_rand_score(labels, codes)) for name, codes in crossed.items()}
        nearest = sorted(alike, key=alike.__getitem__, reverse=True)[: TRAIT.tried_categories]
        if alike[nearest[0]] <= best:
            break
        found = (*found, nearest[0])
        groups = crossed[nearest[0]]
        best = alike[nearest[0]]
        levels = {name: levels[name] for name in nearest[1:]}
        # one column is said rather than two that are hardly nearer, but not if two are the clusters
        nearly = nearly or (found if best >= TRAIT.repeated else ())
    return found if isclose(best, 1) else nearly


def find_same(table: Table, names: Sequence[str]) -> tuple[str, ...]:
    """Return the other columns that nearly say the same as the given ones together, or as one of
    them, such as the title of a code: without the given ones, these still do.
    """
    found: tuple[str, ...] = ()
    looked_for = [tuple(names), *((name,) for name in names)]
    for some in looked_for:
        levels = _combine_levels(table, some)
        while same := find_repeated(table, levels, besides=(*names, *found)):
            found = (*found, *same)
            looked_for += [(name,) for name in same]
    return found
