"""``medoid_weights=True`` around base methods that take no weights: they see other rows beside the
medoids.
"""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import AgglomerativeClustering, BisectingKMeans
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from cohirf import CoHiRF, open_source
from cohirf.beyond.policy import COMPANION

WINE, Y = load_wine(return_X_y=True)
WINE = (WINE - WINE.mean(axis=0)) / WINE.std(axis=0)
BLOBS = np.random.default_rng(0).standard_normal((1000, 4)) + 6 * np.eye(4)[np.arange(1000) % 4]


class Recorder(AgglomerativeClustering):
    seen: list = []  # noqa: RUF012 - what all copies write to

    def fit_predict(self, X, y=None):
        self.seen.append(X.copy())
        return super().fit_predict(X)


def fit(X, base=None, **options):
    options = {"views": 3, "max_features": 0.5, "random_state": 0, "medoid_weights": True} | options
    return CoHiRF.as_published(base or AgglomerativeClustering(4), **options).fit(X)


def test_from_the_second_level_on_the_base_sees_other_rows():
    Recorder.seen.clear()
    model = fit(BLOBS, Recorder(4), max_features=1.0, views=1, max_iter=5)
    fit(BLOBS, Recorder(4), max_features=2, views=3)
    assert len(Recorder.seen[0]) == 1000
    assert model.n_clusters_ == 4
    later = [len(rows) for rows in Recorder.seen if len(rows) < 1000]
    assert later
    assert all(0.6 * COMPANION.fewest < size <= COMPANION.fewest for size in later)


def test_it_keeps_what_the_base_finds_where_views_differ():
    def mean_index(**options):
        return np.mean(
            [
                adjusted_rand_score(
                    Y, fit(WINE, AgglomerativeClustering(3), random_state=s, **options).labels_
                )
                for s in range(3)
            ]
        )

    assert mean_index(max_features=0.7) > mean_index(max_features=0.7, medoid_weights=False) + 0.1


def test_as_many_medoids_as_clusters_end_the_levels():
    model = fit(BLOBS, AgglomerativeClustering(4), max_features=1.0)
    assert model.n_clusters_ == 4
    assert model.diagnostics_[-1].rows_out == 4


@pytest.mark.parametrize("batch_size", [None, 200])
def test_it_works_out_of_core_and_for_every_number_of_jobs(batch_size):
    models = [fit(open_source(BLOBS), batch_size=batch_size, n_jobs=n_jobs) for n_jobs in (1, 2)]
    assert (models[0].parents_ == models[1].parents_).all()
    assert (models[0].stability_ == models[1].stability_).all()


def test_it_works_for_sparse_rows():
    X = sparse.csr_array(np.where(BLOBS > 0, BLOBS, 0))
    model = fit(X, BisectingKMeans(4))
    assert model.medoids_.shape == (model.n_clusters_, 4)


def test_a_resumed_fit_is_the_same(tmp_path):
    model = fit(BLOBS, GaussianMixture(4), batch_size=200, checkpoint=tmp_path / "fit")
    first = model.parents_.copy()
    assert (model.fit(BLOBS).parents_ == first).all()
