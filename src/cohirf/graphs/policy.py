"""The thresholds of graphs, with their units and tables."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EdgePolicy:
    """How edges are read, kept and merged. No table compares these, which bound work."""

    # Similarities in float32: weaker edges are raised to the first, as none may be 0. If the
    # largest is outside both, similarities are divided by it.
    least_weight: float = 1e-30
    largest_weight: float = 1e30
    nearest: int = 10  # nodes of a square array that are the neighbours of a node
    compiled: int = 2**20  # edges from which on entries are found by a compiled loop, with numba
    block: int = 2**20  # edges that are sorted at a time
    # edges up to which those of equal weight are chosen and ordered as scikit-learn does
    replayed: int = 2**20
    groups: int = 16_000  # that have a tree
    # if fewer than one of 32 groups has a partner, groups merge with the nearest that is left
    few_pairs: int = 32


@dataclass(frozen=True)
class NumberPolicy:
    """How many clusters a graph has. Table of the first: ``graphs.csv``, of
    ``benchmarks/quality/graphs.py``. No table compares the others, which bound the work.
    """

    cut: float = 3.0  # weight of the normalised cut; those of modularity and agreement are 1
    splits: int = 4  # of the edges into halves, at least
    most_splits: int = 16
    clear: float = 2.0  # standard errors by which the best number leads, or there are more splits
    most: int = 60  # the largest number of clusters that is tried
    nodes_per_number: int = 8  # no more numbers than one for eight groups
    finer: int = 4  # times as many clusters in the finest cut, of which small ones do not count


EDGE = EdgePolicy()
NUMBER = NumberPolicy()
