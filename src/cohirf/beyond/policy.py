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
    # A hub is among the neighbours of more than this share of the points, and of so many times the
    # mean. The most popular point of noise with 50 features was among those of 9 % of the points,
    # of texts after a decomposition of 10 %, and the empty text of 99 %. No table.
    hub_share: float = 0.5
    hub_popularity: float = 10.0
    # cost
    few_features: int = 4  # at most; then neighbours are found by a tree
    rows_of_few_features: int = 20_000  # rows of a graph
    # whose neighbours a thread finds at a time: as many as there are without a tree. scikit-learn
    # compares fewer in another order, and then other ones of equally near neighbours come first.
    searched_rows: int = 2**11
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


@dataclass(frozen=True)
class CellPolicy:
    """Cells of neighbouring rows, and the local batches that are made of them. Measured:
    ``benchmarks/notes/density.rst``, as far as they decide on time.
    """

    max_axes: int = 10  # of more features, the principal axes with most variance are split
    axes_rows: int = 2**12  # from which the principal axes are computed
    # with more features, sparse rows are not centred for that, so that they stay sparse
    dense_features: int = 2**10
    # rows of a cell, in multiples of the mean; if no axis divides rows so evenly, chance does
    largest: float = 1.3
    near: float = 2.0  # rows around a cell that its parts look through, in multiples of the halo
    # Rows on which cells are built, and rows of these for each cell; all rows, if the data has
    # fewer.
    sample: int = 2**14
    sampled_per_cell: int = 256
    # Rows that are assigned to cells at a time: the least number, more for each cell, because a
    # block visits all cells, and the largest number.
    assigned_rows: int = 2**18
    assigned_per_cell: int = 2**9
    most_assigned: int = 2**20
    known_bytes: int = 2**28  # blocks of assigned rows are kept in memory up to this size
    largest_batch: float = 1.5  # in units of the batch size
    # With a radius, a batch is this many times as large as a cell, to leave room for the halos. The
    # smallest cells come first, because no others are tried if these have no room; of the others,
    # the largest that have room are taken.
    smaller: tuple[float, ...] = (4.0, 1.5, 2.0, 3.0)
    # Clusters of two batches are one if they have at least three rows in common, of fewer of
    # which a share says little, and so large a share of the smaller cluster's.
    shared_rows: int = 3
    shared: float = 0.5


@dataclass(frozen=True)
class CompanionPolicy:
    """Rows beside those of a batch, shown to a base method that takes no weights."""

    fewest: int = 300
    per_cluster: int = 10
    # rows that are read once in a fit, to sample from, as a multiple of the rows that the base
    # method sees
    pool: int = 4


@dataclass(frozen=True)
class MajorityPolicy:
    """How many groups a consensus of most views compares, and leaves. They bound time and memory;
    ``benchmarks/quality/rare_groups.py`` shows that small groups stay.
    """

    linked_codes: int = 1024  # at most: their agreement matrix takes 8 MiB
    agreement_cells: int = 2**18  # of that matrix, computed at a time
    # Above the first number of groups, the largest stay, as many as the second, and the others are
    # divided into cells by iterations of K-Means.
    most_left: int = 2**19
    n_kept: int = 2**11
    n_cells: int = 2**10
    n_iterations: int = 3


CELL = CellPolicy()
COMPANION = CompanionPolicy()
MAJORITY = MajorityPolicy()
GRAPH = GraphPolicy()
MERGE = MergePolicy()
NUMBER = NumberPolicy()
