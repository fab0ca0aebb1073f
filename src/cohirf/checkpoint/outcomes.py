"""Encode the result of a batch as a record of the journal, and decode it with full validation.

A record is a JSON header, which lists the arrays, followed by the bytes of the arrays. The decoder trusts nothing: it
refuses a record that no fit with these tasks can have written, even if its digests are correct.
"""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.algorithm.first_level import Run, Survivors
from cohirf.algorithm.levels import BatchTask, ContractedBatch
from cohirf.durable.arrays import (
    CSR_KINDS,
    CSR_PARTS,
    FLOATS,
    INTEGERS,
    ArrayLayout,
    Arrays,
    as_bytes,
    build_csr,
    csr_parts,
    in_range,
    is_finite,
    is_finite_or_nan,
    is_share_or_nan,
    match_axes,
    parse_type,
    sorted_in_range,
)
from cohirf.durable.json_text import require_count, require_keys
from cohirf.finite import find_fault

Outcome = ContractedBatch | Survivors
OUTCOMES: dict[str, type[Outcome]] = {kind.__name__: kind for kind in (ContractedBatch, Survivors)}
OPTIONAL = {"mass", "values", "weights"}
N_COSTS = 6

CSR_LAYOUT = {
    "data": ArrayLayout(FLOATS, ("cells",)),
    "indices": ArrayLayout(INTEGERS, ("cells",)),
    "indptr": ArrayLayout(INTEGERS, ("starts",)),
}
LAYOUTS: dict[str, dict[str, ArrayLayout]] = {
    "ContractedBatch": {
        "labels": ArrayLayout(INTEGERS, ("rows",)),
        "medoids": ArrayLayout(INTEGERS, ("medoids",)),
        "mass": ArrayLayout(("<f8",), ("medoids",)),
        "values": ArrayLayout(FLOATS, ("carried rows", "features")),
        "stability": ArrayLayout(("<f4",), ("rows",)),
        "view_stability": ArrayLayout(("<f8",), ("views",)),
        **CSR_LAYOUT,
    },
    "Survivors": {
        "rows": ArrayLayout(INTEGERS, ("carried rows",)),
        "values": ArrayLayout(FLOATS, ("carried rows", "features")),
        "mass": ArrayLayout(("<f8",), ("carried rows",)),
        "sizes": ArrayLayout(INTEGERS, ("carried rows",)),
        "first_rows": ArrayLayout(INTEGERS, ("carried rows",)),
        "weights": ArrayLayout(("<f8",), ("carried rows",)),
        "stability": ArrayLayout(("<f4",), ("carried rows",)),
        "batch_sizes": ArrayLayout(INTEGERS, ("batches",)),
        "batch_costs": ArrayLayout(("<f8",), ("batches", "costs")),
        "view_stability": ArrayLayout(("<f8",), ("batches", "views")),
        **CSR_LAYOUT,
    },
}


@dataclass(frozen=True)
class JournalEntry:
    """The result of the batch at a place, (level, batch), or of a run of batches that begins there."""

    place: tuple[int, int]
    batch: Outcome


def encode(entry: JournalEntry) -> tuple[bytes, list[memoryview]]:
    """Return the header of a record, and the bytes of its arrays."""
    parts = {field.name: getattr(entry.batch, field.name) for field in fields(entry.batch)}
    if sparse.issparse(parts["values"]):
        matrix = parts.pop("values")
        parts |= {"csr": (type(matrix).__name__, matrix.shape)} | csr_parts(matrix)
    arrays = {
        name: np.ascontiguousarray(part, dtype=part.dtype.newbyteorder("<"))
        for name, part in parts.items()
        if isinstance(part, np.ndarray)
    }
    layout = {name: (array.dtype.str, array.shape) for name, array in arrays.items()}
    scalars = {name: part for name, part in parts.items() if name not in arrays}
    content = {"kind": type(entry.batch).__name__, "place": entry.place, "arrays": layout, "scalars": scalars}
    return json.dumps(content).encode(), [as_bytes(array) for array in arrays.values()]


def decode(header: bytes, data: bytes) -> JournalEntry:
    """Return the entry that ``encode`` has encoded; raise an exception of any type for an invalid record."""
    content = require_keys(json.loads(header), {"kind", "place", "arrays", "scalars"}, "a record")
    kind, scalars = content["kind"], dict(content["scalars"])
    if kind not in OUTCOMES:
        raise ValueError(f"a record of the kind {reprlib.repr(kind)} does not exist")
    level, batch = (require_count(number, "a place") for number in content["place"])
    arrays = _read_arrays(content["arrays"], data, LAYOUTS[kind])
    parts: dict[str, Any] = _take_values(arrays, scalars)
    parts |= {name: _require_scalar(name, value) for name, value in scalars.items()} | arrays
    outcome = OUTCOMES[kind](**parts)
    check = _check_batch if isinstance(outcome, ContractedBatch) else _check_survivors
    check(outcome)  # type: ignore[arg-type]  # the check matches the type
    return JournalEntry((level, batch), outcome)


def check_against_task(entry: JournalEntry, task: BatchTask | Run, n_features: int, n_views: int) -> None:
    """Raise ValueError if an entry cannot be the result of a task with the same place and number of rows."""
    outcome = entry.batch
    if outcome.values is not None and outcome.values.shape[1] != n_features:
        raise ValueError(f"batch {entry.place} has {outcome.values.shape[1]} features, but the fit has {n_features}")
    if outcome.values is not None and find_fault(outcome.values, allow_nan=False) is not None:
        # values are carried only for sources and Dask arrays, where missing values are never allowed
        raise ValueError(f"batch {entry.place} has NaN, infinity or values whose squares overflow")
    if outcome.view_stability.shape[-1] != n_views:
        raise ValueError(f"batch {entry.place} has {outcome.view_stability.shape[-1]} views, but the fit has {n_views}")
    if isinstance(task, Run) and isinstance(outcome, Survivors):
        _check_run(outcome, task)
    elif isinstance(task, BatchTask) and isinstance(outcome, ContractedBatch):
        _check_carried(outcome, task)


