"""Which group each row belongs to, and the results of rows, looked up in those of groups.

A map has a part for each update, so that an update adds to it and never rewrites it. A part numbers
its groups from 0. Where these groups are now, after others were removed or put together, is a table
with an entry for each group, not for each row. ``vectors.py`` knows where rows are. Labels and
other results by row are looked up through the map when they are first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.parents import Fusions
from cohirf.beyond.merge_tree import MergeTree
from cohirf.hierarchy import FusionHierarchy
from cohirf.hierarchy.fusion_hierarchy import check_forest
from cohirf.rows import arrays, ranges
from cohirf.rows.grouping import IntArray, index_dtype, leave_out
from cohirf.rows.storage import Engine
from cohirf.summary import vectors
from cohirf.summary.vectors import Place, place_of


@dataclass(frozen=True, eq=False)
class Part:
    """Rows that follow each other."""

    # for each row, the number of its group among those of the part; an array of NumPy, of Dask or
    # on a device
    leaf_of: Annotated[Any, ranges.numbers(ranges.ANY, below="position")]
    # stability of each row at the first level, in the same place
    stability: Annotated[Any, ranges.shares("leaf_of")]
    # for each group of the part, its position among all groups of the model now
    position: Annotated[IntArray, ranges.numbers(ranges.ANY, below="n_groups")]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.leaf_of.shape[0])

    @property
    def place(self) -> Place:
        """Where the vectors are."""
        return place_of(self.leaf_of)

    def look_up(self, table: NDArray[Any], engine: Engine | None = None) -> Any:
        """Return what a table with an entry for each group of the model says about each row."""
        return vectors.look_up(table[self.position], self.leaf_of, engine)

    def find_leaves(self, rows: IntArray) -> IntArray:
        """Return the group of the model of each of the given rows, by their numbers in the part."""
        leaves: IntArray = self.position[self.place.fetch(self.leaf_of, rows)]
        return leaves

    def with_leaves(self, rows: IntArray, leaves: Any) -> Part:
        """Return the part after the given rows (sorted) have joined other groups of it."""
        return replace(self, leaf_of=self.place.put(self.leaf_of, rows, leaves))

    def without(self, rows: IntArray) -> Part:
        """Return the part without the given rows (sorted), by their numbers in it."""
        return replace(
            self, leaf_of=leave_out(self.leaf_of, rows), stability=leave_out(self.stability, rows)
        )

    def mapped(self, function: Callable[[Any], Any]) -> Part:
        """Return the part with other vectors, such as copies in another place."""
        return replace(self, leaf_of=function(self.leaf_of), stability=function(self.stability))


@dataclass(frozen=True, eq=False)
class RowMap:
    """The group of each row, part by part."""

    parts: tuple[Part, ...] = ()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(part.n_rows for part in self.parts)

    @property
    def elsewhere(self) -> str | None:
        """What messages call the vectors of rows if they have to be loaded first: "a Dask array" or
        "on a device"; None if all are in this process.
        """
        names = [part.place.elsewhere for part in self.parts]
        return next(filter(None, names), None)

    def require_here(self, name: str) -> None:
        """Raise ValueError if a part is not in this process; ``name`` is that of the rows."""
        if self.elsewhere:
            raise ValueError(
                f"{name} are {self.elsewhere.replace('a Dask array', 'on Dask')}: call gather() "
                "first, which loads 8 bytes per row."
            )

    @property
    def loads_unasked(self) -> bool:
        """Whether a part that is not in this process can be loaded without being asked for."""
        return any(part.place.loads_unasked for part in self.parts)

    @property
    def starts(self) -> IntArray:
        """Number of the first row of each part."""
        return np.cumsum([0, *(part.n_rows for part in self.parts)])[:-1]

    def followed_by(self, parts: Sequence[Part]) -> RowMap:
        """Return the map with more rows."""
        return RowMap((*self.parts, *parts))

    def moved(self, position: IntArray) -> RowMap:
        """Return the map after the group at position ``i`` has moved to ``position[i]``."""
        return RowMap(tuple(replace(part, position=position[part.position]) for part in self.parts))

    def gathered(self) -> RowMap:
        """Return the map in this process: what is on Dask goes to files, what is on a device into
        memory.
        """
        if self.elsewhere is None:
            return self
        loaded = vectors.load(
            [vector for part in self.parts for vector in (part.leaf_of, part.stability)]
        )
        pairs = zip(loaded[::2], loaded[1::2], strict=True)
        return RowMap(
            tuple(
                replace(part, leaf_of=leaf_of, stability=stability)
                for part, (leaf_of, stability) in zip(self.parts, pairs, strict=True)
            )
        )

    def count(self, n_leaves: int) -> IntArray:
        """Return the number of rows of each group of the model."""
        counts = np.zeros(n_leaves, dtype=np.int64)
        for part in self.parts:
            np.add.at(counts, part.position, part.place.count(part.leaf_of, len(part.position)))
        return counts

    def find_leaves(self, rows: IntArray) -> IntArray:
        """Return the group of each of the given rows (sorted)."""
        bounds = np.searchsorted(rows, [*self.starts, self.n_rows])
        found = [
            part.find_leaves(rows[first:last] - start)
            for part, start, first, last in zip(
                self.parts, self.starts, bounds, bounds[1:], strict=False
            )
            if first < last
        ]
        return np.concatenate([np.empty(0, dtype=np.int64), *found])


# ---- results by row


def check_medoids(rows: IntArray, row_map: RowMap) -> None:
    """Raise ValueError unless each group has the row that stands for it.

    Otherwise parents of rows could be a cycle.
    """
    strangers = row_map.find_leaves(rows) != np.arange(len(rows))
    if strangers.any():
        raise ValueError(
            f"has {rows[strangers][0]}, which is in another group than the one that it stands for"
        )


def check_absorbed(absorbed_at: IntArray, parents: IntArray) -> None:
    """Raise ValueError unless groups form a forest."""
    check_forest(parents, absorbed_at)


def check_sizes(sizes: IntArray, n_rows: int) -> None:
    """Raise ValueError if groups have more rows than there are."""
    if sizes.sum(dtype=np.float64) > n_rows:
        raise ValueError(f"has {sizes.sum(dtype=np.float64):g} rows in all, and there are {n_rows}")


@dataclass(frozen=True, eq=False)
class Lookups:
    """What a model says of each row besides its label, where the rows are, and the hierarchy."""

    parents: Any
    stability: Any
    hierarchy: FusionHierarchy


@dataclass(frozen=True, eq=False)
class RowResults:
    """What a fit or an update found out about groups of rows, and the group of each row."""

    row_map: RowMap  # the group of each row
    # number of the row that stands for each group
    rows: Annotated[
        IntArray,
        ranges.numbers(ranges.ANY, below="n_rows", is_sorted=True),
        ranges.Holds(check_medoids, "row_map"),
    ]
    # number of the cluster of each group; -1 for noise
    labels: Annotated[IntArray, ranges.labels("rows", among="cluster_numbers")]
    # the group that absorbed each group, or itself
    parents: Annotated[IntArray, ranges.numbers("rows", below="rows")]
    # the level at which that happened, or 0. A group has absorbed its other rows at level 1
    absorbed_at: Annotated[IntArray, ranges.counts("rows"), ranges.Holds(check_absorbed, "parents")]
    # stability of the row that stands for each group, at the last level that clustered it
    stability: Annotated[NDArray[np.float32], ranges.shares("rows")]
    # number of rows of each group, without those of weight 0
    sizes: Annotated[IntArray, ranges.counts("rows"), ranges.Holds(check_sizes, "n_rows")]

    @classmethod
    def of(
        cls, row_map: RowMap, rows: IntArray, labels: IntArray, sizes: IntArray, fusions: Fusions
    ) -> RowResults:
        """Return results with numbers of rows and clusters that are as wide as the number of rows
        needs.
        """
        kind = index_dtype(row_map.n_rows)
        return cls(
            row_map,
            rows.astype(kind, copy=False),
            labels.astype(kind, copy=False),
            np.array(fusions.parents),
            np.array(fusions.absorbed_at),
            np.array(fusions.stability),
            sizes,
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.row_map.n_rows

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.rows)

    def renamed(self, names: IntArray) -> RowResults:
        """Return the results with another name for each label; the last name is that of noise."""
        return replace(self, labels=names[self.labels].astype(self.labels.dtype, copy=False))

    def gathered(self) -> RowResults:
        """Return the results with the group of each row in this process."""
        return replace(self, row_map=self.row_map.gathered())

    def labels_of(self, rows: IntArray) -> IntArray:
        """Return the cluster of some rows, in any order."""
        order = np.argsort(rows, kind="stable")
        found: IntArray = np.empty(len(rows), dtype=self.labels.dtype)
        found[order] = self.labels[self.row_map.find_leaves(rows[order])]
        return found

    def look_up_labels(self) -> Any:
        """Return the cluster of each row, where the rows are."""
        return vectors.join([part.look_up(self.labels) for part in self.row_map.parts])

    def look_up(self, tree: MergeTree) -> Lookups:
        """Return the parent and the stability of each row, and the hierarchy.

        The ``tree`` has the merges of groups up to a single cluster, with positions of groups as
        medoids. If the rows are not in this process, the leaves of the hierarchy are the groups of
        the first level.
        """
        tree = replace(tree, medoids=self.rows[tree.medoids])
        parents, stability, absorbed_at = self._look_up_rows()
        if self.row_map.elsewhere is None:
            n_levels = max(int(self.absorbed_at.max()), int(len(self.rows) < self.n_rows))
            hierarchy = FusionHierarchy.of_fit(parents, absorbed_at, n_levels, tree=tree)
        else:
            above = np.maximum(self.absorbed_at, 1) - 1
            if int(self.sizes.sum()) == self.n_rows:
                sizes = self.sizes
            else:
                sizes = self.row_map.count(len(self.rows))
            tree = replace(tree, level=tree.level - 1)
            hierarchy = FusionHierarchy.of_fit(
                self.parents, above, int(above.max()), self.rows, sizes, tree
            )
        return Lookups(parents, stability, hierarchy)

    def _look_up_rows(self) -> list[Any]:
        """Return parent, stability and the level of absorption of each row, where the rows are."""
        kinds = (self.rows.dtype, self.stability.dtype, self.absorbed_at.dtype)
        alone = replace(self, row_map=RowMap())  # is sent to workers
        found = [
            part.place.map_rows(
                partial(alone._of_block, part.position, start),
                (part.leaf_of, part.stability),
                kinds,
            )
            for part, start in zip(self.row_map.parts, self.row_map.starts.tolist(), strict=True)
        ]
        return [vectors.join(of_parts) for of_parts in zip(*found, strict=True)]

    def _of_block(
        self, position: IntArray, start: int, numbers: Any, leaf_of: Any, stability: Any
    ) -> tuple[Any, ...]:
        """Return parent, stability and the level of absorption of some rows of a part.

        ``position`` and ``start`` are those of the part; ``numbers``, ``leaf_of`` and ``stability``
        are of the rows. Those that do not stand for a group were absorbed by the one that does at
        the first level.
        """
        xp = arrays.namespace(leaf_of)
        group = arrays.look_up(position, leaf_of)
        leaf_row = arrays.look_up(self.rows, group)
        is_leaf = leaf_row == numbers + start
        absorbed_at = arrays.look_up(self.absorbed_at, group)
        return (
            xp.where(is_leaf, arrays.look_up(self.rows[self.parents], group), leaf_row),
            xp.where(is_leaf, arrays.look_up(self.stability, group), stability),
            xp.where(is_leaf, absorbed_at, xp.ones_like(absorbed_at)),
        )
