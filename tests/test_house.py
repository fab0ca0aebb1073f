"""Figures of the package count what they say."""

import ast

import pytest
from tools import house


def module(text, name="cohirf.some.module"):
    return house.Module(name, text, ast.parse(text))


def figures(measured):
    return {figure.name: figure.value for figure in measured}


def test_constants_are_names_that_modules_assign():
    text = "__all__ = []\nLIMIT = 3\nkind: int = 4\na, B = 1, 2\ndef f():\n    INSIDE = 5\n"
    assert house.assigned_names(module(text)) == ["LIMIT", "kind", "a", "B"]


def test_density_is_per_1000_lines():
    text = "a = 1 if True else 2\nb, c = 1, 2\nd, e = (1, 2)[::-1]\n" + "#" * 101 + "\n"
    found = figures(house.measure_density([module(text)]))
    assert found["conditional expressions per 1,000 lines"] == 250
    assert found["packed assignments (a, b = x, y) per 1,000 lines"] == 250
    assert found["lines above 100 characters, %"] == 25


def test_tests_for_containers_are_counted_in_backends_and_outside():
    text = (
        "from x import is_dask, is_here\nif sparse.issparse(X) or is_dask(X):\n"
        "    all(map(is_here, X))\nis_torch = 1\n"
    )
    found = figures(
        house.measure_ties(
            [module(text, "cohirf.data.some"), module(text), module("def f(model: Any): ...")]
        )
    )
    assert found["tests for a container in backends"] == 3
    assert found["tests for a container outside"] == 3
    assert found["parameters annotated Any, %"] == 100


def test_kinds_of_rows_are_counted_by_the_names_of_classes():
    text = "class Rows: ...\nclass ActiveRows: ...\nclass RowMap: ...\nclass LooseRow: ..."
    found = figures(house.measure_ties([module(text), module("def f(X: int): ...")]))
    assert found["kinds of rows: classes named so, Rows itself left out"] == 2


def test_parameters_that_hold_the_model_are_counted_below_the_estimator():
    modules = [module("def f(model): ...", f"cohirf.{name}") for name in ("estimator", "updating")]
    found = figures(house.measure_ties([*modules, module("def f(X: Any, models: Any): ...")]))
    assert found["parameters model below the estimator"] == 1


@pytest.mark.parametrize(
    ("text", "count"),
    [("vars(model)", 1), ("updated.__dict__ = {}", 1), ("vars(self)", 0), ("module.__dict__", 0)],
)
def test_the_dictionary_of_the_estimator_is_found_by_the_name_of_its_variable(text, count):
    assert house.count_vars(module(text)) == count


def test_a_run_has_its_calls_even_through_other_packages():
    from cohirf import CoHiRF

    rows = [[0.0], [0.1], [5.0], [5.1]]
    calls = house.calls_of(lambda: CoHiRF(n_clusters=2, random_state=0).fit(rows))
    called = {function.co_name for _, function in calls}
    assert "fit" in called
    assert all(house.room_of(function).startswith("cohirf") for _, function in calls)


def test_floors_are_the_layers_of_imports():
    from cohirf import CoHiRF, FusionHierarchy

    estimator = CoHiRF.predict.__code__
    assert house.room_of(estimator) == "cohirf.estimator"
    assert house.floor_of(estimator) > house.floor_of(FusionHierarchy.cut.__code__)
    assert house._climbs((FusionHierarchy.cut.__code__, estimator))
    assert not house._climbs((estimator, FusionHierarchy.cut.__code__))
