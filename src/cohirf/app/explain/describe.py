"""What each cluster and each branch of a model is, in words: names, sizes, traits, and the headline
of a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from itertools import permutations
from math import isclose
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf import Choice, CoHiRF
from cohirf.app.explain.diagnose import ALONE, EITHER, Diagnosis
from cohirf.app.explain.effects import (
    Followed,
    Trait,
    agree_with_levels,
    count_different,
    count_values,
    find_difference,
    find_formulas,
    find_missing,
    find_phrases,
    find_splits,
    find_traits,
    find_traits_of_sets,
    is_count,
    list_leveled,
)
from cohirf.app.explain.facts import Fact
from cohirf.app.explain.policy import BETWEEN, SAMPLE, TRAIT, WORD
from cohirf.app.explain.rows import BadlyFitting, find_badly_fitting
from cohirf.app.explain.study import Sample, Study, add_rare, draw, draw_sample, make_study
from cohirf.app.explain.table import Table, as_dense, read_table, set_far_aside
from cohirf.app.explain.words import (
    choose_names,
    is_true,
    join_words,
    name_clusters,
    shorten,
    uncapitalised,
)
from cohirf.app.preparation import Boolean, Category, LeftOut
from cohirf.app.preparation.decide import BLOCKS, NAMED
from cohirf.hierarchy import (
    STROKES,
    Node,
    Outline,
    find_siblings,
    make_outline,
    to_frame,
    write_branches,
)
from cohirf.inspection import MergeTree, cluster_positions, remedies_for
from cohirf.rows import BLOCK_ROWS, IntArray, count_with_noise, row_blocks
from cohirf.wording import count_of, number_repeated, percent


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
        Mean of ``stability_`` over its rows, how well the views agreed; NaN if it is not known of
        any row.
    exemplar : int
        Row number of its most central row.
    exemplar_values : dict of str to object
        The values of this row, in the units of the described data.
    traits : list of Trait
        What sets it apart from all other rows, the strongest first.
    facts : tuple of Fact
        What the name says, in a form that can be computed again; empty of a name from before an
        update.
    """

    label: int
    name: str
    size: int
    share: float
    stability: float
    exemplar: int
    exemplar_values: dict[str, Any]
    traits: list[Trait]
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True)
class Part:
    """Clusters that merge into one near the top of the tree.

    Attributes
    ----------
    labels : tuple of int
        The clusters.
    size : int
        Number of rows.
    name : str
        What sets them apart together, in a few words.
    facts : tuple of Fact
        What the name says.
    """

    labels: tuple[int, ...]
    size: int
    name: str
    facts: tuple[Fact, ...]


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
    repeated : tuple of str
        Up to five columns whose combined levels are nearly the same groups, categories or numbers
        with few values; empty if there are none.
    followed : tuple of str
        The column whose levels the clusters nearly follow, if they repeat none; empty if there is
        none.
    same : tuple of str
        The columns that say the same as those: without one alone, the others still do.
    facts : tuple of Fact
        What is said about all clusters together: in what two of them differ most, and which columns
        they follow or repeat.
    parts : tuple of Part
        Of many clusters, the few that they merge into, the largest first; empty if that is not
        known.
    study : Study, optional
        The subject of the description, which has the data.
    found : BadlyFitting, optional
        Rows that fit badly, if they were sought before.
    """

    model: CoHiRF
    clusters: list[ClusterDescription]
    sizes: IntArray
    stability: NDArray[np.float64]
    n_rows: int
    n_noise: int
    n_sampled: int
    repeated: tuple[str, ...] = ()
    followed: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    parts: tuple[Part, ...] = ()
    study: Study | None = field(default=None, repr=False, compare=False)
    found: BadlyFitting | None = field(default=None, repr=False, compare=False)

    @cached_property
    def badly_fitting(self) -> BadlyFitting:
        """The least typical rows of each cluster, and the rows between two clusters."""
        return self.found or find_badly_fitting(self.model, study=self.study)

    def name(self, label: int) -> str:
        """Return the name of a cluster: its number, if it is not among those that are described."""
        return self._names.get(label, f"cluster {label}")

    @cached_property
    def _names(self) -> dict[int, str]:
        return {cluster.label: cluster.name for cluster in self.clusters}

    def name_noise(self, data: Any) -> list[str]:
        """Return the names of the rows that are noise.

        An empty list if they are many, or have no names.
        """
        if (
            data is None
            or data.source.n_rows != self.n_rows
            or not 0 < self.n_noise <= WORD.named_rows
        ):
            return []
        names: list[str] = data.name_rows(
            np.flatnonzero(np.asarray(self.model.labels_) < 0).tolist()
        )
        return names

    def to_frame(self) -> Any:
        """Return a pandas table with one row for each cluster.

        A last row for noise, if there is any.
        """
        return tabulate(self, "to_frame")


def tabulate(found: Description, user: str) -> Any:
    """Return a description as a pandas table; ``user`` is what the caller has called."""
    labels = found.model.cluster_numbers_.tolist()
    traits = {cluster.label: cluster.traits[: WORD.table_traits] for cluster in found.clusters}
    columns: dict[str, list[Any]] = {
        "cluster": list(labels),
        "name": [found.name(label) for label in labels],
        "size": found.sizes.tolist(),
        "share": (found.sizes / found.n_rows).tolist(),
        "stability": found.stability.tolist(),
        "exemplar": found.model.exemplar_indices_.tolist(),
        "features": [
            "; ".join(trait.values for trait in traits.get(label, ())) for label in labels
        ],
    }
    noise = [-1, "noise", found.n_noise, found.n_noise / found.n_rows, np.nan, None, ""]
    for column, value in zip(
        columns.values(), noise if found.n_noise else (), strict=bool(found.n_noise)
    ):
        column.append(value)
    return to_frame(columns, "cluster", user).astype({"exemplar": "Int64"})


def describe_clusters(
    model: CoHiRF,
    X: Any = None,
    feature_names: Sequence[str] | None = None,
    preparation: Any = None,
) -> Description:
    """Describe the final clusters of a model.

    Parameters
    ----------
    model : CoHiRF
        The fitted model; its labels must be in this process.
    X : array, table, sparse matrix, source or Prepared, shape (n_samples, any), optional
        The rows of the fit in the same order: the data of the fit, what ``prepare`` returned, or
        the table that it was made from, whose columns may be numbers, categories, text, dates or
        truth values. At most 100,000 rows are read, and some of each cluster. By default, the
        clusters are described by the rows that the model stores for ``predict``.
    feature_names : sequence of str, optional
        Names of the columns, if ``X`` has none.
    preparation : Preparation, optional
        What made the data of the fit from a table. The rows that the model stores are then
        described by the columns of that table, in their own units.

    Returns
    -------
    description : Description
        The clusters, and the rows that fit them badly. Of more than 1,000 clusters, the largest are
        described.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cohirf import CoHiRF
    >>> from cohirf.app.explain import describe_clusters
    >>> X = load_iris(as_frame=True).data
    >>> description = describe_clusters(CoHiRF(n_clusters=3, random_state=0).fit(X), X)
    >>> for cluster in description.clusters:
    ...     print(cluster.size, cluster.name)
    50 short petal, narrow petal, short sepal
    64 medium petal length, narrow sepal, medium petal width
    36 long petal, long sepal, wide petal
    >>> print(description.clusters[0].traits[0].values)
    petal length (cm) 1.46 (others 4.91)
    """
    return describe_sample(draw_sample(make_study(model, X, feature_names, preparation)))


def describe_sample(sample: Sample, found: BadlyFitting | None = None) -> Description:
    """Describe the final clusters of a model by a sample of its rows.

    ``found`` are the rows that fit badly, if they were sought before.
    """
    model = sample.study.model
    labels = cluster_positions(model)
    numbers = model.cluster_numbers_
    counts = count_with_noise(labels, model.n_clusters_)
    n_rows = int(counts.sum())
    sizes = counts[1:]
    stability = mean_stability(model, labels, model.n_clusters_)
    chosen = np.sort(np.argsort(-sizes, kind="stable")[: SAMPLE.described_clusters])
    traits = find_traits(sample.table, sample.labels, chosen)
    traits = [sample.begin_with_repeated(some) for some in traits]
    tree = model.hierarchy_.tree
    siblings = {} if tree is None else find_siblings(tree, labels[tree.medoids])
    named = choose_names(traits, split_siblings(sample, sample.labels, chosen, siblings))
    names = keep_true_names(sample, chosen, [name.text for name in named])
    facts = [
        tuple(fact.about(number) for fact in name.facts) if name.text == kept else ()
        for number, name, kept in zip(numbers[chosen].tolist(), named, names, strict=True)
    ]
    figures = (
        of[chosen].tolist() for of in (sizes, sizes / n_rows, stability, model.exemplar_indices_)
    )
    values = sample.study.read_exemplars(chosen)
    parts = zip(numbers[chosen].tolist(), names, *figures, values, traits, facts, strict=True)
    described = [ClusterDescription(*part) for part in parts]
    return Description(
        model,
        described,
        sizes,
        stability,
        n_rows,
        int(counts[0]),
        len(sample.rows),
        sample.repeated,
        () if sample.followed is None else (sample.followed.column,),
        sample.same,
        tuple(find_common_facts(sample, chosen)),
        find_parts(sample, sizes, described),
        sample.study,
        found,
    )


def find_parts(
    sample: Sample, sizes: IntArray, described: Sequence[ClusterDescription]
) -> tuple[Part, ...]:
    """Return the few clusters that many merge into: as many as fit best, of those that can be
    named; two, if halves of the rows do not have these clusters. One that is a final cluster has
    its name.

    None of the clusters of a model whose number was not chosen, or which are levels.
    """
    model = sample.study.model
    choice = model.choice_
    tree = model.hierarchy_.tree
    if choice is None or tree is None or sample.repeated or sample.study.has_vectors:
        return ()
    is_found = is_found_again(choice)
    few = choice.candidates <= WORD.named_clusters
    if len(sizes) <= (WORD.named_clusters if is_found else WORD.named_slices) or not few.any():
        return ()
    wanted = int(choice.candidates[few][choice.figures[few].argmax()]) if is_found else 2
    sets = _cut_clusters(tree, cluster_positions(model)[tree.medoids], wanted)
    sets = sorted(sets, key=lambda some: -int(sizes[list(some)].sum()))
    part_of = np.full(len(sizes) + 1, -1)  # of noise, too
    for number, some in enumerate(sets):
        part_of[list(some)] = number
    labels = part_of[sample.labels]
    splits = find_splits(sample.table, labels, [[0], [1]], [[1], [0]]) if len(sets) == 2 else None
    names = choose_names(find_traits(sample.table, labels, np.arange(len(sets))), splits)
    parts = []
    own = {(cluster.label,): cluster for cluster in described}
    for some, name in zip(sets, names, strict=True):
        numbers = tuple(model.cluster_numbers_[list(some)].tolist())
        size = int(sizes[list(some)].sum())
        if numbers in own:
            parts.append(Part(numbers, size, own[numbers].name, own[numbers].facts))
        else:
            facts = tuple(fact.about(*numbers) for fact in name.facts)
            parts.append(Part(numbers, size, name.text, facts))
    return tuple(parts)


def is_found_again(choice: Choice) -> bool:
    """Return whether there are clusters, and most halves of the rows have the same ones."""
    return choice.is_clear and (choice.n_halves == 0 or 2 * choice.n_same > choice.n_halves)


def _cut_clusters(tree: MergeTree, labels: IntArray, wanted: int) -> list[tuple[int, ...]]:
    """Return the final clusters in each branch, where the tree is first cut into ``wanted``
    branches that have some; empty if a branch divides a cluster before.

    ``labels`` are of leaves, -1 in no cluster.
    """
    for n_branches in range(wanted, tree.n_leaves + 1):
        branch = tree.cut(n_branches)[labels >= 0]
        pairs = np.unique(np.stack([branch, labels[labels >= 0]], axis=1), axis=0)
        if len(pairs) > len(np.unique(pairs[:, 1])):
            return []
        sets = [tuple(pairs[pairs[:, 0] == one, 1].tolist()) for one in np.unique(pairs[:, 0])]
        if len(sets) >= wanted:
            return sets
    return []


def find_common_facts(sample: Sample, clusters: IntArray) -> list[Fact]:
    """Return what can be said about all clusters together."""
    table = sample.table
    labels = sample.labels
    numbers = sample.study.model.cluster_numbers_.tolist()
    if len(numbers) < 2 or sample.study.has_vectors:
        return []
    found = list[Fact]()
    sizes = np.bincount(labels[labels >= 0], minlength=len(numbers))
    if len(numbers) == 2:
        larger, smaller = np.argsort(-sizes, kind="stable").tolist()
        most = find_difference(table, labels, larger, smaller)
        found += [] if most is None else [say_difference(most, numbers[larger], numbers[smaller])]
    if len(numbers) <= WORD.named_clusters:
        found += say_missing(sample)
    if sample.followed is not None:
        found.append(say_followed(sample.followed))
    if sample.repeated:
        found.append(say_repeated(table, labels, sample.repeated, len(numbers)))
    if len(sample.rows) == sample.study.n_rows:
        found += say_columns(sample)
    return found


def say_columns(sample: Sample) -> list[Fact]:
    """Return which columns are formulas of each other; how many different rows there are, if these
    are few; and which column may count how often each of the others' combinations occurs.
    """
    table = sample.table
    found = [say_formulas(table, names) for names in find_formulas(table)]
    columns, n_different = count_different(table)
    n_clusters = len(sample.study.model.cluster_numbers_)
    if columns and n_different <= (BETWEEN.neighbours + 1) * n_clusters and not sample.repeated:
        words = f"All rows are one of {n_different:,} combinations of {join_words(columns)}."
        if len(columns) == 1:
            words = f"All rows have one of {n_different:,} values of {columns[0]}."
        found.append(Fact(words, "different rows", n_different, columns=tuple(columns)))
    return found + say_counts(table) + say_square(table)


def say_formulas(table: Table, names: Sequence[str]) -> Fact:
    """Return that columns are formulas of each other."""
    shown = join_words([*names[: WORD.formulas], *(["others"] if names[WORD.formulas :] else [])])
    words = f"{shown} say the same: each value of one has one value of the others."
    return Fact(words, "formulas", count_values(table, names[0]), columns=tuple(names))


def say_square(table: Table) -> list[Fact]:
    """Return that the table is as long as it is wide, and the same on both sides of its diagonal of
    zeros, as a table of distances is; nothing if it is not.
    """
    n_rows = len(table.rows)
    if n_rows < 3 or {one.kind for one in table.features} != {"number"}:
        return []
    cells = as_dense(table.values)
    if cells.shape != (n_rows, n_rows):
        return []
    rounding = np.abs(cells).max() * 10.0**-BETWEEN.digits
    if max(np.abs(np.diag(cells)).max(), np.abs(cells - cells.T).max()) > rounding:
        return []
    words = (
        "The table is the same on both sides of its diagonal, as distances between its rows are: "
        "each column was taken as a number of its own."
    )
    return [Fact(words, "symmetric", n_rows)]


def say_counts(table: Table) -> list[Fact]:
    """Return that the rows are combinations of levels, and that a column may say how often each
    occurs; nothing if this is not so.
    """
    counts = [one.name for one in table.features if one.kind == "number" and is_count(one.name)]
    others = list(dict.fromkeys(one.name for one in table.features if one.name not in counts))
    if len(counts) != 1 or len(others) < 2 or set(others) - {*list_leveled(table)}:
        return []
    _, n_different = count_different(table, counts)
    if n_different < len(table.rows):
        return []
    words = (
        f"Each row is another combination of {join_words(others)}: {counts[0]} was taken as a "
        "number, and not as how many cases the row stands for."
    )
    return [Fact(words, "different rows", n_different, columns=tuple(others))]


def say_missing(sample: Sample) -> list[Fact]:
    """Return which clusters are the rows whose cells of some columns are missing, or could not be
    read.
    """
    found = list[Fact]()
    model = sample.study.model
    prepared = sample.study.prepared
    kept = () if prepared is None else prepared.preparation.kept
    unread = {shorten(column.name) for column in kept if column.n_bad}
    sizes = count_with_noise(cluster_positions(model), model.n_clusters_)[1:].tolist()
    for cluster, number in enumerate(model.cluster_numbers_.tolist()):
        columns, share = find_missing(sample.table, sample.labels, cluster)
        if columns:
            verb = "is" if len(columns) == 1 else "are"
            what = "missing or could not be read" if unread & {*columns} else "missing"
            which = f"{percent(share)} of the {count_of(sizes[cluster], 'row')}"
            words = f"In {which}, {join_words(columns)} {verb} {what}, and filled."
            found.append(Fact(words, "missing", share, (number,), tuple(columns)))
    return found


def say_followed(followed: Followed) -> Fact:
    """Return which column's levels clusters nearly follow."""
    column = followed.column
    rows = f"{percent(followed.share)} of the rows"
    if followed.tells_cluster:
        words = f"{column} alone tells the cluster of {rows}."
        return Fact(words, "level tells cluster", followed.share, columns=(column,))
    words = f"{rows} have the commonest {column} of their cluster."
    return Fact(words, "cluster tells level", followed.share, columns=(column,))


