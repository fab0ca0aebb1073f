"""What a merge criterion is, and the criterion of each name (not part of the paper).

The criteria are files of ``beyond/merges``, whose docstring says how to add one. The rest of the
package asks a criterion by the fields of ``Criterion``, and decides nothing by its name.

Groups merge at two places. In a fit that ends in cells or in the groups of several batches, means
and masses of groups are known, and nothing else: ``Criterion.link_groups`` links them. To compare
merges, and in a fit that ends in points, rows themselves merge: ``Criterion.merge_rows`` says how.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from typing import Any, Protocol

from cohirf.beyond import merges
from cohirf.beyond.cuts import LargeParts
from cohirf.beyond.merge_tree import Link
from cohirf.beyond.neighbour_graph import NeighbourGraph
from cohirf.rows.grouping import FloatArray, IntArray


class ToMerge(Protocol):
    """What a criterion sees of the rows of a sample, or of groups whose means stand for rows.

    There are up to ``GRAPH.rows_of_few_features`` rows, so that their distances may not fit into
    memory.
    """

    @property
    def points(self) -> Any:
        """The rows, as an array or CSR matrix, around the origin."""

    @property
    def mass(self) -> FloatArray:
        """Mass of each row; all are positive."""

    @property
    def graph(self) -> NeighbourGraph:
        """Their neighbour graph, made when it is first asked for.

        Its points are the distinct rows, without columns of two values.
        """

    def rate(self, divisions: Sequence[IntArray]) -> FloatArray:
        """Return how well each of several divisions of the rows fits them: more is better."""


class Merged(Protocol):
    """Merges of all rows of a sample; of the points of its graph, if the criterion follows it."""

    def divide(self, numbers: Sequence[int], min_mass: float) -> list[IntArray]:
        """Return the cluster of each row for each of several numbers of clusters.

        Clusters are numbered from 0. Parts with less than ``min_mass`` are no clusters: their rows
        have -1. There are fewer clusters if not as many can be large enough.
        """

    def link(self, n_clusters: int, n_groups: int, min_mass: float) -> FloatArray:
        """Return the linkage of the rows, whose cut into ``n_clusters`` fits them best.

        It will also be cut into up to ``n_groups``: in a fit the groups that share out all rows, of
        which there are 20 for each cluster; for means of groups the most that are linked. Heights
        order the merges, and mean nothing else: a fit replaces them by those of ``raise_merges``.
        Only rows that do not differ merge at the height 0: the others count as distinct.
        """


@dataclass(frozen=True)
class Criterion:
    """How groups of rows merge into clusters.

    Attributes
    ----------
    name : str
        The value of the parameter ``merge``, and the name of the file.
    kind : str
        What clusters it makes: the end of a sentence "The clusters are ...".
    merge_rows : callable
        Returns the merges of some rows. ``OneLinkage`` is enough for a linkage that is the same for
        any number of clusters.
    link_groups : callable or None
        Links groups, of which only means and masses are known, with the heights of Ward's
        criterion. None means that their means are merged as rows with masses, by ``merge_rows``,
        with a neighbour graph of their own.
    follows_graph : bool
        Whether ``merge_rows`` merges the points of the neighbour graph instead of the rows. Equal
        rows, which are one point, then merge first, and rows get the clusters of their points.
    around_means : bool
        Whether clusters lie around their means. Then, a fit of K-Means ends in cells, whose centres
        K-Means moves; other fits keep their groups. The silhouette tells whether the clusters are
        apart. Otherwise, every fit ends in points: each row joins the nearest row of a sample. As
        merges of the sample are known then, they are compared with those of ``merge="auto"`` for
        the figures of ``choice_``, if they are among these.
    place : int or None
        Its place among the merges that ``merge="auto"`` compares, as in ``choice_.cuts``. None
        means that it is only used where it is asked for, as that of a new criterion should be: one
        more that is compared changes default results, and ``choice_`` of a saved model has a cut
        for each.
    head_start : float
        Added to its score where merges are compared.
    """

    name: str
    kind: str
    merge_rows: Callable[[ToMerge], Merged]
    link_groups: Link | None = None
    follows_graph: bool = False
    around_means: bool = False
    place: int | None = None
    head_start: float = 0.0


@dataclass(frozen=True, eq=False)
class OneLinkage:
    """Merged rows whose linkage is the same for any number of clusters.

    A few far rows are cut off first, and do not count as a cluster.
    """

    linkage: FloatArray
    mass: FloatArray

    @cached_property
    def _parts(self) -> dict[float, LargeParts]:
        """The parts of all cuts, by the least mass of those that count: usually, one."""
        return {}

    def divide(self, numbers: Sequence[int], min_mass: float) -> list[IntArray]:
        """Return the cluster of each row, or -1, for each of several numbers of clusters."""
        if min_mass not in self._parts:
            self._parts[min_mass] = LargeParts(self.linkage, self.mass, min_mass)
        return [self._parts[min_mass].label(number) for number in numbers]

    def link(self, n_clusters: int, n_groups: int, min_mass: float) -> FloatArray:
        """Return the linkage."""
        return self.linkage


@cache
def criterion_of(name: str) -> Criterion:
    """Return the merge criterion of a name.

    Raises
    ------
    ValueError
        If there is none.
    """
    if name not in merges.NAMES:
        raise ValueError(f"merge={name!r} is not known: give one of {', '.join(merges.NAMES)}.")
    found: Criterion = import_module(f"{merges.__name__}.{name}").CRITERION
    return found


def compared_criteria() -> tuple[Criterion, ...]:
    """Return the criteria that ``merge="auto"`` compares, in the order of their places."""
    placed = {}
    for criterion in map(criterion_of, merges.NAMES):
        if criterion.place is not None:
            placed[criterion.place] = criterion
    return tuple(placed[place] for place in sorted(placed))
