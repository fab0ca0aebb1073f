"""What was run: parameters, seed, versions and command."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

import cohirf
from cohirf import CoHiRF
from cohirf.report.run import describe_run
from cohirf.report.study import check_study
from cohirf.store import Origin


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
    run = describe(CoHiRF(KMeans(4, n_init=3), n_views=2, random_state=0))
    changed = {row["name"] for row in run["parameters"] if row["changed"]}
    assert changed == {"n_views", "random_state"}
    assert {row["name"] for row in run["base_parameters"] if row["changed"]} == {"n_clusters", "n_init"}
    assert {row["name"] for row in run["parameters"]} == set(CoHiRF.as_published().get_params(deep=False)) - {
        "estimator"
    }


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
    run = describe(CoHiRF.as_published(KMeans(4, init=blobs[0][:4], n_init=1), n_views=1, random_state=0))
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
