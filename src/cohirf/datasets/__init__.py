"""Data sets: generators of synthetic data, and a loader of the real data of the paper's experiments."""

from cohirf.datasets.real import load_real
from cohirf.datasets.synthetic import (
    labels_file,
    make_hypercube,
    make_shapes,
    make_spheres,
    write_blobs,
    write_hypercube,
    write_shapes,
    write_spheres,
)

__all__ = [
    "labels_file",
    "load_real",
    "make_hypercube",
    "make_shapes",
    "make_spheres",
    "write_blobs",
    "write_hypercube",
    "write_shapes",
    "write_spheres",
]
