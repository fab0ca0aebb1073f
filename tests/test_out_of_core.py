"""Fits that read a source batch by batch, and keep what grows with it on disk."""

import hashlib
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import cohirf
from cohirf import CoHiRF, open_source
from cohirf.clusterers import GridDBSCAN
from cohirf.datasets import make_spheres

MODELS = {
    "strict": {"views": 3, "max_features": 0.6},
    "relaxed": {"views": 3, "max_features": 0.6, "consensus": "relaxed"},
    "weighted": {"views": 2, "medoid_weights": True, "medoid": "euclidean"},
    "rbf": {"views": 2, "medoid": "rbf"},
}


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(3000, n_features=5, centers=4, cluster_std=0.8, random_state=3)
    return X.astype(np.float32), y


def fit(source, base=None, **options):
    options = {"batch_size": 300, "random_state": 0, "views": 2} | options
    return CoHiRF.as_published(base or KMeans(4, n_init=1), **options).fit(source)


def digest(model):
    parts = (
        model.labels_,
        model.parents_,
        model.hierarchy_.absorbed_at,
        model.medoids_,
        model._state.landmarks.labels,
    )
    return hashlib.sha256(
        b"".join(np.ascontiguousarray(part).tobytes() for part in parts)
    ).hexdigest()


def save_as(kind, X, directory):
    if kind == "array":
        return X
    if kind == "npy":
        np.save(directory / "data.npy", X)
        return directory / "data.npy"
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({f"f{i}": column for i, column in enumerate(X.T)})
    pytest.importorskip("pyarrow.parquet").write_table(
        table, directory / "data.parquet", row_group_size=450
    )
    return directory / "data.parquet"


@pytest.mark.parametrize("name", MODELS)
def test_every_storage_gives_the_same_fit(name, blobs, tmp_path):
    # that any kind of storage gives these rows is in tests/sources
    sources = [open_source(save_as(kind, blobs[0], tmp_path)) for kind in ("npy", "parquet")]
    digests = {digest(fit(source, **MODELS[name])) for source in sources}
    assert len(digests) == 1


def test_results_that_grow_with_the_data_are_on_disk(blobs, tmp_path):
    model = fit(open_source(save_as("npy", blobs[0], tmp_path)))
    assert isinstance(model.labels_, np.memmap)
    assert isinstance(model.parents_, np.memmap)
    assert model.labels_.dtype == model.parents_.dtype == np.int32
    assert model.hierarchy_.absorbed_at.dtype == np.uint8


def test_the_fit_is_good(blobs, tmp_path):
    X, y = blobs
    model = fit(open_source(save_as("parquet", X, tmp_path)))
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert (model.medoids_ == X[model.medoid_indices_]).all()
    assert model.feature_names_in_.tolist() == [f"f{i}" for i in range(5)]
    assert model.diagnostics_[0].rows_in == len(X)


def test_rows_sorted_by_class_are_no_trouble():
    X, y = make_spheres(20_000, random_state=0)
    order = np.argsort(y, kind="stable")
    model = fit(open_source(X[order]), GridDBSCAN(eps=0.2, min_samples=5), batch_size=2000, views=1)
    assert adjusted_rand_score(y[order], model.labels_) == 1


def test_one_batch_of_a_source_is_fitted_like_an_array(blobs, tmp_path):
    source = open_source(save_as("npy", blobs[0], tmp_path))
    for batch_size in (None, 2500):
        from_source = fit(source, batch_size=batch_size)
        assert digest(from_source) == digest(fit(blobs[0], batch_size=batch_size))
        assert not isinstance(from_source.labels_, np.memmap)


def test_predict_reads_a_source_block_by_block(blobs, tmp_path):
    source = open_source(save_as("parquet", blobs[0], tmp_path))
    model = fit(source)
    with pytest.warns(UserWarning, match="feature names"):
        expected = model.predict(blobs[0])
    assert (model.predict(source) == expected).all()
    assert adjusted_rand_score(model.labels_, expected) > 0.99


def test_transform_reads_a_source_block_by_block(blobs, tmp_path, monkeypatch):
    monkeypatch.setattr("cohirf.rows.blocks.BLOCK_ROWS", 70)
    source = open_source(save_as("npy", blobs[0], tmp_path))
    model = fit(source)
    distances = model.transform(source)
    assert distances.shape == (len(blobs[0]), model.n_clusters_)
    assert distances == pytest.approx(model.transform(blobs[0]), abs=1e-6)
    with pytest.raises(ValueError, match="The source has 2 columns, but the fit had"):
        model.transform(open_source(blobs[0][:, :2]))


def test_landmarks_are_rows_that_the_first_level_left(blobs, tmp_path):
    model = fit(open_source(save_as("npy", blobs[0], tmp_path)))
    survivors = np.flatnonzero(model.hierarchy_.absorbed_at != 1)
    assert len(model._state.landmarks.labels) == len(survivors)
    assert (model.predict(blobs[0][survivors]) == model.labels_[survivors]).all()


def test_the_model_can_be_saved_and_loaded(blobs, tmp_path):
    source = open_source(save_as("npy", blobs[0], tmp_path))
    model = fit(source)
    model.save(tmp_path / "model")
    assert (cohirf.load(tmp_path / "model").predict(source) == model.predict(source)).all()


