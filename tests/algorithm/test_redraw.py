"""Rounds of rows drawn anew."""

from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.cluster import DBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF
from cohirf.algorithm import redraw
from cohirf.algorithm.fusions import Fusions
from cohirf.algorithm.levels import ActiveRows, LevelRecord
from cohirf.algorithm.population import Population
from cohirf.algorithm.redraw import Bonds, _fuse, _record, draw_batches, find_bonds, find_roots_of, redraw_rounds
from cohirf.algorithm.storage import ArrayRows, MemoryStorage
from cohirf.datasets import make_spheres


class Islands(BaseEstimator):
    """Joins rows on a line with no gap above 0.2 between neighbours; rows without such a neighbour are noise."""

    def fit_predict(self, X):
        order = np.argsort(X[:, 0])
        labels = np.empty(len(X), dtype=int)
        labels[order] = np.concatenate([[0], np.cumsum(np.diff(X[order, 0]) > 0.2)])
        return np.where(np.bincount(labels)[labels] > 1, labels, -1)


def population(n_rows):
    return Population(ArrayRows(np.zeros((n_rows, 1))))


@pytest.mark.parametrize(("n_active", "batch_size", "n_batches"), [(3, 10, 1), (5, 10, 1), (6, 10, 2), (40, 10, 8)])
def test_active_rows_fill_half_batches_and_other_rows_the_rest(n_active, batch_size, n_batches):
    active = np.arange(n_active) * 2
    batches = draw_batches(active, population(100), batch_size, np.random.default_rng(0))
    assert len(batches) == n_batches
    assert all((np.diff(batch) > 0).all() for batch in batches)
    assert all(len(batch) <= batch_size for batch in batches)
    assert set(active) <= set(np.concatenate(batches))


def test_data_smaller_than_a_batch_is_drawn_whole():
    (batch,) = draw_batches(np.array([1, 3]), population(5), 100, np.random.default_rng(0))
    assert {1, 3} <= set(batch.tolist()) <= set(range(5))


def test_rows_belong_to_the_end_of_their_chain_of_parents():
    parents = np.array([1, 2, 2, 3, 0])
    assert find_roots_of(parents, np.array([0, 3, 4])).tolist() == [2, 3, 2]


def test_a_cluster_is_linked_to_a_group_by_two_of_its_rows_or_by_all_of_them():
    batch = SimpleNamespace(labels=np.array([0, 0, 1, 1, 1, 2]), rows_out=3)
    bonds = find_bonds(np.array([10, 10, 10, 20, 30, 30]), batch)
    assert (bonds.roots.tolist(), bonds.groups.tolist(), bonds.n_rows.tolist()) == ([10, 20], [0, 1], [2, 1])
    assert (bonds.n_groups, bonds.batch) == (3, batch)


def fuse(bonds, X, column_means=None):
    """Fuse clusters of eight rows at level 3; the row that is linked by most rows becomes the medoid."""
    fusions = Fusions.none(np.zeros(8, np.float32), 3, MemoryStorage())
    state = SimpleNamespace(fusions=fusions, active=ActiveRows(ArrayRows(X)))
    given = []

    def choose_heaviest(values, labels, n_clusters, mass, rng):
        given.append(values)
        return np.array([max(np.flatnonzero(labels == k), key=lambda row: mass[row]) for k in range(n_clusters)])

    contraction = SimpleNamespace(
        column_means=column_means, views=SimpleNamespace(entropy=(0,)), choose_medoids=choose_heaviest
    )
    absorbed = _fuse(state, contraction, bonds, level=3)
    return absorbed.tolist(), fusions.parents.tolist(), fusions.absorbed_at.tolist(), given


def test_clusters_that_are_linked_to_the_same_group_fuse_directly_or_through_others():
    bonds = [
        Bonds(np.array([0, 2, 4]), np.array([0, 0, 1]), np.array([2, 3, 2]), 2, None),
        Bonds(np.array([1, 4, 6, 7]), np.array([0, 1, 1, 2]), np.array([9, 5, 2, 2]), 3, None),
    ]
    X = np.arange(16.0).reshape(8, 2)
    absorbed, parents, absorbed_at, given = fuse(bonds, X)
    assert absorbed == [0, 6]
    assert parents == [2, 1, 2, 3, 4, 5, 4, 7]
    assert absorbed_at == [3, 0, 0, 0, 0, 0, 3, 0]
    assert given[0].tolist() == X[[0, 2, 4, 6]].tolist()
    bonds[1] = Bonds(np.array([2, 4]), np.array([0, 0]), np.array([1, 1]), 1, None)
    assert fuse(bonds, X)[1] == [2, 1, 2, 3, 2, 5, 6, 7]


def test_clusters_that_share_no_group_stay_apart():
    bonds = [Bonds(np.array([0, 2]), np.array([0, 1]), np.array([2, 2]), 2, None)]
    assert fuse(bonds, np.zeros((8, 1))) == ([], list(range(8)), [0] * 8, [])


def test_missing_cells_are_filled_before_medoids_are_chosen():
    bonds = [Bonds(np.array([0, 2]), np.array([0, 0]), np.array([2, 3]), 1, None)]
    X = np.where(np.arange(8) == 2, np.nan, 1.0)[:, None]
    assert fuse(bonds, X, column_means=np.array([7.0]))[3][0].tolist() == [[1.0], [7.0]]


