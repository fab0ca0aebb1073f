"""Encode the result of a run as a record of the journal, and decode it with full validation.

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

from cohirf.algorithm.batches import Run, count_offsets
from cohirf.algorithm.contract_batch import Contraction
from cohirf.algorithm.runs import ContractedRun, Links, RunTask, Survivors
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
)
from cohirf.durable.json_text import require_count, require_keys
from cohirf.finite import find_fault
from cohirf.spanning.spanning_labels import SpannedRun

N_COSTS = 6
OF_ROWS = {"survivor_of", "row_stability"}  # the map from rows to survivors
MATRICES = ("values", "means")  # arrays or CSR matrices
OF_LINKS = {"link_rows", "link_survivors", "link_by_core"}  # what local batches have in common
OPTIONAL = {*MATRICES, "mass", "weights"} | OF_ROWS | OF_LINKS
OF_TREES = tuple(field.name for field in fields(SpannedRun))

LAYOUTS = {
    "rows": ArrayLayout(INTEGERS, ("survivors",)),
    "values": ArrayLayout(FLOATS, ("survivors", "features")),
    "mass": ArrayLayout(("<f8",), ("survivors",)),
    "sizes": ArrayLayout(INTEGERS, ("survivors",)),
    "first_rows": ArrayLayout(INTEGERS, ("survivors",)),
    "weights": ArrayLayout(("<f8",), ("survivors",)),
    "means": ArrayLayout(("<f8",), ("survivors", "features")),
    "is_noise": ArrayLayout(("|b1",), ("survivors",)),
    "stability": ArrayLayout(("<f4",), ("survivors",)),
    "batch_sizes": ArrayLayout(INTEGERS, ("batches",)),
    "batch_costs": ArrayLayout(("<f8",), ("batches", "costs")),
    "view_stability": ArrayLayout(("<f8",), ("batches", "views")),
    "survivor_of": ArrayLayout(INTEGERS, ("rows",)),
    "row_stability": ArrayLayout(("<f4",), ("rows",)),
    "link_rows": ArrayLayout(INTEGERS, ("links",)),
    "link_survivors": ArrayLayout(INTEGERS, ("links",)),
    "link_by_core": ArrayLayout(("|b1",), ("links known to be core",)),
    "tree_rows": ArrayLayout(INTEGERS, ("rows of trees",)),
    "tree_core": ArrayLayout(("<f8",), ("rows of trees",)),
    "tree_one": ArrayLayout(INTEGERS, ("edges",)),
    "tree_two": ArrayLayout(INTEGERS, ("edges",)),
    "tree_lengths": ArrayLayout(("<f8",), ("edges",)),
    "tree_batch_sizes": ArrayLayout(INTEGERS, ("batches",)),
}
for _matrix in MATRICES:
    LAYOUTS |= {
        f"{_matrix}_data": ArrayLayout(FLOATS, (f"cells of {_matrix}",)),
        f"{_matrix}_indices": ArrayLayout(INTEGERS, (f"cells of {_matrix}",)),
        f"{_matrix}_indptr": ArrayLayout(INTEGERS, (f"starts of {_matrix}",)),
    }


@dataclass(frozen=True)
class JournalEntry:
    """The result of a run, and its place: the level and the first batch. Spanning trees are at level 0."""

    place: tuple[int, int]
    outcome: ContractedRun | SpannedRun


def encode(entry: JournalEntry) -> tuple[bytes, list[memoryview]]:
    """Return the header of a record, and the bytes of its arrays."""
    outcome = entry.outcome
    if isinstance(outcome, SpannedRun):
        parts: dict[str, Any] = {f"tree_{name}": getattr(outcome, name) for name in OF_TREES}
    else:
        parts = _name_parts(outcome)
    csr = {}
    for name in MATRICES:
        if sparse.issparse(parts.get(name)):
            matrix = parts.pop(name)
            csr[name] = (type(matrix).__name__, matrix.shape)
            parts |= {f"{name}_{part}": array for part, array in csr_parts(matrix).items()}
    arrays = {
        name: np.ascontiguousarray(part, dtype=part.dtype.newbyteorder("<"))
        for name, part in parts.items()
        if part is not None
    }
    layout = {name: (array.dtype.str, array.shape) for name, array in arrays.items()}
    content = {"place": entry.place, "arrays": layout, "csr": csr}
    return json.dumps(content).encode(), [as_bytes(array) for array in arrays.values()]


def _name_parts(outcome: ContractedRun) -> dict[str, Any]:
    """Return the arrays of a contracted run by name."""
    parts = {field.name: getattr(outcome.survivors, field.name) for field in fields(outcome.survivors)}
    parts |= {"survivor_of": outcome.survivor_of, "row_stability": outcome.stability}
    if outcome.links is not None:
        parts |= {
            "link_rows": outcome.links.rows,
            "link_survivors": outcome.links.survivors,
            "link_by_core": np.array([outcome.links.by_core]),
        }
    return parts


def decode(header: bytes, data: bytes) -> JournalEntry:
    """Return the entry that ``encode`` has encoded; raise an exception of any type for an invalid record."""
    content = require_keys(json.loads(header), {"place", "arrays", "csr"}, "a record")
    level, batch = (require_count(number, "a place") for number in content["place"])
    arrays = _read_arrays(content["arrays"], data)
    if level == 0:
        return JournalEntry((level, batch), _read_trees(arrays))
    matrices = _take_csr(arrays, content["csr"])
    names = {field.name for field in fields(Survivors)} | OF_ROWS | OF_LINKS
    missing = names - OPTIONAL - arrays.keys()
    if missing:
        raise ValueError(f"a record lacks the arrays {sorted(missing)}")
    parts: dict[str, Any] = dict.fromkeys(OPTIONAL) | arrays | matrices
    survivor_of, row_stability = parts.pop("survivor_of"), parts.pop("row_stability")
    links = _read_links([parts.pop(name) for name in ("link_rows", "link_survivors", "link_by_core")])
    survivors = Survivors(**parts)
    _check_survivors(survivors)
    return JournalEntry((level, batch), ContractedRun(survivors, survivor_of, row_stability, links))


def check_against_task(entry: JournalEntry, task: RunTask, contraction: Contraction, n_features: int) -> None:
    """Raise ValueError if an entry cannot be the result of a task with the same place and number of rows."""
    assert isinstance(entry.outcome, ContractedRun)  # because no level above 0 has spanning trees
    survivors, place, n_views = entry.outcome.survivors, entry.place, contraction.views.n_views
    if (survivors.values is not None) != task.carry_values:
        raise ValueError(f"run {place} should have values of its survivors if and only if its rows are read once")
    if survivors.values is not None:
        if survivors.values.shape[1] != n_features:
            raise ValueError(f"run {place} has {survivors.values.shape[1]} features, but the fit has {n_features}")
        if find_fault(survivors.values, allow_nan=False) is not None:
            # values are carried only for sources and Dask arrays, where missing values are never allowed
            raise ValueError(f"run {place} has NaN, infinity or values whose squares overflow")
    if survivors.view_stability.shape[1] != n_views:
        raise ValueError(f"run {place} has {survivors.view_stability.shape[1]} views, but the fit has {n_views}")
    if (survivors.means is not None) != contraction.keeps_means:
        raise ValueError(f"run {place} should have means if and only if the fit keeps them")
    if survivors.means is not None and survivors.means.shape[1] != n_features:
        raise ValueError(f"run {place} has means of {survivors.means.shape[1]} features, but the fit has {n_features}")
    if survivors.means is not None and find_fault(survivors.means, allow_nan=False) is not None:
        raise ValueError(f"run {place} has means with NaN, infinity or values whose squares overflow")
    if (survivors.mass is not None) != contraction.weighted:
        raise ValueError(f"run {place} should have mass if and only if the fit is weighted")
    _check_rows(entry.outcome, task)


def check_trees(entry: JournalEntry, run: Run) -> None:
    """Raise ValueError if an entry does not have the spanning trees of the batches of a run."""
    trees = entry.outcome
    assert isinstance(trees, SpannedRun)  # because both are at level 0
    batches = [np.concatenate(parts) for parts in run.with_halos()]
    same_rows = np.array_equal(trees.rows, np.concatenate(batches))
    if not same_rows or not np.array_equal(trees.batch_sizes, np.diff(run.bounds)):
        raise ValueError("spanning trees do not have the rows of their batches")
    if len(trees.one) != sum(len(batch) - 1 for batch in batches):
        raise ValueError("spanning trees do not have one edge less than rows")
    if not (np.isin(trees.one, trees.rows).all() and np.isin(trees.two, trees.rows).all()):
        raise ValueError("spanning trees have edges to rows that are not theirs")


def values_kind(outcome: ContractedRun | SpannedRun) -> tuple[Any, ...] | None:
    """Return container and dtype of the values, which all runs of a fit share; None for a run without values."""
    if isinstance(outcome, SpannedRun):
        return None
    survivors = outcome.survivors
    if survivors.values is None:
        return None
    return type(survivors.values).__name__, survivors.values.dtype.str, survivors.weights is None


# ---- parts of a record


def _read_arrays(content: Mapping[str, Any], data: bytes) -> Arrays:
    arrays: Arrays = {}
    shapes: dict[str, tuple[int, ...]] = {}
    start = 0
    for name, (dtype, lengths) in content.items():
        if name not in LAYOUTS:
            raise ValueError(f"a record has no array {reprlib.repr(name)}")
        dtype, shapes[name] = parse_type(name, dtype, lengths, LAYOUTS[name])
        n_bytes = np.dtype(dtype).itemsize * math.prod(shapes[name])
        if start + n_bytes > len(data):
            raise ValueError(f"{name} extends beyond the end of its record")
        stored: NDArray[Any] = np.ndarray(shapes[name], dtype, buffer=data, offset=start)
        # a copy: a view would keep the whole record in memory
        arrays[name] = stored.astype(stored.dtype.newbyteorder("="))
        start += n_bytes
    if start != len(data):
        raise ValueError(f"a record has {len(data)} bytes of arrays, but its header says {start}")
    match_axes(shapes, LAYOUTS, {"costs": (N_COSTS, "a batch")})
    return arrays


def _read_trees(arrays: Arrays) -> SpannedRun:
    names = {f"tree_{name}" for name in OF_TREES}
    if arrays.keys() != names:
        raise ValueError(f"a record of spanning trees must have the arrays {sorted(names)}, and no others")
    run = SpannedRun(**{name: arrays[f"tree_{name}"] for name in OF_TREES})
    for name in ("core", "lengths"):
        _require(name, getattr(run, name), is_finite)
    return run


def _read_links(parts: list[NDArray[Any] | None]) -> Links | None:
    rows, survivors, by_core = parts
    if rows is None and survivors is None and by_core is None:
        return None
    if rows is None or survivors is None or by_core is None or len(by_core) != 1:
        raise ValueError("a record has a part of the links between batches only")
    return Links(rows, survivors, bool(by_core[0]))


def _take_csr(arrays: Arrays, csr: Mapping[str, Any]) -> dict[str, Any]:
    """Remove the parts of CSR matrices from ``arrays``, and return the matrices."""
    matrices = {}
    for name, (kind, shape) in csr.items():
        if name not in MATRICES or kind not in CSR_KINDS or len(shape) != 2 or name in arrays:
            raise ValueError("csr must have the type and the shape of each matrix")
        n_rows, n_columns = (require_count(length, "a length") for length in shape)
        parts = {part: arrays.pop(f"{name}_{part}") for part in CSR_PARTS}
        matrices[name] = build_csr(kind, parts, (n_rows, n_columns), name)
    if any(name.endswith(tuple(f"_{part}" for part in CSR_PARTS)) for name in arrays):
        raise ValueError("a record has parts of a CSR matrix, but its header does not describe the matrix")
    return matrices


# ---- values


def _check_survivors(survivors: Survivors) -> None:
    _require("sizes", survivors.sizes, in_range(1, 2**62, "sizes"))
    _require("batch_sizes", survivors.batch_sizes, in_range(0, 2**62, "sizes"))
    _require("batch_costs", survivors.batch_costs, is_finite_or_nan)
    _require("stability", survivors.stability, is_share_or_nan)
    _require("view_stability", survivors.view_stability, is_share_or_nan)
    for name in ("mass", "weights"):
        if getattr(survivors, name) is not None:
            _require(name, getattr(survivors, name), is_finite)
    for name in MATRICES:
        matrix = getattr(survivors, name)
        if matrix is not None and matrix.shape[0] != len(survivors.rows):
            raise ValueError(f"{len(survivors.rows)} survivors have {name} of {matrix.shape[0]} rows")


def _check_rows(outcome: ContractedRun, task: RunTask) -> None:
    """Check that the survivors are rows of the run and represent all of them."""
    run, survivors, place = task.run, outcome.survivors, task.place
    if survivors.batch_sizes.tolist() != [count_offsets(contracted) for contracted, _ in run.batches()]:
        raise ValueError(f"the survivors of run {place} do not come from its {run.n_batches} batches")
    if not 0 < survivors.rows_out <= survivors.rows_in or int(survivors.sizes.sum()) != run.length:
        raise ValueError(f"the survivors of run {place} do not represent its {run.length} rows")
    indices = run.index(np.arange(run.length))
    order = np.argsort(indices)
    offsets = order[np.searchsorted(indices, survivors.rows, sorter=order).clip(max=run.length - 1)]
    if not np.array_equal(indices[offsets], survivors.rows) or len(np.unique(offsets)) < len(offsets):
        raise ValueError(f"the survivors of run {place} are not rows of it")
    if run.indices is None and not (survivors.rows[1:] > survivors.rows[:-1]).all():
        raise ValueError(f"the survivors of run {place} are not sorted")
    if not np.isin(run.held, offsets).all() or not np.isin(survivors.first_rows, indices).all():
        raise ValueError(f"the survivors of run {place} do not represent its rows")
    if (outcome.survivor_of is None) != task.keeps_map or (outcome.stability is None) != task.keeps_map:
        raise ValueError(f"run {place} should have the survivor of each row unless this is kept with the rows")
    if (outcome.links is not None) != any(len(halo) > 0 for halo in run.halos or ()):
        raise ValueError(f"run {place} should have links to other batches if and only if its batches have halos")
    if outcome.links is not None:
        _check_links(outcome.links, task, survivors)
    if outcome.survivor_of is not None and outcome.stability is not None:
        _check_map(outcome.survivor_of, outcome.stability, survivors, offsets, run.length)


def _check_links(links: Links, task: RunTask, survivors: Survivors) -> None:
    """Check that links are between rows of halos and survivors of the run."""
    around = np.concatenate([np.empty(0, dtype=np.int64), *(task.run.halos or ())])
    if not np.isin(links.rows, around).all() or not np.isin(links.survivors, survivors.rows).all():
        raise ValueError(f"run {task.place} is linked to rows that are not around its batches")


def _check_map(
    survivor_of: NDArray[Any], stability: NDArray[Any], survivors: Survivors, offsets: NDArray[Any], n_rows: int
) -> None:
    """Check that each row has a survivor, and each survivor is its own."""
    n_survivors = len(survivors.rows)
    if len(survivor_of) != n_rows or len(stability) != n_rows:
        raise ValueError(f"{len(survivor_of)} rows have a survivor, but the run has {n_rows} rows")
    _require("survivor_of", survivor_of, in_range(0, n_survivors - 1, "survivors"))
    _require("row_stability", stability, is_share_or_nan)
    if not np.array_equal(survivor_of[offsets], np.arange(n_survivors)):
        raise ValueError("survivors do not represent themselves")
    if not np.array_equal(np.bincount(survivor_of, minlength=n_survivors), survivors.sizes):
        raise ValueError("sizes do not count the rows of the survivors")


def _require(name: str, values: NDArray[Any], check: Any) -> None:
    try:
        check(values)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
