"""The estimator gives what a literal transcription of the batched algorithm gives."""

import warnings
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.exceptions import ConvergenceWarning

from cohirf import CoHiRF, ThinBatchesWarning, open_source
from cohirf.engines import local
from cohirf.fitting import settings as contraction
from reference import TieError
from reference_batched import BatchedCoHiRF

# Random data may fuse nothing, which the fit says.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Nothing fused:sklearn.exceptions.ConvergenceWarning"
)


class MassBins(ClusterMixin, BaseEstimator):
    """Cuts the rows, in their order along a random direction, into bins of about equal mass.

    Rows of which no more are distinct than there are bins are not cut: the package does not ask
    any method to split identical rows.
    """

    def __init__(self, n_clusters=3, noise=False, random_state=None):
        self.n_clusters = n_clusters
        self.noise = noise
        self.random_state = random_state

    def fit(self, X, y=None, sample_weight=None):
        distinct = np.unique(X, axis=0, return_inverse=True)[1].ravel()
        if distinct.max() + 1 <= min(self.n_clusters, len(X) - 1):
            self.labels_ = distinct
            return self
        direction = np.random.RandomState(self.random_state).randint(-2, 3, X.shape[1])
        order = np.argsort(np.round(X @ direction, 6), kind="stable")
        mass = np.cumsum(np.ones(len(X)) if sample_weight is None else sample_weight[order])
        self.labels_ = np.empty(len(X), dtype=int)
        self.labels_[order] = np.ceil(mass / mass[-1] * self.n_clusters) - 1
        if self.noise:
            self.labels_[order[0]] = -1
        return self


class Cells(ClusterMixin, BaseEstimator):
    """Puts rows of the same cell of a grid together."""

    def __init__(self, width=1.0):
        self.width = width

    def fit(self, X, y=None):
        self.labels_ = np.unique(np.floor(X / self.width), axis=0, return_inverse=True)[1].ravel()
        return self


def points(n, p=3, seed=0, step=1 / 8):
    """Rows around a few centres, in multiples of a step that is a power of two: sums are exact, so
    ties are real.
    """
    rng = np.random.default_rng(seed)
    centres = rng.integers(-4, 5, (4, p))
    return np.round((centres[rng.integers(4, size=n)] + rng.normal(0, 0.5, (n, p))) / step) * step


def quarters(n, seed=0, lightest=1):
    """Sample weights from 1/4, or 0, to 3, whose sums are exact."""
    return np.random.default_rng(seed).integers(lightest, 13, n) / 4


def assert_same_as_reference(
    X, base, *, in_order=False, sample_weight=None, n_jobs=None, **options
):
    """Compare all results of a fit with those of the reference.

    Return these, and the warnings of the fit.
    """
    options = {"views": 3, "max_features": 0.7, "random_state": 0} | options
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = CoHiRF.as_published(base, n_jobs=n_jobs, **options)
        model.fit(open_source(X) if in_order else X, sample_weight=sample_weight)
    messages = [
        str(warning.message)
        for warning in caught
        if issubclass(warning.category, ConvergenceWarning)
    ]
    expected = BatchedCoHiRF(estimator=base, in_order=in_order, **options).fit(X, sample_weight)
    assert model.parents_.tolist() == list(expected.parent.values())
    assert model.hierarchy_.parents.tolist() == list(expected.parent.values())
    assert model.hierarchy_.absorbed_at.tolist() == list(expected.absorbed_at.values())
    assert model.labels_.tolist() == list(expected.labels.values())
    assert model.medoid_indices_.tolist() == expected.medoids
    assert (model.medoids_ == X[expected.medoids]).all()
    assert model.n_iter_ == len(expected.levels)
    for record, level in zip(model.diagnostics_, expected.levels, strict=True):
        assert {name: getattr(record, name) for name in vars(level)} == vars(level)
    np.testing.assert_allclose(model.stability_, list(expected.stability.values()), rtol=1e-6)
    return expected, messages


BASES = {
    "kmeans": KMeans(3, n_init=1),
    "dbscan": DBSCAN(eps=2.0, min_samples=2),
    "cells": Cells(8.0),
    "bins": MassBins(3, noise=True),
}
CONSENSUS = {
    "strict": {},
    "relaxed": {"consensus": 0.7},
    "majority": {"consensus": "majority"},
}
IN_ORDER = pytest.mark.parametrize("in_order", [False, True], ids=["array", "source"])
IN_ORDER_SLOWLY = pytest.mark.parametrize(
    "in_order", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["array", "source"]
)


