"""What all clusterers of this package keep: scikit-learn's checks, extras that are named, and their
short names.
"""

import sys

import numpy as np
import pytest
from sklearn.cluster import DBSCAN
from sklearn.utils.estimator_checks import parametrize_with_checks

from cohirf import CoHiRF
from cohirf.clusterers import SCSRGF, GridDBSCAN, KernelKMeans, TorchKMeans
from cohirf.clusterers.names import NAMES, base_class, make_base_method, read_parameter


# Data in some checks has fewer distinct rows than clusters: K-Means' own warning.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        GridDBSCAN(),
        KernelKMeans(n_clusters=3, n_components=50, n_init=3),
        SCSRGF(n_affinities=3, n_fusion_iter=3),
    ]
)
def test_scikit_learns_checks_pass_with_no_expected_failure(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [KernelKMeans(), SCSRGF(), SCSRGF(n_affinities=1, n_neighbors=3, graph="local")]
)
def test_scikit_learns_checks_pass_with_other_parameters(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("kind", "package", "extra"), [(GridDBSCAN, "numba", "fast"), (TorchKMeans, "torch", "torch")]
)
def test_a_fit_names_the_extra_that_installs_what_it_lacks(kind, package, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        ImportError, match=rf'^{kind.__name__} needs {package}: install .* "cohirf\[{extra}\]"'
    ):
        kind().fit(np.eye(3))


def test_k_means_on_torch_has_the_parameters_of_k_means_and_the_device():
    names = {"n_clusters", "init", "n_init", "max_iter", "tol", "random_state", "device"}
    assert TorchKMeans().get_params().keys() == names
    with pytest.raises(ValueError, match=r"^The 'device' parameter of TorchKMeans must be"):
        TorchKMeans(device=1).fit(np.eye(3))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")  # base methods warn on such little data
def test_every_name_is_a_base_method_that_works(name):
    if name.startswith("torch"):
        pytest.importorskip("torch")
    X = np.random.default_rng(0).normal(size=(40, 2))
    assert (
        len(
            CoHiRF.as_published(make_base_method(name), views=1, max_iter=2, random_state=0)
            .fit(X)
            .labels_
        )
        == 40
    )


@pytest.mark.parametrize("name", NAMES)
def test_defaults_are_read_from_text(name):
    for key, default in base_class(name)().get_params().items():
        if isinstance(default, int | float | str | None) and default not in ("deprecated", "warn"):
            assert read_parameter(base_class(name), key, str(default)) == default, key


@pytest.mark.parametrize(("name", "key"), [("kmeans", "n_clusters"), ("dbscan", "eps")])
def test_a_word_is_not_a_number(name, key):
    with pytest.raises(ValueError, match=f"{key}='true' is not valid"):
        read_parameter(base_class(name), key, "true")


@pytest.mark.parametrize(
    ("name", "texts", "expected"),
    [
        (
            "dbscan",
            {"eps": "0.2", "min_samples": "7", "algorithm": "kd_tree", "p": "none"},
            {"eps": 0.2, "p": None},
        ),
        (
            "kmeans",
            {"n_clusters": "3", "n_init": "auto", "copy_x": "false"},
            {"n_init": "auto", "copy_x": False},
        ),
        ("kmeans", {"n_init": "5", "tol": "1e-3"}, {"n_init": 5, "tol": 1e-3}),
        (
            "agglomerative",
            {"n_clusters": "none", "distance_threshold": "2"},
            {"distance_threshold": 2},
        ),
        (
            "kernel-kmeans",
            {"gamma": "0.5", "n_components": "100"},
            {"gamma": 0.5, "n_components": 100},
        ),
        ("hdbscan", {"max_cluster_size": "None"}, {"max_cluster_size": None}),
        (
            "optics",
            {"min_samples": "0.1", "min_cluster_size": "7"},
            {"min_samples": 0.1, "min_cluster_size": 7},
        ),
    ],
)
def test_text_becomes_what_the_parameter_takes(name, texts, expected):
    parameters = make_base_method(name, **texts).get_params()
    assert {key: parameters[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("name", "texts", "message"),
    [
        ("k-means", {}, "'k-means' is not the name of a base method: give one of .*kmeans"),
        (
            "dbscan",
            {"epsilon": "1"},
            "'epsilon' is not a parameter of dbscan: give some of eps, min_samples",
        ),
        (
            "dbscan",
            {"eps": "wide"},
            r"eps='wide' is not valid: give a float in the range \(0.0, inf\)[.]$",
        ),
        (
            "dbscan",
            {"eps": "-1"},
            r"eps='-1' is not valid: give a float in the range \(0.0, inf\)[.]$",
        ),
        (
            "dbscan",
            {"p": "-1"},
            r"p='-1' is not valid: give a float in the range \[0.0, inf\) or None[.]$",
        ),
        (
            "kmeans",
            {"n_init": "0"},
            "n_init='0' is not valid: give a str among {'auto'} or an int",
        ),
        (
            "sc-srgf",
            {"sampling_ratio": "2"},
            "sampling_ratio='2' is not valid: give a float in",
        ),
        (
            "dbscan",
            {"algorithm": "fast"},
            "algorithm='fast' is not valid: give a str among {.*'ball_tree'",
        ),
        ("dbscan", {"min_samples": "2.5"}, "min_samples='2.5' is not valid: give an int"),
    ],
)
def test_what_is_not_valid_is_named_with_what_is(name, texts, message):
    with pytest.raises(ValueError, match=message):
        make_base_method(name, **texts)


def test_a_method_by_name_is_the_method():
    assert isinstance(make_base_method("dbscan"), DBSCAN)
