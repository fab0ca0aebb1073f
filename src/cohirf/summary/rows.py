"""Which group each row belongs to, wherever the rows are, and the results of rows, looked up in
those of groups.

A map has a part for each update, so that an update adds to it and never rewrites it. A part numbers
its groups from 0. Where these groups are now, after others were removed or put together, is a table
with an entry for each group, not for each row. Rows are in memory, in a file, on Dask or on a
device. Labels and other results by row are looked up through the map when they are first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.parents import Fusions
from cohirf.beyond.merge_tree import MergeTree
from cohirf.engines.dask import compute_unoptimised, dask, dask_array, gather_vectors, is_dask
from cohirf.hierarchy import FusionHierarchy
from cohirf.hierarchy.fusion_hierarchy import check_forest
from cohirf.rows import arrays, ranges
from cohirf.rows.grouping import (
    IntArray,
    count_by_label,
    index_dtype,
    leave_out,
    put_back,
    row_blocks,
)
from cohirf.rows.storage import Engine, SerialEngine, Storage
from cohirf.scratch import ScratchStorage, is_scratch

# Rows that are looked up at a time: measured, 2**20 took as long, and 52 to 84 MB instead of 7.
LOOKED_UP = 2**17


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
    def is_here(self) -> bool:
        """Whether the vectors are in this process."""
        return isinstance(self.leaf_of, np.ndarray)

    def look_up(self, table: NDArray[Any], engine: Engine | None = None) -> Any:
        """Return what a table with an entry for each group of the model says about each row."""
        return look_up(table[self.position], self.leaf_of, engine)

    def find_leaves(self, rows: IntArray) -> IntArray:
        """Return the group of the model of each of the given rows, by their numbers in the part."""
        leaves: IntArray = self.position[fetch(self.leaf_of, rows)]
        return leaves

    def with_leaves(self, rows: IntArray, leaves: Any) -> Part:
        """Return the part after the given rows (sorted) have joined other groups of it."""
        return replace(self, leaf_of=put(self.leaf_of, rows, leaves))

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
    def is_here(self) -> bool:
        """Whether all parts are in this process."""
        return all(part.is_here for part in self.parts)

    @property
    def is_on_device(self) -> bool:
        """Whether a part is on a device."""
        return any(arrays.is_on_device(part.leaf_of) for part in self.parts)

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
        if self.is_here:
            return self
        elsewhere = [
            vector
            for part in self.parts
            for vector in (part.leaf_of, part.stability)
            if is_dask(vector)
        ]
        loaded = iter(gather_vectors(elsewhere, ScratchStorage()))  # in one computation

        def gather(vector: Any) -> Any:
            if is_dask(vector):
                return next(loaded)
            return np.asarray(arrays.to_host(vector))

        return RowMap(tuple(part.mapped(gather) for part in self.parts))

    def count(self, n_leaves: int) -> IntArray:
        """Return the number of rows of each group of the model."""
        counts = np.zeros(n_leaves, dtype=np.int64)
        for part in self.parts:
            np.add.at(counts, part.position, count(part.leaf_of, len(part.position)))
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


def look_up(table: NDArray[Any], numbers: Any, engine: Engine | None = None) -> Any:
    """Return the entries of a table at the given numbers, where these are.

    An ``engine`` runs blocks of them as tasks, which must be able to write into vectors of this
    process.
    """
    if is_dask(numbers):
        # a task of its own, so that the table is sent to each worker only once
        sent = dask().delayed(table, pure=False, traverse=False)
        return numbers.map_blocks(
            _take_entries, table=sent, dtype=table.dtype, meta=table[:0], token="cohirf_look_up"
        )
    if not isinstance(numbers, np.ndarray):
        return arrays.look_up(table, numbers)
    storage = storage_like(numbers)
    found = storage.vector(len(numbers), table.dtype)
    tasks = [(found, table, numbers, block) for block in row_blocks(len(numbers), LOOKED_UP)]
    for _ in (engine or SerialEngine()).run(look_up_block, tasks, len(tasks)):
        storage.release()
    return found


def look_up_block(
    found: NDArray[Any], table: NDArray[Any], numbers: IntArray, block: slice
) -> None:
    """Write the entries of a table at some numbers into a vector."""
    np.take(table, numbers[block], out=found[block], mode="clip")


def storage_like(vector: Any) -> Storage:
    """Return where vectors of the same length are kept: in files, if this one is.

    Both are released then.
    """
    if not isinstance(vector, np.memmap):
        return Storage()
    return ScratchStorage(mappings=[vector._mmap] if is_scratch(vector) else [])  # type: ignore[attr-defined]


def _take_entries(numbers: IntArray, table: NDArray[Any]) -> NDArray[Any]:
    return table[numbers]


def fetch(vector: Any, rows: IntArray) -> NDArray[Any]:
    """Return the entries of some rows as an array of NumPy."""
    if is_dask(vector):
        (entries,) = compute_unoptimised(vector[rows])
        return np.asarray(entries)
    return np.asarray(arrays.fetch_rows(vector, rows))


def count(numbers: Any, n_numbers: int) -> IntArray:
    """Return how often each number occurs."""
    if not is_dask(numbers):
        return count_by_label(numbers, n_numbers)
    (counts,) = compute_unoptimised(dask_array().bincount(numbers, minlength=n_numbers))
    return np.asarray(counts)


def put(vector: Any, rows: IntArray, entries: Any) -> Any:
    """Return a vector with other entries at some rows (sorted, distinct).

    One in this process is changed in place.
    """
    if isinstance(vector, np.ndarray):
        vector[rows] = arrays.to_host(entries)
        return vector
    if is_dask(vector):
        own = dask_array().arange(vector.shape[0], chunks=vector.chunks)
        return vector.map_blocks(
            _put_into_chunk, own, rows=rows, entries=entries, dtype=vector.dtype
        )
    return put_back(leave_out(vector, rows), entries, rows)


def _put_into_chunk(
    chunk: NDArray[Any], own: IntArray, rows: IntArray, entries: NDArray[Any]
) -> NDArray[Any]:
    changed = np.array(chunk)
    if len(own):
        some = slice(*np.searchsorted(rows, [own[0], own[-1] + 1]).tolist())
        changed[rows[some] - own[0]] = entries[some]
    return changed


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
        return _join_parts([part.look_up(self.labels) for part in self.row_map.parts])

    def look_up(self, tree: MergeTree) -> Lookups:
        """Return the parent and the stability of each row, and the hierarchy.

        The ``tree`` has the merges of groups up to a single cluster, with positions of groups as
        medoids. If the rows are not in this process, the leaves of the hierarchy are the groups of
        the first level.
        """
        tree = replace(tree, medoids=self.rows[tree.medoids])
        if self.row_map.is_here:
            parents, stability, absorbed_at = self._look_up_here()
            n_levels = max(int(self.absorbed_at.max()), int(len(self.rows) < self.n_rows))
            hierarchy = FusionHierarchy.of_fit(parents, absorbed_at, n_levels, tree=tree)
        else:
            parents, stability = self._look_up_there()
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

    def _of_block(self, position: Any, own: Any, stability: Any) -> tuple[Any, ...]:
        """Return parent, stability and the level of absorption of rows with the numbers ``own``,
        in the groups at ``position``.

        Rows that do not stand for a group were absorbed by the one that does at the first level.
        """
        xp = arrays.namespace(position)
        leaf_row = arrays.look_up(self.rows, position)
        is_leaf = leaf_row == own
        absorbed_at = arrays.look_up(self.absorbed_at, position)
        return (
            xp.where(is_leaf, arrays.look_up(self.rows[self.parents], position), leaf_row),
            xp.where(is_leaf, arrays.look_up(self.stability, position), stability),
            xp.where(is_leaf, absorbed_at, xp.ones_like(absorbed_at)),
        )

    def _look_up_here(self) -> list[NDArray[Any]]:
        on_disk = any(isinstance(part.leaf_of, np.memmap) for part in self.row_map.parts)
        storage: Storage = ScratchStorage() if on_disk else Storage()
        kinds = (self.rows.dtype, self.stability.dtype, self.absorbed_at.dtype)
        found = [storage.vector(self.n_rows, kind) for kind in kinds]
        for part, start in zip(self.row_map.parts, self.row_map.starts.tolist(), strict=True):
            for block in row_blocks(part.n_rows, LOOKED_UP):
                own = slice(start + block.start, start + block.stop)
                numbers = np.arange(own.start, own.stop, dtype=self.rows.dtype)
                of_block = self._of_block(
                    part.position[part.leaf_of[block]], numbers, part.stability[block]
                )
                for vector, values in zip(found, of_block, strict=True):
                    vector[own] = values
                storage.release()
        return found

    def _look_up_there(self) -> tuple[Any, Any]:
        """Return parents and stability of rows that are on Dask or on a device."""
        parts = self.row_map.parts
        position = _join_parts([part.look_up(np.arange(len(self.rows))) for part in parts])
        stability = _join_parts([part.stability for part in parts])
        if not is_dask(position):
            xp = arrays.namespace(position)
            own = xp.arange(
                self.n_rows,
                dtype=arrays.look_up(self.rows[:1], position[:0]).dtype,
                device=position.device,
            )
            parents, stability, _ = self._of_block(position, own, stability)
            return parents, stability
        stability = stability.rechunk(position.chunks)
        own = dask_array().arange(self.n_rows, chunks=position.chunks, dtype=self.rows.dtype)
        # to each worker once
        sent = dask().delayed(replace(self, row_map=RowMap()), pure=False, traverse=False)
        kinds = (self.rows.dtype, self.stability.dtype)
        parents, stability = (
            dask_array().map_blocks(
                _of_chunk,
                position,
                own,
                stability,
                results=sent,
                which=which,
                dtype=kind,
                meta=np.empty(0, kind),
            )
            for which, kind in enumerate(kinds)
        )
        return parents, stability


def _of_chunk(
    position: IntArray, own: IntArray, stability: Any, results: RowResults, which: int
) -> NDArray[Any]:
    found: NDArray[Any] = results._of_block(position, own, stability)[which]
    return found


def _join_parts(vectors: list[Any]) -> Any:
    """Concatenate vectors; if one is on Dask, the result is, too."""
    if len(vectors) == 1:
        return vectors[0]
    if any(is_dask(vector) for vector in vectors):
        da = dask_array()
        return da.concatenate([da.asarray(vector) for vector in vectors])
    storage: Storage = (
        ScratchStorage() if any(isinstance(each, np.memmap) for each in vectors) else Storage()
    )
    joined = storage.vector(sum(map(len, vectors)), vectors[0].dtype)
    np.concatenate(vectors, out=joined)
    return joined
