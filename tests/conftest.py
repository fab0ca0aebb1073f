"""Settings and data shared by all tests."""

import os
from collections.abc import Generator

# scikit-learn's array API check runs only with this set before scipy is imported.
os.environ["SCIPY_ARRAY_API"] = "1"
# Tests run beside each other: threads of BLAS and OpenMP would wait for each other on the same cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from sklearn.datasets import make_blobs

# A first run of the tests does not depend on luck. The profile "all" looks for new examples, and for more of them.
settings.register_profile(
    "fast", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True, max_examples=25
)
settings.register_profile("all", settings.get_profile("fast"), derandomize=False, max_examples=100)
settings.load_profile("fast")


# What tests of a group share is made once: with "--dist loadgroup", one worker runs them all. numba compiles for nearly
# a minute; a cluster and a browser take seconds to start.
GROUPS = {
    "numba": ("test_grid_dbscan.py", "test_any_clusterer.py", "grid_dbscan.py", "clusterers.rst", "large_data.rst"),
    "dask": ("test_dask_fits.py", "scaling_out.rst"),
    "browser": ("test_report_browser.py",),
}


# Measuring coverage takes as long as these tests do, and they run code that other tests have run.
WITHOUT_COVERAGE = {
    "test_accepted_input.py",
    "test_any_clusterer.py",
    "test_clusterer_checks.py",
    "test_determinism.py",
    "test_estimator_checks.py",
    "test_examples.py",
    "test_experiments.py",
    "test_feature_screen.py",
    "test_fusion.py",
    "test_grid_dbscan.py",
    "test_properties.py",
    "test_reference.py",
}


@pytest.hookimpl(wrapper=True)  # what is before "yield" runs before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None]:
    """Mark the groups of tests that one worker runs, and the tests whose coverage is not measured."""
    group_of = {name: group for group, names in GROUPS.items() for name in names}
    for item in items:
        if item.path.name in WITHOUT_COVERAGE:
            item.add_marker(pytest.mark.no_cover)
        if item.path.name in group_of:
            item.add_marker(pytest.mark.xdist_group(group_of[item.path.name]))
    return (yield)


@pytest.fixture(scope="session")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    """Four separated clusters in ten dimensions."""
    return make_blobs(300, 10, centers=4, cluster_std=0.5, random_state=0)
