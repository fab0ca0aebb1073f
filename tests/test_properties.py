"""Properties that hold for every fit, and relations between fits (RELIABILITY, rows 8, 9 and
11).
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import DBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF
from cohirf.fitting import settings as contraction

# Random data may fuse nothing, which the fit says.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Nothing fused:sklearn.exceptions.ConvergenceWarning"
)

# no noise
options = st.fixed_dictionaries(
    {
        "estimator": st.sampled_from([KMeans(3), DBSCAN(eps=1.0, min_samples=2)]),
        "views": st.integers(1, 4),
        "max_features": st.sampled_from([1, 0.5, 1.0]),
        "consensus": st.sampled_from(["strict", "relaxed", "majority", 0.3, 1.0]),
        "medoid": st.sampled_from(["cosine", "euclidean", "rbf", "laplacian"]),
        "medoid_weights": st.booleans(),
        "batch_size": st.sampled_from([None, 5, 12]),
        "n_clusters": st.sampled_from(["levels", "auto", None, 1]),
        "random_state": st.integers(0, 99),
    }
).map(
    lambda chosen: (
        chosen | ({"n_clusters": "levels"} if isinstance(chosen["estimator"], DBSCAN) else {})
    )
)
data = st.integers(0, 10_000).map(
    lambda seed: np.random.default_rng(seed).normal(size=(1 + seed % 40, 1 + seed % 4)).round(1)
)


# some of these merge nothing in batches
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@settings(max_examples=2 * settings.default.max_examples)
@given(data, options)
def test_every_fit_is_a_forest_of_nested_levels(X, options):
    model = CoHiRF(**options).fit(X)
    n = len(X)
    parents = model.parents_
    absorbed_at = model.hierarchy_.absorbed_at
    roots = parents == np.arange(n)
    assert (roots == (absorbed_at == 0)).all()
    until = absorbed_at[parents]
    assert (
        (until == 0) | (until > absorbed_at) | roots
    ).all()  # a parent outlives its children: no cycles
    assert list(dict.fromkeys(model.labels_.tolist())) == list(range(model.n_clusters_))
    assert model.n_clusters_ == roots.sum() == len(model.medoid_indices_)
    assert (model.hierarchy_.cut(level=model.hierarchy_.n_levels) == model.labels_).all()
    tree = model.hierarchy_.tree
    assert (model.hierarchy_.cut(n_clusters=model.n_clusters_) == model.labels_).all()
    assert model.hierarchy_.cut(n_clusters=tree.n_leaves).max() == tree.n_leaves - 1
    assert (model.labels_[model.exemplar_indices_] == np.arange(model.n_clusters_)).all()
    # not of rows that were held aside to the end
    known = model.stability_[~np.isnan(model.stability_)]
    assert ((known > 0) & (known <= 1)).all()
    finer = np.arange(n)
    for level in range(model.hierarchy_.n_levels + 1):
        labels = model.hierarchy_.cut(level=level)
        assert len(set(zip(finer.tolist(), labels.tolist(), strict=True))) == len(
            set(finer.tolist())
        )
        assert model.hierarchy_.sizes(level).sum() == n
        assert (labels[model.hierarchy_.medoids(level)] == np.arange(labels.max() + 1)).all()
        finer = labels


# Separated blobs whose base labels do not hang on the order of rows.
RNG = np.random.default_rng(0)
CENTERS = RNG.uniform(-20, 20, (5, 6))
Y = RNG.integers(0, 5, 200)
X = CENTERS[Y] + RNG.normal(0, 0.3, (200, 6))
MODELS = {
    "strict": {"estimator": KMeans(5, n_init=3)},
    "relaxed": {"estimator": KMeans(5, n_init=3), "consensus": "relaxed"},
    "majority": {"estimator": KMeans(5, n_init=3), "consensus": "majority", "medoid_weights": True},
    "dbscan": {"estimator": DBSCAN(eps=3.0, min_samples=3)},
    "batched": {"estimator": DBSCAN(eps=3.0, min_samples=3), "batch_size": 60},
}


@pytest.fixture(scope="module", params=MODELS)
def make(request):
    options = {"views": 3, "max_features": 1.0, "random_state": 0} | MODELS[request.param]
    return lambda **more: CoHiRF.as_published(**options | more)


@pytest.fixture(scope="module")
def fitted(make):
    return make().fit(X)


@pytest.mark.parametrize(
    ("make", "medoid"),
    [
        *((name, "cosine") for name in MODELS),
        *(("strict", medoid) for medoid in ("euclidean", "rbf", "laplacian")),
    ],
    indirect=["make"],
)
def test_scaling_by_a_power_of_two_changes_nothing(make, medoid):
    model = make(medoid=medoid, max_features=0.5).fit(X)
    labels = model.labels_
    parents = model.parents_
    for power in (-20, 5):
        if hasattr(model.estimator, "eps"):
            model = make(
                medoid=medoid,
                max_features=0.5,
                estimator=DBSCAN(eps=3.0 * 2.0**power, min_samples=3),
            )
        model.fit(X * 2.0**power)
        assert (model.labels_ == labels).all(), power
        assert (model.parents_ == parents).all(), power


def test_every_row_twice_gives_the_same_clusters(make, fitted):
    doubled = make().fit(np.repeat(X, 2, axis=0))
    assert (doubled.labels_[::2] == doubled.labels_[1::2]).all()
    assert adjusted_rand_score(doubled.labels_[::2], fitted.labels_) == 1


def test_the_order_of_rows_does_not_change_the_clusters(make, fitted):
    order = np.random.default_rng(1).permutation(len(X))
    assert adjusted_rand_score(make().fit(X[order]).labels_, fitted.labels_[order]) == 1


def test_the_order_of_columns_does_not_change_the_clusters(make, fitted):
    order = np.random.default_rng(1).permutation(X.shape[1])
    assert (make().fit(X[:, order]).labels_ == fitted.labels_).all()


def test_constant_columns_change_nothing_where_views_have_all_features(make, fitted):
    wider = np.c_[X, np.zeros((len(X), 2))]
    assert (make().fit(wider).labels_ == fitted.labels_).all()


@pytest.mark.parametrize("medoid", ["euclidean", "rbf", "laplacian"])
def test_a_shift_changes_nothing_for_rules_that_measure_distance(make, medoid):
    assert (make(medoid=medoid).fit(X + 64).labels_ == make(medoid=medoid).fit(X).labels_).all()


def test_a_rotation_changes_nothing_where_views_have_all_features(make, fitted):
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(6, 6)))[0]
    assert adjusted_rand_score(make().fit(X @ rotation).labels_, fitted.labels_) == 1


def test_mirroring_changes_nothing(make, fitted):
    assert (make().fit(-X).labels_ == fitted.labels_).all()
    assert (make().fit(-X).parents_ == fitted.parents_).all()


def test_one_large_batch_is_no_batch(make):
    assert (make(batch_size=200).fit(X).parents_ == make(batch_size=None).fit(X).parents_).all()


def test_weights_of_one_are_no_weights(make, fitted):
    assert (make().fit(X, sample_weight=np.ones(len(X))).parents_ == fitted.parents_).all()


def test_weights_on_another_scale_change_nothing_for_k_means():
    model = CoHiRF.as_published(KMeans(5, n_init=3), random_state=0)
    weights = np.random.default_rng(1).integers(1, 5, len(X))
    assert (
        model.fit(X, sample_weight=weights).labels_
        == model.fit(X, sample_weight=4 * weights).labels_
    ).all()


def test_threshold_zero_is_strict(make):
    relaxed = make(consensus=0.0).fit(X).parents_
    assert (relaxed == make(consensus="strict").fit(X).parents_).all()


def test_a_majority_of_all_views_is_strict(make, monkeypatch):
    monkeypatch.setitem(vars(contraction.GROUP), "majority", 1.0)
    majority = make(consensus="majority", max_features=0.5).fit(X).parents_
    assert (majority == make(consensus="strict", max_features=0.5).fit(X).parents_).all()


def test_more_levels_than_needed_change_nothing(make, fitted):
    assert (make(max_iter=1000).fit(X).parents_ == fitted.parents_).all()


def test_leaving_out_small_clusters_changes_no_other_label(make):
    loner = np.r_[X, [[1e3] * 6]]
    labels = make().fit(loner).labels_
    hidden = make(min_cluster_size=2).fit(loner).labels_
    assert adjusted_rand_score(labels[hidden >= 0], hidden[hidden >= 0]) == 1


def test_a_far_away_blob_becomes_a_cluster_and_leaves_the_others_alone():
    model = CoHiRF.as_published(DBSCAN(eps=3.0, min_samples=3), max_features=1.0, random_state=0)
    labels = model.fit(X).labels_
    more = model.fit(np.r_[X, X[:20] * 0.01 + 1e3]).labels_
    assert adjusted_rand_score(more[: len(X)], labels) == 1
    assert len(set(more)) == len(set(labels)) + 1


def test_float32_and_float64_find_the_same_clusters(make, fitted):
    assert adjusted_rand_score(make().fit(X.astype(np.float32)).labels_, fitted.labels_) == 1


def test_codes_beyond_2_to_the_63_do_not_overflow():
    rows = np.random.default_rng(0).normal(size=(60, 3))
    # 30 ** 20 codes
    model = CoHiRF.as_published(KMeans(30), views=20, random_state=0).fit(
        np.repeat(rows, 2, axis=0)
    )
    assert model.n_clusters_ > 40
    assert (model.labels_[::2] == model.labels_[1::2]).all()
