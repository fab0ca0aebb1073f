"""views as a list: each view has its own method, pipeline or columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline

import cohirf
import resumable
from cohirf import CheckpointError, CoHiRF, open_source
from cohirf.parties import Party, run
from cohirf.parties.party import CENTRALITY, rank_rows
from cohirf.rows.members import members_of
from places import FAR, PLACES, NearestSeeds

MIXED = [
    KMeans(4, n_init=1),
    GaussianMixture(4),
    AgglomerativeClustering(4),
    make_pipeline(PCA(2), KMeans(4, n_init=1)),
]


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(400, n_features=6, centers=4, cluster_std=1.5, random_state=0)


def test_equal_entries_are_the_number_of_them(blobs):
    X, _ = blobs
    base = KMeans(4, n_init=1)
    listed = CoHiRF(views=[base, base, base], random_state=0).fit(X)
    counted = CoHiRF(base, views=3, random_state=0).fit(X)
    assert np.array_equal(listed.labels_, counted.labels_)
    assert np.array_equal(listed.parents_, counted.parents_)


@pytest.mark.parametrize("batch_size", [None, 150])
def test_methods_and_pipelines_vote_together(blobs, batch_size):
    X, y = blobs
    model = CoHiRF(views=MIXED, batch_size=batch_size, random_state=0).fit(X)
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert np.array_equal(model.predict(X) >= 0, np.ones(len(X), dtype=bool))


@pytest.mark.parametrize(
    "columns", [[0, 1], slice(0, 2), ["a", "b"], np.array([True, True] + [False] * 4), [1, 0]]
)
def test_columns_are_those_of_a_column_transformer(blobs, columns):
    X, _ = blobs
    frame = pd.DataFrame(X, columns=list("abcdef"))
    seen = []

    class Seer(KMeans):
        def fit(self, X, y=None, sample_weight=None):
            seen.append(X.shape[1])
            return super().fit(X, y, sample_weight)

    model = CoHiRF.as_published(
        views=[(Seer(4, n_init=1), columns), KMeans(4, n_init=1)], random_state=0
    ).fit(frame)
    assert set(seen) == {2}
    assert np.isfinite(model.feature_agreement_).all()


def test_one_column_by_its_name(blobs):
    frame = pd.DataFrame(blobs[0], columns=list("abcdef"))
    views = [(KMeans(3, n_init=1), "a"), (KMeans(3, n_init=1), 5)]
    assert CoHiRF(views=views, random_state=0).fit(frame).n_clusters_ == 3


def test_list_works_on_files_with_jobs_checkpoints_updates_and_saving(blobs, tmp_path):
    X, _ = blobs
    np.save(tmp_path / "X.npy", X)
    source = open_source(tmp_path / "X.npy")
    options = {"views": MIXED, "batch_size": 150, "random_state": 0}
    model = CoHiRF(**options).fit(source)
    again = CoHiRF(**options, n_jobs=2, checkpoint=tmp_path / "ck").fit(source)
    assert np.array_equal(again.labels_, model.labels_)
    other = [clone(MIXED[0]).set_params(n_init=2), *MIXED[1:]]
    with pytest.raises(CheckpointError, match="views"):
        CoHiRF(**options | {"views": other}, checkpoint=tmp_path / "ck").fit(source)
    model.save(tmp_path / "model")
    loaded = cohirf.load(tmp_path / "model")
    assert [type(view) for view in loaded.views] == [type(view) for view in MIXED]
    assert np.array_equal(loaded.predict(X), model.predict(X))
    loaded.partial_fit(X[:50])
    assert len(loaded.labels_) == 450


def test_killed_fit_of_a_list_resumes_with_the_same_result_and_repeats_no_batch(tmp_path):
    views = [resumable.StoppedKMeans(3, n_init=1), (GaussianMixture(3), [0, 1])]
    options = {"estimator": None, "views": views}
    expected, calls = resumable.fit(resumable.make_model(**options), resumable.X)
    for stop_at in (2, len(calls) // 2, len(calls)):
        path = tmp_path / str(stop_at)
        assert (
            resumable.fit(resumable.make_model(path, **options), resumable.X, stop_at=stop_at)[0]
            is None
        )
        resumed, rest = resumable.fit(resumable.make_model(path, **options), resumable.X)
        assert resumable.result(resumed) == resumable.result(expected)
        assert rest == calls[stop_at - 1 :]


def test_update_of_a_loaded_list_is_that_of_the_fitted_one(blobs, tmp_path):
    X, _ = blobs
    model = CoHiRF(views=MIXED, random_state=0).fit(X[:300])
    model.save(tmp_path / "model")
    loaded = cohirf.load(tmp_path / "model")
    for each in (model, loaded):
        each.partial_fit(X[300:])
    assert np.array_equal(loaded.labels_, model.labels_)


IN_THIS_MEMORY = [place for place in PLACES if place is not FAR and "cuda" not in place.name]
LISTS = {
    "mixed": MIXED,
    "columns": [
        (KMeans(4, n_init=1), [0, 1, 2]),
        (GaussianMixture(4), slice(2, 6)),
        KMeans(4, n_init=1),
    ],
}


@pytest.mark.parametrize("views", LISTS.values(), ids=LISTS)
def test_list_on_dask_is_that_in_memory(blobs, views, tmp_path):
    da = pytest.importorskip("dask.array")
    X, _ = blobs
    options = {"views": views, "batch_size": 150, "random_state": 0}
    expected = CoHiRF(**options).fit(open_source(X))  # whose batches are consecutive rows, too
    chunked = da.from_array(X, chunks=(90, 4))
    found = CoHiRF(**options, checkpoint=tmp_path / "ck").fit(chunked)
    assert np.array_equal(np.asarray(found.labels_), expected.labels_)
    assert np.array_equal(np.asarray(found.predict(chunked)), expected.predict(X))


@pytest.mark.parametrize("batch_size", [None, 150])
@pytest.mark.parametrize("views", LISTS.values(), ids=LISTS)
@pytest.mark.parametrize("place", IN_THIS_MEMORY, ids=lambda place: place.name)
def test_list_on_a_device_of_which_methods_can_read_is_that_in_memory(
    blobs, place, views, batch_size
):
    X, _ = blobs
    options = {"views": views, "batch_size": batch_size, "random_state": 0}
    found = CoHiRF(**options).fit(place.put(X))
    assert np.array_equal(place.fetch(found.labels_), CoHiRF(**options).fit(X).labels_)


def test_list_on_another_device_needs_methods_for_it_and_the_one_that_fails_is_named(blobs):
    X, _ = blobs
    parts = [slice(0, 3), slice(3, 6)]
    options = {"batch_size": 150, "random_state": 0}
    here = CoHiRF(
        views=[(NearestSeeds(4, library="numpy"), part) for part in parts], **options
    ).fit(X)
    views = [(NearestSeeds(4), part) for part in parts]
    assert np.array_equal(
        FAR.fetch(CoHiRF(views=views, **options).fit(FAR.put(X)).labels_), here.labels_
    )
    with pytest.raises(RuntimeError, match="device1") as raised:
        CoHiRF(views=[*views, GaussianMixture(4)], **options).fit(FAR.put(X))
    assert "GaussianMixture was given rows on a device" in raised.value.__notes__[0]


def test_methods_that_find_the_number_may_be_among_them(blobs):
    X, y = blobs
    views = [DBSCAN(3.0), KMeans(4, n_init=1), AgglomerativeClustering(4)]
    assert CoHiRF(views=views, n_clusters=4, random_state=0).fit(X).n_clusters_ == 4
    free = CoHiRF(views=[DBSCAN(3.0), DBSCAN(3.5)], random_state=0).fit(X)
    assert adjusted_rand_score(y, free.labels_) > 0.8


class ByRanks:
    """A similarity by which CoHiRF chooses the row with the lowest mean rank over groups of
    columns, as parties do.
    """

    def __init__(self, parts):
        self.parts = parts

    def __call__(self, X):
        label = np.zeros(len(X), dtype=int)
        ranks = sum(
            rank_rows(CENTRALITY["cosine"](members_of(X[:, part], label, 1)), label)
            for part in self.parts
        )
        return np.tile(-ranks[:, None] / len(X), (1, len(X)))


def test_parties_with_columns_split_at_random_are_cohirf_with_those_views(blobs):
    X, _ = blobs
    order = np.random.default_rng(1).permutation(6)
    parts = [np.sort(order[:2]), np.sort(order[2:4]), np.sort(order[4:])]
    base = AgglomerativeClustering(6)  # draws nothing, so that seeds of parties do not matter
    model = CoHiRF.as_published(views=[(base, part) for part in parts], medoid=ByRanks(parts)).fit(
        X
    )
    found = run([Party(X[:, part], base, name=f"p{number}") for number, part in enumerate(parts)])
    assert np.array_equal(found.labels, model.labels_)
    assert np.array_equal(found.hierarchy.parents, model.parents_)


BAD = [
    ({"views": []}, "views=\\[\\] is empty"),
    ({"views": [KMeans]}, "is a class"),
    ({"views": [KMeans(3), 5]}, "estimator=5"),
    ({"views": [KMeans(3)], "estimator": KMeans(3)}, "leave estimator out"),
    ({"views": [KMeans(3), KMeans(5)]}, "different numbers of clusters"),
    ({"views": [(KMeans(3), [0], 1)]}, "not a pair"),
    ({"views": [(KMeans(3), [9])]}, "do not fit the 6 features"),
    ({"views": [(KMeans(3), "a")]}, "no column 'a'"),
    ({"views": [(KMeans(3), [0, 0])]}, "different columns"),
    ({"views": [(KMeans(3), slice(0, 0))]}, "different columns"),
    ({"views": 0}, "views"),
    ({"views": "five"}, "views"),
]


@pytest.mark.parametrize(("given", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_views_are_refused(blobs, given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        CoHiRF(**given).fit(blobs[0])


def test_weights_need_all_views_to_take_them(blobs):
    X, _ = blobs
    with pytest.raises(ValueError, match=r"AgglomerativeClustering\.fit does not"):
        CoHiRF(views=[KMeans(4), AgglomerativeClustering(4)]).fit(X, sample_weight=np.ones(len(X)))