@pytest.mark.parametrize(("consensus", "in_order"), [("strict", False), ("relaxed", True)], ids=str)
@pytest.mark.parametrize("base", BASES)
def test_batches_of_several_levels_equal_the_literal_algorithm(base, consensus, in_order):
    fit, _ = assert_same_as_reference(
        points(48), BASES[base], in_order=in_order, batch_size=8, **CONSENSUS[consensus]
    )
    assert fit.levels[0].n_batches == 5
    assert fit.levels[1].n_batches > 1
    assert all(level.rows_held_aside > 0 for level in fit.levels[:3])


@pytest.mark.parametrize(
    ("base", "medoid_weights", "in_order"),
    [
        ("kmeans", False, True),
        ("kmeans", True, False),
        ("dbscan", False, False),
        ("dbscan", True, True),
    ],
)
def test_majorities_in_batches_equal_the_literal_algorithm(base, medoid_weights, in_order):
    options = {
        "batch_size": 8,
        "views": 5,
        "medoid_weights": medoid_weights,
        **CONSENSUS["majority"],
    }
    for seed in range(20):
        with suppress(TieError):
            assert_same_as_reference(
                points(30, 4, seed), BASES[base], in_order=in_order, random_state=seed, **options
            )
            return
    pytest.fail("Every fit has ties.")


@pytest.mark.parametrize(
    ("base", "medoid_weights", "in_order"),
    [
        ("kmeans", False, True),
        ("kmeans", True, False),
        ("bins", False, False),
        ("bins", True, True),
    ],
)
def test_weighted_batches_equal_the_literal_algorithm(base, medoid_weights, in_order):
    weights = quarters(44, lightest=0)
    assert np.count_nonzero(weights == 0) > 2
    X = points(44, step=2**-20)  # no two rows are equally near to one of weight 0
    fit, _ = assert_same_as_reference(
        X,
        BASES[base],
        in_order=in_order,
        batch_size=8,
        medoid_weights=medoid_weights,
        sample_weight=weights,
    )
    assert fit.levels[1].n_batches > 1


@IN_ORDER_SLOWLY
def test_batches_that_run_at_the_same_time_equal_the_literal_algorithm(in_order):
    fit, _ = assert_same_as_reference(
        points(60), BASES["bins"], in_order=in_order, batch_size=6, n_jobs=2
    )
    assert fit.levels[0].n_batches == 9


@IN_ORDER_SLOWLY
def test_batches_in_processes_equal_the_literal_algorithm(in_order, monkeypatch):
    monkeypatch.setattr(local, "_are_processes_running", lambda _: True)
    monkeypatch.setitem(vars(local.LOCAL), "warm_seconds", 0.0)
    monkeypatch.setattr(local, "_last_used", {})
    fit, _ = assert_same_as_reference(
        points(60), BASES["dbscan"], in_order=in_order, batch_size=6, n_jobs=2
    )
    assert fit.levels[0].n_batches == 9
    assert 2 in local._last_used  # two processes have finished


@IN_ORDER
# cosine is the default of all others
@pytest.mark.parametrize("medoid", ["euclidean", "rbf", "laplacian"])
def test_medoids_of_batches_equal_the_literal_algorithm(medoid, in_order):
    options = {"medoid": medoid, "medoid_weights": True, "min_cluster_size": 9, "views": 1}
    fit, _ = assert_same_as_reference(
        points(60), BASES["bins"], in_order=in_order, batch_size=12, **options
    )
    assert {-1, 0} <= set(fit.labels.values())


@pytest.mark.parametrize(("max_candidates", "in_order"), [(1, False), (3, True)])
def test_candidates_of_batches_equal_the_literal_algorithm(max_candidates, in_order, monkeypatch):
    monkeypatch.setitem(vars(contraction.GROUP), "candidates", max_candidates)
    options = {"medoid": "rbf", "views": 2}
    for base in (MassBins(2), DBSCAN(eps=2.0, min_samples=3)):
        assert_same_as_reference(points(60), base, in_order=in_order, batch_size=15, **options)


@pytest.mark.exact
@pytest.mark.parametrize(("n_clusters", "in_order"), [(6, True), (8, False)])
def test_companions_of_medoids_equal_the_literal_algorithm(n_clusters, in_order):
    # Most batches are smaller than batch_size, so that there is room for companions.
    options = {"batch_size": 20, "views": 2, "medoid_weights": True}
    for seed in range(3):
        X = points(94, seed=seed)
        assert_same_as_reference(
            X, AgglomerativeClustering(n_clusters), in_order=in_order, random_state=seed, **options
        )


