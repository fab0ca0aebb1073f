"""Saving and loading: the same model comes back, and damaged or hostile files are refused in one line."""

import copy
import ctypes
import errno
import json
import os
import pickle
import shutil
import signal
import socket
import time
import tracemalloc
import warnings
import zipfile
from dataclasses import replace
from hashlib import sha256
from importlib import metadata

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import DBSCAN, HDBSCAN, OPTICS, AgglomerativeClustering, KMeans
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, StandardScaler

from cohirf import CoHiRF, base_registry
from cohirf.algorithm import grouping
from cohirf.algorithm.merge_tree import MergeTree
from cohirf.durable import arrays
from cohirf.neighbours.landmarks import Landmarks
from cohirf.saving import ModelFileError, load_model, save_model
from cohirf.saving.manifest import read_manifest
from systems import posix_only

PIECES = (
    "labels_",
    "cluster_numbers_",
    "parents_",
    "medoid_indices_",
    "stability_",
    "feature_agreement_",
    "_landmark_rows",
)
OPTIONAL_PIECES = ("_column_means",)


class OwnClusterer(ClusterMixin, BaseEstimator):
    """A base method that no registry knows."""

    def fit(self, X, y=None):
        self.labels_ = (X[:, 0] > np.median(X[:, 0])).astype(int)
        return self


class DerivedKMeans(KMeans):
    """Not KMeans, whatever isinstance says."""


def similarity(X):
    return cosine_similarity(X)


def rows(n_features=4, n_rows=60, dtype=np.float64):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features)) + 10 * rng.integers(0, 3, size=(n_rows, 1))
    return X.astype(dtype)


def with_missing():
    X = rows()
    X[5, 1] = np.nan
    return X


def weights():
    return np.arange(60) % 4


def frame():
    names = ["größe", "", "a\nb", "\ud800<script>"]
    return pd.DataFrame(rows(), columns=pd.Index(names, dtype=object))


def kmeans(**parameters):
    return KMeans(3, n_init=1, **parameters)


CASES = {
    "defaults": (CoHiRF.as_published(random_state=0), rows()),
    "float32": (CoHiRF.as_published(kmeans(), random_state=0), rows(dtype=np.float32)),
    "many features": (CoHiRF.as_published(kmeans(), max_features=0.5, random_state=0), rows(20)),
    "many features, float32": (CoHiRF.as_published(kmeans(), random_state=0), rows(20, dtype=np.float32)),
    "CSR matrix": (CoHiRF.as_published(kmeans(), random_state=0), sparse.csr_matrix(rows())),
    "CSR array": (CoHiRF.as_published(kmeans(), random_state=0), sparse.csr_array(rows(dtype=np.float32))),
    "CSR, 64-bit indices": (CoHiRF.as_published(kmeans(), random_state=0), sparse.csr_array(sparse.coo_array(rows()))),
    "names": (CoHiRF.as_published(kmeans(), random_state=0), frame()),
    "missing": (CoHiRF.as_published(HDBSCAN(min_cluster_size=5, copy=True), n_views=1, random_state=0), with_missing()),
    "missing, pipeline": (
        CoHiRF.as_published(make_pipeline(SimpleImputer(), kmeans()), random_state=0),
        with_missing(),
    ),
    "min_cluster_size": (CoHiRF.as_published(kmeans(), min_cluster_size=20, random_state=0), rows()),
    "no clusters": (CoHiRF.as_published(kmeans(), min_cluster_size=1000, random_state=0), rows()),
    "no clusters, CSR": (
        CoHiRF.as_published(kmeans(), min_cluster_size=1000, random_state=0),
        sparse.csr_matrix(rows()),
    ),
    "one row": (CoHiRF.as_published(kmeans(), random_state=0), rows()[:1]),
    "relaxed": (CoHiRF.as_published(kmeans(), consensus=0.7, random_state=0), rows()),
    "majority": (
        CoHiRF.as_published(kmeans(), consensus="majority", random_state=0),
        rows(),
    ),
    "euclidean": (CoHiRF.as_published(kmeans(), medoid="euclidean", random_state=0), rows()),
    "rbf": (CoHiRF.as_published(kmeans(), medoid="rbf", random_state=0), rows()),
    "laplacian": (CoHiRF.as_published(kmeans(), medoid="laplacian", random_state=0), rows()),
    "batches": (CoHiRF.as_published(kmeans(), batch_size=20, medoid_weights=True, random_state=0), rows()),
    "mixture": (CoHiRF.as_published(GaussianMixture(3, reg_covar=1e-3), random_state=0), rows()),
    "not finite": (CoHiRF.as_published(OPTICS(max_eps=np.inf, min_samples=5), n_views=1, random_state=0), rows()),
    "pipeline": (
        CoHiRF.as_published(make_pipeline(MinMaxScaler((0, 2)), PCA(2), AgglomerativeClustering(3)), random_state=0),
        rows(),
    ),
    "union": (
        CoHiRF.as_published(
            Pipeline([("union", FeatureUnion([("a", PCA(1)), ("b", "passthrough")])), ("k", kmeans())])
        ),
        rows(),
    ),
    "nested": (CoHiRF.as_published(CoHiRF.as_published(kmeans(), n_views=2), n_views=2, random_state=0), rows()),
    "NumPy parameters": (
        CoHiRF.as_published(kmeans(tol=np.float32(1e-3)), n_views=np.int64(3), random_state=np.uint8(7)),
        rows(),
    ),
}


@pytest.fixture(scope="module", params=CASES, ids=lambda name: name.replace(" ", "-"))
def case(request):
    model, X = CASES[request.param]
    model = clone(model).set_params(random_state=0 if model.random_state is None else model.random_state)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*noise")  # models without clusters
        return model.fit(X), X


@pytest.fixture(scope="module")
def model():
    return CoHiRF.as_published(KMeans(3, n_init=1), n_views=2, random_state=0).fit(rows(2, 12))


@pytest.fixture(scope="module")
def sparse_model():
    return CoHiRF.as_published(KMeans(3, n_init=1), n_views=2, random_state=0).fit(sparse.csr_matrix(rows(2, 12)))


