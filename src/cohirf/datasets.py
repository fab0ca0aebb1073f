"""Synthetic data of the paper's experiments."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import DTypeLike, NDArray
from sklearn.utils import check_random_state

from cohirf.algorithm.grouping import row_blocks

FILE_BLOCK_CELLS = 2**24


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
    """Write points on concentric spheres to a ``.npy`` file of float32, block by block, for data beyond memory.

    Parameters
    ----------
    path : str or path
        The file to write.
    n_samples, radii, noise, random_state
        As in :func:`make_spheres`. The points are other ones than those it draws.

    Returns
    -------
    labels_path : path
        A second file beside the first, ``*_labels.npy``, with the sphere of each point as uint8.

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

    return _write_blocks(Path(path), n_samples, 3, draw, random_state)


def _write_blocks(
    path: Path,
    n_samples: int,
    n_features: int,
    draw: Callable[[int, np.random.RandomState], tuple[NDArray[Any], NDArray[Any]]],
    random_state: Any,
) -> Path:
    """Write rows and labels to two files, block by block; returns the path of the labels."""
    rng = check_random_state(random_state)
    labels_path = path.with_name(f"{path.stem}_labels.npy")
    with path.open("wb") as rows, labels_path.open("wb") as labels:
        _write_header(rows, np.float32, (n_samples, n_features))
        _write_header(labels, np.uint8, (n_samples,))
        for block in row_blocks(n_samples, max(1, FILE_BLOCK_CELLS // n_features)):
            X, y = draw(block.stop - block.start, rng)
            rows.write(X.astype(np.float32).data)
            labels.write(y.astype(np.uint8).data)
    return labels_path


def _write_header(file: IO[bytes], dtype: DTypeLike, shape: tuple[int, ...]) -> None:
    descr = npy_format.dtype_to_descr(np.dtype(dtype))
    npy_format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
