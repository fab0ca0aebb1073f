"""The places that name the version and the requirements of a release agree."""

import datetime
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import cohirf

ROOT = Path(__file__).parents[1]


def found(pattern: str, file: str) -> list[str]:
    """Return what the group of a pattern matches in a file, line by line."""
    return re.findall(pattern, (ROOT / file).read_text(encoding="utf-8"), flags=re.MULTILINE)


def test_the_citation_and_the_recipe_name_the_version_of_the_package() -> None:
    assert found(r"^version: (\S+)$", "CITATION.cff") == [cohirf.__version__]
    assert found(r"^  version: (\d\S+)$", "conda/recipe.yaml") == [cohirf.__version__]


def test_the_changelog_dates_each_version_as_the_citation_does() -> None:
    headings = found(r"^## (.+)$", "CHANGELOG.md")
    dated = dict(heading.split(" - ") for heading in headings if heading != "Unreleased")
    assert dated[cohirf.__version__] == found(r"^date-released: (\S+)$", "CITATION.cff")[0]
    assert all(datetime.date.fromisoformat(date) for date in dated.values())


def test_the_recipe_requires_what_the_program_requires() -> None:
    recipe = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    run = recipe.partition("\n  run:\n")[2].partition("\ntests:\n")[0]
    required = re.findall(r"^    - ([\w-]+) (>=[\d.]+)$", run, flags=re.MULTILINE)
    assert {name + bound for name, bound in required} == requirements("cli")


def requirements(extra: str) -> set[str]:
    """Return what the package requires with an extra, extras of extras included."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras, waiting, needed = project["optional-dependencies"], [extra], set(project["dependencies"])
    while waiting:
        for requirement in extras[waiting.pop()]:
            nested = re.fullmatch(r"cohirf\[(.+)\]", requirement)
            if nested:
                waiting += nested[1].split(",")
            else:
                needed.add(requirement)
    return needed


def test_the_workflows_pin_every_action_to_a_commit() -> None:
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        used = found(r"uses: (\S+)", str(path.relative_to(ROOT)))
        assert [each for each in used if not re.fullmatch(r"\./.+|.+@[0-9a-f]{40}", each)] == []


@pytest.mark.slow
def test_tests_and_doctests_are_collected_where_a_copy_of_the_package_is_installed(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src" / "cohirf", tmp_path / "cohirf")
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    files = ["tests/test_finite.py", "src/cohirf/validation.py"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    run = subprocess.run([*command, *files], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout
    assert "src/cohirf/validation.py::" in run.stdout
