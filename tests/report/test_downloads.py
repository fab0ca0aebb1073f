"""Labels that travel in the page, those of the finest cut that fits; and the names of the rows."""

import base64
import zlib

from cohirf.report import downloads
from cohirf.report.cuts import find_cuts
from cohirf.report.downloads import pack_labels, pack_names
from cohirf.report.original import RowNames


def test_labels_of_the_finest_cut_are_packed(iris, unpack):
    cuts = find_cuts(iris[2])
    packed = pack_labels(cuts)
    assert packed["cut"] == len(cuts) - 1
    assert unpack(packed["labels"]).tolist() == cuts[-1].labels.tolist()


def test_where_there_is_little_room_a_coarser_cut_is_packed(iris, unpack):
    cuts = find_cuts(iris[2])
    room = len(pack_labels(cuts)["labels"]["data"])
    packed = pack_labels(cuts, max_characters=room - 1)
    assert packed["cut"] < len(cuts) - 1
    assert unpack(packed["labels"]).tolist() == cuts[packed["cut"]].labels.tolist()
    assert pack_labels(cuts, max_characters=room) == pack_labels(cuts)


def test_a_cut_that_hides_clusters_is_not_packed_since_no_other_follows_from_it(noisy):
    cuts = find_cuts(noisy[1])
    assert any(cut.n_clusters < cut.n_merged for cut in cuts)
    for room in range(40, 400, 20):
        packed = pack_labels(cuts, max_characters=room)
        assert packed is None or cuts[packed["cut"]].n_clusters == cuts[packed["cut"]].n_merged


def test_where_there_is_no_room_nothing_is_packed(iris, monkeypatch):
    cuts = find_cuts(iris[2])
    assert pack_labels(cuts, max_characters=10) is None
    monkeypatch.setattr(downloads, "MAX_ROWS", 100)
    assert pack_labels(cuts) is None


def test_names_of_rows_are_one_per_line():
    packed = pack_names(RowNames("customer", ["C-1", "two\nlines", "C-3"]))
    assert packed["column"] == "customer"
    assert zlib.decompress(base64.b64decode(packed["names"])).decode() == "C-1\ntwo lines\nC-3"


def test_names_that_do_not_fit_are_left_out():
    assert pack_names(RowNames("customer", ["a", "b"]), max_characters=3) == {"column": "customer", "names": None}
    assert pack_names(None) is None
