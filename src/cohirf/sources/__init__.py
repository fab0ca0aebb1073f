"""Sources of rows: one adapter per kind of storage, all with the same small interface."""

from cohirf.sources.arrays import ArraySource
from cohirf.sources.files import SourceChangedError
from cohirf.sources.open_source import open_source
from cohirf.sources.scaled import ScaledSource
from cohirf.sources.source import Source

__all__ = ["ArraySource", "ScaledSource", "Source", "SourceChangedError", "open_source"]
