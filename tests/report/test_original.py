"""What rows were before the fit: from a pipeline, a preparation, or the data itself."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cohirf import CoHiRF
from cohirf.preparation import prepare
from cohirf.report import write_report
from cohirf.report.original import TransformedRows, find_given
from cohirf.report.study import check_study


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"name": [f"p{i}" for i in range(60)], "age": rng.integers(18, 80, 60), "pay": rng.normal(size=60)}
    )


def test_only_the_rows_that_are_needed_are_transformed(people):
    seen = []

    class Counting(StandardScaler):
        def transform(self, X):
            seen.append(len(X))
            return super().transform(X)

    numbers = people[["age", "pay"]]
    scaler = Counting().fit(numbers)
    rows = TransformedRows(scaler, numbers)
    found = rows.take(np.array([3, 5]))
    assert (rows.n_rows, seen) == (60, [2])
    assert found == pytest.approx(StandardScaler().fit_transform(numbers)[[3, 5]])


def test_a_preparation_gives_back_original_units_and_ids(people):
    prepared = prepare(people, id_column="name", scaling="standard")
    model = CoHiRF(KMeans(3), random_state=0).fit(prepared.rows())
    for X, pipeline in ((prepared, None), (people, prepared.preparation)):
        study = check_study(model, X, None, None, pipeline=pipeline)
        assert study.original.take(np.array([7]))[0] == pytest.approx(people.loc[7, ["age", "pay"]].astype(float))
        assert study.name_row(7) == "p7"
        assert study.row_names.column == "name"


def test_a_pipeline_that_ends_with_the_model_is_used_up_to_it(people):
    numbers = people[["age", "pay"]]
    whole = make_pipeline(StandardScaler(), CoHiRF(KMeans(3), random_state=0)).fit(numbers)
    study = check_study(whole[-1], numbers, None, None, pipeline=whole)
    assert study.data.take(np.array([0])) == pytest.approx(whole[0].transform(numbers)[:1])


def test_ids_must_be_as_many_as_rows(people, tmp_path):
    X = people[["age", "pay"]]
    model = CoHiRF(KMeans(3), random_state=0).fit(X)
    with pytest.raises(ValueError, match="ids has 2 names, but the data has 60 rows: pass one for each row"):
        write_report(model, X, tmp_path / "a.html", ids=["a", "b"])


def test_a_series_of_ids_gives_them_its_name(people):
    assert find_given(people, None, people["name"]).row_names.column == "name"


def test_what_cannot_transform_is_refused(people):
    with pytest.raises(TypeError, match=r"pipeline=KMeans\(\) cannot transform|pipeline='x' cannot transform rows"):
        find_given(people, "x", None)


def test_a_pipeline_that_made_other_data_is_refused(people, tmp_path):
    numbers = people[["age", "pay"]]
    model = CoHiRF(KMeans(3), random_state=0).fit(StandardScaler().fit_transform(numbers))
    with pytest.raises(ValueError, match="differs from the medoid of cluster"):
        write_report(model, numbers, tmp_path / "a.html", pipeline=StandardScaler().fit(numbers[:30]))
