"""Which rows ``batch_size="auto"`` measures."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import DBSCAN, HDBSCAN, OPTICS, KMeans

from cohirf import CoHiRF
from cohirf.fitting import begin, locality

POINTS = np.random.default_rng(0).uniform(size=(5000, 2))


class MeasuredError(Exception):
    """What was to be measured."""


@pytest.fixture
def measured(monkeypatch):
    def find(model):
        def stop(read_sample, n_rows, contraction, room, **options):
            raise MeasuredError(read_sample, options)

        monkeypatch.setattr(begin, "plan_batches", stop)
        with pytest.raises(MeasuredError) as caught:
            model.fit(POINTS)
        return caught.value.args

    return find


def area(points):
    return np.prod(np.ptp(points, axis=0))


def test_local_batches_are_measured_with_their_density(measured):
    read_sample, options = measured(CoHiRF(OPTICS(max_eps=0.1), batch_size="auto"))
    assert len(read_sample(200)) == 200
    assert area(read_sample(200)) < 0.1  # 200 of 5,000 rows around a row
    assert options["overlap"] == 1
    assert options["n_readable"] == 5000


@pytest.mark.parametrize(
    "model",
    [
        CoHiRF(KMeans(3), batch_size="auto"),
        CoHiRF(DBSCAN(eps=0.1), batch_size="auto", batches="random"),
    ],
    ids=["KMeans", "random"],
)
def test_random_batches_are_measured_on_random_rows(measured, model):
    read_sample, options = measured(model)
    assert area(read_sample(200)) > 0.8
    assert "overlap" not in options


@pytest.mark.parametrize("method", [HDBSCAN(copy=True), DBSCAN(eps=0.1)], ids=["HDBSCAN", "DBSCAN"])
def test_methods_that_are_computed_are_not_measured(monkeypatch, method):
    monkeypatch.setattr(begin, "plan_batches", None)
    model = CoHiRF(method, batch_size="auto").fit(POINTS)
    assert model.diagnostics_[0].n_batches == 1


def test_dbscan_is_one_batch_while_memory_has_room(monkeypatch):
    monkeypatch.setitem(vars(locality.LOCAL), "density_rows", 1000)
    model = CoHiRF(DBSCAN(eps=0.03), batch_size="auto", random_state=0)
    whole = clone(model).fit(POINTS)
    monkeypatch.setitem(vars(locality.LOCAL), "density_bytes", 2**60)
    parts = model.fit(POINTS)
    assert whole.batch_size_ is None
    assert parts.diagnostics_[0].n_batches > 3
    np.testing.assert_array_equal(parts.labels_, whole.labels_)


def test_many_neighbours_that_follow_from_the_size_of_clusters_are_told_before_the_work(
    monkeypatch,
):
    monkeypatch.setitem(vars(begin.WARNING), "rows", 1000)
    seconds = 5000 * 100 * begin.WARNING.seconds_per_sample
    monkeypatch.setitem(vars(begin.WARNING), "seconds", seconds)
    for silent in (HDBSCAN(99, copy=True), HDBSCAN(100, min_samples=10, copy=True)):
        CoHiRF(silent, batch_size=2000, random_state=0).fit(POINTS)  # warnings are errors
    began = []
    monkeypatch.setattr(
        "cohirf.fitting.fit.Fit.plan_local", lambda self: began.append(self) or 1 / 0
    )
    with (
        pytest.warns(UserWarning, match=r"min_cluster_size=100.*5,000 rows. Set min_samples=10"),
        pytest.raises(ZeroDivisionError),
    ):
        CoHiRF(HDBSCAN(100, copy=True), batch_size=2000, random_state=0).fit(POINTS)
    assert len(began) == 1
