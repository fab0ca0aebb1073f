"""What `make test` proves without the slow tests: public functions, storages, a fit on Dask, a report in a browser."""

import ast
import inspect
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import cohirf
from cohirf import clusterers, datasets, plotting, preparation, report, tuning

TESTS = Path(__file__).parent
PUBLIC = {
    f"{module.__name__}.{name}": public
    for module in (cohirf, clusterers, datasets, plotting, preparation, report, tuning)
    for name in module.__all__
    if inspect.isfunction(public := getattr(module, name)) or issubclass(public, BaseEstimator)
}
WORDS = {name.rpartition(".")[2] for name in PUBLIC}


@cache
def parse(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def fast_nodes(node):
    """Yield a node and all nodes below it, except slow tests."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if "pytest.mark.slow" not in map(ast.unparse, getattr(node, "decorator_list", [])):
            yield node
            waiting.extend(ast.iter_child_nodes(node))


def imported_names(tree):
    """Return the full name behind each name that a file imports from the package."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "cohirf":
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        if isinstance(node, ast.Import):
            imported = [alias for alias in node.names if alias.name.split(".")[0] == "cohirf"]
            names |= {alias.asname or "cohirf": alias.name if alias.asname else "cohirf" for alias in imported}
    return names


def full_name(node, names):
    """Return the full name that an expression such as ``plotting.plot_map`` has; None if it is not the package's."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute) and (owner := full_name(node.value, names)) is not None:
        return f"{owner}.{node.attr}"
    return None


@cache
def resolve(name):
    """Return the object with a full name; None for an attribute of something that is not a module."""
    module, _, word = name.rpartition(".")
    try:
        return getattr(import_module(module), word)
    except (AttributeError, ImportError):
        return None


def used_objects(path):
    """Return the identities of the public objects that a file uses outside of slow tests."""
    names = imported_names(parse(path))
    used = {full_name(node, names) for node in fast_nodes(parse(path))} - {None}
    return {id(resolve(name)) for name in used if name.rpartition(".")[2] in WORDS}


@pytest.fixture(scope="module")
def used():
    return set().union(*map(used_objects, TESTS.rglob("test_*.py")))


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_public_function_and_estimator_is_used_in_a_test_that_is_not_slow(name, used):
    assert id(PUBLIC[name]) in used


def fast_tests(file):
    """Return, for each test that is not slow, the names of what it calls and of the fixtures that it needs."""
    functions = [node for node in fast_nodes(parse(TESTS / file)) if isinstance(node, ast.FunctionDef)]
    arguments = {node.name: {argument.arg for argument in node.args.args} for node in functions}

    def needed(name):
        return arguments.get(name, set()).union(*map(needed, arguments.get(name, set()) - {name}))

    return [
        needed(node.name) | {ast.unparse(call.func) for call in ast.walk(node) if isinstance(call, ast.Call)}
        for node in functions
        if node.name.startswith("test_")
    ]


@pytest.mark.parametrize(
    ("file", "words"),
    [("test_dask_fits.py", {"client", "assert_same"}), ("explain/test_report_browser.py", {"browser", "open_report"})],
)
def test_a_fit_on_dask_and_a_report_in_a_browser_are_not_slow(file, words):
    assert any(words <= of_test for of_test in fast_tests(file))


@pytest.mark.parametrize("package", ["fast_hdbscan", "umap"])
def test_packages_that_compile_for_half_a_minute_are_not_imported_to_collect_tests(package):
    importing = {
        path.name
        for path in TESTS.rglob("*.py")
        for node in ast.walk(parse(path))
        if (isinstance(node, ast.Import) and any(alias.name.split(".")[0] == package for alias in node.names))
        or (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == package)
    }
    assert not importing
