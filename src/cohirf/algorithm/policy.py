"""What the paper leaves open in its steps: sizes of tasks and samples, none of which has a table.

Those of cost change no label.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StepPolicy:
    """Sizes of tasks and samples."""

    compared_pairs: int = 50  # of views, from which their agreement is estimated
    # rows that are looked at first, for each cluster, to see whether there are more distinct rows
    # than clusters
    probed_per_cluster: int = 4
    # rows for each cluster that a method needs to find a finer number of clusters than asked for
    rows_per_inner_cluster: int = 3
    # cost
    # a longer run would lose more work when a fit is killed; of many rows, runs are longer
    run_rows: int = 2**15
    runs: int = 128  # with fewer, some of sixteen cores would wait for the last ones
    # with more, the process that hands them out would take longer than those that contract them
    most_runs: int = 1000
    codes_here: int = 2**16  # of rows on a device: more different codes than this stay there
    # entries of vectors that may stay in memory if the vectors are stored on disk
    entries_in_memory: int = 2**22


STEP = StepPolicy()
