"""Rows that fit their cluster badly: the least typical ones, and those between two clusters.

Distances are measured on the features that the model was fitted to. So these rows are the same
whether clusters are described in the units of the fit or in those of an original table. Some of the
rows that the model stores for ``predict`` are compared with all rows, if these are at hand and not
too many, and else with those that it stores: among fewer rows neighbours are farther away, and more
rows are between two clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from cohirf import CoHiRF
from cohirf.app.explain.policy import BETWEEN, SAMPLE
from cohirf.app.explain.study import Study, draw, weigh
from cohirf.app.explain.table import as_dense, number_rows, read_rows
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
    share_own : float
        Share of these rows whose neighbours in their own cluster are nearer than those in any other
        one.
    n_compared : int
        Number of rows that were compared: all rows that are not noise, or a sample.
    n_among : int
        Number of rows among which their neighbours were sought.
    n_clustered : int
        Number of rows that are not noise.
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
        Number of rows that differ from each other, of those among which neighbours were sought.
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
    share_own: float = 0.0
    n_among: int = 0
    n_clustered: int = 0
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


@dataclass(frozen=True)
class _Rows:
    """The rows among which neighbours are sought, none of them noise."""

    numbers: IntArray  # row numbers
    points: Any  # as they were fitted
    labels: IntArray
    weights: FloatArray  # how many rows of the data each stands for

    @classmethod
    def of(cls, model: CoHiRF, study: Study | None) -> _Rows:
        """Return all rows, if there is data and it is not too large, and else the stored ones."""
        labels = np.asarray(model.labels_)
        most = SAMPLE.neighbours.count(model.n_features_in_)
        n_stored = len(model.landmark_indices_)
        if n_stored < len(labels) <= most and study is not None and study.has_data_of_fit:
            numbers: IntArray = np.flatnonzero(labels >= 0)
            points = read_rows(study.data, np.arange(len(labels)))[numbers]
            return cls(numbers, points, labels[numbers], np.ones(len(numbers)))
        stored = np.flatnonzero(labels[model.landmark_indices_] >= 0)
        numbers = model.landmark_indices_[stored]
        own = labels[numbers]
        weights = weigh(model, positions_of(own, model.cluster_numbers_))
        return cls(numbers, model.landmarks_[stored], own, weights)


def find_badly_fitting(
    model: CoHiRF, features: IntArray | None = None, study: Study | None = None
) -> BadlyFitting:
    """Return the rows that fit their cluster badly, of at most 2,000 rows that a model stores.

    Each is compared with all rows, if a ``study`` has them and they are at most 100,000 of 5
    million cells together, and else with those that the model stores. By default, distances are
    those in all ``features``.
    """
    rows = _Rows.of(model, study)
    if len(rows.numbers) == 0:
        return BadlyFitting([], [], 0.0, 0)
    stored = model.landmark_indices_[np.asarray(model.labels_)[model.landmark_indices_] >= 0]
    drawn = stored[draw(len(stored), SAMPLE.compared.count(model.n_features_in_))]
    chosen = np.searchsorted(rows.numbers, drawn)
    points = rows.points if features is None else rows.points[:, features]
    present, places = np.unique(rows.labels, return_inverse=True)
    place = places[chosen]
    own = present[place].astype(np.int64)
    point = number_rows(points)
    nearest = _distances_to_clusters(chosen, points, point, places, len(present))
    other, closeness = _find_others(place, nearest)
    weights = weigh(model, positions_of(own, model.cluster_numbers_))
    own_distance = nearest[np.arange(len(place)), place]
    loose = _find_loose(drawn, own, own_distance)
    if model.choice_ is not None and model.choice_.n_aside:
        loose += _find_aside(model, rows, chosen, own_distance)
    between = np.flatnonzero((closeness >= BETWEEN.between) & np.isfinite(closeness))
    if _is_compact(model):
        densities = _fill_gaps(points, places, rows.weights)
    else:
        densities = _fill_border(place, own_distance, between)
    highest = max(densities, default=np.nan)
    along_line, on_line = _project(points, rows.weights)
    is_few = _is_compact(model) and not densities
    return BadlyFitting(
        loose=sorted(loose, key=lambda row: -row.distance),
        border=[
            Between(int(drawn[at]), int(own[at]), int(present[other[at]]), float(closeness[at]))
            for at in between[
                np.argsort(-closeness[between], kind="stable")[: BETWEEN.listed_between]
            ].tolist()
        ],
        share_between=float(weights[between].sum() / weights.sum()),
        n_compared=len(drawn),
        share_own=float(weights[closeness < 1].sum() / weights.sum()),
        n_among=len(rows.numbers),
        n_clustered=int((np.asarray(model.labels_) >= 0).sum()),
        filled=highest if _is_compact(model) else np.nan,
        at_border=np.nan if _is_compact(model) else highest,
        sparsest=min(densities, default=np.nan),
        n_different=len(np.unique(point)),
        along_line=along_line,
        is_line_cut=is_few and along_line >= BETWEEN.line and _cuts_line(on_line, places),
    )


def _project(points: Any, weights: FloatArray) -> tuple[float, FloatArray]:
    """Return which share of the variance of rows is along their main direction, and their places
    there; NaN, and no places, if there are too many features.
    """
    if points.shape[1] > BETWEEN.line_features:
        return np.nan, np.empty(0)
    dense = as_dense(points)
    around = dense - np.average(dense, axis=0, weights=weights)
    variances, directions = np.linalg.eigh((around.T * weights) @ around)
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


def _fill_gaps(points: Any, labels: IntArray, weights: FloatArray) -> list[float]:
    """Return the lowest density between each cluster and its neighbour, where it is known.

    See ``BadlyFitting.filled``.
    """
    n_clusters = int(labels.max()) + 1
    if n_clusters < 2:
        return []
    starts, members = rows_by_label(labels, n_clusters)
    of_cluster = [members[starts[one] : starts[one + 1]] for one in range(n_clusters)]
    centres = np.stack([np.asarray(points[some].mean(axis=0)).ravel() for some in of_cluster])
    distances = euclidean_distances(centres)
    np.fill_diagonal(distances, np.inf)
    filled = []
    for one, other in enumerate(distances.argmin(axis=1).tolist()):
        way = centres[other] - centres[one]
        both = np.concatenate([of_cluster[one], of_cluster[other]])
        along = np.asarray(points[both] @ way) - centres[one] @ way
        # 0 at the one centre, 1 at the other
        place = along / max(float(way @ way), np.finfo(np.float64).tiny)
        window = max(BETWEEN.window, _typical_step(place) / 2)
        stops = [np.abs(place - at) < window for at in np.linspace(0, 1, BETWEEN.stops)]
        start, *middle, end = (float(weights[both][is_near].sum()) for is_near in stops)
        if min(stops[0].sum(), stops[-1].sum()) >= BETWEEN.at_centre:
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
    chosen: IntArray, points: Any, point: IntArray, labels: IntArray, n_clusters: int
) -> FloatArray:
    """Return the mean distance of each of the chosen rows to its nearest neighbours in each
    cluster, given a number of each row that equal ones share.

    NaN if the cluster has none.
    """
    starts, members = rows_by_label(labels, n_clusters)
    found = np.full((len(chosen), n_clusters), np.nan)
    for cluster in range(n_clusters):
        some = members[starts[cluster] : starts[cluster + 1]]
        n_near = min(BETWEEN.neighbours, len(some))
        if n_near == 0:
            continue
        of_cluster, number = points[some], point[some]
        n_rows = max(1, SAMPLE.block_cells // len(some))
        for block in row_blocks(len(chosen), n_rows):
            distances = euclidean_distances(points[chosen[block]], of_cluster)
            # a row is not its own neighbour, nor is one that is equal to it
            distances[point[chosen[block], None] == number] = np.inf
            near = np.partition(distances, n_near - 1, axis=1)[:, :n_near]
            n_others = np.isfinite(near).sum(axis=1)
            totals = np.where(np.isfinite(near), near, 0).sum(axis=1)
            found[block, cluster] = np.where(n_others > 0, totals / np.maximum(n_others, 1), np.nan)
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


def _find_aside(
    model: CoHiRF, rows: _Rows, chosen: IntArray, distance: FloatArray
) -> list[Outlying]:
    """Return stored rows that are noise, given the rows of clusters and the distance of each chosen
    one to its own cluster.
    """
    labels = np.asarray(model.labels_)[model.landmark_indices_]
    aside = np.flatnonzero(labels < 0)[: BETWEEN.listed_aside]
    to_clustered = euclidean_distances(model.landmarks_[aside], rows.points)
    nearest = rows.labels[to_clustered.argmin(axis=1)].tolist()
    own = rows.labels[chosen]
    typical = {label: _median_of_known(distance[own == label]) for label in set(nearest)}
    numbers = model.landmark_indices_[aside].tolist()
    far = to_clustered.min(axis=1, initial=np.inf).tolist()
    return [
        Outlying(row, label, away / (typical[label] or np.inf))
        for row, label, away in zip(numbers, nearest, far, strict=True)
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