def say_repeated(table: Table, labels: IntArray, columns: tuple[str, ...], n_clusters: int) -> Fact:
    """Return that clusters are the levels of some columns, and how many there are; or that they
    nearly are.
    """
    index, n_levels = agree_with_levels(table, labels, columns)
    kinds = {feature.name: feature.kind for feature in table.features}
    if len(columns) > 1:
        what = "combinations"
    elif kinds[columns[0]] == "level":
        what = "levels"
    else:
        what = "values"
    is_same = isclose(index, 1) and n_levels == n_clusters
    which = f"the {n_levels:,}" if is_same else "nearly the"
    words = f"They are {which} {what} of {join_words(columns)}."
    if not is_same and n_levels != n_clusters:
        words = f"{words[:-1]}, which has {n_levels:,}."
        if len(columns) > 1:
            words = (
                f"They are nearly the combinations of {join_words(columns)}: {n_levels:,} occur."
            )
    of_levels = float(n_levels)
    return Fact(words, "adjusted Rand index", index, columns=columns, other=of_levels)


def say_difference(trait: Trait, one: int, other: int) -> Fact:
    """Return in what two clusters differ most."""
    feature = trait.feature
    values = " and ".join(feature.say(mean) for mean in (trait.inside, trait.outside))
    if feature.kind == "level":
        words = f"They differ most in {feature.plain}: {values} of the rows have {feature.level}."
    else:
        words = f"They differ most in {feature.plain}: {values} on average."
    fact = replace(trait.value_fact, words=words, relation="most different", clusters=(one,))
    return replace(fact, compared_with=(other,), other=trait.outside)


