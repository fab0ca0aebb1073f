"""What importing a part of the package imports, where from, and what type checkers know of it."""

import ast
import compileall
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cohirf
from cohirf import clusterers
from cohirf.app import explain

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"

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
import cohirf.app.plotting
note("cohirf.app.plotting", before)
from cohirf.app.explain import write_report
note("cohirf.app.explain", before)
print(json.dumps(loaded))
"""


@pytest.fixture(scope="module")
def loaded():
    """The modules that are loaded after each step, beyond those that scikit-learn loads by
    itself.
    """
    done = subprocess.run([sys.executable, "-c", STEPS], capture_output=True, text=True, check=True)
    return {step: set(names) for step, names in json.loads(done.stdout).items()}


def test_the_package_loads_no_optional_part_and_nothing_of_the_command_line(loaded):
    optional = {"dask", "matplotlib", "pandas", "polars", "pyarrow", "typer", "cohirf.app.cli"}
    assert "cohirf.estimator" in loaded["cohirf"]
    assert not optional & loaded["cohirf"]
    assert not [name for name in loaded["cohirf"] if name.startswith("cohirf.app")]


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
    assert "cohirf.app.plotting" in loaded["cohirf.app.plotting"]
    assert "matplotlib" not in loaded["cohirf.app.plotting"]


def test_reports_load_no_optional_package(loaded):
    assert "cohirf.app.explain.report" in loaded["cohirf.app.explain"]
    assert not {"jinja2", "PIL", "matplotlib"} & loaded["cohirf.app.explain"]


def type_checked_names(package):
    """Return the module of each name that a package imports for type checkers."""
    tree = ast.parse(inspect.getsource(package))
    nodes = [node for one in tree.body if isinstance(one, ast.If) for node in one.body]
    return {name.name: node.module for node in nodes for name in node.names}


@pytest.mark.parametrize("package", [cohirf, clusterers, explain])
def test_type_checkers_find_names_where_programs_find_them(package):
    assert type_checked_names(package) == package._PLACES
    assert sorted(package._PLACES) == sorted(package.__all__)


IN_ZIP = """
import cohirf
import numpy as np
from cohirf.clusterers import KernelKMeans
from cohirf.app.explain import write_report
assert ".zip" in cohirf.__file__
X = np.r_[np.zeros((20, 2)), np.ones((20, 2))]
model = cohirf.CoHiRF(KernelKMeans(2), random_state=0).fit(X)
model.save("model")
assert (cohirf.load("model").labels_ == model.labels_).all()
write_report(model, X, "report.html")
"""


def test_no_file_of_the_package_is_found_by_its_path():
    # in a zip file, it has none
    texts = {path: path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    assert not [path for path, text in texts.items() if "__file__" in text]


@pytest.mark.slow
def test_the_package_runs_from_a_zip_file_without_its_source(tmp_path):
    compiled = tmp_path / "compiled"
    shutil.copytree(
        SOURCE / "cohirf", compiled / "cohirf", ignore=shutil.ignore_patterns("__pycache__")
    )
    # files beside the source, where a zip file has them
    compileall.compile_dir(compiled, quiet=1, legacy=True)
    for path in compiled.rglob("*.py"):
        path.unlink()
    archive = shutil.make_archive(str(tmp_path / "package"), "zip", compiled)
    environment = os.environ | {"PYTHONPATH": archive}
    subprocess.run([sys.executable, "-c", IN_ZIP], cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "report.html").stat().st_size > 0


USER = """
from cohirf import CoHiRF, load

model = CoHiRF(n_clusters=2).fit([[0.0], [1.0]])
reveal_type(model)
reveal_type(model.labels_)
reveal_type(model.hierarchy_)
reveal_type(load("model"))
"""


def test_type_checkers_are_told_that_the_package_has_types():
    assert (SOURCE / "cohirf" / "py.typed").is_file()
    assert inspect.signature(cohirf.load).return_annotation == "CoHiRF"


@pytest.mark.slow
def test_a_type_checker_knows_what_users_get(tmp_path):
    api = pytest.importorskip("mypy.api", reason="mypy checks the types that users see")
    (tmp_path / "user.py").write_text(USER, encoding="utf-8")
    report, errors, code = api.run(
        ["--strict", f"--config-file={ROOT / 'pyproject.toml'}", str(tmp_path / "user.py")]
    )
    assert (code, errors) == (0, ""), report
    revealed = re.findall(r'Revealed type is "(.+)"', report)
    assert [re.sub(r"\w+\.", "", one).partition("[")[0] for one in revealed] == [
        "CoHiRF",
        "ndarray",
        "FusionHierarchy",
        "CoHiRF",
    ]