@pytest.fixture
def path(tmp_path, model):
    save_model(model, tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def sparse_path(tmp_path, sparse_model):
    save_model(sparse_model, tmp_path / "model")
    return tmp_path / "model"


def parts(matrix):
    return [matrix.data, matrix.indices, matrix.indptr] if sparse.issparse(matrix) else [matrix]


def assert_same_bits(left, right):
    assert type(left) is type(right)
    assert left.shape == right.shape
    for one, other in zip(parts(left), parts(right), strict=True):
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes()


def assert_same_model(left, right, X):
    assert vars(left).keys() == vars(right).keys()
    assert repr(left.get_params()) == repr(right.get_params())
    assert repr(left.diagnostics_) == repr(right.diagnostics_)
    assert (left.n_clusters_, left.n_iter_, left.n_features_in_) == (
        right.n_clusters_,
        right.n_iter_,
        right.n_features_in_,
    )
    for name in PIECES:
        assert_same_bits(getattr(left, name), getattr(right, name))
    for name in OPTIONAL_PIECES:
        assert (getattr(left, name) is None) == (getattr(right, name) is None)
        if getattr(left, name) is not None:
            assert_same_bits(getattr(left, name), getattr(right, name))
    assert_same_bits(left.medoids_, right.medoids_)
    assert_same_bits(left._landmarks.points, right._landmarks.points)
    assert_same_bits(left._landmarks.labels, right._landmarks.labels)
    assert_same_bits(left.hierarchy_.absorbed_at, right.hierarchy_.absorbed_at)
    for level in range(left.hierarchy_.n_levels + 1):
        assert_same_bits(left.hierarchy_.cut(level=level), right.hierarchy_.cut(level=level))
    assert_same_bits(left.predict(X), right.predict(X))
    assert_same_bits(left.transform(X), right.transform(X))


# ---- what comes back


def test_a_loaded_model_is_the_saved_one_bit_by_bit(case, tmp_path):
    model, X = case
    save_model(model, tmp_path / "model")
    assert_same_model(model, load_model(tmp_path / "model"), X)


@pytest.mark.filterwarnings("ignore:.*noise")  # models without clusters
def test_a_loaded_model_pickles_clones_refits_and_saves_as_before(case, tmp_path):
    model, X = case
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert_same_model(model, pickle.loads(pickle.dumps(loaded)), X)
    assert repr(clone(loaded)) == repr(clone(model))
    refitted = clone(loaded).fit(X)
    assert_same_bits(refitted.labels_, model.labels_)
    assert_same_bits(refitted.parents_, model.parents_)
    save_model(loaded, tmp_path / "again")
    for file in sorted((tmp_path / "model").iterdir()):
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()


def test_a_loaded_model_keeps_feature_names_and_refuses_others(tmp_path):
    X = frame()
    save_model(CoHiRF.as_published(KMeans(3), random_state=0).fit(X), tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.feature_names_in_.dtype == object
    assert loaded.feature_names_in_.tolist() == X.columns.tolist()
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(X[X.columns[::-1]])


def test_a_model_fitted_with_weights_comes_back(tmp_path):
    X = rows()
    model = CoHiRF.as_published(KMeans(3), random_state=0).fit(X, sample_weight=weights())
    save_model(model, tmp_path / "model")
    assert_same_model(model, load_model(tmp_path / "model"), X)


def test_a_loaded_model_keeps_its_output_format_and_that_of_its_base(tmp_path):
    X = rows()
    base = make_pipeline(StandardScaler().set_output(transform="pandas"), KMeans(3))
    model = CoHiRF.as_published(base, random_state=0).fit(X).set_output(transform="pandas")
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    pd.testing.assert_frame_equal(loaded.transform(X), model.transform(X))
    assert isinstance(loaded.estimator[0].fit_transform(pd.DataFrame(X)), pd.DataFrame)


def test_missing_cells_are_filled_as_before(tmp_path):
    X = with_missing()
    model = CoHiRF.as_published(HDBSCAN(min_cluster_size=5, copy=True), n_views=1, random_state=0).fit(X)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert_same_bits(loaded._column_means, model._column_means)
    assert np.isnan(loaded.medoids_).sum() == np.isnan(model.medoids_).sum()


def test_random_states_other_than_numbers_come_back_as_none(tmp_path):
    base = KMeans(3, random_state=np.random.RandomState(0))
    model = CoHiRF.as_published(base, random_state=np.random.RandomState(0)).fit(rows())
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.random_state is None
    assert loaded.estimator.random_state is None
    assert (loaded.predict(rows()) == model.predict(rows())).all()


def test_cache_directories_come_back_as_none(tmp_path):
    base = Pipeline([("scale", StandardScaler()), ("cluster", KMeans(3))], memory=str(tmp_path / "cache"))
    save_model(CoHiRF.as_published(base, random_state=0).fit(rows()), tmp_path / "model")
    assert load_model(tmp_path / "model").estimator.memory is None


def test_a_checkpoint_comes_back_as_none(tmp_path):
    inner = CoHiRF.as_published(KMeans(3), n_views=1, checkpoint="inner")
    base = Pipeline([("scale", StandardScaler()), ("cluster", inner)])
    held = CoHiRF.as_published(KMeans(3), random_state=0).fit(rows())
    for estimator in (inner, base, CoHiRF.as_published(base, checkpoint="middle")):
        held.set_params(estimator=estimator, checkpoint=tmp_path / "outer")
        save_model(held, tmp_path / "model", overwrite=True)
        text = (tmp_path / "model" / "manifest.json").read_text(encoding="utf-8")
        assert "checkpoint" not in text
        found = load_model(tmp_path / "model").get_params()
        paths = [value for name, value in found.items() if name.split("__")[-1] == "checkpoint"]
        assert paths == [None] * len(paths)
        assert len(paths) >= 2


def test_a_checkpoint_or_a_cache_that_a_file_names_is_passed_over(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    nested = base_named("CoHiRF", checkpoint="written", estimator=base_named("KMeans", n_clusters=2))
    pipeline = base_named("Pipeline", steps=[{"tuple": ["cluster", nested]}], memory="written")
    forge(path, model__parameters__checkpoint="written", model__parameters__estimator=pipeline)
    loaded = load_model(path)
    assert loaded.checkpoint is loaded.estimator.memory is loaded.estimator[0].checkpoint is None
    loaded.fit(rows(2, 12))
    assert not (tmp_path / "written").exists()


def test_missing_cells_of_medoids_come_back_where_means_stand_for_them(path):
    forge_array(path, "column_means", np.zeros(2))
    medoids = np.load(path / "medoids.npy")
    medoids[0, 0] = np.nan
    forge_array(path, "medoids", medoids)
    assert_same_bits(load_model(path).medoids_, medoids)
    medoids[0, 0] = np.inf
    forge_array(path, "medoids", medoids)
    assert_refused(path, "medoids.npy' cannot be used: it has infinity among its values")


# ---- base methods and medoid rules that cannot be stored


@pytest.mark.parametrize(
    "base",
    [
        OwnClusterer(),
        DerivedKMeans(3),
        KMeans(3, init=rows()[:3]),
        AgglomerativeClustering(3, metric=similarity, linkage="average"),
        DBSCAN(metric_params={1: 2}),
        Pipeline([("f", FunctionTransformer(np.log1p)), ("k", KMeans(3))]),
        CoHiRF.as_published(KMeans(3), medoid=similarity),
        KMeans(n_clusters=-1),
    ],
    ids=["own", "derived", "array", "callable", "dict", "function", "nested", "invalid"],
)
def test_a_base_that_cannot_be_stored_must_be_passed(base, model, tmp_path):
    held = clone(model).fit(rows(2, 12)).set_params(estimator=base)
    save_model(held, tmp_path / "model")
    with pytest.raises(ModelFileError, match=r"manifest.json': estimator=\w+\(.* pass it with load\(path, estimator="):
        load_model(tmp_path / "model")
    loaded = load_model(tmp_path / "model", estimator=KMeans(3))
    assert (loaded.predict(rows(2, 12)) == held.predict(rows(2, 12))).all()


def test_a_base_with_metadata_requests_must_be_passed(model, tmp_path):
    held = clone(model).fit(rows(2, 12))
    held.estimator._metadata_request = "what set_fit_request leaves there"
    save_model(held, tmp_path / "model")
    with pytest.raises(ModelFileError, match="estimator=KMeans"):
        load_model(tmp_path / "model")


def test_a_callable_medoid_must_be_passed(tmp_path):
    held = CoHiRF.as_published(KMeans(3), medoid=similarity, random_state=0).fit(rows())
    save_model(held, tmp_path / "model")
    with pytest.raises(ModelFileError, match=r"medoid=<function similarity at .* pass it with load\(path, medoid="):
        load_model(tmp_path / "model")
    loaded = load_model(tmp_path / "model", medoid=similarity)
    assert_same_model(held, loaded, rows())
    assert (clone(loaded).fit(rows()).labels_ == held.labels_).all()


def test_what_is_passed_takes_the_place_of_what_is_stored(path):
    loaded = load_model(path, estimator=DBSCAN(), medoid="rbf")
    assert isinstance(loaded.estimator, DBSCAN)
    assert loaded.medoid == "rbf"


def test_passed_values_are_checked(path):
    with pytest.raises(TypeError, match="estimator=KMeans is a class"):
        load_model(path, estimator=KMeans)
    with pytest.raises(ValueError, match="'medoid' parameter of CoHiRF must be"):
        load_model(path, medoid="nearest")


@pytest.mark.parametrize("name", sorted(base_registry.MODULES))
def test_every_registered_estimator_comes_back(name):
    needed = {
        "Pipeline": {"steps": [("scale", StandardScaler()), ("none", None), ("k", KMeans(np.int32(2)))]},
        "FeatureUnion": {"transformer_list": [("a", PCA(0.5))], "transformer_weights": {"a": 2.0}},
        "ColumnTransformer": {"transformers": [("a", "passthrough", [0, 1]), ("b", OneHotEncoder(), [2])]},
    }
    estimator = base_registry.registered_class(name)(**needed.get(name, {}))
    text = json.dumps(base_registry.describe(estimator), allow_nan=False)
    restored = base_registry.restore(json.loads(text))
    assert type(restored) is type(estimator)
    assert repr(restored.get_params()) == repr(estimator.get_params())


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 3, 0.1, np.nan, -np.inf, "a", [1, (2, [])], {"a": (1,)}, {"float": "nan"}, {"absent": "x"}),
        *(np.float32(0.1), np.bool_(True), np.str_("x"), np.int64(2**62), np.float64(np.inf), np.float64),
    ],
    ids=repr,
)
def test_every_kind_of_parameter_comes_back_with_its_type(value):
    restored = base_registry.restore(json.loads(json.dumps(base_registry.describe(value), allow_nan=False)))
    assert type(restored) is type(value)
    assert repr(restored) == repr(value)


