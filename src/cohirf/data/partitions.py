"""Given partitions of the same rows, wherever their labels are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.beyond.votes import NO_OPINION
from cohirf.data.dask_arrays import DaskTable
from cohirf.engines.dask import compute_unoptimised, is_dask
from cohirf.rows.grouping import row_blocks
from cohirf.sources import Source, open_source
from cohirf.sources.tables import frame_names, is_frame


@dataclass(frozen=True)
class Partitions:
    """Labels that are read block by block."""

    n_rows: int
    read: Callable[[], Iterator[NDArray[Any]]]  # consecutive rows, with a column for each partition


def open_partitions(labels: Any, block_rows: int) -> Partitions:
    """Return what users pass as several partitions: an array, a table, a source, a Dask array or
    table, or a list of vectors.
    """
    if is_dask(labels):
        array = DaskTable.of(labels, known_rows=True).array.rechunk({1: -1})
        chunks = range(array.numblocks[0])
        return Partitions(
            int(array.shape[0]),
            lambda: (compute_unoptimised(array.blocks[chunk])[0] for chunk in chunks),
        )
    if isinstance(labels, Source | str | os.PathLike):
        source = open_source(labels)
        return Partitions(source.n_rows, source.read_all)
    if is_frame(labels):
        by_number = hasattr(labels, "iloc")  # names of pandas can be repeated
        columns = [
            (labels.iloc[:, number] if by_number else labels[name]).to_numpy()
            for number, name in enumerate(frame_names(labels))
        ]
    elif isinstance(labels, list | tuple):
        columns = list(labels)
    else:
        array = np.asarray(labels)
        if array.ndim != 2:
            raise ValueError(
                f"labels has shape {array.shape}: give a column for each partition, or a list with "
                "a vector for each."
            )
        columns = list(array.T)
    if not columns:
        raise ValueError("labels has no vectors: give at least one.")
    vectors = [_as_vector(column, f"vector {number}") for number, column in enumerate(columns)]
    n_rows = len(vectors[0])
    for number, vector in enumerate(vectors):
        refuse_other_rows(f"vector {number}", len(vector), n_rows)
    if n_rows == 0:
        raise ValueError("labels has 0 rows: give at least one.")
    blocks = list(row_blocks(n_rows, block_rows))
    return Partitions(
        n_rows,
        lambda: (np.stack([vector[block] for vector in vectors], axis=1) for block in blocks),
    )


def _as_vector(column: Any, name: str) -> NDArray[Any]:
    """Return labels of one partition as numbers.

    Text is numbered, and None, NaN and empty cells mean no opinion.
    """
    vector = column if isinstance(column, np.ndarray) else np.asarray(column)
    if vector.ndim != 1:
        raise ValueError(f"{name} has shape {vector.shape}: give one label for each row.")
    if vector.dtype.kind in "biuf":
        return vector
    if vector.dtype.kind not in "OUST":
        raise TypeError(f"{name} has labels of type {vector.dtype}: give integers or text.")
    has_opinion = np.array([_is_label(cell) for cell in vector.tolist()], dtype=bool)
    numbers = np.full(len(vector), NO_OPINION)
    if has_opinion.any():
        numbers[has_opinion] = np.unique(vector[has_opinion].astype(str), return_inverse=True)[1]
    return numbers


def _is_label(cell: Any) -> bool:
    """Return whether a cell is neither None nor NaN nor negative."""
    try:
        return cell is not None and bool(cell == cell) and not (isinstance(cell, Real) and cell < 0)
    except TypeError:  # the missing value of pandas is neither equal to itself nor not
        return False


def refuse_other_rows(name: str, n_given: int, n_rows: int) -> None:
    """Raise if something has other rows than the labels."""
    if n_given != n_rows:
        raise ValueError(
            f"{name} has {n_given:,} rows, but labels have {n_rows:,}: give the same rows in the "
            "same order."
        )
