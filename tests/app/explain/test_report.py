"""write_report: the dict that a page is made from, the file, its size, and what is refused."""

import json
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import adjusted_rand_score, silhouette_score

from cohirf import CoHiRF, load
from cohirf.app.explain import write_report
from cohirf.app.explain.history import describe_history, draw_shapes
from cohirf.app.explain.policy import PAGE, SAMPLE, Size
from cohirf.app.explain.report import summarize, write_update_report
from cohirf.app.explain.study import check_study, draw_diagnosed
from cohirf.app.preparation import prepare
from cohirf.summary.numbers import Step


@pytest.fixture(scope="module")
def summary(iris_study):
    return summarize(iris_study, "Iris")


def test_it_is_plain_json(summary):
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_it_is_the_same_each_time(iris_study, summary):
    assert summarize(iris_study, "Iris") == summary


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
        for number, place in zip(cut["labels"], cut["clusters"], strict=True)
    ]


def test_cuts_list_the_clusters_of_each_number(iris, summary):
    _, species, model = iris
    hierarchy = model.hierarchy_
    assert [cut["n_clusters"] for cut in summary["cuts"]] == list(
        range(1, hierarchy.cluster_counts()[1] + 1)
    )
    assert (
        [cut["is_final"] for cut in summary["cuts"]].index(True)
        == summary["final"]
        == model.n_clusters_ - 1
    )
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
    model = iris[2]
    points = summary["points"]
    rows = unpack(points["row"])
    finest = unpack(points["label"])
    for place, cut in enumerate(summary["cuts"]):
        labels = labels_at(summary, place, finest, unpack)
        assert labels.tolist() == model.hierarchy_.cut(n_clusters=cut["n_clusters"])[rows].tolist()
        colours = unpack(cut["colour"])
        assert all(
            colours[cluster["number"]] == cluster["colour"] for cluster in clusters_of(summary, cut)
        )
    n_exemplars = len(unpack(points["exemplar"]))
    for axis in "xy":
        assert (
            len(unpack(points["maps"][0][axis])) == points["n"] + n_exemplars == 150 + n_exemplars
        )


def test_the_exemplar_is_the_most_central_row_of_its_cluster(iris, summary):
    X = iris[0].to_numpy()
    model = iris[2]
    for cut in summary["cuts"]:
        for cluster in clusters_of(summary, cut):
            members = np.flatnonzero(
                model.hierarchy_.cut(n_clusters=cut["n_clusters"]) == cluster["number"]
            )
            distances = ((X[members] - X[members].mean(axis=0)) ** 2).sum(axis=1)
            own = ((X[cluster["exemplar"]] - X[members].mean(axis=0)) ** 2).sum()
            assert own == pytest.approx(distances.min())


def test_every_exemplar_has_a_place(summary, unpack):
    listed = {cluster["exemplar"] for cluster in summary["clusters"]}
    assert set(unpack(summary["points"]["exemplar"]).tolist()) == listed


def test_an_exemplar_lies_where_its_row_lies(summary, unpack):
    points = summary["points"]
    rows = unpack(points["row"])
    shown = unpack(points["exemplar"])
    for axis in "xy":
        places = unpack(points["maps"][0][axis]).astype(int)
        assert places[np.searchsorted(rows, shown)].tolist() == places[150:].tolist()


def test_noise_has_the_label_minus_one(noisy, unpack):
    X, model = noisy
    summary = summarize(check_study(model, X, None, None), "Moons")
    final = summary["final"]
    points = summary["points"]
    labels = labels_at(summary, final, unpack(points["label"]), unpack)
    assert labels.tolist() == model.labels_[unpack(points["row"])].tolist()
    assert (
        summary["cuts"][final]["n_noise"]
        == summary["figures"]["n_noise"]
        == (model.labels_ < 0).sum()
    )


def test_two_features_are_drawn_as_they_are(noisy, unpack):
    X, model = noisy
    points = summarize(check_study(model, X, None, ["length", "width"]), "Moons")["points"]
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
    summary = summarize(check_study(model, X, None, None), "Moons")
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
    summary = summarize(check_study(model, X, None, None), "Iris")
    assert summary["scores"]["ari"] is None
    assert summary["points"]["class"] is None
    assert summary["clusters"][0]["class"] is None
    assert summary["cuts"][0]["ari"] is None


def test_levels_are_those_of_the_fit(iris, summary):
    records = iris[2].diagnostics_
    assert [level["rows_out"] for level in summary["contraction"]] == [
        record.rows_out for record in records
    ]


def test_the_verdict_is_that_of_diagnose_whatever_the_classes_are(iris, summary):
    X, _, model = iris
    diagnosis = model.diagnose()
    without = summarize(check_study(model, X, None, None), "Iris")
    for found in (summary, without):
        assert found["line"] == diagnosis.line
        assert found["verdict"] == [asdict(finding) for finding in diagnosis.findings]
    assert without["scores"]["comparison"]["ari"] == [None, None]


