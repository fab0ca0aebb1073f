"""The files of a saved model: their names, and the allowed types, shapes and values of the arrays."""

from __future__ import annotations

from dataclasses import dataclass

from cohirf.durable.arrays import (
    CSR_KINDS,
    CSR_PARTS,
    FLOATS,
    INTEGERS,
    ArrayEntry,
    ArrayLayout,
    Check,
    accept,
    in_range,
    is_finite,
    is_finite_or_nan,
    is_not_negative,
    is_positive,
    is_share_or_nan,
    match_axes,
    sorted_in_range,
)

FORMAT, FORMAT_VERSION = "cohirf-model", 5
MANIFEST, MANIFEST_DIGEST, PREPARATION = "manifest.json", "manifest.sha256", "preparation.json"
MAX_MANIFEST_BYTES = 2**22

LEVELS = ("|u1", "<u2", "<u4", "<u8", *INTEGERS)

# In the order in which they are read. The first two contain no zeros, so their files cannot have holes, and their
# lengths are the numbers of features and rows: a forged model cannot claim many of either without bytes on disk.
ARRAYS = {
    "feature_agreement": ArrayLayout(("<f8",), ("features",)),
    "stability": ArrayLayout(("<f4",), ("rows",)),
    "landmark_rows": ArrayLayout(INTEGERS, ("landmarks",)),
    "medoid_indices": ArrayLayout(INTEGERS, ("clusters",)),
    "exemplar_indices": ArrayLayout(INTEGERS, ("clusters",)),
    "tree_medoids": ArrayLayout(INTEGERS, ("leaves of the tree",)),
    "tree_linkage": ArrayLayout(("<f8",), ("merges of the tree", "columns of a linkage")),
    "choice_candidates": ArrayLayout(INTEGERS, ("choices",)),
    "choice_strengths": ArrayLayout(("<f8",), ("choices",)),
    "choice_silhouettes": ArrayLayout(("<f8",), ("choices",)),
    "choice_merge": ArrayLayout(("<f8",), ("figures of a choice",)),
    "column_means": ArrayLayout(FLOATS, ("features",)),
    "absorbed_at": ArrayLayout(LEVELS, ("rows",)),
    "parents": ArrayLayout(INTEGERS, ("rows",)),
    "labels": ArrayLayout(INTEGERS, ("rows",)),
    "landmark_labels": ArrayLayout(INTEGERS, ("landmarks",)),
    "medoids": ArrayLayout(FLOATS, ("clusters", "features")),
    "exemplars": ArrayLayout(FLOATS, ("clusters", "features")),
    "landmarks": ArrayLayout(FLOATS, ("landmarks", "features")),
    "medoids_data": ArrayLayout(FLOATS, ("cells of medoids",)),
    "medoids_indices": ArrayLayout(INTEGERS, ("cells of medoids",)),
    "medoids_indptr": ArrayLayout(INTEGERS, ("starts of medoids",)),
    "exemplars_data": ArrayLayout(FLOATS, ("cells of exemplars",)),
    "exemplars_indices": ArrayLayout(INTEGERS, ("cells of exemplars",)),
    "exemplars_indptr": ArrayLayout(INTEGERS, ("starts of exemplars",)),
    "landmarks_data": ArrayLayout(FLOATS, ("cells of landmarks",)),
    "landmarks_indices": ArrayLayout(INTEGERS, ("cells of landmarks",)),
    "landmarks_indptr": ArrayLayout(INTEGERS, ("starts of landmarks",)),
    "cell_labels": ArrayLayout(INTEGERS, ("points",)),
    "cell_points": ArrayLayout(FLOATS, ("points", "features")),
    "cell_points_data": ArrayLayout(FLOATS, ("cells of points",)),
    "cell_points_indices": ArrayLayout(INTEGERS, ("cells of points",)),
    "cell_points_indptr": ArrayLayout(INTEGERS, ("starts of points",)),
    "feature_names": ArrayLayout(("|u1",), ("bytes of names",)),
    "feature_name_lengths": ArrayLayout(("<i4",), ("features",)),
    "cluster_numbers": ArrayLayout(INTEGERS, ("clusters",)),
    "leaf_rows": ArrayLayout(INTEGERS, ("leaves",)),
    "leaf_sizes": ArrayLayout(INTEGERS, ("leaves",)),
    "leaf_first_rows": ArrayLayout(INTEGERS, ("leaves",)),
    "leaf_weights": ArrayLayout(("<f8",), ("leaves",)),
    "leaf_noise": ArrayLayout(("|u1",), ("leaves",)),
    "leaf_stability": ArrayLayout(("<f4",), ("leaves",)),
    "leaf_heights": ArrayLayout(("<i4",), ("leaves",)),
    "leaf_stand_ins": ArrayLayout(("|u1",), ("leaves",)),
    "leaf_of": ArrayLayout(INTEGERS, ("rows",)),
    "batch_sizes": ArrayLayout(INTEGERS, ("batches",)),
    "batch_costs": ArrayLayout(("<f8",), ("batches", "figures of a batch")),
    "batch_tally": ArrayLayout(("<f8",), ("sums of a tally", "features")),
    "pending_weights": ArrayLayout(("<f8",), ("pending rows",)),
    "leaf_values": ArrayLayout(FLOATS, ("leaves", "features")),
    "leaf_means": ArrayLayout(FLOATS, ("leaves", "features")),
    "pending_values": ArrayLayout(FLOATS, ("pending rows", "features")),
    "leaf_values_data": ArrayLayout(FLOATS, ("cells of leaves",)),
    "leaf_values_indices": ArrayLayout(INTEGERS, ("cells of leaves",)),
    "leaf_values_indptr": ArrayLayout(INTEGERS, ("starts of leaves",)),
    "leaf_means_data": ArrayLayout(FLOATS, ("cells of means",)),
    "leaf_means_indices": ArrayLayout(INTEGERS, ("cells of means",)),
    "leaf_means_indptr": ArrayLayout(INTEGERS, ("starts of means",)),
    "pending_values_data": ArrayLayout(FLOATS, ("cells of pending rows",)),
    "pending_values_indices": ArrayLayout(INTEGERS, ("cells of pending rows",)),
    "pending_values_indptr": ArrayLayout(INTEGERS, ("starts of pending rows",)),
}
DENSE = "dense"
CONTAINERS = (DENSE, *CSR_KINDS)
DENSE_ALONE = {"medoids", "exemplars", "landmarks"}
CSR_ALONE = {f"{matrix}_{part}" for matrix in sorted(DENSE_ALONE) for part in CSR_PARTS}
DENSE_SUMMARY = {"leaf_values", "leaf_means", "pending_values", "cell_points"}
CSR_SUMMARY = {f"{matrix}_{part}" for matrix in sorted(DENSE_SUMMARY) for part in CSR_PARTS}
LEAVES = {"leaf_rows", "leaf_sizes", "leaf_first_rows", "leaf_noise", "leaf_stability", "leaf_heights"}
BATCHES = {"batch_sizes", "batch_costs", "batch_tally"}
SUMMARY = LEAVES | BATCHES | DENSE_SUMMARY | CSR_SUMMARY
SUMMARY |= {"cell_labels", "leaf_weights", "leaf_stand_ins", "leaf_of", "pending_weights"}
NAMES = {"feature_names", "feature_name_lengths"}
CHOICE = {"choice_candidates", "choice_strengths", "choice_silhouettes", "choice_merge"}
ALWAYS = ARRAYS.keys() - DENSE_ALONE - CSR_ALONE - NAMES - CHOICE - SUMMARY
ALWAYS -= {"column_means", "cluster_numbers"}
FILE_NAMES = {MANIFEST, MANIFEST_DIGEST, PREPARATION, *(f"{name}.npy" for name in ARRAYS)}


