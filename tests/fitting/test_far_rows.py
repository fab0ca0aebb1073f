"""A few far rows are noise if the number of clusters is chosen, and change nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF


@pytest.mark.parametrize(("seed", "n_far"), [(0, 1), (1, 3)])  # compact and connected clusters
def test_far_rows_are_noise_and_all_others_are_clustered(seed, n_far):
    blobs, y = make_blobs(300, centers=5, center_box=(-20, 20), random_state=seed)
    middle = blobs.mean(axis=0)
    directions = np.random.default_rng(seed).normal(size=(n_far, 2))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    far = middle + directions * (np.linalg.norm(blobs - middle, axis=1).max() + 30)
    model = CoHiRF(random_state=seed).fit(np.r_[blobs, far])
    assert (model.labels_[-n_far:] == -1).all()
    assert adjusted_rand_score(y, model.labels_[:-n_far]) > 0.99
    assert (model.predict(far) == -1).all()