def keep_true_names(sample: Sample, clusters: IntArray, names: Sequence[str]) -> list[str]:
    """Return the names that the model has given to some clusters before, if they are still true,
    and else ``names``.

    ``clusters`` are positions in ``cluster_numbers_``. No two names are the same. Of vectors, the
    columns say nothing, and the names that texts have given stay.
    """
    model = sample.study.model
    former = [model.names_.get(number) for number in model.cluster_numbers_[clusters].tolist()]
    doubtful = [
        (place, name)
        for place, name in enumerate(former)
        if name is not None and name != names[place]
    ]
    places = np.array([place for place, _ in doubtful], dtype=np.int64)
    phrases = find_phrases(sample.table, sample.labels, clusters[places])
    kept = {
        place: name
        for (place, name), true in zip(doubtful, phrases, strict=True)
        if sample.study.has_vectors or is_true(name, true)
    }
    # of equal names, the former one stays
    order = sorted(range(len(names)), key=lambda place: place not in kept)
    unique = number_repeated([kept.get(place) or names[place] for place in order])
    return [name for _, name in sorted(zip(order, unique, strict=True))]


def name_partition(
    X: Any, labels: IntArray, feature_names: Sequence[str] | None = None
) -> list[str]:
    """Return a name for each cluster of any partition, such as a cut of the tree.

    No two names are the same.

    Parameters
    ----------
    X : array, table, sparse matrix or source, shape (n_rows, any)
        The rows, of which at most 100,000 are read. Columns may be numbers, categories, text, dates
        or truth values.
    labels : array of int, shape (n_rows,)
        The cluster of each row, from 0; -1 for noise.
    feature_names : sequence of str, optional
        Names of the columns, if ``X`` has none.

    Returns
    -------
    names : list of str
        What sets each cluster apart from all other rows, in a few words.

    Examples
    --------
    >>> import pandas as pd
    >>> from cohirf.app.explain import name_partition
    >>> X = pd.DataFrame({"age": [61, 64, 23, 25], "spend": [90.0, 110.0, 480.0, 510.0]})
    >>> name_partition(X, [0, 0, 1, 1])
    ['low spend, older', 'high spend, younger']
    """
    labels = np.asarray(labels)
    rows = add_rare(labels, draw(len(labels), SAMPLE.described.most))
    table = set_far_aside(read_table(X, rows, feature_names), labels[rows])
    return name_clusters(
        find_traits(table, labels[rows], np.arange(int(labels.max(initial=-1)) + 1))
    )