@pytest.mark.parametrize(
    ("idle", "n_active", "max_rounds", "n_rounds"),
    [
        ([1, 0, 1, 1, 0], [5] * 6, 20, 4),
        ([0, 0, 0], [5, 4, 3, 1], 20, 3),
        ([0, 0, 0], [5] * 4, 2, 2),
        ([], [1], 20, 0),
        ([0], [5] * 2, 0, 0),
    ],
    ids=["two idle rounds in a row", "one cluster is left", "most rounds", "one cluster from the start", "none"],
)
def test_rounds_end_when_nothing_is_left_to_fuse(idle, n_active, max_rounds, n_rounds, monkeypatch):
    rounds = iter([SimpleNamespace(idle_levels=level, n_active=n) for level, n in zip(idle, n_active[1:], strict=True)])
    monkeypatch.setattr(redraw, "redraw_round", lambda *_: next(rounds))
    first = SimpleNamespace(n_active=n_active[0])
    assert len(list(redraw_rounds(None, None, first, None, max_rounds, None))) == n_rounds


def test_the_record_of_a_round_has_means_over_its_batches_and_sums_of_seconds():
    def bonds_of(*costs):
        batch = SimpleNamespace(survivors=SimpleNamespace(batch_costs=np.array([costs])))
        return Bonds(np.array([0]), np.array([0]), np.array([2]), 1, batch)

    first, second = bonds_of(2, 0.5, 0.5, 1.0, 2.0, 4.0), bonds_of(1, 1.0, 1.0, 8.0, 16.0, 32.0)
    assert _record(7, 40, 30, [first, second]) == LevelRecord(
        level=7,
        n_batches=2,
        rows_in=40,
        rows_held_aside=0,
        rows_out=30,
        views_kept=1.5,
        agreement=0.75,
        stability=0.75,
        base_seconds=9.0,
        consensus_seconds=18.0,
        medoid_seconds=36.0,
    )


@pytest.mark.parametrize("seed", range(3))
def test_redraws_mend_what_thin_batches_leave_apart(seed):
    X, y = make_spheres(4000, random_state=seed)
    options = {"estimator": DBSCAN(eps=0.3), "n_views": 1, "batch_size": 200, "random_state": seed}
    with pytest.warns(match="too thin"):
        alone = CoHiRF.as_published(**options).fit(X)
    mended = CoHiRF.as_published(**options, redraws=20).fit(X)
    assert adjusted_rand_score(y, alone.labels_) < 0.95
    assert adjusted_rand_score(y, mended.labels_) > 0.95
    assert mended.n_iter_ <= alone.n_iter_ + 20


def test_redraws_leave_apart_what_is_apart():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.uniform(0, 10, 500), rng.uniform(11, 21, 500), [30.0, 40.0]])[:, None]
    options = {"n_views": 1, "medoid": "euclidean", "batch_size": 200, "random_state": 0}
    with pytest.warns(match="too thin"):
        alone = CoHiRF.as_published(Islands(), **options).fit(X)
    redrawn = CoHiRF.as_published(Islands(), **options, redraws=20).fit(X)
    parts = [set(redrawn.labels_[part].tolist()) for part in (slice(500), slice(500, 1000), [1000], [1001])]
    assert len(set.union(*parts)) == sum(map(len, parts))
    assert redrawn.n_clusters_ < alone.n_clusters_


def test_rounds_extend_the_hierarchy_and_the_diagnostics():
    X, _ = make_spheres(4000, random_state=0)
    model = CoHiRF.as_published(DBSCAN(eps=0.3), n_views=1, batch_size=200, redraws=20, random_state=0).fit(X)
    records = model.diagnostics_
    assert [record.level for record in records] == list(range(1, model.n_iter_ + 1))
    assert [record.rows_in for record in records[1:]] == [record.rows_out for record in records[:-1]]
    for record in records[: model.hierarchy_.n_levels]:
        assert len(np.unique(model.hierarchy_.cut(level=record.level))) == record.rows_out


def test_rounds_end_after_two_that_fuse_nothing():
    X, _ = make_spheres(4000, random_state=0)
    options = {"estimator": DBSCAN(eps=0.3), "n_views": 1, "batch_size": 2000, "random_state": 0}
    alone = CoHiRF.as_published(**options).fit(X)
    redrawn = CoHiRF.as_published(**options, redraws=20).fit(X)
    assert redrawn.n_iter_ == alone.n_iter_ + 2
    assert (redrawn.labels_ == alone.labels_).all()


class Weighed(Islands):
    """Islands that remember the weights of each call."""

    seen: ClassVar[list] = []

    def fit_predict(self, X, sample_weight=None):
        self.seen.append(sample_weight)
        return super().fit_predict(X)


def test_rows_count_with_their_own_weight_in_a_round_and_not_with_the_mass_of_a_medoid():
    X = np.random.default_rng(0).uniform(0, 5, (200, 1)) + 10 * np.arange(2).repeat(100)[:, None]
    options = {"n_views": 1, "batch_size": 100, "redraws": 1, "random_state": 0, "medoid_weights": True}
    CoHiRF.as_published(Weighed(), **options).fit(X, sample_weight=np.full(200, 3.0))
    assert (Weighed.seen[-1] == 3).all()


def test_a_method_that_is_told_the_number_of_clusters_is_refused():
    with pytest.raises(ValueError, match=r"redraws=5 cannot be combined .* and KMeans has n_clusters=3"):
        CoHiRF.as_published(KMeans(3), redraws=5).fit(np.zeros((10, 2)))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_rounds_do_not_depend_on_how_views_run(n_jobs):
    X, _ = make_spheres(2000, random_state=0)
    options = {"max_features": 1.0, "n_views": 2, "batch_size": 200, "redraws": 3, "random_state": 0}
    found = CoHiRF.as_published(DBSCAN(eps=0.35), n_jobs=n_jobs, **options).fit(X)
    assert (found.labels_ == CoHiRF.as_published(DBSCAN(eps=0.35), **options).fit(X).labels_).all()
