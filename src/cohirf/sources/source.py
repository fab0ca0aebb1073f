"""STUB until the branch `sources` lands."""

from __future__ import annotations

from abc import ABC


class Source(ABC):
    """Rows in storage."""
