"""The part of a saved model that updates need: its summary as JSON and arrays, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from cohirf.algorithm.grouping import row_blocks
from cohirf.durable.arrays import Arrays
from cohirf.durable.json_text import require_count, require_keys
from cohirf.hierarchy import FusionHierarchy
from cohirf.scratch import ScratchStorage
from cohirf.summary.history import MAX_STEPS, Step
from cohirf.summary.leaves import Leaves
from cohirf.summary.numbers import Changes
from cohirf.summary.row_map import FittedPart, Part, RowMap
from cohirf.summary.summary import Batches, Pending, Summary

COUNTED = ("grown", "shrunk", "born", "from_noise")
LISTED = ("merged", "split")
STEP_COUNTS = ("update", "n_rows", "n_clusters", "n_noise", "n_moved")
OF_LEAVES = ("rows", "sizes", "first_rows", "stability", "heights")

BuildMatrix = Callable[[str, int, int], Any]  # from name, number of rows and number of columns


@dataclass(frozen=True)
class SummaryEntry:
    """What the manifest says about the summary of a model.

    Attributes
    ----------
    entropy, batch_size, next_number, update_rows
        As in ``Summary``.
    n_contracted : int
        Number of rows that are not pending.
    n_again : tuple of int
        As in ``Batches``.
    pending_are_landmarks : bool
        Whether the pending rows are the landmarks, and not stored again.
    """

    entropy: tuple[int, ...]
    batch_size: int | None
    next_number: int
    update_rows: tuple[int, ...]
    n_contracted: int
    n_again: tuple[int, ...]
    pending_are_landmarks: bool


def describe_summary(model: Any) -> dict[str, Any] | None:
    """Return what the manifest says about the summary of a model; None if it has none."""
    summary = model._summary
    if summary is None:
        return None
    return {
        "entropy": list(summary.entropy),
        "batch_size": summary.batch_size,
        "next_number": summary.next_number,
        "update_rows": list(summary.update_rows),
        "n_contracted": summary.row_map.n_rows,
        "n_again": list(summary.batches.n_again),
        "pending_are_landmarks": are_landmarks(model),
    }


def are_landmarks(model: Any) -> bool:
    """Return whether the pending rows of a model are its landmarks."""
    return model._summary.pending.values is model._landmarks.points


def parse_summary(content: Any) -> SummaryEntry:
    """Return what the manifest says about a summary; raise if it is not valid."""
    names = {"entropy", "batch_size", "next_number", "update_rows", "n_contracted", "n_again"}
    content = require_keys(content, names | {"pending_are_landmarks"}, "summary")
    if not isinstance(content["pending_are_landmarks"], bool):
        raise TypeError("pending_are_landmarks must be true or false")
    batch_size = content["batch_size"]
    if batch_size is not None and require_count(batch_size, "batch_size") < 1:
        raise ValueError("batch_size is 0, but must be at least 1")
    return SummaryEntry(
        _require_counts(content["entropy"], "entropy"),
        batch_size,
        require_count(content["next_number"], "next_number"),
        _require_counts(content["update_rows"], "update_rows"),
        require_count(content["n_contracted"], "n_contracted"),
        _require_counts(content["n_again"], "n_again"),
        content["pending_are_landmarks"],
    )


def describe_changes(changes: Changes | None) -> dict[str, Any] | None:
    """Return changes as a JSON object, which has lists of pairs in the place of dicts."""
    if changes is None:
        return None
    pairs = {name: [list(pair) for pair in getattr(changes, name).items()] for name in (*COUNTED, *LISTED)}
    return vars(changes) | pairs


def parse_changes(content: Any) -> Changes | None:
    """Return changes from a JSON object; raise if it is not valid."""
    if content is None:
        return None
    content = require_keys(content, {"update", "n_rows", "n_moved", "gone", *COUNTED, *LISTED}, "changes")
    if type(content["n_rows"]) is not int:
        raise TypeError("n_rows of changes must be an integer")
    parsers: dict[str, Any] = dict.fromkeys(COUNTED, require_count) | dict.fromkeys(LISTED, _require_counts_list)
    return Changes(
        update=require_count(content["update"], "update"),
        n_rows=content["n_rows"],
        gone=_require_counts_list(content["gone"], "gone"),
        n_moved=require_count(content["n_moved"], "n_moved"),
        **{name: _require_pairs(content[name], name, parse) for name, parse in parsers.items()},
    )


def describe_history(history: tuple[Step, ...]) -> list[dict[str, Any]]:
    """Return a history as JSON objects, which have lists of pairs in the place of dicts."""
    return [vars(step) | {name: _as_lists(getattr(step, name)) for name in ("sizes", *LISTED)} for step in history]


def _as_lists(pairs: Any) -> list[list[int]]:
    return [list(pair) for pair in (pairs.items() if isinstance(pairs, dict) else pairs)]


def parse_history(content: Any) -> tuple[Step, ...]:
    """Return a history from JSON objects; raise if it is not valid."""
    if not isinstance(content, list) or len(content) > MAX_STEPS:
        raise TypeError(f"history must be a list of at most {MAX_STEPS} steps")
    return tuple(map(_parse_step, content))


def _parse_step(content: Any) -> Step:
    content = require_keys(content, {field.name for field in fields(Step)}, "a step of history")
    if type(content["n_added"]) is not int:
        raise TypeError("n_added of history must be an integer")
    parts: dict[str, Any] = {name: require_count(content[name], name) for name in STEP_COUNTS}
    parts |= {name: list(_require_pairs_list(content[name], name)) for name in LISTED}
    return Step(
        **parts,
        n_added=content["n_added"],
        sizes=_require_pairs(content["sizes"], "sizes", require_count),
        born=_require_counts_list(content["born"], "born"),
        gone=_require_counts_list(content["gone"], "gone"),
    )


def _require_pairs_list(content: Any, what: str) -> Iterator[tuple[int, int]]:
    if not isinstance(content, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in content):
        raise TypeError(f"{what} must be a list of pairs")
    for one, other in content:
        yield require_count(one, what), require_count(other, what)


def collect_summary(model: Any, matrix_parts: Callable[[str, Any], Arrays]) -> Arrays:
    """Return the arrays of the summary of a model; ``matrix_parts`` returns those of an array or CSR matrix."""
    summary = model._summary
    if summary is None:
        return {}
    found, pending = _collect_leaves(summary, matrix_parts), summary.pending
    if pending.n_rows:
        if not are_landmarks(model):
            found |= matrix_parts("pending_values", pending.values)
        if pending.weights is not None:
            found["pending_weights"] = pending.weights
    return found


def _collect_leaves(summary: Summary, matrix_parts: Callable[[str, Any], Arrays]) -> Arrays:
    """Return the arrays of the leaves of a summary, of the rows that belong to them, and of their batches."""
    leaves = summary.leaves
    if leaves is None:
        return {}
    found: Arrays = {f"leaf_{name}": getattr(leaves, name) for name in OF_LEAVES}
    found |= {"leaf_noise": leaves.is_noise.astype(np.uint8), **matrix_parts("leaf_values", leaves.values)}
    if summary.results is None and not all(isinstance(part, FittedPart) for part in summary.row_map.parts):
        found["leaf_of"] = np.concatenate(
            [part.look_up(np.arange(len(leaves), dtype=np.int32)) for part in summary.row_map.parts]
        )
    if len(summary.batches.sizes):
        found |= {f"batch_{name}": getattr(summary.batches, name) for name in ("sizes", "costs", "tally")}
    found |= matrix_parts("leaf_means", leaves.means)
    if leaves.weights is not None:
        found["leaf_weights"] = leaves.weights
    if leaves.is_stand_in.any():
        found["leaf_stand_ins"] = leaves.is_stand_in.astype(np.uint8)
    return found


def build_summary(
    entry: SummaryEntry, arrays: Arrays, hierarchy: FusionHierarchy, landmarks: Any, n_features: int, build: BuildMatrix
) -> Summary:
    """Return the summary of a loaded model; refuse one that does not fit its hierarchy."""
    n_rows, n_contracted = len(arrays["labels"]), entry.n_contracted
    n_pending = n_rows - n_contracted
    if n_pending < 0 or sum(entry.update_rows) != n_rows:
        raise ValueError(f"the summary has {n_contracted} contracted rows and updates of {sum(entry.update_rows)} rows")
    leaves, row_map = None, RowMap()
    if n_contracted:
        leaves = _build_leaves(arrays, n_features, build)
        build_part = _build_kept_part if "leaf_of" in arrays else _build_part
        row_map = RowMap((build_part(arrays, hierarchy, leaves, n_contracted),))
    pending = Pending()
    if n_pending:
        values = landmarks if entry.pending_are_landmarks else build("pending_values", n_pending, n_features)
        pending = Pending(values, arrays.get("pending_weights"))
        if values.shape != (n_pending, n_features):
            raise ValueError(f"{n_pending} rows are pending, but the arrays of pending rows have others")
    labels = arrays["labels"]
    of_leaves = labels[n_contracted:] if leaves is None else np.append(labels[leaves.rows], labels[n_contracted:])
    return Summary(
        entropy=entry.entropy,
        batch_size=entry.batch_size,
        leaves=leaves,
        row_map=row_map,
        pending=pending,
        batches=_build_batches(arrays, entry.n_again),
        labels=of_leaves.astype(np.int64),
        next_number=entry.next_number,
        update_rows=entry.update_rows,
    )


def _build_leaves(arrays: Arrays, n_features: int, build: BuildMatrix) -> Leaves:
    missing = {f"leaf_{name}" for name in OF_LEAVES} - arrays.keys()
    if missing:
        raise ValueError(f"the array {min(missing)} is missing")
    n_leaves = len(arrays["leaf_rows"])
    has_means = {"leaf_means", "leaf_means_data"} & arrays.keys()
    return Leaves(
        **{name: arrays[f"leaf_{name}"] for name in OF_LEAVES},
        values=build("leaf_values", n_leaves, n_features),
        means=build("leaf_means", n_leaves, n_features) if has_means else None,
        weights=arrays.get("leaf_weights"),
        is_noise=arrays["leaf_noise"].astype(bool),
        is_stand_in=arrays.get("leaf_stand_ins", np.zeros(n_leaves)).astype(bool),
    )


def _build_part(arrays: Arrays, hierarchy: FusionHierarchy, leaves: Leaves, n_contracted: int) -> FittedPart:
    """Return the leaf of each contracted row, which follows from the hierarchy."""
    parents, absorbed_at = hierarchy.parents[:n_contracted], hierarchy.absorbed_at[:n_contracted]
    n_absorbed = 0
    for block in row_blocks(n_contracted):
        absorbed = absorbed_at[block] == 1
        n_absorbed += int(absorbed.sum())
        if (parents[block][absorbed] >= n_contracted).any():
            raise ValueError("parents.npy lets rows join a group that is not kept")
    are_leaves = leaves.rows[-1] < n_contracted and (absorbed_at[leaves.rows] != 1).all()
    if not are_leaves or n_absorbed + len(leaves.rows) != n_contracted:
        raise ValueError("leaf_rows.npy differs from the rows that were not absorbed at the first level")
    of_rows = arrays["stability"][:n_contracted]
    stability = ScratchStorage().store(of_rows) if isinstance(of_rows, np.memmap) else of_rows.copy()
    stability[leaves.rows] = leaves.stability  # at the first level; the model has that of the last one
    return FittedPart(parents, absorbed_at, stability, leaves.rows, np.arange(len(leaves.rows)))


def _build_kept_part(arrays: Arrays, hierarchy: FusionHierarchy, leaves: Leaves, n_contracted: int) -> Part:
    """Return the row that each row has joined, if a fit, whose hierarchy does not tell, has kept some rows."""
    leaf_of = arrays["leaf_of"]
    if n_contracted != len(leaf_of) or not np.array_equal(leaf_of[leaves.rows], np.arange(len(leaves))):
        raise ValueError("leaf_of.npy differs from the rows in leaf_rows.npy")
    return Part(leaf_of, np.full(n_contracted, np.nan, dtype=np.float32), np.arange(len(leaves)))


def _build_batches(arrays: Arrays, n_again: tuple[int, ...]) -> Batches:
    if "batch_sizes" not in arrays:
        return Batches.none(0)
    return Batches(arrays["batch_sizes"], arrays["batch_costs"], arrays["batch_tally"], n_again)


def _require_counts(content: Any, what: str) -> tuple[int, ...]:
    if not isinstance(content, list):
        raise TypeError(f"{what} must be a list")
    return tuple(require_count(value, what) for value in content)


def _require_counts_list(content: Any, what: str) -> list[int]:
    return list(_require_counts(content, what))


def _require_pairs(content: Any, what: str, parse: Callable[[Any, str], Any]) -> dict[int, Any]:
    if not isinstance(content, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in content):
        raise TypeError(f"{what} must be a list of pairs")
    return {require_count(number, what): parse(value, what) for number, value in content}
