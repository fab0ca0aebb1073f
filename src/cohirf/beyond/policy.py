"""The thresholds by which clusters are merged, compared and counted (not part of the paper).

Each has a unit, and the table that it was chosen on: files of ``docs/results``, and their
benchmarks in ``benchmarks/quality``. Those of cost have no effect on small data; they keep the time
of a graph near a tenth of a second. A threshold that is only used where a user asks for it may have
no table yet: say "not measured" beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

from cohirf.problems import CRUMB


@dataclass(frozen=True)
class GraphPolicy:
    """The neighbour graph of some rows. Table: ``rules.csv``, of ``rules.py``."""

    neighbours: int = 10  # nearest other points of each point
    # its distance is the radius of a point, for mutual reachability; a few rows that are no cluster
    # do not have it among them
    core_neighbour: int = CRUMB
    # cost
    few_features: int = 4  # up to so many, neighbours are found by a tree
    rows_of_few_features: int = 20_000  # rows of a graph
    # rows whose distances to all others are taken: for silhouettes, for the shortest connection of
    # a part of the graph, and for the last merges along it; enough for a sample
    compared_rows: int = 500
    near_parts: int = 50  # parts among which that of each part is sought


@dataclass(frozen=True)
class MergePolicy:
    """Which merge fits a number of clusters. Table: ``rules.csv``, of ``rules.py``."""

    # of modularity, connection, valley and agreement; that of the cut is 1
    weight: float = 0.2
    lead: float = 0.01  # of another merge over compact clusters, which are the simplest
    # shares, of the mass that clusters of equal size have, that a connected part needs: from quite
    # uneven to rather even clusters
    smallest_parts: tuple[float, ...] = (0.25, 0.4, 0.6)
    rows_per_cluster: int = 8  # with fewer, their neighbours tell nothing


@dataclass(frozen=True)
class NumberPolicy:
    """How many clusters. Tables: ``rules_number.csv``, of ``rules.py``, and ``choice.csv``."""

    graph: float = 0.5  # weight of modularity and cut, compared with that of the silhouette
    # Strengths: the adjusted Rand index of halves, less half the cut. Below the first, any number
    # is as good as two; a cloud of points has less than the second; halves agree from the third on.
    by_chance: float = 0.1
    weak: float = 0.5
    same: float = 0.85  # adjusted Rand index from which on a half has the clusters of all rows
    # Halves have the same clusters if they differ in less than this part of one cluster: the
    # strength is 1 less this part, divided by the number of clusters, or more.
    same_part: float = 0.2
    splits: int = 3  # into halves
    aside: float = 0.1  # share of the mass that may be in parts too small to be clusters
    # cost
    # Tried first; twice as many while the best is in the upper half. Larger numbers are as far
    # apart as the last two of these, in proportion, until those beside the best.
    first_numbers: int = 20


GRAPH = GraphPolicy()
MERGE = MergePolicy()
NUMBER = NumberPolicy()
