"""Settings and data shared by all tests."""

import gc
import math
import os
import pkgutil
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module

# scikit-learn's array API check runs only with this set before scipy is imported.
os.environ["SCIPY_ARRAY_API"] = "1"
# Tests run beside each other: threads of BLAS and OpenMP would wait for each other on the same
# cores. A test of limits must raise them first, those of OpenMP in the thread that it looks at.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Each process that a test starts would compile the whole package again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# What is imported and collected stays: to look for garbage in it takes a fifth of the time until
# the first test.
gc.disable()

# A first run of the tests does not depend on luck. The profile "all" looks for new examples, and
# for more of them.
settings.register_profile(
    "fast",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
    max_examples=10,
)
settings.register_profile("all", settings.get_profile("fast"), derandomize=False, max_examples=100)
settings.load_profile("fast")


# Tests write thousands of small files. No test switches off the power, so none has to wait for the
# disk; and a file that has never reached it is removed a hundred times faster. Tests of what is
# synced watch the calls of os.fsync.
os.fsync = os.fstat  # fails for a descriptor that is not open, as os.fsync does

# Workers of pytest-xdist take one file after the other ("--dist loadfile"), so that what the tests
# of a file share is made once. Files that take more than five seconds come first; short ones fill
# the workers evenly at the end. The first two compile kernels with numba for half a minute, and
# leave them in a cache for the others: workers of Dask would compile them once more each.
LONG_FILES = (
    "test_grid_dbscan.py",
    "test_label_runs.py",
    "test_dask_fits.py",
    "test_on_device.py",
    "test_cli_fit.py",
    "test_estimator_checks.py",
    "test_static.py",
    "test_local.py",
    "test_reference_batched.py",
    "test_partial_fit.py",
    "test_local_fits.py",
    "test_answers.py",
    "test_sources.py",
    "test_tune.py",
    "test_determinism.py",
    "test_local_hdbscan.py",
    "test_cli_screen.py",
    "test_new_criterion.py",
    "test_screening.py",
    "test_sc_srgf.py",
    "test_choice.py",
    "test_report_browser.py",
    "test_predict_agrees.py",
)
RANKS = {name: rank for rank, name in enumerate(LONG_FILES)}

# Measuring coverage takes half as long as the tests themselves. It is measured in the first case of
# a test alone, and not in slow tests, in pages of the documentation and in these files, which run
# code that other tests have run.
WITHOUT_COVERAGE = {
    "test_accepted_input.py",
    "test_answers.py",
    "test_arrivals.py",
    "test_checkpoint.py",
    "test_choice.py",
    "test_cli_fit.py",
    "test_cli_messy_files.py",
    "test_cli_preparation.py",
    "test_cli_screen.py",
    "test_cli_stop.py",
    "test_determinism.py",
    "test_estimator.py",
    "test_estimator_checks.py",
    "test_faults.py",
    "test_label_runs.py",
    "test_local_fits.py",
    "test_other_systems.py",
    "test_out_of_core.py",
    "test_outliers.py",
    "test_predict_agrees.py",
    "test_properties.py",
    "test_reference_batched.py",
    "test_report.py",
    "test_sc_srgf.py",
    "test_screening.py",
    "test_sources.py",
    "test_steady_updates.py",
    "test_tune.py",
}


MEASURED = pytest.StashKey[bool]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put files that take long first, and decide where coverage is measured."""
    items.sort(key=lambda item: RANKS.get(item.path.name, len(RANKS)))
    tests = set()
    for item in items:
        test = item.nodeid.partition("[")[0]
        item.stash[MEASURED] = test not in tests and _adds_coverage(item)
        tests.add(test)


def _adds_coverage(item: pytest.Item) -> bool:
    is_page = item.path.suffix == ".rst"
    return (
        not is_page
        and item.path.name not in WITHOUT_COVERAGE
        and item.get_closest_marker("slow") is None
    )


@contextmanager
def untraced() -> Generator[None, None, None]:
    """Stop tracing, as the marker ``no_cover`` of pytest-cov does not in workers of
    pytest-xdist.
    """
    traces = sys.gettrace(), threading.gettrace()
    sys.settrace(None)
    threading.settrace(None)
    try:
        yield
    finally:
        sys.settrace(traces[0])
        threading.settrace(traces[1])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Measure coverage of what the package runs when it is imported, and not of collecting the
    tests.
    """
    if sys.gettrace() is not None:
        import cohirf

        for module in pkgutil.walk_packages(cohirf.__path__, "cohirf."):
            with suppress(ImportError):  # of torch
                import_module(module.name)
    with untraced():
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Stop tracing in tests whose coverage is not measured, and in their fixtures."""
    with nullcontext() if item.stash[MEASURED] else untraced():
        return (yield)


def pytest_collection_finish() -> None:
    """Prepare a process that runs tests.

    One that hands them to workers does not come here, and imports little.
    """
    _make_collections_of_garbage_rare()
    _make_questions_of_scikit_learn_fast()


def _make_collections_of_garbage_rare() -> None:
    """Take what is imported and collected out of garbage collection, each of which takes half a
    second otherwise.

    Later collections are rarer than by default (700, 10, 10): fits make many objects, and few of
    them are garbage.
    """
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 20, 20)


def _make_questions_of_scikit_learn_fast() -> None:
    from sklearn.base import BaseEstimator

    # Each copy of an estimator looks at the signature of its class, which stays the same: a
    # twentieth of all the time.
    BaseEstimator._get_param_names = classmethod(cache(BaseEstimator._get_param_names.__func__))

    # It asks narwhals of each array whether it is a table, which it is not: a fortieth of all the
    # time.
    with suppress(ImportError):  # before version 1.9, it asks in other ways
        from narwhals.stable.v2 import dependencies as tables

        for name in ("is_into_dataframe", "is_into_series"):
            ask = getattr(tables, name)
            setattr(tables, name, lambda data, ask=ask: type(data) is not np.ndarray and ask(data))


# These files are about the number of clusters that is chosen, or about pages that print it.
WITH_ALL_SPLITS = {"test_answers.py", "test_choice.py", "test_pages.py"}


@pytest.fixture(scope="module", autouse=True)
def splits(request: pytest.FixtureRequest) -> Generator[None, None, None]:
    """Choose numbers of clusters by one split instead of two, which take half the time of a fit of
    few rows.
    """
    from cohirf.beyond.policy import NumberPolicy

    with pytest.MonkeyPatch.context() as patch:
        if request.path.name not in WITH_ALL_SPLITS:
            patch.setattr("cohirf.choice.NUMBER", NumberPolicy(splits=1))
        yield


@dataclass(frozen=True)
class Outcome:
    """What a run of the program left: its exit code and what it printed."""

    code: int
    out: str
    err: str


@pytest.fixture
def cohirf(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Outcome]:
    """Return a function that runs the program in this process.

    A slow run prints no more lines than a fast one, and the number of clusters is chosen among a
    few.
    """
    from cohirf import progress
    from cohirf.app.cli import main
    from cohirf.beyond.policy import NumberPolicy

    monkeypatch.setitem(vars(progress.POLICY), "log_seconds", math.inf)
    monkeypatch.setattr("cohirf.choice.NUMBER", NumberPolicy(first_numbers=8, splits=1))

    def run(*arguments: object) -> Outcome:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return Outcome(code, *capsys.readouterr())

    return run


@pytest.fixture(scope="session")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    """Four separated clusters in ten dimensions."""
    from sklearn.datasets import make_blobs

    return make_blobs(300, 10, centers=4, cluster_std=0.5, random_state=0)
