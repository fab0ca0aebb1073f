"""What is done to data before the fit, learned from it once and applied to all data of the model."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from cohirf.cli.categories import Categories
from cohirf.cli.columns import Column
from cohirf.cli.errors import BadInputError
from cohirf.cli.statistics import Statistics, measure
from cohirf.sources import ScaledSource, Source

FORMAT_VERSION = 1
SCALES = ("standard", "minmax", "none")
IMPUTES = ("median", "mean")

Vector = tuple[float, ...]


@dataclass(frozen=True)
class Preparation:
    """How the rows of a file become rows for a model.

    Attributes
    ----------
    columns : tuple
        The features as the file has them: names, or numbers where there are none.
    label_column, id_column : column or None
        What was kept apart.
    categories : dict of Categories
        The categories of columns of text.
    fill, offset, scale : tuple of float or None
        Of each feature, after the coding of text: what stands for missing cells, what is subtracted, and what the
        rest is divided by.
    scaling : str
        The name of the scaling.
    """

    columns: tuple[Column, ...]
    label_column: Column | None = None
    id_column: Column | None = None
    categories: dict[str, Categories] = field(default_factory=dict)
    fill: Vector | None = None
    offset: Vector | None = None
    scale: Vector | None = None
    scaling: str = "none"

    def apply(self, source: Source) -> Source:
        """Return a source whose rows are filled and scaled as they are read."""
        if self.fill is None and self.scale is None:
            return source
        return ScaledSource(source, fill=self.fill, offset=self.offset, scale=self.scale)

    def to_json(self) -> dict[str, Any]:
        """Return what JSON can hold, for :meth:`from_json`."""
        return {"version": FORMAT_VERSION, **asdict(self)}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Preparation:
        """Return the preparation that ``to_json`` described; whoever wrote it is not believed."""
        content = dict(content)
        if content.pop("version", None) != FORMAT_VERSION:
            raise ValueError("it is of another version: use the release of cohirf that wrote it")
        if content.keys() != set(cls.__dataclass_fields__):
            raise ValueError("it has other keys than a preparation")
        columns = tuple(_check_column(column) for column in _check_list(content["columns"]))
        label, row_id = (content[name] for name in ("label_column", "id_column"))
        categories = {str(name): _read_categories(found) for name, found in dict(content["categories"]).items()}
        fill, offset, scale = (_read_vector(content[name]) for name in ("fill", "offset", "scale"))
        if content["scaling"] not in SCALES or not columns:
            raise ValueError("its scaling or its columns are not those of a preparation")
        return cls(
            columns,
            None if label is None else _check_column(label),
            None if row_id is None else _check_column(row_id),
            categories,
            fill,
            offset,
            scale,
            content["scaling"],
        )


def learn(prepared: Preparation, source: Source, *, impute: str | None, scaling: str) -> Preparation:
    """Add what is learned from the data: how missing cells are filled, and how features are scaled."""
    if impute is None and scaling == "none":
        return prepared
    statistics = measure(source, with_median=impute == "median")
    _refuse_unusable(source, statistics)
    fill = None
    if impute is not None:
        fill = statistics.median if impute == "median" else statistics.mean
    offset = {"standard": statistics.mean, "minmax": statistics.low}.get(scaling)
    scale = {"standard": statistics.std, "minmax": statistics.high - statistics.low}.get(scaling)
    return replace(
        prepared,
        fill=None if fill is None else tuple(fill.tolist()),
        offset=None if offset is None else tuple(offset.tolist()),
        scale=None if scale is None else tuple(np.where(scale == 0, 1.0, scale).tolist()),  # constants become 0
        scaling=scaling,
    )


def _refuse_unusable(source: Source, statistics: Statistics) -> None:
    for number in range(source.n_features):
        name = source.feature_names[number] if source.feature_names else number
        if statistics.n_present[number] == 0:
            raise BadInputError(f"{source.name}: column {name!r} has no values: leave it out with --drop {name!r}.")
        if not np.isfinite([statistics.low[number], statistics.high[number]]).all():
            raise BadInputError(
                f"{source.name}: column {name!r} holds infinite values: replace them, or leave the column out with "
                f"--drop {name!r}."
            )
        if not np.isfinite([statistics.mean[number], statistics.std[number]]).all():
            largest = max(abs(statistics.low[number]), abs(statistics.high[number]))
            raise BadInputError(
                f"{source.name}: column {name!r} holds values up to {largest:.3g}, whose squares overflow: divide them "
                f"by a constant, or leave the column out with --drop {name!r}."
            )


def _check_list(content: Any) -> list[Any]:
    if not isinstance(content, list | tuple):
        raise TypeError("it has something else where a list should be")
    return list(content)


def _check_column(column: Any) -> Column:
    if isinstance(column, bool) or not isinstance(column, str | int):
        raise TypeError("it names a column by something else than text or a number")
    return column


def _read_categories(content: Any) -> Categories:
    values, missing = tuple(map(str, _check_list(content["values"]))), content["missing"]
    if missing is not None and missing not in values:
        raise ValueError("it fills missing cells with an unknown category")
    return Categories(values, missing)


def _read_vector(content: Any) -> Vector | None:
    if content is None:
        return None
    vector = tuple(float(value) for value in _check_list(content))
    if not np.isfinite(vector).all():
        raise ValueError("it has values that are not finite")
    return vector
