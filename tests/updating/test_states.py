"""What holds for every state of a model, however it came about: by a fit, by updates, by a call that failed."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from cohirf import CoHiRF, load

SPREAD = make_blobs(300, centers=4, cluster_std=2.0, random_state=0)[0]


def assert_shares(model):
    for values in (model.stability_, model.feature_agreement_):
        assert ((values > 0) & (values <= 1 + 1e-6) | np.isnan(values)).all()


@pytest.mark.parametrize("n_forgotten", [0, 40])
def test_stability_is_a_share_after_updates(n_forgotten, tmp_path):
    model = CoHiRF(KMeans(3, n_init=1), random_state=0).partial_fit(SPREAD[:150]).partial_fit(SPREAD[150:])
    model.forget(np.arange(n_forgotten))
    assert_shares(model)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").stability_, model.stability_)