def test_a_base_with_very_long_parameters_must_be_passed(model, tmp_path):
    columns = ColumnTransformer([("all", "passthrough", list(range(20_000)))])
    held = clone(model).fit(rows(2, 12)).set_params(estimator=make_pipeline(columns, KMeans(3)))
    save_model(held, tmp_path / "model")
    with pytest.raises(ModelFileError, match="estimator=Pipeline"):
        load_model(tmp_path / "model")


def test_parameters_that_contain_themselves_are_absent(model, tmp_path):
    held = clone(model).fit(rows(2, 12))
    loop = DBSCAN(metric_params={})
    loop.metric_params["again"] = loop.metric_params
    save_model(held.set_params(estimator=loop), tmp_path / "model")
    with pytest.raises(ModelFileError, match="estimator=DBSCAN"):
        load_model(tmp_path / "model")


# ---- what cannot be saved


def test_only_a_fitted_cohirf_can_be_saved(model, tmp_path):
    with pytest.raises(NotFittedError):
        save_model(CoHiRF.as_published(), tmp_path / "model")
    with pytest.raises(TypeError, match="is not a CoHiRF"):
        save_model(KMeans(3).fit(rows()), tmp_path / "model")
    with pytest.raises(TypeError, match="is not a CoHiRF"):
        save_model(type("CoHiRF", (CoHiRF,), {})().fit(rows()), tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_parameter_that_cannot_be_stored_is_named(model, tmp_path):
    held = clone(model).fit(rows(2, 12)).set_params(n_views=object)
    with pytest.raises(ValueError, match="n_views=<class 'object'> cannot be saved"):
        save_model(held, tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", [{"n_jobs": 0}, {"batch_size": "x"}, {"max_features": 3}])
def test_a_model_with_a_parameter_that_no_fit_accepts_is_not_saved(value, model, tmp_path):
    with pytest.raises(ValueError, match=next(iter(value))):
        save_model(copy.copy(model).set_params(**value), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_model_whose_parts_do_not_fit_is_not_saved(model, tmp_path):
    held = clone(model).fit(rows(2, 12))
    held.labels_ = held.labels_[:-1]
    with pytest.raises(ValueError, match=r"cannot be saved: labels has 11 rows, but stability says 12. Fit it again"):
        save_model(held, tmp_path / "model")
    assert not list(tmp_path.iterdir())


SPOILED = {
    "stability_": lambda model: np.where(np.arange(12) == 5, 1.5, model.stability_).astype(np.float32),
    "feature_agreement_": lambda model: model.feature_agreement_ + 1,
    "labels_": lambda model: model.labels_ + 1,
    "medoid_indices_": lambda model: model.medoid_indices_[::-1],
    "medoids_": lambda model: model.medoids_ * np.nan,
    "diagnostics_": lambda model: [replace(record, stability=np.inf) for record in model.diagnostics_],
    "_summary": lambda model: replace(model._summary, update_rows=(11,)),
}


@pytest.mark.parametrize("name", SPOILED)
def test_a_model_that_load_would_refuse_is_not_saved(name, model, path):
    held = clone(model).fit(rows(2, 12))
    setattr(held, name, SPOILED[name](held))
    before = {file: file.read_bytes() for file in path.iterdir()}
    with pytest.raises(ValueError, match=r"cannot be saved: .* Fit it again"):
        save_model(held, path, overwrite=True)
    assert {file: file.read_bytes() for file in path.iterdir()} == before
    assert list(path.parent.iterdir()) == [path]


def test_a_model_with_parameters_that_load_would_refuse_is_not_saved(model, path):
    held = copy.copy(model).set_params(n_views=-1)
    with pytest.raises(ValueError, match=r"cannot be saved: .*n_views"):
        save_model(held, path, overwrite=True)


def test_a_manifest_above_the_limit_is_not_written(model, tmp_path, monkeypatch):
    monkeypatch.setattr("cohirf.saving.manifest.MAX_MANIFEST_BYTES", 2**14)
    held = clone(model).fit(rows(2, 12))
    held.n_iter_ = 100
    held.diagnostics_ = held.diagnostics_[:1] * held.n_iter_
    with pytest.raises(ValueError, match="holds at most 16,384: shorten diagnostics_"):
        save_model(held, tmp_path / "model")
    assert not list(tmp_path.iterdir())


# ---- the files


def test_a_model_is_json_and_arrays_that_numpy_reads_without_pickles(path, model):
    names = {file.name for file in path.iterdir()}
    of_rows = ("labels", "parents", "absorbed_at", "stability")
    others = ("feature_agreement", "medoid_indices", "medoids", "landmarks", "landmark_rows", "landmark_labels")
    others += ("exemplar_indices", "exemplars", "tree_medoids", "tree_linkage", "pending_lots")
    assert names == {"manifest.json", "manifest.sha256"} | {f"{name}.npy" for name in of_rows + others}
    assert (np.load(path / "labels.npy", allow_pickle=False) == model.labels_).all()
    assert np.load(path / "landmarks.npy", allow_pickle=False).shape == (12, 2)
    manifest = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["format"] == "cohirf-model"
    assert manifest["arrays"]["labels"]["sha256"] == sha256((path / "labels.npy").read_bytes()).hexdigest()


def test_the_digest_is_the_line_that_sha256sum_writes(path):
    digest = sha256((path / "manifest.json").read_bytes()).hexdigest()
    assert (path / "manifest.sha256").read_text(encoding="utf-8") == f"{digest}  manifest.json\n"


def test_a_level_with_a_single_view_has_null_for_agreement(tmp_path):
    save_model(CoHiRF.as_published(KMeans(3), n_views=1, random_state=0).fit(rows()), tmp_path / "model")
    manifest = json.loads((tmp_path / "model" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["diagnostics"][0]["agreement"] is None
    assert np.isnan(load_model(tmp_path / "model").diagnostics_[0].agreement)


@posix_only
def test_new_files_have_the_permissions_that_others_get(path):
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o777 & ~mask
    assert {file.stat().st_mode & 0o777 for file in path.iterdir()} == {0o666 & ~mask}


# ---- damage


@pytest.mark.slow
def test_every_one_of_1000_bit_flips_is_noticed(path):
    rng = np.random.default_rng(0)
    files = sorted(path.iterdir())
    for number in range(1000):
        file = files[number % len(files)]
        whole = file.read_bytes()
        damaged = bytearray(whole)
        place, bit = rng.integers(len(whole)), rng.integers(8)
        damaged[place] ^= 1 << bit
        file.write_bytes(damaged)
        with pytest.raises(ModelFileError, match=r"manifest\.|" + file.name):
            load_model(path)
        file.write_bytes(whole)
    load_model(path)


def test_every_one_of_100_truncations_is_noticed(path):
    rng = np.random.default_rng(0)
    files = sorted(path.iterdir())
    for number in range(100):
        file = files[number % len(files)]
        whole = file.read_bytes()
        file.write_bytes(whole[: rng.integers(len(whole))])
        with pytest.raises(ModelFileError, match=file.name):
            load_model(path)
        file.write_bytes(whole)
    load_model(path)


def test_an_error_of_reading_names_the_file(path, monkeypatch):
    def fail(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fdopen", fail)
    with pytest.raises(OSError, match=r"The model was not read: Input/output error: .*manifest.json'"):
        load_model(path)


def test_swapped_files_are_noticed(path):
    labels, parents = (path / "labels.npy").read_bytes(), (path / "parents.npy").read_bytes()
    assert len(labels) == len(parents)
    (path / "labels.npy").write_bytes(parents)
    (path / "parents.npy").write_bytes(labels)
    with pytest.raises(ModelFileError, match=r"parents.npy' cannot be used: its SHA-256 differs"):
        load_model(path)


def test_files_of_another_model_are_noticed(path, tmp_path):
    save_model(CoHiRF.as_published(KMeans(2), random_state=1).fit(rows(2, 12)), tmp_path / "other")
    for file in sorted(path.iterdir()):
        whole = file.read_bytes()
        other = (tmp_path / "other" / file.name).read_bytes()
        if other != whole:
            file.write_bytes(other)
            with pytest.raises(ModelFileError):
                load_model(path)
            file.write_bytes(whole)


def test_every_missing_file_is_named(path):
    for file in sorted(path.iterdir()):
        whole = file.read_bytes()
        file.unlink()
        with pytest.raises(ModelFileError, match=f"{file.name}' cannot be used: the file is missing"):
            load_model(path)
        file.write_bytes(whole)


def test_an_extra_file_is_named(path):
    (path / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(ModelFileError, match=r"notes.txt' is an extra file, not part of the model: remove it"):
        load_model(path)


def test_a_directory_of_very_many_files_is_refused(path):
    for number in range(100):
        (path / f"file{number}").touch()
    with pytest.raises(ModelFileError, match="is an extra file"):
        load_model(path)


def test_a_path_without_a_model_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no saved model: .*nothing'"):
        load_model(tmp_path / "nothing")
    (tmp_path / "file").touch()
    with pytest.raises(ModelFileError, match="file' is not a directory: give the directory of a saved model"):
        load_model(tmp_path / "file")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelFileError, match=r"manifest.json' cannot be used: the file is missing"):
        load_model(tmp_path / "empty")


# ---- hostile files


def forge(path, **changes):
    """Change the manifest and seal it again, as an attacker would."""
    file = path / "manifest.json"
    manifest = json.loads(file.read_text(encoding="utf-8"))
    for place, value in changes.items():
        *keys, last = place.split("__")
        inner = manifest
        for key in keys:
            inner = inner[key]
        inner[last] = value
    seal(path, json.dumps(manifest))


def seal(path, text):
    (path / "manifest.json").write_text(text, encoding="utf-8")
    digest = sha256(text.encode()).hexdigest()
    (path / "manifest.sha256").write_text(f"{digest}  manifest.json\n", encoding="utf-8")


def forge_array(path, name, array, **changes):
    """Put another array in the place of one, with an entry that fits."""
    np.save(path / f"{name}.npy", array)
    content = (path / f"{name}.npy").read_bytes()
    entry = {"bytes": len(content), "dtype": array.dtype.str, "shape": list(array.shape)}
    forge(path, **{f"arrays__{name}": {**entry, "sha256": sha256(content).hexdigest(), **changes}})


def forge_sparse_file(path, name, shape, dtype, content=b""):
    """Let a file that is some content and one large hole claim to be an array."""
    header = arrays.npy_header(arrays.ArrayEntry(0, dtype, shape, ""))
    size = len(header) + int(np.prod(shape)) * np.dtype(dtype).itemsize
    with (path / f"{name}.npy").open("wb") as file:
        file.write(header + content)
        file.truncate(size)
    forge(path, **{f"arrays__{name}": {"bytes": size, "dtype": dtype, "shape": list(shape), "sha256": "0" * 64}})


def base_named(name, **parameters):
    return {"estimator": {"name": name, "parameters": parameters, "output": None}}


def deep(levels, inner=0):
    for _ in range(levels):
        inner = {"tuple": [inner]}
    return inner


class Bomb:
    """Unpickling it makes a file."""

    def __reduce__(self):
        return (open, ("unpickled", "w"))


def assert_refused(path, message):
    """Check that loading fails with one short line, and changes nothing."""
    outside = sorted(path.parent.rglob("*"))
    with pytest.raises(ModelFileError, match=message) as caught:
        load_model(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000
    assert sorted(path.parent.rglob("*")) == outside


def test_pickles_in_the_place_of_arrays_are_not_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content = pickle.dumps(Bomb())
    (path / "labels.npy").write_bytes(content)
    assert_refused(path, r"labels.npy' cannot be used: it has \d+ bytes, but the manifest says 176")
    (path / "labels.npy").write_bytes(content.ljust(176, b"\0"))
    assert_refused(path, "labels.npy' cannot be used: its header is not that of an array of type <i4 and shape")
    assert not (tmp_path / "unpickled").exists()


def test_object_arrays_are_refused_whatever_the_manifest_says(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    array = np.array([Bomb()] * 12, dtype=object)
    forge_array(path, "labels", array)
    assert_refused(path, r"labels has type '\|O', but only <i4, <i8 are allowed")
    size = (path / "labels.npy").stat().st_size
    forge_array(path, "labels", array, dtype="<i4")
    assert_refused(path, rf"labels of shape \(12,\) takes 176 bytes, not {size}")
    assert not (tmp_path / "unpickled").exists()


def test_zip_archives_in_the_place_of_arrays_are_refused(path):
    with zipfile.ZipFile(path / "labels.npy", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("labels.npy", bytes(10**7))
    assert_refused(path, "labels.npy' cannot be used: it has .* bytes")
    (path / "labels.npy").write_bytes((path / "labels.npy").read_bytes()[:176])
    assert_refused(path, "its header is not that of an array")


@pytest.mark.parametrize("name", ["../labels", "/etc/passwd", "labels.npy", "", "labels\x00", "x" * 10**6])
def test_array_names_outside_the_closed_set_are_refused(path, name):
    entry = json.loads((path / "manifest.json").read_text(encoding="utf-8"))["arrays"]["labels"]
    forge(path, arrays={name: entry})
    assert_refused(path, "is not the name of an array of a model")


@posix_only
@pytest.mark.parametrize("name", ["manifest.json", "manifest.sha256", "labels.npy"])
def test_links_pipes_sockets_and_directories_are_refused(path, tmp_path, name, monkeypatch):
    shutil.move(path / name, tmp_path / "elsewhere")
    message = f"{name}' cannot be used: it is a link, a directory, a pipe or a device, not a regular file"
    (path / name).symlink_to(tmp_path / "elsewhere")
    assert_refused(path, message)
    (path / name).unlink()
    os.mkfifo(path / name)
    assert_refused(path, message)
    (path / name).unlink()
    (path / name).mkdir()
    assert_refused(path, message)
    (path / name).rmdir()
    monkeypatch.chdir(path)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(name)
        assert_refused(path, message)


def test_claimed_sizes_are_compared_with_the_file_before_anything_is_allocated(path):
    for shape in ([10**12], [2**61], [12, 10**9]):
        forge(path, arrays__labels__shape=shape)
        assert_refused(path, "labels of shape|labels has shape")
    forge(path, arrays__labels__shape=[10**12], arrays__labels__bytes=128 + 4 * 10**12)
    assert_refused(path, "has .* rows, but .* says")
    n_bytes = {"labels": 4, "parents": 4, "absorbed_at": 1, "stability": 4}
    for name, width in n_bytes.items():
        forge(path, **{f"arrays__{name}__shape": [10**12], f"arrays__{name}__bytes": 128 + width * 10**12})
    assert_refused(path, "it has 176 bytes, but the manifest says 4000000000128")


def of_rows(n_rows):
    """Return name, shape and type of each array that has an entry for each row."""
    types = {"labels": "<i4", "parents": "<i4", "absorbed_at": "|u1", "stability": "<f4"}
    return [(name, (n_rows,), dtype) for name, dtype in types.items()]


def test_files_that_are_mostly_holes_are_refused(path):
    for name, shape, dtype in of_rows(3 * 10**8):
        forge_sparse_file(path, name, shape, dtype, content=b"\1" * (5 * 2**18))
    assert_refused(
        path, r"it has 3900\d+ bytes of data that take up only \d+ on disk, less than a fiftieth; .* copy it"
    )


def test_a_hole_among_the_rows_is_refused_before_the_files_behind_it_are_read(path):
    for name, shape, dtype in of_rows(2 * 10**6):  # too small to be looked at for holes
        forge_sparse_file(path, name, shape, dtype)
    assert_refused(path, "stability.npy' cannot be used: it has values that are not above 0 and at most 1")


def test_a_hole_among_the_features_is_refused(path):
    n_features = 600_000
    matrices = dict.fromkeys(("medoids", "exemplars", "landmarks"), "<f4")
    for name, dtype in (matrices | {"feature_agreement": "<f8"}).items():
        shape = (*np.load(path / f"{name}.npy").shape[:-1], n_features)
        forge_sparse_file(path, name, shape, dtype)
    forge(path, scalars__n_features=n_features)
    assert_refused(path, "feature_agreement.npy' cannot be used: it has values that are not above 0 and at most 1")


@pytest.mark.parametrize(
    ("forged", "scalars", "message"),
    [
        (
            {"medoid_indices": (13,), "medoids": (13, 2), "exemplar_indices": (13,), "exemplars": (13, 2)},
            {"n_clusters": 13},
            "the model has 13 clusters, but only 12 rows",
        ),
        (
            {"landmark_rows": (13,), "landmark_labels": (13,), "landmarks": (13, 2)},
            {},
            "the model has 13 landmarks, but only 12 rows",
        ),
        (
            {"landmark_rows": (0,), "landmark_labels": (0,), "landmarks": (0, 2)},
            {},
            "the number of landmarks is 0, but a fitted model has at least one",
        ),
        (
            {"feature_agreement": (0,), "medoids": (3, 0), "exemplars": (3, 0), "landmarks": (12, 0)},
            {"n_features": 0},
            "the number of features is 0, but a fitted model has at least one",
        ),
    ],
)
def test_more_or_fewer_clusters_landmarks_or_features_than_there_can_be_are_refused(path, forged, scalars, message):
    integers = {"medoid_indices", "exemplar_indices", "landmark_rows", "landmark_labels"}
    for name, shape in forged.items():
        forge_array(path, name, np.zeros(shape, ints if name in integers else np.float64))
    forge(path, **{f"scalars__{name}": value for name, value in scalars.items()})
    assert_refused(path, message)


@pytest.mark.slow
@pytest.mark.parametrize(
    "forge_bomb",
    [
        lambda path: [forge_sparse_file(path, *of, content=os.urandom(5 * 2**18)) for of in of_rows(3 * 10**8)],
        lambda path: [forge_sparse_file(path, *of) for of in of_rows(5 * 10**6)],
        lambda path: seal(path, "[" + "{}," * (2**22 // 3 - 2) + "0]"),
        lambda path: seal(path, "[" * 10**6),
    ],
    ids=["holes", "small holes", "dense JSON", "deep JSON"],
)
def test_a_bomb_is_refused_within_2_seconds_and_200_megabytes(path, forge_bomb):
    forge_bomb(path)
    started = time.process_time()
    assert_refused(path, "cannot be used|nested too deeply")
    assert time.process_time() - started < 2
    assert traced_peak(assert_refused, path, "cannot be used|nested too deeply") < 150e6


def test_huge_manifests_are_not_read(path):
    with (path / "manifest.json").open("r+b") as file:
        file.truncate(10**11)
    assert_refused(path, "manifest.json' cannot be used: it has more than 4194304 bytes")


@pytest.mark.parametrize("text", ["[" * 10**6, '{"a":' * 10**5, "[" * 10**5 + "]" * 10**5])
def test_deep_json_is_refused(path, text):
    seal(path, text)
    assert_refused(path, "manifest.json' (is nested too deeply|cannot be used)")


@pytest.mark.parametrize(
    "text", ["", "null", "[]", "{}", "NaN", '{"format": Infinity}', "9" * 5000, '"cohirf-model"', "{'a': 1}", "[],[]"]
)
def test_what_is_no_manifest_is_refused(path, text):
    seal(path, text)
    assert_refused(path, "manifest.json' cannot be used")


def test_text_that_is_no_unicode_is_refused(path):
    (path / "manifest.json").write_bytes(b'{"a": "\xff"}')
    digest = sha256(b'{"a": "\xff"}').hexdigest()
    (path / "manifest.sha256").write_text(f"{digest}  manifest.json\n", encoding="utf-8")
    assert_refused(path, "manifest.json' cannot be used")


def test_dense_json_of_the_largest_size_is_refused_in_little_memory(path):
    seal(path, "[" + "{}," * (2**22 // 3 - 2) + "0]")
    assert_refused(path, "not a manifest of the format")


def test_very_many_estimators_are_refused(path):
    many = [base_named("KMeans")] * 60_000
    forge(path, model__parameters__estimator=base_named("Pipeline", steps=many))
    assert (path / "manifest.json").stat().st_size < 2**22
    assert_refused(path, "the parameters take more than 131072 bytes")


@pytest.mark.parametrize("version", [6, 10**30])
def test_a_newer_format_is_refused_with_the_version_to_upgrade_to(path, version):
    forge(path, format_version=version, package_version="7.1", news="what this version cannot know")
    (path / "news.npy").touch()
    assert_refused(
        path, r"has format version .*, but this version of cohirf reads version 5: upgrade cohirf to 7.1 or later"
    )


def test_an_older_format_is_refused_with_a_remedy(path):
    forge(path, format_version=4)
    assert_refused(path, "has format version 4, of an older cohirf; this one reads version 5: fit the model again")


@pytest.mark.parametrize("version", [0, -1, "1", None, [], 1.5, True])
def test_format_versions_that_never_were_are_refused(path, version):
    forge(path, format_version=version)
    assert_refused(path, "format version .* does not exist")


HOSTILE_MANIFESTS = {
    "another format": ({"format": "pickle"}, "not a manifest of the format cohirf-model"),
    "extra key": ({"code": "print(1)"}, "the manifest must be a JSON object with the keys"),
    "scalars": ({"scalars": []}, "scalars must be a JSON object with the keys"),
    "negative count": ({"scalars__n_clusters": -1}, "n_clusters is -1, but must be a non-negative integer"),
    "bool count": ({"scalars__n_iter": True}, "n_iter is True"),
    "float count": ({"scalars__n_features": 2.0}, r"n_features is 2\.0"),
    "huge count": ({"scalars__n_features": 10**4000}, "n_features is 1000.*but must be a non-negative integer"),
    "container": ({"scalars__container": "coo_matrix"}, "container 'coo_matrix' is not one of"),
    "container type": ({"scalars__container": []}, "container .* is not one of"),
    "other container": ({"scalars__container": "csr_matrix"}, "the array exemplars_data is missing"),
    "diagnostics": ({"diagnostics": {}}, "diagnostics must be a list"),
    "n_iter": ({"scalars__n_iter": 10**9}, "diagnostics must be a list of 1000000000 levels"),
    "record": ({"diagnostics": [1, 2], "scalars__n_iter": 2}, "a level of diagnostics must be a JSON object"),
    "arrays": ({"arrays": []}, "arrays must be a JSON object"),
    "no arrays": ({"arrays": {}}, "the array absorbed_at is missing"),
    "entry": ({"arrays__labels": None}, "labels must be a JSON object with the keys"),
    "dtype": ({"arrays__labels__dtype": "<f8"}, "labels has type '<f8', but only <i4, <i8 are allowed"),
    "dtype type": ({"arrays__labels__dtype": ["<i4"]}, "labels has type"),
    "dtype of objects": ({"arrays__medoids__dtype": "|O"}, r"medoids has type '\|O'"),
    "dtype with code": ({"arrays__labels__dtype": "i4,(2)O"}, "labels has type"),
    "shape": ({"arrays__labels__shape": 12}, "labels has shape 12, but 1 axes are expected"),
    "axes": ({"arrays__labels__shape": [3, 4]}, r"labels has shape \[3, 4\]"),
    "negative shape": ({"arrays__labels__shape": [-12]}, "a length is -12"),
    "shape of bool": ({"arrays__labels__shape": [True]}, "a length is True"),
    "bytes": ({"arrays__labels__bytes": 175}, r"labels of shape \(12,\) takes 176 bytes, not 175"),
    "sha256": ({"arrays__labels__sha256": None}, "the sha256 of labels must be a string"),
    "n_features": ({"scalars__n_features": 3}, "has 2 features, but n_features says 3"),
    "n_clusters": ({"scalars__n_clusters": 1}, "has 3 clusters, but n_clusters says 1"),
    "model": ({"model": "CoHiRF"}, "model must be a JSON object with the keys name, output, parameters"),
    "model name": ({"model__name": "KMeans"}, "the model is 'KMeans', not CoHiRF"),
    "parameters": ({"model__parameters": []}, "not CoHiRF with its parameters"),
    "output": ({"model__output": "code"}, "output 'code' is not one of default, pandas, polars"),
    "unknown parameter": ({"model__parameters__evil": 1}, "CoHiRF has no parameter 'evil'"),
    "parameter type": ({"model__parameters__n_views": "5"}, "'n_views' parameter of CoHiRF must be an int"),
    "long parameter": ({"model__parameters__medoid": "x" * 10**5}, "'medoid' parameter of CoHiRF must be"),
    "lines": ({"model__parameters__medoid": "a\nb"}, "'medoid' parameter of CoHiRF must be"),
    "absent parameter": ({"model__parameters__n_views": {"absent": "5"}}, "is not a parameter value"),
    "absent type": ({"model__parameters__estimator": {"absent": 5}}, "is not a parameter value"),
    "absent lines": ({"model__parameters__estimator": {"absent": "a\n" * 10**5}}, "estimator=a a a .* pass it"),
    "dict": ({"model__parameters__n_views": {"a": 1, "b": 2}}, "is not a parameter value"),
    "float": ({"model__parameters__n_views": {"float": "1e3"}}, "is not one of nan, inf and -inf"),
    "tuple": ({"model__parameters__n_views": {"tuple": 1}}, "a tuple must be stored as a list"),
    "dict type": ({"model__parameters__n_views": {"dict": 1}}, "a dict must be stored as an object"),
    "numpy": ({"model__parameters__n_views": {"numpy": 1}}, "is not the type and the value of a NumPy scalar"),
    "numpy type": ({"model__parameters__n_views": {"numpy": ["object_", 1]}}, "'object_' is not a type of NumPy"),
    "numpy array": ({"model__parameters__n_views": {"numpy": ["float64", [1]]}}, r"\[1\] is not a NumPy scalar"),
    "numpy value": ({"model__parameters__n_views": {"numpy": ["int8", 300]}}, "out of bounds for int8"),
    "type": ({"model__parameters__n_views": {"type": "os"}}, "'os' is not a type of NumPy"),
    "deep parameter": ({"model__parameters__n_views": deep(300)}, "nested too deeply|cannot be used"),
    "estimator string": (
        {"model__parameters__estimator": "KMeans"},
        "estimator='KMeans' is not a clustering estimator",
    ),
    "module": ({"model__parameters__estimator": base_named("os.system")}, "'os.system' is not an estimator"),
    "class": ({"model__parameters__estimator": base_named("Popen", args="ls")}, "'Popen' is not an estimator"),
    "name type": ({"model__parameters__estimator": base_named([])}, r"\[\] is not an estimator"),
    "description": ({"model__parameters__estimator": {"estimator": 1}}, "1 is not the description of an estimator"),
    "base parameter": ({"model__parameters__estimator": base_named("KMeans", x=1)}, "KMeans has no parameter 'x'"),
    "base type": ({"model__parameters__estimator": base_named("KMeans", n_clusters="8")}, "'n_clusters' parameter"),
    "self": ({"model__parameters__estimator": base_named("KMeans", self=1)}, "KMeans has no parameter 'self'"),
    "n_views": ({"model__parameters__n_views": 10**18}, r"'n_views' parameter of CoHiRF must be an int in .* 100000"),
    "max_iter": ({"model__parameters__max_iter": 10**18}, "'max_iter' parameter of CoHiRF must be an int in"),
    "batches": ({"model__parameters__batches": "x"}, "'batches' parameter of CoHiRF must be a str among"),
    "n_jobs": ({"model__parameters__n_jobs": -(10**9)}, "n_jobs of CoHiRF must be from -10000 to 10000"),
    "no jobs": ({"model__parameters__n_jobs": 0}, "n_jobs=0 is not valid: give 1 or more"),
    "batch_size": ({"model__parameters__batch_size": "x"}, "batch_size='x' is not valid: give a number of rows"),
    "max_features": ({"model__parameters__max_features": 10**30}, "max_features=10+ is above the 2 features"),
    "nested n_views": (
        {"model__parameters__estimator": base_named("CoHiRF", n_views=10**18)},
        "'n_views' parameter of CoHiRF must be an int in",
    ),
    "base n_jobs": ({"model__parameters__estimator": base_named("DBSCAN", n_jobs=10**6)}, "n_jobs of DBSCAN must be"),
    "no steps": ({"model__parameters__estimator": base_named("Pipeline", steps=[])}, "cannot be used"),
    "wrong steps": ({"model__parameters__estimator": base_named("Pipeline", steps=[1, 2])}, "cannot be used"),
    "no parameters": (
        {"model__parameters__estimator": {"estimator": {"name": "KMeans", "parameters": 1, "output": None}}},
        "the parameters of KMeans must be an object",
    ),
}


@pytest.mark.parametrize("name", HOSTILE_MANIFESTS)
def test_hostile_manifests_are_refused(path, name):
    changes, message = HOSTILE_MANIFESTS[name]
    forge(path, **changes)
    assert_refused(path, message)


def test_hostile_diagnostics_are_refused(path):
    record = json.loads((path / "manifest.json").read_text(encoding="utf-8"))["diagnostics"][0]
    for change, message in (
        ({"level": None}, "level is None, but must be a non-negative integer"),
        ({"agreement": "1"}, "agreement is '1', but must be a finite number or null"),
        ({"agreement": True}, "agreement is True"),
    ):
        forge(path, diagnostics=[{**record, **change}], scalars__n_iter=1)
        assert_refused(path, message)
    seal(path, (path / "manifest.json").read_text(encoding="utf-8").replace('"agreement": true', '"agreement": 1e999'))
    assert_refused(path, "agreement is inf")


ints = np.int32
HOSTILE_ARRAYS = {
    "parents out of range": (
        "parents",
        np.full(12, 12, ints),
        "parents.npy' .* it has row numbers outside the range 0 to 11",
    ),
    "parents negative": (
        "parents",
        np.full(12, -1, ints),
        "parents.npy' .* it has row numbers outside the range 0 to 11",
    ),
    "parents in a circle": ("parents", np.roll(np.arange(12, dtype=ints), 1), "parents is not a fusion hierarchy"),
    "levels": (
        "absorbed_at",
        np.arange(12, dtype=np.uint64) << 58,
        "absorbed_at.npy' .* it has levels outside the range 0 to 3",
    ),
    "labels": ("labels", np.full(12, 3, ints), "labels.npy' .* it has labels outside the range -1 to 2"),
    "labels below": ("labels", np.full(12, -2, ints), "labels.npy' .* it has labels outside the range -1 to 2"),
    "landmark labels": (
        "landmark_labels",
        np.full(12, 3, ints),
        "landmark_labels.npy' .* labels outside the range -1 to 2",
    ),
    "other landmarks": ("landmark_rows", np.zeros(12, ints), "landmark_rows.npy' .* not a sorted list of distinct row"),
    "landmark rows": (
        "landmark_rows",
        np.arange(1, 13, dtype=ints),
        "landmark_rows.npy' .* not a sorted list of distinct row numbers from 0 to 11",
    ),
    "medoid rows": (
        "medoid_indices",
        np.array([0, 1, 12]),
        "medoid_indices.npy' .* row numbers outside the range 0 to 11",
    ),
    "medoid row": (
        "medoid_indices",
        np.array([-12, 1, 2]),
        "medoid_indices.npy' .* row numbers outside the range 0 to 11",
    ),
    "other medoids": ("medoid_indices", np.zeros(3, int), "medoid_indices.npy lists rows that are not in the clusters"),
    "NaN": ("landmarks", np.full((12, 2), np.nan), "landmarks.npy' cannot be used: it has NaN or infinity"),
    "infinity": ("landmarks", np.full((12, 2), np.inf), "landmarks.npy' cannot be used: it has NaN or infinity"),
    "NaN medoids": ("medoids", np.full((3, 2), np.nan), "medoids.npy' cannot be used: it has NaN or infinity"),
    "infinite medoids": ("medoids", np.full((3, 2), -np.inf), "medoids.npy' cannot be used: it has NaN or infinity"),
    "column means": ("column_means", np.full(2, np.nan), "column_means.npy' cannot be used: it has NaN or infinity"),
    "no stability": ("stability", np.zeros(12, np.float32), "stability.npy' .* not above 0 and at most 1"),
    "too much stability": ("stability", np.full(12, 2, np.float32), "stability.npy' .* not above 0 and at most 1"),
    "no agreement": ("feature_agreement", np.zeros(2), "feature_agreement.npy' .* not above 0 and at most 1"),
    "few rows": ("labels", np.zeros(11, ints), "labels has 11 rows, but stability says 12"),
    "few landmarks": (
        "landmark_labels",
        np.zeros(11, ints),
        "landmark_labels has 11 landmarks, but landmark_rows says 12",
    ),
    "few medoids": ("medoids", np.zeros((2, 2)), "medoids has 2 clusters, but n_clusters says 3"),
    "narrow landmarks": ("landmarks", np.zeros((12, 1)), "landmarks has 1 features, but n_features says 2"),
    "one name array": ("feature_names", np.zeros(2, np.uint8), "the array feature_name_lengths is missing"),
    "CSR part": ("medoids_data", np.zeros(2), "the array medoids_data does not belong to a model of dense data"),
}


@pytest.mark.parametrize("name", HOSTILE_ARRAYS)
def test_hostile_arrays_are_refused(path, name):
    array_name, array, message = HOSTILE_ARRAYS[name]
    forge_array(path, array_name, array)
    assert_refused(path, message)


def test_a_level_beyond_the_last_is_refused(path):
    absorbed_at = np.load(path / "absorbed_at.npy")
    forge_array(path, "absorbed_at", absorbed_at * 4)
    assert_refused(path, r"absorbed_at.npy' cannot be used: it has levels outside the range 0 to 3")


def test_a_model_without_rows_is_refused(path):
    for name, array in {"labels": np.empty(0, ints), "parents": np.empty(0, ints)}.items():
        forge_array(path, name, array)
    forge_array(path, "absorbed_at", np.empty(0, np.uint8))
    forge_array(path, "stability", np.empty(0, np.float32))
    assert_refused(path, "the number of rows is 0, but a fitted model has at least one")


@pytest.mark.parametrize(
    ("text", "lengths", "message"),
    [
        (b"ab", [1, 2], "the lengths in feature_name_lengths.npy do not add up"),
        (b"ab", [3, -1], "feature_name_lengths.npy' .* it has lengths outside the range 0 to 2"),
        (b"ab", [2**31 - 1, 1], "feature_name_lengths.npy' .* it has lengths outside the range 0 to 2"),
        (b"ab", [1, 1, 0], "feature_name_lengths has 3 features, but n_features says 2"),
        (b"\xff\xff", [1, 1], "codec can't decode"),
    ],
)
def test_hostile_feature_names_are_refused(path, text, lengths, message):
    forge_array(path, "feature_names", np.frombuffer(text, np.uint8))
    forge_array(path, "feature_name_lengths", np.array(lengths, ints))
    assert_refused(path, message)


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        ("indptr", lambda a: a[::-1], "medoids_indptr is not the index pointer of 3 rows with 6 cells"),
        ("indptr", lambda a: np.array([0, 10**6, 1, 6], a.dtype), "medoids_indptr.npy' .* starts of rows outside"),
        ("indptr", lambda a: np.array([0, 6, 1, 6], a.dtype), "medoids_indptr is not the index pointer"),
        ("indptr", lambda a: a[:-1], "medoids_indptr is not the index pointer of 3 rows"),
        ("indptr", lambda a: a[:0], "medoids_indptr is not the index pointer of 3 rows"),
        ("indptr", lambda a: a // 2, "medoids_indptr is not the index pointer"),
        ("indices", lambda a: a + 10**6, "medoids_indices.npy' .* it has column numbers outside the range 0 to 1"),
        ("indices", lambda a: a + 1, "medoids_indices.npy' .* it has column numbers outside the range 0 to 1"),
        ("indices", lambda a: a - 1, "medoids_indices.npy' .* it has column numbers outside the range 0 to 1"),
        ("data", lambda a: a * np.nan, "medoids_data.npy' .* it has NaN or infinity"),
        ("indices", lambda a: a[:-1], "has . cells of medoids, but .* says"),
    ],
)
def test_hostile_csr_parts_are_refused(sparse_path, part, change, message):
    name = f"medoids_{part}"
    forge_array(sparse_path, name, change(np.load(sparse_path / f"{name}.npy")))
    assert_refused(sparse_path, message)


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        ("indptr", lambda a: a + 25 * (a > 0), "landmarks_indptr.npy' .* starts of rows outside the range 0 to 24"),
        ("indptr", lambda a: a - 1, "landmarks_indptr.npy' .* starts of rows outside the range 0 to 24"),
        ("indices", lambda a: a + 1, "landmarks_indices.npy' .* it has column numbers outside the range 0 to 1"),
        ("indices", lambda a: a - 1, "landmarks_indices.npy' .* it has column numbers outside the range 0 to 1"),
        ("data", lambda a: a * np.nan, "landmarks_data.npy' .* it has NaN or infinity"),
    ],
)
def test_hostile_csr_parts_of_landmarks_are_refused(sparse_path, part, change, message):
    name = f"landmarks_{part}"
    forge_array(sparse_path, name, change(np.load(sparse_path / f"{name}.npy")))
    assert_refused(sparse_path, message)


def test_csr_data_without_a_value_takes_no_column_means(sparse_path):
    forge_array(sparse_path, "column_means", np.zeros(2))
    assert_refused(sparse_path, "the array column_means does not belong to a model of csr_matrix data")


def test_an_empty_csr_matrix_with_pointers_that_lead_outside_is_refused(sparse_path):
    for part, array in {"data": np.empty(0), "indices": np.empty(0, ints), "indptr": np.array([0, 9, 9, 0])}.items():
        forge_array(sparse_path, f"medoids_{part}", array)
    assert_refused(sparse_path, "medoids_indptr.npy' cannot be used: it has starts of rows outside the range 0 to 0")


# ---- writing


def count_calls(monkeypatch, name, fail_at=None, code=errno.EIO):
    """Count the calls of a function of ``os``, and let one of them fail."""
    original, calls = getattr(os, name), []

    def counting(*arguments, **options):
        calls.append(arguments)
        if len(calls) == fail_at:
            raise OSError(code, os.strerror(code))
        return original(*arguments, **options)

    monkeypatch.setattr(os, name, counting)
    return calls


def attempt(function, *arguments, **options):
    """Return whether a call succeeds; if it does not, see that its error says what and where."""
    try:
        function(*arguments, **options)
    except OSError as error:
        assert error.errno == errno.EIO  # noqa: PT017 - it need not fail
        assert f"The model was not saved: {os.strerror(errno.EIO)}: '{arguments[1]}'" in str(error)  # noqa: PT017 - likewise
        return False
    return True


def no_library(_):
    """Stand for the C library of a system that cannot exchange two directories."""
    raise OSError


@pytest.mark.parametrize("one_step", [True, False], ids=["exchange", "renames"])
@pytest.mark.parametrize("name", ["mkdir", "fsync", "replace"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_failing_call_leaves_the_old_state_and_no_stray_files(
    name, overwrite, one_step, model, tmp_path, monkeypatch
):
    other = CoHiRF.as_published(KMeans(2), random_state=3).fit(rows(2, 12))
    if not one_step:
        monkeypatch.setattr(ctypes, "CDLL", no_library)
    if overwrite:
        save_model(other, tmp_path / "model")
    for fail_at in range(1, 100):
        with monkeypatch.context() as patch:
            calls = count_calls(patch, name, fail_at)
            if attempt(save_model, model, tmp_path / "model", overwrite=overwrite):
                break
        if overwrite:
            assert_same_model(load_model(tmp_path / "model"), other, rows(2, 12))
        assert [file.name for file in tmp_path.iterdir()] == ["model"] * overwrite
    assert len(calls) == fail_at - 1
    assert [file.name for file in tmp_path.iterdir()] == ["model"]
    assert_same_model(load_model(tmp_path / "model"), model, rows(2, 12))


def save_and_die(model, path, call):
    """Save a model in a process of its own, which is killed in the given call of fsync."""
    child = os.fork()
    if child == 0:
        calls = []

        def kill(descriptor):
            calls.append(descriptor)
            if len(calls) == call:
                os.kill(os.getpid(), signal.SIGKILL)

        os.fsync = kill
        save_model(model, path, overwrite=True)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@posix_only
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("one_step", [True, False], ids=["exchange", "renames"])
@pytest.mark.parametrize("call", [1, 6, 18, 19], ids=["first file", "a file", "directory", "exchanged"])
def test_a_save_after_a_killed_one_leaves_nothing_but_the_model(call, path, model, one_step, monkeypatch):
    if not one_step:
        monkeypatch.setattr(ctypes, "CDLL", no_library)
    other = clone(model).set_params(n_views=3).fit(rows(2, 12))
    save_and_die(other, path, call)
    assert load_model(path).n_views == (3 if call == 19 else 2)
    assert len(list(path.parent.iterdir())) == 3  # the model, another one, and the claim
    save_model(model, path, overwrite=True)
    assert [file.name for file in path.parent.iterdir()] == ["model"]
    assert load_model(path).n_views == 2


def test_a_full_disk_is_reported_with_the_path_and_leaves_nothing(model, tmp_path):
    resource = pytest.importorskip("resource", reason="Windows has no limit on the size of files")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (150, limits[1]))
    try:
        with pytest.raises(OSError, match=r"The model was not saved: File too large: .*model'"):
            save_model(model, tmp_path / "model")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not list(tmp_path.iterdir())


def test_a_directory_without_permission_is_named(model, tmp_path, monkeypatch):
    count_calls(monkeypatch, "mkdir", fail_at=1, code=errno.EACCES)
    with pytest.raises(PermissionError, match=r"The model was not saved: Permission denied: .*model'"):
        save_model(model, tmp_path / "model")


def test_a_missing_parent_is_named_and_not_made(model, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"The model was not saved: No such file or directory: .*away/model'"):
        save_model(model, tmp_path / "away" / "model")
    assert not list(tmp_path.iterdir())


def test_an_interrupt_leaves_no_stray_files(model, tmp_path, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save_model(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_everything_is_on_disk_before_the_model_appears_and_its_name_after(model, tmp_path, monkeypatch):
    events = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (events.append(os.fstat(fd).st_ino), fsync(fd))[1])
    monkeypatch.setattr(os, "replace", lambda *names: (events.append("replace"), replace(*names))[1])
    save_model(model, tmp_path / "model")
    place = events.index("replace")
    files = {file.stat().st_ino for file in (tmp_path / "model").iterdir()}
    assert set(events[:place]) == files | {(tmp_path / "model").stat().st_ino}
    assert events[place - 1] == (tmp_path / "model").stat().st_ino
    assert events[place + 1 :] == [tmp_path.stat().st_ino]


def test_an_existing_model_is_replaced_only_when_asked(path, model):
    other = CoHiRF.as_published(KMeans(2), random_state=3).fit(rows(2, 12))
    with pytest.raises(FileExistsError, match=r"pass overwrite=True or another path: .*model'"):
        save_model(other, path)
    assert_same_model(load_model(path), model, rows(2, 12))
    save_model(other, path, overwrite=True)
    assert_same_model(load_model(path), other, rows(2, 12))
    assert [file.name for file in path.parent.iterdir()] == ["model"]


def test_models_are_replaced_where_the_system_cannot_exchange_directories_in_one_step(path, model, monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", no_library)
    other = CoHiRF.as_published(KMeans(2), random_state=3).fit(rows(2, 12))
    save_model(other, path, overwrite=True)
    assert_same_model(load_model(path), other, rows(2, 12))
    assert [file.name for file in path.parent.iterdir()] == ["model"]


def write_files(folder, *, manifest, digest=None):
    """Make a folder with files that have the names of those of a model."""
    folder.mkdir()
    (folder / "manifest.json").write_text(manifest, encoding="utf-8")
    if digest is not None:
        (folder / "manifest.sha256").write_text(digest, encoding="utf-8")


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_is_no_model_is_never_replaced(model, tmp_path):
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "notes.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "arrays").mkdir()
    (tmp_path / "arrays" / "labels.npy").write_text("mine", encoding="utf-8")
    write_files(tmp_path / "web", manifest="{}")
    write_files(tmp_path / "signed web", manifest='{"format": "web"}', digest="0")
    write_files(tmp_path / "not JSON", manifest="cohirf-model", digest="0")
    write_files(tmp_path / "deep", manifest="[" * 10**5, digest="0")
    write_files(tmp_path / "without digest", manifest='{"format": "cohirf-model"}')
    before = contents(tmp_path)
    for name in ("file", "folder", "arrays", "web", "signed web", "not JSON", "deep", "without digest"):
        with pytest.raises(FileExistsError, match="not a saved model, and overwrite=True replaces only those"):
            save_model(model, tmp_path / name, overwrite=True)
    assert contents(tmp_path) == before
    save_model(model, tmp_path / "folder" / "model")
    assert (tmp_path / "folder" / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_a_damaged_model_and_an_empty_directory_can_be_replaced(path, model, tmp_path):
    (path / "labels.npy").unlink()
    (path / "manifest.json").write_text('{"format": "cohirf-model"}', encoding="utf-8")
    save_model(model, path, overwrite=True)
    load_model(path)
    (tmp_path / "empty").mkdir()
    save_model(model, tmp_path / "empty", overwrite=True)
    load_model(tmp_path / "empty")


def test_a_link_keeps_pointing_at_the_model(path, model):
    link = path.parent / "latest"
    link.symlink_to(path)
    save_model(model, link, overwrite=True)
    assert link.is_symlink()
    assert_same_model(load_model(link), model, rows(2, 12))


@pytest.mark.slow
def test_saving_and_loading_copy_no_array(tmp_path, monkeypatch):
    n_rows = 1_000_000  # the least copy is of a megabyte; names and JSON take 200 kB
    held = CoHiRF.as_published(KMeans(3), random_state=0).fit(rows(2, 12))
    tree = MergeTree(np.zeros(1, ints), np.empty((0, 4)), level=1)
    hierarchy = type(held.hierarchy_)(np.zeros(n_rows, ints), (np.arange(n_rows) > 0).astype(np.uint8), tree=tree)
    vars(held).update(
        labels_=np.zeros(n_rows, ints),
        hierarchy_=hierarchy,
        n_clusters_=1,
        cluster_numbers_=np.zeros(1, int),
        medoid_indices_=np.zeros(1, int),
        medoids_=held.medoids_[:1],
        exemplar_indices_=np.zeros(1, int),
        exemplars_=held.exemplars_[:1],
        stability_=np.ones(n_rows, np.float32),
        _landmarks=Landmarks(held._landmarks.points, np.zeros(12, ints)),
        _summary=None,  # of the fit
    )
    monkeypatch.setattr(arrays, "CHUNK_BYTES", 2**14)
    monkeypatch.setattr(grouping, "BLOCK_ROWS", 2**12)
    assert traced_peak(save_model, held, tmp_path / "model") < 0.5 * n_rows
    entries = read_manifest(tmp_path / "model").arrays
    size = sum(entry.n_bytes for entry in entries.values())
    files = {tmp_path / "model" / f"{name}.npy": entry for name, entry in entries.items()}
    peak = traced_peak(lambda: [arrays.read_array(file, entry, arrays.accept) for file, entry in files.items()])
    assert peak < size + 0.5 * n_rows


def traced_peak(function, *arguments):
    tracemalloc.start()
    try:
        function(*arguments)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_other_byte_orders_are_stored_little_endian(model, tmp_path):
    held = clone(model).fit(rows(2, 12))
    held.medoids_ = held.medoids_.astype(">f8")
    save_model(held, tmp_path / "model")
    assert_same_bits(load_model(tmp_path / "model").medoids_, model.medoids_)


def test_the_package_version_is_unknown_in_a_source_tree(model, tmp_path, monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    save_model(model, tmp_path / "model")
    assert (
        json.loads((tmp_path / "model" / "manifest.json").read_text(encoding="utf-8"))["package_version"] == "unknown"
    )
    load_model(tmp_path / "model")
