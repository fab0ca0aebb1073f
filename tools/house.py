"""Measure the size and the shape of the package, and print each figure with its goal.

    python -m tools.house

The goals are the house rules of CONTRIBUTING. A figure above its goal is marked; the exit code is 0
in any case.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

import cohirf

PACKAGE = Path(cohirf.__file__).parent
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


@dataclass(frozen=True)
class Figure:
    """A measured figure and its goal, the largest value that the house rules allow.

    None if there is no rule.
    """

    name: str
    value: int
    goal: int | None = None


def measure() -> Iterator[Figure]:
    """Yield all figures."""
    files = {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in files.items()}
    yield Figure("lines of source", sum(len(text.splitlines()) for text in files.values()), 31_000)
    yield Figure("lines of code", sum(len(lines_of_code(text)) for text in files.values()), 19_000)
    yield Figure("files", len(files), 190)
    yield Figure("packages", len({path.parent for path in files}))
    yield from measure_runs()
    yield Figure("parameters called model: Any", sum(map(count_any_models, trees.values())), 0)
    yield Figure("reads of model._private", sum(map(count_private_reads, trees.values())), 0)
    yield Figure("top-level names defined in two files or more", len(repeated_names(trees)), 25)
    yield Figure("parameters of CoHiRF", len(signature(cohirf.CoHiRF).parameters), 18)
    yield Figure("options of the program", count_options(program()), 110)


def lines_of_code(text: str) -> set[int]:
    """Return the numbers of lines that are neither empty nor comments nor docstrings."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            lines |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def count_any_models(tree: ast.AST) -> int:
    """Return how many parameters are called ``model`` and have no other type than Any."""
    arguments = (
        node for node in ast.walk(tree) if isinstance(node, ast.arg) and node.arg == "model"
    )
    return sum(
        isinstance(node.annotation, ast.Name) and node.annotation.id == "Any" for node in arguments
    )


def count_private_reads(tree: ast.AST) -> int:
    """Return how often a private attribute of a variable ``model`` is read."""
    return sum(
        isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Load)
        and isinstance(node.value, ast.Name)
        and node.value.id == "model"
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        for node in ast.walk(tree)
    )


def repeated_names(trees: dict[Path, ast.Module]) -> dict[str, list[Path]]:
    """Return the functions, classes and constants that several files define at their top level, and
    these files.
    """
    places: dict[str, list[Path]] = defaultdict(list)
    for path, tree in trees.items():
        for name in {
            name for node in tree.body for name in _defined(node) if not name.startswith("__")
        }:
            places[name].append(path)
    return {name: paths for name, paths in places.items() if len(paths) > 1}


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = (
        node.targets
        if isinstance(node, ast.Assign)
        else [node.target]
        if isinstance(node, ast.AnnAssign)
        else []
    )
    names = (name for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))
    return [name.id for name in names if isinstance(name.ctx, ast.Store)]


class Halves:
    """A base method that cuts the rows in two halves, and notes who called it."""

    callers: list[CodeType]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return no parameters."""
        return {}

    def fit_predict(self, X: Any) -> Any:
        """Return 0 for the rows below the median of the first column, and 1 for the others."""
        Halves.callers = [frame.f_code for frame in _frames(sys._getframe(1))]
        return (X[:, 0] > np.median(X[:, 0])).astype(int)


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def measure_runs() -> Iterator[Figure]:
    """Yield figures of a tiny fit and of a prediction, after a first run that imports what they
    need.
    """
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = cohirf.CoHiRF(Halves(), random_state=0)
    model.fit(X).predict(X)
    fitted = functions_run(lambda: model.fit(X))
    predicted = functions_run(lambda: model.predict(X))
    fit = cohirf.CoHiRF.fit.__wrapped__.__code__  # scikit-learn wraps it, to validate parameters
    yield Figure(
        "frames from fit to the base method's fit_predict", 1 + Halves.callers.index(fit), 12
    )
    yield Figure("files run by a tiny fit", len({code.co_filename for code in fitted}), 25)
    yield Figure("functions run by a tiny fit", len(fitted), 180)
    yield Figure("files run by predict", len({code.co_filename for code in predicted}), 6)


def functions_run(call: Callable[[], object]) -> set[CodeType]:
    """Return the functions of the package that a call runs.

    Comprehensions and lambdas belong to their function.
    """
    seen: set[CodeType] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        seen.add(frame.f_code)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return {
        code
        for code in seen
        if Path(code.co_filename).is_relative_to(PACKAGE) and code.co_name[0] != "<"
    }


def program() -> Any:
    """Return the program as a tree of commands."""
    import typer

    from cohirf.cli.app import app

    return typer.main.get_command(app)


def count_options(command: Any) -> int:
    """Return the number of options of a command and of all commands below it, each counted for each
    command.
    """
    own = sum(param.param_type_name == "option" for param in command.params)
    return own + sum(map(count_options, getattr(command, "commands", {}).values()))


def main() -> None:
    """Print the table."""
    for figure in measure():
        goal = "" if figure.goal is None else f"{figure.goal:>8,}"
        above = "  above" if figure.goal is not None and figure.value > figure.goal else ""
        print(f"{figure.name:50}{figure.value:>8,}{goal}{above}")


if __name__ == "__main__":
    main()