def split_siblings(
    sample: Sample, labels: IntArray, clusters: IntArray, siblings: dict[int, tuple[int, ...]]
) -> list[Trait | None]:
    """Return what splits each of some clusters from its sibling.

    ``labels`` has the cluster of each sampled row.
    """
    sets = clusters[:, None].tolist()
    others = [siblings.get(cluster, ()) for cluster in clusters.tolist()]
    return find_splits(sample.table, labels, sets, others)


def mean_stability(model: CoHiRF, labels: IntArray, n_labels: int) -> NDArray[np.float64]:
    """Return the mean stability of the rows of each label, where it is known.

    NaN if it is not known of any row.
    """
    totals, known = np.zeros((2, n_labels))
    for block in row_blocks(len(labels), max(BLOCK_ROWS, n_labels)):
        own = labels[block]
        stability = model.stability_[block]
        counted = (own >= 0) & ~np.isnan(stability)
        totals += np.bincount(own[counted], weights=stability[counted], minlength=n_labels)
        known += np.bincount(own[counted], minlength=n_labels)
    return np.where(known > 0, totals / np.maximum(known, 1), np.nan)


@dataclass(frozen=True)
class NamedTree:
    """The top of a tree with names."""

    outline: Outline  # the nodes
    # the name of each node, by its ``groups``: that of a cluster, if it has one
    names: dict[tuple[int, ...], str]

    @property
    def total(self) -> int:
        """Number of rows, with noise."""
        return self.outline.root.size + self.outline.n_noise

    def count(self, n_rows: int) -> str:
        """Return a number of rows with its share."""
        return f"{count_of(n_rows, 'row')} ({percent(n_rows / self.total)})"

    def say(self, node: Node) -> str:
        """Return a node in words."""
        said = f"{self.count(node.size)}: {self.names[node.groups]}"
        if node.cluster is not None:
            if _is_part(node, self.outline.root):
                of = "part of cluster"
            else:
                of = "cluster"
            return f"{of} {node.cluster}, {said}"
        if not node.children and node.n_clusters > 1:
            return f"{node.n_clusters:,} clusters, {said}"
        return said


def name_tree(
    model: CoHiRF, n_leaves: int | None = None, preparation: Any = None
) -> NamedTree | None:
    """Return the top of the tree of a model, with names from the rows that the model stores.

    Parameters
    ----------
    model : CoHiRF
        The fitted model; its labels must be in this process.
    n_leaves : int, optional
        Number of leaves; by default the number of final clusters, and at most 30.
    preparation : Preparation, optional
        What made the data of the fit from a table; names are then made from the columns of that
        table.

    Returns
    -------
    tree : NamedTree or None
        The tree; None if all rows are noise.
    """
    outline = make_outline(model.hierarchy_, model.labels_, n_leaves)
    if outline is None:
        return None
    sample = draw_sample(make_study(model, preparation=preparation))
    described = describe_sample(sample)
    nodes = list(outline.root.walk())
    names = {
        node.groups: described.name(node.cluster) for node in nodes if node.cluster is not None
    }
    branches = [node for node in nodes if node.cluster is None or _is_part(node, outline.root)]
    sibling = {
        node.groups: other.groups
        for parent in nodes
        for node, other in permutations(parent.children or (), 2)
    }
    groups, sets = outline.labels[sample.rows], [node.groups for node in branches]
    traits = find_traits_of_sets(sample.table, groups, sets)
    others = [sibling.get(node.groups, ()) for node in branches]
    splits = find_splits(sample.table, groups, sets, others)
    has_topics = sample.study.has_vectors and bool(model.names_)
    for node, of_branch, split in zip(branches, traits, splits, strict=True):
        if has_topics:
            within = sample.labels[np.isin(groups, node.groups)]
            names[node.groups] = _list_topics(described, within)
        else:
            names[node.groups] = name_clusters([of_branch[: WORD.branch_traits]], [split])[0]
    return NamedTree(outline, names)