@IN_ORDER
def test_levels_end_when_two_in_a_row_merge_nothing(in_order):
    X = 8.0 * np.arange(40)[:, None]
    # more than a batch has
    fit, messages = assert_same_as_reference(X, KMeans(13), in_order=in_order, batch_size=10)
    assert [level.merged for level in fit.levels] == [False, False]
    assert messages[0].startswith(
        "Levels 1 and 2 merged nothing in any batch: 40 clusters are left."
    )


@IN_ORDER
@pytest.mark.parametrize("max_iter", [1, 2])
def test_levels_end_at_max_iter(max_iter, in_order):
    fit, messages = assert_same_as_reference(
        points(40), BASES["kmeans"], in_order=in_order, batch_size=8, max_iter=max_iter
    )
    assert len(fit.levels) == max_iter
    assert f"max_iter={max_iter} was reached" in messages[0]


@IN_ORDER_SLOWLY
def test_a_fit_of_thin_batches_goes_on_as_the_literal_algorithm_does(in_order):
    X = np.random.default_rng(0).random((200, 2))
    fit, messages = assert_same_as_reference(
        X, DBSCAN(eps=0.12, min_samples=3), in_order=in_order, batch_size=10
    )
    assert len(fit.levels) > 1
    assert any('Use batches="local"' in message for message in messages)


def test_with_other_defaults_a_fit_of_thin_batches_ends_after_the_first_level():
    X = np.random.default_rng(0).random((200, 2))
    model = CoHiRF(DBSCAN(eps=0.12, min_samples=3), batch_size=10, batches="random", random_state=0)
    with pytest.warns(ThinBatchesWarning, match="The fit stops here"):
        model.fit(X)
    assert model.n_iter_ == 1


bases = st.one_of(
    st.builds(MassBins, n_clusters=st.integers(1, 6), noise=st.booleans()),
    st.builds(DBSCAN, eps=st.sampled_from([0.5, 1.5, 4.0]), min_samples=st.integers(1, 4)),
)


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(
    X=st.builds(points, n=st.integers(1, 40), p=st.integers(1, 4), seed=st.integers(0, 1000)),
    base=bases,
    in_order=st.booleans(),
    lightest=st.sampled_from([None, 0, 1]),
    consensus=st.sampled_from(list(CONSENSUS)),
    options=st.fixed_dictionaries(
        {
            "batch_size": st.integers(2, 20),
            "views": st.sampled_from([1, 2, 3]),
            "max_features": st.sampled_from([0.3, 0.6, 1.0]),
            "medoid": st.sampled_from(["cosine", "euclidean", "rbf", "laplacian"]),
            "medoid_weights": st.booleans(),
            "min_cluster_size": st.sampled_from([1, 3]),
            "max_iter": st.sampled_from([1, 2, 100]),
            "random_state": st.integers(0, 1000),
        }
    ),
)
def test_every_fit_equals_the_literal_algorithm(X, base, in_order, lightest, consensus, options):
    weights = None if lightest is None else quarters(len(X), seed=len(X), lightest=lightest)
    if weights is not None:
        weights[-1] = 1
    try:
        assert_same_as_reference(
            X, base, in_order=in_order, sample_weight=weights, **CONSENSUS[consensus] | options
        )
    except TieError:
        reject()


@pytest.mark.parametrize(
    ("base", "parts", "options"),
    [
        ("kmeans", (46,), {}),
        ("kmeans", (11, 1, 30, 4), {}),
        ("bins", (5, 5, 20, 16), {"medoid_weights": True}),
        ("bins", (11, 1, 30, 4), CONSENSUS["relaxed"]),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_updates_equal_the_literal_algorithm_with_blocks_in_order(base, options, parts):
    X = points(46)
    weights = quarters(46)
    options = {"views": 3, "max_features": 0.7, "random_state": 0, "batch_size": 8} | options
    model = CoHiRF.as_published(BASES[base], **options)
    stops = np.cumsum(parts)
    for stop, n_rows in zip(stops, parts, strict=True):
        model.partial_fit(X[stop - n_rows : stop], sample_weight=weights[stop - n_rows : stop])
    expected = BatchedCoHiRF(estimator=BASES[base], in_blocks=True, **options).fit(X, weights)
    assert expected.levels[0].n_batches == 5
    assert expected.levels[0].rows_held_aside == 6
    assert model.parents_.tolist() == list(expected.parent.values())
    assert model.hierarchy_.absorbed_at.tolist() == list(expected.absorbed_at.values())
    assert sorted(model.medoid_indices_.tolist()) == sorted(expected.medoids)
    for record, level in zip(model.diagnostics_, expected.levels, strict=True):
        assert {name: getattr(record, name) for name in vars(level)} == vars(level)
    np.testing.assert_allclose(model.stability_, list(expected.stability.values()), rtol=1e-6)
