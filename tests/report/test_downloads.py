"""Labels that travel in the page: right at every cut, and never too long."""

import pytest

from cohirf.report import downloads
from cohirf.report.cuts import shown_levels
from cohirf.report.downloads import pack_labels


@pytest.fixture(scope="module")
def labels_at(unpack):
    """Return a function that reads the labels of a level as the page does."""

    def read(packed, level):
        labels = unpack(packed["labels"])
        for step in packed["steps"][: level - packed["level"]]:
            labels = unpack(step)[labels]
        return labels

    return read


def test_labels_of_every_cut_come_back(iris, labels_at):
    _, _, model = iris
    levels = shown_levels(model.hierarchy_)
    packed = pack_labels(model, levels)
    assert packed["level"] == 1
    for level in levels:
        assert labels_at(packed, level).tolist() == model.hierarchy_.cut(level=level).tolist()


def test_the_last_labels_are_those_of_the_model_with_noise(noisy, labels_at):
    _, model = noisy
    packed = pack_labels(model, shown_levels(model.hierarchy_))
    assert labels_at(packed, model.hierarchy_.n_levels).tolist() == model.labels_.tolist()


def test_where_there_is_little_room_only_coarse_cuts_are_packed(iris, labels_at):
    _, _, model = iris
    levels = shown_levels(model.hierarchy_)
    full = pack_labels(model, levels)
    n_characters = len(full["labels"]["data"]) + sum(len(step["data"]) for step in full["steps"])
    packed = pack_labels(model, levels, max_characters=n_characters - 1)
    assert packed["level"] > 1
    assert labels_at(packed, levels[-1]).tolist() == model.labels_.tolist()
    assert pack_labels(model, levels, max_characters=n_characters) == full


def test_where_there_is_no_room_nothing_is_packed(iris, monkeypatch):
    _, _, model = iris
    assert pack_labels(model, shown_levels(model.hierarchy_), max_characters=10) is None
    monkeypatch.setattr(downloads, "MAX_ROWS", 100)
    assert pack_labels(model, shown_levels(model.hierarchy_)) is None
