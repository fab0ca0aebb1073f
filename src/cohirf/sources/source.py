"""STUB until the branch `sources` lands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from cohirf.algorithm.grouping import IntArray


class Source(ABC):
    """Rows in storage."""

    n_rows: int
    n_features: int
    feature_names: list[str] | None

    @abstractmethod
    def take(self, rows: IntArray) -> Any:
        """Return the given rows."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Return text that is the same for the same data."""
