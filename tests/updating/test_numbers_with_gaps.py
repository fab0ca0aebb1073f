"""Whatever shows clusters works with numbers that have gaps, and names clusters by their number."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.cluster import DBSCAN
from sklearn.datasets import make_blobs

from cohirf import CoHiRF, load
from cohirf.app.cli.summary import summarize_model
from cohirf.app.explain import describe_clusters, name_tree, write_report, write_tree
from cohirf.app.explain.rows import find_badly_fitting
from cohirf.app.plotting import plot_dendrogram, plot_heatmap, plot_map

mpl.use("Agg")


def blobs(centres, n_rows=60):
    X, _ = make_blobs(
        n_rows * len(centres), centers=np.array(centres), cluster_std=0.3, random_state=0
    )
    return X


def make_rows():
    apart = blobs([[0, 0], [4, 0], [20, 0], [30, 5]])
    bridge = np.column_stack([np.linspace(0, 4, 120), np.zeros(120)])
    return np.vstack([apart, bridge])


X = make_rows()


@pytest.fixture(scope="module")
def model():
    """Clusters of which two are merged by the second update, so that a number is gone."""
    model = CoHiRF(DBSCAN(0.8), random_state=0).partial_fit(X[:240])
    assert model.n_clusters_ == 4
    model.partial_fit(X[240:])
    assert model.n_clusters_ == 3
    assert model.cluster_numbers_.max() == 3
    return model


def test_a_merged_cluster_is_named_and_its_number_is_gone(model):
    (kept, (gone,)) = next(iter(model.changes_.merged.items()))
    assert kept in model.cluster_numbers_
    assert gone not in model.cluster_numbers_
    assert not (model.labels_ == gone).any()


def test_a_number_that_is_gone_is_not_used_again(model, tmp_path):
    model.save(tmp_path / "model")
    later = load(tmp_path / "model").partial_fit(blobs([[60.0, 0.0]]))
    assert later.changes_.born.keys() == {4}
    assert later.cluster_numbers_.tolist() == [*model.cluster_numbers_.tolist(), 4]
    np.testing.assert_array_equal(later.labels_[: len(X)], model.labels_)


def test_predict_and_medoids_speak_of_numbers(model):
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.labels_[model.medoid_indices_], model.cluster_numbers_)
    assert model.transform(X).shape == (len(X), 3)


def test_explain_takes_numbers(model):
    last = int(model.cluster_numbers_[-1])
    assert model.explain(last, X).loc["feature 0", "mean"] == pytest.approx(
        X[model.labels_ == last, 0].mean()
    )
    with pytest.raises(
        ValueError, match="is not a cluster of this model: pass a number from cluster_numbers_"
    ):
        model.explain(next(iter(model.changes_.merged.values()))[0])


def test_a_model_with_gaps_is_diagnosed_drawn_reported_and_summed_up(model, tmp_path):
    assert model.diagnose().findings
    plot_map(model, X)
    plot_dendrogram(model)
    write_report(model, X, tmp_path / "report.html")
    assert summarize_model(model)["sizes"] == sorted(
        np.unique(model.labels_, return_counts=True)[1], reverse=True
    )


def test_descriptions_speak_of_numbers(model):
    numbers = model.cluster_numbers_.tolist()
    table = model.summary(X)
    assert table.index[table.index >= 0].tolist() == numbers
    assert table.loc[numbers, "size"].tolist() == [
        int((model.labels_ == number).sum()) for number in numbers
    ]
    assert [cluster.label for cluster in describe_clusters(model).clusters] == numbers
    assert {row.cluster for row in find_badly_fitting(model).loose} <= set(numbers)


def test_the_tree_and_the_program_speak_of_numbers(model):
    lines = "\n".join(write_tree(name_tree(model)))
    sizes = {
        number: int((model.labels_ == number).sum()) for number in model.cluster_numbers_.tolist()
    }
    assert all(f"cluster {number}, {size} rows" in lines for number, size in sizes.items())
    document = summarize_model(model)
    assert dict(zip(document["numbers"], document["sizes"], strict=True)) == sizes


def test_a_heat_map_is_labelled_with_numbers(model):
    ax = plot_heatmap(model, X)
    shown = {int(label.get_text().split()[0]) for label in ax.get_yticklabels()}
    assert shown == set(model.cluster_numbers_.tolist())


def test_the_tree_has_a_leaf_for_each_cluster(model):
    lines = write_tree(name_tree(model))
    assert sum("cluster " in line for line in lines) == model.n_clusters_
    assert not any("part of" in line for line in lines)