def test_both_sides_have_their_scores_on_the_same_rows(monkeypatch):
    monkeypatch.setitem(vars(SAMPLE), "diagnosed", Size(100, 100, 10**6))
    X, y = make_blobs(150, 3, centers=5, cluster_std=3, random_state=0)
    model = CoHiRF(KMeans(5, n_init=1), random_state=0).fit(X)
    found = summarize(check_study(model, X, y, None), "Blobs")["scores"]
    rows = draw_diagnosed(model).rows
    assert len(rows) == 100
    assert found["comparison"]["ari"][0] == adjusted_rand_score(y[rows], model.labels_[rows])
    assert found["comparison"]["silhouette"][0] == pytest.approx(
        silhouette_score(X[rows], model.labels_[rows])
    )


def test_a_single_view_has_no_agreement(noisy):
    X, model = noisy
    summary = summarize(check_study(model, X, None, None), "Moons")
    assert {level["agreement"] for level in summary["contraction"]} == {None}


def test_of_large_data_a_part_is_read_and_drawn(blobs, monkeypatch, unpack):
    X, _ = blobs
    monkeypatch.setitem(vars(SAMPLE), "described", Size(20_000, 10, 400))
    monkeypatch.setitem(vars(SAMPLE), "scored_rows", 30)
    monkeypatch.setitem(vars(SAMPLE), "rows_of_cluster", 0)
    model = CoHiRF.as_published(KMeans(4), random_state=0).fit(X)
    summary = summarize(check_study(model, X, None, None), "Blobs", max_points=20)
    assert 40 <= summary["figures"]["n_sampled"] < 80  # with exemplars and rows that fit badly
    assert summary["points"]["n"] == 20
    assert summary["scores"]["n_scored"] == 30
    rows = unpack(summary["points"]["row"])
    labels = labels_at(summary, summary["final"], unpack(summary["points"]["label"]), unpack)
    assert labels.tolist() == model.labels_[rows].tolist()
    # sampled rows stand for all rows
    assert sum(summary["columns"][0]["counts"]) == pytest.approx(100, abs=12)


def test_medoids_are_images_where_a_shape_is_given():
    X, y = (part[:150] for part in load_digits(return_X_y=True))
    model = CoHiRF.as_published(KMeans(10, n_init=1), views=1, random_state=0).fit(X)
    study = check_study(model, X, y, None)
    pictured = summarize(study, "Digits", image_shape=(8, 8))["clusters"]
    assert all(cluster["image"].startswith("data:image/png;base64,") for cluster in pictured[:12])
    assert summarize(study, "Digits")["clusters"][0]["image"] is None
    with pytest.raises(ValueError, match=r"image_shape=\(8, 9\) does not fit 64 features"):
        summarize(study, "Digits", image_shape=(8, 9))


class Cells(ClusterMixin, BaseEstimator):
    """Puts rows together that lie in one cell of a grid, whose cells grow with fewer rows."""

    def fit_predict(self, X, y=None):
        side = 500 if len(X) > 300_000 else 60 if len(X) > 10_000 else 3
        cells = np.floor(side * np.asarray(X)).astype(np.int64)
        return cells[:, 0] * side + cells[:, 1]


@pytest.fixture(scope="module")
def blobs(blobs):
    """Few rows: a page is soon written."""
    return blobs[0][:100], blobs[1][:100]


@pytest.fixture(scope="module")
def fitted(blobs):
    return CoHiRF.as_published(KMeans(4), views=2, random_state=0).fit(blobs[0])


def test_it_writes_a_page_and_returns_its_path(blobs, fitted, tmp_path):
    path = write_report(fitted, blobs[0], str(tmp_path / "report.html"), y=blobs[1], title="Blobs")
    assert path == tmp_path / "report.html"
    page = path.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "<title>Blobs</title>" in page
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize("n_features", [1, 2, 3])
@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_a_few_rows_of_noise_have_a_page(n_rows, n_features, tmp_path):
    X = 10.0 * np.arange(n_rows * n_features).reshape(n_rows, n_features)
    model = CoHiRF(DBSCAN(0.1), random_state=0).fit(X)
    assert model.n_clusters_ == 0
    assert write_report(model, X, tmp_path / "page.html").exists()


def test_the_title_is_taken_from_the_data(blobs, fitted, tmp_path):
    page = write_report(
        fitted, blobs[0], tmp_path / "a.html", data_name="folder/blobs.csv"
    ).read_text(encoding="utf-8")
    assert "<title>Clusters of blobs.csv</title>" in page


def test_a_report_of_the_same_model_is_the_same(blobs, fitted, tmp_path):
    first, second = (
        write_report(fitted, blobs[0], tmp_path / name).read_bytes()
        for name in ("a.html", "b.html")
    )
    assert first == second