def _list_topics(described: Description, labels: IntArray) -> str:
    """Return the names of the largest clusters of some rows, which texts have given: numbers of
    vectors say nothing.
    """
    clusters, sizes = np.unique(labels[labels >= 0], return_counts=True)
    numbers = described.model.cluster_numbers_[clusters[np.argsort(-sizes, kind="stable")]]
    names = [described.name(number) for number in numbers[: WORD.branch_topics].tolist()]
    n_more = len(numbers) - len(names)
    return " / ".join([*names, *([f"{n_more:,} more"] if n_more else [])])


def _is_part(node: Node, root: Node) -> bool:
    """Return whether a node is a part of a final cluster, and not the whole."""
    return node.cluster is not None and any(
        other.cluster == node.cluster and other.size > node.size for other in root.walk()
    )


def write_tree(tree: NamedTree, width: int = 100, *, drawn: bool = True) -> list[str]:
    r"""Return a tree as lines of text.

    Parameters
    ----------
    tree : NamedTree
        The tree.
    width : int
        Largest number of characters of a line; longer names are cut between words.
    drawn : bool
        Whether branches are drawn with box characters; otherwise with letters.

    Returns
    -------
    lines : list of str
        A line for each node, and one for noise.

    Examples
    --------
    >>> import pandas as pd
    >>> from cohirf import CoHiRF
    >>> from cohirf.app.explain import name_tree, write_tree
    >>> X = pd.DataFrame({"age": [20.0, 21, 40, 41, 80, 81], "spend": [5.0, 6, 6, 5, 95, 99]})
    >>> print("\n".join(write_tree(name_tree(CoHiRF(n_clusters=3, random_state=0).fit(X)))))
    6 rows
    ├─ 4 rows (67%): low spend, younger
    │  ├─ cluster 0, 2 rows (33%): younger, low spend
    │  └─ cluster 1, 2 rows (33%): medium age, low spend
    └─ cluster 2, 2 rows (33%): high spend, older
    """
    n_noise = tree.outline.n_noise
    below = write_branches(tree.outline.root, tree.say, drawn=drawn, more=n_noise > 0)
    below += [f"{STROKES[drawn][2]}noise, {tree.count(n_noise)}"] if n_noise else []
    lines = [count_of(tree.total, "row")]
    for line in below:
        kept = line[: width - 1]
        if len(line) > width and not line[width - 1].isspace():  # cut between two words
            kept = kept.rpartition(" ")[0] or kept
        lines.append(line if len(line) <= width else f"{kept.rstrip(' ,:')}\N{HORIZONTAL ELLIPSIS}")
    return lines


def draw_model(model: CoHiRF) -> str:
    """Return the tree of a model as HTML for notebooks, with the name and the size of each
    cluster.
    """
    tree = name_tree(model)
    text = "" if tree is None else "\n".join(write_tree(tree))
    return f"<pre>{escape(text)}</pre>"


@dataclass(frozen=True)
class Headline:
    """The headline of a result, in sentences.

    Attributes
    ----------
    count : str
        How many clusters there are, and how much noise.
    sizes : str
        How large they are, and their names; empty if there are fewer than two clusters.
    separation : str
        How sure it is to which cluster a row belongs; empty if there are fewer than two clusters.
    exceptions : str
        A few rows that are noise, and rows that have few values, if the
        data is known.
    trust : str
        What to do with the clusters; empty without a diagnosis.
    tone : {"good", "fair", "poor", "unknown"}
        Whether this is good news.
    groups : tuple of str
        The sentences of ``sizes``.
    facts : tuple of Fact
        What ``sizes`` says of the rows, in a form that can be computed again from the table.
    """

    count: str
    sizes: str
    separation: str
    exceptions: str
    trust: str
    tone: str
    groups: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()

    def __str__(self) -> str:
        """Return all sentences."""
        parts = (self.count, self.sizes, self.separation, self.exceptions, self.trust)
        return " ".join(part for part in parts if part)


def make_headline(
    description: Description, diagnosis: Diagnosis | None, data: Any = None
) -> Headline:
    """Return the headline of a result.

    Parameters
    ----------
    description : Description
        What ``describe_clusters`` returned.
    diagnosis : Diagnosis or None
        What ``CoHiRF.diagnose`` returned; None leaves out whether to trust the clusters.
    data : Prepared, optional
        The data of the fit, if ``prepare`` returned it: names a few rows that are noise, and says
        which have hardly any values.

    Returns
    -------
    headline : Headline
        Sentences; ``str`` joins them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cohirf import CoHiRF
    >>> from cohirf.app.explain import describe_clusters, make_headline
    >>> X = load_iris(as_frame=True).data
    >>> model = CoHiRF(random_state=0).fit(X)
    >>> headline = make_headline(describe_clusters(model, X), model.diagnose())
    >>> print(headline.count, headline.sizes)
    2 clusters in 150 rows. 100 rows (67%): long petal, wide petal, long sepal. 50 rows (33%): short
    petal, narrow petal, short sepal. They differ most in petal length: 4.91 and 1.46 on average.
    One direction has 92% of the variance: the columns go together.
    >>> print(headline.separation)
    They are clearly apart: no rows are between two clusters.
    >>> print(headline.trust)
    Divided into 2 on their own, all 6 random halves of the rows have the same clusters: use
    them as kinds of rows.
    """
    n_clusters = len(description.sizes)
    n_rows = description.n_rows
    choice = description.model.choice_ if diagnosis is None else diagnosis.facts.choice
    if n_clusters == 0:
        remedy = f"To find some, {remedies_for(description.model).to_less_noise()}."
        if n_rows == 1:
            noise = "the only row is noise"
        else:
            noise = f"all {n_rows:,} rows are noise"
        return Headline(f"No clusters: {noise}.", "", "", "", remedy, "poor")
    is_clear = _is_clear(description, choice)
    facts: list[Fact] = []
    count = f"{count_of(n_clusters, 'cluster')} in {n_rows:,} rows"
    if not is_clear and _has_clear_groups(description, choice):
        count += ", not all of them clear groups"
    elif not is_clear:
        facts = say_slices(description, n_clusters)
        count = f"No clear groups in {n_rows:,} rows: {facts[0].words}"
    exceptions = "" if data is None else say_exceptions(description, data)
    if description.n_noise and not description.name_noise(data):
        count += f"; {percent(description.n_noise / n_rows)} of the rows are noise, in no cluster"
    separate, without = _find_separate(description, data)
    trust, tone = _judge(description, diagnosis, data, separate, is_clear=is_clear)
    if n_clusters == 1:
        return Headline(f"{count}.", "", "", exceptions, trust, tone)
    groups, of_groups = say_groups(description)
    facts += of_groups
    line = say_line(description) if is_clear else []
    groups += [fact.words for fact in line]
    if description.n_sampled < n_rows and any(fact.columns for fact in of_groups):
        groups.append(f"Means and shares are those of {description.n_sampled:,} of the rows.")
    facts += line
    separation = ""
    if tone != "poor" and separate is not None:
        is_sure = _is_sure(choice, tone)
        apart = find_separation(separate, n_clusters, without, is_sure=is_sure, is_clear=is_clear)
        separation = apart[0].words if apart else ""
        facts += apart
    if tone == "good" and separate is not None and not separate.has_gaps:
        tone = "fair"
    said = (f"{count}.", " ".join(groups), separation, exceptions, trust, tone)
    return Headline(*said, tuple(groups), tuple(facts))


