"""The package and the help of the program are light: what does the work is imported when it is used."""

import pickle
import subprocess
import sys

import pytest

import cohirf
from cohirf import clusterers

HEAVY = ("numpy", "scipy", "sklearn", "pandas", "pyarrow")


def run(code):
    command = [sys.executable, "-c", f"import sys; {code}; print([m for m in {HEAVY} if m in sys.modules])"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.parametrize(
    "code",
    [
        "import cohirf, cohirf.clusterers",
        "from cohirf.cli import main; main(['--help'])",
        "from cohirf.cli import main; main(['fit', '--help'])",
        "from cohirf.cli import main; main(['--version'])",
    ],
)
def test_nothing_heavy_is_imported(code):
    assert run(code)[-1] == "[]"


@pytest.mark.parametrize("package", [cohirf, clusterers])
def test_public_names_are_there_and_listed(package):
    assert set(package.__all__) <= set(dir(package))
    for name in package.__all__:
        assert getattr(package, name) is getattr(package, name)
        assert getattr(package, name).__module__.startswith("cohirf.")


def test_other_names_are_not_there():
    with pytest.raises(AttributeError, match="module 'cohirf' has no attribute 'KMeans'"):
        _ = cohirf.KMeans
    with pytest.raises(ImportError, match="cannot import name 'KMeans'"):
        from cohirf import KMeans  # noqa: F401


def test_models_are_pickled_by_the_place_of_their_class():
    content = pickle.dumps(cohirf.CoHiRF.as_published(n_views=3))
    assert b"cohirf.estimator" in content
    assert pickle.loads(content).n_views == 3
