"""Weights count as repeated rows, weight 0 as no row, up to the names of clusters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF

MODELS = {
    "strict": {},
    "weighted": {"medoid_weights": True},
    "majority": {"consensus": "majority", "medoid_weights": True},
    "euclidean": {"medoid": "euclidean"},
    "rbf": {"medoid": "rbf"},
    "laplacian": {"medoid": "laplacian", "medoid_weights": True},
}


@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
@settings(max_examples=settings.default.max_examples // 4)
@given(st.integers(0, 10_000))
def test_weights_are_repeated_rows(options, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-8, 8, (12, 4)) / 4
    X = X[np.sort(np.unique(X, axis=0, return_index=True)[1])]
    weights = rng.integers(0, 4, len(X))
    weights[0] = 1
    # every row is a core row, so no copy of a row can be noise on its own
    base = DBSCAN(eps=1.0, min_samples=1)
    model = CoHiRF.as_published(base, views=3, max_features=0.5, random_state=0, **options)
    weighted = model.fit(X, sample_weight=weights)
    labels = weighted.labels_
    medoids = weighted.medoids_
    repeated = model.fit(np.repeat(X, weights, axis=0))
    assert adjusted_rand_score(np.repeat(labels, weights), repeated.labels_) == 1
    assert (
        (medoids == repeated.medoids_).all()
        if weights.all()
        else len(medoids) == len(repeated.medoids_)
    )


def test_a_row_of_weight_0_joins_the_cluster_of_its_nearest_row(blobs):
    X, y = blobs
    weights = np.ones(len(X))
    weights[::3] = 0
    model = CoHiRF.as_published(KMeans(4), random_state=0).fit(X, sample_weight=weights)
    assert adjusted_rand_score(model.labels_, y) == 1
    assert weights[model.medoid_indices_].all()
    assert (model.hierarchy_.cut(level=model.hierarchy_.n_levels) == model.labels_).all()
    assert (model.predict(X) == model.labels_).all()


def test_weights_change_what_the_base_sees():
    X = np.array([[0.0], [0.1], [5.0], [5.1]])
    model = CoHiRF.as_published(DBSCAN(eps=0.5, min_samples=4), max_features=1.0, random_state=0)
    assert model.fit(X).n_clusters_ == 4
    assert model.fit(X, sample_weight=[3, 3, 1, 1]).n_clusters_ == 3


def test_medoid_weights_pass_the_absorbed_mass_to_the_base():
    seen = []

    class Recorder(KMeans):
        def fit(self, X, y=None, sample_weight=None):
            seen.append(np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight))
            return super().fit(X, y, sample_weight)

    X = np.concatenate([np.random.default_rng(0).normal(c, 0.1, (20, 2)) for c in range(0, 60, 6)])
    CoHiRF.as_published(Recorder(n_clusters=5), medoid_weights=True, views=3, random_state=0).fit(X)
    assert len({len(weights) for weights in seen}) > 1
    assert all(weights.sum() == pytest.approx(200) for weights in seen)


def test_weights_are_refused_where_the_base_does_not_take_them():
    with pytest.raises(
        ValueError, match=r"^sample_weight needs a base method whose fit takes it, but Agg"
    ):
        CoHiRF.as_published(AgglomerativeClustering()).fit(np.eye(10), sample_weight=np.ones(10))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.zeros(10), "(?i)sample weights .*zero"),
        (-np.ones(10), "Negative values"),
        (np.ones(9), r"sample_weight.shape == \(9,\), expected \(10,\)"),
        (np.full(10, np.nan), "Input sample_weight contains NaN"),
        (
            np.r_[1.7e308, 1.7e308, np.ones(8)],
            r"sample_weight has sum inf, and sums of more than 1e\+150 would overflow",
        ),
        (
            np.full(10, 1e-320),
            "sample_weight has positive values down to 1e-320, and those below 1e-150 would vanish",
        ),
    ],
)
@pytest.mark.parametrize("base", [KMeans(2), DBSCAN()])
def test_impossible_weights_are_refused(base, weights, message):
    with pytest.raises(ValueError, match=message):
        CoHiRF(base).fit(np.eye(10), sample_weight=weights)


def test_min_cluster_size_counts_weights():
    X = np.array([[0.0], [0.1], [5.0], [9.0]])
    model = CoHiRF.as_published(
        DBSCAN(eps=0.5, min_samples=1), max_features=1.0, min_cluster_size=3, random_state=0
    )
    assert model.fit(X).labels_.tolist() == [-1, -1, -1, -1]
    assert model.fit(X, sample_weight=[1, 1, 4, 3]).labels_.tolist() == [-1, -1, 0, 1]


def test_weights_of_fitted_rows_count_in_updates():
    model = CoHiRF(DBSCAN(0.5, min_samples=3), random_state=0).fit(
        [[0.0], [10.0], [20.0]], sample_weight=[5, 5, 1]
    )
    assert model.labels_.tolist() == [0, 1, -1]
    assert model.partial_fit([[30.0]], sample_weight=[4]).labels_.tolist() == [0, 1, -1, 2]
