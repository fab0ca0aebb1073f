"""Random batches that are too thin for the base method."""

import warnings

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, KMeans
from sklearn.exceptions import ConvergenceWarning

from cohirf import CoHiRF, ThinBatchesWarning
from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.levels import LevelRecord
from cohirf.beyond.reach import explain_thin_batches

UNIFORM = np.random.default_rng(0).random((600, 2))


def record(rows_in=1000, rows_held_aside=200, rows_out=1000):
    costs = dict.fromkeys(("views_kept", "agreement", "stability"), 1.0)
    seconds = dict.fromkeys(("base_seconds", "consensus_seconds", "medoid_seconds"), 0.0)
    counts = {"rows_in": rows_in, "rows_held_aside": rows_held_aside, "rows_out": rows_out}
    return LevelRecord(level=1, n_batches=4, **counts, **costs, **seconds)


def test_the_rows_that_a_first_level_left_active_are_counted():
    message = explain_thin_batches(record(rows_out=800), BaseMethod.of(DBSCAN()))
    assert "in its 4 random batches: it left 75% of them active" in message
    assert 'Use batches="local", or a larger batch_size.' in message


def test_half_of_the_rows_fused_is_enough():
    assert explain_thin_batches(record(rows_out=600), BaseMethod.of(DBSCAN())) is None
    assert explain_thin_batches(record(rows_out=601), BaseMethod.of(DBSCAN())) is not None


def test_a_single_batch_is_not_thin():
    assert explain_thin_batches(record(rows_held_aside=0), BaseMethod.of(DBSCAN())) is None


def test_a_method_that_is_told_the_number_of_clusters_is_not_judged():
    assert explain_thin_batches(record(), BaseMethod.of(KMeans(3))) is None


def test_a_fit_in_thin_random_batches_warns_once_and_stops():
    model = CoHiRF(DBSCAN(eps=0.06), batches="random", batch_size=60, random_state=0)
    with pytest.warns(ThinBatchesWarning, match="random batch is thinner than the data") as warned:
        model.fit(UNIFORM)
    assert (
        len([warning for warning in warned if issubclass(warning.category, ConvergenceWarning)])
        == 1
    )
    assert model.n_iter_ == 1


def test_local_batches_are_not_thin():
    model = CoHiRF(DBSCAN(eps=0.06), batches="local", batch_size=60, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ThinBatchesWarning)
        model.fit(UNIFORM)
