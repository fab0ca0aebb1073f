"""The Cluster Fusion Hierarchy: which clusters fused at which level, and the partition of each
level.
"""

from cohirf.hierarchy.fusion_hierarchy import FusionHierarchy

__all__ = ["FusionHierarchy"]