def test_a_model_that_was_saved_gives_the_same_report(blobs, fitted, tmp_path):
    fitted.save(tmp_path / "model")
    again = load(tmp_path / "model")
    first = write_report(fitted, blobs[0], tmp_path / "a.html").read_bytes()
    assert write_report(again, blobs[0], tmp_path / "b.html").read_bytes() == first


def test_a_report_that_is_there_is_replaced(blobs, fitted, tmp_path):
    (tmp_path / "a.html").write_text("old", encoding="utf-8")
    assert (
        len(write_report(fitted, blobs[0], tmp_path / "a.html").read_text(encoding="utf-8")) > 1000
    )


def test_a_write_that_fails_leaves_the_old_file_and_no_other(blobs, fitted, tmp_path, monkeypatch):
    (tmp_path / "a.html").write_text("old", encoding="utf-8")

    def fail(self, *args, **kwargs):
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(OSError, match="No space left"):
        write_report(fitted, blobs[0], tmp_path / "a.html")
    assert [(entry.name, entry.read_text(encoding="utf-8")) for entry in tmp_path.iterdir()] == [
        ("a.html", "old")
    ]


@pytest.mark.slow
def test_a_million_rows_stay_below_three_megabytes(tmp_path):
    X = np.random.default_rng(0).random((1_000_000, 2)).astype(np.float32)
    model = CoHiRF.as_published(Cells(), views=1, random_state=0).fit(X)
    assert model.hierarchy_.cluster_counts()[1] > 200_000  # labels that hardly compress
    assert model.hierarchy_.n_levels >= 2
    path = write_report(model, X, tmp_path / "large.html", y=(4 * X[:, 0]).astype(int))
    assert path.stat().st_size < 3_000_000


def test_places_where_no_file_can_be_are_refused(blobs, fitted, tmp_path):
    with pytest.raises(IsADirectoryError, match="is a directory: give the name of a file to write"):
        write_report(fitted, blobs[0], tmp_path)
    with pytest.raises(
        FileNotFoundError, match="missing is not a directory: create it, or give another path"
    ):
        write_report(fitted, blobs[0], tmp_path / "missing" / "a.html")


def test_a_picture_without_points_is_refused(blobs, fitted, tmp_path):
    with pytest.raises(ValueError, match="max_points=0 is not valid: give an int >= 1"):
        write_report(fitted, blobs[0], tmp_path / "a.html", max_points=0)


UPDATED, _ = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)


@pytest.fixture(scope="module")
def updated():
    order = np.argsort(UPDATED[:, 0], kind="stable")  # the second cluster comes last
    updated = CoHiRF(DBSCAN(1.5), random_state=0)
    for part in np.array_split(UPDATED[order], 4):
        updated.partial_fit(part)
    return updated


def test_a_model_without_updates_has_no_section():
    assert describe_history(CoHiRF(DBSCAN(1.5), random_state=0).fit(UPDATED)) is None


def test_the_section_tells_when_clusters_are_born(updated):
    section = describe_history(updated)
    assert any("new: 2" in mark["text"] for mark in section["marks"])
    assert section["changes"] == str(updated.changes_).splitlines()


def test_shapes_lie_upon_each_other_and_the_largest_number_of_rows_is_the_height(updated):
    shapes = draw_shapes(updated.history_, [0, 1, 2])
    lowest = {shape["name"]: float(shape["points"].split()[3].split(",")[1]) for shape in shapes}
    assert lowest["cluster 0"] == PAGE.history_height
    last = [float(shape["points"].split()[4].split(",")[1]) for shape in shapes]
    assert last == sorted(last, reverse=True)
    assert min(last) == PAGE.history_top


def test_clusters_that_are_gone_are_grey():
    steps = [
        Step.first(np.array([0, 1]), np.array([5, 5])),
        Step.first(np.array([0, 0]), np.array([5, 5])),
    ]
    assert [shape["class"] for shape in draw_shapes(steps, [0])] == ["c-0", "past"]


def test_both_pages_have_the_section(updated, tmp_path):
    data = UPDATED[np.argsort(UPDATED[:, 0], kind="stable")]
    full = write_report(updated, data, tmp_path / "full.html").read_text()
    short = write_update_report(
        updated, tmp_path / "short.html", title="<b>", verdict="All well."
    ).read_text()
    for page in (full, short):
        assert "How the clusters changed" in page
        assert "new: 2" in page
        assert '<th scope="row" class="number">3</th>' in page
    assert "&lt;b&gt;" in short
    assert "<script" not in short


def test_a_row_beside_clusters_of_equal_rows_has_a_page(tmp_path):
    frame = pd.DataFrame({"taxa": ["Rodent"] * 31 + ["Bird"] * 13 + ["Reptile"] * 9 + ["Rabbit"]})
    prepared = prepare(frame)
    model = CoHiRF(random_state=0).fit(prepared)
    assert np.sum(model.labels_ < 0) == 1
    write_report(model, prepared, path=tmp_path / "taxa.html")
    assert "They are nearly the levels of taxa, which has " in (tmp_path / "taxa.html").read_text()
