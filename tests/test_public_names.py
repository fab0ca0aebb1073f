"""The page of public names is true, and the application uses nothing else of the library."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

import cohirf

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "public_names.rst"
SECTION = re.compile(r"^(cohirf[\w.]*)\n-+\n(.+?)(?=^cohirf|\Z)", re.MULTILINE | re.DOTALL)
NAMES = {
    module: re.findall(r"``(\w+)``", text)
    for module, text in SECTION.findall(PAGE.read_text(encoding="utf-8"))
}


@pytest.mark.parametrize("module", NAMES)
def test_the_page_lists_the_names_of_a_module(module):
    assert NAMES[module] == import_module(module).__all__
    assert [name for name in NAMES[module] if not hasattr(import_module(module), name)] == []


def names_from_the_library(folder):
    """Yield the file, the module and the name of each import from the library."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                imported = [(node.module, alias.name) for alias in node.names]
            elif isinstance(node, ast.Import):
                imported = [(alias.name, "") for alias in node.names]
            else:
                continue
            for module, name in imported:
                if re.match(r"cohirf\b(?!\.app\b)", module):
                    yield path.name, module, name


def is_public(module, name):
    """Return whether a name of a module, which may be a module itself, is public."""
    known = ["", "__version__", *NAMES.get(module, ())]
    return f"{module}.{name}" in NAMES or (module in NAMES and name in known)


def test_the_application_imports_public_names_of_the_library_only():
    found = list(names_from_the_library(Path(cohirf.__file__).parent / "app"))
    assert len(found) > 100
    assert [one for one in found if not is_public(*one[1:])] == []
