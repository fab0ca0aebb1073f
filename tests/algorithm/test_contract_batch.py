"""One batch: its clusters, their medoids, the mass of these, and what a level reports of it."""

from functools import partial

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import DBSCAN

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.choose_medoids import choose_central_medoids, euclidean_centrality
from cohirf.algorithm.consensus import strict_consensus
from cohirf.algorithm.contract_batch import Contraction, contract_batch
from cohirf.algorithm.get_clusters import Views
from cohirf.algorithm.randomness import Draw, generator_at
from cohirf.rows.storage import SerialEngine

X = np.array([[0.0], [9.0], [1.0], [10.0], [2.0]])
MASS = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
PLACE = (3, 5)
CENTRAL = partial(choose_central_medoids, centrality=euclidean_centrality)


def contraction(base=None, choose_medoids=CENTRAL, n_views=3, n_features=1, **options):
    base = base or DBSCAN(eps=1.5, min_samples=1)
    views = Views(BaseMethod.of(base), n_views=n_views, n_features=n_features, entropy=(7,))
    return Contraction(views, strict_consensus, choose_medoids, **({"batch_size": None} | options))


def contract(rows=X, mass=None, what=None):
    return contract_batch(rows, mass, what or contraction(), PLACE, SerialEngine())


def test_rows_are_clustered_and_each_cluster_has_a_medoid():
    found = contract()
    assert found.labels.tolist() == [0, 1, 0, 1, 0]
    assert found.medoids.tolist() == [2, 1]
    assert found.mass is None


def test_a_medoid_has_the_mass_of_its_cluster_or_mass_1():
    weighted = contract(mass=MASS, what=contraction(weighted=True, sum_mass=True))
    assert weighted.mass.tolist() == [21, 10]
    assert weighted.medoids.tolist() == [4, 3]  # heavy rows draw the medoid towards them
    assert contract(mass=MASS, what=contraction(weighted=True)).mass.tolist() == [1, 1]


def test_means_of_clusters_are_kept_if_they_are_needed():
    assert contract().means is None
    assert contract(what=contraction(keeps_means=True)).means.tolist() == [[1.0], [9.5]]
    weighted = contract(mass=MASS, what=contraction(weighted=True, keeps_means=True))
    assert weighted.means == pytest.approx(np.array([[36 / 21], [98 / 10]]))


def test_the_base_method_is_told_the_mass_of_rows():
    needs_mass = DBSCAN(eps=1.5, min_samples=20)
    alone = contract(what=contraction(needs_mass)).labels
    assert len(set(alone.tolist())) == 5
    labels = contract(mass=MASS, what=contraction(needs_mass, weighted=True)).labels
    assert labels[0] == labels[2] == labels[4]
    assert len(set(labels.tolist())) == 3


def test_medoids_are_chosen_with_the_generator_of_the_place():
    seen = []

    def first_of_each(rows, labels, n_clusters, mass, rng):
        seen.append((rows, labels.tolist(), n_clusters, mass, rng.integers(2**62)))
        return np.unique(labels, return_index=True)[1]

    contract(mass=MASS, what=contraction(choose_medoids=first_of_each, weighted=True))
    [(rows, labels, n_clusters, mass, drawn)] = seen
    assert (rows == X).all()
    assert (labels, n_clusters) == ([0, 1, 0, 1, 0], 2)
    assert mass is MASS
    assert drawn == generator_at((7,), Draw.MEDOIDS, *PLACE).integers(2**62)


class Missing(ClusterMixin, BaseEstimator):
    """Puts all rows together, and keeps what it was given."""

    def fit(self, X, y=None):
        SEEN.append(X.copy())
        self.labels_ = np.zeros(len(X), dtype=int)
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


SEEN: list[np.ndarray] = []


@pytest.mark.exact
def test_missing_cells_are_filled_for_distances_and_not_for_the_base_method():
    SEEN.clear()
    filled = []

    def first(rows, labels, n_clusters, mass, rng):
        filled.append(rows)
        return np.zeros(n_clusters, dtype=np.intp)

    rows = np.array([[1.0, np.nan], [2.0, 5.0]])
    what = contraction(Missing(), first, n_views=1, n_features=2, column_means=np.array([7.0, 8.0]))
    contract(rows, what=what)
    np.testing.assert_array_equal(filled[0], [[1, 8], [2, 5]])
    np.testing.assert_array_equal(SEEN[0], rows)


class ByView(ClusterMixin, BaseEstimator):
    """Puts all rows together, or each alone, in turn."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y=None):
        SEEN.append(X)
        self.labels_ = np.arange(len(X)) if len(SEEN) == 1 else np.zeros(len(X), dtype=int)
        return self


def test_what_a_level_reports_of_a_batch_has_its_order():
    SEEN.clear()
    found = contract(np.arange(4.0)[:, None], what=contraction(ByView(), n_views=2))
    views_kept, agreement, stability, *seconds = found.costs
    assert found.labels.tolist() == [0, 1, 2, 3]
    assert views_kept == 2
    assert agreement == 0
    # the view of single rows agrees with the consensus; of four rows together, one is the row
    # itself
    assert found.view_stability.tolist() == pytest.approx([1, 0.25])
    assert stability == pytest.approx(0.625)
    assert found.stability.tolist() == pytest.approx([0.625] * 4)
    assert len(seconds) == 3
    assert min(seconds) > 0


def test_the_last_figure_is_the_time_of_the_choice_of_medoids(monkeypatch):
    clock = iter([100.0, 103.5])
    monkeypatch.setattr("cohirf.algorithm.contract_batch.perf_counter", lambda: next(clock))
    assert contract().costs[-1] == 3.5
