"""Rows that fit their cluster badly: the least typical ones, and those between two clusters.

Distances are measured between rows that the model stores for ``predict``, on the features that it
was fitted to. So these rows are the same whether clusters are described in the units of the fit or
in those of an original table.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from cohirf import CoHiRF
from cohirf.app.explain.policy import BETWEEN, SAMPLE
from cohirf.app.explain.study import draw, weigh
from cohirf.app.explain.table import as_dense, number_rows
from cohirf.inspection import positions_of
from cohirf.rows import FloatArray, IntArray, row_blocks, rows_by_label


@dataclass(frozen=True)
class Outlying:
    """A row that is farther from its cluster than the others are."""

    row: int  # row number
    cluster: int  # its cluster, or the nearest one if the row was set aside as noise
    distance: (
        float  # mean to its five nearest neighbours in the cluster, in medians over the cluster
    )


@dataclass(frozen=True)
class Between:
    """A row between two clusters."""

    row: int  # row number
    cluster: int  # its cluster
    other: int  # the nearest other cluster
    # mean distance to its five nearest neighbours in its own cluster, divided by that in the other
    # cluster, of rows that differ from it: about 1 for a row in the middle, and above 1 for a row
    # that is nearer to the other cluster
    closeness: float


@dataclass(frozen=True)
class BadlyFitting:
    """Rows that fit their cluster badly, and the number of rows that were looked at.

    Attributes
    ----------
    loose : list of Outlying
        The least typical rows of each cluster, and rows that were set aside as noise, the least
        typical of all first.
    border : list of Between
        The rows between two clusters, the most ambiguous first.
    share_between : float
        Share of the rows that are between two clusters, of all rows that are not noise, as
        estimated from the sample. Rows that are equal are no neighbours: among whole numbers, the
        next ones are.
    n_compared : int
        Number of rows that were compared: all rows that are not noise, or a sample.
    filled : float
        How dense rows are where they are sparsest between the centres of two neighbouring clusters,
        compared with the sparser of the two centres: 0 if there is an empty gap, about 1 if there
        is none. The highest of all clusters; NaN if clusters are not compact: their centres mean
        little.
    at_border : float
        How near the neighbours of the median row of a cluster are, compared with those of its
        median row that is between two clusters: about 1 if rows there are as dense as elsewhere.
        The highest of all clusters, and 0 if no row is between two; NaN if clusters are compact.
    sparsest : float
        The lowest of all clusters of what ``filled`` or ``at_border`` is the highest of: low if
        some cluster is apart from the others.
    n_different : int
        Number of rows that differ from each other, of those that were compared.
    along_line : float
        Share of the variance that is along one line, the main direction of the rows; NaN if there
        are too many features.
    is_line_cut : bool
        Whether rows are too few to say how dense they are, lie along one line, and it is cut into
        clusters at a place that is no gap: another step between the centres of two neighbours is as
        wide as that from one to the other.
    """

    loose: list[Outlying]
    border: list[Between]
    share_between: float
    n_compared: int
    filled: float = np.nan
    at_border: float = np.nan
    sparsest: float = np.nan
    n_different: int = 0
    along_line: float = np.nan
    is_line_cut: bool = False

    @property
    def is_apart(self) -> bool:
        """Whether hardly any rows are between two clusters, and there is some gap."""
        few = self.share_between <= BETWEEN.apart
        return few and not bool(np.fmax(self.filled, self.at_border) > BETWEEN.half_filled)

    @property
    def has_gaps(self) -> bool:
        """Whether few rows are between two clusters, and there is some gap."""
        few = self.share_between <= BETWEEN.touching
        return few and not self.filled > BETWEEN.half_filled

    @property
    def is_line(self) -> bool:
        """Whether rows lie along one line."""
        return self.along_line >= BETWEEN.line

    @property
    def is_one_cloud(self) -> bool:
        """Whether clusters are parts of one cloud: many rows are between two, or rows are as dense
        there as elsewhere; and none is apart.
        """
        has_many = self.share_between > BETWEEN.touching
        is_filled = self.filled > BETWEEN.filled
        if self.share_between > BETWEEN.apart:
            is_filled = is_filled or self.at_border > BETWEEN.filled
        return ((has_many or bool(is_filled)) and not self.is_any_apart) or self.is_line_cut

    @property
    def is_any_apart(self) -> bool:
        """Whether rows are sparser between some cluster and the others than elsewhere."""
        return self.sparsest <= BETWEEN.half_filled

    def has_neighbours(self, n_clusters: int) -> bool:
        """Return whether clusters have so many different rows that neighbours tell how far apart
        they are.
        """
        return self.n_different > (BETWEEN.neighbours + 1) * n_clusters


def find_badly_fitting(model: CoHiRF, features: IntArray | None = None) -> BadlyFitting:
    """Return the rows that fit their cluster badly, of at most 2,000 rows that a model stores: each
    is compared with all that it stores.

    By default, distances are those in all ``features``.
    """
    labels = model.labels_[model.landmark_indices_]
    stored = np.flatnonzero(labels >= 0)
    if len(stored) == 0:
        return BadlyFitting([], [], 0.0, 0)
    chosen = draw(len(stored), SAMPLE.compared.count(model.n_features_in_))
    clustered = stored[chosen]
    own = labels[clustered].astype(np.int64)
    rows = model.landmark_indices_[clustered]
    all_points = model.landmarks_[stored]
    all_points = all_points if features is None else all_points[:, features]
    present, all_places = np.unique(labels[stored], return_inverse=True)
    points = all_points[chosen]
    place = all_places[chosen]
    nearest = _distances_to_clusters(chosen, all_points, all_places, len(present))
    other, closeness = _find_others(place, nearest)
    weights = weigh(model, positions_of(own, model.cluster_numbers_))
    own_distance = nearest[np.arange(len(place)), place]
    loose = _find_loose(rows, own, own_distance)
    if model.choice_ is not None and model.choice_.n_aside:
        loose += _find_aside(model, clustered, own_distance)
    between = np.flatnonzero((closeness >= BETWEEN.between) & np.isfinite(closeness))
    if _is_compact(model):
        densities = _fill_gaps(points, place)
    else:
        densities = _fill_border(place, own_distance, between)
    highest = max(densities, default=np.nan)
    along_line, on_line = _project(points)
    is_few = _is_compact(model) and not densities
    return BadlyFitting(
        loose=sorted(loose, key=lambda row: -row.distance),
        border=[
            Between(int(rows[at]), int(own[at]), int(present[other[at]]), float(closeness[at]))
            for at in between[
                np.argsort(-closeness[between], kind="stable")[: BETWEEN.listed_between]
            ].tolist()
        ],
        share_between=float(weights[between].sum() / weights.sum()),
        n_compared=len(rows),
        filled=highest if _is_compact(model) else np.nan,
        at_border=np.nan if _is_compact(model) else highest,
        sparsest=min(densities, default=np.nan),
        n_different=len(np.unique(number_rows(points))),
        along_line=along_line,
        is_line_cut=is_few and along_line >= BETWEEN.line and _cuts_line(on_line, place),
    )


def _project(points: Any) -> tuple[float, FloatArray]:
    """Return which share of the variance of rows is along their main direction, and their places
    there; NaN, and no places, if there are too many features.
    """
    if points.shape[1] > BETWEEN.line_features:
        return np.nan, np.empty(0)
    dense = as_dense(points)
    around = dense - dense.mean(axis=0)
    variances, directions = np.linalg.eigh(around.T @ around)
    total = float(variances.sum())
    if total <= 0:
        return np.nan, np.empty(0)
    return float(variances[-1]) / total, around @ directions[:, -1]


def _cuts_line(at: FloatArray, labels: IntArray) -> bool:
    """Return whether some clusters are neighbours on a line without a gap between them.

    The gap between two is as wide as no other step between their centres.
    """
    clusters = np.unique(labels)
    centres = np.array([at[labels == one].mean() for one in clusters])
    order = np.argsort(centres)
    for one, other in pairwise(order.tolist()):
        is_either = np.isin(labels, clusters[[one, other]])
        places = at[is_either & (at >= centres[one]) & (at <= centres[other])]
        low = at[labels == clusters[one]].max()
        high = at[labels == clusters[other]].min()
        steps = np.diff(np.unique(places.round(BETWEEN.digits)))
        gap = high - low
        n_as_wide = int((steps >= gap - 10.0**-BETWEEN.digits).sum())
        if gap <= 0 or n_as_wide > 1:
            return True
    return False


def _is_compact(model: CoHiRF) -> bool:
    choice = model.choice_  # without cuts, the base method has made the clusters, of any shape
    return choice is not None and choice.is_around_means and choice.is_compared


def _fill_gaps(points: Any, labels: IntArray) -> list[float]:
    """Return the lowest density between each cluster and its neighbour, where it is known.

    See ``BadlyFitting.filled``.
    """
    n_clusters = int(labels.max()) + 1
    if n_clusters < 2:
        return []
    centres = np.stack(
        [np.asarray(points[labels == one].mean(axis=0)).ravel() for one in range(n_clusters)]
    )
    distances = euclidean_distances(centres)
    np.fill_diagonal(distances, np.inf)
    filled = []
    for one, other in enumerate(distances.argmin(axis=1).tolist()):
        way = centres[other] - centres[one]
        along = np.asarray(points[(labels == one) | (labels == other)] @ way) - centres[one] @ way
        # 0 at the one centre, 1 at the other
        place = along / max(float(way @ way), np.finfo(np.float64).tiny)
        window = max(BETWEEN.window, _typical_step(place) / 2)
        start, *middle, end = (
            int(np.sum(np.abs(place - at) < window)) for at in np.linspace(0, 1, BETWEEN.stops)
        )
        if min(start, end) >= BETWEEN.at_centre:
            filled.append(min(middle) / min(start, end))
    return filled


def _typical_step(place: FloatArray) -> float:
    """Return how far the next larger place is from that of the median row: whole numbers have steps
    between them that are no gaps.
    """
    places, counts = np.unique(np.round(place, BETWEEN.digits), return_counts=True)
    if len(places) < 3:  # two places have a gap, and no step
        return 0.0
    steps = np.diff(places)
    to_next = np.minimum(np.append(steps, steps[-1]), np.insert(steps, 0, steps[0]))
    order = np.argsort(to_next, kind="stable")
    median = np.searchsorted(np.cumsum(counts[order]), len(place) / 2)
    return float(to_next[order[median]])


def _fill_border(labels: IntArray, own_distance: FloatArray, between: IntArray) -> list[float]:
    """Return how dense the rows of each cluster that are between two are, compared with the others.

    See ``BadlyFitting.at_border``.
    """
    filled = dict.fromkeys(np.unique(labels).tolist(), 0.0)
    for cluster in np.unique(labels[between]).tolist():
        typical = float(np.nanmedian(own_distance[labels == cluster]))
        there = float(np.median(own_distance[between[labels[between] == cluster]]))
        filled[cluster] = typical / there
    return [*filled.values()]


def _distances_to_clusters(
    chosen: IntArray, points: Any, labels: IntArray, n_clusters: int
) -> FloatArray:
    """Return the mean distance of each of the chosen rows to its nearest neighbours in each
    cluster.

    NaN if the cluster has none.
    """
    starts, members = rows_by_label(labels, n_clusters)
    found = np.full((len(chosen), n_clusters), np.nan)
    point = number_rows(points)
    for block in row_blocks(len(chosen), SAMPLE.block_rows):
        distances = euclidean_distances(points[chosen[block]], points)
        # a row is not its own neighbour, nor is one that is equal to it
        distances[point[chosen[block], None] == point] = np.inf
        for cluster in range(n_clusters):
            some = members[starts[cluster] : starts[cluster + 1]]
            if n_near := min(BETWEEN.neighbours, len(some)):
                near = np.partition(distances[:, some], n_near - 1, axis=1)[:, :n_near]
                n_others = np.isfinite(near).sum(axis=1)
                totals = np.where(np.isfinite(near), near, 0).sum(axis=1)
                found[block, cluster] = np.where(
                    n_others > 0, totals / np.maximum(n_others, 1), np.nan
                )
    return found


def _find_loose(rows: IntArray, labels: IntArray, distance: FloatArray) -> list[Outlying]:
    """Return the rows that are farthest from their own cluster, given their distance to it."""
    found = []
    for cluster in np.unique(labels[~np.isnan(distance)]).tolist():
        members = np.flatnonzero((labels == cluster) & ~np.isnan(distance))
        typical = float(np.median(distance[members]))
        if typical == 0:
            continue
        farthest = members[np.argsort(-distance[members], kind="stable")[: BETWEEN.listed_loose]]
        ratios = zip(rows[farthest].tolist(), (distance[farthest] / typical).tolist(), strict=True)
        found += [Outlying(row, cluster, ratio) for row, ratio in ratios if ratio >= BETWEEN.loose]
    return found


def _find_aside(model: CoHiRF, clustered: IntArray, distance: FloatArray) -> list[Outlying]:
    """Return rows that are noise, given stored rows of clusters and the distance of each to its own
    cluster.
    """
    labels = model.labels_[model.landmark_indices_]
    aside = np.flatnonzero(labels < 0)[: BETWEEN.listed_aside]
    to_clustered = euclidean_distances(model.landmarks_[aside], model.landmarks_[clustered])
    nearest = to_clustered.argmin(axis=1)
    own = labels[clustered]
    typical = {
        label: _median_of_known(distance[own == label])
        for label in np.unique(own[nearest]).tolist()
    }
    rows = model.landmark_indices_[aside].tolist()
    far = to_clustered.min(axis=1, initial=np.inf).tolist()
    parts = zip(rows, own[nearest].tolist(), far, strict=True)
    return [
        Outlying(row, label, distance / (typical[label] or np.inf))
        for row, label, distance in parts
    ]


def _median_of_known(distance: FloatArray) -> float:
    """Return the median distance; 0 of a cluster whose rows are all equal, and have none."""
    known = distance[~np.isnan(distance)]
    return float(np.median(known)) if len(known) else 0.0


def _find_others(labels: IntArray, nearest: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the nearest other cluster of each row, and how close it is.

    NaN or 0 if there is none.
    """
    at = np.arange(len(labels)), labels
    elsewhere = np.where(np.isnan(nearest), np.inf, nearest)
    elsewhere[at] = np.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        closeness = nearest[at] / elsewhere.min(axis=1)
    return elsewhere.argmin(axis=1), closeness
