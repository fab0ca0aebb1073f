"""The thresholds of a fit, with their units and tables, which are in ``docs/results``."""

from __future__ import annotations

from dataclasses import dataclass

from cohirf.beyond.merge_tree import MAX_LINKED
from cohirf.rows.short_points import FEW_POINTS


@dataclass(frozen=True)
class GroupPolicy:
    """How many groups the levels leave, above which the tree is made. Table: ``ablation.csv``."""

    # clusters that K-Means seeks for each that is wanted; other methods in several batches, too
    finer: int = 4
    finer_in_one_view: int = 8  # without a consensus of several views, groups are coarser
    # With many clusters, K-Means seeks fewer of them for each: two, from 400 clusters on.
    # They are small then.
    many_inner: int = 400
    # what the method seeks if the number of clusters is chosen after the levels
    unknown: int = 60
    # groups in the tree of one batch for each cluster that is wanted; the others join these
    linked_per_cluster: int = 20
    # of more groups, another level is contracted; of fewer, light ones join heavy ones
    most: int = 4 * MAX_LINKED
    # With few batches, the finer groups of the strict consensus gave better clusters. With many,
    # they are contracted too slowly, and were no better.
    few_batches: int = 50
    majority: float = 0.5  # share of the views that must agree
    # Kernels compare pairs of rows, so of a larger cluster a random sample is compared: 1,000 rows
    # take 8 MB, all rows of a large batch would take more than there is.
    candidates: int = 1000


@dataclass(frozen=True)
class EndPolicy:
    """How a fit ends: groups of points, centres that move, means and exemplars."""

    far: float = 3.0  # times the largest distance between a group and the next one
    # rows by which the centres of clusters are moved
    moved_rows: int = 10_000
    moved_per_cluster: int = 200
    # Within limits of sizes: iterations by which centres move, unless costs fall by less than a
    # share of the variance of all rows; and how often centres begin anew on a sample, if that takes
    # at most the last number of distances. Measured: ``docs/choose/limits.rst``.
    limited_iterations: int = 30
    limited_tolerance: float = 1e-5
    limited_starts: int = 8
    limited_values: int = 2**18
    # of a larger sample, on which centres move first, and the tolerance of larger samples
    limited_part: float = 0.25
    limited_rows_per_cluster: int = 10  # with fewer in that part, centres would lose their rows
    limited_rough: float = 1e-4
    # The heaviest leaves of a cluster, to which rows with links are near or far. No table: a fit
    # around K-Means has about as many.
    linked_leaves: int = 100
    # of means, relative to the largest: sums of identical rows differ in the last digits
    mean_digits: int = 12


@dataclass(frozen=True)
class QuickPolicy:
    """K-Means on a sample. The sizes decide how coarse groups are, and have no table; iterations
    have ``quick_iterations.csv``, of dense rows.
    """

    rows_per_cluster: int = 100  # of the sample
    seed_rows_per_cluster: int = 10  # among which first centres are drawn
    iterations: int = 10
    # With more centres, these took a third of the time of a fit. Two changed the mean adjusted Rand
    # index by -.000 on the sets they were chosen on, and by -.001 (+- .002) on those kept unseen;
    # a single one lost .008 there.
    few_centres: int = FEW_POINTS
    iterations_of_many: int = 2
    # Of K-Means that is given, in several batches. Compact clusters of 5 real sets and 28 random
    # mixtures, in batches of 1,500 to 2,500 rows: the mean adjusted Rand index was .743 with ten
    # iterations and first centres drawn among all rows, and is .743 (+.000 +- .003) with these.
    iterations_in_batches: int = 3
    permuted_rows: int = 1_000_000  # of more, a sample is drawn without a permutation of all

    @property
    def of_several_batches(self) -> dict[str, int]:
        """Limits of the parameters of K-Means that is given."""
        return {"max_iter": self.iterations_in_batches, "seed_rows": self.seed_rows_per_cluster}


@dataclass(frozen=True)
class LocalPolicy:
    """Local batches of density methods. Measured: ``benchmarks/notes/density.rst``."""

    # A spanning tree takes about 300 bytes per row, and the larger a batch, the fewer edges of the
    # tree of all rows leave it. So its batches have at least this many rows. With many features,
    # the time for a row grows with the batch, and neighbours that batches miss are found
    # afterwards: batches are this many times smaller.
    spanned_rows: int = 2**17
    smaller_listed: int = 16
    spanned_bytes: int = 350  # of a row of a batch, beside its values and its neighbours
    # Bytes kept for each row of the data, where edges and lists of neighbours are in files, and
    # where in memory. Only the first was measured; the others are estimates.
    spanned_kept: tuple[int, int] = (36, 120)
    listed_kept: tuple[int, int] = (240, 640)
    # Rows of a halo that does not follow from a radius, in multiples of the rows of its cell. With
    # 1, each row is clustered about twice; wider halos cost as much more. Spanning trees need less:
    # edges that no batch has are found afterwards.
    overlap: float = 1.0
    spanned_overlap: float = 0.5
    # Kernels of DBSCAN take about 150 bytes per row, and no longer for each row of a larger batch.
    # So its batches have at least this many rows.
    density_rows: int = 2**17
    density_bytes: int = 150
    kernel_bytes: int = 160_000_000  # measured, while kernels are compiled
    # sparse rows with more features are not made dense for spanning trees
    sparse_features: int = 256
    # the nodes of the tree of merges are numbered by 32-bit integers
    most_spanned: int = 2**30 - 1


@dataclass(frozen=True)
class WarningPolicy:
    """When a fit warns that it will take long.

    Measured: scikit-learn takes about so long for each neighbour that DBSCAN lists, and longer with
    OPTICS. Halos and batches that grow change it: it decides whether to warn, and is no forecast (a
    fit of 30 s by this rule took 21 s, and one of 113 s had done two of three batches after 133 s).
    """

    rows: int = 20_000  # fewer are not looked at
    sampled_rows: int = 1000
    neighbours: int = 1000  # of a row, on average
    seconds_per_neighbour: float = 1e-7
    # of HDBSCAN, from 100 neighbours of each row on; measured, for each row and neighbour, on
    # one core
    samples: int = 100
    seconds_per_sample: float = 2e-7
    seconds: float = 60.0


GROUP = GroupPolicy()
END = EndPolicy()
QUICK = QuickPolicy()
LOCAL = LocalPolicy()
WARNING = WarningPolicy()
