"""Compact clusters: the two groups merge whose union adds least to the squared distances of rows to
the mean of their cluster (Ward's criterion; not part of the paper).

``link_groups`` in ``merge_tree`` links them; all merges that no criterion decides are made by it.
"""

from __future__ import annotations

from cohirf.beyond.criterion import Criterion, OneLinkage, ToMerge
from cohirf.beyond.merge_tree import link_groups
from cohirf.beyond.policy import MERGE


def merge_rows(rows: ToMerge) -> OneLinkage:
    """Return the merges of rows."""
    return OneLinkage(link_groups(rows.points, rows.mass), rows.mass)


CRITERION = Criterion(
    name="compact",
    kind="compact",
    merge_rows=merge_rows,
    link_groups=link_groups,
    around_means=True,
    place=0,
    head_start=MERGE.lead,
)
