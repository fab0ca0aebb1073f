"""Extensions of the documentation: commands from the program, sections of classes, cells without a
value.
"""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer

from cohirf import CoHiRF, FusionHierarchy
from cohirf.app.cli.app import app
from cohirf.app.cli.errors import ExitCode

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def extensions(monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_extensions"))


def find_commands(group, path="cohirf"):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from find_commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def test_the_reference_of_commands_has_every_command_and_option():
    from command_pages import write_commands

    sections = dict(
        re.findall(
            r"^(cohirf [a-z ]+)\n-+\n(.+?)(?=^cohirf [a-z ]+\n--|\Z)", write_commands(), re.M | re.S
        )
    )
    commands = dict(find_commands(typer.main.get_command(app)))
    assert sections.keys() == commands.keys()
    for path, command in commands.items():
        flags = {
            flag for parameter in command.params for flag in parameter.opts if flag.startswith("--")
        }
        assert [flag for flag in flags - {"--help"} if f"``{flag}" not in sections[path]] == []


def test_the_reference_of_commands_is_parsed_without_a_message():
    from command_pages import Commands
    from docutils.core import publish_doctree
    from docutils.parsers.rst import Directive, directives

    class Code(Directive):
        has_content = True
        optional_arguments = 1

        def run(self):
            return []

    directives.register_directive("commands", Commands)
    directives.register_directive("code-block", Code)
    tree = publish_doctree(
        "Title\n=====\n\n.. commands::\n", settings_overrides={"report_level": 1, "halt_level": 1}
    )
    assert "cohirf party run" in tree.astext()


def test_the_reference_of_commands_has_every_exit_code():
    page = (ROOT / "docs" / "reference" / "commands.rst").read_text(encoding="utf-8")
    shown = [
        int(code)
        for codes in re.findall(r"^   \* - ([\d, ]+)$", page, re.MULTILINE)
        for code in codes.split(", ")
    ]
    assert shown == [0, *ExitCode]


def methods_of(of):
    """Return the public methods that are of this package, but for those that pages hide."""
    template = ROOT / "docs" / "_templates" / "autosummary" / "class.rst"
    hidden = re.search(r"set hidden = (\[.+?\])", template.read_text(encoding="utf-8"))[1]
    ours = [each for each in of.__mro__ if each.__module__.startswith("cohirf")]
    return {
        name
        for each in ours
        for name in vars(each)
        if not name.startswith("_") and callable(getattr(of, name)) and f'"{name}"' not in hidden
    }


def test_every_method_of_a_class_page_is_in_one_group():
    text = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
    source = re.search(r"^METHOD_GROUPS = (\{.+?^\})", text, re.MULTILINE | re.DOTALL)[1]
    groups = eval(source)
    for of in (CoHiRF, FusionHierarchy):
        named = [name for names in groups[f"cohirf.{of.__name__}"].values() for name in names]
        assert len(named) == len(set(named))
        assert [name for name in named if not callable(getattr(of, name, None))] == []
        assert methods_of(of) - set(named) == set()


def test_a_hyphen_in_a_cell_is_a_dash_and_other_lists_stay():
    from docutils import nodes
    from docutils.core import publish_doctree
    from table_cells import NO_VALUE, show_dashes

    tree = publish_doctree('.. csv-table::\n\n   -, 1\n   "- one", 2\n')
    show_dashes(SimpleNamespace(), tree)
    cells = [cell.astext() for cell in tree.findall(nodes.entry)]
    assert cells == [NO_VALUE, "1", "one", "2"]
    assert len(list(tree.findall(nodes.bullet_list))) == 1


def test_fields_and_rubrics_of_a_docstring_become_sections():
    from class_pages import split_content
    from docutils.core import publish_doctree

    content = publish_doctree(
        "What it is.\n\n:Parameters: **a** : int\n\n.. rubric:: Notes\n\nA note.\n\nAnother.\n"
    )
    sections = split_content(content)
    assert content.astext() == "What it is."
    assert [section[0].astext() for section in sections] == ["Parameters", "Notes"]
    assert [section["ids"] for section in sections] == [["parameters"], ["notes"]]
    assert [child.astext() for child in sections[1][1:]] == ["A note.", "Another."]


def test_the_downloads_of_the_tutorial_are_the_files_that_its_commands_make(tmp_path, monkeypatch):
    import tutorial_data

    monkeypatch.setattr(tutorial_data, "FOLDER", tmp_path)
    tutorial_data.write_data()
    text = tutorial_data.TUTORIAL.read_text(encoding="utf-8")
    linked = re.findall(r":download:`[^`]+<data/([^`]+)>`", text)
    assert len(linked) == 3
    assert [name for name in linked if not (tmp_path / name).is_file()] == []
    head = (tmp_path / "customers.csv").read_text(encoding="utf-8").splitlines()[:2]
    assert all(f"   {line}" in text for line in head)


def test_a_figure_with_its_source_shows_the_figure():
    core = pytest.importorskip("docutils.core")
    roles = pytest.importorskip("docutils.parsers.rst.roles")
    from figure_role import Figure

    roles.register_local_role("figure", Figure())
    text = "It has :figure:`0.58 <answers; K-Means; defaults>` here."
    assert (
        "<paragraph>It has 0.58 here.</paragraph>" in core.publish_doctree(text)[0].asdom().toxml()
    )
