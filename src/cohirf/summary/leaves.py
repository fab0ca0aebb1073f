"""Leaves: groups of rows that a model keeps in place of the rows, so that it can be updated without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.algorithm.arrays import narrow_indices
from cohirf.algorithm.contract_batch import Mass
from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.merge_tree import Groups
from cohirf.algorithm.runs import Survivors


@dataclass(frozen=True, eq=False)
class Leaves:
    """Groups of rows, sorted by the number of the row that stands for each.

    Attributes
    ----------
    rows : array of int
        Number of the row that stands for each group: its medoid.
    values : array or CSR matrix
        Values of that row, with all features.
    means : array or CSR matrix
        Mean of the rows of each group.
    sizes, first_rows : array of int
        Number of rows in each group, without those of weight 0, and the smallest of their numbers.
    weights : array of float or None
        Total sample weight of each group; None if all rows have the weight 1.
    is_noise : array of bool
        Whether a group is a single row that the base method called noise.
    stability : array of float32
        Stability of each row that stands for a group, at the first level; NaN if the level did not cluster it.
    heights : array of int
        How often the rows of each group were contracted.
    is_stand_in : array of bool
        Whether the values are not those of the row, which are not known: the row that had them was forgotten.
    """

    rows: IntArray
    values: Any
    means: Any
    sizes: IntArray
    first_rows: IntArray
    weights: Mass | None
    is_noise: NDArray[np.bool_]
    stability: NDArray[np.float32]
    heights: IntArray
    is_stand_in: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def mass(self) -> Mass:
        """Total weight of each group; without sample weights, its number of rows."""
        return self.sizes.astype(np.float64) if self.weights is None else self.weights

    @property
    def n_rows(self) -> int:
        """Number of rows in all groups, without those of weight 0."""
        return int(self.sizes.sum())

    @classmethod
    def of_rows(cls, first_row: int, values: Any, means: Any, weights: Mass | None) -> Leaves:
        """Return rows that follow each other as groups of one row each."""
        n_rows = values.shape[0]
        rows = np.arange(first_row, first_row + n_rows)
        return cls(
            rows=rows,
            values=values,
            means=means,
            sizes=np.ones(n_rows, dtype=np.int64),
            first_rows=rows,
            weights=weights,
            is_noise=np.zeros(n_rows, dtype=bool),
            stability=np.full(n_rows, np.nan, dtype=np.float32),
            heights=np.zeros(n_rows, dtype=np.int32),
            is_stand_in=np.zeros(n_rows, dtype=bool),
        )

    @classmethod
    def of_survivors(cls, survivors: Survivors, values: Any, first_row: int) -> Leaves:
        """Return the survivors of a first level whose row 0 has the number ``first_row`` among all rows."""
        return cls(
            rows=survivors.rows.astype(np.int64) + first_row,
            values=values,
            means=survivors.means,
            sizes=survivors.sizes,
            first_rows=survivors.first_rows.astype(np.int64) + first_row,
            weights=survivors.weights,
            is_noise=survivors.is_noise,
            stability=survivors.stability,
            heights=np.ones(len(survivors.rows), dtype=np.int32),
            is_stand_in=np.zeros(len(survivors.rows), dtype=bool),
        )

    @classmethod
    def join(cls, parts: Sequence[Leaves]) -> Leaves:
        """Concatenate groups."""
        parts = [part for part in parts if len(part)] or list(parts[:1])
        if len(parts) == 1:
            return parts[0]
        weighted = any(part.weights is not None for part in parts)
        columns = ("rows", "sizes", "first_rows", "is_noise", "stability", "heights", "is_stand_in")
        return cls(
            **{name: np.concatenate([getattr(part, name) for part in parts]) for name in columns},
            values=stack([part.values for part in parts]),
            means=stack([part.means for part in parts]),
            weights=np.concatenate([part.mass for part in parts]) if weighted else None,
        )

    def take(self, index: IntArray | NDArray[np.bool_]) -> Leaves:
        """Return some of the groups."""
        return Leaves(
            rows=self.rows[index],
            values=self.values[index],
            means=self.means[index],
            weights=None if self.weights is None else self.weights[index],
            sizes=self.sizes[index],
            first_rows=self.first_rows[index],
            is_noise=self.is_noise[index],
            stability=self.stability[index],
            heights=self.heights[index],
            is_stand_in=self.is_stand_in[index],
        )

    def joined(self, kept: IntArray, label: IntArray, height: int) -> Leaves:
        """Return the groups at the positions ``kept``, which all groups with their label have joined."""
        n_kept = len(kept)
        groups = Groups(self.means, self.mass).merged(label, n_kept)
        first_rows = np.full(n_kept, np.iinfo(np.int64).max)
        np.minimum.at(first_rows, label, self.first_rows)
        return replace(
            self.take(kept),
            means=groups.means,
            sizes=np.bincount(label, weights=self.sizes, minlength=n_kept).astype(np.int64),
            first_rows=first_rows,
            weights=None if self.weights is None else groups.mass,
            is_noise=np.zeros(n_kept, dtype=bool),
            heights=np.full(n_kept, height, dtype=np.int32),
        )

    def shifted(self, n_rows: int) -> Leaves:
        """Return the groups with row numbers that are higher by ``n_rows``."""
        return replace(self, rows=self.rows + n_rows, first_rows=self.first_rows + n_rows)

    def as_survivors(self, values: Any, mass: Mass | None, batch_sizes: Any, batch_costs: Any) -> Survivors:
        """Return the groups as the survivors of a first level of the given batches; ``mass`` is that of later levels.

        The stability of the views of each batch is not known any more.
        """
        return Survivors(
            rows=self.rows,
            values=values,
            mass=mass,
            sizes=self.sizes.astype(np.int64, copy=False),
            first_rows=self.first_rows,
            weights=self.weights,
            means=self.means,
            is_noise=self.is_noise,
            stability=self.stability,
            batch_sizes=batch_sizes,
            batch_costs=batch_costs,
            view_stability=np.empty((len(batch_sizes), 0)),
        )


def stack(blocks: Sequence[Any]) -> Any:
    """Concatenate arrays or CSR matrices with the same number of columns."""
    if any(sparse.issparse(block) for block in blocks):
        kind = next(type(block) for block in blocks if sparse.issparse(block))
        return narrow_indices(kind(sparse.vstack(blocks, format="csr")))
    return np.concatenate(list(blocks))