def _is_clear(description: Description, choice: Choice | None) -> bool:
    """Return whether clusters are groups: most halves of the rows have them, and they are the
    levels of columns, or not parts of one cloud.
    """
    if choice is None or len(description.sizes) < 2:
        return True
    if description.repeated:
        return choice.is_clear
    found = description.badly_fitting
    is_cloud = found.is_one_cloud and found.has_neighbours(len(description.sizes))
    return is_found_again(choice) and not is_cloud


def _has_clear_groups(description: Description, choice: Choice | None) -> bool:
    """Return whether some of few clusters are groups: one is apart from the others, and some half
    of the rows has the same ones.

    Levels of columns are apart by themselves.
    """
    is_few = len(description.sizes) <= WORD.named_clusters and not description.repeated
    is_found = choice is None or choice.n_halves == 0 or choice.n_same > 0
    return is_few and is_found and description.badly_fitting.is_any_apart


def say_slices(description: Description, n_clusters: int) -> list[Fact]:
    """Return what clusters are that are no groups: slices, or pieces of one line."""
    found = description.badly_fitting
    is_one_column = description.model.n_features_in_ == 1
    if found.is_line and not is_one_column and not description.repeated:
        words = f"they lie along one line, cut here into {n_clusters:,} pieces"
        return [Fact(words, "along one line", found.along_line)]
    return [Fact(f"these {n_clusters:,} slices are one way to sort them", "slices", n_clusters)]


def say_line(description: Description) -> list[Fact]:
    """Return that one direction has most of the variance of several columns, if it has."""
    found = description.badly_fitting
    if description.repeated or not found.is_line or description.model.n_features_in_ < 3:
        return []
    share = percent(found.along_line)
    words = f"One direction has {share} of the variance: the columns go together."
    return [Fact(words, "along one line", found.along_line)]


def _find_separate(
    description: Description, data: Any
) -> tuple[BadlyFitting | None, tuple[str, ...]]:
    """Return which rows are between clusters, and the columns that were left out to see it; None if
    there are no other columns, or if it is not known.

    Levels of a column are apart by themselves: clusters that are apart and follow a column are
    compared without it.
    """
    if description.repeated or not description.badly_fitting.has_neighbours(len(description.sizes)):
        return None, ()
    if not description.followed or not description.badly_fitting.is_apart:
        return description.badly_fitting, ()
    followed = [] if data is None else find_made(description, data)
    if not followed:
        return None, ()
    names = [shorten(column.name) for column in data.preparation.kept for _ in column.features]
    kept = np.flatnonzero(~np.isin(names, followed))
    others = find_badly_fitting(description.model, kept, description.study)
    return others if others.is_apart else None, tuple(followed)


def _judge(
    description: Description,
    diagnosis: Diagnosis | None,
    data: Any,
    separate: BadlyFitting | None,
    *,
    is_clear: bool,
) -> tuple[str, str]:
    """Return what to do with the clusters, and whether this is good news."""
    trust, tone = "", "unknown"
    is_apart = separate is not None and separate.is_apart and is_clear
    if diagnosis is not None:
        has_gaps = len(description.sizes) == 1 or is_apart
        trust, tone = say_trust(diagnosis, has_gaps=has_gaps, is_clear=is_clear)
    made = [] if data is None else find_made(description, data)
    if not made or is_apart or tone == "poor" or not frees_others(description, data, made):
        return trust, tone
    others = {shorten(column.name) for column in data.preparation.kept} - {*made}
    where = "the other columns" if len(others) > 1 else f"the other column, {others.pop()}"
    advice = f"To find groups in {where}, leave {join_words(made)} out."
    return advice if description.repeated else f"{trust} {advice}".lstrip(), "fair"


def frees_others(description: Description, data: Any, made: Sequence[str]) -> bool:
    """Return whether the clusters are others without some columns: the others do not tell the
    clusters, and are not one that has levels alone.
    """
    kept = data.preparation.kept
    left = [column for column in kept if shorten(column.name) not in made]
    if len(left) == 1 and isinstance(left[0], Category | Boolean):
        return False
    columns = [shorten(column.name) for column in kept for _ in column.features]
    features = np.flatnonzero(~np.isin(columns, made))
    others = find_badly_fitting(description.model, features, description.study)
    largest = float(description.sizes.max() / description.sizes.sum())
    return 1 - others.share_own > (1 - TRAIT.told) * (1 - largest)


def _is_sure(choice: Choice | None, tone: str) -> bool:
    """Return whether halves of the rows have the same clusters, or the base method alone has."""
    if choice is not None and choice.n_halves > 0:
        return choice.is_strong
    return tone in ("good", "unknown")


