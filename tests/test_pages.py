"""The README, the tutorial and the other pages: what they print is what runs, and each has a
picture or a table.
"""

import contextlib
import io
import math
import re
from collections import Counter
from importlib import import_module
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from tools import pages

from cohirf import progress

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
GENERATED = {"_build", "_templates", "gallery", "generated"}
PAGES = sorted(
    path
    for pattern in ("*.rst", "*/*.rst", "*/*.md")
    for path in DOCS.glob(pattern)
    if not GENERATED & set(path.relative_to(DOCS).parts) and path.name != "changelog.md"
)
SHOWN = re.compile(
    r"^\.\. (image|figure|csv-table|list-table)::|^=+  =+|^\| --- |^   column +kind"
    r"|^```\{include\} .*\n:start-after:",  # a table of a file that a command writes
    re.MULTILINE,
)


def title_of(path):
    text = path.read_text(encoding="utf-8")
    return re.search(
        r"^(?:# )?(\w.*)$", re.sub(r"^\.\. .*$", "", text, flags=re.MULTILINE), re.MULTILINE
    )[1]


def folders_of_tests():
    configuration = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return re.search(r"^testpaths = \[(.+)\]$", configuration, re.MULTILINE)[1]


ILLUSTRATED = [path for path in PAGES if path.name != "public_names.rst"]  # a list of names


@pytest.mark.parametrize("path", ILLUSTRATED, ids=lambda path: path.relative_to(DOCS).as_posix())
def test_every_page_has_a_picture_or_a_table(path):
    assert SHOWN.search(path.read_text(encoding="utf-8"))


def test_no_two_pages_have_the_same_title():
    titles = Counter(title_of(path).lower() for path in PAGES)
    assert [title for title, count in titles.items() if count > 1] == []


def test_the_examples_of_every_folder_of_pages_are_tests():
    folders = {path.parent.relative_to(ROOT).as_posix() for path in PAGES} - {"docs"}
    assert [folder for folder in folders if f'"{folder}"' not in folders_of_tests()] == []


def places_of_lines():
    page = (DOCS / "understand" / "method.rst").read_text(encoding="utf-8")
    return re.findall(r"``((?:algorithm|fitting)\.[\w.]+)``", page)


def test_the_page_of_the_method_names_the_place_of_every_line():
    page = (DOCS / "understand" / "method.rst").read_text(encoding="utf-8")
    lines = re.findall(r"^   \* - \d+[a-e]?\n     - .+\n     - ``.+``$", page, re.MULTILINE)
    assert len(lines) == 16


@pytest.mark.parametrize("place", places_of_lines())
def test_a_place_of_the_method_in_the_source_exists(place):
    package, module, *names = place.split(".")
    found = import_module(f"cohirf.{package}.{module}")
    for name in names:
        found = getattr(found, name)
    assert callable(found)


def names_of_reference():
    """Return the names of the reference, each below the module that is current on its page."""
    page = (DOCS / "reference" / "index.rst").read_text(encoding="utf-8")
    module = ""
    for current, name in re.findall(
        r"^\.\. currentmodule:: ([\w.]+)$|^   (\w[\w.]*)$", page, re.MULTILINE
    ):
        module = current or module
        if name and module:  # the names before the first module are pages
            yield f"{module}.{name}"


def find_name(name):
    """Return what a dotted name stands for: an attribute of a module, or a module."""
    parent, _, last = name.rpartition(".")
    return getattr(import_module(parent), last)


def test_the_names_of_the_reference_exist():
    names = list(names_of_reference())
    assert len(names) > 50
    assert {"cohirf.CoHiRF", "cohirf.clusterers.names.make_base_method"} <= set(names)
    for name in names:
        assert find_name(name) is not None


def test_notes_that_pages_link_to_exist():
    named = {
        name
        for path in PAGES
        for name in re.findall(r":notes:`[^`]+<(\w+)>`", path.read_text(encoding="utf-8"))
    }
    assert named == {path.stem for path in (ROOT / "benchmarks" / "notes").glob("*.rst")}


def test_the_first_code_of_the_readme_prints_what_the_readme_says():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    source, shown = re.search(r"```python\n(.+?)```\n\n```text\n(.+?)```", text, re.DOTALL).groups()
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(source, {})
    assert printed.getvalue() == shown


SITE = "https://cohirf.github.io/cohirf/"
HOME = "https://github.com/cohirf/cohirf/blob/main/"
PICTURES = "https://raw.githubusercontent.com/cohirf/cohirf/main/"


def links_of_readme():
    return re.findall(r"\]\(([^)#]+)", (ROOT / "README.md").read_text(encoding="utf-8"))


def test_the_readme_has_no_relative_link_which_a_package_index_would_not_resolve():
    assert [link for link in links_of_readme() if not link.startswith("https://")] == []


def test_the_readme_names_pictures_and_pages_that_exist():
    links = links_of_readme()
    named = [
        DOCS / link.removeprefix(SITE).replace(".html", ".rst")
        for link in links
        if link.startswith(SITE)
    ]
    for base in (HOME, PICTURES):
        named += [ROOT / link.removeprefix(base) for link in links if link.startswith(base)]
    assert len(named) > 8
    assert [path for path in named if not path.is_file()] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tutorial.rst", "start/command_line.rst"])
def test_the_commands_and_examples_of_a_page_print_what_it_says(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # a slow run prints no more lines than a fast one
    monkeypatch.setitem(vars(progress.POLICY), "log_seconds", math.inf)
    text = (DOCS / name).read_text(encoding="utf-8")
    assert len(pages.find_steps(text)) > 10
    assert pages.run_page(text) == text
    plt.close("all")


def test_the_numbers_in_the_decision_of_the_tutorial_are_those_of_its_table():
    text = (DOCS / "tutorial.rst").read_text(encoding="utf-8")
    table = re.search(r"^cluster\n((?:\d.*\n)+)", text, re.MULTILINE)[1]
    rows = {int(line.split()[0]): line.split()[1:] for line in table.splitlines()}
    told = re.findall(r"^- \*\*Cluster (\d)\*\*((?:.+\n)+?)(?=- |\n)", text, re.MULTILINE)
    assert len(told) == 3
    for cluster, sentences in told:
        assert set(re.findall(r"\d+", sentences)) <= set(rows[int(cluster)])


def test_output_on_a_page_that_is_not_what_is_printed_is_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = ".. code-block:: console\n\n   $ echo one\n   two\n\n>>> 1 + 1\n3\n>>> 2 + 2\n4\n"
    assert pages.run_page(page) == page.replace("two", "one").replace("\n3\n", "\n2\n")


def test_long_lines_of_output_are_broken_between_words(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = "word " * 30
    page = f".. code-block:: console\n\n   $ echo {words.strip()}\n   {words.strip()}\n"
    output = pages.run_page(page).splitlines()[3:]
    assert " ".join(output).split() == words.split()
    assert max(map(len, output)) <= pages.WIDTH + len("   ")


def test_times_and_sizes_of_memory_on_a_page_may_differ():
    assert pages.is_same("time  1.6 s\npeak  296 MB", "time 12.8 s\npeak 1.3 GB")
    assert not pages.is_same("5 clusters, 1.6 s", "4 clusters, 1.6 s")


def test_three_dots_on_a_page_stand_for_the_rest_of_an_output():
    assert pages.is_same("one\n...", "one\ntwo")
    assert not pages.is_same("one\n...", "two\none")
    assert not pages.is_same("... two", "one two")
