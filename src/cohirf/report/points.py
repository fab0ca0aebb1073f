"""The map: rows and exemplars as points in the plane."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.algorithm.grouping import IntArray
from cohirf.diagnosis.reading import read_rows
from cohirf.plotting.projection import Projection, project_rows
from cohirf.report.cuts import Cut
from cohirf.report.packing import pack
from cohirf.report.sample import Sample
from cohirf.report.study import Classes, Study

GRID = 4000  # coordinates are rounded to this many steps, less than a pixel
PCA, FEATURES, UMAP = "Principal components", "Features", "UMAP"


def place_points(study: Study, sample: Sample, finest: Cut, exemplars: IntArray) -> dict[str, Any]:
    """Return the plotted rows and some exemplars in the plane, and the cluster of each row at the finest cut.

    Returns
    -------
    points : dict
        ``maps`` has one or two projections, each with the coordinates of the rows and then of the exemplars.
    """
    rows = sample.point_rows
    parts = [sample.features[sample.points], read_rows(study.data, exemplars)]
    features = sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.vstack(parts)
    projection = project_rows(features, np.concatenate([rows, exemplars]), 2, study.feature_names)
    is_projected = study.model.n_features_in_ > 2
    maps = [_describe_map(PCA if is_projected else FEATURES, projection, same_unit=is_projected)]
    if is_projected and find_spec("umap") is not None:
        placed = project_rows(features, rows, 2, None, method="umap")
        maps.append(_describe_map(UMAP, placed, same_unit=True))
    return {
        "n": len(rows),
        "row": pack(rows),
        "label": pack(finest.labels_of(rows)),
        "exemplar": pack(exemplars),
        "maps": maps,
        "called": None if study.row_names is None else [study.name_row(row) for row in rows.tolist()],
        "class": None if study.classes is None else _pack_classes(study.classes, rows),
    }


def _describe_map(name: str, projection: Projection, *, same_unit: bool) -> dict[str, Any]:
    """Return coordinates from 0 to ``GRID``; if both axes have one unit, by the same scale."""
    low, high = projection.points.min(axis=0), projection.points.max(axis=0)
    width = high - low
    scale = np.where(width > 0, width, 1.0)
    if same_unit:
        scale = np.full(2, max(float(scale.max()) if width.max() > 0 else 1.0, np.finfo(np.float64).tiny))
    placed: NDArray[np.int64] = np.rint(GRID * (projection.points - low) / scale).astype(np.int64)
    return {
        "name": name,
        "axes": projection.names,
        "width": max(int(placed[:, 0].max()), 1),
        "height": max(int(placed[:, 1].max()), 1),
        "same_unit": same_unit,
        "x": pack(placed[:, 0]),
        "y": pack(placed[:, 1]),
    }


def _pack_classes(classes: Classes, rows: IntArray) -> dict[str, Any]:
    """Return the names of the classes that occur in ``rows``, and the class number of each row."""
    used, number = np.unique(classes.code[rows], return_inverse=True)
    return {"names": [classes.names[code] for code in used.tolist()], "number": pack(number)}
