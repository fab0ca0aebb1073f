"""The label of the point that is nearest to a row."""

from cohirf.nearest_label.search import NearestLabel

__all__ = ["NearestLabel"]
