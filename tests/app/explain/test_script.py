"""How a model was fitted, and the script that repeats it with the same labels."""

import runpy

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import DBSCAN, KMeans, MiniBatchKMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import cohirf
from cohirf import CoHiRF
from cohirf.app.explain.script import describe_run, write_script
from cohirf.app.explain.study import check_study
from cohirf.app.preparation import prepare
from cohirf.clusterers import KernelKMeans
from cohirf.store.models import Origin


class Odd:
    """A base method without parameters that anybody could ask for."""

    def fit_predict(self, X):
        return (np.asarray(X)[:, 0] > 0).astype(int)


@pytest.fixture
def describe(blobs):
    def run(model, **options):
        study = check_study(model.fit(blobs[0]), blobs[0], None, None)
        return describe_run(study, options.get("data_name"), options.get("origin"))

    return run


def test_parameters_that_are_not_the_defaults_are_marked(describe):
    run = describe(CoHiRF(KMeans(4, n_init=3), views=2, random_state=0))
    changed = {row["name"] for row in run["parameters"] if row["changed"]}
    assert changed == {"views", "random_state"}
    assert {row["name"] for row in run["base_parameters"] if row["changed"]} == {
        "n_clusters",
        "n_init",
    }
    assert {row["name"] for row in run["parameters"]} == set(
        CoHiRF.as_published().get_params(deep=False)
    ) - {"estimator"}


def test_values_are_written_as_in_python(describe):
    run = describe(CoHiRF.as_published(KMeans(4), consensus="relaxed", random_state=0))
    values = {row["name"]: row["value"] for row in run["parameters"]}
    assert values["consensus"] == "'relaxed'"
    assert values["batch_size"] == "None"


def test_the_default_base_method_is_named(describe):
    assert describe(CoHiRF.as_published(random_state=0))["base"] == "KMeans"


def test_a_base_method_without_parameters_is_no_obstacle(describe):
    run = describe(CoHiRF.as_published(Odd(), random_state=0))
    assert (run["base"], run["base_parameters"]) == ("Odd", [])


def test_arrays_as_parameters_are_shortened_and_count_as_changed(describe, blobs):
    run = describe(
        CoHiRF.as_published(KMeans(4, init=blobs[0][:4], n_init=1), views=1, random_state=0)
    )
    init = next(row for row in run["base_parameters"] if row["name"] == "init")
    assert init["changed"]
    assert len(init["value"]) <= 400


def test_seed_versions_and_command_are_told(describe):
    run = describe(
        CoHiRF.as_published(KMeans(4), random_state=3),
        origin=Origin("x.csv", {}, "cohirf fit x.csv\n  --seed 3"),
        data_name="x.csv",
    )
    assert run["seed"] == "3"
    assert run["command"] == "cohirf fit x.csv\n  --seed 3"
    assert run["data_name"] == "x.csv"
    assert run["versions"]["cohirf"] == cohirf.__version__
    assert run["is_repeatable"]
    without = describe(CoHiRF.as_published(KMeans(4)))
    assert without["seed"] is None
    assert not without["is_repeatable"]


def run(script, **names):
    exec(script, names)
    return names["labels"].tolist()


@pytest.mark.parametrize(
    "model",
    [
        CoHiRF(random_state=0),
        CoHiRF.as_published(
            KMeans(4, n_init=2), views=3, max_features=0.5, consensus="relaxed", random_state=7
        ),
        CoHiRF.as_published(
            make_pipeline(PCA(2), MiniBatchKMeans(4)),
            batch_size=50,
            min_cluster_size=5,
            random_state=1,
        ),
        CoHiRF.as_published(KernelKMeans(3), medoid="euclidean", random_state=0),
        CoHiRF.as_published(CoHiRF.as_published(DBSCAN(eps=2.0), max_iter=3), random_state=0),
    ],
    ids=lambda model: type(model.estimator).__name__,
)
def test_it_repeats_a_fit_of_an_array(blobs, model):
    X = blobs[0][:120]
    assert run(write_script(model.fit(X)), X=X) == model.labels_.tolist()


def test_it_repeats_the_pipeline_before_the_fit():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=90), "colour": rng.choice(["red", "blue"], 90)})
    pipeline = make_column_transformer((StandardScaler(), ["size"]), (OneHotEncoder(), ["colour"]))
    model = CoHiRF(KMeans(4), random_state=0).fit(pipeline.fit_transform(X))
    assert run(write_script(model, pipeline=pipeline), X=X) == model.labels_.tolist()


def test_it_prepares_the_file_as_the_fit_did(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    pd.DataFrame({"a": 100 * rng.normal(size=80), 'b "quoted"': rng.normal(size=80)}).to_csv(
        "x.csv", index=False
    )
    options = {"drop": ['b "quoted"'], "scaling": "standard"}
    model = CoHiRF(KMeans(3), random_state=0).fit(prepare("x.csv", **options).rows())
    script = write_script(model, Origin("x.csv", options))
    assert run(script) == model.labels_.tolist()
    (tmp_path / "again.py").write_text(script, encoding="utf-8")
    assert runpy.run_path(str(tmp_path / "again.py"))["labels"].tolist() == model.labels_.tolist()


def test_a_measured_batch_size_is_written_as_a_number(blobs):
    X, _ = blobs
    model = CoHiRF(KMeans(4), batch_size=100, random_state=0).fit(X)
    model.set_params(batch_size="8GB")  # as if this size had been measured
    script = write_script(model)
    assert f"batch_size={model.batch_size_}" in script
    assert run(script, X=X) == model.labels_.tolist()


def test_where_a_fit_was_checkpointed_is_not_repeated(blobs, tmp_path):
    model = CoHiRF(KMeans(4), checkpoint=str(tmp_path / "checkpoint"), random_state=0).fit(blobs[0])
    assert "checkpoint" not in write_script(model)
    assert model.checkpoint is not None  # the model itself is as it was


def test_many_options_have_a_line_each():
    model = CoHiRF(random_state=0).fit(np.random.default_rng(0).normal(size=(20, 2)))
    script = write_script(model, Origin("x.csv", {"drop": ["a" * 60], "label_column": "b" * 60}))
    assert f'prepared = prepare(\n    "x.csv",\n    drop={["a" * 60]!r},\n' in script
