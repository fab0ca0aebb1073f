"""Tuning finds good parameters, survives bad ones, goes on where it was stopped."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import optuna
import pandas as pd
import psutil
import pytest
from experiments.tuning import first_trials, paper_space, recommended_space, tune
from experiments.tuning.search_space import METRICS, Metric, Silhouettes, find_metric
from joblib import parallel_config
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from scipy import sparse
from sklearn.cluster import DBSCAN, OPTICS, KMeans
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sqlalchemy.pool import NullPool

from cohirf import CoHiRF, suggest_eps
from cohirf.clusterers import SCSRGF, GridDBSCAN, KernelKMeans

X, y = make_blobs(300, centers=10 * np.eye(5, 4), cluster_std=0.7, random_state=1)
# A search of a few trials may well end at the edge of a range.
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*smallest number of clusters", "ignore:.*is at the edge of its range"
)
FEW = {"n_clusters": IntDistribution(2, 8)}
FEW_VIEWS = {"views": IntDistribution(2, 3), "estimator__n_clusters": IntDistribution(2, 8)}


class Counting(KMeans):
    """Counts its fits, and fails for an odd number of clusters."""

    calls = 0

    def fit_predict(self, X, y=None, sample_weight=None):
        Counting.calls += 1
        if self.n_clusters % 2:
            raise ValueError("odd")
        return super().fit_predict(X, y, sample_weight)


class Broken(KMeans):
    def fit_predict(self, X, y=None, sample_weight=None):
        raise ValueError("no luck")


@pytest.mark.parametrize("metric", ["silhouette", "calinski_harabasz", "ari"])
def test_the_number_of_clusters_is_found_by_every_metric(metric):
    found = tune(KMeans(), X, y, metric=metric, n_trials=12, search_space=FEW)
    assert found.best_params == {"n_clusters": 5}
    assert adjusted_rand_score(y, found.best_estimator.labels_) == 1
    assert found.best_score == pytest.approx(METRICS[metric](X)(X, found.best_estimator.labels_, y))


@pytest.mark.slow
def test_parameters_of_cohirf_and_of_its_base_method_are_searched_together():
    model = CoHiRF.as_published(KMeans(n_init=1), medoid_weights=True)
    found = tune(model, X, y, metric="ari", n_trials=15)
    assert set(found.best_params) == {"max_features", "views", "estimator__n_clusters"}
    assert found.best_score > 0.8
    fitted = (
        CoHiRF.as_published(KMeans(n_init=1), medoid_weights=True, random_state=0)
        .set_params(**found.best_params)
        .fit(X)
    )
    assert (fitted.labels_ == found.best_estimator.labels_).all()
    assert model.estimator.n_clusters == 8  # as it was given


def test_the_table_has_a_line_per_trial_the_best_first():
    table = tune(KMeans(), X, n_trials=10, search_space=FEW).table
    assert list(table.columns) == ["trial", "score", "n_clusters", "seconds", "error"]
    assert len(table) == 10
    assert table.score.is_monotonic_decreasing
    assert table.n_clusters[0] == 5


def test_a_trial_that_fails_scores_worst_and_says_why():
    found = tune(Counting(), X, metric="calinski_harabasz", n_trials=14, search_space=FEW)
    assert found.best_params["n_clusters"] in (4, 6)
    odd = found.table[found.table.n_clusters % 2 == 1]
    assert len(odd)
    assert (odd.score == 0).all()
    assert (odd.error == "ValueError: odd").all()


def test_if_every_trial_fails_the_search_says_why():
    with pytest.raises(
        ValueError, match="All 3 trials failed, the last one with ValueError: no luck"
    ):
        tune(Broken(), X, n_trials=3)


def test_parameters_that_were_tried_are_not_fitted_again():
    Counting.calls = 0
    found = tune(Counting(), X, n_trials=25, search_space=FEW)
    assert len(found.table) == 25
    assert Counting.calls == found.table.n_clusters.nunique()


def test_one_cluster_scores_worst():
    space = {"eps": FloatDistribution(100, 200)}
    with pytest.warns(UserWarning, match="None of the 3 trials found more than one cluster"):
        found = tune(DBSCAN(), X, n_trials=3, search_space=space)
    assert (found.table.score == -1).all()
    assert (found.table.error == "").all()


def test_one_cluster_has_an_adjusted_rand_index():
    assert (
        tune(
            DBSCAN(),
            X,
            y,
            metric="ari",
            n_trials=2,
            search_space={"eps": FloatDistribution(100, 200)},
        ).best_score
        == 0
    )


def test_a_function_is_called_with_data_and_labels_and_with_classes_if_there_are_any():
    def fewest(X, labels):
        return -len(np.unique(labels))

    def rand(X, labels, classes):
        return adjusted_rand_score(classes, labels)

    assert tune(KMeans(), X, metric=fewest, n_trials=8, search_space=FEW).best_params == {
        "n_clusters": 2
    }
    assert tune(KMeans(), X, y, metric=rand, n_trials=12, search_space=FEW).best_params == {
        "n_clusters": 5
    }


def test_a_metric_says_itself_what_is_worst():
    metric = Metric(lambda X, labels, y: 1.0 / len(np.unique(labels)), worst=-3.0)
    found = tune(Counting(), X, metric=metric, n_trials=14, search_space=FEW)
    assert found.best_params == {"n_clusters": 2}
    assert (found.table.score[found.table.error != ""] == -3).all()


def test_a_file_that_is_no_database_is_refused(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("What I want to remember is not in a database.", encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"notes\.txt cannot be used as storage: .* Give the path of a new"
    ):
        tune(KMeans(), X, n_trials=1, search_space=FEW, storage=path)


def test_the_score_is_the_mean_over_seeds():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(200, 5))
    found = tune(KMeans(n_init=1), noise, seeds=(3, 4, 5), n_trials=1, search_space=FEW)
    models = [
        KMeans(n_init=1, random_state=seed, **found.best_params).fit(noise) for seed in (3, 4, 5)
    ]
    assert found.best_score == pytest.approx(
        np.mean([silhouette_score(noise, model.labels_) for model in models])
    )
    assert found.best_estimator.random_state == 3


@pytest.fixture(scope="module")
def empty_database(tmp_path_factory):
    """A database without trials: to make one takes longer than a search."""
    path = tmp_path_factory.mktemp("empty") / "trials.db"
    optuna.storages.RDBStorage(f"sqlite:///{path}", engine_kwargs={"poolclass": NullPool})
    return path


@pytest.fixture
def database(empty_database, tmp_path):
    return Path(shutil.copy(empty_database, tmp_path / "trials.db"))


def test_without_seeds_every_trial_has_one_of_its_own(database):
    noise = np.random.default_rng(0).normal(size=(60, 3))
    arguments = {"search_space": {"n_clusters": IntDistribution(7, 7)}, "seeds": None}
    found = tune(KMeans(n_init=1), noise, n_trials=8, **arguments)
    assert found.table.score.nunique() > 1  # of the same parameters
    assert found.best_score == found.table.score.max()
    assert found.best_score == pytest.approx(silhouette_score(noise, found.best_estimator.labels_))
    tune(KMeans(n_init=1), noise, n_trials=3, storage=database, **arguments)
    resumed = tune(KMeans(n_init=1), noise, n_trials=8, storage=database, **arguments)
    assert resumed.table.score.tolist() == found.table.score.tolist()


def test_seeds_may_be_numbers_of_numpy_and_a_study_of_before_goes_on(database, monkeypatch):
    arguments = {"search_space": FEW, "seeds": np.arange(2), "storage": database}
    with monkeypatch.context() as before:
        before.setattr(sys.modules["experiments.tuning.tune"], "SEEDS", "unknown")
        tune(KMeans(), X, n_trials=3, **arguments)
    found = tune(KMeans(), X, n_trials=5, **arguments)
    assert len(found.table) == 5
    assert found.best_estimator.random_state == 0


def test_coordinates_of_a_sparse_matrix_will_do():
    wide = sparse.coo_matrix(np.where(np.abs(X) > 1, X, 0))
    assert tune(KMeans(), wide, n_trials=2, search_space=FEW).best_score > 0


def test_seeds_reach_the_steps_of_a_pipeline():
    space = {"kmeans__n_clusters": IntDistribution(5, 5)}
    found = tune(
        make_pipeline(StandardScaler(), KMeans()), X, n_trials=2, search_space=space, seeds=(7,)
    )
    assert found.best_estimator[-1].random_state == 7


def test_a_search_that_was_stopped_proposes_what_it_would_have_proposed(database):
    model = CoHiRF.as_published(KMeans(n_init=1))
    # the first ten are drawn without a look at the others
    whole = tune(model, X, n_trials=12, search_space=FEW_VIEWS)
    tune(model, X, n_trials=9, search_space=FEW_VIEWS, storage=database)
    resumed = tune(model, X, n_trials=12, search_space=FEW_VIEWS, storage=database)
    columns = ["score", *FEW_VIEWS]
    pd.testing.assert_frame_equal(resumed.table[columns], whole.table[columns])


def test_a_finished_search_is_read_from_its_storage(database):
    Counting.calls = 0
    first = tune(Counting(), X, n_trials=6, search_space=FEW, storage=database)
    calls = Counting.calls
    again = tune(Counting(), X, n_trials=6, search_space=FEW, storage=database)
    assert Counting.calls == calls
    assert again.best_params == first.best_params


def test_no_file_of_trials_stays_open(database):
    found = tune(KMeans(), X, n_trials=2, search_space=FEW, storage=database)
    assert len(found.table) == len(found.study.trials) == 2
    assert not [file for file in psutil.Process().open_files() if file.path.endswith("trials.db")]


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """The arguments of a search whose study is stored."""
    storage = tmp_path_factory.mktemp("stored") / "trials.db"
    arguments = {
        "estimator": KMeans(),
        "X": X,
        "n_trials": 1,
        "search_space": FEW,
        "storage": storage,
    }
    tune(**arguments)
    return arguments


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("data", {"X": X + 1}),
        ("metric", {"metric": "calinski_harabasz"}),
        ("search space", {"search_space": {"n_clusters": IntDistribution(2, 9)}}),
        ("seeds", {"seeds": (1,)}),
        ("max_iter", {"estimator": KMeans(max_iter=7)}),
        ("classes", {"y": y}),
    ],
)
def test_a_study_of_another_search_is_refused_and_what_differs_is_named(stored, name, change):
    with pytest.raises(ValueError, match=rf"has a search with other {name}\. Give another storage"):
        tune(**stored | change)


@pytest.mark.slow
def test_a_trial_that_was_cut_off_does_not_count(tmp_path):
    script = (
        "import os, sys; sys.path[:0] = ['.', 'tests/experiments']; import numpy as np\n"
        "from optuna.distributions import IntDistribution\n"
        "from sklearn.cluster import KMeans; from experiments.tuning import tune; from test_tune "
        "import X, FEW\n"
        "def die(X, labels):\n"
        "    die.calls += 1\n"
        "    return os._exit(9) if die.calls == 4 else float(labels.max())\n"
        "die.calls = 0\n"
        "tune(KMeans(), X, metric=die, n_trials=8, search_space=FEW, "
        f"storage={str(tmp_path / 'trials.db')!r})"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 9
    storage = optuna.storages.RDBStorage(
        f"sqlite:///{tmp_path}/trials.db", engine_kwargs={"poolclass": NullPool}
    )
    study = optuna.load_study(study_name="cohirf", storage=storage)
    assert sum(trial.value is not None for trial in study.trials) >= 3
    assert any(trial.value is None for trial in study.trials)


@pytest.mark.slow
def test_a_search_that_was_cut_off_in_a_trial_proposes_what_it_would_have_proposed(database):
    space = {"eps": FloatDistribution(0.1, 3), "min_samples": IntDistribution(2, 9)}
    whole = tune(DBSCAN(), X, n_trials=14, search_space=space).table

    class Interrupted(DBSCAN):
        calls = 0

        def fit_predict(self, X, y=None, sample_weight=None):
            Interrupted.calls += 1
            if Interrupted.calls == 13:
                raise KeyboardInterrupt
            return super().fit_predict(X, y, sample_weight)

    with pytest.raises(KeyboardInterrupt):
        tune(Interrupted(), X, n_trials=14, search_space=space, storage=database)
    resumed = tune(Interrupted(), X, n_trials=14, search_space=space, storage=database).table
    pd.testing.assert_frame_equal(resumed[["score", *space]], whole[["score", *space]])


def test_the_default_base_method_is_tuned():
    assert tune(CoHiRF.as_published(), X[::2], n_trials=1).best_params["estimator__n_clusters"] >= 2


def test_a_metric_that_fails_scores_worst():
    def fails_for_three(X, labels):
        return 1 / (labels.max() - 2)

    found = tune(KMeans(), X, metric=fails_for_three, n_trials=12, search_space=FEW)
    assert "ZeroDivisionError" in found.table.error.iloc[-1] or np.isinf(found.table.score).any()
    assert found.best_params["n_clusters"] == 4


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_trials_in_parallel_give_the_same_each_time(backend):
    with parallel_config(backend=backend):
        first, second = (
            tune(KMeans(), X, n_trials=6, search_space=FEW, n_jobs=2).table for _ in range(2)
        )
    pd.testing.assert_frame_equal(first[["score", "n_clusters"]], second[["score", "n_clusters"]])


def test_time_that_is_up_ends_the_search_after_its_first_trial():
    assert len(tune(KMeans(), X, n_trials=50, search_space=FEW, timeout=0).table) == 1


def test_progress_is_written_to_a_log(capsys):
    tune(KMeans(), X, n_trials=2, search_space=FEW, verbose=1)
    assert "[CoHiRF] tuning: 2 of 2 trials, best score 0." in capsys.readouterr().err


def test_a_silhouette_of_some_rows_is_said_to_be_so(capsys, monkeypatch):
    options = {"n_trials": 1, "search_space": FEW, "verbose": 1}
    tune(KMeans(), X, **options)
    assert "random rows" not in capsys.readouterr().out
    monkeypatch.setattr("experiments.tuning.search_space.SILHOUETTE_ROWS", 100)
    tune(KMeans(), X, **options)
    line = "[CoHiRF] silhouette: that of 100 random rows, the same ones in each trial\n"
    assert capsys.readouterr().out.startswith(line)


def test_a_silhouette_of_many_rows_is_always_that_of_the_same_rows(monkeypatch):
    monkeypatch.setattr("experiments.tuning.search_space.SILHOUETTE_ROWS", 1000)
    rng = np.random.default_rng(0)
    many = rng.normal(size=(1200, 2)) + 5 * (np.arange(1200) % 2)[:, None]
    labels = np.arange(1200) % 2
    silhouette = Silhouettes(many)
    rows = np.sort(np.random.default_rng(0).choice(1200, 1000, replace=False))
    assert silhouette(many, labels, None) == pytest.approx(
        silhouette_score(many[rows], labels[rows])
    )
    assert silhouette(many, labels, None) == Silhouettes(many)(many, labels, None)
    rare = np.zeros(1200, dtype=int)
    unseen = np.setdiff1d(np.arange(1200), rows)
    rare[unseen[0]] = 1
    assert silhouette(many, rare, None) == -1


def test_sparse_rows_and_data_frames_are_tuned():
    wide = sparse.csr_array(np.where(np.abs(X) > 1, X, 0))
    assert tune(KMeans(), wide, n_trials=3, search_space=FEW).best_score > 0
    frame = pd.DataFrame(X, columns=list("abcd"))
    assert list(
        tune(KMeans(), frame, n_trials=3, search_space=FEW).best_estimator.feature_names_in_
    ) == list("abcd")


@pytest.mark.parametrize(
    ("base", "names"),
    [
        (KMeans(), {"n_clusters"}),
        (GridDBSCAN(), {"eps", "min_samples"}),
        (SCSRGF(), {"n_clusters", "n_affinities", "sampling_ratio"}),
        (Counting(), {"n_clusters"}),
    ],
)
def test_base_methods_have_the_ranges_of_the_paper_alone_and_inside(base, names):
    assert set(paper_space(base)) == names
    inside = set(paper_space(CoHiRF.as_published(base))) - {"max_features", "views"}
    assert inside == {f"estimator__{name}" for name in names}


def test_a_method_that_draws_features_itself_gets_all_of_them():
    assert "max_features" not in paper_space(CoHiRF.as_published(SCSRGF()))


def test_without_a_base_method_the_number_of_clusters_is_searched():
    found = tune(CoHiRF(), X[::2], n_trials=2)
    assert set(found.best_params) == {"max_features", "views", "n_clusters"}
    assert found.best_estimator.estimator is None
    assert found.best_estimator.n_clusters_ == found.best_params["n_clusters"]


@pytest.mark.parametrize("n_clusters", [3, "auto"])
def test_a_number_of_clusters_that_is_given_is_not_searched(n_clusters):
    for base, names in ((None, set()), (KMeans(), set()), (KernelKMeans(), {"estimator__gamma"})):
        assert (
            set(paper_space(CoHiRF(base, n_clusters=n_clusters)))
            == {"max_features", "views"} | names
        )
    assert "estimator__n_clusters" in paper_space(CoHiRF.as_published())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"estimator": OPTICS()}, "There is no default search space for OPTICS: pass search_space"),
        ({"search_space": {"clusters": IntDistribution(2, 3)}}, "has 'clusters', which is not a parameter of KMeans"),
        ({"search_space": {}}, "search_space is empty"),
        ({"n_trials": 0}, "n_trials=0 is not valid: give at least 1"),
        ({"seeds": ()}, "seeds is empty"),
        ({"metric": "purity"}, "metric='purity' is not valid: pass one of silhouette, calinski_harabasz, ari"),
        ({"metric": "ari"}, "metric='ari' compares with true classes: pass them as y"),
    ],
)  # fmt: skip
def test_bad_arguments_are_refused_in_words(change, message):
    with pytest.raises(ValueError, match=message):
        tune(**{"estimator": KMeans(), "X": X} | change)


def test_a_list_or_a_source_is_refused_since_scores_need_the_rows():
    with pytest.raises(TypeError, match="X is a list: pass an array"):
        tune(KMeans(), [[1.0], [2.0]])


def test_a_score_that_is_not_finite_is_the_worst():
    assert find_metric(lambda X, labels: np.nan, X, None)(X, y, None) == -np.inf


class TestRecommended:
    def test_a_search_starts_with_what_the_library_chooses(self):
        Z, _ = make_blobs(180, centers=6, random_state=1)
        chosen = CoHiRF(n_clusters="auto", random_state=0).fit(Z)
        found = tune(CoHiRF(), Z, n_trials=1)
        assert found.best_params == {
            "max_features": 1.0,
            "views": 5,
            "n_clusters": chosen.n_clusters_,
        }
        assert found.best_score >= silhouette_score(Z, chosen.labels_) - 0.02

    @pytest.mark.slow
    def test_ten_digits_are_not_two_clusters(self):
        digits = load_digits().data[:600]
        found = tune(CoHiRF(), digits, n_trials=2)
        assert found.best_params["n_clusters"] >= 8

    def test_a_radius_is_searched_around_the_suggested_one(self):
        space = recommended_space(CoHiRF(DBSCAN()), X)
        radius = suggest_eps(X, random_state=0).eps
        assert space["estimator__eps"].low < radius < space["estimator__eps"].high
        assert space["estimator__eps"].log
        assert set(space) == {"estimator__eps", "estimator__min_samples"}
        assert first_trials(CoHiRF(DBSCAN()), X, space) == [
            {"estimator__eps": radius, "estimator__min_samples": 5}
        ]

    def test_first_trials_are_inside_the_ranges(self):
        space = {
            "n_clusters": IntDistribution(20, 30),
            "init": CategoricalDistribution(("random",)),
        }
        assert first_trials(KMeans(), X, space) == [{"n_clusters": 20, "init": "random"}]

    def test_given_trials_come_first(self):
        found = tune(
            KMeans(),
            X,
            n_trials=2,
            search_space={"n_clusters": IntDistribution(2, 9)},
            first=[{"n_clusters": 7}],
        )
        assert found.study.trials[0].params == {"n_clusters": 7}

    def test_a_resumed_search_does_not_start_again(self, database):
        space = {"n_clusters": IntDistribution(2, 9)}
        options = {"search_space": space, "first": [{"n_clusters": 7}], "storage": database}
        tune(KMeans(), X, n_trials=2, **options)
        found = tune(KMeans(), X, n_trials=4, **options)
        assert [trial.params["n_clusters"] for trial in found.study.trials].count(7) <= 2

    def test_better_trials_are_told_while_it_runs(self, capsys):
        tune(KMeans(), X, n_trials=4, search_space={"n_clusters": IntDistribution(3, 9)}, verbose=1)
        told = re.findall(r"trial (\d): ([\d.]+) with n_clusters=(\d)", capsys.readouterr().out)
        assert told[0][0] == "0"
        assert [float(score) for _, score, _ in told] == sorted(
            float(score) for _, score, _ in told
        )


def test_the_edge_of_a_range_is_a_warning():
    with pytest.warns(
        UserWarning,
        match=r"n_clusters=4 is at the edge of its range, 3 to 4: a value beyond it may be",
    ):
        tune(KMeans(), X, n_trials=6, search_space={"n_clusters": IntDistribution(3, 4)})
    few = IntDistribution(2, 3)
    with pytest.warns(
        UserWarning, match="n_clusters=2 is the smallest number of clusters that was tried"
    ):
        tune(
            KMeans(),
            X,
            metric=lambda X, labels: -labels.max(),
            n_trials=6,
            search_space={"n_clusters": few},
        )
