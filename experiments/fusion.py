"""Fused graphs of SC-SRGF and silhouettes of all rows by ``fusion.cu``, which a compiler makes.

With ``nvcc`` they are computed on a GPU: a fit of 58,000 rows in 100 batches then takes seconds.
With a C++ compiler there is a slow version of the same, for tests.
"""

from __future__ import annotations

import ctypes
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from cohirf.clusterers import SCSRGF
from cohirf.clusterers.policy import AFFINITY
from cohirf.clusterers.sc_srgf import draw_subspaces
from experiments.published_draws import SubspacesAsPublished, normalised

SOURCE = Path(__file__).with_name("fusion.cu")
MOST_NEIGHBORS = 5  # as in the source
# a GPU shares 48 KB among the threads of a block, which hold four rows of the graph
MOST_ROWS = 48 * 1024 // (4 * 4)
COMPILERS = {
    "nvcc": ("nvcc", "-O3", "-arch=native", "-Xcompiler", "-fPIC", "-shared"),
    "g++": ("g++", "-O2", "-x", "c++", "-fPIC", "-shared"),
}


class Fusion:
    """The compiled program."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))

    def fuse(
        self, X: NDArray[Any], subspaces: Sequence[NDArray[Any]], n_neighbors: int, n_iter: int
    ) -> NDArray[np.float32]:
        """Return the fused graph of rows in subspaces, all with equally many features.

        It is what ``fuse_affinities`` makes of ``build_nearest_affinity`` without rescaling.
        """
        if n_neighbors > MOST_NEIGHBORS:
            raise ValueError(f"n_neighbors={n_neighbors}: at most {MOST_NEIGHBORS} are compiled.")
        if len(X) > MOST_ROWS:
            raise ValueError(f"{len(X)} rows: a graph of at most {MOST_ROWS} fits a GPU's block.")
        drawn = Counter(tuple(sorted(subspace.tolist())) for subspace in subspaces)
        features = np.array(list(drawn), dtype=np.int32)
        times = np.array(list(drawn.values()), dtype=np.int32)
        rows = np.ascontiguousarray(X, dtype=np.float64)
        n_rows, n_features = rows.shape
        total = np.empty((n_rows, n_rows), dtype=np.float32)
        self._library.fuse(
            _at(rows),
            n_rows,
            n_features,
            _at(features),
            *features.shape,
            _at(times),
            min(max(n_neighbors, 2), n_rows),
            ctypes.c_float(AFFINITY.faintest),
            n_iter,
            _at(total),
        )
        return np.asarray((total + total.T) * np.float32(0.5 / len(subspaces)))

    def silhouette(self, X: NDArray[Any], labels: NDArray[Any]) -> float:
        """Return the mean silhouette of all rows, which have at least two clusters."""
        order = np.argsort(labels, kind="stable")
        sizes = np.unique(labels, return_counts=True)[1]
        starts = np.append(0, np.cumsum(sizes)).astype(np.int32)
        rows = np.ascontiguousarray(X[order], dtype=np.float64)
        found = np.empty(len(rows))
        self._library.silhouettes_of(_at(rows), *rows.shape, _at(starts), len(sizes), _at(found))
        return float(found.mean())


def fused_by(fusion: Fusion, model: Any) -> Any:
    """Return a model like this one whose SC-SRGF, if it has one, is fused by the program."""
    if isinstance(model, SubspacesAsPublished):
        return _with_method(
            model,
            "_fuse_subspaces",
            lambda self, X, subspaces: fusion.fuse(
                X, subspaces, self.n_neighbors, self.n_affinities
            ),
        )
    if isinstance(model, SCSRGF):
        return _with_method(model, "_fuse", partial(_fuse_as_published, fusion))
    estimator = model.get_params(deep=False).get("estimator")
    if estimator is None:
        return model
    return clone(model).set_params(estimator=fused_by(fusion, estimator))


def _with_method(model: Any, name: str, method: Callable[..., Any]) -> Any:
    """Return a model of a subclass with this method."""

    def call(self: Any, *arguments: Any) -> Any:
        return method(self, *arguments)

    kind = type(model)
    return type(kind.__name__, (kind,), {name: call})(**model.get_params(deep=False))


def _fuse_as_published(
    fusion: Fusion, model: SCSRGF, X: Any, rng: np.random.RandomState
) -> NDArray[np.float32]:
    """Return the graph of ``SCSRGF(graph="published")``."""
    n_rows, n_features = X.shape
    if n_rows == 1:
        return np.ones((1, 1), dtype=np.float32)
    size = max(1, int(model.sampling_ratio * n_features))
    subspaces = draw_subspaces(n_features, model.n_affinities, size, rng)
    return normalised(fusion.fuse(X, subspaces, model.n_neighbors, model.n_fusion_iter))


def compile_fusion(folder: Path, compiler: str = "nvcc") -> Path:
    """Return the path of the program, compiled into a folder."""
    path = folder / "fusion.so"
    subprocess.run([*COMPILERS[compiler], "-o", path, SOURCE], check=True)
    return path


def _at(array: NDArray[Any]) -> Any:
    return array.ctypes.data_as(ctypes.c_void_p)