def find_separation(
    found: BadlyFitting,
    n_clusters: int,
    without: Sequence[str] = (),
    *,
    is_sure: bool,
    is_clear: bool,
) -> list[Fact]:
    """Return what is said of how far clusters are apart; nothing if there is nothing to say.

    The share of the rows between two clusters, and how dense these are there, if that is known; in
    the columns of the fit ``without`` some.
    """
    words = say_separation(found, n_clusters, is_clear=is_clear, is_sure=is_sure)
    if not words:
        return []
    if without:
        words = f"Without {join_words(without)}, {uncapitalised(words)}"
    columns = tuple(without)
    facts = [Fact(words, "between", found.share_between, columns=columns)]
    if not np.isnan(found.filled):
        facts.append(Fact(words, "density between", found.filled, columns=columns))
    if not np.isnan(found.at_border):
        facts.append(Fact(words, "density at border", found.at_border, columns=columns))
    return facts


def find_made(description: Description, data: Any) -> list[str]:
    """Return the columns of which those are made whose levels the clusters repeat or follow, and
    those that say the same; none if one had no part in the fit, or if no other column had.

    The hour or weekday of a date is made of the date.
    """
    made: dict[str, str] = {}
    for column in data.preparation.kept:
        made[shorten(column.name)] = shorten(column.name)
        for cycle in getattr(column, "cycles", ()):
            made[shorten(f"{column.name} {cycle}")] = shorten(column.name)
    followed = description.repeated or description.followed
    levels = (*followed, *description.same)
    if any(name not in made for name in levels):
        return []
    found = list(dict.fromkeys(made[name] for name in levels))
    return [] if set(found) == set(made.values()) else found


def say_groups(description: Description) -> tuple[list[str], list[Fact]]:
    """Return how large clusters are, with their names, and what else is said of them.

    Of many clusters, those that they merge into are named, or only the largest and the smallest.
    The facts that this says come with it.
    """
    if description.parts:
        return _say_parts(description)
    order = np.argsort(-description.sizes, kind="stable").tolist()
    shown = order if len(order) <= WORD.named_clusters else [order[0], order[-1]]
    begins = [""] * len(shown)
    if len(order) > len(shown):
        begins = [_say_end(description.sizes, place) for place in shown]
    by_label = {cluster.label: cluster for cluster in description.clusters}
    said = list[str]()
    facts = list[Fact]()
    for begin, place in zip(begins, shown, strict=True):
        label = int(description.model.cluster_numbers_[place])
        size = say_size(int(description.sizes[place]), description.n_rows).about(label)
        said.append(f"{begin}{size.words}: {description.name(label)}.")
        facts += [size, *(by_label[label].facts if label in by_label else ())]
    said += [fact.words for fact in description.facts]
    return said, [*facts, *description.facts]


def _say_end(sizes: IntArray, place: int) -> str:
    """Return how a cluster is called that is the largest or the smallest, or as large as it."""
    which = "largest" if sizes[place] == sizes.max() else "smallest"
    n_equal = int((sizes == sizes[place]).sum())
    return f"One of the {n_equal:,} {which} has " if n_equal > 1 else f"The {which} has "


def _say_parts(description: Description) -> tuple[list[str], list[Fact]]:
    """Return the few clusters that many merge into, with their names."""
    said = [f"They merge into {len(description.parts)}:"]
    facts = list[Fact]()
    choice = description.model.choice_
    noun = "clusters" if choice is None or is_found_again(choice) else "slices"
    for part in description.parts:
        size = say_size(part.size, description.n_rows).about(*part.labels)
        of = f" in {len(part.labels):,} {noun}" if len(part.labels) > 1 else ""
        said.append(f"{size.words}{of}: {part.name}.")
        facts += [size, *part.facts]
    said += [fact.words for fact in description.facts]
    return said, [*facts, *description.facts]


def say_size(size: int, n_rows: int) -> Fact:
    """Return how many rows a cluster has."""
    words = f"{count_of(size, 'row')} ({percent(size / n_rows)})"
    return Fact(words, "rows", size, other=float(n_rows))


def say_separation(
    found: BadlyFitting, n_clusters: int = 2, *, is_clear: bool = True, is_sure: bool = True
) -> str:
    """Return how far apart clusters are, from the share of rows between two, and the density there.

    They are said to be apart only if this ``is_sure``: if two halves of the rows have the same
    clusters.
    """
    share = found.share_between
    between = say_between(found)
    if not is_clear:
        if found.filled > BETWEEN.filled:
            return f"There is no gap between {'the two' if n_clusters == 2 else 'some of them'}."
        if share > BETWEEN.apart:
            return f"{between[0].upper()}{between[1:]} of them."
        return ""
    between = f"{between} clusters"
    if found.filled > BETWEEN.filled and share <= BETWEEN.touching:
        which = "They" if n_clusters == 2 else "Some of them"
        return (
            f"{which} run into each other, with no gap between them: the border could as well be "
            f"elsewhere ({between})."
        )
    if found.is_apart and is_sure:
        return f"They are clearly apart: {between}."
    if found.is_apart:
        return f"{between[0].upper()}{between[1:]}."
    if share <= BETWEEN.touching:
        return f"They touch{':' if share else ', though'} {between}."
    if share <= BETWEEN.overlapping:
        return f"They overlap: {between}, where the border could as well be elsewhere."
    return (
        f"They are not separate: {between}. Read them as regions of one cloud of rows, not as "
        "kinds of rows."
    )


def say_between(found: BadlyFitting) -> str:
    """Return which share of the rows is between two clusters: "about" so much of a sample, and
    among which rows neighbours were sought, if not among all.
    """
    share = found.share_between
    is_sample = found.n_compared < found.n_clustered
    which = f"{percent(share)} of the rows are"
    if share == 0:
        which = f"none of {found.n_compared:,} rows is" if is_sample else "no rows are"
    elif is_sample and which[0].isdigit():
        which = f"about {which}"
    if found.n_among < found.n_clustered:
        which = f"compared with {found.n_among:,} rows alone, {which}"
    return f"{which} between two"


