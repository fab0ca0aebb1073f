"""The map and the tree of a page: rows as points, how clusters merge, and what other merges
find.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.metrics import pairwise_distances_argmin

from cohirf.app.explain.cuts import Cut
from cohirf.app.explain.diagnose import K_MEANS, rival_of
from cohirf.app.explain.page import pack
from cohirf.app.explain.policy import CUT, PAGE
from cohirf.app.explain.results import say_merge
from cohirf.app.explain.study import Sample, Study
from cohirf.app.explain.table import read_rows, stack_rows
from cohirf.app.plotting.canvas import find_subject
from cohirf.app.plotting.map import Projection, project_rows
from cohirf.app.plotting.style import STYLE
from cohirf.app.plotting.trees import merged_tree
from cohirf.hierarchy import has_merges
from cohirf.inspection import MERGES
from cohirf.rows import IntArray


def place_points(sample: Sample, finest: Cut, exemplars: IntArray) -> dict[str, Any]:
    """Return the plotted rows and some exemplars in the plane, and the cluster of each row at the
    finest cut.
    """
    study = sample.study
    rows = sample.rows[sample.points]
    parts = [sample.features[sample.points], read_rows(study.data, exemplars)]
    features = stack_rows(parts)
    is_projected = study.model.n_features_in_ > 2
    if getattr(study.model.estimator, "metric", None) == "haversine":
        maps = [place_on_globe(features)]
    else:
        projection = project_rows(features, np.concatenate([rows, exemplars]), study.feature_names)
        maps = [
            _describe_map(
                "Principal components" if is_projected else "Features",
                projection,
                same_unit=is_projected,
            )
        ]
    if is_projected and features.shape[0] > STYLE.umap_neighbours and find_spec("umap") is not None:
        placed = project_rows(features, rows, None, method="umap")
        maps.append(_describe_map("UMAP", placed, same_unit=True))
    classes = None
    if study.classes is not None:
        used, number = np.unique(study.classes.codes[rows], return_inverse=True)
        classes = {
            "names": [study.classes.names[code] for code in used.tolist()],
            "number": pack(number),
        }
    return {
        "n": len(rows),
        "row": pack(rows),
        "label": pack(finest.labels_of(rows)),
        "exemplar": pack(exemplars),
        "maps": maps,
        "called": None
        if study.row_names is None
        else [study.name_row(row) for row in rows.tolist()],
        "class": classes,
    }


def _describe_map(name: str, projection: Projection, *, same_unit: bool) -> dict[str, Any]:
    """Return coordinates from 0 to ``GRID``; if both axes have one unit, by the same scale."""
    low = projection.points.min(axis=0)
    high = projection.points.max(axis=0)
    width = high - low
    scale = np.where(width > 0, width, 1.0)
    if same_unit:
        scale = np.full(
            2, max(float(scale.max()) if width.max() > 0 else 1.0, np.finfo(np.float64).tiny)
        )
    placed: NDArray[np.int64] = np.rint(PAGE.grid * (projection.points - low) / scale).astype(
        np.int64
    )
    return {
        "name": name,
        "axes": projection.names,
        "width": max(int(placed[:, 0].max()), 1),
        "height": max(int(placed[:, 1].max()), 1),
        "same_unit": same_unit,
        "x": pack(placed[:, 0]),
        "y": pack(placed[:, 1]),
    }


def place_on_globe(features: Any) -> dict[str, Any]:
    """Return latitudes and longitudes, which are in radians, as a map with lines at whole degrees.

    Its edge is in the widest gap between longitudes, so that it cuts no cluster at the date line.
    In the middle of the map, a kilometre is as long in both directions.
    """
    latitude, longitude = np.degrees(np.asarray(features, dtype=np.float64)).T
    by_size = np.unique(longitude % 360)
    edge = float(np.roll(by_size, -1)[np.diff(by_size, append=by_size[0] + 360).argmax()])
    east = (longitude - edge) % 360
    narrow = max(
        float(np.cos(np.radians((latitude.min() + latitude.max()) / 2))), PAGE.narrowest_degree
    )
    found = _describe_map(
        "Places",
        Projection(np.c_[east * narrow, latitude], ["longitude", "latitude"]),
        same_unit=True,
    )
    grid = PAGE.grid / max(
        float(np.ptp(east)) * narrow, float(np.ptp(latitude)), np.finfo(np.float64).tiny
    )
    across = [(degrees, (degrees + edge + 180) % 360 - 180) for degrees in _find_lines(east, edge)]
    found["lines"] = {
        "x": [
            [grid * narrow * (at - float(east.min())), _name_degrees(shown, "EW")]
            for at, shown in across
        ],
        "y": [
            [grid * (at - float(latitude.min())), _name_degrees(at, "NS")]
            for at in _find_lines(latitude, 0.0)
        ],
    }
    return found


def _find_lines(degrees: NDArray[np.float64], edge: float) -> list[float]:
    """Return where whole degrees are, or other round numbers if few or many would be.

    ``edge`` is added to them.
    """
    low = float(degrees.min()) + edge
    high = float(degrees.max()) + edge
    fractions = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
    steps = (*fractions, 1, 2, 5, 10, 15, 30, 60)
    step = next((step for step in steps if high - low <= PAGE.degrees * step), steps[-1])
    return [
        float(number * step) - edge
        for number in range(math.ceil(low / step), math.floor(high / step) + 1)
    ]


def _name_degrees(value: float, directions: str) -> str:
    value = round(value, 6)
    if (value in (0, 180, -180) and directions == "EW") or value == 0:
        side = ""
    else:
        side = directions[0 if value > 0 else 1]
    return f"{abs(value):g}°{side}"


def describe_merges(study: Study, cuts: Sequence[Cut], rows: IntArray) -> dict[str, Any] | None:
    """Return the tree of merges as nodes, leaves first, with their clusters at each cut.

    None if there is no tree.
    """
    subject = find_subject(study.model)
    if not has_merges(subject.hierarchy):
        return None
    tree = merged_tree(
        subject,
        max(cut.n_clusters for cut in cuts if cut.is_whole and cut.n_clusters <= PAGE.leaves),
    )
    # each leaf is in one of its clusters
    is_shown = [cut.n_merged <= tree.n_leaves for cut in cuts]
    finest = [cut for cut, shown in zip(cuts, is_shown, strict=True) if cut.is_whole and shown][-1]
    leaf_of_label = np.full(finest.n_clusters + 1, -1)
    leaf_of_label[finest.labels_of(tree.medoid)] = np.arange(tree.n_leaves)
    pairs = zip(cuts, is_shown, strict=True)
    return {
        "parent": tree.parent.tolist(),
        "height": [float(f"{height:.5g}") for height in tree.height.tolist()],
        "size": tree.size.tolist(),
        "n_leaves": tree.n_leaves,
        "labels": [cut.labels_of(tree.medoid).tolist() if shown else None for cut, shown in pairs],
        "leaf": pack(leaf_of_label[finest.labels_of(rows)]),
    }


def show_other_merges(
    sample: Sample, cuts: Sequence[Cut], colours: Sequence[IntArray]
) -> dict[str, Any] | None:
    """Return the plotted rows as the other merges divide them.

    None if the fit has not compared merges.

    The scored rows of the sample are fitted with each of the other merges.
    """
    choice = sample.study.model.choice_
    fitted = sample.features[sample.scored]
    if choice is None or not choice.is_compared or choice.n_clusters >= fitted.shape[0]:
        return None
    others = [merge for merge in MERGES if merge != choice.merge]
    return {
        "merge": choice.merge,
        "why": say_merge(choice),
        "n_fitted": fitted.shape[0],
        "others": [_show_merge(sample, cuts, colours, fitted, merge) for merge in others],
    }


def _show_merge(
    sample: Sample, cuts: Sequence[Cut], colours: Sequence[IntArray], fitted: Any, merge: str
) -> dict[str, Any]:
    """Return the plotted rows as a merge divides them; each joins the nearest of the fitted rows.

    For each cut that has not too many clusters, ``colours`` has the colour of each part, that of
    the cluster which shares most rows with it, and ``moved`` the share of plotted rows in other
    clusters than those with their colour.
    """
    model = sample.study.model
    assert model.choice_ is not None  # merges were compared
    hierarchy = fit_other(model, fitted, model.choice_.n_clusters, merge).hierarchy_
    finest = hierarchy.cut(n_clusters=min(CUT.every_number, hierarchy.tree.n_leaves))
    part = finest[pairwise_distances_argmin(sample.features[sample.points], fitted)]
    _, first = np.unique(finest, return_index=True)
    coloured: list[list[int] | None] = [None] * len(cuts)
    moved: list[float | None] = [None] * len(cuts)
    for number, cut in enumerate(cuts):
        if 1 <= cut.n_clusters <= len(first):
            label_of_part = hierarchy.cut(n_clusters=cut.n_clusters)[first]
            ours = cut.labels_of(sample.rows[sample.points])
            kept = np.flatnonzero(ours >= 0)
            shared = np.zeros((cut.n_clusters, cut.n_clusters), dtype=np.int64)
            np.add.at(shared, (label_of_part[part][kept], ours[kept]), 1)
            rows, likest = linear_sum_assignment(shared, maximize=True)  # so that most rows agree
            moved[number] = 1 - float(shared[rows, likest].sum()) / max(len(kept), 1)
            coloured[number] = colours[number][likest[label_of_part]].tolist()
    return {"merge": merge, "part": pack(part), "colours": coloured, "moved": moved}


def fit_other(fitted: Any, rows: Any, n_clusters: int, merge: str) -> Any:
    """Return the model refitted to some rows with another merge.

    Other methods than K-Means give way to it: to density-based ones, a sample is thinner than
    the data, and those that find the given number of clusters in a single batch would not merge
    anything.
    """
    other = clone(fitted).set_params(
        n_clusters=n_clusters,
        merge=merge,
        batch_size=None,
        checkpoint=None,
        min_cluster_size=1,
        verbose=0,
    )
    if not isinstance(rival_of(fitted).clusterer, K_MEANS):
        other.set_params(estimator=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # this fit is only a comparison
        other.fit(rows)
    return other