def values_kind(batch: Outcome) -> tuple[Any, ...] | None:
    """Return container and dtype of the values, which all batches of a fit share; None for a batch without values."""
    if batch.values is None:
        return None
    present = () if isinstance(batch, ContractedBatch) else (batch.mass is None, batch.weights is None)
    return type(batch.values).__name__, batch.values.dtype.str, *present


# ---- parts of a record


def _read_arrays(content: Mapping[str, Any], data: bytes, layouts: dict[str, ArrayLayout]) -> Arrays:
    arrays: Arrays = {}
    shapes: dict[str, tuple[int, ...]] = {}
    start = 0
    for name, (dtype, lengths) in content.items():
        if name not in layouts:
            raise ValueError(f"a record has no array {reprlib.repr(name)}")
        dtype, shapes[name] = parse_type(name, dtype, lengths, layouts[name])
        n_bytes = np.dtype(dtype).itemsize * math.prod(shapes[name])
        if start + n_bytes > len(data):
            raise ValueError(f"{name} extends beyond the end of its record")
        stored: NDArray[Any] = np.ndarray(shapes[name], dtype, buffer=data, offset=start)
        arrays[name] = stored.astype(
            stored.dtype.newbyteorder("=")
        )  # a copy: a view would keep the whole record in memory
        start += n_bytes
    if start != len(data):
        raise ValueError(f"a record has {len(data)} bytes of arrays, but its header says {start}")
    match_axes(shapes, layouts, {"costs": (N_COSTS, "a batch")})
    return arrays


def _take_values(arrays: Arrays, scalars: dict[str, Any]) -> dict[str, Any]:
    """Remove the parts of a CSR matrix from ``arrays``, and return the matrix as ``values``."""
    if "csr" not in scalars:
        if arrays.keys() & set(CSR_PARTS):
            raise ValueError("a record has parts of a CSR matrix, but its header does not describe the matrix")
        return {}
    kind, shape = scalars.pop("csr")
    if kind not in CSR_KINDS or len(shape) != 2:
        raise ValueError("csr must be the type and the shape of a matrix")
    n_rows, n_columns = (require_count(length, "a length") for length in shape)
    return {"values": build_csr(kind, {part: arrays.pop(part) for part in CSR_PARTS}, (n_rows, n_columns), "values")}


def _require_scalar(name: str, value: Any) -> Any:
    if name in OPTIONAL:
        if value is not None:
            raise ValueError(f"{name} must be an array or null")
        return None
    if name == "views_kept":
        return require_count(value, name)
    if type(value) not in (int, float) or math.isinf(value):
        raise ValueError(f"{name} must be a number")
    return value


# ---- values


def _check_batch(batch: ContractedBatch) -> None:
    n_rows, n_medoids = len(batch.labels), len(batch.medoids)
    _require("labels", batch.labels, in_range(0, n_medoids - 1, "clusters"))
    _require("medoids", batch.medoids, in_range(0, n_rows - 1, "rows"))
    if not np.array_equal(batch.labels[batch.medoids], np.arange(n_medoids)):
        raise ValueError("medoids lists rows that are not in the clusters they should represent")
    _check_shared(batch)


def _check_survivors(survivors: Survivors) -> None:
    _require("sizes", survivors.sizes, in_range(1, 2**62, "sizes"))
    _require("batch_sizes", survivors.batch_sizes, in_range(0, 2**62, "sizes"))
    _require("batch_costs", survivors.batch_costs, is_finite_or_nan)
    if survivors.weights is not None:
        _require("weights", survivors.weights, is_finite)
    _check_shared(survivors)
    if survivors.values is None:
        raise ValueError("survivors have no values")


def _check_shared(outcome: Outcome) -> None:
    _require("stability", outcome.stability, is_share_or_nan)
    _require("view_stability", outcome.view_stability, is_share_or_nan)
    if outcome.mass is not None:
        _require("mass", outcome.mass, is_finite)


def _check_carried(batch: ContractedBatch, task: BatchTask) -> None:
    """Check that the batch carries the values and the mass that the task asks for."""
    n_carried = batch.rows_out + len(task.held_aside) if task.carry_values else None
    n_found = None if batch.values is None else batch.values.shape[0]
    if n_found != n_carried:
        raise ValueError(f"batch {task.place} carries the values of {n_found} rows, but {n_carried} are expected")
    if (batch.mass is None) != (task.mass is None):
        raise ValueError(f"batch {task.place} should have mass if and only if its task has it")


def _check_run(survivors: Survivors, run: Run) -> None:
    last = run.start + run.length - 1
    _require("rows", survivors.rows, sorted_in_range(run.start, last, "rows"))
    _require("first_rows", survivors.first_rows, in_range(run.start, last, "rows"))
    if survivors.values.shape[0] != len(survivors.rows):
        raise ValueError(f"{len(survivors.rows)} survivors have values of {survivors.values.shape[0]} rows")
    if int(survivors.sizes.sum()) != run.length or not np.isin(run.held, survivors.rows).all():
        raise ValueError(f"the survivors of run {run.place} do not represent its {run.length} rows")
    if len(survivors.batch_sizes) != len(run.bounds) - 1 or not 0 < survivors.rows_out <= survivors.rows_in:
        raise ValueError(f"the survivors of run {run.place} do not come from its {len(run.bounds) - 1} batches")


def _require(name: str, values: NDArray[Any], check: Any) -> None:
    try:
        check(values)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
