"""How many rows are computed with at a time, and which digits count."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BlockPolicy:
    """Sizes of blocks: they decide on time and memory, and on results by rounding only."""

    cached_cells: int = 2**17  # of a block of rows that fits the cache
    # rows of a block that a thread takes: so few that 16 threads end at about the same time. A
    # multiple of 256, the rows that scikit-learn's K-Means compares at a time.
    thread_rows: int = 2**15
    # the same for K-Means, which sets the limits of threads for each block, one after the other
    predicted_rows: int = 2**17
    # the same for rows that are compared with many centres, of a sample, too
    compared_rows: int = 2**13
    most_sums: int = 64  # blocks with sums of their own
    # sums are in memory until all are added if blocks have four times the rows they need
    small_sums: int = 4
    exemplar_cells: int = 2**19  # of rows that are compared with the means of their clusters
    paired_cells: int = 2**20  # of squared distances whose least is sought, at a time
    # Bounds leave few of these sparse rows, but at least one of each cluster in each block, so
    # blocks are large: with 100 rows, exemplars took two thirds of a fit of 200,000 rows.
    bounded_rows: int = 2**14
    product_cells: int = 2**20  # of products of sparse rows with points
    # Up to so many cells, an array has all features of sparse points; beyond, only those that more
    # than a share of the points have. In products of 13,000 questions with 1,400 and 2,000 points,
    # shares from 1/16 to 1/64 took the same time, and the whole array nearly twice as long.
    column_cells: int = 2**19
    # the same for centres of K-Means, with which all rows are compared: of 308 centres, products
    # with the array of all features took no longer
    centre_cells: int = 2**23
    frequent: float = 1 / 16
    device_cells: int = 2**26  # of a block of rows on a device
    device_distances: int = 2**27  # or values of rows in float64, that are in memory at once
    # of torch: the extremes of these rows exclude nearly all later ones
    first_reduced: int = 2**17
    pinned_bytes: int = 2**22  # of pinned memory, for copies from a CUDA device
    fixed_point_cells: int = 2**26  # values that are turned into integers at a time
    silhouette_columns: int = 512  # of the distance matrix that are summed at a time
    drawn_alone: int = 256  # rows that k-means++ draws one after the other, but on a device
    drawn_per_new: int = 16  # afterwards: rows drawn before for each that is drawn at once
    # rows whose weights are compared when rows are drawn by weight; of more, a random sample
    weighed_rows: int = 2**20
    fewest_by_weight: int = 30  # so few rows are all drawn, whatever their weights are

    @staticmethod
    def chance_unit(n_rows: int) -> float:
        """Return the integer that stands for the largest chance: sums stay below 2**62."""
        return 2.0 ** (62 - n_rows.bit_length())


@dataclass(frozen=True)
class DigitPolicy:
    """When values are shifted or added up in another way, so that no digits are lost."""

    # Floats are added up as integers where the order of additions is open. Their sums stay below
    # this power of two.
    fixed_point_bits: int = 62
    # A column is shifted if the square of its mean, over its variance, is larger than this. Less
    # than one cell in 100 of such a column is 0, so that a CSR matrix does not grow. Other columns
    # lose two digits at most.
    far_from_zero: float = 100.0
    # If the squared norm of a CSR cluster's mean, over the mean squared distance to it, is larger
    # than this, the cluster is shifted to the origin: the expanded square would lose digits. The
    # shift keeps the rows sparse, because such a tight cluster has its large values in the same
    # columns.
    tight: float = 1e4
    # CSR rows that are compared as an array, which keeps the digits of values with an offset
    dense_candidates: int = 16
    # of angles: a right angle in single precision is larger than a quarter of the circle
    angle: float = 1e-6


BLOCK = BlockPolicy()
DIGIT = DigitPolicy()
