"""The thresholds of degrees of membership, outlier scores and drift, with their units."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DegreePolicy:
    """How much rows belong to clusters. Table of the result: ``membership.csv``."""

    divided: int = 256  # pieces beyond one for each cluster, at most
    centre_values: int = 2**24  # of all centres beyond those of one piece for each cluster
    # a piece is divided if the nearest centre is wrong for more than this share of its landmarks
    wrong: float = 0.1
    fewest_divided: int = 20  # landmarks; the spread of smaller pieces is not known well enough
    rounds: int = 10  # each can double the number of pieces
    directed: int = 2000  # pieces; with more, a piece has the same variance in all directions
    # landmarks: the variance of a piece is averaged with that of all pieces, which counts as these
    prior_size: float = 2.0
    # variance of a piece along a line, relative to the squared length of the line
    smallest_variance: float = 1e-12
    largest_odds: float = 1 - 1e-6  # of other clusters: the predicted one has the highest degree
    # landmarks on which degrees are calibrated, and powers of the odds that are tried
    calibrated: int = 2000
    smallest_power: float = 0.02
    powers: int = 30
    # sparse results: with more clusters, and their smallest degree
    dense_clusters: int = 100
    smallest: float = 1e-4
    # distances that are in memory at a time; several arrays of this size are
    block_values: int = 2**19


@dataclass(frozen=True)
class OutlierPolicy:
    """How far rows are from all clusters. Tables: ``outliers.csv``, ``outliers_held_out.csv``."""

    landmarks: int = 2000  # rows are compared with more only around them
    tree_features: int = 3  # measured: with at most three, a tree of all landmarks is faster
    block_values: int = 2**22  # of rows, and of their distances to neighbours
    # of the length of a row: products of rows do not tell shorter distances from zero
    very_close: float = 1e-5


@dataclass(frozen=True)
class DriftPolicy:
    """Which changes matter. No table compares values; ``updating/thirty_days.txt`` has alarms."""

    outside: float = 0.99  # quantile of the rows of the model, above whose score a row is outside
    smallest_outside: float = 0.03  # share of rows outside that matters
    change: float = 0.02  # of the share of a cluster, in all rows
    relative_change: float = 1 / 3  # of the share of a cluster, relative to the larger one
    certainty: float = 4.0  # standard errors by which shares differ
    edges: int = 64  # values at which distributions are compared
    statistic: float = 0.1  # difference of two distributions that matters
    risk: float = 1e-3  # of a false alarm, for all features together
    periods: int = 7  # updates that are the recent past: a week of daily ones
    # landmarks of a cluster in a period; with fewer, its landmarks of all periods stand for it
    landmarks: int = 30
    block_cells: int = 2**22  # of new rows that are read at a time


DEGREE = DegreePolicy()
OUTLIER = OutlierPolicy()
DRIFT = DriftPolicy()
