"""Rows that were assigned to points one by one, as the leaves of a first level."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.data import Data
from cohirf.data.first_level import DataWeights, FirstLevel
from cohirf.fitting.merging import SampleOfFit
from cohirf.rows.arrays import as_array
from cohirf.rows.grouping import FloatArray, IntArray, index_dtype, row_blocks
from cohirf.rows.storage import ArrayRows
from cohirf.summary.rows import Part
from cohirf.summary.summary import stack
from cohirf.summary.vectors import place_of


@dataclass(frozen=True)
class Regrouped:
    """A first level whose leaves are the rows of each point."""

    first_level: FirstLevel
    kept: IntArray  # the point of each leaf: points without rows have none
    number: IntArray  # the leaf of each point; of those without rows, one of the same owner
    known: SampleOfFit  # rows whose values are known


def regroup(
    first_level: FirstLevel,
    data: Data,
    weights: DataWeights | None,
    points: IntArray,
    means: FloatArray,
    owner: IntArray,
    candidates: SampleOfFit,
) -> Regrouped:
    """Return the rows of each point as the leaves of a first level.

    ``points`` has the point of each row, ``means`` a place for each point, and ``owner`` the
    cluster of each. The medoid of a point is the candidate of its rows that is nearest to it or,
    without any, the first row.
    """
    assert first_level.rows is not None
    counts = first_level.rows.count(points, len(means), weights)
    first_rows = counts.first_rows[counts.sizes > 0]
    known = _add_first_rows(data, candidates, points, first_rows)
    medoids = _choose_medoids(known, points[known.rows], means)
    kept = points[known.rows[medoids]]  # in the order of medoids, which are sorted
    number = _number_points(kept, owner)
    part = first_level.part
    leaves = replace(
        first_level.leaves,
        rows=known.rows[medoids],
        values=None if first_level.leaves.values is None else ArrayRows(known.values[medoids]),
        mass=counts.sizes[kept].astype(np.float64)
        if counts.weights is None
        else counts.weights[kept],
        sizes=counts.sizes[kept],
        first_rows=counts.first_rows[kept],
        weights=None if counts.weights is None else counts.weights[kept],
        means=means[kept] if counts.means is None else counts.means[kept],
        is_noise=np.zeros(len(kept), dtype=bool),
        stability=place_of(part.stability).fetch(part.stability, known.rows[medoids]),
    )
    leaf_of = number[points].astype(index_dtype(len(kept)))
    shared = replace(
        first_level,
        leaves=leaves,
        part=Part(leaf_of, part.stability, np.arange(len(kept))),
        links=(),
        local=None,
        known=None,
    )
    return Regrouped(shared, kept, number, known)


def _number_points(kept: IntArray, owner: IntArray) -> IntArray:
    """Return the leaf of each point. That of a point without rows is another one of its owner, for
    rows of weight 0 and new rows.
    """
    any_of_owner: IntArray = np.zeros(int(owner.max()) + 2, dtype=np.int64)
    any_of_owner[owner[kept] + 1] = np.arange(len(kept))
    number = any_of_owner[owner + 1]
    number[kept] = np.arange(len(kept))
    return np.asarray(number)


def read_filled(data: Data, rows: IntArray) -> Any:
    """Return some rows (sorted), in which no cell is missing."""
    return fill_missing(data.rows.take(rows), data.column_means)


def _add_first_rows(
    data: Data, candidates: SampleOfFit, points: IntArray, first_rows: IntArray
) -> SampleOfFit:
    """Return the candidates, and the first row of each point that has none of them."""
    has_none = np.isin(points[first_rows], points[candidates.rows], invert=True)
    if not has_none.any():
        return candidates
    added = np.sort(first_rows[has_none])
    rows = np.concatenate([candidates.rows, added])
    values = stack([candidates.values, read_filled(data, added)])
    mass = np.concatenate([candidates.mass, np.ones(len(added))])
    order = np.argsort(rows)
    return SampleOfFit(rows[order], values[order], order, mass[order])


def _choose_medoids(known: SampleOfFit, of_row: IntArray, points: FloatArray) -> IntArray:
    """Return, sorted, the known row that is nearest to each point."""
    distances = np.empty(len(of_row))
    values = known.values
    for block in row_blocks(len(of_row)):
        X = as_array(values[block])
        distances[block] = ((X - points[of_row[block]]) ** 2).sum(axis=1)
    order = np.lexsort((distances, of_row))
    return np.sort(order[np.flatnonzero(np.diff(of_row[order], prepend=-1))])
