"""write_report: the file, its size, and what is refused."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans

from cohirf import CoHiRF, load
from cohirf.report import write_report


class Cells(ClusterMixin, BaseEstimator):
    """Puts rows together that lie in one cell of a grid, whose cells grow with fewer rows."""

    def fit_predict(self, X, y=None):
        side = 500 if len(X) > 300_000 else 60 if len(X) > 10_000 else 3
        cells = np.floor(side * np.asarray(X)).astype(np.int64)
        return cells[:, 0] * side + cells[:, 1]


@pytest.fixture(scope="module")
def fitted(blobs):
    return CoHiRF.as_published(KMeans(4), n_views=2, random_state=0).fit(blobs[0])


def test_it_writes_a_page_and_returns_its_path(blobs, fitted, tmp_path):
    path = write_report(fitted, blobs[0], str(tmp_path / "report.html"), y=blobs[1], title="Blobs")
    assert path == tmp_path / "report.html"
    page = path.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "<title>Blobs</title>" in page
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


def test_the_title_is_taken_from_the_data(blobs, fitted, tmp_path):
    page = write_report(fitted, blobs[0], tmp_path / "a.html", data_name="folder/blobs.csv").read_text(encoding="utf-8")
    assert "<title>Clusters of blobs.csv</title>" in page


def test_a_report_of_the_same_model_is_the_same(blobs, fitted, tmp_path):
    first, second = (write_report(fitted, blobs[0], tmp_path / name).read_bytes() for name in ("a.html", "b.html"))
    assert first == second


def test_a_model_that_was_saved_gives_the_same_report(blobs, fitted, tmp_path):
    fitted.save(tmp_path / "model")
    again = load(tmp_path / "model")
    first = write_report(fitted, blobs[0], tmp_path / "a.html").read_bytes()
    assert write_report(again, blobs[0], tmp_path / "b.html").read_bytes() == first


def test_a_report_that_is_there_is_replaced(blobs, fitted, tmp_path):
    (tmp_path / "a.html").write_text("old", encoding="utf-8")
    assert len(write_report(fitted, blobs[0], tmp_path / "a.html").read_text(encoding="utf-8")) > 1000


def test_a_write_that_fails_leaves_the_old_file_and_no_other(blobs, fitted, tmp_path, monkeypatch):
    (tmp_path / "a.html").write_text("old", encoding="utf-8")

    def fail(self, *args, **kwargs):
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(OSError, match="No space left"):
        write_report(fitted, blobs[0], tmp_path / "a.html")
    assert [(entry.name, entry.read_text(encoding="utf-8")) for entry in tmp_path.iterdir()] == [("a.html", "old")]


@pytest.mark.slow
def test_a_million_rows_stay_below_three_megabytes(tmp_path):
    X = np.random.default_rng(0).random((1_000_000, 2)).astype(np.float32)
    model = CoHiRF.as_published(Cells(), n_views=1, random_state=0).fit(X)
    assert model.hierarchy_.cluster_counts()[1] > 200_000  # labels that hardly compress
    assert model.hierarchy_.n_levels >= 2
    path = write_report(model, X, tmp_path / "large.html", y=(4 * X[:, 0]).astype(int))
    assert path.stat().st_size < 3_000_000


def test_places_where_no_file_can_be_are_refused(blobs, fitted, tmp_path):
    with pytest.raises(IsADirectoryError, match="is a directory: give the name of a file to write"):
        write_report(fitted, blobs[0], tmp_path)
    with pytest.raises(FileNotFoundError, match="missing is not a directory: create it, or give another path"):
        write_report(fitted, blobs[0], tmp_path / "missing" / "a.html")


def test_a_picture_without_points_is_refused(blobs, fitted, tmp_path):
    with pytest.raises(ValueError, match="max_points=0 is not valid: give an int >= 1"):
        write_report(fitted, blobs[0], tmp_path / "a.html", max_points=0)
