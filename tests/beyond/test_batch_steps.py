"""Batches with borders, halos, known labels and companions."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, AgglomerativeClustering

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.batches import Run
from cohirf.algorithm.choose_medoids import choose_central_medoids, euclidean_centrality
from cohirf.algorithm.consensus import strict_consensus
from cohirf.algorithm.contract_batch import Contraction
from cohirf.algorithm.get_clusters import Views
from cohirf.algorithm.runs import PAPER, RunTask, contract_run
from cohirf.beyond.batch_steps import (
    KnownLabels,
    LinkedRun,
    Links,
    WithCompanions,
    WithHalos,
    WithinBorders,
)
from cohirf.beyond.local_batches import LocalRun
from cohirf.rows.storage import ArrayRows, SerialEngine

X = np.array([[0.0], [9.0], [1.0], [10.0], [2.0]])
MASS = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
CENTRAL = partial(choose_central_medoids, centrality=euclidean_centrality)


def contraction(base=None, n_views=3, **options):
    base = base or DBSCAN(eps=1.5, min_samples=1)
    views = Views(BaseMethod.of(base), n_views=n_views, n_features=1, entropy=(7,))
    return Contraction(views, strict_consensus, CENTRAL, batch_size=None, **options)


def contract(steps, rows=X, mass=None, what=None, run=None):
    """Contract one batch of all rows."""
    run = run or Run(np.array([0, len(rows)]), np.arange(0))
    task = RunTask(run, 2, ArrayRows(rows), mass, steps=steps.of_run(run, run, 2))
    return contract_run(task, what or contraction(), SerialEngine())


def with_halo(halo, base, mass=None):
    """Contract the rows of X with a halo of other rows."""
    run = LocalRun(
        np.array([0, 5]),
        np.arange(0),
        indices=np.arange(5),
        halos=(np.arange(5, 5 + len(halo)),),
    )
    what = contraction(base, n_views=1, weighted=mass is not None, sum_mass=mass is not None)
    everything = None if mass is None else np.append(mass, np.ones(len(halo)))
    steps = WithHalos(None, everything)
    return contract(steps, np.vstack([X, halo]), mass, what, run)


def test_known_labels_take_the_place_of_the_base_method():
    found = contract(KnownLabels(None, np.array([0, 0, 1, 1, 1])))
    assert found.survivors.rows.tolist() == [0, 4]
    assert found.labels.tolist() == [0, 0, 1, 1, 1]
    assert found.survivors.view_stability.tolist() == [[1, 1, 1]]
    assert found.stability.tolist() == [1] * 5
    assert found.survivors.batch_costs[0, :4].tolist() == [3, 1.0, 1.0, 0.0]


def test_groups_do_not_reach_over_borders():
    sides = np.array([7, 7, 7, 7, 3])
    found = contract(WithinBorders(sides))
    assert found.labels.tolist() == [0, 1, 0, 1, 2]
    known = contract(KnownLabels(sides, np.zeros(5, dtype=np.int64)))
    assert known.labels.tolist() == [0, 0, 0, 0, 1]


def test_a_run_has_the_borders_and_labels_of_its_own_rows():
    run = Run(np.array([0, 2]), np.arange(0), start=3)
    steps = KnownLabels(np.arange(10), np.arange(10, 20)).of_run(run, run, 1)
    assert steps.sides.tolist() == [3, 4]
    assert steps.labels.tolist() == [13, 14]


@pytest.mark.parametrize(
    "base", [DBSCAN(eps=1.5, min_samples=1), AgglomerativeClustering(None, distance_threshold=3)]
)
def test_rows_of_the_halo_are_clustered_and_not_contracted(base):
    # beside the first cluster, in a cluster of its own, and in the second cluster
    found = with_halo([[3.0], [50.0], [10.5]], base, MASS)
    first, second = found.survivors.rows[found.labels[:2]]
    assert (found.survivors.rows[found.labels] == [first, second, first, second, first]).all()
    assert sorted(found.survivors.mass.tolist()) == [10, 21]
    assert len(found.stability) == 5
    assert found.links.rows.tolist() == [5, 7]
    assert found.links.survivors.tolist() == [first, second]
    assert found.links.by_core is isinstance(base, DBSCAN)


def test_rows_of_the_halo_that_are_not_core_rows_are_left_out():
    found = with_halo([[3.0], [4.0]], DBSCAN(eps=1.5, min_samples=3))
    assert found.links.rows.tolist() == [5]  # 4 has one neighbour, and 3 has two
    assert found.survivors.rows.tolist() == [1, 2, 3]
    assert found.survivors.is_noise.tolist() == [True, False, True]


def test_noise_of_the_halo_is_not_noise_of_the_batch():
    found = with_halo([[50.0]], DBSCAN(eps=1.5, min_samples=2))
    assert not found.survivors.is_noise.any()
    assert found.links.rows.tolist() == []


def test_a_halo_links_nothing_over_borders():
    run = LocalRun(np.array([0, 5]), np.arange(0), indices=np.arange(5), halos=(np.array([5]),))
    found = contract(WithHalos(np.full(5, 4)), np.vstack([X, [[3.0]]]), run=run)
    assert found.links.rows.tolist() == []


def test_batches_with_empty_halos_have_no_links():
    run = LocalRun(np.array([0, 5]), np.arange(0), indices=np.arange(5), halos=(np.arange(0),))
    found = contract(WithHalos(None), run=run)
    assert isinstance(found, LinkedRun)
    assert found.links is None


def test_links_are_by_core_rows_if_all_of_them_are():
    one = Links(np.array([1, 4]), np.array([7, 7]), True)
    two = Links(np.array([2]), np.array([9]), True)
    joined = Links.join(iter([one, two]))
    assert joined.rows.tolist() == [1, 4, 2]
    assert joined.survivors.tolist() == [7, 7, 9]
    assert joined.by_core
    assert not Links.join([one, replace(two, by_core=False)]).by_core


def test_companions_are_seen_by_the_base_method():
    between = np.array([[3.0], [4.0], [5.0], [6.0], [7.0], [8.0]])
    assert contract(PAPER).labels.tolist() == [1, 0, 1, 0, 1]
    found = contract(WithCompanions(lambda medoids, place: between))
    assert found.labels.tolist() == [0, 0, 0, 0, 0]


def test_a_method_that_finds_a_cluster_for_each_medoid_sees_no_companions():
    what = contraction(AgglomerativeClustering(5))
    found = contract(WithCompanions(lambda medoids, place: X + 0.5), what=what)
    assert found.labels.tolist() == [0, 1, 2, 3, 4]
