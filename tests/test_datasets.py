"""Synthetic data."""

import numpy as np

from cohirf import datasets
from cohirf.datasets import make_spheres, write_spheres


def test_spheres_have_their_radii():
    X, y = make_spheres(1001, radii=(1, 2, 5), noise=0, random_state=0)
    assert np.allclose(np.linalg.norm(X, axis=1), np.array([1, 2, 5])[y])
    assert np.bincount(y).tolist() == [334, 334, 333]


def test_spheres_are_drawn_in_random_order_and_reproducibly():
    X, y = make_spheres(100, random_state=3)
    assert (np.diff(y) != 0).sum() > 20
    assert (make_spheres(100, random_state=3)[0] == X).all()


def test_spheres_are_written_block_by_block(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "FILE_BLOCK_CELLS", 300)
    labels_path = write_spheres(tmp_path / "spheres.npy", 1001, noise=0, random_state=0)
    X, y = np.load(tmp_path / "spheres.npy"), np.load(labels_path)
    assert labels_path == tmp_path / "spheres_labels.npy"
    assert (X.dtype, y.dtype) == (np.float32, np.uint8)
    assert np.allclose(np.linalg.norm(X, axis=1), np.array([0.5, 1.0])[y])
    assert len(np.unique(X, axis=0)) == len(X)
    write_spheres(tmp_path / "again.npy", 1001, noise=0, random_state=0)
    assert (np.load(tmp_path / "again.npy") == X).all()
