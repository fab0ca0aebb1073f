"""What a page shows of rows: columns with their distributions.

Or images, if all values of a row are pixels.
"""

from __future__ import annotations

import base64
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.app.explain.effects import Trait
from cohirf.app.explain.policy import PAGE
from cohirf.app.explain.study import Sample
from cohirf.app.explain.table import Feature, Table, as_dense, take_rows
from cohirf.optional import import_optional
from cohirf.rows import FloatArray, IntArray


@dataclass(frozen=True)
class Distribution:
    """A column of a table: which bin or level each row of a sample has."""

    name: str  # name of the column
    kind: str  # "number", "date" or "category"
    features: list[int]  # its features in the table: one, or one for each level
    # bin or level of each row; -1 for missing cells, and for levels that the table does not have
    code: IntArray
    weights: FloatArray  # how many rows of the data each row stands for
    edges: FloatArray | None = None  # the limits of the bins, one more than there are bins
    ends: tuple[float, float] | None = None  # the lowest and the highest number of the bins
    levels: list[str] | None = None  # the levels of a category

    @property
    def n_codes(self) -> int:
        """Number of bins or levels."""
        return len(self.features) if self.edges is None else len(self.edges) - 1

    def count(self, rows: Any = slice(None)) -> list[int]:
        """Return the number of rows of the data in each bin or level: those that all rows, or some,
        stand for.
        """
        counts = np.bincount(
            self.code[rows] + 1, weights=self.weights[rows], minlength=self.n_codes + 1
        )[1:]
        rounded: list[int] = np.rint(counts).astype(np.int64).tolist()
        return rounded

    def describe(self) -> dict[str, Any]:
        """Return what a page needs to draw it."""
        if self.ends is None:
            ends = None
        else:
            ends = [round_number(end) for end in self.ends]
        return {
            "name": self.name,
            "kind": self.kind,
            "levels": self.levels,
            "ends": ends,
            "counts": self.count(),
        }


def group_features(features: list[Feature]) -> dict[str, list[int]]:
    """Return the features of each column of a table, by the name of the column."""
    groups: dict[str, list[int]] = {}
    for place, feature in enumerate(features):
        groups.setdefault(feature.name, []).append(place)
    return groups


def find_distribution(table: Table, name: str, features: list[int]) -> Distribution:
    """Return the distribution of a column, whose features are given."""
    values = as_dense(table.values[:, features])
    is_known = np.ones(len(values), dtype=bool)
    if table.known is not None:
        is_known = table.known[:, features[0]]
    weights = np.ones(len(values)) if table.weights is None else table.weights
    if table.features[features[0]].kind == "level":
        has_level = values > 0.5
        code = np.where(has_level.any(axis=1) & is_known, has_level.argmax(axis=1), -1)
        levels = [table.features[feature].level for feature in features]
        return Distribution(name, "category", features, code, weights, levels=levels)
    numbers = values[:, 0]
    edges = find_edges(numbers[is_known])
    code = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(edges) - 2)
    code = np.where(is_known, code, -1)
    kind = "date" if table.features[features[0]].kind == "date" else "number"
    within = numbers[is_known & (numbers >= edges[0]) & (numbers <= edges[-1])]
    if len(within):
        ends = (float(within.min()), float(within.max()))
    else:
        ends = (float(edges[0]), float(edges[-1]))
    return Distribution(name, kind, features, code, weights, edges, ends)


