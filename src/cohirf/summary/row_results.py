"""Results by row: looked up in those of groups of rows, for a fit and for updates, wherever the rows are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.parents import Fusions
from cohirf.beyond.merge_tree import MergeTree
from cohirf.engines.dask import dask, dask_array, is_dask
from cohirf.hierarchy import FusionHierarchy
from cohirf.rows.arrays import look_up, namespace
from cohirf.rows.grouping import IntArray, index_dtype, row_blocks
from cohirf.rows.storage import MemoryStorage, Storage
from cohirf.scratch import ScratchStorage
from cohirf.store.schema import Layout
from cohirf.summary.row_map import LOOKED_UP, RowMap

RESULT_NAMES = ("parents_", "stability_", "absorbed_at")
BY_ROW = ("labels_", "parents_", "stability_", "hierarchy_")


@dataclass(frozen=True, eq=False)
class RowResults:
    """What a fit or an update found out about groups of rows, and the group of each row."""

    row_map: RowMap  # the group of each row
    rows: Annotated[IntArray, Layout("groups", below="rows")]  # number of the row that stands for each group
    labels: Annotated[IntArray, Layout("groups")]  # number of the cluster of each group; -1 for noise
    parents: Annotated[IntArray, Layout("groups", below="groups")]  # the group that absorbed each group, or itself
    # the level at which that happened, or 0. A group has absorbed its other rows at level 1
    absorbed_at: Annotated[IntArray, Layout("groups")]
    # stability of the row that stands for each group, at the last level that clustered it
    stability: Annotated[NDArray[np.float32], Layout("groups")]
    sizes: Annotated[IntArray, Layout("groups")]  # number of rows of each group, without those of weight 0
    tree: MergeTree  # merges of groups up to a single cluster; its medoids are positions of groups

    @classmethod
    def of(
        cls, row_map: RowMap, rows: IntArray, labels: IntArray, sizes: IntArray, fusions: Fusions, tree: MergeTree
    ) -> RowResults:
        """Return results with numbers of rows and clusters that are as wide as the number of rows needs."""
        kind = index_dtype(row_map.n_rows)
        return cls(
            row_map,
            rows.astype(kind, copy=False),
            labels.astype(kind, copy=False),
            np.array(fusions.parents),
            np.array(fusions.absorbed_at),
            np.array(fusions.stability),
            sizes,
            tree,
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.row_map.n_rows

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

    def look_up(self) -> dict[str, Any]:
        """Return the other attributes of a model with an entry for each row, and its hierarchy.

        If the rows are not in this process, the leaves of the hierarchy are the groups of the first level.
        """
        if self.row_map.is_here:
            parents, stability, absorbed_at = self._look_up_here()
            n_levels = max(int(self.absorbed_at.max()), int(len(self.rows) < self.n_rows))
            hierarchy = FusionHierarchy.of_fit(parents, absorbed_at, n_levels, tree=self._tree(0))
        else:
            parents, stability = self._look_up_there()
            above = np.maximum(self.absorbed_at, 1) - 1
            sizes = self.sizes if int(self.sizes.sum()) == self.n_rows else self.row_map.count(len(self.rows))
            hierarchy = FusionHierarchy.of_fit(self.parents, above, int(above.max()), self.rows, sizes, self._tree(1))
        return {"parents_": parents, "stability_": stability, "hierarchy_": hierarchy}

    def _tree(self, level_0: int) -> MergeTree:
        """Return the tree with row numbers as its medoids; its levels are counted from ``level_0``."""
        return replace(self.tree, medoids=self.rows[self.tree.medoids], level=self.tree.level - level_0)

    def _of_block(self, position: Any, own: Any, stability: Any) -> tuple[Any, ...]:
        """Return what ``RESULT_NAMES`` lists for rows with the numbers ``own``, in the groups at ``position``.

        Rows that do not stand for a group were absorbed by the one that does at the first level.
        """
        xp, leaf_row = namespace(position), look_up(self.rows, position)
        is_leaf = leaf_row == own
        absorbed_at = look_up(self.absorbed_at, position)
        return (
            xp.where(is_leaf, look_up(self.rows[self.parents], position), leaf_row),
            xp.where(is_leaf, look_up(self.stability, position), stability),
            xp.where(is_leaf, absorbed_at, xp.ones_like(absorbed_at)),
        )

    def _look_up_here(self) -> list[NDArray[Any]]:
        on_disk = any(isinstance(part.leaf_of, np.memmap) for part in self.row_map.parts)
        storage: Storage = ScratchStorage() if on_disk else MemoryStorage()
        kinds = (self.rows.dtype, self.stability.dtype, self.absorbed_at.dtype)
        found = [storage.vector(self.n_rows, kind) for kind in kinds]
        for part, start in zip(self.row_map.parts, self.row_map.starts.tolist(), strict=True):
            for block in row_blocks(part.n_rows, LOOKED_UP):
                own = slice(start + block.start, start + block.stop)
                numbers = np.arange(own.start, own.stop, dtype=self.rows.dtype)
                of_block = self._of_block(part.position[part.leaf_of[block]], numbers, part.stability[block])
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
            xp = namespace(position)
            own = xp.arange(self.n_rows, dtype=look_up(self.rows[:1], position[:0]).dtype, device=position.device)
            parents, stability, _ = self._of_block(position, own, stability)
            return parents, stability
        stability = stability.rechunk(position.chunks)
        own = dask_array().arange(self.n_rows, chunks=position.chunks, dtype=self.rows.dtype)
        sent = dask().delayed(replace(self, row_map=RowMap()), pure=False, traverse=False)  # to each worker once
        kinds = (self.rows.dtype, self.stability.dtype)
        parents, stability = (
            dask_array().map_blocks(
                _of_chunk, position, own, stability, results=sent, which=which, dtype=kind, meta=np.empty(0, kind)
            )
            for which, kind in enumerate(kinds)
        )
        return parents, stability


def _of_chunk(position: IntArray, own: IntArray, stability: Any, results: RowResults, which: int) -> NDArray[Any]:
    found: NDArray[Any] = results._of_block(position, own, stability)[which]
    return found


def _join_parts(vectors: list[Any]) -> Any:
    """Concatenate vectors; if one is on Dask, the result is, too."""
    if len(vectors) == 1:
        return vectors[0]
    if any(is_dask(vector) for vector in vectors):
        da = dask_array()
        return da.concatenate([da.asarray(vector) for vector in vectors])
    storage: Storage = ScratchStorage() if any(isinstance(each, np.memmap) for each in vectors) else MemoryStorage()
    joined = storage.vector(sum(map(len, vectors)), vectors[0].dtype)
    np.concatenate(vectors, out=joined)
    return joined


class RowResult:
    """An attribute of a model with an entry for each row, or the hierarchy: looked up when it is first asked for."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, owner: object, kind: type | None = None) -> Any:
        if owner is None:
            return self
        known = vars(owner)
        results: RowResults | None = known.get("_rows")
        if results is None:
            raise AttributeError(f"{type(owner).__name__!r} object has no attribute {self._name!r}")
        if self._name == "labels_":
            known["labels_"] = results.look_up_labels()
        else:
            known.update({name: value for name, value in results.look_up().items() if name not in known})
        return known[self._name]
