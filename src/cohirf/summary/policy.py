"""What a model keeps of its rows and its updates."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class KeepPolicy:
    """Rows, groups of them, and numbers of clusters."""

    # rows of a cluster; with fewer, a model that was not fitted finds its clusters anew in each
    # update
    sure_per_cluster: int = 50
    # A method that finds the number of clusters itself depends on the density of rows. So all rows
    # are kept, and an update is a fit to all of them: of more rows than these, it would take too
    # long.
    rows: int = 2**18
    # that clusters may have had: labels are integers of 32 bits, and an update adds at most as many
    # as it has rows
    numbers: int = 2**30
    # of a row of weight 0 in the upper levels, as a share of the smallest weight
    no_weight: float = 1e-9
    # rows that are looked up at a time: measured, 2**20 took as long, and 52 to 84 MB instead of 7
    block_rows: int = 2**17


@dataclass(frozen=True)
class HistoryPolicy:
    """What a model keeps of its updates."""

    steps: int = 200  # older ones leave
    clusters: int = 30  # of a step by number; of the others, only the total is kept


KEEP = KeepPolicy()
HISTORY = HistoryPolicy()
