"""Clusters of images: pictures of exemplars, averages and rows, and names from where a cluster is dark or light."""

from __future__ import annotations

import base64
import warnings
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.explain.effects import Trait
from cohirf.explain.study import Sample
from cohirf.explain.table import Feature, as_dense, take_rows
from cohirf.optional import import_optional
from cohirf.rows.grouping import FloatArray, IntArray

MAX_SIDE = 160  # pixels; larger images are scaled down
THUMBNAIL_SIDE = 112  # pixels: about 3 kB, and there are three for each topic
MAX_IMAGES = 600  # clusters with pictures, if there are many cuts
REGIONS = ("top left", "top", "top right", "left", "centre", "right", "bottom left", "bottom", "bottom right")
PALE = 0.15  # standard deviations of all pixels: smaller differences have no words


def make_images(features: NDArray[np.float64], shape: tuple[int, ...]) -> list[str]:
    """Return each row as an image in a data URL. All images share one scale; in grey images, large values are dark."""
    if len(features) == 0:
        return []
    low, high = np.nanmin(features), np.nanmax(features)
    shares = np.nan_to_num((features - low) / max(high - low, np.finfo(np.float64).tiny))
    pixels = np.rint(255 * (1 - shares if len(shape) == 2 else shares)).astype(np.uint8)
    made = map(import_optional("PIL.Image", "report", "A report with images").fromarray, pixels.reshape(-1, *shape))
    return [_encode_image(image, MAX_SIDE, "PNG", optimize=True) for image in made]


def make_thumbnail(image: Any) -> str:
    """Return a small copy of an image in a data URL: of a path, bytes, or a dict with either; empty if it is broken."""
    pillow = import_optional("PIL.Image", "report", "A report with images")
    if isinstance(image, dict):  # as in columns of images of Parquet files
        image = image.get("bytes") or image.get("path")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pillow.DecompressionBombWarning)
            with pillow.open(BytesIO(image) if isinstance(image, bytes | bytearray | memoryview) else image) as found:
                return _encode_image(found.convert("RGB"), THUMBNAIL_SIDE, "JPEG")
    except Exception:  # whatever a file may hold: it costs a picture, never the page
        return ""


def _encode_image(image: Any, side: int, kind: str, **options: Any) -> str:
    image.thumbnail((side, side))
    file = BytesIO()
    image.save(file, kind, **options)
    return f"data:image/{kind.lower()};base64,{base64.b64encode(file.getvalue()).decode('ascii')}"


def check_image_shape(shape: tuple[int, ...], n_features: int) -> None:
    """Raise unless ``shape`` is that of a grey image or a three-colour image with ``n_features`` values."""
    if len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] != 3) or np.prod(shape) != n_features:
        raise ValueError(
            f"image_shape={shape} does not fit {n_features} features: pass (height, width) or (height, width, 3) "
            f"whose product is {n_features}."
        )


class Pictures:
    """The rows of a sample as images."""

    def __init__(self, sample: Sample, shape: tuple[int, ...]) -> None:
        self._pixels = as_dense(take_rows(sample.study.original, sample.rows))
        self._rows, self._shape = sample.rows, shape
        self._mean = np.average(self._pixels, axis=0, weights=sample.weights)
        self._deviation = float(self._pixels.std()) or 1.0

    def find_traits(self, members: Sequence[IntArray]) -> list[list[Trait]]:
        """Return where the rows of each cluster are darker or lighter than all rows, the strongest first."""
        return [self._compare(self._average(some)) for some in members]

    def add_to(self, clusters: list[dict[str, Any]], members: Sequence[IntArray], places: Sequence[int]) -> None:
        """Add pictures of the exemplar and of the average row to some clusters."""
        exemplars = [self._find(clusters[place]["exemplar"]) for place in places]
        averages = [self._average(members[place]) for place in places]
        images = make_images(np.vstack([self._pixels[exemplars], *averages]), self._shape) if places else []
        for i, place in enumerate(places):
            clusters[place]["image"], clusters[place]["average"] = images[i], images[len(places) + i]

    def show(self, rows: Sequence[int]) -> list[str]:
        """Return images of some rows of the sample."""
        return make_images(self._pixels[[self._find(row) for row in rows]], self._shape)

    def _find(self, row: int) -> int:
        return int(np.searchsorted(self._rows, row))

    def _average(self, members: IntArray) -> FloatArray:
        mean: FloatArray = self._pixels[members].mean(axis=0) if len(members) else self._mean
        return mean

    def _compare(self, average: FloatArray) -> list[Trait]:
        difference = ((average - self._mean) / self._deviation).reshape(*self._shape[:2], -1).mean(axis=2)
        in_grey = len(self._shape) == 2  # there, high values are drawn dark
        found = []
        lines = np.array_split(difference, 3, axis=0)
        regions = (region for line in lines for region in np.array_split(line, 3, axis=1))
        for name, region in zip(REGIONS, regions, strict=True):
            strength = float(region.mean()) if region.size else 0.0
            word = "dark" if (strength > 0) == in_grey else "light"
            if abs(strength) >= PALE:
                found.append(Trait(Feature(f"{word} {name}", "term"), abs(strength), abs(strength), 0.0, abs(strength)))
        return sorted(found, key=lambda trait: -trait.strength)