class WeightedKMeans(KMeans):
    """Notes the weights that it is given."""

    seen: list = []  # noqa: RUF012 - shared on purpose

    def fit_predict(self, X, y=None, sample_weight=None):
        self.seen.append(sample_weight)
        return super().fit_predict(X, sample_weight=sample_weight)


def test_sample_weights_reach_the_base_method(blobs, tmp_path):
    weights = np.random.default_rng(0).uniform(1, 2, len(blobs[0]))
    WeightedKMeans.seen.clear()
    model = CoHiRF.as_published(
        WeightedKMeans(4, n_init=1), views=1, batch_size=300, random_state=0
    )
    model.fit(open_source(save_as("npy", blobs[0], tmp_path)), sample_weight=weights)
    assert np.isin(
        np.concatenate(WeightedKMeans.seen[: model.diagnostics_[0].n_batches]), weights
    ).all()


def test_rows_of_weight_zero_join_in_the_end(blobs, tmp_path):
    X, y = blobs
    weights = (np.arange(len(X)) % 3 > 0).astype(float)
    model = CoHiRF.as_published(KMeans(4, n_init=1), views=2, batch_size=300, random_state=0)
    model.fit(open_source(save_as("npy", X, tmp_path)), sample_weight=weights)
    assert (model.hierarchy_.absorbed_at[weights == 0] == 1).all()
    assert adjusted_rand_score(y[weights == 0], model.labels_[weights == 0]) > 0.95


def test_sparse_rows_stay_sparse():
    class Sparse(ClusterMixin, BaseEstimator):
        def fit(self, X, y=None):
            assert sparse.issparse(X)
            self.labels_ = np.asarray(X[:, [0]].todense()).ravel().round().astype(int)
            return self

    X = sparse.random_array((2000, 30), density=0.1, format="csr", rng=0)
    X = sparse.hstack([sparse.csr_array(np.arange(2000)[:, None] % 3), X]).tocsr()
    model = fit(open_source(X), Sparse())
    assert sparse.issparse(model.medoids_)
    assert adjusted_rand_score(np.arange(2000) % 3, model.labels_) == 1


def test_a_value_that_is_not_finite_is_reported_with_its_rows(blobs, tmp_path):
    X = blobs[0].copy()
    X[2718, 3] = np.nan
    with pytest.raises(
        ValueError, match=r"data.npy, rows 2,\d\d\d to 2,\d\d\d: .*NaN.* row 2,718, column 3"
    ):
        fit(open_source(save_as("npy", X, tmp_path)))


def test_a_source_with_other_columns_is_refused_in_words(blobs, tmp_path):
    source = open_source(save_as("parquet", blobs[0], tmp_path))
    model = fit(source)
    with pytest.raises(
        ValueError, match="The source has 4 columns, but the fit had 5: select the same columns"
    ):
        model.predict(open_source(tmp_path / "data.parquet", columns=["f0", "f1", "f2", "f3"]))
    with pytest.raises(
        ValueError, match="The source has column 'f1' in the place of column 'f0' of the fit"
    ):
        model.predict(
            open_source(tmp_path / "data.parquet", columns=["f1", "f0", "f2", "f3", "f4"])
        )


def test_refitting_on_data_without_names_forgets_them(blobs, tmp_path):
    model = fit(open_source(save_as("parquet", blobs[0], tmp_path)))
    model.fit(open_source(blobs[0]))
    assert not hasattr(model, "feature_names_in_")


def test_a_parameter_that_is_refused_does_not_begin_a_checkpoint(blobs, tmp_path):
    with pytest.raises(ValueError, match="max_features=6 is above"):
        fit(blobs[0], max_features=6, checkpoint=tmp_path / "checkpoint")
    assert not (tmp_path / "checkpoint").exists()


def test_a_saved_model_does_not_name_the_checkpoint_of_its_fit(blobs, tmp_path):
    fit(blobs[0], checkpoint=tmp_path / "checkpoint").save(tmp_path / "model")
    assert cohirf.load(tmp_path / "model").checkpoint is None


def test_a_memory_limit_that_cannot_be_read_is_refused(blobs):
    with pytest.raises(ValueError, match="batch_size='banana' is not valid"):
        fit(blobs[0], batch_size="banana")


@pytest.mark.slow
def test_the_batch_size_can_be_left_to_measurement(blobs, tmp_path, capsys):
    X, y = blobs
    model = fit(open_source(save_as("npy", X, tmp_path)), batch_size="3GB", verbose=1)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert "[CoHiRF] batch_size=3000: one batch, about " in capsys.readouterr().out


def test_a_fit_that_goes_on_keeps_the_batch_size_it_began_with(blobs, tmp_path, monkeypatch):
    source = open_source(save_as("npy", blobs[0], tmp_path))
    monkeypatch.setattr(
        "cohirf.fitting.begin.plan_batches", lambda *_, **__: SimpleNamespace(batch_size=400)
    )
    first = fit(source, batch_size="auto", checkpoint=tmp_path / "checkpoint")
    monkeypatch.undo()
    again = fit(source, batch_size="4GB", checkpoint=tmp_path / "checkpoint")
    assert digest(first) == digest(again) == digest(fit(source, batch_size=400))
