"""Releases: places that name a version agree, and the lines of recipe, workflows and RELEASING
run.
"""

import csv
import datetime
import importlib
import os
import re
import shutil
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import cohirf
from systems import linux_only

ROOT = Path(__file__).parents[1]


def found(pattern: str, file: str) -> list[str]:
    """Return what the group of a pattern matches in a file, line by line."""
    return re.findall(pattern, (ROOT / file).read_text(encoding="utf-8"), flags=re.MULTILINE)


def dated_versions() -> dict[str, str]:
    """Return the date of each version of the changelog, the newest first."""
    headings = found(r"^## (.+)$", "CHANGELOG.md")
    return dict(heading.split(" - ") for heading in headings if heading != "Unreleased")


def as_numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".")]


def test_the_package_has_the_last_version_or_is_in_development_after_it() -> None:
    last = next(iter(dated_versions()))
    is_unreleased = found(r"^## (.+)$", "CHANGELOG.md")[0] == "Unreleased"
    version, _, development = cohirf.__version__.partition(".dev")
    assert bool(development) == is_unreleased
    assert as_numbers(version) > as_numbers(last) if development else version == last


def test_the_citation_and_the_recipe_name_the_last_version() -> None:
    last = next(iter(dated_versions()))
    assert found(r"^version: (\S+)$", "CITATION.cff") == [last]
    assert found(r"^  version: (\d\S+)$", "conda/recipe.yaml") == [last]


def test_the_changelog_dates_each_version_as_the_citation_does() -> None:
    dated = dated_versions()
    assert next(iter(dated.values())) == found(r"^date-released: (\S+)$", "CITATION.cff")[0]
    assert all(datetime.date.fromisoformat(date) for date in dated.values())


def test_the_recipe_requires_what_the_program_requires() -> None:
    recipe = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    run = recipe.partition("\n  run:\n")[2].partition("\ntests:\n")[0]
    required = re.findall(r"^    - ([\w-]+) (>=[\d.]+)$", run, flags=re.MULTILINE)
    assert {name + bound for name, bound in required} == requirements("cli")


