"""Where rows come from: one adapter per kind of storage, all with the same small interface."""

from cohirf.sources.array import ArraySource
from cohirf.sources.open_source import open_source

__all__ = ["ArraySource", "open_source"]
