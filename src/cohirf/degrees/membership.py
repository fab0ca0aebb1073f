"""Degrees of membership: how probable it is that a row belongs to each cluster.

Clusters are divided into pieces: groups of landmarks that are nearer to their own centre than to
centres of other clusters. A convex cluster is one piece. A ring around another cluster is divided
until the nearest centre of a piece tells the cluster of nearly every landmark.

Between two pieces of different clusters, a row has a place on the line that joins their centres.
Along this line, each piece has a normal distribution with the variance of its own landmarks in this
direction. The odds of the two clusters are those of the two densities times the numbers of rows.
Only one direction counts, so features that depend on each other are not counted twice, and the odds
of a row in a hundred features are as moderate as those in two.

A partition cuts clusters that overlap where they meet, so each looks narrower than it is and its
centre farther away. Both are corrected as if the landmarks were a normal distribution that was cut
in the middle between the centres.

At last, all odds are raised to one power, at most 1, so that the landmarks themselves are rated
best if each is taken out and its cluster is guessed from the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import norm
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestNeighbors

from cohirf.degrees.policy import DEGREE
from cohirf.landmarks import Cells, Landmarks
from cohirf.rows.arrays import as_array
from cohirf.rows.grouping import FloatArray, IntArray, row_blocks
from cohirf.summary.numbers import positions_of


@dataclass(frozen=True, eq=False)
class Pieces:
    """Landmarks by piece; the pieces are sorted by cluster."""

    of_point: IntArray  # piece of each landmark
    cluster: IntArray  # of each piece, as a position from 0
    centres: FloatArray  # mean of the landmarks of each piece

    @classmethod
    def of(cls, points: Any, of_point: IntArray, cluster: IntArray) -> Pieces:
        """Describe pieces, given the piece of each landmark."""
        return cls(of_point, cluster, _mean_by(points, of_point, len(cluster)))

    @property
    def sizes(self) -> IntArray:
        """Number of landmarks of each piece."""
        return np.bincount(self.of_point, minlength=len(self.cluster))

    def measure(self, X: Any) -> FloatArray:
        """Return the squared distance of each row to each centre."""
        return np.asarray(euclidean_distances(X, self.centres, squared=True), dtype=np.float64)

    def blocks(self, n_rows: int) -> Iterator[slice]:
        """Yield blocks of rows whose distances to all centres are not too many."""
        return row_blocks(n_rows, DEGREE.block_values // len(self.cluster) + 1)

    def count_errors(self, points: Any) -> tuple[IntArray, IntArray]:
        """Return how many landmarks are nearest to another cluster: those of each piece, and those
        it attracts.
        """
        nearest = np.concatenate(
            [self.measure(points[block]).argmin(axis=1) for block in self.blocks(points.shape[0])]
        )
        is_wrong = self.cluster[nearest] != self.cluster[self.of_point]
        lost, attracted = (
            np.bincount(pieces[is_wrong], minlength=len(self.cluster))
            for pieces in (self.of_point, nearest)
        )
        return lost, attracted

    def halve(self, points: Any, is_mixed: NDArray[np.bool_]) -> Pieces:
        """Return the pieces with the mixed ones cut into two."""
        half = np.zeros_like(self.of_point)
        for piece in np.flatnonzero(is_mixed):
            members = np.flatnonzero(self.of_point == piece)
            some = points[members]
            if abs(some.max(axis=0) - some.min(axis=0)).max() > 0:
                half[members] = KMeans(2, n_init=1, random_state=0).fit_predict(some)
        halves, of_point = np.unique(2 * self.of_point + half, return_inverse=True)
        return Pieces.of(points, of_point, self.cluster[halves // 2])


def divide_clusters(points: Any, clusters: IntArray) -> Pieces:
    """Divide clusters into pieces, given the cluster of each landmark.

    Each cluster has at least one.
    """
    n_clusters = int(clusters.max()) + 1
    most = n_clusters + min(DEGREE.divided, DEGREE.centre_values // points.shape[1])
    whole = pieces = Pieces.of(points, clusters, np.arange(n_clusters))
    lost, attracted = pieces.count_errors(points)
    n_wrong = lost.sum()
    for _ in range(DEGREE.rounds):
        sizes = pieces.sizes
        is_mixed = (sizes >= DEGREE.fewest_divided) & (
            np.maximum(lost, attracted) > DEGREE.wrong * sizes
        )
        if not is_mixed.any() or len(sizes) + is_mixed.sum() > most:
            break
        pieces = pieces.halve(points, is_mixed)
        lost, attracted = pieces.count_errors(points)
    # clusters that overlap are not separated by pieces either, and pieces would hide how wide they
    # are
    return pieces if lost.sum() <= n_wrong / 2 else whole


def _mean_by(points: Any, groups: IntArray, n_groups: int) -> FloatArray:
    """Return the mean of the rows of each group, as an array; every group has a row."""
    n_points = len(groups)
    belongs = sparse.csr_array(
        (np.ones(n_points), (groups, np.arange(n_points))), shape=(n_groups, n_points)
    )
    sums = belongs @ points
    sums = as_array(sums)
    return np.asarray(sums, dtype=np.float64) / np.bincount(groups, minlength=n_groups)[:, None]


@dataclass(frozen=True, eq=False)
class Membership:
    """What is needed to find degrees of membership."""

    landmarks: Landmarks
    clusters: IntArray  # of each landmark, as a position from 0; -1 is noise
    numbers: IntArray  # of the clusters in the labels of the landmarks
    pieces: Pieces
    log_mass: FloatArray  # logarithm of the number of rows of each piece
    # of each piece in the direction of each other one, or, in a single column, in all directions
    variances: FloatArray
    power: float = 1.0  # to which odds are raised

    @classmethod
    def of(cls, landmarks: Landmarks, numbers: IntArray, masses: FloatArray) -> Membership:
        """Learn from landmarks; clusters with the given numbers have ``masses`` rows."""
        clusters = positions_of(landmarks.labels, numbers)
        points = landmarks.search.points.values[clusters >= 0]
        clustered = clusters[clusters >= 0]
        pieces = divide_clusters(points, clustered)
        log_mass = np.log(
            masses[pieces.cluster] * pieces.sizes / np.bincount(clustered)[pieces.cluster]
        )
        variances = _measure_variances(points, pieces)
        membership = cls(landmarks, clusters, numbers, pieces, log_mass, variances)
        return replace(membership, power=_calibrate(membership, points, clustered, masses))

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.pieces.cluster[-1]) + 1

    def rate(self, X: Any, *, is_sparse: bool = False) -> Any:
        """Return the degree of membership of each row in each cluster; those of a row sum to one.

        A sparse result has no degrees below ``DEGREE.smallest``.
        """
        blocks = self.pieces.blocks(X.shape[0])
        if is_sparse:
            return sparse.csr_array(
                sparse.vstack([_thin(self._rate_block(X[block])) for block in blocks], format="csr")
            )
        degrees = np.empty((X.shape[0], self.n_clusters))
        for block in blocks:
            degrees[block] = self._rate_block(X[block])
        return degrees

    def _rate_block(self, X: Any) -> FloatArray:
        log_odds = self.find_log_odds(self.landmarks.search.prepare(X), self._find_own(X))
        return _normalize(self.power * log_odds)

    def _find_own(self, X: Any) -> IntArray:
        """Return the cluster that ``predict`` finds for each row.

        For noise, that of the nearest clustered landmark.
        """
        own: IntArray = positions_of(self.landmarks.label(X), self.numbers)
        noise = np.flatnonzero(own < 0)
        if len(noise) > 0:
            own[noise] = self._clustered.label(X[noise])
        return own

    @cached_property
    def _clustered(self) -> Cells:
        """Finds the nearest landmark that is not noise."""
        is_clustered = self.clusters >= 0
        return Cells(self.landmarks.points[is_clustered], self.clusters[is_clustered])

    def find_log_odds(self, X: Any, own: IntArray) -> FloatArray:
        """Return the logarithm of the odds of each cluster against the cluster ``own`` of each row;
        at most 0.
        """
        squares = self.pieces.measure(X)
        of_cluster = _nearest_pieces(squares, self.pieces.cluster)
        here = np.take_along_axis(of_cluster, own[:, None], axis=1)
        log_odds = self._compare(squares, here, of_cluster)
        np.minimum(log_odds, np.log(DEGREE.largest_odds), out=log_odds)
        np.put_along_axis(log_odds, own[:, None], 0.0, axis=1)
        return log_odds

    def _compare(self, squares: FloatArray, here: IntArray, there: IntArray) -> FloatArray:
        """Return the logarithm of the odds of pieces ``there`` against the piece ``here`` of each
        row.
        """
        length = np.sqrt(self._measure_lines(here, there))
        with np.errstate(divide="ignore", invalid="ignore"):
            place = (
                np.take_along_axis(squares, here, 1) - np.take_along_axis(squares, there, 1)
            ) / (2 * length)
            place += length / 2
            (near, width), (far, far_width) = (
                self._unfold(*pair, length) for pair in ((here, there), (there, here))
            )
            place = np.clip(place, near, length - far)
            # behind the centres, odds do not change any more: the wider piece would win at last
            ratio = ((place - near) / width) ** 2 - ((length - far - place) / far_width) ** 2
            log_odds = 0.5 * ratio + np.log(width / far_width)
        log_odds[~(length > 0)] = 0.0  # centres that coincide tell nothing
        return np.asarray(log_odds + self.log_mass[there] - self.log_mass[here])

    def _unfold(
        self, of: IntArray, towards: IntArray, length: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return how far the centre of a piece moves towards another if its cut is undone, and its
        spread.
        """
        variances = self.variances[of, np.minimum(towards, self.variances.shape[1] - 1)]
        ratio = np.sqrt(np.maximum(variances, DEGREE.smallest_variance * length**2)) / (length / 2)
        cuts, pulls, ratios = _cut_normals()
        cut = np.interp(ratio, ratios[::-1], cuts[::-1])
        pull = np.interp(cut, cuts, pulls)
        # the ratio of a cut that is farther away than the table goes is the spread itself
        width = np.where(ratio > ratios[-1], length / 2 / (cut + pull), ratio * length / 2)
        return pull * width, width

    def _measure_lines(self, here: IntArray, there: IntArray) -> FloatArray:
        """Return the squared distances between the centres of pieces."""
        if len(self.pieces.cluster) <= DEGREE.directed:
            return np.asarray(self._line_table[here, there])
        return np.take_along_axis(
            self.pieces.measure(self.pieces.centres[here[:, 0]]), there, axis=1
        )

    @cached_property
    def _line_table(self) -> FloatArray:
        return self.pieces.measure(self.pieces.centres)