@dataclass(frozen=True)
class Scalars:
    """The fitted results that are not arrays."""

    n_features: int
    n_clusters: int
    n_iter: int
    tree_level: int
    batch_size: int | None
    container: str


def check_presence(names: set[str], container: str) -> None:
    """Refuse a model that lacks an array, or has an array that does not belong to its kind of data."""
    needed, other = (DENSE_ALONE, CSR_ALONE) if container == DENSE else (CSR_ALONE, DENSE_ALONE | {"column_means"})
    other = other | (CSR_SUMMARY if container == DENSE else DENSE_SUMMARY)
    matrices = [{f"{matrix}_{part}" for part in CSR_PARTS} for matrix in sorted(DENSE_SUMMARY)]
    together = (group for group in (NAMES, CHOICE, LEAVES, BATCHES, *matrices) if names & group)
    needed = needed.union(ALWAYS, *together)
    for name in sorted(needed - names):
        raise ValueError(f"the array {name} is missing")
    for name in sorted(names & other):
        raise ValueError(f"the array {name} does not belong to a model of {container} data")


def axis_lengths(entries: dict[str, ArrayEntry], scalars: Scalars) -> dict[str, int]:
    """Return the numbers of rows, features, clusters and so on of a model; refuse inconsistent numbers."""
    known = {
        "figures of a batch": (6, "a batch"),
        "figures of a choice": (4, "a choice"),
        "sums of a tally": (2, "a tally"),
        "features": (scalars.n_features, "n_features"),
        "clusters": (scalars.n_clusters, "n_clusters"),
        "columns of a linkage": (4, "a linkage"),
    }
    lengths = match_axes({name: entry.shape for name, entry in entries.items()}, ARRAYS, known)
    for axis in ("rows", "landmarks", "features"):
        if lengths[axis] == 0:
            raise ValueError(f"the number of {axis} is 0, but a fitted model has at least one")
    if lengths["merges of the tree"] != max(lengths["leaves of the tree"] - 1, 0):
        raise ValueError(
            f"the tree has {lengths['leaves of the tree']} leaves and {lengths['merges of the tree']} merges"
        )
    for axis, of in (
        ("leaves of the tree", "rows"),
        ("clusters", "rows"),
        ("landmarks", "rows"),
        ("points", "rows"),
        ("leaves", "rows"),
        ("pending rows", "rows"),
    ):
        if lengths.get(axis, 0) > lengths[of]:
            raise ValueError(f"the model has {lengths[axis]} {axis}, but only {lengths[of]} {of}")
    return lengths


