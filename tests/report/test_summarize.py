"""The dict that a report is made from."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import adjusted_rand_score, silhouette_score

from cohirf import CoHiRF
from cohirf.diagnosis.sample import draw_sample
from cohirf.report import sample as sampling
from cohirf.report.study import check_study
from cohirf.report.summarize import Options, summarize


@pytest.fixture(scope="module")
def summary(iris_study):
    return summarize(iris_study, Options("Iris"))


def test_it_is_plain_json(summary):
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_it_is_the_same_each_time(iris_study, summary):
    assert summarize(iris_study, Options("Iris")) == summary


def test_figures_are_those_of_the_model(iris, summary):
    model = iris[2]
    assert summary["figures"] == {
        "n_rows": 150,
        "n_columns": 4,
        "n_features": 4,
        "n_clusters": model.n_clusters_,
        "n_noise": 0,
        "n_levels": model.hierarchy_.n_levels,
        "n_sampled": 150,
        "is_pictured": False,
    }


def labels_at(summary, place, labels, unpack):
    """Return labels at a cut, given those at the finest, as the page does."""
    finer = summary["cuts"][place]["finer"]
    if finer is None:
        return labels
    parts = np.append(unpack(summary["cuts"][place]["parts"]), -1)
    return parts[labels_at(summary, finer, labels, unpack)]


def clusters_of(summary, cut):
    return [
        {"number": number} | summary["clusters"][place]
        for number, place in zip(cut["numbers"], cut["clusters"], strict=True)
    ]


def test_cuts_list_the_clusters_of_each_number(iris, summary):
    _, species, model = iris
    hierarchy = model.hierarchy_
    assert [cut["n_clusters"] for cut in summary["cuts"]] == list(range(1, hierarchy.cluster_counts()[1] + 1))
    assert [cut["is_final"] for cut in summary["cuts"]].index(True) == summary["final"] == model.n_clusters_ - 1
    for cut in summary["cuts"]:
        labels = hierarchy.cut(n_clusters=cut["n_clusters"])
        assert cut["ari"] == pytest.approx(adjusted_rand_score(species, labels))
        for cluster in clusters_of(summary, cut):
            members = labels == cluster["number"]
            assert cluster["size"] == members.sum()
            assert members[cluster["exemplar"]]
            counts = np.unique(species[members], return_counts=True)[1]
            assert cluster["class"]["share"] == counts.max() / counts.sum()


def test_a_cluster_of_several_cuts_is_described_once(summary):
    n_leaves = summary["cuts"][-1]["n_clusters"]
    assert len(summary["clusters"]) == 2 * n_leaves - 1  # the nodes of a binary tree


def test_points_carry_their_labels_at_every_cut(iris, summary, unpack):
    model, points = iris[2], summary["points"]
    rows, finest = unpack(points["row"]), unpack(points["label"])
    for place, cut in enumerate(summary["cuts"]):
        labels = labels_at(summary, place, finest, unpack)
        assert labels.tolist() == model.hierarchy_.cut(n_clusters=cut["n_clusters"])[rows].tolist()
        colours = unpack(cut["colour"])
        assert all(colours[cluster["number"]] == cluster["colour"] for cluster in clusters_of(summary, cut))
    n_exemplars = len(unpack(points["exemplar"]))
    for axis in "xy":
        assert len(unpack(points["maps"][0][axis])) == points["n"] + n_exemplars == 150 + n_exemplars


def test_the_exemplar_is_the_most_central_row_of_its_cluster(iris, summary):
    X, model = iris[0].to_numpy(), iris[2]
    for cut in summary["cuts"]:
        for cluster in clusters_of(summary, cut):
            members = np.flatnonzero(model.hierarchy_.cut(n_clusters=cut["n_clusters"]) == cluster["number"])
            distances = ((X[members] - X[members].mean(axis=0)) ** 2).sum(axis=1)
            own = ((X[cluster["exemplar"]] - X[members].mean(axis=0)) ** 2).sum()
            assert own == pytest.approx(distances.min())


def test_every_exemplar_has_a_place(summary, unpack):
    listed = {cluster["exemplar"] for cluster in summary["clusters"]}
    assert set(unpack(summary["points"]["exemplar"]).tolist()) == listed


def test_an_exemplar_lies_where_its_row_lies(summary, unpack):
    points = summary["points"]
    rows, shown = unpack(points["row"]), unpack(points["exemplar"])
    for axis in "xy":
        places = unpack(points["maps"][0][axis]).astype(int)
        assert places[np.searchsorted(rows, shown)].tolist() == places[150:].tolist()


def test_noise_has_the_label_minus_one(noisy, unpack):
    X, model = noisy
    summary = summarize(check_study(model, X, None, None), Options("Moons"))
    final, points = summary["final"], summary["points"]
    labels = labels_at(summary, final, unpack(points["label"]), unpack)
    assert labels.tolist() == model.labels_[unpack(points["row"])].tolist()
    assert summary["cuts"][final]["n_noise"] == summary["figures"]["n_noise"] == (model.labels_ < 0).sum()


def test_two_features_are_drawn_as_they_are(noisy, unpack):
    X, model = noisy
    points = summarize(check_study(model, X, None, ["length", "width"]), Options("Moons"))["points"]
    (one,) = points["maps"]
    assert one["axes"] == ["length", "width"]
    assert not one["same_unit"]
    x = X[unpack(points["row"]), 0]
    placed = unpack(one["x"])[: points["n"]].astype(float)
    assert placed / placed.max() == pytest.approx((x - x.min()) / (x.max() - x.min()), abs=1e-3)


def test_every_cut_has_the_silhouette_of_scikit_learn(iris, summary):
    X, _, model = iris
    assert summary["cuts"][0]["silhouette"] is None
    for cut in summary["cuts"][1:]:
        labels = model.hierarchy_.cut(n_clusters=cut["n_clusters"])
        assert cut["silhouette"] == pytest.approx(silhouette_score(X, labels))


def test_silhouettes_leave_out_noise(noisy):
    X, model = noisy
    summary = summarize(check_study(model, X, None, None), Options("Moons"))
    clustered = model.labels_ >= 0
    assert summary["cuts"][summary["final"]]["silhouette"] == pytest.approx(
        silhouette_score(X[clustered], model.labels_[clustered])
    )


def test_the_headline_counts_clusters_and_rows(iris, summary):
    n_clusters = iris[2].n_clusters_
    assert summary["headline"]["count"] == f"{n_clusters} clusters in 150 rows."
    assert summary["headline"]["trust"]


def test_scores_are_those_of_scikit_learn(iris, summary):
    X, species, model = iris
    assert summary["scores"]["silhouette"] == pytest.approx(silhouette_score(X, model.labels_))
    assert summary["scores"]["ari"] == adjusted_rand_score(species, model.labels_)
    assert summary["scores"]["comparison"]["base"] == "KMeans"


def test_without_classes_there_is_no_agreement_with_them(iris):
    X, _, model = iris
    summary = summarize(check_study(model, X, None, None), Options("Iris"))
    assert summary["scores"]["ari"] is None
    assert summary["points"]["class"] is None
    assert summary["clusters"][0]["class"] is None
    assert summary["cuts"][0]["ari"] is None


def test_levels_are_those_of_the_fit(iris, summary):
    records = iris[2].diagnostics_
    assert [level["rows_out"] for level in summary["contraction"]] == [record.rows_out for record in records]


def test_the_verdict_is_that_of_diagnose_whatever_the_classes_are(iris, summary):
    X, _, model = iris
    diagnosis = model.diagnose()
    without = summarize(check_study(model, X, None, None), Options("Iris"))
    for found in (summary, without):
        assert found["line"] == diagnosis.line
        assert found["verdict"] == [asdict(finding) for finding in diagnosis.findings]
        assert found["advice"] == diagnosis.advice
    assert without["scores"]["comparison"]["ari"] == [None, None]


def test_both_sides_have_their_scores_on_the_same_rows():
    X, y = make_blobs(1100, 3, centers=5, cluster_std=3, random_state=0)
    model = CoHiRF(KMeans(5, n_init=1), random_state=0).fit(X)
    found = summarize(check_study(model, X, y, None), Options("Blobs"))["scores"]
    rows = draw_sample(model).rows
    assert found["comparison"]["ari"][0] == adjusted_rand_score(y[rows], model.labels_[rows])
    assert found["comparison"]["silhouette"][0] == pytest.approx(silhouette_score(X[rows], model.labels_[rows]))


def test_a_single_view_has_no_agreement(noisy):
    X, model = noisy
    summary = summarize(check_study(model, X, None, None), Options("Moons"))
    assert {level["agreement"] for level in summary["contraction"]} == {None}


def test_of_large_data_a_part_is_read_and_drawn(blobs, monkeypatch, unpack):
    X, _ = blobs
    monkeypatch.setattr(sampling, "MAX_CELLS", 1000)
    monkeypatch.setattr(sampling, "MIN_ROWS", 50)
    monkeypatch.setattr(sampling, "SCORED_ROWS", 60)
    monkeypatch.setattr(sampling, "FEWEST_ROWS", 0)
    model = CoHiRF.as_published(KMeans(4), random_state=0).fit(X)
    summary = summarize(check_study(model, X, None, None), Options("Blobs", max_points=30))
    assert 100 <= summary["figures"]["n_sampled"] < 140  # with exemplars and rows that fit badly
    assert summary["points"]["n"] == 30
    assert summary["scores"]["n_scored"] == 60
    rows = unpack(summary["points"]["row"])
    labels = labels_at(summary, summary["final"], unpack(summary["points"]["label"]), unpack)
    assert labels.tolist() == model.labels_[rows].tolist()
    assert sum(summary["columns"][0]["counts"]) == pytest.approx(300, abs=12)  # sampled rows stand for all rows


def test_medoids_are_images_where_a_shape_is_given():
    X, y = load_digits(return_X_y=True)
    model = CoHiRF.as_published(KMeans(10, n_init=1), n_views=1, random_state=0).fit(X)
    study = check_study(model, X, y, None)
    pictured = summarize(study, Options("Digits", image_shape=(8, 8)))["clusters"]
    assert all(cluster["image"].startswith("data:image/png;base64,") for cluster in pictured[:12])
    assert summarize(study, Options("Digits"))["clusters"][0]["image"] is None
    with pytest.raises(ValueError, match=r"image_shape=\(8, 9\) does not fit 64 features"):
        summarize(study, Options("Digits", image_shape=(8, 9)))
