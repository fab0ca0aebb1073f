"""One model out of several, by what they keep of their rows."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF, FusionHierarchy, load, merge
from cohirf.store.archive import Archive
from cohirf.store.models import MODEL
from cohirf.summary.numbers import Overlap

BLOBS, CLASSES = make_blobs(600, n_features=4, centers=3, random_state=0)
MOONS, CRESCENTS = make_moons(900, noise=0.05, random_state=0)
SITES = np.array_split(np.arange(600), 3)


def fitted(X, parts, **parameters):
    parameters = {"estimator": KMeans(3, n_init=1), "views": 2, "random_state": 0} | parameters
    return [CoHiRF(**parameters).fit(X[rows]) for rows in parts]


def fitted_to_a_table():
    return [CoHiRF(KMeans(3), random_state=0).fit(pd.DataFrame(BLOBS, columns=list("abcd")))]


def check(model, classes):
    hierarchy = model.hierarchy_
    FusionHierarchy(hierarchy.parents, hierarchy.absorbed_at, tree=hierarchy.tree)
    assert adjusted_rand_score(model.labels_, classes) == 1.0
    np.testing.assert_array_equal(model.labels_[model.medoid_indices_], model.cluster_numbers_)


@pytest.mark.parametrize(
    ("X", "batch_size", "exemplars_only"),
    [
        (BLOBS, None, False),
        (BLOBS, 60, True),
        (sparse.csr_array(BLOBS), 60, False),
        (sparse.csr_array(BLOBS), None, True),
    ],
)
def test_models_of_three_sites_have_the_clusters_of_all_rows(
    X, batch_size, exemplars_only, tmp_path
):
    sites = fitted(X, SITES, batch_size=batch_size)
    labels = [site.labels_ for site in sites]
    model = merge(sites, exemplars_only=exemplars_only)
    check(model, CLASSES)
    assert model._state.summary.value.update_rows == (200, 200, 200)
    # a number that any of the models has used is not given again
    assert model._state.summary.value.next_number == 9
    assert all(site.labels_ is before for site, before in zip(sites, labels, strict=True))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model").partial_fit(X[:100])
    np.testing.assert_array_equal(loaded.labels_, model.partial_fit(X[:100]).labels_)


def test_with_few_rows_a_merge_is_a_fit_to_all_rows():
    whole = CoHiRF(KMeans(3, n_init=1), views=2, random_state=0).fit(BLOBS)
    model = merge(fitted(BLOBS, np.split(np.arange(600), [300, 500])))  # the largest first
    assert model.hierarchy_ == whole.hierarchy_
    assert adjusted_rand_score(model.labels_, whole.labels_) == 1.0


def test_models_with_updates_are_merged():
    sites = fitted(BLOBS, [rows[:100] for rows in SITES], batch_size=60)
    for site, rows in zip(sites, SITES, strict=True):
        site.partial_fit(BLOBS[rows[100:]])
    check(merge(sites), CLASSES)


def test_density_models_are_merged_by_their_rows():
    sites = [
        CoHiRF(DBSCAN(0.2), random_state=0).partial_fit(part) for part in np.array_split(MOONS, 3)
    ]
    whole = CoHiRF(DBSCAN(0.2), random_state=0).fit(MOONS)
    assert merge(sites).hierarchy_ == whole.hierarchy_
    check(merge(sites), CRESCENTS)


def test_numbers_of_the_second_model_follow_those_of_the_first():
    far = BLOBS[:200] + 1000
    model = merge(
        [*fitted(BLOBS, SITES[:1], n_clusters=6), *fitted(far, [np.arange(200)], n_clusters=6)]
    )
    assert model.n_clusters_ == 6
    assert model.cluster_numbers_.min() >= 0
    assert model.cluster_numbers_.max() < 12
    assert list(model.changes_.born) == model.cluster_numbers_[model.cluster_numbers_ >= 6].tolist()


def test_what_an_exemplar_model_keeps_is_one_row_for_each_cluster(tmp_path):
    (site,) = fitted(BLOBS, SITES[:1])
    reduced = merge([site], exemplars_only=True)
    np.testing.assert_array_equal(reduced.labels_, site.labels_)
    reduced.save(tmp_path / "model")
    with (tmp_path / "model").open("rb", buffering=0) as file:
        stored = Archive(file)
        stored.open(*MODEL)
        matrices = [array for _, arrays in iter(stored.read, None) for array in arrays]
    shown = np.vstack(
        [
            matrix
            for matrix in matrices
            if matrix.ndim == 2 and matrix.shape[1] == 4 and len(matrix) == 3
        ]
    )
    is_row = (shown[:, None] == BLOBS[None]).all(axis=2).any(axis=0)
    np.testing.assert_array_equal(np.flatnonzero(is_row), np.sort(site.exemplar_indices_))
    assert max(len(matrix) for matrix in matrices if matrix.ndim == 2 and matrix.shape[1] == 4) == 3


def test_reduced_models_are_merged():
    reduced = [merge([site], exemplars_only=True) for site in fitted(BLOBS, SITES)]
    check(merge(reduced), CLASSES)


@pytest.mark.parametrize(
    ("models", "options", "message"),
    [
        (list, {}, "models is empty"),
        (
            lambda: fitted(BLOBS, SITES[:1]) + fitted(BLOBS[:, :2], SITES[:1]),
            {},
            "Model 1 has other features",
        ),
        (
            lambda: [*fitted(BLOBS, SITES[:1]), *fitted_to_a_table()],
            {},
            "Model 1 has other features",
        ),
        (
            lambda: [CoHiRF(n_clusters=2).fit(MOONS), CoHiRF(DBSCAN(0.2)).fit(MOONS)],
            {},
            "Model 1 has the base method DBSCAN, and the first one KMeans",
        ),
        (
            lambda: [CoHiRF(DBSCAN(0.2), random_state=0).fit(MOONS)],
            {"exemplars_only": True},
            "does not work with DBSCAN",
        ),
        (
            lambda: fitted(BLOBS, SITES[:1], min_cluster_size=67),
            {"exemplars_only": True},
            "model 0 has noise",
        ),
    ],
    ids=["none", "features", "names", "methods", "density", "noise"],
)
def test_models_that_do_not_go_together_are_refused(models, options, message):
    with pytest.raises(ValueError, match=message):
        merge(models(), **options)


def test_models_reduced_to_exemplars_are_not_compared_with_the_base_method():
    reduced = merge(fitted(BLOBS, SITES), exemplars_only=True)
    diagnosis = reduced.diagnose()
    assert diagnosis.recommendation == "unknown"
    n_kept = len(reduced.landmark_indices_)
    reason = (
        f"KMeans needs more rows than the {n_kept:,} of {len(BLOBS):,} that the model keeps. A "
        "merge with exemplars_only=True keeps only exemplars: diagnose the models before they are "
        "merged."
    )
    assert diagnosis.line == f"Whether KMeans alone would do better is not known: {reason}"
    assert [finding.answer for finding in diagnosis.findings] == ["Not known.", "Not measured."]
    effects = [reduced.explain(number)["mean"] for number in reduced.cluster_numbers_]
    assert np.isfinite(effects).all()


def test_models_of_different_metrics_are_refused(blobs):
    X, _ = blobs
    models = [
        CoHiRF(n_clusters=3, metric=metric, random_state=0).fit(X)
        for metric in ("euclidean", "cosine")
    ]
    with pytest.raises(
        ValueError, match="Model 1 has metric='cosine', and the first one metric='euclidean'"
    ):
        merge(models)


def test_the_history_of_the_first_model_goes_on_and_exemplars_have_no_stability():
    updated = [
        CoHiRF(KMeans(3, n_init=1), random_state=0).partial_fit(BLOBS[rows]) for rows in SITES[:2]
    ]
    assert [len(model.history_) for model in updated] == [1, 1]
    assert [step.n_added for step in merge(updated).history_] == [200, 200]
    assert [step.n_added for step in merge(fitted(BLOBS, SITES[:2])).history_] == [200, 200]
    (site,) = fitted(BLOBS, SITES[:1])
    assert np.isnan(merge([site], exemplars_only=True).stability_).all()


NORTH = np.arange(150)
SOUTH = np.arange(150, 600)


def overlapping(seed):
    return make_blobs(600, n_features=6, centers=6, cluster_std=2.5, random_state=seed)[0]


@pytest.mark.parametrize(
    ("parameters", "parts"),
    [
        ({"n_clusters": "auto", "estimator": None}, (NORTH, SOUTH)),
        ({"n_clusters": 6, "batch_size": 60}, (NORTH, SOUTH)),
        ({"n_clusters": "levels"}, tuple(np.array_split(np.arange(600), 3))),
    ],
    ids=["chosen", "batches", "levels"],
)
def test_the_clusters_do_not_depend_on_the_order_of_the_models(parameters, parts):
    sites = fitted(overlapping(0), parts, **parameters)
    labels = merge(sites).labels_
    backwards = merge(sites[::-1])
    again = np.split(backwards.labels_, np.cumsum([len(rows) for rows in parts[::-1]])[:-1])[::-1]
    assert adjusted_rand_score(labels, np.concatenate(again)) == 1.0
    np.testing.assert_array_equal(
        backwards.labels_[backwards.medoid_indices_], backwards.cluster_numbers_
    )


@pytest.mark.parametrize("first", [0, 1])
def test_the_numbers_of_the_first_model_last(first):
    sites = fitted(BLOBS, (NORTH, SOUTH))
    sites = [sites[first], sites[1 - first]]
    model = merge(sites)
    np.testing.assert_array_equal(model.labels_[: len(sites[0].labels_)], sites[0].labels_)
    assert model.changes_.n_moved == 0
    assert model.changes_.n_rows == len(sites[1].labels_)


def most_that_can_keep(before, after, n_first):
    """Return how many rows of the first model can keep their number, if each number is that of one
    cluster, which has most of its rows or consists mostly of them.
    """
    clustered = (before >= 0) & (after >= 0)
    table = pd.crosstab(before[clustered], after[clustered])
    smaller = np.minimum.outer(
        pd.Series(before[before >= 0]).value_counts().loc[table.index].to_numpy(),
        pd.Series(after[after >= 0]).value_counts().loc[table.columns].to_numpy(),
    )
    counts = table.to_numpy()
    kept = np.where(2 * counts > smaller, counts, 0)[: table.index.searchsorted(n_first)]
    return int(kept[linear_sum_assignment(-kept)].sum())


@pytest.mark.parametrize("parameters", [{}, {"n_clusters": "levels"}, {"n_clusters": 6}], ids=str)
@pytest.mark.parametrize("seed", [0, 2])
def test_where_clusters_are_found_anew_as_many_rows_of_the_first_model_as_can_keep_their_number(
    parameters, seed
):
    sites = fitted(overlapping(seed), (NORTH, SOUTH), estimator=KMeans(6, n_init=1), **parameters)
    n_first = sites[0]._state.summary.value.next_number
    before = np.concatenate([sites[0].labels_, n_first + sites[1].labels_])
    model = merge(sites)
    kept = (model.labels_ == before)[: len(NORTH)].sum()
    assert kept >= most_that_can_keep(before, model.labels_, n_first)
    assert model.changes_.n_moved == len(NORTH) - kept
    assert kept > 100


@pytest.mark.parametrize("seed", range(20))
def test_in_any_merge_no_other_numbers_would_keep_more_rows_of_the_first_model(seed):
    rng = np.random.default_rng(seed)
    n_first = 4
    before = rng.choice(9, size=300, p=rng.dirichlet(np.ones(9)))
    after = np.where(
        rng.random(300) < 0.6, rng.permutation(9)[before] % 5, rng.integers(5, size=300)
    )
    after = np.unique(after, return_inverse=True)[1]
    overlap = Overlap.of(before, after, np.ones(300, dtype=np.int64))
    numbers = overlap.match(after.max() + 1, 9, n_first)
    of_first = before < n_first
    assert (numbers[after] == before)[of_first].sum() >= most_that_can_keep(before, after, n_first)
    assert len(set(numbers.tolist())) == len(numbers)


def test_a_kind_that_only_the_second_model_has_is_born():
    far = np.vstack([BLOBS[SOUTH], BLOBS[:50] + 100])
    north = CoHiRF(n_clusters=3, random_state=0).fit(BLOBS[NORTH])
    south = CoHiRF(n_clusters=4, random_state=0).fit(far)
    south.n_clusters = north.n_clusters = 4
    model = merge([north, south])
    np.testing.assert_array_equal(model.labels_[:150], north.labels_)
    assert list(model.changes_.born.values()) == [50]
    assert str(model.history_[-1]).startswith("new: ")


def test_a_cluster_that_was_born_since_the_fit_goes_on_in_a_merge():
    north, south = (
        CoHiRF(n_clusters=3, random_state=0).fit(BLOBS[rows]) for rows in (NORTH, SOUTH)
    )
    odd = np.random.default_rng(0).normal(size=(30, 4)) + 100
    before = north.partial_fit(odd).labels_
    assert north.n_clusters_ == 4
    for model in (merge([north, south]), merge([south, north])):
        assert model.n_clusters_ == 4
        assert model.n_clusters == 3
    np.testing.assert_array_equal(merge([north, south]).labels_[: len(before)], before)


def start_site(rows):
    """Return a model of a few rows, which it keeps as they are."""
    model = CoHiRF(n_clusters=3, batch_size=40, random_state=0)
    return model.partial_fit(BLOBS[rows])


def merge_two_small_sites():
    return merge([start_site(slice(0, 50)), start_site(slice(50, 100))])


@pytest.mark.parametrize(
    ("change", "n_rows"),
    [
        (lambda model: model.partial_fit(BLOBS[100:160]), 160),
        (lambda model: model.forget(np.arange(60)), 40),
        (lambda model: model.forget(np.arange(30)).partial_fit(BLOBS[:40]), 110),
        (lambda model: merge([model, start_site(slice(100, 150))]).partial_fit(BLOBS[:60]), 210),
        (
            lambda model: merge([start_site(slice(0, 200)), model]).partial_fit(BLOBS[:60]),
            360,
        ),
    ],
)
def test_rows_of_small_sites_are_counted_once(change, n_rows, tmp_path):
    # the sites keep their rows, and together they have too many: an update contracts them
    model = change(merge_two_small_sites())
    first = model.diagnostics_[0]
    assert len(model.labels_) == first.rows_in == n_rows
    assert 0 <= first.rows_held_aside < n_rows
    assert model._state.summary.value.batches.sizes.sum() <= n_rows
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").diagnostics_[0].rows_held_aside == first.rows_held_aside
