"""Which rows ``batch_size="auto"`` measures."""

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, HDBSCAN, KMeans

from cohirf import CoHiRF
from cohirf.fitting import begin

POINTS = np.random.default_rng(0).uniform(size=(5000, 2))


class MeasuredError(Exception):
    """What was to be measured."""


@pytest.fixture
def measured(monkeypatch):
    def find(model):
        def stop(read_sample, n_rows, contraction, **options):
            raise MeasuredError(read_sample, options)

        monkeypatch.setattr(begin, "plan_batches", stop)
        with pytest.raises(MeasuredError) as caught:
            model.fit(POINTS)
        return caught.value.args

    return find


def area(points):
    return np.prod(np.ptp(points, axis=0))


def test_local_batches_are_measured_with_their_density(measured):
    read_sample, options = measured(CoHiRF(DBSCAN(eps=0.1), batch_size="auto"))
    assert len(read_sample(200)) == 200
    assert area(read_sample(200)) < 0.1  # 200 of 5,000 rows around a row
    assert options["overlap"] == 1
    assert options["n_readable"] == 5000


@pytest.mark.parametrize(
    "model",
    [CoHiRF(KMeans(3), batch_size="auto"), CoHiRF(DBSCAN(eps=0.1), batch_size="auto", batches="random")],
    ids=["KMeans", "random"],
)
def test_random_batches_are_measured_on_random_rows(measured, model):
    read_sample, options = measured(model)
    assert area(read_sample(200)) > 0.8
    assert "overlap" not in options


def test_hdbscan_is_not_measured_because_it_is_not_called(monkeypatch):
    monkeypatch.setattr(begin, "plan_batches", None)
    model = CoHiRF(HDBSCAN(copy=True), batch_size="auto").fit(POINTS)
    assert model.labels_.shape == (5000,)
