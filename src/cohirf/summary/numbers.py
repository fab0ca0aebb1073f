"""Cluster numbers that last: which clusters after an update are those before it, what has changed,
and the history.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from cohirf.in_words import InWords
from cohirf.rows import ranges
from cohirf.rows.grouping import IntArray
from cohirf.summary.policy import HISTORY

VERBS = ("update", "forget", "merge", "recluster")


@dataclass(frozen=True)
class Changes(InWords):
    """What an update did to the clusters; ``print`` shows it in words.

    Attributes
    ----------
    update : int
        Number of the update, from 0.
    n_rows : int
        Number of rows that came with the update, or with the other models of a merge; negative if
        rows were forgotten, and 0 if clusters were found anew.
    grown : dict
        Number of rows gained by each cluster that went on and has more rows than before.
    shrunk : dict
        Number of rows lost by each cluster that went on and has fewer rows than before.
    born : dict
        Number of rows of each new cluster; of a merge, clusters that only the other models had are
        among them.
    from_noise : dict
        For each new cluster, how many of its rows were noise before; clusters without such rows are
        left out.
    merged : dict
        For each cluster that went on, the numbers of the clusters that it took in.
    split : dict
        For each cluster before the update, the numbers of the new clusters that most of their old
        rows come from it.
    gone : list of int
        Clusters whose rows became noise, or were forgotten.
    n_moved : int
        Number of rows from before the update that have another cluster number, or none, after it;
        rows of clusters that were taken in are among them. Of a merge, the rows of the first model.
    verb : {"update", "forget", "merge", "recluster"}
        What changed the model.
    names : dict
        The names of these clusters, as far as they have been named (:meth:`CoHiRF.name_clusters`).
    renamed : dict
        The former and the new name of each cluster whose name is no longer true.
    """

    update: Annotated[int, ranges.counts()]
    n_rows: Annotated[int, ranges.counts(least=-ranges.LARGEST)]
    grown: Annotated[dict[int, int], ranges.counts()] = field(default_factory=dict)
    shrunk: Annotated[dict[int, int], ranges.counts()] = field(default_factory=dict)
    born: Annotated[dict[int, int], ranges.counts()] = field(default_factory=dict)
    from_noise: Annotated[dict[int, int], ranges.counts()] = field(default_factory=dict)
    merged: Annotated[dict[int, list[int]], ranges.counts()] = field(default_factory=dict)
    split: Annotated[dict[int, list[int]], ranges.counts()] = field(default_factory=dict)
    gone: Annotated[list[int], ranges.counts()] = field(default_factory=list)
    n_moved: Annotated[int, ranges.counts()] = 0
    verb: Annotated[str, ranges.OneOf(VERBS)] = "update"
    names: dict[int, str] = field(default_factory=dict)
    renamed: dict[int, tuple[str, str]] = field(default_factory=dict)

    def named(self, names: Mapping[int, str], renamed: dict[int, tuple[str, str]]) -> Changes:
        """Return the changes with the names of their clusters, and those that are new."""
        joined = [*self.merged.items(), *self.split.items()]
        told = {*self.grown, *self.shrunk, *self.born, *self.gone, *self.merged, *self.split}
        told |= {other for _, others in joined for other in others}
        known = {number: names[number] for number in sorted(told) if number in names}
        return replace(self, names=known, renamed=renamed)


def call_cluster(number: int, names: Mapping[int, str]) -> str:
    """Return the number of a cluster, and its name in quotation marks if it has one."""
    return f'{number} "{names[number]}"' if number in names else str(number)


@dataclass(frozen=True)
class Step(InWords):
    """The clusters of a model after an update; the fit, or the first update, is the first step.

    ``print`` shows in words which clusters are new, have split, merged or gone, or have another
    name.

    Attributes
    ----------
    update : int
        Number of the update, from 0.
    n_added : int
        Number of rows that came, with other models or alone; negative if rows were forgotten.
    n_rows, n_clusters, n_noise, n_moved : int
        Rows and clusters of the model after the update, rows in no cluster, and older rows that
        have another number. Rows of weight 0 count until they are in a group of rows.
    sizes : dict
        Number of rows of the 30 largest clusters, by their number.
    born, gone : list of int
        New clusters, and those whose rows became noise or were forgotten; at most 30 of each.
    merged, split : list of pairs of int
        A cluster that went on with one that it took in, and a cluster from before with a new one
        that most of its old rows come from; at most 30 pairs of each.
    verb : {"update", "forget", "merge", "recluster"}
        What changed the model; a fit is an update.
    renamed : list of tuples
        Number, former name and new name of clusters whose name is no longer true; at most 30.
    """

    update: Annotated[int, ranges.counts()]
    n_added: Annotated[int, ranges.counts(least=-ranges.LARGEST)]
    n_rows: Annotated[int, ranges.counts()]
    n_clusters: Annotated[int, ranges.counts()]
    n_noise: Annotated[int, ranges.counts()]
    n_moved: Annotated[int, ranges.counts()]
    sizes: Annotated[dict[int, int], ranges.counts()]
    born: Annotated[list[int], ranges.counts()]
    gone: Annotated[list[int], ranges.counts()]
    merged: Annotated[list[tuple[int, int]], ranges.counts()]
    split: Annotated[list[tuple[int, int]], ranges.counts()]
    verb: Annotated[str, ranges.OneOf(VERBS)] = "update"
    renamed: list[tuple[int, str, str]] = field(default_factory=list)

    @classmethod
    def first(cls, labels: IntArray, sizes: IntArray) -> Step:
        """Return the step of a fit.

        ``sizes`` has the number of rows of each entry of ``labels``.
        """
        return cls.of(Changes(0, int(sizes.sum())), labels, sizes)

    @classmethod
    def of(cls, changes: Changes, labels: IntArray, sizes: IntArray) -> Step:
        """Return the step of an update.

        ``sizes`` has the number of rows of each entry of ``labels`` after it.
        """
        numbers, which = np.unique(labels, return_inverse=True)
        rows = np.bincount(which, weights=sizes, minlength=len(numbers)).astype(np.int64)
        clustered = numbers >= 0
        largest = np.argsort(-rows[clustered], kind="stable")[: HISTORY.clusters]
        listed = np.sort(numbers[clustered][largest])
        return cls(
            update=changes.update,
            n_added=changes.n_rows,
            n_rows=int(rows.sum()),
            n_clusters=int(clustered.sum()),
            n_noise=int(rows[~clustered].sum()),
            n_moved=changes.n_moved,
            sizes=dict(
                zip(listed.tolist(), rows[np.searchsorted(numbers, listed)].tolist(), strict=True)
            ),
            born=list(changes.born)[: HISTORY.clusters],
            gone=changes.gone[: HISTORY.clusters],
            merged=_pairs(changes.merged),
            split=_pairs(changes.split),
            verb=changes.verb,
            renamed=_triples(changes.renamed),
        )

    def with_renamed(self, renamed: dict[int, tuple[str, str]]) -> Step:
        """Return the step with clusters that have another name."""
        return replace(self, renamed=_triples(renamed))

    @property
    def numbers(self) -> set[int]:
        """The clusters that the step speaks of."""
        pairs = [*self.merged, *self.split]
        return {*self.sizes, *self.born, *self.gone, *(number for pair in pairs for number in pair)}


def continue_history(history: tuple[Step, ...], step: Step) -> tuple[Step, ...]:
    """Return a history with one more step; the oldest steps leave if there are too many.

    If an update is the first that the model knows of, no cluster is listed as born in it.
    """
    is_first = not history and step.update == 0
    return (*history, replace(step, born=[]) if is_first else step)[-HISTORY.steps :]


def _pairs(joined: dict[int, list[int]]) -> list[tuple[int, int]]:
    return [(number, other) for number, others in joined.items() for other in others][
        : HISTORY.clusters
    ]


def _triples(renamed: dict[int, tuple[str, str]]) -> list[tuple[int, str, str]]:
    return [(number, old, new) for number, (old, new) in renamed.items()][: HISTORY.clusters]


@dataclass(frozen=True, eq=False)
class Overlap:
    """Old rows by their number before an update and their cluster after it; -1 is noise."""

    before: IntArray  # number before the update
    after: IntArray  # cluster after it, numbered from 0 in any order
    n_rows: IntArray  # number of rows that have both

    @classmethod
    def of(cls, before: IntArray, after: IntArray, sizes: IntArray) -> Overlap:
        """Count rows; each entry stands for as many as its size says."""
        if len(before) == 0:
            nothing = np.empty(0, dtype=np.int64)
            return cls(nothing, nothing, nothing)
        pairs, which = np.unique(np.stack([before, after], axis=1), axis=0, return_inverse=True)
        counts = np.bincount(which.ravel(), weights=sizes).astype(np.int64)
        some = counts > 0
        return cls(pairs[some, 0], pairs[some, 1], counts[some])

    def match(self, n_clusters: int, next_number: int, n_first: int = 0) -> IntArray:
        """Return the number of each cluster after the update.

        New ones have numbers from ``next_number`` on.

        As few rows as possible change their number. So a cluster that splits goes on as its largest
        piece, and of clusters that merge the largest goes on. Old clusters whose number is below
        ``n_first`` come before all others in clusters that have most of their rows, or consist
        mostly of them.
        """
        numbers = np.full(n_clusters, -1, dtype=np.int64)
        clustered = np.flatnonzero((self.before >= 0) & (self.after >= 0))
        before = self.before[clustered]
        after = self.after[clustered]
        shared = self.n_rows[clustered]
        old_sizes = _sum_by(self.before, self.n_rows)
        sizes = _sum_by(self.after, self.n_rows)
        pairs = zip(before.tolist(), after.tolist(), strict=True)
        smaller = np.array([min(old_sizes[old], sizes[new]) for old, new in pairs], dtype=np.int64)
        comes_first = (before < n_first) & (2 * shared > smaller)
        # more than all others together
        kept = np.where(comes_first, shared * (float(shared.sum()) + 1), shared)
        old, column = np.unique(before, return_inverse=True)
        # each cluster has a column of its own beside those of the old ones: it has a new number,
        # and keeps no row
        everything = np.arange(n_clusters)
        costs = kept.max(initial=0) + 1 - np.append(kept, np.zeros(n_clusters))
        places = np.append(after, everything), np.append(column, len(old) + everything)
        graph = sparse.csr_array((costs, places), shape=(n_clusters, len(old) + n_clusters))
        cluster, found = min_weight_full_bipartite_matching(graph)
        goes_on = found < len(old)
        numbers[cluster[goes_on]] = old[found[goes_on]]
        new = np.flatnonzero(numbers < 0)
        numbers[new] = next_number + np.arange(len(new))
        return numbers

    def describe(
        self,
        numbers: IntArray,
        sizes: IntArray,
        update: int,
        n_rows: int,
        lost: dict[int, int] | None = None,
        n_first: int = 0,
    ) -> Changes:
        """Return what has changed.

        ``numbers`` and ``sizes`` are those of the clusters after the update; ``lost`` has the
        number of rows of each cluster that were forgotten. In a merge, numbers below ``n_first``
        are those of the first model, and the changes are those of this model.
        """
        named = np.append(numbers, -1)  # the last entry is that of noise
        after = named[self.after]
        size_before = _sum_by(self.before, self.n_rows)
        for number, rows in (lost or {}).items():
            size_before[number] = size_before.get(number, 0) + rows
        size_after = dict(zip(numbers.tolist(), sizes.tolist(), strict=True))
        is_known = {number: not n_first or number < n_first for number in size_after}
        going_on = [
            number for number in sorted(size_after.keys() & size_before.keys()) if is_known[number]
        ]
        gained = {number: size_after[number] - size_before[number] for number in going_on}
        born = [
            number
            for number in sorted(size_after)
            if number not in size_before or not is_known[number]
        ]
        from_noise = _sum_by(after[self.before == -1], self.n_rows[self.before == -1])
        origin = self._largest(after, self.before)
        heir = dict.fromkeys(size_before, -1) | self._largest(self.before, after)
        ended = [
            number for number in sorted(size_before) if number >= 0 and number not in size_after
        ]
        is_older = (self.before >= 0) & ((self.before < n_first) | (n_first == 0))
        return Changes(
            update=update,
            n_rows=n_rows,
            grown={number: rows for number, rows in gained.items() if rows > 0},
            shrunk={number: -rows for number, rows in gained.items() if rows < 0},
            born={number: size_after[number] for number in born},
            from_noise={number: from_noise[number] for number in born if number in from_noise},
            merged=_collect((heir[number], number) for number in ended if heir[number] >= 0),
            split=_collect(
                (origin[number], number)
                for number in born
                if origin.get(number, -1) not in (-1, number)
            ),
            gone=[number for number in ended if heir[number] < 0],
            n_moved=int(self.n_rows[is_older & (self.before != after)].sum()),
        )

    def _largest(self, of: IntArray, other: IntArray) -> dict[int, int]:
        """Return, for each number in ``of``, the one in ``other`` with which it shares most
        rows.
        """
        order = np.argsort(self.n_rows, kind="stable")
        # the last one of a number stays
        return dict(zip(of[order].tolist(), other[order].tolist(), strict=True))


def _sum_by(numbers: IntArray, counts: IntArray) -> dict[int, int]:
    sums: dict[int, int] = {}
    for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
        sums[number] = sums.get(number, 0) + count
    return sums


def _collect(pairs: Iterable[tuple[int, int]]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


def positions_of(labels: Any, numbers: IntArray) -> Any:
    """Return labels as positions in the sorted ``numbers`` of clusters, from 0; noise stays -1.

    Arrays that have an entry for each cluster, such as ``medoids_``, are in this order.
    """
    if len(numbers) == 0 or numbers[-1] == len(numbers) - 1:  # there are no gaps
        return labels
    return np.where(labels < 0, -1, np.searchsorted(numbers, labels)).astype(labels.dtype)


def keep_names(
    names: Mapping[int, str], numbers: IntArray, history: Iterable[Step]
) -> dict[int, str]:
    """Return the names of clusters, those that are gone included as long as the history speaks of
    them.
    """
    told = set(numbers.tolist()).union(*(step.numbers for step in history))
    return {number: name for number, name in names.items() if number in told}


@dataclass(frozen=True)
class Totals(InWords):
    """What a history did with rows since the fit, each kind of change apart; ``print`` shows it in
    words.
    """

    n_updates: int
    n_added: int  # rows of updates
    n_merges: int
    n_merged: int  # rows of merged models
    n_forgets: int
    n_forgotten: int  # rows
    n_reclusters: int

    @classmethod
    def of(cls, history: tuple[Step, ...]) -> Totals:
        """Count the steps of a history; its first one is the fit."""
        later = history[1:]
        steps = {verb: [step for step in later if step.verb == verb] for verb in VERBS}
        rows = {verb: sum(abs(step.n_added) for step in steps[verb]) for verb in VERBS}
        return cls(
            n_updates=len(steps["update"]),
            n_added=rows["update"],
            n_merges=len(steps["merge"]),
            n_merged=rows["merge"],
            n_forgets=len(steps["forget"]),
            n_forgotten=rows["forget"],
            n_reclusters=len(steps["recluster"]),
        )
