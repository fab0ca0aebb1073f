"""Convert the fitted results of a model to scalars and arrays, and back; refuse arrays that are inconsistent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.algorithm.grouping import row_blocks
from cohirf.algorithm.merge_tree import MergeTree
from cohirf.choice import Choice
from cohirf.durable.arrays import CSR_PARTS, Arrays, build_csr, csr_parts
from cohirf.hierarchy import FusionHierarchy
from cohirf.neighbours.landmarks import Cells, Landmarks
from cohirf.saving.layout import DENSE, NAMES, Scalars
from cohirf.saving.manifest import Manifest
from cohirf.saving.summaries import build_summary, collect_summary
from cohirf.summary.summary import Summary


def collect_scalars(model: Any) -> Scalars:
    """Return the fitted results that are not arrays."""
    # medoids and landmarks are rows of the same data, so both are dense or both are CSR
    container = type(model.medoids_).__name__ if sparse.issparse(model.medoids_) else DENSE
    level = model.hierarchy_.tree.level
    batch_size = None if model.batch_size_ is None else int(model.batch_size_)
    return Scalars(int(model.n_features_in_), int(model.n_clusters_), int(model.n_iter_), level, batch_size, container)


def collect_arrays(model: Any) -> Arrays:
    """Return the arrays of a fitted model by file name. They are the model's own arrays, not copies."""
    arrays = {
        "labels": model.labels_,
        "parents": model.hierarchy_.parents,
        "absorbed_at": model.hierarchy_.absorbed_at,
        "medoid_indices": model.medoid_indices_,
        "exemplar_indices": model.exemplar_indices_,
        "tree_medoids": model.hierarchy_.tree.medoids,
        "tree_linkage": model.hierarchy_.tree.linkage,
        "stability": model.stability_,
        "feature_agreement": model.feature_agreement_,
        "landmark_rows": model._landmark_rows,
        "landmark_labels": model._landmarks.labels,
        **_matrix_parts("medoids", model.medoids_),
        **_matrix_parts("exemplars", model.exemplars_),
        **_matrix_parts("landmarks", model._landmarks.points),
    }
    if model.choice_ is not None:
        arrays |= _choice_parts(model.choice_)
    cells = model._landmarks.cells
    if cells is not None:
        arrays |= {"cell_labels": cells.labels, **_matrix_parts("cell_points", cells.points)}
    if model._column_means is not None:
        arrays["column_means"] = model._column_means
    if hasattr(model, "feature_names_in_"):
        arrays |= _encode_names(model.feature_names_in_.tolist())
    if not np.array_equal(model.cluster_numbers_, np.arange(model.n_clusters_)):
        arrays["cluster_numbers"] = model.cluster_numbers_
    return arrays | collect_summary(model, _matrix_parts)


def fitted_attributes(manifest: Manifest, arrays: Arrays) -> dict[str, Any]:
    """Return the attributes that ``fit`` sets; lengths and ranges of the arrays must have been checked before."""
    scalars = manifest.scalars
    tree = MergeTree(arrays["tree_medoids"], arrays["tree_linkage"], scalars.tree_level)
    hierarchy = FusionHierarchy(arrays["parents"], arrays["absorbed_at"], tree=tree)
    numbers = arrays.get("cluster_numbers", np.arange(scalars.n_clusters))
    _check_labels(arrays, numbers)
    landmarks = _build_matrix("landmarks", arrays, (len(arrays["landmark_labels"]), scalars.n_features), scalars)
    return {
        "n_features_in_": scalars.n_features,
        "diagnostics_": manifest.diagnostics,
        "labels_": arrays["labels"],
        "n_clusters_": scalars.n_clusters,
        "batch_size_": scalars.batch_size,
        "medoid_indices_": arrays["medoid_indices"],
        "medoids_": _build_matrix("medoids", arrays, (scalars.n_clusters, scalars.n_features), scalars),
        "exemplar_indices_": arrays["exemplar_indices"],
        "exemplars_": _build_matrix("exemplars", arrays, (scalars.n_clusters, scalars.n_features), scalars),
        "choice_": _build_choice(arrays),
        "hierarchy_": hierarchy,
        "parents_": hierarchy.parents,
        "n_iter_": scalars.n_iter,
        "stability_": arrays["stability"],
        "feature_agreement_": arrays["feature_agreement"],
        "_column_means": arrays.get("column_means"),
        "_landmarks": Landmarks(
            landmarks, arrays["landmark_labels"], _build_cells(arrays, scalars.n_features, scalars)
        ),
        "_landmark_rows": arrays["landmark_rows"],
        "cluster_numbers_": numbers,
        "changes_": manifest.changes,
        "history_": manifest.history,
        "_summary": _build_summary(manifest, arrays, hierarchy, landmarks),
        **_decode_names(arrays),
    }


