"""Estimators as JSON: what a parameter may be comes back, and nothing else is made of a file."""

import json

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, HDBSCAN, OPTICS, AgglomerativeClustering, KMeans
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from cohirf import CoHiRF
from cohirf.clusterers import GridDBSCAN, KernelKMeans
from cohirf.store.parameters import describe_value, restore

VALUES = [
    *(
        None,
        True,
        3,
        0.1,
        np.nan,
        -np.inf,
        "a",
        [1, (2, [])],
        {"a": (1,)},
        {"float": "nan"},
        {"absent": "x"},
        np.float64,
    ),
    *(
        KMeans(3),
        HDBSCAN(copy=True),
        OPTICS(max_eps=np.inf),
        GaussianMixture(2),
        GridDBSCAN(),
        KernelKMeans(),
    ),
    Pipeline([("scale", StandardScaler()), ("none", None), ("k", KMeans(2))]),
    FeatureUnion([("a", PCA(0.5)), ("b", "passthrough")], transformer_weights={"a": 2.0}),
    ColumnTransformer([("a", "passthrough", [0, 1]), ("b", OneHotEncoder(), [2])]),
    CoHiRF.as_published(CoHiRF.as_published(KMeans(3), views=2), views=2),
]


def there_and_back(value):
    return restore(json.loads(json.dumps(describe_value(value), allow_nan=False)))


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_every_kind_of_parameter_comes_back_with_its_type(value):
    found = there_and_back(value)
    assert type(found) is type(value)
    assert repr(found) == repr(value)
    if hasattr(value, "get_params"):
        assert repr(found.get_params()) == repr(value.get_params())


def test_numbers_of_numpy_come_back_as_numbers():
    values = [np.float32(0.5), np.bool_(True), np.str_("x"), np.int64(2**62), np.float64(np.inf)]
    assert there_and_back(values) == values
    assert [type(value) for value in there_and_back(values)] == [float, bool, str, int, float]


def test_generators_and_paths_that_a_fit_writes_to_come_back_as_none():
    inner = CoHiRF.as_published(KMeans(3, random_state=np.random.RandomState(0)), checkpoint="here")
    found = there_and_back(
        Pipeline([("scale", StandardScaler()), ("cluster", inner)], memory="there")
    )
    assert found.memory is found[1].checkpoint is found[1].estimator.random_state is None


class OwnClusterer(KMeans):
    """Not KMeans, whatever isinstance says."""


class KMeansOfAnotherPackage(KMeans):
    """It says that it is of scikit-learn."""


KMeansOfAnotherPackage.__module__ = "sklearn.cluster._kmeans"
KMeansOfAnotherPackage.__name__ = "KMeans"


def with_metadata_requests():
    base = KMeans(3)
    base._metadata_request = "what set_fit_request leaves there"
    return base


def in_a_circle():
    loop = DBSCAN(metric_params={})
    loop.metric_params["again"] = loop.metric_params
    return loop


UNKNOWN = {
    "own": OwnClusterer(),
    "false name": KMeansOfAnotherPackage(),
    "array": KMeans(3, init=np.eye(3)),
    "callable": AgglomerativeClustering(3, metric=sum, linkage="average"),
    "keys": DBSCAN(metric_params={1: 2}),
    "function": FunctionTransformer(np.log1p),
    "requests": with_metadata_requests(),
    "circle": in_a_circle(),
    "class": KMeans,
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_more_than_a_class_and_its_parameters_is_not_described(name):
    with pytest.raises((ValueError, RecursionError)):
        describe_value(UNKNOWN[name])


def named(name, **parameters):
    return {"estimator": {"name": name, "parameters": parameters}}


def deep(levels):
    inner = 0
    for _ in range(levels):
        inner = {"tuple": [inner]}
    return inner


HOSTILE = {
    "two keys": ({"a": 1, "b": 2}, "is not a parameter value"),
    "no key": ({}, "is not a parameter value"),
    "float": ({"float": "1e3"}, "is not a parameter value"),
    "float type": ({"float": 1.5}, "is not a parameter value"),
    "tuple": ({"tuple": 1}, "is not a parameter value"),
    "dict": ({"dict": 1}, "is not a parameter value"),
    "type": ({"type": "object_"}, "is not a parameter value"),
    "absent": ({"absent": "5"}, "is not a parameter value"),
    "number": ({"estimator": 1}, "is not a parameter value"),
    "deep": (deep(2000), "recursion"),
    "module": (named("os.system"), "'os.system' is not an estimator that a saved model may name"),
    "function": (named("sklearn.cluster.k_means"), "is not an estimator"),
    "submodule": (named("sklearn.cluster._kmeans.KMeans"), "is not an estimator"),
    "through a package": (named("sklearn.cluster.np.load"), "is not an estimator"),
    "imported name": (named("sklearn.pipeline.Bunch"), "is not an estimator"),
    "no package": (named("KMeans"), "is not an estimator"),
    "path": (named("../cluster.KMeans"), "is not an estimator"),
    "name type": (named([]), "is not an estimator"),
    "parameter": (
        named("sklearn.cluster.KMeans", x=1),
        "has no parameter 'x' in the installed version",
    ),
    "self": (named("sklearn.cluster.KMeans", self=1), "has no parameter 'self'"),
    "value": (named("sklearn.cluster.KMeans", n_clusters="8"), "'n_clusters' parameter"),
    "views": (
        named("cohirf.estimator.CoHiRF", views=10**18),
        "'views' parameter of CoHiRF must be an int in",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_parameters_are_refused(name):
    value, message = HOSTILE[name]
    with pytest.raises((ValueError, TypeError, RecursionError), match=message):
        restore(value)


def test_paths_that_a_file_names_are_passed_over():
    inner = named(
        "cohirf.estimator.CoHiRF", checkpoint="written", estimator=named("sklearn.cluster.KMeans")
    )
    steps = [{"tuple": ["cluster", inner]}]
    found = restore(named("sklearn.pipeline.Pipeline", steps=steps, memory="written"))
    assert found.memory is found[0].checkpoint is None
