"""Descriptions of fits: the same in every process for the same fit, another one for another fit."""

import hashlib
import re
import sys
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cohirf
from cohirf import CoHiRF
from cohirf.fit_identity import describe, describe_fit


class Plain:
    """Not an estimator of scikit-learn, and without a text of its own."""

    def __init__(self, eps):
        self.eps = eps


class Slotted:
    __slots__ = ("eps",)


def scaled(factor):
    return lambda X: factor * X


def power(X, *, degree=2):
    return X**degree


LONG = np.arange(5_000.0)
CHANGED = LONG.copy()
CHANGED[2_500] += 1
VALUES = {
    "numbers": (1, 2, 1.0, True, None, "1", 1.5, float("nan")),
    "arrays": (
        LONG,
        CHANGED,
        LONG.astype(np.float32),
        LONG[:, None],
        LONG[:0],
        np.array("text"),
        np.array(1.0),
    ),
    "arrays of objects": (np.array([1, "a"], object), np.array([1, "b"], object)),
    "CSR": (
        sparse.csr_array(np.eye(3)),
        sparse.csr_array(2 * np.eye(3)),
        sparse.csr_array(np.eye(4)),
    ),
    "lists": ([LONG], [CHANGED], [], (LONG,), [LONG, LONG]),
    "dicts": ({"a": LONG}, {"a": CHANGED}, {"b": LONG}, {}),
    "sets": ({"a", "b"}, {"a", "c"}, frozenset({"a", "b"})),
    "functions": (
        power,
        scaled(2),
        scaled(3),
        lambda X: X,
        lambda X: -X,
        lambda X, y=1: X,
        lambda X, y=2: X,
        np.sum,
    ),
    "partial functions": (partial(power, degree=2), partial(power, degree=3), partial(scaled, 2)),
    "methods": (Plain(1).__init__, Plain(2).__init__),
    "objects": (Plain(1), Plain(2), Plain(LONG), Plain(CHANGED), Slotted(), object()),
    "estimators": (KMeans(), StandardScaler(), make_pipeline(KMeans())),
}


@pytest.mark.parametrize("name", VALUES)
def test_other_values_have_other_descriptions(name):
    texts = [describe(value) for value in VALUES[name]]
    assert len(set(texts)) == len(texts)
    assert not any(" at 0x" in text for text in texts)


def test_equal_numbers_of_numpy_and_python_are_the_same():
    assert describe(np.int64(3)) == describe(np.uint8(3)) == describe(3) == "3"
    assert describe(np.float64(0.1)) == describe(0.1) == "0.1"
    assert describe(np.True_) == "True"


def test_nothing_in_a_description_depends_on_the_process():
    digest = hashlib.sha256(np.arange(3.0).tobytes()).hexdigest()[:32]
    assert describe(np.arange(3.0)) == f"array float64 (3,) {digest}"
    assert describe({"one", "two", "three", "four"}) == "set('four', 'one', 'three', 'two')"
    assert describe({"a": [1, (None, 0.5)]}) == "dict('a': list(1, tuple(None, 0.5)))"
    assert describe(KMeans(3)) == "sklearn.cluster._kmeans.KMeans"
    assert describe(Plain(3)) == f"{__name__}.Plain(dict('eps': 3))"
    assert describe(np.random.RandomState(0)) == "RandomState(MT19937)"
    assert describe(len) == "<built-in function len>"
    name, code, given = describe(power).split(maxsplit=2)
    assert (name, given) == (f"{__name__}.power", "tuple(None, dict('degree': 2), list())")
    assert re.fullmatch("[0-9a-f]{16}", code)


def test_what_refers_to_itself_has_a_description():
    loop = []
    loop.append(loop)

    def recursive(X):
        return recursive(X)

    assert describe(loop) == "builtins.list"
    assert describe(recursive) == "builtins.function"


def test_a_function_that_refers_to_what_is_gone_has_a_description():
    def function():
        return gone

    assert describe(function) == "builtins.function"
    gone = 1
    assert describe(function).endswith("list(1))")


def test_a_fit_is_described_by_versions_facts_and_parameters():
    model = CoHiRF.as_published(make_pipeline(StandardScaler(), KMeans(3)), views=2)
    found = describe_fit(model._parameters, rows=10)
    assert list(found)[:5] == ["cohirf", "numpy", "scipy", "scikit-learn", "rows"]
    assert found["rows"] == "10"
    assert found["views"] == "2"
    assert found["estimator__kmeans__n_clusters"] == "3"
    assert found["estimator"] == "sklearn.pipeline.Pipeline"
    assert "n_jobs" not in found


def test_the_version_of_the_package_of_a_base_method_counts(monkeypatch):
    other = type("Other", (KMeans,), {"__module__": "other.clusterers"})
    monkeypatch.setitem(sys.modules, "other", SimpleNamespace(__version__="1.2"))
    assert describe_fit(CoHiRF.as_published(other())._parameters)["other"] == "1.2"
    monkeypatch.setitem(sys.modules, "other", SimpleNamespace())
    assert "other" not in describe_fit(CoHiRF.as_published(other())._parameters)


def test_the_version_of_this_package_is_that_of_its_source():
    assert describe_fit(CoHiRF.as_published()._parameters)["cohirf"] == cohirf.__version__


def test_parameters_below_the_estimator_are_all_that_it_has():
    model = CoHiRF.as_published(make_pipeline(StandardScaler(), KMeans(3)), views=2, n_jobs=2)
    assert model._parameters.nested() == model.get_params()
    assert list(model._parameters.nested()) == list(model.get_params())