def _build_summary(manifest: Manifest, arrays: Arrays, hierarchy: FusionHierarchy, landmarks: Any) -> Summary | None:
    scalars = manifest.scalars
    if manifest.summary is None:
        return None

    def build(name: str, n_rows: int, n_columns: int) -> Any:
        needed = name if scalars.container == DENSE else f"{name}_data"
        if needed not in arrays:
            raise ValueError(f"the array {needed} is missing")
        return _build_matrix(name, arrays, (n_rows, n_columns), scalars)

    return build_summary(manifest.summary, arrays, hierarchy, landmarks, scalars.n_features, build)


def _check_labels(arrays: Arrays, numbers: NDArray[Any]) -> None:
    labels = arrays["labels"]
    for block in row_blocks(len(labels)):
        if not np.isin(labels[block], np.append(numbers, -1)).all():
            raise ValueError("labels.npy has numbers that are not those of clusters")
    if not np.array_equal(labels[arrays["landmark_rows"]], arrays["landmark_labels"]):
        raise ValueError("landmark_labels.npy differs from the labels of the same rows in labels.npy")
    for name in ("medoid_indices", "exemplar_indices"):
        if not np.array_equal(labels[arrays[name]], numbers):
            raise ValueError(f"{name}.npy lists rows that are not in the clusters they should represent")


def _build_choice(arrays: Arrays) -> Choice | None:
    if "choice_candidates" not in arrays:
        return None
    n_clusters, is_connected, compact_cut, connected_cut = arrays["choice_merge"].tolist()
    if not (n_clusters >= 1 and float(n_clusters).is_integer() and is_connected in (0, 1)):
        raise ValueError("choice_merge.npy does not describe a choice")
    return Choice(
        int(n_clusters),
        "connected" if is_connected else "compact",
        compact_cut,
        connected_cut,
        arrays["choice_candidates"],
        arrays["choice_strengths"],
        arrays["choice_silhouettes"],
    )


def _choice_parts(choice: Choice) -> Arrays:
    figures = [choice.n_clusters, choice.merge == "connected", choice.compact_cut, choice.connected_cut]
    return {
        "choice_candidates": choice.candidates,
        "choice_strengths": choice.strengths,
        "choice_silhouettes": choice.silhouettes,
        "choice_merge": np.array(figures, dtype=np.float64),
    }


def _build_cells(arrays: Arrays, n_features: int, scalars: Scalars) -> Cells | None:
    if "cell_labels" not in arrays:
        return None
    labels = arrays["cell_labels"]
    return Cells(_build_matrix("cell_points", arrays, (len(labels), n_features), scalars), labels)


def _matrix_parts(name: str, matrix: Any) -> Arrays:
    if not sparse.issparse(matrix):
        return {name: matrix}
    return {f"{name}_{part}": array for part, array in csr_parts(matrix).items()}


def _build_matrix(name: str, arrays: Arrays, shape: tuple[int, int], scalars: Scalars) -> Any:
    if scalars.container == DENSE:
        return arrays[name]
    return build_csr(scalars.container, {part: arrays[f"{name}_{part}"] for part in CSR_PARTS}, shape, name)


def _encode_names(names: list[str]) -> Arrays:
    # surrogatepass: names decoded from invalid bytes must survive
    text = "".join(names).encode("utf-8", "surrogatepass")
    lengths = np.array([len(name) for name in names], dtype=np.int32)
    return {"feature_names": np.frombuffer(text, dtype=np.uint8), "feature_name_lengths": lengths}


def _decode_names(arrays: Arrays) -> dict[str, NDArray[Any]]:
    """Return the attribute ``feature_names_in_`` with its value, or an empty dict if the model has no names."""
    if not arrays.keys() >= NAMES:
        return {}
    characters = arrays["feature_names"].tobytes().decode("utf-8", "surrogatepass")
    lengths = arrays["feature_name_lengths"]
    ends = np.cumsum(lengths, dtype=np.int64)
    if ends[-1] != len(characters):
        raise ValueError("the lengths in feature_name_lengths.npy do not add up to the length of feature_names.npy")
    starts = ends - lengths
    names = [characters[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    return {"feature_names_in_": np.array(names, dtype=object)}
