"""What sets clusters and unions of clusters apart, against direct computation; and explain."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import load_iris, make_blobs

from cohirf import CoHiRF, open_source
from cohirf.app.explain.effects import (
    Likeness,
    count_different,
    find_formulas,
    find_missing,
    find_phrases,
    find_repeated,
    find_same,
    find_traits,
    find_traits_of_sets,
    measure_effects,
)
from cohirf.app.explain.table import Table, read_table
from cohirf.app.explain.words import join_levels


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(200, 6)) + 1000 * (np.arange(6) == 2)
    features[:, 5] = 0.1  # never changes, though its variance is rounded to more than 0
    return features, rng.integers(0, 5, 200)


def as_table(values):
    return Table(np.arange(values.shape[0]), values, [])


def direct_effect(features, labels, cluster):
    inside = labels == cluster
    difference = features[inside].mean(axis=0) - features[~inside].mean(axis=0)
    deviation = features.std(axis=0)
    return np.where(
        np.ptp(features, axis=0) > 0, difference / np.where(deviation > 0, deviation, 1), 0
    )


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_effects_are_differences_of_means_in_standard_deviations(rows, container):
    features, labels = rows
    held = container(features)
    effects = measure_effects(as_table(held), labels, np.array([3, 0]))
    for place, cluster in enumerate([3, 0]):
        np.testing.assert_allclose(
            effects.effect[place], direct_effect(features, labels, cluster), atol=1e-9
        )
        np.testing.assert_allclose(effects.mean[place], features[labels == cluster].mean(axis=0))
        np.testing.assert_allclose(
            effects.mean_elsewhere[place], features[labels != cluster].mean(axis=0)
        )
        assert effects.n_rows[place] == (labels == cluster).sum()


def test_a_cluster_without_others_or_without_rows_has_no_effects(rows):
    features, _ = rows
    effects = measure_effects(as_table(features), np.zeros(200, dtype=int), np.array([0, 7]))
    assert (effects.effect == 0).all()
    assert effects.n_rows.tolist() == [200, 0]


def test_no_clusters_give_no_effects(rows):
    features, labels = rows
    effects = measure_effects(as_table(features), labels, np.empty(0, dtype=int))
    assert effects.effect.shape == (0, 6)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_traits_of_unions_are_those_of_the_clusters_put_together(convert):
    rng = np.random.default_rng(0)
    X = convert(np.abs(rng.normal(size=(300, 6))) + 1)
    labels = rng.integers(-1, 4, 300)
    weights = rng.random(300)
    table = replace(read_table(X, np.arange(300)), weights=weights)
    (found,) = find_traits_of_sets(table, labels, [(1, 3)])
    (expected,) = find_traits(table, np.isin(labels, [1, 3]).astype(int), np.array([1]))
    assert [trait.feature for trait in found] == [trait.feature for trait in expected]
    for ours, direct in zip(found, expected, strict=True):
        assert ours.effect == pytest.approx(direct.effect)
        assert (ours.inside, ours.outside) == pytest.approx((direct.inside, direct.outside))


def test_a_union_of_all_rows_has_no_traits():
    table = read_table(np.arange(10.0).reshape(5, 2), np.arange(5))
    assert find_traits_of_sets(table, np.array([0, 0, 1, 1, 1]), [(0, 1)]) == [[]]


def test_at_most_one_trait_of_each_category():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"region": ["n", "s", "e", "w"] * 20, "x": np.arange(80.0)})
    (traits, _) = find_traits(read_table(X, np.arange(80)), np.repeat([0, 1], 40), np.array([0, 1]))
    assert sorted(trait.feature.name for trait in traits) in (["x"], ["region", "x"])


def test_words_of_a_sparse_matrix_are_said_if_the_cluster_has_them():
    X = sparse.csr_array(np.array([[1.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 1]]))
    table = read_table(X, np.arange(4), ["goal", "stock", "price"])
    traits = find_traits(table, np.array([0, 0, 1, 1]), np.array([0, 1]))
    assert [[trait.phrase for trait in of_cluster] for of_cluster in traits] == [
        ["goal"],
        ["stock", "price"],
    ]


pytest.importorskip("pandas")


IRIS = load_iris(as_frame=True).data


@pytest.fixture(scope="module")
def model():
    return CoHiRF.as_published(
        KMeans(3, n_init=1), views=10, max_features=0.5, consensus="majority", random_state=0
    ).fit(IRIS)


def test_effects_are_those_of_the_report_on_all_rows(model):
    X = IRIS.to_numpy()
    expected = measure_effects(as_table(X), model.labels_, np.array([1]))
    table = model.explain(1, IRIS).loc[list(IRIS.columns)]
    np.testing.assert_allclose(table["effect"], expected.effect[0])
    np.testing.assert_allclose(table["mean"], expected.mean[0])
    np.testing.assert_allclose(table["mean_elsewhere"], expected.mean_elsewhere[0])
    np.testing.assert_allclose(table["views_agree"], model.feature_agreement_)


def test_the_strongest_come_first(model):
    effects = model.explain(0, IRIS)["effect"].abs()
    assert effects.is_monotonic_decreasing


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array, open_source])
def test_data_is_read_from_whatever_holds_it(container):
    X = IRIS.to_numpy()
    fitted = CoHiRF.as_published(KMeans(3, n_init=1), random_state=0).fit(container(X))
    dense = CoHiRF.as_published(KMeans(3, n_init=1), random_state=0).fit(X)
    fitted.labels_ = dense.labels_  # the values are looked at here
    fitted.medoid_indices_ = dense.medoid_indices_
    fitted.medoids_ = dense.medoids_
    np.testing.assert_allclose(
        fitted.explain(0, container(X))["effect"], dense.explain(0, X)["effect"], atol=1e-9
    )


def test_large_numbers_keep_their_digits(model):
    far = CoHiRF.as_published(KMeans(3, n_init=1), views=10, max_features=0.5, random_state=0).fit(
        IRIS + 1e7
    )
    far.labels_ = model.labels_
    far.medoid_indices_ = model.medoid_indices_
    far.medoids_ = model.medoids_ + 1e7
    np.testing.assert_allclose(
        far.explain(0, IRIS + 1e7)["effect"], model.explain(0, IRIS)["effect"], rtol=1e-6
    )


def test_without_data_it_is_made_from_the_rows_that_were_kept(model):
    np.testing.assert_allclose(model.explain(2).to_numpy(), model.explain(2, IRIS).to_numpy())


def test_noise_features_are_in_views_that_agree_less():
    X, _ = make_blobs(500, 4, centers=3, cluster_std=1.0, random_state=1)
    X = np.c_[X, 3 * np.random.default_rng(0).standard_normal((500, 4))]
    model = CoHiRF.as_published(
        KMeans(3), views=60, max_features=3, consensus="majority", random_state=0
    ).fit(X)
    assert model.feature_agreement_[:4].mean() > model.feature_agreement_[4:].mean() + 0.1


@pytest.mark.parametrize("cluster", [99, -1, 0.5, "a"])
def test_a_cluster_that_is_not_there_is_named(model, cluster):
    with pytest.raises(
        ValueError,
        match=f"cluster={cluster!r} is not a cluster of this model: pass an int from 0 to {model.n_clusters_ - 1}",
    ):
        model.explain(cluster, IRIS)


def test_the_only_cluster_has_no_effects():
    model = CoHiRF.as_published(KMeans(1, n_init=1), random_state=0).fit(IRIS)
    assert (model.explain(0, IRIS)["effect"] == 0).all()


@pytest.mark.filterwarnings("ignore:All of the rows are noise")
def test_a_model_of_noise_says_that_it_has_no_clusters_to_explain():
    model = CoHiRF(DBSCAN(eps=1e-6), random_state=0).fit(
        np.random.default_rng(0).normal(size=(50, 3))
    )
    with pytest.raises(
        ValueError, match="cluster=0 is not a cluster of this model: it has none, because every row"
    ):
        model.explain(0)


def test_columns_with_the_same_noise_but_other_means_are_both_said():
    rng = np.random.default_rng(0)
    labels = np.arange(600) % 4
    noise = rng.normal(size=600)
    frame = pd.DataFrame(
        {
            "income": noise + np.array([5, 5, -5, -5])[labels],
            "debt": noise + np.array([4, -4, 4, -4])[labels],
        }
    )
    traits = find_traits(read_table(frame, np.arange(600)), labels, np.arange(4))
    assert [{trait.phrase for trait in some} for some in traits] == [
        {"high income", "high debt"},
        {"high income", "low debt"},
        {"low income", "high debt"},
        {"low income", "low debt"},
    ]


@pytest.mark.parametrize("n_rows", [600, 6000])
def test_a_column_that_follows_from_another_is_not_said_again(n_rows):
    # more than are compared, by cluster
    rng = np.random.default_rng(0)
    labels = np.sort(np.arange(n_rows) % 2)
    sleep = rng.normal(size=n_rows) + 3 * labels
    awake = 24 - sleep + 0.1 * rng.normal(size=n_rows)
    frame = pd.DataFrame(
        {"sleep": sleep, "awake": awake, "weight": rng.normal(size=n_rows) - labels}
    )
    traits = find_traits(read_table(frame, np.arange(n_rows)), labels, np.arange(2))
    for some in traits:
        assert {trait.feature.name for trait in some} in ({"sleep", "weight"}, {"awake", "weight"})


def test_a_cluster_is_a_little_lower_only_if_no_other_one_is_lower():
    x = np.concatenate([np.full(100, 1.0), np.full(100, 0.0), np.full(20, 9.0)]) + np.linspace(
        0, 0.1, 220
    )
    labels = np.repeat([0, 1, 2], [100, 100, 20])
    traits = find_traits(read_table(pd.DataFrame({"x": x}), np.arange(220)), labels, np.arange(3))
    assert [[trait.phrase for trait in some] for some in traits] == [[], ["low x"], ["high x"]]


def test_a_few_huge_numbers_do_not_say_what_a_cluster_is():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 500)
    size = rng.normal(size=1000)
    amount = rng.lognormal(size=1000)
    size[500:] += 5
    amount[500:] *= 1.2
    amount[:3] = 1e4  # the other rows of their cluster are smaller
    table = read_table(pd.DataFrame({"size": size, "amount": amount}), np.arange(1000))
    assert amount[:500].mean() > amount[500:].mean()
    assert [
        [trait.phrase for trait in some] for some in find_traits(table, labels, np.array([0, 1]))
    ] == [
        ["small size"],
        ["large size"],
    ]


def test_a_cluster_has_one_of_the_few_levels_that_no_other_one_has():
    kinds = np.repeat(
        ["fir (Abies)", "pine (Pinus)", "oak (Quercus)", "beech (Fagus)"], [30, 20, 40, 10]
    )
    table = read_table(pd.DataFrame({"tree": kinds}), np.arange(100))
    conifers, others = find_traits(table, np.repeat([0, 1], 50), np.array([0, 1]))
    assert conifers[0].phrase == "tree: fir or pine"
    assert (conifers[0].inside, conifers[0].outside) == pytest.approx((1, 0))
    assert others[0].phrase == "tree: beech or oak"
    assert join_levels(["north (1)", "north (2)"]) == "north (1) or north (2)"


def test_medium_is_between_the_other_clusters_and_near_none():
    rng = np.random.default_rng(0)
    mean = np.repeat([0.0, 0.1, 3.0, 6.0], 50)  # the second is next to the lowest one
    spread = np.repeat([1.0, 0.1, 0.1, 1.0], 50)
    frame = pd.DataFrame({"x": mean + spread * rng.normal(size=200)})
    labels = np.repeat([0, 1, 2, 3], 50)
    found = find_traits(read_table(frame, np.arange(200)), labels, np.arange(4))
    assert [some[0].is_middle if some else None for some in found] == [False, False, True, False]
    two = find_traits(read_table(frame, np.arange(200)), (labels == 2).astype(int), np.arange(2))
    assert not any(trait.is_middle for some in two for trait in some)


def test_what_fills_much_of_a_cluster_is_no_trait():
    x = np.r_[np.full(20, np.nan), np.full(30, 9.0), np.zeros(50)]
    y = np.r_[np.full(8, np.nan), np.full(42, 9.0), np.zeros(50)]
    table = read_table(pd.DataFrame({"x": x, "y": y}), np.arange(100))
    traits, _ = find_traits(table, np.repeat([0, 1], 50), np.arange(2))
    assert [trait.feature.name for trait in traits] == ["y"]


def test_a_value_that_only_a_cluster_has_is_its_name():
    packs = np.r_[np.full(6, 75.0), np.arange(94) % 5]
    labels = np.repeat([1, 0], [6, 94])
    table = read_table(pd.DataFrame({"packs": packs}), np.arange(100))
    many, few = find_traits(table, labels, np.arange(2))
    assert [many[0].phrase, few[0].phrase] == ["low packs", "packs: 75"]
    assert (few[0].fact.statistic, few[0].fact.value) == ("own value", 75)
    assert "packs: 75" in find_phrases(table, labels, np.array([1]))[0]
    packs[-1] = 75  # of another cluster
    shared = read_table(pd.DataFrame({"packs": packs}), np.arange(100))
    assert find_traits(shared, labels, np.arange(2))[1][0].phrase == "high packs"
    assert "packs: 75" not in find_phrases(shared, labels, np.array([1]))[0]


def test_a_cluster_whose_cells_are_missing_is_told_by_them():
    x, y, z = np.random.default_rng(0).normal(size=(3, 100))
    labels = np.repeat([0, 1], [60, 40])
    x[:60] = y[2:60] = np.nan
    z[::2] = np.nan
    table = read_table(pd.DataFrame({"x": x, "y": y, "z": z}), np.arange(100))
    assert find_missing(table, labels, 0) == (["x", "y"], 58 / 60)
    assert find_missing(table, labels, 1)[0] == []


def test_columns_that_are_the_clusters_are_said_rather_than_one_that_nearly_is():
    cancer = np.repeat([0.0, 1.0, 0.0, 1.0], [860, 110, 20, 10])
    mutant = np.repeat([0.0, 0.0, 1.0, 1.0], [860, 110, 20, 10])
    table = read_table(pd.DataFrame({"cancer": cancer, "mutant": mutant}), np.arange(1000))
    labels = (2 * mutant + cancer).astype(int)
    assert set(find_repeated(table, labels)) == {"cancer", "mutant"}
    labels[:5] = 4
    assert find_repeated(table, labels) == ("cancer",)


def test_rows_in_no_cluster_do_not_say_whether_clusters_repeat_a_column():
    group = np.repeat([0.0, 1.0, 2.0], 20)
    table = read_table(pd.DataFrame({"group": group}), np.arange(60))
    labels = np.where(np.arange(60) % 4 == 0, -1, group).astype(int)
    assert find_repeated(table, labels) == ("group",)


def test_columns_that_say_the_same_are_found_alone_and_together():
    start, end = np.random.default_rng(0).integers(3, size=(2, 300)).astype(float)
    table = pd.DataFrame({"start": start, "end": end, "way": 3 * start + end, "place": -start})
    read = read_table(table.assign(other=np.arange(300.0) % 7), np.arange(300))
    assert find_same(read, ("start",)) == ("place",)
    assert set(find_same(read, ("way",))) == {"start", "end", "place"}
    assert set(find_same(read, ("start", "end"))) == {"way", "place"}


def test_columns_that_are_formulas_of_each_other_are_found():
    rng = np.random.default_rng(0)
    x = rng.integers(9, size=90)
    y = rng.integers(9, size=90)
    frame = pd.DataFrame({"x": x, "y": y, "square": (x - 20) ** 2, "turn": (5 * x + 3) % 11})
    table = read_table(frame, np.arange(90))
    assert find_formulas(table) == [["x", "square", "turn"]]
    assert Likeness(table, np.arange(90) % 2)(0, 3)
    unique = pd.DataFrame({"x": np.arange(90.0), "y": rng.permutation(90), "z": np.arange(90.0)})
    assert find_formulas(read_table(unique, np.arange(90))) == []  # each tells the row


def test_different_rows_are_counted_only_if_all_cells_are_known():
    frame = pd.DataFrame({"x": [1.0, 1.0, 2.0, 2.0], "kind": ["a", "a", "a", "b"]})
    assert count_different(read_table(frame, np.arange(4))) == (["x", "kind"], 3)
    assert count_different(read_table(frame, np.arange(4)), ["x"]) == (["kind"], 2)
    frame["x"] = [1.0, np.nan, 2.0, 2.0]
    assert count_different(read_table(frame, np.arange(4))) == ([], 0)
