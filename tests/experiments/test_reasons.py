"""The reasons why figures are not within the paper's, each in data that were made to show it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score, calinski_harabasz_score, silhouette_score
from sklearn.metrics.pairwise import rbf_kernel

pytest.importorskip("optuna")
pytest.importorskip("matplotlib")
pytest.importorskip("resource", reason="the experiments limit memory as POSIX does")

import optuna
from experiments.__main__ import RESULTS
from experiments.authors import lines_of, reason_lines, start_search
from experiments.reasons import REASONS
from optuna.distributions import IntDistribution
from optuna.samplers import TPESampler

from cohirf.clusterers import KernelKMeans


def test_every_figure_that_is_worse_has_a_reason():
    lines = lines_of(pd.read_parquet(RESULTS / "full" / "authors.parquet"))
    worse = [line for line in reason_lines(lines) if "| worse |" in line]
    assert len(worse) == sum(line.verdict == "worse" for line in lines)
    assert not any("Open" in line for line in worse)
    unexplained = [line for line in worse if "Not explained" in line]
    n_left = sum(line.verdict == "worse" and line.drawn_verdict != "within" for line in lines)
    assert len(unexplained) == n_left
    others = {(*line.row, line.metric) for line in lines if line.verdict != "within"}
    assert REASONS.keys() <= others


def count_trials_at_the_edge(study, n_trials):
    """Return how often a search tries the least number of clusters, which has the best score."""
    n_best = 0
    for _ in range(n_trials):
        trial = study.ask({"n_clusters": IntDistribution(2, 30)})
        n_best += trial.params["n_clusters"] == 2
        study.tell(trial, -trial.params["n_clusters"])
    return n_best


@pytest.mark.skipif(optuna.__version__ < "5", reason="Optuna has the authors' sampler itself")
def test_the_authors_sampler_tries_the_edge_of_a_range_more_often_than_that_of_optuna_5():
    study = start_search({"n_clusters": 8}, 0)
    n_best = count_trials_at_the_edge(study, 40)
    study = start_search({"n_clusters": 8}, 0)
    study.sampler = TPESampler(multivariate=True, constant_liar=True, seed=0)
    assert n_best >= 1.5 * count_trials_at_the_edge(study, 40)


def test_from_the_least_gamma_of_the_paper_on_genes_are_alike_to_none():
    rng = np.random.default_rng(0)
    y = np.arange(60) // 30
    X = rng.normal(size=(60, 2000)) + y[:, None] * (np.arange(2000) < 200) * 2
    others = ~np.eye(60, dtype=bool)
    assert rbf_kernel(X, gamma=0.1)[others].max() < 1e-100
    scores = [
        adjusted_rand_score(y, KernelKMeans(2, gamma=gamma, random_state=0).fit_predict(X))
        for gamma in (0.1, 1e-5)
    ]
    assert scores[0] < 0.1
    assert scores[1] == 1


def test_the_best_of_sixty_samples_has_a_higher_silhouette_than_all_rows():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(600, 2)), rng.normal(size=(6, 2)) + 8])
    labels = (np.arange(len(X)) >= 600).astype(int)
    samples = [rng.choice(len(X), 60, replace=False) for _ in range(60)]
    scores = [silhouette_score(X[rows], labels[rows]) for rows in samples if labels[rows].any()]
    assert max(scores) > silhouette_score(X, labels) + 0.01


def test_of_random_splits_only_those_that_leave_a_row_alone_have_a_high_index():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 200)) * rng.lognormal(sigma=0.5, size=(60, 1))

    def best_of_sixty(*sizes):
        labels = np.repeat(range(len(sizes)), sizes)
        return max(calinski_harabasz_score(X, rng.permutation(labels)) for _ in range(60))

    alone = best_of_sixty(1, 59)
    assert alone > 1.2 * best_of_sixty(30, 30)
    assert alone > 1.2 * best_of_sixty(20, 20, 20)
