"""HDBSCAN in local batches: its own labels, from the spanning trees of the batches."""

import sys

import hdbscan
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.cluster import HDBSCAN
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix

from cohirf import CoHiRF, open_source
from cohirf.fitting import locality
from cohirf.spanning import join_batches, spanning_labels
from cohirf.spanning.found_in_runs import SpannedRun
from resumable import result

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
BASE = HDBSCAN(min_cluster_size=30, copy=True)


@pytest.fixture(autouse=True)
def several_batches(monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setitem(vars(locality.LOCAL), "spanned_rows", 1)


@pytest.fixture(scope="module")
def moons():
    rng = np.random.default_rng(0)
    return np.concatenate(
        [make_moons(1500, noise=0.05, random_state=0)[0], rng.uniform(-1.5, 2.5, (150, 2))]
    )


@pytest.fixture(scope="module")
def alone(moons):
    return BASE.fit_predict(moons)


def fit(X, **options):
    return CoHiRF(BASE, batch_size=400, random_state=0, **options).fit(X)


def test_the_clusters_are_those_of_all_rows(moons, alone):
    model = fit(moons)
    first, fused = model.diagnostics_
    assert (first.kind, fused.kind) == ("spanning", "fused")
    assert first.n_batches == 7
    assert first.base_seconds > 0
    assert adjusted_rand_score(model.labels_, alone) > 0.99
    assert ((model.labels_ < 0) == (alone < 0)).mean() > 0.99
    clustered = model.labels_ >= 0
    assert (
        adjusted_rand_score(model.hierarchy_.cut(level=2)[clustered], model.labels_[clustered]) == 1
    )
    assert "spanning tree" in model.diagnose().line


def test_sources_jobs_and_sparse_rows_change_nothing(moons):
    labels = fit(moons).labels_
    assert (fit(open_source(moons)).labels_ == labels).all()
    assert (fit(moons, n_jobs=2).labels_ == labels).all()
    assert (fit(sparse.csr_matrix(moons)).labels_ == labels).all()


def test_rows_with_missing_values_are_noise_and_change_nothing_else(moons):
    missing = np.arange(0, len(moons), 50)
    X = moons.copy()
    X[missing, 0] = np.nan
    model = fit(X)
    others = np.delete(np.arange(len(X)), missing)
    assert model.diagnostics_[0].kind == "spanning"
    assert (model.labels_[missing] == -1).all()
    assert adjusted_rand_score(model.labels_[others], BASE.fit_predict(X[others])) > 0.99


def test_rows_without_values_do_not_take_the_place_of_others_in_batches(moons):
    # they would fill the cells around the mean
    X = np.concatenate([moons, np.full((1500, 2), np.nan)])
    model = fit(X)
    assert model.diagnostics_[0].kind == "spanning"
    assert (model.labels_[len(moons) :] == -1).all()
    assert adjusted_rand_score(model.labels_[: len(moons)], BASE.fit_predict(moons)) > 0.99


def test_a_fit_goes_on_with_the_spanning_trees_of_its_checkpoint(moons, tmp_path, monkeypatch):
    calls = []
    span = spanning_labels.span_batches

    def stop_at_the_fourth(*task):
        calls.append(task)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return span(*task)

    monkeypatch.setattr(spanning_labels, "span_batches", stop_at_the_fourth)
    with pytest.raises(KeyboardInterrupt):
        fit(moons, checkpoint=tmp_path / "fit")
    resumed = fit(moons, checkpoint=tmp_path / "fit")
    assert len(calls) == 4 + 4  # of seven batches, three were in the journal
    assert result(resumed) == result(fit(moons))


@pytest.fixture(scope="module")
def many_features():
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(6, 16)) * 0.7
    spread = rng.uniform(0.2, 0.4, size=(6, 1))
    y = rng.integers(6, size=3000)
    X = centres[y] + spread[y] * rng.normal(size=(3000, 16))
    X[:200] = rng.uniform(X.min(axis=0), X.max(axis=0), size=(200, 16))
    return X


def same_share(labels, expected):
    """The share of rows that are in the same cluster, or noise in both."""
    is_noise = (labels < 0) & (expected < 0)
    table = contingency_matrix(
        expected[(labels >= 0) & (expected >= 0)], labels[(labels >= 0) & (expected >= 0)]
    )
    one, two = linear_sum_assignment(-table)
    return (is_noise.sum() + table[one, two].sum()) / len(labels)


def test_many_features_in_small_batches_have_the_labels_of_all_rows(many_features):
    model = fit(many_features)
    alone = BASE.fit_predict(many_features)
    assert model.diagnostics_[0].n_batches > 10
    assert (alone < 0).any()
    assert same_share(model.labels_, alone) > 0.98


