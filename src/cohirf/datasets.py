"""Data of the paper's experiments: concentric spheres and a hypercube with noise; in memory or in files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import DTypeLike, NDArray
from sklearn.utils import check_random_state

from cohirf.rows.grouping import row_blocks
from cohirf.store.files import replacing, sync_file

__all__ = ["labels_file", "make_hypercube", "make_spheres", "write_data"]

FILE_BLOCK_CELLS = 2**24
CUBE_EDGE = 6.0  # length of an edge of the hypercube, divided by the square root of its dimension
FEW_CORNERS = 2**16  # up to this number, all corners are listed and drawn from

Random = np.random.RandomState
Drawing = Callable[[int], tuple[Any, NDArray[Any]]]  # from a number of rows to rows and labels


def make_spheres(
    n_samples: int = 1000, *, radii: Sequence[float] = (0.5, 1.0), noise: float = 0.01, random_state: Any = None
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
    write_data : Writes such data to a file.

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


def make_hypercube(
    n_samples: int = 1000, *, n_clusters: int = 5, n_informative: int = 3, n_noise: int = 10, random_state: Any = None
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
    write_data : Writes such data to a file.

    Examples
    --------
    >>> from cohirf.datasets import make_hypercube
    >>> X, y = make_hypercube(100, n_noise=1000, random_state=0)
    >>> X.shape, X.dtype, int(y.max())
    ((100, 1003), dtype('float32'), 4)
    """
    rng = check_random_state(random_state)
    return _around_corners(_draw_corners(n_clusters, n_informative, rng), n_noise, n_samples, rng)


def _draw_corners(n_clusters: int, n_informative: int, rng: Random) -> NDArray[np.float64]:
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


def write_data(
    kind: str, path: str | os.PathLike[str], n_samples: int, *, random_state: Any = None, **options: Any
) -> Path:
    """Write synthetic data to a file, block by block, so that it may be larger than memory.

    Parameters
    ----------
    kind : {"spheres", "hypercube", "blobs"}
        The data of :func:`make_spheres` or :func:`make_hypercube`; or spherical normal clusters, with the options
        ``n_clusters=3``, ``n_features=2`` and ``spread=1.0``. With the same seed, the points are those of ``make_*`` if
        there is only one block.
    path : str or path
        The ``.npy`` file to write. An existing file is replaced. Values are float32.
    n_samples : int
        Number of rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the random numbers. Pass an int for reproducible results.
    **options
        Other parameters of ``make_*``.

    Returns
    -------
    labels_path : path
        File with the cluster of each row: ``*_labels.npy``, of int16.

    Notes
    -----
    Files appear when they are complete, the labels just before the points: if the process is killed between the two,
    there are new labels beside the old points, or no points. Call the function again then.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> from cohirf.datasets import write_data
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "spheres.npy"
    >>> labels = write_data("spheres", path, 1000, noise=0, random_state=0)
    >>> np.load(path).shape, labels.name
    ((1000, 3), 'spheres_labels.npy')
    """
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r} is not valid: give one of {', '.join(KINDS)}.")
    draw = KINDS[kind](check_random_state(random_state), **options)
    n_features = draw(0)[0].shape[1]
    with replacing(Path(path)) as rows, replacing(labels_file(path)) as labels:
        _write_header(rows, np.float32, (n_samples, n_features))
        _write_header(labels, np.int16, (n_samples,))
        for block in row_blocks(n_samples, max(1, FILE_BLOCK_CELLS // n_features)):
            X, y = draw(block.stop - block.start)
            rows.write(np.ascontiguousarray(X, dtype=np.float32).data)
            labels.write(y.astype(np.int16).data)
        sync_file(rows)  # takes long for large files: do it before the labels are replaced, not between the two
    return labels_file(path)


def labels_file(path: str | os.PathLike[str]) -> Path:
    """Return the path of the labels of points that are written to the array ``path``: ``*_labels.npy``."""
    return Path(path).with_name(f"{Path(path).stem}_labels.npy")


def _write_header(file: IO[bytes], dtype: DTypeLike, shape: tuple[int, ...]) -> None:
    descr = npy_format.dtype_to_descr(np.dtype(dtype))
    npy_format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})


def _spheres(rng: Random, **options: Any) -> Drawing:
    return partial(make_spheres, random_state=rng, **options)


def _hypercube(rng: Random, *, n_clusters: int = 5, n_informative: int = 3, n_noise: int = 10) -> Drawing:
    corners = _draw_corners(n_clusters, n_informative, rng)
    return lambda n: _around_corners(corners, n_noise, n, rng)


def _blobs(rng: Random, *, n_clusters: int = 3, n_features: int = 2, spread: float = 1.0) -> Drawing:
    """Return spherical normal clusters, with centres between -10 and 10, as those of scikit-learn's make_blobs."""
    centres = rng.uniform(-10, 10, (n_clusters, n_features))

    def draw(n: int) -> tuple[NDArray[Any], NDArray[Any]]:
        y = rng.permutation(np.arange(n) % n_clusters)
        return centres[y] + spread * rng.standard_normal((n, n_features)), y

    return draw


KINDS: dict[str, Callable[..., Drawing]] = {"spheres": _spheres, "hypercube": _hypercube, "blobs": _blobs}
