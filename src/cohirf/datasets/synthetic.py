"""Synthetic data of the paper's experiments."""

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
from cohirf.durable.temporary import replacing
from cohirf.optional import import_optional

FILE_BLOCK_CELLS = 2**24
EDGE = 6.0  # of the hypercube, in units of the square root of its dimension
FEW_CORNERS = 2**16  # as many can be listed
LABEL = "label"
TABLES = (".parquet", ".csv")


def make_spheres(
    n_samples: int = 1000,
    *,
    radii: Sequence[float] = (0.5, 1.0),
    noise: float = 0.01,
    random_state: Any = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw points on concentric spheres in three dimensions.

    Parameters
    ----------
    n_samples : int
        Number of points, shared out equally among the spheres.
    radii : sequence of float
        Radius of each sphere.
    noise : float
        Standard deviation of the radius.
    random_state : int, RandomState instance or None
        Seeds the draw.

    Returns
    -------
    X : array, shape (n_samples, 3)
        The points, in random order.
    y : array of int, shape (n_samples,)
        The sphere of each.

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
    """Write points on concentric spheres to a file of float32, block by block, for data beyond memory.

    Parameters
    ----------
    path : str or path
        The file to write: ``.npy``, ``.parquet`` or ``.csv``.
    n_samples, radii, noise, random_state
        As in :func:`make_spheres`. The points are other ones than those it draws.

    Returns
    -------
    labels_path : path
        Where the sphere of each point is: for ``.npy`` a second file beside the first, ``*_labels.npy``, of uint8; in
        a table the column ``label``.

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

    return _write(Path(path), n_samples, Recipe(3, len(radii), draw), check_random_state(random_state))


def make_hypercube(
    n_samples: int = 1000,
    *,
    n_clusters: int = 5,
    n_informative: int = 3,
    n_noise: int = 10,
    random_state: Any = None,
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Draw points around corners of a hypercube, and append features of noise.

    The corners are drawn from those of a hypercube with edges of 6 times the square root of ``n_informative``. Around
    them, and along the features of noise, points have a variance of 1.

    Parameters
    ----------
    n_samples : int
        Number of points, shared out equally among the corners.
    n_clusters : int
        Number of corners that have points.
    n_informative : int
        Dimension of the hypercube.
    n_noise : int
        Number of features that say nothing about the corner.
    random_state : int, RandomState instance or None
        Seeds the draw.

    Returns
    -------
    X : array of float32, shape (n_samples, n_informative + n_noise)
        The points, in random order.
    y : array of int, shape (n_samples,)
        The corner of each.

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
    """Write points around corners of a hypercube to a file of float32, block by block, for data beyond memory.

    Parameters
    ----------
    path : str or path
        The file to write: ``.npy``, ``.parquet`` or ``.csv``.
    n_samples, n_clusters, n_informative, n_noise, random_state
        As in :func:`make_hypercube`. Of data that has more than one block, the points are other ones than it draws.

    Returns
    -------
    labels_path : path
        Where the corner of each point is, as in :func:`write_spheres`.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> from cohirf.datasets import write_hypercube
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "hypercube.npy"
    >>> labels = write_hypercube(path, 1000, n_noise=7, random_state=0)
    >>> np.load(path).shape, np.load(labels).max()
    ((1000, 10), np.uint8(4))
    """
    rng = check_random_state(random_state)
    corners = _draw_corners(n_clusters, n_informative, rng)

    def draw(n: int, rng: np.random.RandomState) -> tuple[NDArray[Any], NDArray[Any]]:
        return _around_corners(corners, n_noise, n, rng)

    return _write(Path(path), n_samples, Recipe(n_informative + n_noise, n_clusters, draw), rng)


def write_blobs(
    path: str | os.PathLike[str],
    n_samples: int,
    *,
    n_clusters: int = 3,
    n_features: int = 2,
    spread: float = 1.0,
    random_state: Any = None,
) -> Path:
    """Write points of round clusters to a file of float32, block by block, for data beyond memory.

    The centres are drawn uniformly between -10 and 10, as :func:`sklearn.datasets.make_blobs` does.

    Parameters
    ----------
    path : str or path
        The file to write: ``.npy``, ``.parquet`` or ``.csv``.
    n_samples : int
        Number of points, shared out equally among the clusters.
    n_clusters, n_features : int
        Number of clusters, and of features.
    spread : float
        Standard deviation of a cluster.
    random_state : int, RandomState instance or None
        Seeds the draw.

    Returns
    -------
    labels_path : path
        Where the cluster of each point is, as in :func:`write_spheres`.

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

    return _write(Path(path), n_samples, Recipe(n_features, n_clusters, draw), rng)


def labels_file(path: str | os.PathLike[str]) -> Path:
    """Return where the labels of data that is written to ``path`` are."""
    path = Path(path)
    return path if path.suffix.lower() in TABLES else path.with_name(f"{path.stem}_labels.npy")


@dataclass(frozen=True)
class Recipe:
    """How many features and labels the data has, and how some rows of it are drawn."""

    n_features: int
    n_labels: int
    draw: Callable[[int, np.random.RandomState], tuple[NDArray[Any], NDArray[Any]]]

    def blocks(self, n_samples: int, rng: np.random.RandomState) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        """Draw rows and labels, block by block."""
        for block in row_blocks(n_samples, max(1, FILE_BLOCK_CELLS // self.n_features)):
            X, y = self.draw(block.stop - block.start, rng)
            yield X.astype(np.float32, copy=False), y.astype(self.label_type)

    @property
    def label_type(self) -> np.dtype[Any]:
        """The smallest type that holds all labels."""
        return np.min_scalar_type(self.n_labels - 1)


def _draw_corners(n_clusters: int, n_informative: int, rng: np.random.RandomState) -> NDArray[np.float64]:
    """Draw distinct corners of a hypercube."""
    if n_clusters > 2**n_informative:
        raise ValueError(
            f"n_clusters={n_clusters} is above the {2**n_informative} corners of a hypercube with "
            f"n_informative={n_informative}: raise n_informative, or lower n_clusters."
        )
    if 2**n_informative <= FEW_CORNERS:
        numbers = rng.permutation(2**n_informative)[:n_clusters]
        bits = (numbers[:, None] >> np.arange(n_informative)) & 1
    else:
        bits = np.empty((0, n_informative), dtype=np.int64)
        while len(bits) < n_clusters:
            drawn = np.concatenate([bits, rng.randint(0, 2, (n_clusters - len(bits), n_informative))])
            bits = drawn[np.sort(np.unique(drawn, axis=0, return_index=True)[1])]  # without those drawn before
    corners: NDArray[np.float64] = bits * EDGE * np.sqrt(n_informative)
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


def _write(path: Path, n_samples: int, recipe: Recipe, rng: np.random.RandomState) -> Path:
    """Write rows and labels, block by block; returns the path of the labels.

    Files that are there already are replaced when all is written.
    """
    if path.suffix.lower() in TABLES:
        with replacing(path) as file:
            _write_table(file, path.suffix.lower(), recipe.blocks(n_samples, rng))
    else:
        _write_arrays(path, n_samples, recipe, rng)
    return labels_file(path)


def _write_arrays(path: Path, n_samples: int, recipe: Recipe, rng: np.random.RandomState) -> None:
    with replacing(path) as rows, replacing(labels_file(path)) as labels:
        _write_header(rows, np.float32, (n_samples, recipe.n_features))
        _write_header(labels, recipe.label_type, (n_samples,))
        for X, y in recipe.blocks(n_samples, rng):
            rows.write(np.ascontiguousarray(X).data)
            labels.write(y.data)


def _write_table(file: IO[bytes], ending: str, blocks: Iterator[tuple[NDArray[Any], NDArray[Any]]]) -> None:
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
