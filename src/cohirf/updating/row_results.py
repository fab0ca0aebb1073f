"""Results by row of an updated model: looked up in its summary when they are asked for, and not by each update."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.grouping import IntArray, index_dtype, row_blocks
from cohirf.algorithm.merge_tree import MergeTree
from cohirf.algorithm.storage import MemoryStorage, Storage
from cohirf.engines.dask import dask_array
from cohirf.hierarchy import FusionHierarchy
from cohirf.scratch import ScratchStorage
from cohirf.summary.row_map import LOOKED_UP, FittedPart, RowMap
from cohirf.summary.summary import Summary

NAMES = ("labels_", "parents_", "stability_", "_absorbed_at")
BY_ROW = (*NAMES, "hierarchy_")


class RowResult:
    """An attribute of a model with an entry for each row: what ``fit`` has set or, after an update, looked up.

    All such attributes are looked up together, and kept until the next update.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is None:
            return self
        summary = vars(model).get("_summary")
        found = {} if summary is None or summary.results is None else look_up_rows(summary)
        if self._name not in found:
            raise AttributeError(f"{type(model).__name__!r} object has no attribute {self._name!r}")
        vars(model).update(found)
        return found[self._name]


@dataclass(frozen=True, eq=False)
class Table:
    """Results of leaves and pending rows, from which those of a row follow.

    Attributes
    ----------
    rows, labels, parents, absorbed_at, stability : array
        For each leaf and pending row: row number, cluster number, row number of the parent, level of absorption,
        stability.
    """

    rows: IntArray
    labels: IntArray
    parents: IntArray
    absorbed_at: IntArray
    stability: NDArray[np.float32]

    @classmethod
    def of(cls, summary: Summary) -> Table:
        """Return the table of a summary."""
        results, kind = summary.results, index_dtype(summary.n_rows)
        assert results is not None
        rows = summary.rows.astype(kind)
        labels = summary.labels.astype(kind)
        return cls(rows, labels, rows[results.parents], results.absorbed_at, results.stability)

    def look_up(self, position: IntArray, own: IntArray, stability: NDArray[np.float32]) -> tuple[NDArray[Any], ...]:
        """Return the results of rows with the numbers ``own``, which belong to the leaves at ``position``.

        They are in the order of ``NAMES``. Rows that are not leaves were absorbed by their leaf at the first level.
        """
        leaf_row = self.rows[position]
        is_leaf = leaf_row == own
        one = self.absorbed_at.dtype.type(1)
        return (
            self.labels[position],
            np.where(is_leaf, self.parents[position], leaf_row),
            np.where(is_leaf, self.stability[position], stability),
            np.where(is_leaf, self.absorbed_at[position], one),
        )

    def look_up_one(self, position: IntArray, own: IntArray, stability: NDArray[np.float32], which: int) -> Any:
        """Return one of the results of rows."""
        return self.look_up(position, own, stability)[which]

    @property
    def dtypes(self) -> tuple[Any, ...]:
        """Types of the results, in the order of ``NAMES``."""
        return self.labels.dtype, self.parents.dtype, self.stability.dtype, self.absorbed_at.dtype


def look_up_rows(summary: Summary) -> dict[str, Any]:
    """Return the attributes that have an entry for each row, and the hierarchy."""
    results, table = summary.results, Table.of(summary)
    assert results is not None
    tree = replace(results.tree, medoids=table.rows[results.tree.medoids])
    if not summary.row_map.is_here:
        return _look_up_on_dask(summary, table, tree)
    labels, parents, stability, absorbed_at = _look_up_here(summary, table)
    n_levels = max(int(table.absorbed_at.max()), int(len(table.rows) < summary.n_rows))
    hierarchy = FusionHierarchy.of_fit(parents, absorbed_at, n_levels, tree=tree)
    return {"labels_": labels, "parents_": parents, "stability_": stability, "hierarchy_": hierarchy}


def _look_up_here(summary: Summary, table: Table) -> list[NDArray[Any]]:
    """Return the results of all rows: on disk, if the map is."""
    on_disk = any(isinstance(part.stability, np.memmap) for part in summary.row_map.parts)
    storage: Storage = ScratchStorage() if on_disk else MemoryStorage()
    found = [storage.vector(summary.n_rows, dtype) for dtype in table.dtypes]
    for start, position, stability in _parts(summary):
        for block in row_blocks(len(position), LOOKED_UP):
            own = np.arange(start + block.start, start + block.stop, dtype=table.rows.dtype)
            of_block = table.look_up(position[block], own, stability[block])
            for vector, values in zip(found, of_block, strict=True):
                vector[own[0] : own[-1] + 1] = values
        storage.release()
    return found


def _parts(summary: Summary) -> Any:
    """Yield the first row of each part, the position of the leaf of each of its rows, and their stability."""
    row_map, n_leaves = summary.row_map, summary.n_leaves
    everything = np.arange(n_leaves)
    for part, start in zip(row_map.parts, row_map.starts.tolist(), strict=True):
        yield start, part.look_up(everything), part.stability
    n_pending = summary.pending.n_rows
    if n_pending:
        yield row_map.n_rows, n_leaves + np.arange(n_pending), np.full(n_pending, np.nan, dtype=np.float32)


def _look_up_on_dask(summary: Summary, table: Table, tree: MergeTree) -> dict[str, Any]:
    """Return the results of all rows as Dask arrays; the hierarchy starts at the leaves, as after a fit on Dask."""
    da = dask_array()
    positions, stability = (
        da.concatenate([da.asarray(vector) for vector in vectors])
        for vectors in zip(*((position, stability) for _, position, stability in _parts(summary)), strict=True)
    )
    stability = stability.rechunk(positions.chunks)
    own = da.arange(summary.n_rows, chunks=positions.chunks, dtype=table.rows.dtype)
    found = {
        name: da.map_blocks(
            table.look_up_one, positions, own, stability, which=which, dtype=dtype, meta=np.empty(0, dtype=dtype)
        )
        for which, (name, dtype) in enumerate(zip(NAMES, table.dtypes, strict=True))
    }
    results = summary.results
    assert results is not None
    above = np.maximum(results.absorbed_at, 1) - 1  # level 0 of the hierarchy is the first level of the fit
    hierarchy = FusionHierarchy.of_fit(
        results.parents,
        above,
        int(above.max()),
        rows=table.rows,
        row_sizes=summary.sizes,
        tree=replace(tree, level=tree.level - 1),
    )
    return {**found, "hierarchy_": hierarchy}


def gather_summary(model: Any) -> Summary | None:
    """Return the summary of a model whose results by row were loaded into this process; its map is then here, too."""
    summary: Summary | None = model._summary
    if summary is None or summary.leaves is None or summary.row_map.is_here:
        return summary
    n_rows, leaf_rows = summary.row_map.n_rows, summary.leaves.rows
    stability = model.stability_[:n_rows].copy()
    stability[leaf_rows] = summary.leaves.stability
    absorbed_at = model.hierarchy_.absorbed_at[:n_rows]
    part = FittedPart(model.parents_[:n_rows], absorbed_at, stability, leaf_rows, np.arange(len(leaf_rows)))
    return replace(summary, row_map=RowMap((part,)))
