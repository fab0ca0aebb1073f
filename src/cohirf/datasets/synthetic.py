"""Synthetic data: that of the paper's experiments, and shapes for density methods; in memory or in files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import DTypeLike, NDArray
from sklearn.utils import check_random_state

from cohirf.algorithm.grouping import row_blocks
from cohirf.optional import import_optional
from cohirf.store.files import replacing, sync_file

FILE_BLOCK_CELLS = 2**24
CUBE_EDGE = 6.0  # length of an edge of the hypercube, divided by the square root of its dimension
FEW_CORNERS = 2**16  # up to this number, all corners are listed and drawn from
LABEL = "label"
TABLE_ENDINGS = (".parquet", ".csv")
LOW, HIGH = (-3.0, -4.0), (18.0, 13.0)  # corners of the box with all shapes, in which noise is uniform

Points = NDArray[np.float64]
Curve = Callable[[Points], Points]  # from places between 0 and 1 to points, one in each row


def make_spheres(
    n_samples: int = 1000,
    *,
    radii: Sequence[float] = (0.5, 1.0),
    noise: float = 0.01,
    random_state: Any = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw random points on concentric spheres in three dimensions.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of points, divided equally among the spheres.
    radii : sequence of float, default=(0.5, 1.0)
        Radius of each sphere.
    noise : float, default=0.01
        Standard deviation of the distance of points from their sphere.
    random_state : int, RandomState instance or None, default=None
        Seed of the random numbers. Pass an int for reproducible results.

    Returns
    -------
    X : array of float, shape (n_samples, 3)
        The points, in random order.
    y : array of int, shape (n_samples,)
        The sphere of each point: its index in ``radii``.

    See Also
    --------
    write_spheres : Writes such data to a file.

    Examples
    --------
    >>> from cohirf.datasets import make_spheres
    >>> X, y = make_spheres(100, random_state=0)
    >>> X.shape, int(y.sum())
    ((100, 3), 50)
    """
    rng = check_random_state(random_state)
    y = rng.permutation(np.arange(n_samples) % len(radii))
    directions = rng.standard_normal((n_samples, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    radius = np.asarray(radii)[y] + noise * rng.standard_normal(n_samples)
    return directions * radius[:, None], y


def write_spheres(
    path: str | os.PathLike[str],
    n_samples: int,
    *,
    radii: Sequence[float] = (0.5, 1.0),
    noise: float = 0.01,
    random_state: Any = None,
) -> Path:
    """Write random points on concentric spheres to a file, block by block, so that data may be larger than memory.

    Parameters
    ----------
    path : str or path
        The file to write, with the suffix ``.npy``, ``.parquet`` or ``.csv``. Values are float32.
    n_samples, radii, noise, random_state
        As in :func:`make_spheres`, which draws different points with the same seed.

    Returns
    -------
    labels_path : path
        File with the sphere of each point. For ``.npy`` it is a second file, ``*_labels.npy``, of uint8; for
        ``.parquet`` and ``.csv`` it is ``path``, which has the column ``label``.

    Notes
    -----
    Files appear when they are complete, and existing files are replaced. With ``.npy``, the labels appear just before
    the points: if the process is killed between the two, there are new labels beside the old points, or no points.
    Call the function again then.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> from cohirf.datasets import write_spheres
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "spheres.npy"
    >>> labels = write_spheres(path, 1000, random_state=0)
    >>> np.load(path).shape, np.load(labels).dtype
    ((1000, 3), dtype('uint8'))
    """

    def draw(n: int, rng: np.random.RandomState) -> tuple[NDArray[Any], NDArray[Any]]:
        return make_spheres(n, radii=radii, noise=noise, random_state=rng)

    return _write_rows(Path(path), n_samples, Recipe(3, len(radii), draw), check_random_state(random_state))


def make_hypercube(
    n_samples: int = 1000,
    *,
    n_clusters: int = 5,
    n_informative: int = 3,
    n_noise: int = 10,
    random_state: Any = None,
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Draw random points around corners of a hypercube, and append noise features.

    The corners are drawn at random from those of a hypercube whose edges have length 6 times the square root of
    ``n_informative``. Points are normally distributed around them with variance 1. Noise features are standard normal.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of points, divided equally among the clusters.
    n_clusters : int, default=5
        Number of clusters: of corners that have points.
    n_informative : int, default=3
        Dimension of the hypercube.
    n_noise : int, default=10
        Number of features that are independent of the cluster.
    random_state : int, RandomState instance or None, default=None
        Seed of the random numbers. Pass an int for reproducible results.

    Returns
    -------
    X : array of float32, shape (n_samples, n_informative + n_noise)
        The points, in random order.
    y : array of int, shape (n_samples,)
        The cluster of each point.

    Raises
    ------
    ValueError
        If ``n_clusters`` is above the number of corners, ``2 ** n_informative``.

    See Also
    --------
    write_hypercube : Writes such data to a file.

    Examples
    --------
    >>> from cohirf.datasets import make_hypercube
    >>> X, y = make_hypercube(100, n_noise=1000, random_state=0)
    >>> X.shape, X.dtype, int(y.max())
    ((100, 1003), dtype('float32'), 4)
    """
    rng = check_random_state(random_state)
    return _around_corners(_draw_corners(n_clusters, n_informative, rng), n_noise, n_samples, rng)


def write_hypercube(
    path: str | os.PathLike[str],
    n_samples: int,
    *,
    n_clusters: int = 5,
    n_informative: int = 3,
    n_noise: int = 10,
    random_state: Any = None,
) -> Path:
    """Write random points around corners of a hypercube to a file, block by block: data may be larger than memory.

    Parameters
    ----------
    path : str or path
        The file to write, as in :func:`write_spheres`.
    n_samples, n_clusters, n_informative, n_noise, random_state
        As in :func:`make_hypercube`, which draws different points with the same seed if there is more than one block.

    Returns
    -------
    labels_path : path
        File with the cluster of each point; see :func:`write_spheres`.
    """
    rng = check_random_state(random_state)
    corners = _draw_corners(n_clusters, n_informative, rng)

    def draw(n: int, rng: np.random.RandomState) -> tuple[NDArray[Any], NDArray[Any]]:
        return _around_corners(corners, n_noise, n, rng)

    return _write_rows(Path(path), n_samples, Recipe(n_informative + n_noise, n_clusters, draw), rng)


def write_blobs(
    path: str | os.PathLike[str],
    n_samples: int,
    *,
    n_clusters: int = 3,
    n_features: int = 2,
    spread: float = 1.0,
    random_state: Any = None,
) -> Path:
    """Write spherical normal clusters to a file, block by block, so that data may be larger than memory.

    The centres are drawn uniformly between -10 and 10, as in :func:`sklearn.datasets.make_blobs`.

    Parameters
    ----------
    path : str or path
        The file to write, as in :func:`write_spheres`.
    n_samples : int
        Number of points, divided equally among the clusters.
    n_clusters : int, default=3
        Number of clusters.
    n_features : int, default=2
        Number of features.
    spread : float, default=1.0
        Standard deviation of each feature within a cluster.
    random_state : int, RandomState instance or None, default=None
        Seed of the random numbers. Pass an int for reproducible results.

    Returns
    -------
    labels_path : path
        File with the cluster of each point; see :func:`write_spheres`.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> from cohirf.datasets import write_blobs
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "blobs.npy"
    >>> labels = write_blobs(path, 1000, n_features=5, random_state=0)
    >>> np.load(path).shape, np.load(labels).max()
    ((1000, 5), np.uint8(2))
    """
    rng = check_random_state(random_state)
    centres = rng.uniform(-10, 10, (n_clusters, n_features))

    def draw(n: int, rng: np.random.RandomState) -> tuple[NDArray[Any], NDArray[Any]]:
        y = rng.permutation(np.arange(n) % n_clusters)
        return centres[y] + spread * rng.standard_normal((n, n_features)), y

    return _write_rows(Path(path), n_samples, Recipe(n_features, n_clusters, draw), rng)


def make_shapes(
    n_samples: int = 1000,
    *,
    noise: float = 0.1,
    random_state: Any = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw random points of nine shapes in the plane, with uniform noise around them.

    The shapes are two worms, two spirals, a ring, and four lumps of different density. They do not depend on the number
    of points: with more points they become denser.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of points.
    noise : float, default=0.1
        Share of the points that are uniform noise.
    random_state : int, RandomState instance or None, default=None
        Seed of the random numbers. Pass an int for reproducible results.

    Returns
    -------
    X : array of float, shape (n_samples, 2)
        The points, in random order.
    y : array of int, shape (n_samples,)
        The shape of each point, from 0 to 8, or -1 for noise. Noise is everywhere: a few of its points lie in shapes.

    See Also
    --------
    write_shapes : Writes such data to a file.

    Examples
    --------
    >>> from cohirf.datasets import make_shapes
    >>> X, y = make_shapes(1000, random_state=0)
    >>> X.shape, int((y == -1).sum()), int(y.max())
    ((1000, 2), 100, 8)

    DBSCAN finds the shapes in any large number of points, with a radius that shrinks with the distances between them:

    >>> from sklearn.cluster import DBSCAN
    >>> X, y = make_shapes(20_000, random_state=0)
    >>> labels = DBSCAN(eps=30 / 20_000**0.5, min_samples=10).fit_predict(X)
    >>> int(labels.max()) + 1
    9
    """
    return _draw_shapes(n_samples, noise, check_random_state(random_state))


def write_shapes(path: str | os.PathLike[str], n_samples: int, *, noise: float = 0.1, random_state: Any = None) -> Path:
    """Write random points of shapes in the plane to a file, block by block, so that data may be larger than memory.

    Parameters
    ----------
    path : str or path
        The file to write, as in :func:`write_spheres`.
    n_samples, noise, random_state
        As in :func:`make_shapes`, which draws different points with the same seed if there is more than one block.

    Returns
    -------
    labels_path : path
        File with the shape of each point, from 0 to 8, or -1 for noise; see :func:`write_spheres`. For ``.npy``, labels
        are int8.
    """

    def draw(n: int, rng: np.random.RandomState) -> tuple[NDArray[Any], NDArray[Any]]:
        return _draw_shapes(n, noise, rng)

    recipe = Recipe(2, len(SHAPES), draw, has_noise=True)
    return _write_rows(Path(path), n_samples, recipe, check_random_state(random_state))


def labels_file(path: str | os.PathLike[str]) -> Path:
    """Return the path of the labels of data that is written to ``path``.

    It is ``*_labels.npy`` for ``.npy``, and ``path`` itself for tables, which have the labels as a column.
    """
    path = Path(path)
    return path if path.suffix.lower() in TABLE_ENDINGS else path.with_name(f"{path.stem}_labels.npy")


@dataclass(frozen=True)
class Recipe:
    """Number of features and labels of the data, a function that draws rows of it, and whether some are noise, -1."""

    n_features: int
    n_labels: int
    draw: Callable[[int, np.random.RandomState], tuple[NDArray[Any], NDArray[Any]]]
    has_noise: bool = False

    def blocks(self, n_samples: int, rng: np.random.RandomState) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        """Draw rows and labels, block by block."""
        for block in row_blocks(n_samples, max(1, FILE_BLOCK_CELLS // self.n_features)):
            X, y = self.draw(block.stop - block.start, rng)
            yield X.astype(np.float32, copy=False), y.astype(self.label_type)

    @property
    def label_type(self) -> np.dtype[Any]:
        """The smallest type that holds all labels."""
        return np.min_scalar_type(-self.n_labels if self.has_noise else self.n_labels - 1)


def _draw_corners(n_clusters: int, n_informative: int, rng: np.random.RandomState) -> NDArray[np.float64]:
    """Draw distinct corners of a hypercube at random."""
    if n_clusters > 2**n_informative:
        raise ValueError(
            f"n_clusters={n_clusters} is above the {2**n_informative} corners of a hypercube with "
            f"n_informative={n_informative}: increase n_informative, or lower n_clusters."
        )
    if 2**n_informative <= FEW_CORNERS:
        numbers = rng.permutation(2**n_informative)[:n_clusters]
        bits = (numbers[:, None] >> np.arange(n_informative)) & 1
    else:
        bits = np.empty((0, n_informative), dtype=np.int64)
        while len(bits) < n_clusters:
            drawn = np.concatenate([bits, rng.randint(0, 2, (n_clusters - len(bits), n_informative))])
            bits = drawn[np.sort(np.unique(drawn, axis=0, return_index=True)[1])]  # without those drawn before
    corners: NDArray[np.float64] = bits * CUBE_EDGE * np.sqrt(n_informative)
    return corners


def _around_corners(
    corners: NDArray[np.float64], n_noise: int, n_samples: int, rng: np.random.RandomState
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    n_informative = corners.shape[1]
    y = rng.permutation(np.arange(n_samples) % len(corners))
    X = np.empty((n_samples, n_informative + n_noise), dtype=np.float32)
    for block in row_blocks(n_samples, max(1, FILE_BLOCK_CELLS // X.shape[1])):
        X[block] = rng.standard_normal(X[block].shape)
    X[:, :n_informative] += corners[y]
    return X, y


def _write_rows(path: Path, n_samples: int, recipe: Recipe, rng: np.random.RandomState) -> Path:
    """Write rows and labels, block by block, and return the path of the labels.

    Existing files are replaced when everything is written.
    """
    if path.suffix.lower() in TABLE_ENDINGS:
        with replacing(path) as file:
            _write_numbers(file, path.suffix.lower(), recipe.blocks(n_samples, rng))
    else:
        _write_arrays(path, n_samples, recipe, rng)
    return labels_file(path)


def _write_arrays(path: Path, n_samples: int, recipe: Recipe, rng: np.random.RandomState) -> None:
    """Write rows and labels to two files, and replace the labels just before the rows.

    A kill between the two leaves the new labels beside the old rows, or without rows.
    """
    with replacing(path) as rows, replacing(labels_file(path)) as labels:
        _write_header(rows, np.float32, (n_samples, recipe.n_features))
        _write_header(labels, recipe.label_type, (n_samples,))
        for X, y in recipe.blocks(n_samples, rng):
            rows.write(np.ascontiguousarray(X).data)
            labels.write(y.data)
        sync_file(rows)  # takes long for large files: do it before the labels are replaced, not between the two


def _write_numbers(file: IO[bytes], ending: str, blocks: Iterator[tuple[NDArray[Any], NDArray[Any]]]) -> None:
    arrow = import_optional("pyarrow", "arrow", "Writing a table")
    tables = (arrow.table({**{f"x{j}": X[:, j] for j in range(X.shape[1])}, LABEL: y}) for X, y in blocks)
    first = next(tables)
    if ending == ".csv":
        writer = import_optional("pyarrow.csv", "arrow", "Writing a table").CSVWriter(file, first.schema)
    else:
        writer = import_optional("pyarrow.parquet", "arrow", "Writing a table").ParquetWriter(file, first.schema)
    with writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(table)


def _write_header(file: IO[bytes], dtype: DTypeLike, shape: tuple[int, ...]) -> None:
    descr = npy_format.dtype_to_descr(np.dtype(dtype))
    npy_format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})


@dataclass(frozen=True)
class Shape:
    """All points within a distance of a curve; a lump is that of a curve of one point."""

    share: float  # number of points, as a share of the points of all shapes
    width: float  # largest distance of a point from the place on the curve that it belongs to
    curve: Curve  # returns points of the curve at places between 0 and 1

    def draw(self, n_points: int, rng: np.random.RandomState) -> Points:
        """Draw random points of the shape."""
        place, distance, angle = rng.uniform(size=(3, n_points))
        # distances with square roots of uniform numbers make points uniform in a disc
        offset: Points = np.sqrt(distance)[:, None] * direction(2 * np.pi * angle)
        return self.curve(place) + self.width * offset


def worm(start: tuple[float, float], height: float, angle: float) -> Curve:
    """Return one and a half waves of length 6, which begin at ``start`` and climb at an angle."""
    forward, upward = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])

    def curve(place: Points) -> Points:
        along, across = 6 * place, height * np.sin(3 * np.pi * place)
        points: Points = np.asarray(start) + along[:, None] * forward + across[:, None] * upward
        return points

    return curve


def spiral(centre: tuple[float, float], radius: float, angle: float) -> Curve:
    """Return one and a half turns, which end at the radius and half a turn beyond the angle."""

    def curve(place: Points) -> Points:
        turned = np.sqrt(0.05 + 0.95 * place)  # points are about as dense near the centre as far from it
        return np.asarray(centre) + radius * turned[:, None] * direction(3 * np.pi * turned + angle)

    return curve


def ring(centre: tuple[float, float], radius: float) -> Curve:
    """Return a circle."""
    return lambda place: np.asarray(centre) + radius * direction(2 * np.pi * place)


def lump(centre: tuple[float, float]) -> Curve:
    """Return one point."""
    return lambda place: np.broadcast_to(np.asarray(centre), (len(place), 2))


def direction(angle: Points) -> Points:
    """Return vectors of length 1 at the given angles."""
    return np.column_stack([np.cos(angle), np.sin(angle)])


# Lumps have different densities: the third has 17 times that of the second. The first is inside the ring.
SHAPES = (
    Shape(0.15, 0.25, worm((0, 0), 1.0, 0.0)),
    Shape(0.12, 0.20, worm((0, 3), 0.8, 0.2)),
    Shape(0.13, 0.18, spiral((11, 2), 3.0, 0.0)),
    Shape(0.13, 0.18, spiral((11, 2), 3.0, np.pi)),
    Shape(0.12, 0.20, ring((3, 9), 2.0)),
    Shape(0.08, 0.80, lump((3, 9))),
    Shape(0.07, 1.50, lump((9, 9))),
    Shape(0.13, 0.50, lump((12.5, 9))),
    Shape(0.07, 0.60, lump((15, 7.5))),
)


def _draw_shapes(n_samples: int, noise: float, rng: np.random.RandomState) -> tuple[Points, NDArray[np.int64]]:
    """Draw points of all shapes and uniform noise, in random order, and the number of the shape of each; noise has -1.

    The number of points of a shape is fixed; only their places are random.
    """
    if not 0 <= noise <= 1:
        raise ValueError(f"noise={noise!r} is not valid: give a share of the points from 0 to 1.")
    shares = (1 - noise) * np.array([shape.share for shape in SHAPES])
    y = np.searchsorted(np.cumsum(shares), (rng.permutation(n_samples) + 0.5) / n_samples)
    y[y == len(SHAPES)] = -1
    X = rng.uniform(LOW, HIGH, (n_samples, 2))
    for number, shape in enumerate(SHAPES):
        is_in = y == number
        X[is_in] = shape.draw(int(is_in.sum()), rng)
    return X, y