def test_many_features_have_the_same_labels_in_sources_and_with_jobs(many_features, tmp_path):
    labels = fit(many_features).labels_
    assert (
        fit(open_source(many_features), n_jobs=2, checkpoint=tmp_path / "fit").labels_ == labels
    ).all()


def test_neighbours_that_are_missing_are_said_to_be(many_features, monkeypatch):
    # min_samples is 30: lists are not improved
    monkeypatch.setitem(vars(spanning_labels.LISTS), "longest", 10)
    monkeypatch.setitem(vars(join_batches.LISTS), "enough_right", 0.99)
    with pytest.warns(ConvergenceWarning, match=r"all nearest neighbours of only \d+% of the rows"):
        fit(many_features)


@pytest.mark.parametrize(
    ("options", "smallest"),  # in seven batches, or in one
    [
        ({}, 1),
        ({}, 10_000),
        ({"cluster_selection_method": "leaf"}, 1),
        ({"cluster_selection_epsilon": 0.2}, 10_000),
        ({"max_cluster_size": 900}, 1),
        ({"allow_single_cluster": True}, 1),
    ],
    ids=str,
)
def test_options_probabilities_and_predictions_are_those_of_the_packages(
    moons, options, smallest, monkeypatch
):
    monkeypatch.setitem(vars(locality.LOCAL), "spanned_rows", smallest)
    new = np.random.default_rng(1).uniform(-1.5, 2.5, (200, 2))
    for base in (
        HDBSCAN(min_cluster_size=30, copy=True),
        hdbscan.HDBSCAN(30, approx_min_span_tree=False),
    ):
        base.set_params(**options)
        model = CoHiRF(base, batch_size=400, random_state=0).fit(moons)
        alone = clone(base).fit(moons)
        assert model.diagnostics_[0].kind == "spanning"
        # leaves depend on edges of equal weight: in another order of rows, scikit-learn has 96 % of
        # the same labels
        is_leaf = "cluster_selection_method" in options
        assert same_share(model.labels_, alone.labels_) > (0.95 if is_leaf else 0.99)
        assert (
            np.isclose(model.hdbscan_.probabilities, alone.probabilities_, atol=0.05).mean() > 0.95
        )
        np.testing.assert_array_equal(model.predict(moons), model.labels_)
    expected = hdbscan.approximate_predict(
        clone(base).set_params(prediction_data=True).fit(moons), new
    )[0]
    assert same_share(model.predict(new), expected) > 0.95
    assert np.isclose(model.hdbscan_.outlier_scores, alone.outlier_scores_, atol=0.05).mean() > 0.95


def test_models_that_are_not_hdbscan_on_all_rows_have_no_probabilities(moons):
    for model in (
        CoHiRF(n_clusters=2, random_state=0),
        CoHiRF(BASE, n_clusters=1),
        CoHiRF.as_published(BASE),
    ):
        with pytest.raises(AttributeError, match="hdbscan_ needs HDBSCAN"):
            _ = model.fit(moons).hdbscan_


@pytest.mark.parametrize("data", ["moons", "many_features"])
def test_too_little_memory_is_refused(data, request, monkeypatch):
    X = request.getfixturevalue(data)
    monkeypatch.setitem(vars(locality.LOCAL), "spanned_rows", 400 * locality.LOCAL.smaller_listed)
    model = CoHiRF(BASE, batch_size="100GB", random_state=0).fit(X)
    assert model.batch_size_ < len(X) or data == "moons"
    with pytest.raises(
        ValueError,
        match=r"too little: .* for what is kept of all rows, and a batch of HDBSCAN takes",
    ):
        model.set_params(batch_size="50MB").fit(X)


def test_more_rows_than_the_tree_can_number_are_refused(moons, monkeypatch):
    monkeypatch.setitem(vars(locality.LOCAL), "most_spanned", 1000)
    with pytest.raises(ValueError, match=r"at most 1,000 rows, and X has 1,650"):
        fit(moons)


def test_clusters_that_were_merged_afterwards_are_not_said_to_be_those_of_the_method(moons):
    merged = fit(moons, n_clusters=1)
    assert merged.diagnostics_[0].kind == "spanning"
    assert "spanning tree" not in merged.diagnose().line


def test_a_run_counts_its_rows_without_halos_and_its_bytes_with_them():
    rows = np.arange(1000)
    edges = np.arange(999)
    run = SpannedRun(rows, np.ones(1000), edges, edges + 1, np.ones(999), np.array([400, 300]))
    assert (run.n_batches, run.rows_in, run.rows_out) == (2, 700, 700)
    parts = [run.rows, run.core, run.one, run.two, run.lengths, run.batch_sizes]
    assert (
        sum(part.nbytes for part in parts)
        < sys.getsizeof(run)
        < 1.1 * sum(map(sys.getsizeof, parts))
    )
