"""The thresholds of HDBSCAN in batches. Measured: ``benchmarks/notes/density.rst``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ListPolicy:
    """Lists of neighbours, where batches miss some of them."""

    # neighbours of a row: 24 find at least 93 % of the others, 16 find 88 %; not more, because a
    # row looks at the square of this number of rows
    listed: int = 24
    longest: int = 64
    within_batch: int = 16  # longer lists cost more than the walks through the tree that they save
    rows_in_step: int = 2**10  # whose neighbours are looked for before signals are seen
    # rounds end when fewer than this share of the rows have found a neighbour
    rounds: int = 8
    found: float = 0.01
    # rows that are compared with all others, to know how many neighbours are missing
    checked_rows: int = 200
    # rows with the right core distance: with as many, at least 98 % of the labels were the same
    enough_right: float = 0.9
    # memory: rows of a block, rows that the checked ones are compared with at a time, and
    # neighbours of all rows together, which would take more than the spanning tree
    block_rows: int = 2**14
    checked_at_a_time: int = 2**12
    neighbours: int = 2**22


@dataclass(frozen=True)
class TreePolicy:
    """Spanning trees: those of batches, and the one that joins them."""

    leaf_rows: int = 48  # of a tree of boxes
    # Of one batch, that scikit-learn's HDBSCAN is not called on: it takes 3 s for so many of three
    # features, and its time grows with their square. Fewer have its clusters whatever the ties.
    computed_rows: int = 20_000
    # blocks of rows that search for edges at the same time, and the fewest rows of one
    most_blocks: int = 64
    fewest_searched: int = 2**13
    candidates: int = 1_000_000  # rows of all parts together, for edges between parts
    sorted_edges: int = 2**22  # that are sorted at a time, about
    sampled_edges: int = 2**16  # whose weights tell where to divide the others
    # a spanning tree takes at least as long as other methods do with this multiple of its rows
    cost: int = 64
    same_rows: float = 0.98  # share with the same label: others differ by edges of equal weight
    predicted_rows: int = 2**12  # new rows at a time


LISTS = ListPolicy()
TREE = TreePolicy()
