"""Messages of the library that the command line rewrites are still worded as it expects."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import cohirf
from cohirf.cli.errors import IN_WORDS_OF_OPTIONS

PACKAGE = Path(cohirf.__file__).parent
REMEDY = "fit from a file with cohirf.open_source"
# what stands for an expression in a message; every other one is a 1, or '1' where it is quoted
VALUES = {
    "remedy": REMEDY,
    "name": "seeds",
    "before.get(name)": "tuple(1)",
    "about.get(name)": "tuple(1)",
    "next(iter(options))": "header",
}


def strings_in(tree):
    """Yield the strings of a file, those with expressions in them filled."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else filled(part) for part in node.values)


def filled(part):
    value = VALUES.get(ast.unparse(part.value), "1")
    return repr(value) if part.conversion == ord("r") else value


@cache
def messages():
    files = (path for path in PACKAGE.rglob("*.py") if path.name != "errors.py" or path.parent.name != "cli")
    return {message for path in files for message in strings_in(ast.parse(path.read_text(encoding="utf-8")))}


@pytest.mark.parametrize("pattern", [pattern for pattern, _ in IN_WORDS_OF_OPTIONS])
def test_every_pattern_matches_a_message_of_the_library(pattern):
    assert any(re.search(pattern, message) for message in messages())


def test_the_remedy_of_a_pattern_is_one_of_the_library():
    assert REMEDY in messages()
