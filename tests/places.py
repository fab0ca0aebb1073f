"""Places beside NumPy where arrays can be, and a base method that stays in one of them."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import array_api_strict
import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state

from cohirf.rows.arrays import is_here, namespace, put_beside, take_rows


@dataclass(frozen=True)
class Place:
    """A device of an array library."""

    name: str
    put: Callable[[Any], Any]  # returns an array of NumPy there
    # returns an array that is there as one of NumPy; raises if it is elsewhere
    fetch: Callable[[Any], Any]


def _strict(name: str) -> Place:
    device = array_api_strict.Device(name)

    def fetch(array: Any) -> Any:
        assert array.device == device
        return np.asarray(array.to_device(array_api_strict.Device("CPU_DEVICE")))

    return Place(
        f"strict-{name}", lambda values: array_api_strict.asarray(values, device=device), fetch
    )


def _torch(name: str) -> Place:
    import torch

    def fetch(array: Any) -> Any:
        assert isinstance(array, torch.Tensor)
        assert array.device.type == name
        return array.cpu().numpy()

    return Place(f"torch-{name}", lambda values: torch.tensor(values, device=name), fetch)


def _find_torch() -> list[Place]:
    if find_spec("torch") is None:
        return []
    import torch

    return [_torch("cpu"), *([_torch("cuda")] if torch.cuda.is_available() else [])]


def _find_cupy() -> list[Place]:
    if find_spec("cupy") is None:
        return []
    import cupy

    def fetch(array: Any) -> Any:
        assert isinstance(array, cupy.ndarray)
        return array.get()

    return [Place("cupy-cuda", cupy.asarray, fetch)] if cupy.cuda.is_available() else []


# Arrays on device1 refuse to become arrays of NumPy, as those on a GPU do.
FAR = _strict("device1")
PLACES = [_strict("CPU_DEVICE"), FAR, *_find_torch(), *_find_cupy()]


class NearestSeeds(ClusterMixin, BaseEstimator):
    """Assigns each row to the nearest mean of a few random rows and their neighbours, after two
    steps of Lloyd's.

    It takes arrays of one library only, and returns labels in this library, as methods for GPUs do.
    Rows farther than ``radius`` from all means are noise.
    """

    def __init__(self, n_clusters=8, *, library="array_api_strict", radius=None, random_state=None):
        self.n_clusters = n_clusters
        self.library = library
        self.radius = radius
        self.random_state = random_state

    def fit(self, X, y=None, sample_weight=None):
        for array in (X, sample_weight):
            if array is not None and not type(array).__module__.startswith(self.library):
                raise TypeError(f"{type(array).__module__} is not {self.library}")
        xp = np if is_here(X) else namespace(X)
        rng = check_random_state(self.random_state)
        means = take_rows(X, np.sort(rng.choice(X.shape[0], self.n_clusters, replace=False)))
        weights = (
            xp.ones_like(X[:, 0]) if sample_weight is None else xp.astype(sample_weight, X.dtype)
        )
        labels = None
        for _ in range(3):
            squares = xp.sum((X[:, None, :] - means[None, :, :]) ** 2, axis=2)
            labels = xp.argmin(squares, axis=1)
            belongs = labels[:, None] == put_beside(np.arange(self.n_clusters), X)[None, :]
            mass = xp.astype(belongs, X.dtype) * weights[:, None]
            total = xp.sum(mass, axis=0)[:, None]
            means = xp.where(
                total > 0, xp.matmul(mass.T, X) / xp.where(total > 0, total, 1.0), means
            )
        if self.radius is not None:
            labels = xp.where(xp.min(squares, axis=1) > self.radius**2, -1, labels)
        self.labels_ = labels
        return self
