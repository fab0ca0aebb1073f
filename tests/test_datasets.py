"""Synthetic data."""

import numpy as np

from cohirf.datasets import make_spheres


def test_spheres_have_their_radii():
    X, y = make_spheres(1001, radii=(1, 2, 5), noise=0, random_state=0)
    assert np.allclose(np.linalg.norm(X, axis=1), np.array([1, 2, 5])[y])
    assert np.bincount(y).tolist() == [334, 334, 333]


def test_spheres_are_drawn_in_random_order_and_reproducibly():
    X, y = make_spheres(100, random_state=3)
    assert (np.diff(y) != 0).sum() > 20
    assert (make_spheres(100, random_state=3)[0] == X).all()
