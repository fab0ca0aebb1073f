"""Short names of base methods: one table. To add a method, add a line.

It imports none of them, so that a program can list the names at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

NAMES: dict[str, tuple[str, str]] = {
    "affinity-propagation": ("sklearn.cluster", "AffinityPropagation"),
    "agglomerative": ("sklearn.cluster", "AgglomerativeClustering"),
    "birch": ("sklearn.cluster", "Birch"),
    "bisecting-kmeans": ("sklearn.cluster", "BisectingKMeans"),
    "dbscan": ("sklearn.cluster", "DBSCAN"),
    "gmm": ("sklearn.mixture", "GaussianMixture"),
    "grid-dbscan": ("cohirf.clusterers", "GridDBSCAN"),
    "hdbscan": ("sklearn.cluster", "HDBSCAN"),
    "kernel-kmeans": ("cohirf.clusterers", "KernelKMeans"),
    "kmeans": ("sklearn.cluster", "KMeans"),
    "mean-shift": ("sklearn.cluster", "MeanShift"),
    "minibatch-kmeans": ("sklearn.cluster", "MiniBatchKMeans"),
    "optics": ("sklearn.cluster", "OPTICS"),
    "sc-srgf": ("cohirf.clusterers", "SCSRGF"),
    "spectral": ("sklearn.cluster", "SpectralClustering"),
    "torch-dbscan": ("cohirf.clusterers", "TorchDBSCAN"),
    "torch-kernel-kmeans": ("cohirf.clusterers", "TorchKernelKMeans"),
    "torch-kmeans": ("cohirf.clusterers", "TorchKMeans"),
}


def base_class(name: str) -> Any:
    """Return the class that a short name stands for."""
    if name not in NAMES:
        raise ValueError(f"{name!r} is not the name of a base method: give one of {', '.join(NAMES)}.")
    module, attribute = NAMES[name]
    return getattr(import_module(module), attribute)
