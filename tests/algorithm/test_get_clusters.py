"""Feature views: which columns they hold, and on which scale."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN

from cohirf import CoHiRF
from cohirf.algorithm import get_clusters
from cohirf.algorithm.get_clusters import take_features

X = np.random.default_rng(0).normal(size=(50, 6))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_a_view_holds_the_chosen_columns_times_its_scale(container, dtype, monkeypatch):
    monkeypatch.setattr(get_clusters, "SCALED_CELLS", 40)  # several blocks
    rows = container(X.astype(dtype))
    before = X.astype(dtype)
    for scale in (1.0, 1.5):
        view = take_features(rows, np.array([1, 2, 5]), scale=scale)
        assert view.dtype == dtype
        dense = view.toarray() if sparse.issparse(view) else view
        assert (dense == before[:, [1, 2, 5]] * dtype(scale)).all()
    assert ((rows.toarray() if sparse.issparse(rows) else rows) == before).all()


def test_a_view_of_all_columns_is_the_data_itself():
    assert take_features(X, np.arange(6), scale=1.0) is X


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("max_features", [1, 4, 0.5, 1.0])
def test_scaled_views_keep_the_meaning_of_a_radius(max_features, container):
    rng = np.random.default_rng(1)
    column = np.sort(rng.uniform(0, 30, 120))
    repeated = np.repeat(column[:, None], 9, axis=1)  # every view has the same distances, but for their size
    base = DBSCAN(eps=1.0, min_samples=2)
    alone = base.fit(repeated).labels_
    assert 1 < len(set(alone.tolist())) < 60
    model = CoHiRF(base, n_views=3, max_features=max_features, scale_views=True, max_iter=1, random_state=0)
    with pytest.warns(match="still merged clusters when max_iter=1"):
        labels = model.fit(container(repeated)).labels_
    together = labels[:, None] == labels
    expected = (alone[:, None] == alone) & (alone >= 0) | np.eye(120, dtype=bool)
    assert (together == expected).all()
