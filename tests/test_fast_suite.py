"""What `make test` proves without the slow tests: public functions, storages, a fit on Dask, a report in a browser."""

import ast
import inspect
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import cohirf
from cohirf import clusterers, datasets, plotting, report, tuning

PUBLIC = {
    f"{module.__name__}.{name}"
    for module in (cohirf, clusterers, datasets, plotting, report, tuning)
    for name in module.__all__
    if inspect.isfunction(public := getattr(module, name)) or issubclass(public, BaseEstimator)
}


def is_slow(node):
    marks = (ast.unparse(mark) for mark in getattr(node, "decorator_list", []))
    return any(mark == "pytest.mark.slow" for mark in marks)


def words_of(node):
    """Return names, attributes and strings that are used below a node, those of imports and slow tests left out."""
    if is_slow(node):
        return set()
    own = {getattr(node, field, None) for field in ("id", "attr", "arg", "value")}
    return {word for word in own if isinstance(word, str)}.union(*map(words_of, ast.iter_child_nodes(node)))


@pytest.fixture(scope="module")
def words_by_file():
    return {
        path.name: words_of(ast.parse(path.read_text(encoding="utf-8")))
        for path in Path(__file__).parent.rglob("test_*.py")
    }


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_public_function_and_estimator_is_used_in_a_test_that_is_not_slow(name, words_by_file):
    assert any(name.rpartition(".")[2] in words for words in words_by_file.values())


@pytest.mark.parametrize("module", ["arrow", "array", "csv", "dask", "npy", "parquet", "zarr"])
def test_every_storage_has_tests_that_are_not_slow(module, words_by_file):
    assert "open_source" in words_by_file[f"test_{module}_source.py"]


def test_a_fit_on_dask_and_a_report_in_a_browser_are_not_slow(words_by_file):
    assert {"client", "assert_same"} <= words_by_file["test_dask_fits.py"]
    assert {"browser", "open_report"} <= words_by_file["test_report_browser.py"]
