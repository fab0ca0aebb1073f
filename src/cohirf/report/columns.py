"""The columns of the data that a page shows, each with its distribution."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from cohirf.report.distributions import Distribution, find_distribution, group_features, round_number
from cohirf.report.sample import Sample


class Columns:
    """The columns of a sample; those that a page refers to have a place, in the order in which they were needed."""

    def __init__(self, sample: Sample) -> None:
        self._table, self._weights = sample.table, sample.weights
        self._groups = group_features(sample.table.features)
        self._places: dict[str, int] = {}
        self.used: list[Distribution] = []

    @cached_property
    def names(self) -> list[str]:
        """The names of all columns."""
        return list(self._groups)

    def name_of(self, feature: int) -> str:
        """Return the name of the column that a feature of the table belongs to."""
        return self._table.features[feature].name

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
