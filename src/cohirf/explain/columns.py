"""The columns of the data that a page shows, each with its distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cohirf.explain.study import Sample
from cohirf.explain.table import Feature, Table, as_dense
from cohirf.rows.grouping import FloatArray, IntArray

N_BINS = 24
TAIL = 0.005  # share of the rows at each end that are counted in the outermost bins


@dataclass(frozen=True)
class Distribution:
    """A column of a table: which bin or level each row of a sample has."""

    name: str  # name of the column
    kind: str  # "number", "date" or "category"
    features: list[int]  # its features in the table: one, or one for each level
    code: IntArray  # bin or level of each row; -1 for levels that the table does not have
    weights: FloatArray  # how many rows of the data each row stands for
    edges: FloatArray | None = None  # the limits of the bins, one more than there are bins
    ends: tuple[float, float] | None = None  # the lowest and the highest number of the bins
    levels: list[str] | None = None  # the levels of a category

    @property
    def n_codes(self) -> int:
        """Number of bins or levels."""
        return len(self.features) if self.edges is None else len(self.edges) - 1

    def count(self, rows: Any = slice(None)) -> list[int]:
        """Return the number of rows of the data in each bin or level: those that all rows, or some, stand for."""
        counts = np.bincount(self.code[rows] + 1, weights=self.weights[rows], minlength=self.n_codes + 1)[1:]
        rounded: list[int] = np.rint(counts).astype(np.int64).tolist()
        return rounded

    def describe(self) -> dict[str, Any]:
        """Return what a page needs to draw it."""
        ends = None if self.ends is None else [round_number(end) for end in self.ends]
        return {"name": self.name, "kind": self.kind, "levels": self.levels, "ends": ends, "counts": self.count()}


def group_features(features: list[Feature]) -> dict[str, list[int]]:
    """Return the features of each column of a table, by the name of the column."""
    groups: dict[str, list[int]] = {}
    for place, feature in enumerate(features):
        groups.setdefault(feature.name, []).append(place)
    return groups


def find_distribution(table: Table, weights: FloatArray, name: str, features: list[int]) -> Distribution:
    """Return the distribution of a column, whose features are given."""
    values = as_dense(table.values[:, features])
    if table.features[features[0]].kind == "level":
        has_level = values > 0.5
        code = np.where(has_level.any(axis=1), has_level.argmax(axis=1), -1)
        levels = [table.features[feature].level for feature in features]
        return Distribution(name, "category", features, code, weights, levels=levels)
    numbers = values[:, 0]
    edges = find_edges(numbers)
    code = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(edges) - 2)
    kind = "date" if table.features[features[0]].kind == "date" else "number"
    within = numbers[(numbers >= edges[0]) & (numbers <= edges[-1])]
    ends = (float(within.min()), float(within.max())) if len(within) else (float(edges[0]), float(edges[-1]))
    return Distribution(name, kind, features, code, weights, edges, ends)


def find_edges(numbers: FloatArray) -> FloatArray:
    """Return the limits of bins of equal width; each has as many steps of a grid, if all numbers are on one."""
    low, high = np.quantile(numbers, [TAIL, 1 - TAIL], method="nearest") if len(numbers) else (0.0, 0.0)
    if not high > low:
        return np.array([low - 0.5, low + 0.5])
    grids = ((step, numbers / step) for step in (1.0, 0.5, 0.1))
    is_on = (step for step, steps in grids if np.allclose(steps, np.rint(steps), rtol=0, atol=1e-6))
    step = next(is_on, None)
    if step is None:
        return np.linspace(low, high, N_BINS + 1)
    n_steps = round((high - low) / step) + 1
    per_bin = -(-n_steps // N_BINS)
    n_bins = -(-n_steps // per_bin)
    edges: FloatArray = low + step * (per_bin * np.arange(n_bins + 1) - 0.5)
    return edges


def round_number(value: float) -> float | int:
    """Return a number with six significant digits, as an int if it is whole."""
    nearest = round(value)
    is_whole = abs(value) < 2**53 and abs(value - nearest) <= 1e-9 * max(1, abs(value))
    return nearest if is_whole else float(f"{value:.6g}")


class Columns:
    """The columns of a sample; those that a page refers to have a place, in the order in which they were needed."""

    def __init__(self, sample: Sample) -> None:
        self._table, self._weights = sample.table, sample.weights
        self._groups = group_features(sample.table.features)
        self.names = list(self._groups)
        self._places: dict[str, int] = {}
        self.used: list[Distribution] = []

    def place(self, name: str) -> int:
        """Return the place of a column among those that are used."""
        if name not in self._places:
            self._places[name] = len(self.used)
            self.used.append(find_distribution(self._table, self._weights, name, self._groups[name]))
        return self._places[name]

    def find(self, name: str) -> Distribution:
        """Return the distribution of a column."""
        return self.used[self.place(name)]

    def value(self, name: str, position: int) -> Any:
        """Return the cell of a row of the sample: a number, or the name of a level."""
        found = self.find(name)
        if found.levels is not None:
            code = int(found.code[position])
            return None if code < 0 else found.levels[code]
        return round_number(float(self._table.values[position, found.features[0]]))
