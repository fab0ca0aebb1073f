"""Settings and data shared by all tests."""

import gc
import os
import sys
import threading
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
    "fast", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True, max_examples=10
)
settings.register_profile("all", settings.get_profile("fast"), derandomize=False, max_examples=100)
settings.load_profile("fast")


# Tests write thousands of small files. No test switches off the power, so none has to wait for the disk; and a file
# that has never reached it is removed a hundred times faster. Tests of what is synced watch the calls of os.fsync.
os.fsync = os.fstat  # fails for a descriptor that is not open, as os.fsync does


# Workers of pytest-xdist take one file after the other ("--dist loadfile"), so that what the tests of a file share is
# made once. Files that take long come first; short ones fill the workers evenly at the end. The first two compile
# kernels with numba for half a minute each, and leave them in a cache for the others: workers of Dask would compile
# them once more each.
LONG_FILES = (
    "test_grid_dbscan.py",
    "test_label_runs.py",
    "test_estimator_checks.py",
    "test_dask_fits.py",
    "test_partial_fit.py",
    "test_cli_fit.py",
    "test_sources.py",
    "test_reference_batched.py",
    "test_local_fits.py",
    "test_cli_tune.py",
    "test_on_device.py",
    "test_tune.py",
    "test_answers.py",
    "test_dask_updates.py",
    "test_sc_srgf.py",
    "test_predict_agrees.py",
    "test_cli_screen.py",
    "test_forget.py",
    "test_merge.py",
    "test_determinism.py",
    "test_static.py",
    "test_cli_messy_files.py",
    "test_local.py",
    "test_cli_models.py",
    "test_probe.py",
    "test_saved_models.py",
    "test_faults.py",
    "test_checkpoint.py",
    "test_properties.py",
    "test_cli_script.py",
    "test_accepted_input.py",
    "test_perturbation.py",
    "test_choice.py",
    "test_cli_preparation.py",
    "test_screening.py",
    "test_any_clusterer.py",
    "test_cli_updates.py",
    "test_states.py",
    "test_cli_stop.py",
    "test_local_hdbscan.py",
    "test_csv_source.py",
    "test_batch_plan.py",
    "test_experiments.py",
    "test_fast_suite.py",
    "test_outliers.py",
    "test_choose_medoids.py",
    "test_arrivals.py",
    "test_other_systems.py",
    "test_diagnose.py",
    "test_saved_updates.py",
    "test_imports.py",
    "test_out_of_core.py",
    "test_steady_updates.py",
    "test_report.py",
    "test_metric.py",
    "test_page.py",
    "test_estimator.py",
    "test_settings.py",
    "test_clusterers.py",
)
RANKS = {name: rank for rank, name in enumerate(LONG_FILES)}

# Measuring coverage takes nearly as long as the tests themselves. It is not measured in slow tests, in pages of the
# documentation and in these files, which run code that other tests have run.
WITHOUT_COVERAGE = {
    "test_accepted_input.py",
    "test_answers.py",
    "test_any_clusterer.py",
    "test_arrivals.py",
    "test_batch_edges.py",
    "test_benchmarks.py",
    "test_checkpoint.py",
    "test_choice.py",
    "test_choose_merge.py",
    "test_cli_fit.py",
    "test_cli_messy_files.py",
    "test_cli_preparation.py",
    "test_cli_screen.py",
    "test_cli_script.py",
    "test_cli_stop.py",
    "test_consensus.py",
    "test_dask_updates.py",
    "test_density_model.py",
    "test_determinism.py",
    "test_estimator.py",
    "test_estimator_checks.py",
    "test_every_hierarchy.py",
    "test_experiments.py",
    "test_faults.py",
    "test_forget.py",
    "test_grid_dbscan.py",
    "test_label_runs.py",
    "test_levels.py",
    "test_local_fits.py",
    "test_majority.py",
    "test_medoid_weights_without_sample_weight.py",
    "test_merge.py",
    "test_nearest_label.py",
    "test_neighbour_lists.py",
    "test_optional.py",
    "test_other_systems.py",
    "test_out_of_core.py",
    "test_outliers.py",
    "test_pages.py",
    "test_partial_fit.py",
    "test_peers.py",
    "test_perturbation.py",
    "test_predict_agrees.py",
    "test_probe.py",
    "test_properties.py",
    "test_reference.py",
    "test_reference_batched.py",
    "test_report.py",
    "test_saved_updates.py",
    "test_sc_srgf.py",
    "test_screening.py",
    "test_script.py",
    "test_settings.py",
    "test_sources.py",
    "test_steady_updates.py",
    "test_tune.py",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put files that take long first."""
    items.sort(key=lambda item: RANKS.get(item.path.name, len(RANKS)))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Stop tracing in tests whose coverage is not measured, and in their fixtures.

    The marker ``no_cover`` of pytest-cov does not: in workers of pytest-xdist it leaves a second tracer on.
    """
    traces = sys.gettrace(), threading.gettrace()
    if item.path.name in WITHOUT_COVERAGE or item.path.suffix == ".rst" or item.get_closest_marker("slow"):
        sys.settrace(None)
        threading.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(traces[0])
        threading.settrace(traces[1])


def pytest_collection_finish() -> None:
    """Take what is imported and collected out of garbage collection, each of which takes half a second otherwise.

    Later collections are rarer than by default (700, 10, 10): fits make many objects, and few of them are garbage.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    """Four separated clusters in ten dimensions."""
    return make_blobs(300, 10, centers=4, cluster_std=0.5, random_state=0)
