"""The script that repeats a fit gives the same labels."""

import runpy

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import DBSCAN, KMeans, MiniBatchKMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from cohirf import CoHiRF
from cohirf.clusterers import KernelKMeans
from cohirf.preparation import prepare
from cohirf.report.script import write_script
from cohirf.store import Origin


def run(script, **names):
    exec(script, names)
    return names["labels"].tolist()


@pytest.mark.parametrize(
    "model",
    [
        CoHiRF(random_state=0),
        CoHiRF.as_published(KMeans(4, n_init=2), n_views=3, max_features=0.5, consensus="relaxed", random_state=7),
        CoHiRF.as_published(
            make_pipeline(PCA(2), MiniBatchKMeans(4)), batch_size=100, min_cluster_size=5, random_state=1
        ),
        CoHiRF.as_published(KernelKMeans(3), medoid="euclidean", random_state=0),
        CoHiRF.as_published(CoHiRF.as_published(DBSCAN(eps=2.0), max_iter=3), random_state=0),
    ],
    ids=lambda model: type(model.estimator).__name__,
)
def test_it_repeats_a_fit_of_an_array(blobs, model):
    X, _ = blobs
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
    pd.DataFrame({"a": 100 * rng.normal(size=80), 'b "quoted"': rng.normal(size=80)}).to_csv("x.csv", index=False)
    options = {"drop": ['b "quoted"'], "scaling": "standard"}
    model = CoHiRF(KMeans(3), random_state=0).fit(prepare("x.csv", **options).rows())
    script = write_script(model, Origin("x.csv", options))
    assert run(script) == model.labels_.tolist()
    (tmp_path / "again.py").write_text(script, encoding="utf-8")
    assert runpy.run_path(str(tmp_path / "again.py"))["labels"].tolist() == model.labels_.tolist()


def test_a_measured_batch_size_is_written_as_a_number(blobs):
    X, _ = blobs
    model = CoHiRF(KMeans(4), batch_size="auto", memory_limit="8GB", random_state=0).fit(X)
    script = write_script(model)
    assert f"batch_size={model.batch_size_}" in script
    assert "memory_limit" not in script
    assert run(script, X=X) == model.labels_.tolist()


def test_where_a_fit_was_checkpointed_is_not_repeated(blobs, tmp_path):
    model = CoHiRF(KMeans(4), checkpoint=str(tmp_path / "checkpoint"), random_state=0).fit(blobs[0])
    assert "checkpoint" not in write_script(model)
    assert model.checkpoint is not None  # the model itself is as it was


def test_many_options_have_a_line_each():
    model = CoHiRF(random_state=0).fit(np.random.default_rng(0).normal(size=(20, 2)))
    script = write_script(model, Origin("x.csv", {"drop": ["a" * 60], "label_column": "b" * 60}))
    assert f'prepared = prepare(\n    "x.csv",\n    drop={["a" * 60]!r},\n' in script
