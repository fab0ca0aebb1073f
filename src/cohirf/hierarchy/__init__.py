"""The Cluster Fusion Hierarchy: which rows fused at which level, and every partition that follows from it."""

from cohirf.hierarchy.fusion_hierarchy import FusionHierarchy

__all__ = ["FusionHierarchy"]