@cache
def _cut_normals() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return normal distributions that are cut at some standard deviations from their mean: for
    each cut, how far the mean of what remains is from the mean before, and the ratio of its
    standard deviation to its distance from the cut, which falls as the cut moves away.

    Clusters whose cut would be nearer than one standard deviation are not taken for still wider
    ones: 16 % of their rows are beyond that cut.
    """
    cuts = np.linspace(1.0, 10.0, 901)
    pulls = np.exp(norm.logpdf(cuts) - norm.logcdf(cuts))
    return cuts, pulls, np.sqrt(1 - cuts * pulls - pulls**2) / (cuts + pulls)


def _measure_variances(points: Any, pieces: Pieces) -> FloatArray:
    """Return the variance of the landmarks of each piece in the direction of each other piece."""
    n_pieces = len(pieces.cluster)
    sizes = pieces.sizes[:, None]
    own = _own_squares(points, pieces)
    typical = own.mean() / points.shape[1]
    if n_pieces > DEGREE.directed:
        along = _mean_by(own[:, None], pieces.of_point, n_pieces) / points.shape[1]
    else:
        squares = pieces.measure(points)
        lengths = pieces.measure(pieces.centres)
        # twice the length of the line times the place on it, less a constant
        difference = own[:, None] - squares
        mean = _mean_by(difference, pieces.of_point, n_pieces)
        difference -= mean[pieces.of_point]
        with np.errstate(divide="ignore", invalid="ignore"):
            # divided before they are squared: fourth powers of large values would overflow
            difference /= 2 * np.sqrt(lengths)[pieces.of_point]
            along = _mean_by(difference**2, pieces.of_point, n_pieces)
        along[~(lengths > 0)] = 0.0
    return np.asarray((sizes * along + DEGREE.prior_size * typical) / (sizes + DEGREE.prior_size))


def _own_squares(points: Any, pieces: Pieces) -> FloatArray:
    """Return the squared distance of each landmark to the centre of its piece."""
    own = np.empty(len(pieces.of_point))
    for block in pieces.blocks(len(own)):
        squares = pieces.measure(points[block])
        own[block] = np.take_along_axis(squares, pieces.of_point[block, None], axis=1)[:, 0]
    return own


def _nearest_pieces(squares: FloatArray, cluster: IntArray) -> IntArray:
    """Return the piece of each cluster whose centre is nearest to each row."""
    n_rows, n_pieces = squares.shape
    starts = np.flatnonzero(np.diff(cluster, prepend=-1))
    if len(starts) == n_pieces:
        return np.broadcast_to(np.arange(n_pieces), (n_rows, n_pieces))
    parts = np.split(squares, starts[1:], axis=1)
    return np.asarray(starts + np.stack([part.argmin(axis=1) for part in parts], axis=1))


def _calibrate(
    membership: Membership, points: Any, clusters: IntArray, masses: FloatArray
) -> float:
    """Return the power of the odds with which some landmarks are rated best, each by the others."""
    chosen = np.arange(0, len(clusters), len(clusters) // DEGREE.calibrated + 1)
    if membership.n_clusters == 1 or len(clusters) < 3:
        return 1.0
    neighbours = (
        NearestNeighbors(n_neighbors=2)
        .fit(points)
        .kneighbors(points[chosen], return_distance=False)
    )
    other = np.where(neighbours[:, 0] == chosen, neighbours[:, 1], neighbours[:, 0])
    log_odds = membership.find_log_odds(points[chosen], clusters[other])
    weights = (masses / np.bincount(clusters))[clusters[chosen]]
    powers = np.geomspace(DEGREE.smallest_power, 1, DEGREE.powers)
    losses = [_loss(power * log_odds, clusters[chosen], weights) for power in powers]
    return float(powers[int(np.argmin(losses))])


def _loss(log_odds: FloatArray, clusters: IntArray, weights: FloatArray) -> float:
    """Return the mean of the negative logarithms of the degrees in the own cluster."""
    degrees = _normalize(log_odds)[np.arange(len(clusters)), clusters]
    return float(np.average(-np.log(np.maximum(degrees, 1e-300)), weights=weights))


def _normalize(log_odds: FloatArray) -> FloatArray:
    """Return odds as shares; the largest logarithm in a row is 0."""
    odds = np.exp(log_odds)
    shares: FloatArray = odds / odds.sum(axis=1, keepdims=True)
    return shares


def _thin(degrees: FloatArray) -> Any:
    """Return degrees as a CSR matrix without the smallest ones; rows still sum to one."""
    kept = np.where(degrees < DEGREE.smallest, 0.0, degrees)
    return sparse.csr_array(kept / kept.sum(axis=1, keepdims=True))