def value_checks(entries: dict[str, ArrayEntry], scalars: Scalars, n_numbers: int) -> dict[str, Check]:
    """Return the check of the values of each array; it is called for one piece of the array after the other.

    Clusters have numbers below ``n_numbers``.
    """
    lengths = axis_lengths(entries, scalars)
    row_numbers = in_range(0, lengths["rows"] - 1, "row numbers")
    labels = in_range(-1, n_numbers - 1, "labels")
    medoids = is_finite_or_nan if "column_means" in entries else is_finite  # NaN: missing cells
    return {
        "feature_agreement": is_share_or_nan,
        "stability": is_share_or_nan,
        "landmark_rows": sorted_in_range(0, lengths["rows"] - 1, "row numbers"),
        "medoid_indices": row_numbers,
        "exemplar_indices": row_numbers,
        "tree_medoids": sorted_in_range(0, lengths["rows"] - 1, "row numbers"),
        "tree_linkage": is_finite,
        "choice_candidates": in_range(1, lengths["rows"], "numbers of clusters"),
        "choice_strengths": is_not_negative,
        "choice_silhouettes": is_finite,
        "choice_merge": is_finite_or_nan,
        "column_means": is_finite,
        "absorbed_at": in_range(0, scalars.n_iter + 1, "levels"),
        "parents": row_numbers,
        "labels": labels,
        "landmark_labels": labels,
        "medoids": medoids,
        "exemplars": medoids,
        "landmarks": is_finite,
        "medoids_data": is_finite,
        "exemplars_data": is_finite,
        "landmarks_data": is_finite,
        "medoids_indices": in_range(0, scalars.n_features - 1, "column numbers"),
        "exemplars_indices": in_range(0, scalars.n_features - 1, "column numbers"),
        "exemplars_indptr": in_range(0, lengths.get("cells of exemplars", 0), "starts of rows"),
        "landmarks_indices": in_range(0, scalars.n_features - 1, "column numbers"),
        "medoids_indptr": in_range(0, lengths.get("cells of medoids", 0), "starts of rows"),
        "landmarks_indptr": in_range(0, lengths.get("cells of landmarks", 0), "starts of rows"),
        "cell_labels": labels,
        "cell_points": is_finite,
        "cell_points_data": is_finite,
        "cell_points_indices": in_range(0, scalars.n_features - 1, "column numbers"),
        "cell_points_indptr": in_range(0, lengths.get("cells of points", 0), "starts of rows"),
        "feature_names": accept,
        "feature_name_lengths": in_range(0, lengths.get("bytes of names", 0), "lengths"),
        "cluster_numbers": sorted_in_range(0, n_numbers - 1, "cluster numbers"),
        "leaf_rows": sorted_in_range(0, lengths["rows"] - 1, "row numbers"),
        "leaf_sizes": in_range(1, lengths["rows"], "numbers of rows"),
        "leaf_first_rows": row_numbers,
        "leaf_weights": is_positive,
        "leaf_noise": in_range(0, 1, "flags"),
        "leaf_stability": is_share_or_nan,
        "leaf_heights": in_range(0, 2**31 - 1, "numbers of contractions"),
        "leaf_stand_ins": in_range(0, 1, "flags"),
        "leaf_of": in_range(0, lengths.get("leaves", 0) - 1, "numbers of leaves"),
        "batch_sizes": in_range(0, 2**62, "numbers of rows"),
        "batch_costs": is_finite_or_nan,
        "batch_tally": is_finite,
        "pending_weights": is_not_negative,
        "leaf_values": medoids,
        "leaf_means": is_finite,
        "pending_values": medoids,
        "leaf_values_data": is_finite,
        "leaf_means_data": is_finite,
        "pending_values_data": is_finite,
        "leaf_values_indices": in_range(0, scalars.n_features - 1, "column numbers"),
        "leaf_means_indices": in_range(0, scalars.n_features - 1, "column numbers"),
        "pending_values_indices": in_range(0, scalars.n_features - 1, "column numbers"),
        "leaf_values_indptr": in_range(0, lengths.get("cells of leaves", 0), "starts of rows"),
        "leaf_means_indptr": in_range(0, lengths.get("cells of means", 0), "starts of rows"),
        "pending_values_indptr": in_range(0, lengths.get("cells of pending rows", 0), "starts of rows"),
    }