def say_exceptions(description: Description, data: Any) -> str:
    """Return which column was left out, which rows are noise, if they are few, and which have few
    values.
    """
    said = list[str]()
    ids = [str(column.name) for column in data.preparation.columns if column.reason == NAMED]
    if len(ids) == 1:
        said.append(f"{ids[0]} was left out: its name is that of an id.")
    elif ids:
        said.append(f"{join_words(ids)} were left out: their names are those of ids.")
    blocks = [str(column.name) for column in data.preparation.columns if column.reason == BLOCKS]
    if blocks:
        verbs = ("was", "it numbers") if len(blocks) == 1 else ("were", "they number")
        said.append(f"{join_words(blocks)} {verbs[0]} left out: {verbs[1]} blocks of rows.")
    said += _say_stretches(description, data)
    said += _say_filled(description, data)
    if names := description.name_noise(data):
        is_one = len(names) == 1
        where = f"{'is' if is_one else 'are'} in no cluster"
        if _is_noise_apart(description):
            where = f"{'lies' if is_one else 'lie'} apart from all others, and {where}"
        said.append(f"{join_words(names)} {where}.")
    if data.source.n_rows == description.n_rows:
        rows = data.mostly_filled()
    else:
        rows = np.empty(0, dtype=np.int64)
    if n_filled := len(rows):
        names = data.name_rows(rows[: WORD.named_rows].tolist())
        if names:
            such_as = f" ({'such as ' if n_filled > len(names) else ''}{join_words(names)})"
        else:
            such_as = ""
        have = "has" if n_filled == 1 else "have"
        filled = "values in fewer than half of the columns that were used; the rest was filled"
        said.append(f"{count_of(n_filled, 'row')}{such_as} {have} {filled}.")
    columns = data.preparation.columns
    used = [str(column.name) for column in data.preparation.kept]
    if 2 * len(used) < len(columns):
        which = used[0] if len(used) == 1 else count_of(len(used), "column")
        was = "was" if len(used) == 1 else "were"
        said.append(f"Of {len(columns):,} columns, only {which} {was} used.")
    return " ".join(said)


def _say_stretches(description: Description, data: Any) -> list[str]:
    """Return that each cluster is rows that follow each other, if so, and a column that counts the
    rows, such as years, was left out.
    """
    names = [
        str(column.name)
        for column in data.preparation.columns
        if isinstance(column, LeftOut) and column.reason.startswith("counts the rows")
    ]
    labels = np.asarray(description.model.labels_)
    members = labels[labels >= 0]
    n_stretches = 1 + int(np.count_nonzero(np.diff(members)))
    if not names or not 1 < n_stretches == len(description.sizes):
        return []
    begins = np.diff(labels, prepend=-1) != 0
    is_broken = int(np.count_nonzero(begins & (labels >= 0))) > n_stretches
    counter = f"{join_words(names)} {'was' if len(names) == 1 else 'were'} left out"
    but = ", but for rows in no cluster" if is_broken else ""
    return [f"{counter}; each cluster is one stretch of rows that follow each other{but}."]


def _say_filled(description: Description, data: Any) -> list[str]:
    """Return which columns that name clusters were filled in many rows."""
    said = list[str]()
    named = {name for one in description.clusters for fact in one.facts for name in fact.columns}
    named -= {
        name for fact in description.facts if fact.statistic == "missing" for name in fact.columns
    }
    for column in data.preparation.kept:
        n_gaps = column.n_missing + column.n_bad
        is_filled = n_gaps > (1 - TRAIT.known) * description.n_rows
        if is_filled and not isinstance(column, Category) and shorten(column.name) in named:
            what = "no value that could be read" if column.n_bad else "no value"
            said.append(f"{column.name} has {what} in {n_gaps:,} rows: there it was filled.")
    return said


def _is_noise_apart(description: Description) -> bool:
    """Return whether all rows in no cluster are clearly further from the nearest cluster than its
    rows are from each other.
    """
    noise = np.flatnonzero(np.asarray(description.model.labels_) < 0).tolist()
    distance = {one.row: one.distance for one in description.badly_fitting.loose}
    return all(distance.get(row, 0.0) >= BETWEEN.loose for row in noise)


def say_trust(
    diagnosis: Diagnosis, *, has_gaps: bool = True, is_clear: bool = True
) -> tuple[str, str]:
    """Return what to do with the clusters, and whether this is good news."""
    choice = diagnosis.facts.choice
    base = diagnosis.comparison.base
    problem = diagnosis.facts.problem
    if problem is not None and problem.spoils_all:
        return f"Do not use them: {uncapitalised(diagnosis.findings[0].reason)}", "poor"
    if diagnosis.recommendation == ALONE:
        lost = f"{base} alone finds other clusters, and finds them again in part of the rows"
        return f"Do not trust them: {lost}. Use {base} alone, if it can run on all rows.", "poor"
    if choice is not None and choice.n_halves > 0:
        return say_strength(choice, has_gaps=has_gaps, is_clear=is_clear)
    if diagnosis.recommendation == EITHER:
        return f"Trust them as you would trust {base}: it finds the same clusters alone.", "good"
    found, tone = (
        ("could not be compared", "unknown")
        if diagnosis.comparison.reason
        else ("finds other ones", "fair")
    )
    return f"Look at some rows of each before you use them: {base} alone {found}.", tone


def say_strength(
    choice: Choice, *, has_gaps: bool = True, is_clear: bool = True
) -> tuple[str, str]:
    """Return what to do with clusters, by how many random halves of the rows have the same ones."""
    halves = say_halves(choice)
    if choice.is_strong and has_gaps:
        return f"{halves}: use them as kinds of rows.", "good"
    if choice.is_strong:
        return f"{halves}: a reliable way to sort the rows, but not kinds of rows.", "fair"
    if not (choice.is_clear and is_clear):
        return f"{halves}: use them to sort the rows, not as kinds of rows.", "fair"
    others = "other numbers of clusters may be as good"
    return f"{halves}, and {others}: use them as a first division.", "fair"


def say_halves(choice: Choice) -> str:
    """Return how many random halves of the rows have the same clusters."""
    have = "has" if choice.n_same == 1 else "have"
    which = f"{choice.n_same} of {choice.n_halves} random halves of the rows {have}"
    if choice.n_same == choice.n_halves:
        which = f"all {choice.n_halves} random halves of the rows have"
    elif choice.n_same == 0:
        which = f"none of {choice.n_halves} random halves of the rows has"
    return f"Divided into {choice.n_clusters:,} on their own, {which} the same clusters"