def requirements(extra: str) -> set[str]:
    """Return what the package requires with an extra, extras of extras included."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    waiting = [extra]
    needed = set(project["dependencies"])
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


def load_yaml(file: str) -> Any:
    return yaml.safe_load((ROOT / file).read_text(encoding="utf-8"))


WORKFLOWS = [
    path.relative_to(ROOT).as_posix()
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
]
JOBS = {
    f"{Path(file).stem}/{name}": job
    for file in WORKFLOWS
    for name, job in load_yaml(file)["jobs"].items()
}
SCRIPTS = {
    name: [step["run"] for step in job.get("steps", []) if "run" in step]
    for name, job in JOBS.items()
}
# Modules that the scripts install before they use them.
INSTALLED = {"build", "pip", "pytest", "twine"}


def write_program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def shell(tmp_path: Path) -> Any:
    """Return a function that runs a script in an empty folder as if this source were installed.

    It installs nothing.
    """
    programs = tmp_path / "programs"
    folder = tmp_path / "folder"
    programs.mkdir()
    folder.mkdir()
    python = f'exec "{sys.executable}"'
    write_program(programs / "python", f'[ "$1 $2" = "-m pip" ] || {python} "$@"')
    write_program(programs / "cohirf", f'{python} -m cohirf "$@"')
    variables = os.environ | {
        "PATH": os.pathsep.join([str(programs), os.environ["PATH"]]),
        "PYTHONPATH": str(ROOT / "src"),
    }

    def run(
        script: str, files: tuple[str, ...] = (), **more: str
    ) -> subprocess.CompletedProcess[str]:
        for name in files:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, folder / name)
        command = ["bash", "-euo", "pipefail", "-c", script]
        environment = variables | more
        return subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )

    return run


@pytest.mark.parametrize("module", load_yaml("conda/recipe.yaml")["tests"][0]["python"]["imports"])
def test_an_import_of_the_recipe_is_there(module: str) -> None:
    assert importlib.import_module(module).__name__ == module


@linux_only
@pytest.mark.slow
def test_the_test_of_the_recipe_runs(shell: Any) -> None:
    done = shell("\n".join(load_yaml("conda/recipe.yaml")["tests"][1]["script"]))
    assert done.returncode == 0, done.stderr


@linux_only
@pytest.mark.slow
def test_the_steps_that_try_the_wheel_run(shell: Any) -> None:
    has_checkout = any(
        str(step.get("uses")).startswith("actions/checkout")
        for step in JOBS["distributions/wheel"]["steps"]
    )
    for script in SCRIPTS["distributions/wheel"]:
        done = shell(script, ("examples",) if has_checkout else ())
        assert done.returncode == 0, done.stderr
        has_checkout = False  # once is enough


@linux_only
@pytest.mark.parametrize(("tag", "code"), [("v{last}", 0), ("v99.0", 1)])
def test_a_release_needs_a_tag_that_the_package_and_the_changelog_name(
    tag: str, code: int, shell: Any
) -> None:
    last = next(iter(dated_versions()))
    file = "src/cohirf/_version.py"
    release = f'sed --in-place "s/__version__ = .*/__version__ = \\"{last}\\"/" {file}\n'
    done = shell(
        release + SCRIPTS["release/version"][0],
        (file, "CHANGELOG.md"),
        GITHUB_REF_NAME=tag.format(last=last),
    )
    assert done.returncode == code, done.stderr


def targets() -> set[str]:
    return set(found(r"^([\w.][\w./-]*):", "Makefile"))


@pytest.mark.parametrize(
    "file", [*WORKFLOWS, ".ci/run", "README.md", "RELEASING.md", "CONTRIBUTING.md"]
)
def test_make_has_the_targets_that_are_named(file: str) -> None:
    named = found(r"(?:^ *|run: |`)make ([\w./-]+)", file)
    assert [name for name in named if name not in targets()] == []


@pytest.mark.parametrize("name", [name for name, scripts in SCRIPTS.items() if scripts])
def test_a_workflow_runs_modules_that_are_there(name: str) -> None:
    modules = set(re.findall(r"python -m ([\w.]+)", "\n".join(SCRIPTS[name]))) - INSTALLED
    assert [module for module in modules if not importlib.util.find_spec(module)] == []


def test_the_commands_of_releasing_are_there(capsys: Any) -> None:
    commands = found(r"`(cohirf [^`]+)`", "RELEASING.md")
    assert commands
    for command in commands:
        assert importlib.import_module("cohirf.app.cli").main(command.split()[1:]) == 0
    assert f"cohirf {cohirf.__version__}" in capsys.readouterr().out


def test_the_files_that_releasing_names_are_there() -> None:
    named = found(r"`((?:\w+/)*\w+\.(?:py|md|cff|yaml))`", "RELEASING.md")
    assert {"src/cohirf/_version.py", "CITATION.cff", "conda/recipe.yaml"} <= set(named)
    assert [name for name in named if not (ROOT / name).is_file()] == []


READS_DATA = re.compile(r"COHIRF_DATA|shared/data|fetch_\w+")


def test_no_example_of_the_gallery_needs_data_that_is_not_installed() -> None:
    scripts = sorted((ROOT / "examples").glob("plot_*.py"))
    assert len(scripts) >= 18
    needy = [path.name for path in scripts if READS_DATA.search(path.read_text(encoding="utf-8"))]
    assert needy == []


FOR_DEVELOPERS = {"dev", "docs", "mutation", "peers", "stores", "test"}


def test_the_page_of_extras_has_each_of_them_with_its_packages() -> None:
    page = (ROOT / "docs" / "reference" / "environments.rst").read_text(encoding="utf-8")
    rows = csv.reader(
        re.findall(r"^   (``\w+``, .+)$", page, flags=re.MULTILINE), skipinitialspace=True
    )
    shown = {
        extra.strip("`"): set(re.findall(r"[\w-]+", packages)) - {"those", "of", "and"}
        for extra, packages, _ in rows
    }
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    assert shown == {
        name: named_in(needed) for name, needed in extras.items() if name not in FOR_DEVELOPERS
    }
    assert all(f"``{name}``" in page for name in extras)


def named_in(requirements: list[str]) -> set[str]:
    """Return the packages and the extras that requirements name."""
    packages = {re.split(r"[\[>]", one)[0] for one in requirements}
    extras = {
        extra for one in requirements if one.startswith("cohirf[") for extra in one[7:-1].split(",")
    }
    return packages - {"cohirf"} | extras


@pytest.mark.slow
def test_tests_and_doctests_are_collected_where_a_copy_of_the_package_is_installed(
    tmp_path: Path,
) -> None:
    shutil.copytree(ROOT / "src" / "cohirf", tmp_path / "cohirf")
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    files = ["tests/test_finite.py", "src/cohirf/validation.py"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    run = subprocess.run(
        [*command, *files], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout
    assert "src/cohirf/validation.py::" in run.stdout
