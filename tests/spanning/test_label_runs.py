"""HDBSCAN in overlapping batches gives the labels of HDBSCAN on all rows."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from overlapping import label_rows, with_all_neighbours, with_nearest_to_box
from sklearn.cluster import HDBSCAN
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from cohirf import CoHiRF
from cohirf.engines import LocalEngine
from cohirf.fitting import locality
from cohirf.spanning.found_in_runs import SpanTask
from cohirf.spanning.policy import TREE
from cohirf.spanning.settings import SpanningSettings, settings_of


def make_shapes(n_rows, seed=0):
    """A ring around a lump, a worm, a dense lump, and noise."""
    random = np.random.default_rng(seed)
    angles = random.uniform(0, 2 * np.pi, n_rows // 5)
    along = random.uniform(0, 6, n_rows // 5)
    return np.concatenate(
        [
            2 * np.c_[np.cos(angles), np.sin(angles)]
            + random.normal(scale=0.1, size=(n_rows // 5, 2)),
            random.normal(scale=0.4, size=(n_rows // 5, 2)),
            np.c_[along, np.sin(along) - 5] + random.normal(scale=0.1, size=(n_rows // 5, 2)),
            random.normal((6, 3), 0.15, size=(n_rows // 5, 2)),
            random.uniform((-4, -8), (8, 5), size=(n_rows // 5, 2)),
        ]
    )[random.permutation(n_rows // 5 * 5)]


def label_together(X, settings):
    return label_rows(X, [np.arange(len(X))], settings)


FOLDER = Path(os.environ.get("COHIRF_DATA", "../shared/data"))
SHAPES = make_shapes(5_000)
SETTINGS = SpanningSettings(min_samples=15, min_cluster_size=15)


def test_one_batch_gives_the_labels_of_scikit_learn():
    # Edges that share a row often have its core distance as their weight. Which of two clusters
    # such a row joins depends on the order of edges of equal weight: scikit-learn and hdbscan
    # differ by as many rows.
    model = HDBSCAN(min_cluster_size=15, copy=True)
    labels = label_together(SHAPES, settings_of(model))
    expected = model.fit_predict(SHAPES)
    assert adjusted_rand_score(expected, labels) > 0.999
    assert ((labels < 0) != (expected < 0)).sum() <= 5


@pytest.mark.parametrize("n_batches", [5, 20, 100])
def test_batches_with_all_neighbours_give_the_labels_of_all_rows(n_batches):
    batches = with_all_neighbours(SHAPES, len(SHAPES) // n_batches + 1, 15)
    labels = label_rows(SHAPES, batches, SETTINGS)
    expected = label_together(SHAPES, SETTINGS)
    assert adjusted_rand_score(expected, labels) > 0.999
    assert ((labels < 0) != (expected < 0)).sum() <= 5


def test_batches_with_half_as_many_rows_around_give_nearly_the_labels_of_all_rows():
    # The rows nearest to a leaf may all be on the side where data is dense: neighbours on other
    # sides are missing.
    labels = label_rows(SHAPES, with_nearest_to_box(SHAPES, 1_000), SETTINGS)
    assert 0.98 < adjusted_rand_score(label_together(SHAPES, SETTINGS), labels) < 0.999


def test_batches_that_share_no_row_are_joined_where_they_are_far_apart():
    random = np.random.default_rng(0)
    X = np.concatenate([place + random.normal(size=(200, 2)) for place in (0, 50, 100)])
    labels = label_rows(X, np.arange(600).reshape(3, 200), SpanningSettings(5, 50))
    assert adjusted_rand_score(np.repeat([0, 1, 2], 200), labels) > 0.9
    np.testing.assert_array_equal(labels, label_together(X, SpanningSettings(5, 50)))


def test_labels_do_not_depend_on_the_order_of_batches_or_of_their_rows():
    batches = list(with_nearest_to_box(SHAPES, 500))
    random = np.random.default_rng(0)
    shuffled = [random.permutation(batches[place]) for place in random.permutation(len(batches))]
    np.testing.assert_array_equal(
        label_rows(SHAPES, batches, SETTINGS), label_rows(SHAPES, shuffled, SETTINGS)
    )


def test_float32_gives_the_labels_of_the_same_values_in_float64():
    X = SHAPES.astype(np.float32)
    np.testing.assert_array_equal(
        label_together(X, SETTINGS), label_together(X.astype(np.float64), SETTINGS)
    )


def test_many_rows_on_one_spot_are_a_cluster_in_batches():
    X = np.concatenate([np.zeros((600, 2)), SHAPES[:1_000] + 20])
    batches = with_all_neighbours(X, 300, 15)
    labels = label_rows(X, batches, SETTINGS)
    assert len(set(labels[:600])) == 1
    assert labels[0] >= 0
    assert labels[0] not in labels[600:]


@pytest.mark.parametrize("name", ["pendigits", "satimage"])
def test_real_data_in_batches_with_all_neighbours_have_the_labels_of_all_rows(name):
    path = FOLDER / f"{name}.parquet"
    if not path.is_file():
        pytest.skip("COHIRF_DATA names no folder of data")
    table = pytest.importorskip("pandas").read_parquet(path).drop(columns="label").head(2_000)
    X = np.ascontiguousarray(StandardScaler().fit_transform(table))
    labels = label_rows(X, with_all_neighbours(X, len(X) // 5 + 1, 15), SETTINGS)
    assert adjusted_rand_score(label_together(X, SETTINGS), labels) > 0.99


def test_engines_are_told_that_a_spanning_tree_takes_long(monkeypatch):
    # rows of a batch are few bytes: if engines went by these, the first trees would be computed one
    # after the other
    told = []

    def note(self, function, tasks, n_tasks):
        for task in tasks:
            told.append((function.__name__, getattr(task[0], "n_bytes", 0)))
            yield function(*task)

    monkeypatch.setattr(LocalEngine, "_in_processes_if_worth_it", note)
    monkeypatch.setitem(vars(locality.LOCAL), "spanned_rows", 1)
    X = np.random.default_rng(0).normal(size=(600, 12)) + 20 * np.arange(600)[:, None] // 300
    CoHiRF(HDBSCAN(copy=True), batch_size=200, n_jobs=2, random_state=0).fit(X)
    sizes = [n_bytes for name, n_bytes in told if name == "list_batches"]
    assert len(sizes) > 2
    assert sum(sizes) == pytest.approx(TREE.cost * X.nbytes, rel=0.5)


def test_a_task_for_another_process_stays_a_task_for_trees():
    task = pickle.loads(pickle.dumps(SpanTask(None, 0, None, n_bytes=3)))
    assert (type(task), task.n_bytes) == (SpanTask, 3)
