"""The Cluster Fusion Hierarchy: which clusters fused at which level, the partition of each level,
and outlines of its top.
"""

from cohirf.algorithm.parents import find_roots, find_roots_of
from cohirf.hierarchy.export import to_frame
from cohirf.hierarchy.fusion_hierarchy import FusionHierarchy
from cohirf.hierarchy.outline import (
    STROKES,
    Node,
    Outline,
    final_labels,
    find_siblings,
    has_merges,
    make_outline,
    with_tree,
    write_branches,
)

__all__ = [
    "STROKES",
    "FusionHierarchy",
    "Node",
    "Outline",
    "final_labels",
    "find_roots",
    "find_roots_of",
    "find_siblings",
    "has_merges",
    "make_outline",
    "to_frame",
    "with_tree",
    "write_branches",
]
