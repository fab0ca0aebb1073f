"""Imports: what does the work is imported when it is used, and what is missing is named."""

import ast
import pickle
import subprocess
import sys
import tomllib
from pathlib import Path
from unittest.mock import Mock

import pytest

import cohirf
from cohirf import clusterers
from cohirf.optional import import_optional, is_installed

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
HEAVY = ("numpy", "scipy", "sklearn", "pandas", "pyarrow")


def test_a_missing_package_is_named_with_what_needs_it_and_both_ways_to_install_it():
    with pytest.raises(ImportError) as caught:
        import_optional("no_such_package.part", "fast", "GridDBSCAN")
    assert str(caught.value) == (
        'GridDBSCAN needs no_such_package: install it with pip install "cohirf[fast]", or in a '
        "checkout of cohirf with "
        'pip install ".[fast]".'
    )


def test_a_package_that_lacks_something_itself_says_so(tmp_path, monkeypatch):
    (tmp_path / "half_installed.py").write_text("import no_such_package", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_package'"):
        import_optional("half_installed", "fast", "GridDBSCAN")


def test_what_is_installed_is_returned():
    assert import_optional("json", "fast", "A test") is sys.modules["json"]
    assert is_installed("json")
    assert not is_installed("no_such_package")


def run(code):
    command = [
        sys.executable,
        "-c",
        f"import sys; {code}; print([m for m in {HEAVY} if m in sys.modules])",
    ]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.parametrize(
    "code",
    [
        "import cohirf, cohirf.clusterers",
        "from cohirf.app.cli import main; main(['--help'])",
        "from cohirf.app.cli import main; main(['fit', '--help'])",
        "from cohirf.app.cli import main; main(['--version'])",
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
    content = pickle.dumps(cohirf.CoHiRF.as_published(views=3))
    assert b"cohirf.estimator" in content
    assert pickle.loads(content).views == 3


def test_the_program_without_its_packages_says_in_one_line_what_to_install():
    code = (
        "import sys; sys.modules['typer'] = None; from cohirf.app.cli import main; "
        "sys.exit(main(['--help']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(
        'cohirf: The program cohirf needs typer: install it with pip install "cohirf[cli]"'
    )
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("method", ["summary", "explain"])
def test_a_method_that_lacks_pandas_names_itself(method, monkeypatch):
    model = cohirf.CoHiRF(n_clusters=2).fit([[0.0], [0.1], [5.0], [5.1]])
    missing = ModuleNotFoundError("No module named 'pandas'", name="pandas")
    monkeypatch.setattr("cohirf.optional.import_module", Mock(side_effect=missing))
    arguments = [0] if method == "explain" else []
    with pytest.raises(
        ImportError, match=rf'{method} needs pandas: install it with pip install "cohirf\[frame\]"'
    ):
        getattr(model, method)(*arguments)


def extras_by_file():
    """Yield the file and the extra of each call of import_optional."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "import_optional":
                yield path.name, ast.literal_eval(node.args[1])


def test_errors_name_extras_that_there_are():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    named = list(extras_by_file())
    assert len(named) > 40
    assert [one for one in named if one[1] not in extras] == []