def find_edges(numbers: FloatArray) -> FloatArray:
    """Return the limits of bins of equal width.

    Each has as many steps of a grid, if all numbers are on one.
    """
    low, high = (
        np.quantile(numbers, [PAGE.tail, 1 - PAGE.tail], method="nearest")
        if len(numbers)
        else (0.0, 0.0)
    )
    if not high > low:
        return np.array([low - 0.5, low + 0.5])
    grids = ((step, numbers / step) for step in (1.0, 0.5, 0.1))
    is_on = (step for step, steps in grids if np.allclose(steps, np.rint(steps), rtol=0, atol=1e-6))
    step = next(is_on, None)
    if step is None:
        return np.linspace(low, high, PAGE.bins + 1)
    n_steps = round((high - low) / step) + 1
    per_bin = -(-n_steps // PAGE.bins)
    n_bins = -(-n_steps // per_bin)
    edges: FloatArray = low + step * (per_bin * np.arange(n_bins + 1) - 0.5)
    return edges


def round_number(value: float) -> float | int:
    """Return a number with six significant digits, as an int if it is whole."""
    nearest = round(value)
    is_whole = abs(value) < 2**53 and abs(value - nearest) <= 1e-9 * max(1, abs(value))
    return nearest if is_whole else float(f"{value:.6g}")


class Columns:
    """The columns of a sample.

    Those that a page refers to have a place, in the order in which they were needed.
    """

    def __init__(self, table: Table) -> None:
        self._table, self._groups = table, group_features(table.features)
        self.names = list(self._groups)
        self._places: dict[str, int] = {}
        self.used: list[Distribution] = []

    def place(self, name: str) -> int:
        """Return the place of a column among those that are used."""
        if name not in self._places:
            self._places[name] = len(self.used)
            self.used.append(find_distribution(self._table, name, self._groups[name]))
        return self._places[name]

    def find(self, name: str) -> Distribution:
        """Return the distribution of a column."""
        return self.used[self.place(name)]

    def value(self, name: str, position: int) -> Any:
        """Return the cell of a row of the sample: a number, or the name of a level.

        None if it is missing.
        """
        found = self.find(name)
        if found.code[position] < 0:
            return None
        if found.levels is not None:
            return found.levels[int(found.code[position])]
        return round_number(float(self._table.values[position, found.features[0]]))


# -- clusters of images: pictures of rows, and names from where a cluster is dark or light


def make_images(features: NDArray[np.float64], shape: tuple[int, ...]) -> list[str]:
    """Return each row as an image in a data URL.

    All images share one scale; in grey images, large values are dark.
    """
    if len(features) == 0:
        return []
    low = np.nanmin(features)
    high = np.nanmax(features)
    shares = np.nan_to_num((features - low) / max(high - low, np.finfo(np.float64).tiny))
    pixels = np.rint(255 * (1 - shares if len(shape) == 2 else shares)).astype(np.uint8)
    made = map(
        import_optional("PIL.Image", "report", "A report with images").fromarray,
        pixels.reshape(-1, *shape),
    )
    return [_encode_image(image, PAGE.image_side, "PNG", optimize=True) for image in made]


def make_thumbnail(image: Any) -> str:
    """Return a small copy of an image in a data URL: of a path, bytes, or a dict with either.

    Empty if it is broken.
    """
    pillow = import_optional("PIL.Image", "report", "A report with images")
    if isinstance(image, dict):  # as in columns of images of Parquet files
        image = image.get("bytes") or image.get("path")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pillow.DecompressionBombWarning)
            with pillow.open(
                BytesIO(image) if isinstance(image, bytes | bytearray | memoryview) else image
            ) as found:
                return _encode_image(found.convert("RGB"), PAGE.thumbnail_side, "JPEG")
    except Exception:  # whatever a file may hold: it costs a picture, never the page
        return ""


def _encode_image(image: Any, side: int, kind: str, **options: Any) -> str:
    image.thumbnail((side, side))
    file = BytesIO()
    image.save(file, kind, **options)
    return f"data:image/{kind.lower()};base64,{base64.b64encode(file.getvalue()).decode('ascii')}"


def check_image_shape(shape: tuple[int, ...], n_features: int) -> None:
    """Raise unless ``shape`` is that of a grey image or a three-colour image with ``n_features``
    values.
    """
    if (
        len(shape) not in (2, 3)
        or (len(shape) == 3 and shape[2] != 3)
        or np.prod(shape) != n_features
    ):
        raise ValueError(
            f"image_shape={shape} does not fit {n_features} features: pass (height, width) or "
            f"(height, width, 3) whose product is {n_features}."
        )


class Pictures:
    """The rows of a sample as images."""

    def __init__(self, sample: Sample, shape: tuple[int, ...]) -> None:
        self._pixels = as_dense(take_rows(sample.study.original, sample.rows))
        self._rows = sample.rows
        self._shape = shape
        self._mean = np.average(self._pixels, axis=0, weights=sample.weights)
        self._deviation = float(self._pixels.std()) or 1.0

    def find_traits(self, members: Sequence[IntArray]) -> list[list[Trait]]:
        """Return where the rows of each cluster are darker or lighter than all rows, the strongest
        first.
        """
        return [self._compare(self._average(some)) for some in members]

    def add_to(
        self, clusters: list[dict[str, Any]], members: Sequence[IntArray], places: Sequence[int]
    ) -> None:
        """Add pictures of the exemplar and of the average row to some clusters."""
        exemplars = [self._find(clusters[place]["exemplar"]) for place in places]
        averages = [self._average(members[place]) for place in places]
        if places:
            images = make_images(np.vstack([self._pixels[exemplars], *averages]), self._shape)
        else:
            images = []
        for i, place in enumerate(places):
            clusters[place]["image"], clusters[place]["average"] = (
                images[i],
                images[len(places) + i],
            )

    def show(self, rows: Sequence[int]) -> list[str]:
        """Return images of some rows of the sample."""
        return make_images(self._pixels[[self._find(row) for row in rows]], self._shape)

    def _find(self, row: int) -> int:
        return int(np.searchsorted(self._rows, row))

    def _average(self, members: IntArray) -> FloatArray:
        mean: FloatArray = self._pixels[members].mean(axis=0) if len(members) else self._mean
        return mean

    def _compare(self, average: FloatArray) -> list[Trait]:
        difference = (
            ((average - self._mean) / self._deviation).reshape(*self._shape[:2], -1).mean(axis=2)
        )
        in_grey = len(self._shape) == 2  # there, high values are drawn dark
        found = []
        lines = np.array_split(difference, 3, axis=0)
        regions = (region for line in lines for region in np.array_split(line, 3, axis=1))
        names = (
            *("top left", "top", "top right"),
            *("left", "centre", "right"),
            *("bottom left", "bottom", "bottom right"),
        )
        for name, region in zip(names, regions, strict=True):
            strength = float(region.mean()) if region.size else 0.0
            word = "dark" if (strength > 0) == in_grey else "light"
            if abs(strength) >= PAGE.pale:
                found.append(
                    Trait(
                        Feature(f"{word} {name}", "term"),
                        abs(strength),
                        abs(strength),
                        0.0,
                        abs(strength),
                    )
                )
        return sorted(found, key=lambda trait: -trait.strength)
