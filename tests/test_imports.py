"""What importing a part of the package imports, in a process of its own."""

import json
import subprocess
import sys

import pytest

STEPS = """
import json, sys
import sklearn.cluster
loaded = {}
def note(step, before):
    loaded[step] = sorted({name for name in sys.modules if name not in before})
before = set(sys.modules)
import cohirf
cohirf.CoHiRF, cohirf.open_source
note("cohirf", before)
from cohirf.clusterers import TorchKMeans
note("cohirf.clusterers", before)
import cohirf.spanning.settings
note("cohirf.spanning.settings", before)
import cohirf.plotting
note("cohirf.plotting", before)
from cohirf.explain import write_report
note("cohirf.explain", before)
print(json.dumps(loaded))
"""


@pytest.fixture(scope="module")
def loaded():
    """The modules that are loaded after each step, beyond those that scikit-learn loads by itself."""
    done = subprocess.run([sys.executable, "-c", STEPS], capture_output=True, text=True, check=True)
    return {step: set(names) for step, names in json.loads(done.stdout).items()}


def test_the_package_loads_no_optional_part_and_nothing_of_the_command_line(loaded):
    optional = {"dask", "matplotlib", "pandas", "polars", "pyarrow", "typer", "cohirf.cli"}
    assert "cohirf.estimator" in loaded["cohirf"]
    assert not optional & loaded["cohirf"]


def test_the_package_loads_no_library_for_devices(loaded):
    assert "cohirf.data.on_device" in loaded["cohirf"]
    assert not {"torch", "cupy", "array_api_compat", "array_api_strict"} & loaded["cohirf"]


def test_classes_on_torch_are_there_without_it(loaded):
    assert "cohirf.clusterers.torch_k_means" in loaded["cohirf.clusterers"]
    assert not {"torch", "cupy"} & loaded["cohirf.clusterers"]


def test_settings_of_density_methods_load_neither_numba_nor_the_other_packages(loaded):
    assert "cohirf.spanning.settings" in loaded["cohirf.spanning.settings"]
    assert not {"numba", "hdbscan", "fast_hdbscan"} & loaded["cohirf.spanning.settings"]


def test_plots_load_no_drawing_library(loaded):
    assert "cohirf.plotting" in loaded["cohirf.plotting"]
    assert "matplotlib" not in loaded["cohirf.plotting"]


def test_reports_load_no_optional_package(loaded):
    assert "cohirf.explain.report" in loaded["cohirf.explain"]
    assert not {"jinja2", "PIL", "matplotlib"} & loaded["cohirf.explain"]
