"""The section of the report about updates."""

import numpy as np
import pytest
from sklearn.cluster import DBSCAN
from sklearn.datasets import make_blobs

from cohirf import CoHiRF
from cohirf.report import write_report
from cohirf.report.history import HEIGHT, TOP, describe_history, draw_shapes
from cohirf.report.write import write_update_report
from cohirf.summary.history import Step

X, _ = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)


@pytest.fixture(scope="module")
def model():
    order = np.argsort(X[:, 0], kind="stable")  # the second cluster comes last
    model = CoHiRF(DBSCAN(1.5), random_state=0)
    for part in np.array_split(X[order], 4):
        model.partial_fit(part)
    return model


def test_a_model_without_updates_has_no_section():
    assert describe_history(CoHiRF(DBSCAN(1.5), random_state=0).fit(X)) is None


def test_the_section_tells_when_clusters_are_born(model):
    section = describe_history(model)
    assert any("new: 2" in mark["text"] for mark in section["marks"])
    assert section["changes"] == str(model.changes_).splitlines()


def test_shapes_lie_upon_each_other_and_the_largest_number_of_rows_is_the_height(model):
    shapes = draw_shapes(model.history_, [0, 1, 2])
    lowest = {shape["name"]: float(shape["points"].split()[3].split(",")[1]) for shape in shapes}
    assert lowest["cluster 0"] == HEIGHT
    last = [float(shape["points"].split()[4].split(",")[1]) for shape in shapes]
    assert last == sorted(last, reverse=True)
    assert min(last) == TOP


def test_clusters_that_are_gone_are_grey():
    steps = [Step.first(np.array([0, 1]), np.array([5, 5])), Step.first(np.array([0, 0]), np.array([5, 5]))]
    assert [shape["class"] for shape in draw_shapes(steps, [0])] == ["c-0", "past"]


def test_both_pages_have_the_section(model, tmp_path):
    data = X[np.argsort(X[:, 0], kind="stable")]
    full = write_report(model, data, tmp_path / "full.html").read_text()
    short = write_update_report(model, tmp_path / "short.html", title="<b>", verdict="All well.").read_text()
    for page in (full, short):
        assert "How the clusters changed" in page
        assert "new: 2" in page
        assert '<th scope="row" class="number">3</th>' in page
    assert "&lt;b&gt;" in short
    assert "<script" not in short
