"""The paper's experiments: what is compared with what, and that nothing is computed twice."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.kernel_approximation import RBFSampler
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

pytest.importorskip("optuna")
pytest.importorskip("matplotlib")
pytest.importorskip("resource", reason="the experiments limit memory as POSIX does")

import experiments.keeping as keeping
import optuna
from experiments.__main__ import FIGURES, run_table
from experiments.authors import (
    Protocol,
    cells_of,
    found_rows,
    model_and_space,
    say_many,
    say_search,
    score_labels,
    search,
    shuffle_rows,
    write_tables,
)
from experiments.budgets import BUDGETS, Budget
from experiments.cells import Cell, results_of, run_cells, tune_cell, tune_model
from experiments.figures import bootstrap_interval, figure_table
from experiments.keeping import kept, look_up, pack, path_of, store, unpack
from experiments.methods import (
    ALONE,
    BASES,
    first_trial,
    make_model,
    search_space,
    with_floored_views,
)
from experiments.paper import METRICS, RESULTS
from experiments.published_draws import DrawnAsPublished, SubspacesAsPublished
from experiments.real_tables import TABLES
from experiments.remembering import remembering
from experiments.sampler import authors_sampler
from experiments.silhouette_sample import run as run_silhouette_sample
from experiments.silhouette_sample import silhouettes_of_all
from experiments.tables import mark, metric_table, moonshot, say_efforts
from optuna.distributions import FloatDistribution, IntDistribution

from cohirf import CoHiRF
from cohirf.clusterers.affinity import build_nearest_affinity, fuse_affinities
from cohirf.clusterers.sc_srgf import partition_graph
from experiments import authors

ROOT = Path(__file__).parents[2]


def frame_of(scores, metric="ari", data="iris", base="K-Means"):
    """Return the results of two seeds for each variant."""
    return pd.DataFrame(
        [
            {
                "data": data,
                "base": base,
                "variant": variant,
                "metric": metric,
                "seed": seed,
                "score": score + shift,
            }
            | {"n_trials": 60, "n_clusters": 3}
            for variant, score in scores.items()
            for seed, shift in enumerate((-0.01, 0.01))
        ]
    )


@pytest.mark.parametrize(
    ("mean", "expected"),
    [(0.5, "within"), (0.55, "within"), (0.45, "within"), (0.56, "better"), (0.44, "worse")],
)
def test_a_mean_is_within_one_published_standard_deviation_better_or_worse(mean, expected):
    assert mark(mean, (0.5, 0.05)) == expected
    assert mark(mean, None) == ""


def test_the_paper_ours_and_ours_with_weights_stand_in_one_line():
    lines = metric_table(frame_of({ALONE: 0.62, "CoHiRF": 0.7, "CoHiRF, weights": 0.95}), "ari")
    assert lines[2:] == [
        "| iris | K-Means | alone | 0.618 ± 0.035 | 0.620 ± 0.014 | within |  |  |",
        "| iris | K-Means | CoHiRF | 0.786 ± 0.132 | 0.700 ± 0.014 | within | 0.950 ± 0.014 | "
        "better |",
    ]


def test_a_row_with_more_clusters_than_the_authors_score_is_not_compared():
    frame = frame_of({ALONE: 0.62}).assign(n_clusters=74)  # of 147 rows
    assert metric_table(frame, "ari")[2:] == [
        "| iris | K-Means | alone | 0.618 ± 0.035 | 0.620 ± 0.014 | not comparable |  |  |",
        "",
        "Not comparable, since the authors do not score as many clusters: iris, K-Means, alone.",
    ]
    assert "| within |" in metric_table(frame.assign(n_clusters=73), "ari")[2]


def test_the_authors_score_no_more_clusters_than_half_of_the_rows_and_all_rows_for_the_silhouette():
    X = np.arange(8.0)[:, None]
    y = np.arange(8) // 2
    for metric in METRICS:
        assert score_labels(X, y, y, metric) > 0
        assert score_labels(X, np.array([0, 0, 1, 1, 2, 2, 3, 4]), y, metric) is None
    X, y = make_blobs(3000, cluster_std=3, random_state=0)
    assert score_labels(X, y, y, "silhouette") == silhouette_score(X, y)


def test_searches_are_kept_apart_by_sampler_and_silhouette():
    assert {cell.protocol for cell in cells_of(BUDGETS["full"], METRICS)} == {Protocol.SHUFFLED}
    found = pd.DataFrame(
        {
            "data": ["iris", "shuttle", "shuttle", "shuttle"],
            "metric": ["silhouette", "silhouette", "ari", "silhouette"],
            "protocol": [4, 4, 4, 5],
            "n_done": 60,
        }
    )
    searches = [say_search(found[row : row + 1])[2] for row in range(4)]
    assert searches == ["newer sampler", "newer sampler, 1000 rows", *["newer sampler"] * 2]
    assert say_search(found.assign(protocol=6))[2] == "unshuffled"
    assert say_search(found.assign(protocol=7))[2] == "authors'"


def test_rows_are_shuffled_as_a_data_frame_is():
    X = np.arange(18.0).reshape(9, 2)
    y = np.arange(9)
    expected = pd.DataFrame(X).sample(frac=1, random_state=3)
    shuffled, classes = shuffle_rows(X, y, 3)
    assert np.array_equal(shuffled, expected)
    assert np.array_equal(classes, expected.index)


def test_kernel_k_means_alone_has_one_seed_for_its_features_and_its_centres():
    X, _ = make_blobs(40, n_features=3, random_state=0)
    model, _ = model_and_space("kernel K-Means", ALONE, len(X))
    labels = clone(model).set_params(n_clusters=4, gamma=0.1, random_state=5).fit(X).labels_
    features = RBFSampler(gamma=0.1, n_components=500, random_state=5).fit_transform(X)
    assert np.array_equal(labels, KMeans(4, random_state=5).fit(features).labels_)


class Thirds(ClusterMixin, BaseEstimator):
    """Rows in three groups by their sum, largest or least value: each fit by the next of these.

    The order of columns and the seed do not matter.
    """

    told: ClassVar = []

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y=None):
        values = (np.sum, np.max, np.min)[len(self.told) % 3](X, axis=1)
        self.told.append((X, self.random_state))
        self.labels_ = values.argsort().argsort() * 3 // len(X)
        return self


@pytest.mark.parametrize(("consensus", "n_levels"), [("strict", 3), (0.8, 2)])
def test_as_published_is_the_authors_method_but_for_its_draws_and_medoids(consensus, n_levels):
    X = np.random.default_rng(2).normal(size=(90, 5))
    options = {"views": 3, "max_features": 1.0}
    Thirds.told.clear()
    ours = CoHiRF.as_published(Thirds(), consensus=consensus, medoid=linear_kernel, **options)
    ours.fit(X)
    threshold = None if consensus == "strict" else consensus
    Thirds.told.clear()
    theirs = DrawnAsPublished(Thirds(), threshold=threshold, random_state=0, **options).fit(X)
    assert len(Thirds.told) >= 3 * n_levels
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1


def test_a_view_as_published_draws_features_then_two_seeds():
    X = np.arange(6.0) + 10 * np.arange(4)[:, None]
    Thirds.told.clear()
    DrawnAsPublished(Thirds(), views=2, max_features=0.5, random_state=5).fit(X)
    drawn = [(list(view[0]), seed) for view, seed in Thirds.told[:2]]
    assert drawn == [([0, 2, 5], 454930), ([5, 1, 2], 408038)]


def test_batches_as_published_have_one_level_and_one_of_them_is_left_as_it_is():
    X = np.random.default_rng(2).normal(size=(91, 5))
    Thirds.told.clear()
    model = DrawnAsPublished(Thirds(), views=1, batch_size=20, random_state=3).fit(X)
    left = np.random.default_rng(3).integers(0, 4)
    batches = np.array_split(X, 4)
    # three batches leave three medoids each, and then all is one batch of these and the fourth
    assert [len(rows) for rows, _ in Thirds.told[:3]] == [
        len(batch) for number, batch in enumerate(batches) if number != left
    ]
    assert len(Thirds.told[3][0]) == 9 + len(batches[left])
    assert len(Thirds.told) == 4
    assert len({seed for _, seed in Thirds.told}) == 4
    assert len(np.unique(model.labels_)) == 3


def test_medoids_of_many_rows_are_those_of_all_pairs(monkeypatch):
    X = np.random.default_rng(2).normal(size=(200, 5))
    model = DrawnAsPublished(KMeans(3), views=2, random_state=0)
    expected = model.fit(X).labels_
    monkeypatch.setattr("experiments.published_draws.MOST_PAIRED", 1)
    assert np.array_equal(model.fit(X).labels_, expected)


def test_how_often_five_searches_have_the_mean_of_the_paper_is_said():
    scores = np.array([0.0, 1.0] * 10)
    assert "20 searches have 0.500 ± 0.513" in say_many(scores, 1.0)
    assert "or more in 3." in say_many(scores, 1.0)  # all five are 1: 1 / 32
    assert "or less in 2.9%" in say_many(scores, 0.0)


def test_subspaces_as_published_are_fused_once_for_each():
    X = np.random.default_rng(2).normal(size=(60, 3))
    model = SubspacesAsPublished(3, n_affinities=10, sampling_ratio=1.0, random_state=0).fit(X)

    def fused(n_steps):
        graph = fuse_affinities([build_nearest_affinity(X, 5)] * 10, n_steps, rescale=False)
        graph /= graph.sum(axis=1, keepdims=True)
        graph = (graph + graph.T) / 2
        return partition_graph(graph, 3, np.random.RandomState(0), unit=False)

    scores = [adjusted_rand_score(model.labels_, fused(n_steps)) for n_steps in (3, 10, 20)]
    assert scores[1] == 1
    assert max(scores[0], scores[2]) < 1


def test_one_cluster_has_the_score_of_the_authors_program():
    X = np.arange(8.0)[:, None]
    labels = np.zeros(8)
    scores = [score_labels(X, labels, np.arange(8) // 2, metric) for metric in METRICS]
    assert scores == [0, 0, -1]


def test_the_sampler_is_that_of_the_authors_optuna():
    space = {"k": IntDistribution(2, 5), "gamma": FloatDistribution(0.1, 30)}
    study = optuna.create_study(direction="maximize", sampler=authors_sampler(1))
    study.enqueue_trial({"k": 2, "gamma": 1.0})
    trials = []
    for number in range(16):
        trial = study.ask(space)
        trials.append((trial.params["k"], round(trial.params["gamma"], 6)))
        score = -abs(trial.params["gamma"] - 9) - trial.params["k"]
        study.tell(trial, score if number % 7 else -np.inf)
    # those of Optuna 4.5
    assert trials[10:] == [
        (5, 3.372588),
        (2, 11.640271),
        (5, 29.63092),
        (3, 7.429105),
        (5, 15.505106),
        (2, 10.57446),
    ]


def test_a_search_is_that_of_the_authors(tmp_path, monkeypatch):
    model, space = model_and_space("kernel K-Means", "CoHiRF", 100)
    assert model.medoid is rbf_kernel
    assert (space["estimator__n_clusters"].high, space["max_features"].high) == (5, 1.0)
    assert model_and_space("DBSCAN", "R-CoHiRF", 100)[1]["views"].low == 1
    assert model_and_space("SC-SRGF", "CoHiRF, R=2", 100)[0].estimator.graph == "published"
    for base in BASES:
        model, space = model_and_space(base, ALONE, 100)
        assert first_trial(base, space).keys() == space.keys()
    fitted = []
    monkeypatch.setattr(
        CoHiRF,
        "fit",
        lambda self, X: fitted.append(self) or setattr(self, "labels_", X[:, 0] > 0) or self,
    )
    found = search(Cell("iris", "K-Means", "CoHiRF", "ari", 0, 1), tmp_path)
    assert found["params"] == {"max_features": 0.3, "views": 5, "estimator__n_clusters": 3}
    assert [model.max_features for model in fitted] == [1]
    assert with_floored_views(CoHiRF.as_published(max_features=0.7), 4).max_features == 2
    assert with_floored_views(CoHiRF.as_published(max_features=0.1), 4).max_features == 1


def test_a_search_that_was_cut_goes_on_with_the_trials_that_it_has(tmp_path, monkeypatch):
    cell = Cell("iris", "K-Means", ALONE, "ari", 0, 14)
    whole = search(cell, tmp_path / "whole")
    fits = []

    def cut(*arguments, try_it=authors.try_parameters):
        fits.append(arguments)
        if len(fits) == 12:
            raise KeyboardInterrupt
        return try_it(*arguments)

    monkeypatch.setattr(authors, "try_parameters", cut)
    with pytest.raises(KeyboardInterrupt):
        search(cell, tmp_path)
    assert (look_up(tmp_path, cell.about())["n_done"], len(fits)) == (11, 12)
    again = search(cell, tmp_path)
    assert len(fits) == 15
    assert search(cell, tmp_path) == again
    for name in ("score", "params", "random_state", "n_done"):
        assert again[name] == whole[name]
    assert "trials" not in again


def test_every_row_of_the_paper_is_listed_with_the_search_that_found_it(tmp_path):
    budget = Budget(60, 2)
    found = {"score": 0.6, "n_clusters": 3, "n_done": 60, "params": {}}
    for cell in cells_of(budget, METRICS):
        cut = {"n_done": 29} if cell.base == "kernel K-Means" and cell.seed == 1 else {}
        unscored = {"is_scored": False} if cell.variant == "CoHiRF" and cell.seed == 1 else {}
        if cell.data == "iris":
            store(tmp_path, cell.about(), found | {"score": 0.6 + cell.seed / 50} | cut | unscored)
    for cell in TABLES["iris"].cells(budget):
        if cell.variant in (ALONE, "CoHiRF"):
            store(tmp_path, cell.about(), found | {"score": 0.8})
    write_tables(found_rows(budget, tmp_path), tmp_path, "full")
    text = (tmp_path / "authors.md").read_text(encoding="utf-8")
    assert (
        "| iris | K-Means | alone | 0.618 ± 0.035 | 0.610 ± 0.014 | within | 2 | 60 | authors' |"
        in text
    )
    assert "| iris | K-Means | CoHiRF | 0.786 ± 0.132 | 0.600 | worse | 1 | 60 | authors' |" in text
    assert (
        "| iris | kernel K-Means | alone | 0.641 ± 0.022 | 0.600 | worse | 1 | 60 | authors' |"
        in text
    )
    assert "| shuttle | K-Means | alone | 0.608 ± 0.000 |  |  |  |  | not run |" in text
    assert "54 rows: 1 within, 0 better, 5 worse." in text
    # two seeds are not five
    assert "| ARI | 54 | 1 | 0 | 5 | 0 | 0 | 0 | 0 |" in text
    assert "The authors' search: 60 trials, 1 seeds. |" in text


def test_rows_with_fewer_trials_or_seeds_are_named():
    frame = frame_of({ALONE: 0.62, "CoHiRF": 0.7, "R-CoHiRF": 0.7})
    dear = frame_of({ALONE: 0.62, "CoHiRF": 0.7}, base="SC-SRGF").assign(n_trials=10)
    assert say_efforts(frame) == []
    assert say_efforts(pd.concat([frame.drop(index=[3, 5]), dear])) == [
        "",
        "Searches have 60 trials and 2 seeds, but for these. 60 trials, 1 seed: iris, K-Means "
        "(CoHiRF; R-CoHiRF). 10 trials, 2 seeds: iris, SC-SRGF.",
    ]


def test_our_best_is_held_against_the_better_of_base_method_and_paper():
    lines = moonshot(frame_of({ALONE: 0.62, "CoHiRF": 0.7, "R-CoHiRF": 0.8}))
    assert lines[2:] == [
        "| iris | K-Means | 0.620 | 0.868 | 0.800 | 2 | R-CoHiRF | below by 0.068 |"
    ]
    assert moonshot(frame_of({ALONE: 0.9, "R-CoHiRF": 0.95}))[2].endswith(
        "| R-CoHiRF | at least as good |"
    )


def test_the_base_method_counts_with_the_best_of_the_ranges_it_was_searched_in():
    lines = moonshot(frame_of({ALONE: 0.6, "CoHiRF": 0.88, "alone, gamma from 1e-5": 0.9}))
    assert lines[2:] == ["| iris | K-Means | 0.900 | 0.868 | 0.880 | 2 | CoHiRF | below by 0.020 |"]


def test_the_first_of_variants_that_are_equal_but_for_rounding_is_our_best():
    assert (
        "| CoHiRF |"
        in moonshot(frame_of({ALONE: 0.6, "CoHiRF": 0.88, "R-CoHiRF": 0.88 + 1e-15}))[2]
    )


def test_every_figure_of_the_paper_has_its_row_in_a_table():
    rows = {
        (cell.data, cell.base, cell.variant)
        for table in TABLES.values()
        for cell in table.cells(BUDGETS["full"])
    }
    assert set(RESULTS) <= rows


@pytest.mark.parametrize("base", BASES)
def test_every_variant_of_a_row_is_a_model_whose_search_space_it_knows(base):
    variants = {variant for table in TABLES.values() for variant in table.rows.get(base, ())}
    for variant in variants:
        model = make_model(base, variant, n_rows=1000)
        assert search_space(model, variant).keys() <= model.get_params().keys()
        if variant.endswith("k to 5"):
            assert search_space(model, variant)["estimator__n_clusters"].high == 5
        assert ("consensus" in search_space(model, variant)) == variant.endswith("all options")


@pytest.mark.parametrize(
    ("base", "variant", "name", "low", "high"),
    [
        ("DBSCAN", ALONE, "eps", 0.1, 10),
        ("DBSCAN", "alone, eps to 60", "eps", 0.1, 60),
        ("kernel K-Means", "CoHiRF", "estimator__gamma", 0.1, 30),
        ("kernel K-Means", "CoHiRF, gamma from 1e-5", "estimator__gamma", 1e-5, 30),
        ("SC-SRGF", "alone, neighbours to 30", "n_neighbors", 2, 30),
        ("SC-SRGF", "CoHiRF, R=2, neighbours to 30", "estimator__n_neighbors", 2, 30),
    ],
)
def test_a_parameter_is_searched_as_far_as_the_variant_says(base, variant, name, low, high):
    values = search_space(make_model(base, variant, 100), variant)[name]
    assert (values.low, values.high) == (low, high)
    assert values.log == ("gamma from 1e-5" in variant)


def test_the_number_of_neighbours_is_searched_only_where_the_variant_says():
    for variant in (ALONE, "CoHiRF, R=1", "CoHiRF, R=2"):
        assert not [
            name
            for name in search_space(make_model("SC-SRGF", variant, 100), variant)
            if "neighbors" in name
        ]


def test_rows_that_take_long_have_fewer_trials_and_seeds():
    cells = list(TABLES["coil20"].cells(Budget(60, 5)))
    assert {(cell.n_trials, cell.seed) for cell in cells if cell.base == "SC-SRGF"} == {
        (10, 0),
        (10, 1),
        (10, 2),
    }
    assert {cell.n_trials for cell in cells if cell.base == "K-Means"} == {60}


def test_searches_for_other_metrics_fit_only_what_was_not_fitted_yet():
    n_fits = []

    class Counted(KMeans):
        def fit(self, X, y=None, **options):
            n_fits.append(self.get_params())
            return super().fit(X, y, **options)

    X, y = make_blobs(60, random_state=0)
    options = {"space": {"n_clusters": IntDistribution(2, 30)}, "n_trials": 12, "seed": 0}
    alone = {metric: tune_model(Counted(), X, y, metric=metric, **options) for metric in METRICS}
    assert len(n_fits) == 12 * len(METRICS)
    n_fits.clear()
    fits = {}
    together = {
        metric: tune_model(Counted(), X, y, metric=metric, fits=fits, **options)
        for metric in METRICS
    }
    # ten trials before the first proposal of a metric's own
    assert len(n_fits) == len(fits) <= 10 + 2 * len(METRICS)
    for metric in METRICS:
        for name in ("score", "n_clusters", "params", "random_state"):
            assert together[metric][name] == alone[metric][name]


def test_a_model_that_remembers_is_the_same_model_with_another_fit():
    X = make_blobs(60, random_state=0)[0]
    model = CoHiRF.as_published(KMeans(3), random_state=0)
    fits = {}
    labels = remembering(model, fits).fit_predict(X)
    assert labels.tolist() == model.fit_predict(X).tolist()
    assert remembering(model, fits).fit(-X).labels_ is labels
    assert remembering(model, fits).set_params(estimator__n_clusters=2).fit_predict(X).max() == 1
    assert len(fits) == 2


def test_cells_that_differ_in_the_metric_are_run_together(tmp_path):
    cells = [
        Cell("iris", "K-Means", ALONE, metric, seed, 2) for seed in (0, 1) for metric in METRICS
    ]
    said = []
    run_cells(cells, tmp_path, 1, said.append)
    assert said[0] == "0 of 6 cells are there"
    assert [line.split(":")[0] for line in said[1:]] == [f"{number} of 6" for number in range(1, 7)]
    assert [result["metric"] for result in results_of(cells, tmp_path)] == [*METRICS, *METRICS]
    run_cells(cells, tmp_path, 1, said.append)
    assert said[7:] == ["6 of 6 cells are there"]


def test_a_result_is_computed_once_and_found_again_after_it_was_packed(tmp_path):
    cell = Cell("iris", "K-Means", ALONE, "ari", 0, 3)
    calls = []

    def compute():
        calls.append(1)
        return {"score": 0.5}

    folder = tmp_path / "cells"
    assert kept(folder, cell.about(), compute) == kept(folder, cell.about(), compute)
    pack(folder)
    path_of(folder, cell.about()).unlink()
    unpack(folder)
    assert kept(folder, cell.about(), compute)["score"] == 0.5
    assert len(calls) == 1
    kept(folder, Cell("iris", "K-Means", ALONE, "ari", 1, 3).about(), compute)
    assert len(calls) == 2


def test_a_search_that_was_cut_does_not_hide_a_longer_one_that_was_packed(tmp_path):
    folder = tmp_path / "cells"
    about = {"data": "iris"}
    store(folder, about, {"n_done": 60})
    pack(folder)
    store(folder, about, {"n_done": 7})
    unpack(folder)
    assert look_up(folder, about)["n_done"] == 60
    store(folder, about, {"n_done": 61})
    unpack(folder)
    assert look_up(folder, about)["n_done"] == 61


def test_a_bootstrap_interval_holds_the_mean():
    values = np.random.default_rng(0).normal(size=50)
    low, high = bootstrap_interval(values)
    assert low < values.mean() < high
    assert high - low == pytest.approx(4 * values.std() / np.sqrt(50), rel=0.2)
    assert bootstrap_interval([1.0, 1.0]) == (1.0, 1.0)


def test_a_table_of_a_figure_has_a_row_for_each_size():
    frame = pd.DataFrame(
        {"n_rows": [10, 10, 2000], "method": ["a", "a", "b"], "score": [0.5, 0.7, 1.0]}
    )
    lines = figure_table(frame, "n_rows", "rows")
    assert lines == [
        "| rows | a | b |",
        "| --- | --- | --- |",
        "| 10 | 0.600 ± 0.141 |  |",
        "| 2,000 |  | 1.000 |",
    ]


@pytest.mark.slow
def test_a_table_is_written_by_one_command_and_goes_on_with_what_it_has(tmp_path):
    command = [
        sys.executable,
        "-m",
        "experiments",
        "iris",
        "--bases",
        "K-Means",
        "--metrics",
        "silhouette",
    ]
    run = [
        subprocess.run([*command, "--out", tmp_path], cwd=ROOT, capture_output=True, text=True)
        for _ in range(2)
    ]
    assert [result.returncode for result in run] == [0, 0], run[0].stderr
    assert "0 of 18 cells are there" in run[0].stderr
    assert "18 of 18 cells are there" in run[1].stderr
    text = (tmp_path / "small" / "iris.md").read_text(encoding="utf-8")
    assert "| iris | K-Means | R-CoHiRF | 0.579 ± 0.000 |" in text
    results = pd.read_parquet(tmp_path / "small" / "iris.parquet")
    assert set(results.metric) == {"silhouette"} < set(METRICS)
    assert results.score.between(-1, 1).all()


def test_silhouettes_of_all_rows_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))
    partitions = [rng.integers(n_clusters, size=1000) for n_clusters in (2, 7)]
    partitions += [(np.arange(1000) == 0).astype(int), 5 * (X[:, 0] > 0)]
    with sklearn.config_context(working_memory=1):  # several blocks
        found = silhouettes_of_all(X, partitions)
    assert found == pytest.approx([silhouette_score(X, labels) for labels in partitions], abs=1e-5)


def test_a_base_method_that_takes_long_may_have_more_trials_for_one_metric():
    cells = [
        cell for cell in TABLES["shuttle"].cells(Budget(60, 5)) if cell.base == "kernel K-Means"
    ]
    assert {(cell.metric, cell.n_trials) for cell in cells} == {
        ("ari", 60),
        ("calinski_harabasz", 10),
        ("silhouette", 10),
    }
    assert {cell.seed for cell in cells} == {0, 1, 2}


@pytest.mark.slow
def test_searches_of_a_row_with_more_trials_for_one_metric_share_their_first_ones(tmp_path):
    cells = [
        Cell("iris", "K-Means", "CoHiRF", "ari", 0, 6),
        Cell("iris", "K-Means", "CoHiRF", "silhouette", 0, 4),
    ]
    run_cells(cells, tmp_path, 1, lambda _: None)
    together = results_of(cells, tmp_path)
    memories = []

    def watch(model, fits):
        memories.append(fits)
        return remembering(model, fits)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("experiments.cells.remembering", watch)
        run_cells(cells, tmp_path / "again", 1, lambda _: None)
    assert memories[0] is memories[1]
    assert len(memories[0]) == 6
    alone = [tune_cell(cell, {}) for cell in cells]
    assert [result["score"] for result in together] == [result["score"] for result in alone]


def test_the_silhouette_of_a_sample_is_written_from_what_was_kept(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "cells").mkdir()
    with pytest.raises(SystemExit, match="leave --write out"):
        run_silhouette_sample("small", tmp_path, lambda _: None, only_kept=True)
    rows = {"n_clusters": 2, "seed": 0, "of_all": 0.5, "of_sample": 0.48, "outside_largest": 0.0005}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "experiments.silhouette_sample.measure_partitions",
            lambda max_rows: {"partitions": [rows]},
        )
        run_silhouette_sample("small", tmp_path, lambda _: None, only_kept=False)
    run_silhouette_sample("small", tmp_path, lambda _: None, only_kept=True)
    text = (tmp_path / "silhouette_sample.md").read_text(encoding="utf-8")
    assert "| 2 | 0.500 to 0.500 | 0.480 to 0.480 | 0.020 | 1 |" in text
    assert "all but 0.1% of the rows" in text


def wants_more_trials(result):
    """Tell whether a result is of a search for which a table now asks for more trials."""
    about = {
        name: value
        for name, value in result.items()
        if name in ("data", "base", "variant", "metric", "seed")
    }
    cells = (cell for table in TABLES.values() for cell in table.cells(BUDGETS["full"]))
    return any(
        about.items() <= cell.about().items() and result.get("n_trials", 60) < cell.n_trials
        for cell in cells
    )


@pytest.mark.slow
def test_every_result_that_is_stored_is_found_again(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    shutil.copy(ROOT / "experiments" / "results" / "full" / keeping.PACKED, tmp_path)
    unpack(tmp_path / "cells")
    asked = set()
    path_of_result = keeping.path_of
    monkeypatch.setattr(
        keeping,
        "path_of",
        lambda *about: asked.add(path_of_result(*about).stem) or path_of_result(*about),
    )
    for name in (
        "spheres.draw_lines",
        "spheres.draw_pictures",
        "hypercube_size.draw_lines",
        "hypercube_noise.draw_lines",
    ):
        monkeypatch.setattr(f"experiments.{name}", lambda *_: None)
    authors.run("full", tmp_path, lambda _: None, only_kept=True, n_jobs=1, metrics=None)
    for name in TABLES:
        run_table(
            name, tmp_path, SimpleNamespace(budget="full", bases=None, metrics=None, write=True)
        )
    for run in FIGURES.values():
        run("full", tmp_path, lambda _: None, only_kept=True)
    results = {
        file.stem: json.loads(file.read_text()) for file in (tmp_path / "cells").glob("*.json")
    }
    lost = [result for name, result in results.items() if name not in asked]
    assert len(results) > 1700
    assert [result for result in lost if not wants_more_trials(result)] == []
